//! The change feed (`changes`, `polls`, `feed`): each write appends entries, and readers read them by number.
//!
//! Entries of polls that changed nothing are pruned in time; `Changes::has_dropped_polls` tells a reader that entries are
//! missing. No other entry is pruned.

use std::{
    collections::{BTreeSet, HashSet},
    ops::RangeInclusive,
};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row, params};
use serde_json::{Map, Value};

use super::columns;
use crate::{
    domain::{
        advice::rule_of_status,
        change::{Change, ChangeKind, RecentChange},
        ids::{RowId, TxHash},
        notification::NotifiedEvent,
        operation::Stamp,
        status::RouterStatus,
    },
    store::{error::Result, reader::Reader, row_checksum, statement::CachedStatements},
};

/// The range of numbers, counted back from the newest, in which `polled` entries are kept.
const KEPT_POLLS: i64 = 5_000;
/// The interval of entry numbers at which older `polled` entries are pruned.
const PRUNE_INTERVAL: i64 = 1_000;

/// The JSON field with an event's name. The table has a column for the name, so that the JSON there lacks this field.
const EVENT: &str = "event";
/// The JSON field with the indexes of several new steps, and the name of their shared entry.
const STEPS: &str = "steps";
const POLLED: &str = "polled";
/// The short name of a status change in the table, for these are the most frequent entries.
const STATUS: &str = "status";

/// The columns of the checksum.
pub(crate) const CHECKED: &str = "at, profile, transaction_row, event, what, observation, author";

const SELECT: &str = "SELECT seq, at,
    ifnull(profile, (SELECT profile FROM transactions WHERE id = transaction_row)), transaction_row, event, what, observation,
    author FROM changes";

/// A part of the feed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Whether this is the first read, or a snapshot took the place of the store's content: the caller must load its
    /// data.
    pub needs_resync: bool,
    /// The changes in order. An entry may have several changes, or none that can be read.
    pub changes: Vec<Change>,
    /// The number of the last entry of this part.
    pub last: i64,
    /// Whether `polled` entries may be missing, because they were pruned.
    pub has_dropped_polls: bool,
    /// Whether this part has as many entries as it may have, so that more may follow.
    pub has_more: bool,
}

impl Changes {
    /// Returns the changed transactions. `includes_polls` says whether to include transactions that were only polled.
    pub fn rows(&self, includes_polls: bool) -> BTreeSet<RowId> {
        let wanted = |change: &&Change| includes_polls || change.kind != ChangeKind::Polled;
        self.changes.iter().filter(wanted).filter_map(|change| change.transaction).collect()
    }
}

/// The time and the subject of a feed entry.
#[derive(Clone, Copy)]
pub(crate) struct FeedEntry<'a> {
    pub(crate) at: DateTime<Utc>,
    pub(crate) profile: &'a str,
    pub(crate) transaction: Option<RowId>,
    /// The number of the answer that caused the entry, if an answer did.
    pub(crate) observation: Option<i64>,
    /// The person who made the change, if a person did and set a name.
    pub(crate) author: Option<&'a str>,
}

impl<'a> FeedEntry<'a> {
    /// Returns an entry that no answer caused, about a transaction. The profile is the transaction's.
    pub(crate) fn of_row(row: RowId, at: DateTime<Utc>) -> Self {
        Self { at, profile: "", transaction: Some(row), observation: None, author: None }
    }

    /// Returns an entry about a whole profile.
    pub(crate) fn of_profile(profile: &'a str, at: DateTime<Utc>) -> Self {
        Self { at, profile, transaction: None, observation: None, author: None }
    }

    /// Returns the same entry with an author.
    pub(crate) fn with_author(self, author: Option<&'a str>) -> Self {
        Self { author, ..self }
    }
}

impl Reader {
    /// Returns the changes after the feed's entry `seq`, from at most `limit` entries.
    pub fn changes_after(&self, seq: i64, limit: usize) -> Result<Changes> {
        // Both parts are read in the order of their numbers, without sorting. Polls of deleted transactions are left
        // out.
        let sql = format!(
            "SELECT seq, at, profile, id, '{POLLED}', NULL, NULL, NULL
             FROM (SELECT seq, at, transaction_row FROM polls WHERE seq > ?1)
             CROSS JOIN transactions ON id = transaction_row
             UNION ALL {SELECT} WHERE seq > ?1 ORDER BY seq LIMIT ?2"
        );
        self.snapshot(|| {
            let has_dropped_polls = seq < floor(self.db())?;
            let entries: Vec<(i64, Vec<Change>)> =
                self.db().all(&sql, params![seq, limit], |row| Ok((columns::lenient(row, 0)?, read(row)?)))?;
            Ok(Changes {
                needs_resync: false,
                last: entries.last().map_or(seq, |(seq, _)| *seq),
                has_more: entries.len() >= limit,
                changes: entries.into_iter().flat_map(|(_, changes)| changes).collect(),
                has_dropped_polls,
            })
        })
    }

    /// Returns the newest changes of transactions that matter to people, the newest first, at most `limit`: status
    /// changes, alerts, and what people did. The first answer that a transaction is under way is left out, and so is
    /// what follows from a new status anyway. Costs O(1): only the end of the feed is read.
    pub fn newest_changes(&self, limit: usize) -> Result<Vec<RecentChange>> {
        /// The number of entries that are looked through.
        const SEARCHED: i64 = 1_000;
        let sql = format!(
            "WITH newest AS (SELECT * FROM ({SELECT} ORDER BY seq DESC LIMIT ?1))
             SELECT newest.*, transaction_id FROM newest JOIN transactions ON transactions.id = transaction_row
             WHERE event IN ('{STATUS}', 'alert_raised', 'alert_cleared', 'alert_acknowledged', 'alert_snoozed', 'edited',
                             'untracked', 'rejected')
                 AND NOT (event = '{STATUS}' AND what IN ('[null,\"ongoing\"]', '[null,\"not_found\"]'))
             ORDER BY seq DESC LIMIT ?2"
        );
        let rows: Vec<Vec<RecentChange>> = self.db().all(&sql, params![SEARCHED, limit], |row| {
            let hash = TxHash::new(columns::lenient::<String>(row, 8)?);
            Ok(read(row)?.into_iter().map(move |change| RecentChange { hash: hash.clone(), change }).collect())
        })?;
        let mut newest: Vec<RecentChange> = rows.into_iter().flatten().collect();
        let subject = |recent: &RecentChange| (recent.change.transaction, recent.change.at);
        let is_status = |recent: &&RecentChange| matches!(recent.change.kind, ChangeKind::StatusChanged { .. });
        let with_status: HashSet<_> = newest.iter().filter(is_status).map(subject).collect();
        let of_statuses = RouterStatus::DOCUMENTED.map(|status| rule_of_status(&status));
        newest.retain(|recent| match recent.change.kind {
            // The change of the status says the same.
            ChangeKind::AlertRaised { rule, .. } if of_statuses.contains(&Some(rule)) => {
                !with_status.contains(&subject(recent))
            }
            ChangeKind::AlertCleared { .. } => !with_status.contains(&subject(recent)),
            _ => true,
        });
        Ok(newest)
    }

    /// Returns the number of the feed's last entry; 0 if there is none.
    pub fn last_change(&self) -> Result<i64> {
        last(self.db())
    }
}

/// Returns the name of a notified event in the table.
pub(crate) fn stored_name(event: NotifiedEvent) -> &'static str {
    if event == NotifiedEvent::StatusChanged { STATUS } else { event.name() }
}

pub(crate) fn append(db: &Connection, entry: &FeedEntry<'_>, kind: &ChangeKind) -> Result<()> {
    let name = if let ChangeKind::StatusChanged { .. } = kind { STATUS } else { kind.name() };
    insert(db, entry, name, details(kind)?)
}

fn insert(db: &Connection, entry: &FeedEntry<'_>, event: &str, details: Option<String>) -> Result<()> {
    let (seq, at, row) = (last(db)? + 1, columns::moment(entry.at), entry.transaction.map(|row| row.0));
    if let (POLLED, Some(row)) = (event, row) {
        db.run("INSERT INTO polls (seq, at, transaction_row) VALUES (?, ?, ?)", [seq, at, row])?;
        return if seq % PRUNE_INTERVAL == 0 { prune(db, seq - KEPT_POLLS) } else { Ok(()) };
    }
    let profile = row.is_none().then_some(entry.profile);
    db.run(
        "INSERT INTO changes (seq, at, profile, transaction_row, event, what, observation, author, checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, row_checksum(?2, ?3, ?4, ?5, ?6, ?7, ?8))",
        params![seq, at, profile, row, event, details, entry.observation, entry.author],
    )
}

/// Appends the changes that one answer caused. New steps mostly come together, so that they share one entry.
pub(crate) fn append_all(db: &Connection, entry: &FeedEntry<'_>, changes: &[ChangeKind]) -> Result<()> {
    let step = |kind: &ChangeKind| match kind {
        ChangeKind::StepAdded { index } => Some(*index),
        _ => None,
    };
    let steps: Vec<usize> = changes.iter().filter_map(step).collect();
    for kind in changes {
        match step(kind) {
            None => append(db, entry, kind)?,
            // The entry takes the place of the first step.
            Some(index) if steps.first() == Some(&index) => {
                let details = serde_json::json!({ STEPS: steps }).to_string();
                insert(db, entry, STEPS, Some(details))?;
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Returns the JSON of an event without its name; `None` if nothing else is in it.
fn details(kind: &ChangeKind) -> Result<Option<String>> {
    if let ChangeKind::StatusChanged { previous, current } = kind {
        return Ok(Some(serde_json::json!([previous, current]).to_string()));
    }
    let fields = serde_json::to_value(kind).map_err(|error| columns::unreadable(0, error))?;
    let Value::Object(mut fields) = fields else { return Ok(None) };
    fields.remove(EVENT);
    Ok((!fields.is_empty()).then(|| columns::to_json(&fields)).transpose()?)
}

/// Appends an entry for each transaction among these rows that meets `condition` (SQL). Returns the numbers of the
/// entries.
///
/// The entries must be numbered here, as in every append: SQLite's own counter doesn't know the numbers of `polls`. A
/// reader at one of those numbers would miss an entry with a smaller number.
pub(crate) fn append_to_each(
    db: &Connection,
    rows: RangeInclusive<i64>,
    condition: &str,
    kind: &ChangeKind,
    stamp: &Stamp,
) -> Result<RangeInclusive<i64>> {
    // One statement for all rows takes a tenth of the time of one statement per row in a large batch.
    let sql = format!(
        "INSERT INTO changes (seq, at, transaction_row, event, what, author, checksum)
         SELECT ?1 + id, ?2, id, ?3, ?4, ?7, row_checksum(?2, NULL, id, ?3, ?4, NULL, ?7)
         FROM transactions WHERE id BETWEEN ?5 AND ?6 AND {condition} ORDER BY id"
    );
    let (before, at, (first, end)) = (last(db)?, columns::moment(stamp.at), rows.into_inner());
    let values = params![before + 1 - first, at, kind.name(), details(kind)?, first, end, stamp.author];
    db.run(&sql, values)?;
    Ok(before + 1..=last(db)?)
}

/// Replaces the words for an action in the entries that say that it was undone or redone.
pub(crate) fn replace_reversed_summary(db: &Connection, profile: &str, old: &str, new: &str) -> Result<()> {
    let set = row_checksum::assignments(CHECKED, &[("what", "json_set(what, '$.summary', ?3)")]);
    // Entries about a transaction are about other actions.
    let sql = format!(
        "UPDATE changes SET {set} WHERE transaction_row IS NULL AND profile = ?1 AND event IN ('taken_back', 'done_again')
         AND what ->> 'summary' = ?2"
    );
    db.run(&sql, params![profile, old, new])
}

/// Deletes the `polled` entries of deleted transactions.
pub(crate) fn forget_polls_of_deleted(db: &Connection) -> Result<()> {
    db.run("DELETE FROM polls WHERE NOT EXISTS (SELECT 1 FROM transactions WHERE id = transaction_row)", [])
}

fn prune(db: &Connection, floor: i64) -> Result<()> {
    db.run("DELETE FROM polls WHERE seq <= ?", [floor])?;
    db.run("UPDATE feed SET floor = max(floor, ?)", [floor])
}

/// Returns the number of the last entry; 0 if there is none.
pub(crate) fn last(db: &Connection) -> Result<i64> {
    // Entries deleted with their transaction had numbers too, and a number must never be used again.
    let sql = "SELECT max(ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0),
               ifnull((SELECT max(seq) FROM polls), 0))";
    db.one(sql, [], |row| row.get(0))
}

/// Returns the number up to which `polled` entries were pruned.
fn floor(db: &Connection) -> Result<i64> {
    db.one("SELECT floor FROM feed", [], |row| row.get(0))
}

/// Increments the number of commits; returns the new number.
pub(crate) fn count_commit(db: &Connection) -> Result<i64> {
    // Two statements, because `RETURNING` would make a temporary table in each commit.
    let number = last_commit(db)? + 1;
    db.run("UPDATE feed SET commits = ?", [number])?;
    Ok(number)
}

pub(crate) fn last_commit(db: &Connection) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT commits FROM feed")?.query_row([], |row| row.get(0))
}

/// Returns the transactions with entries after a number; `None` if there are many, or if some entries were pruned.
pub(crate) fn rows_after(db: &Connection, seq: i64) -> Result<Option<BTreeSet<RowId>>> {
    /// The limit of entries. With more entries, reading all wanted rows again is as fast as searching the entries.
    const MAX_ROWS: usize = 500;
    if seq < floor(db)? {
        return Ok(None);
    }
    let sql = "SELECT transaction_row FROM polls WHERE seq > ?1
               UNION ALL SELECT transaction_row FROM changes WHERE seq > ?1 LIMIT ?2";
    let rows: Vec<Option<i64>> = db.all(sql, params![seq, MAX_ROWS], |row| row.get(0))?;
    Ok((rows.len() < MAX_ROWS).then(|| rows.into_iter().flatten().map(RowId).collect()))
}

/// Returns the changes of one transaction without its polls, oldest first.
pub(crate) fn of_transaction(db: &Connection, transaction: RowId) -> Result<Vec<Change>> {
    let sql = format!("{SELECT} WHERE transaction_row = ? ORDER BY seq");
    Ok(db.all(&sql, [transaction.0], read)?.into_iter().flatten().collect())
}

/// Reads the changes of an entry: one change, or several new steps. An entry that can't be parsed has none.
fn read(row: &Row<'_>) -> rusqlite::Result<Vec<Change>> {
    let seq: i64 = columns::lenient(row, 0)?;
    let (event, details): (String, Option<String>) = (columns::lenient(row, 4)?, columns::lenient(row, 5)?);
    let events = parse_events(event, details.as_deref()).unwrap_or_else(|error| {
        tracing::warn!("entry {seq} of the history is omitted: {error}");
        Vec::new()
    });
    let change = |kind| {
        Ok(Change {
            seq,
            at: columns::moment_from(columns::lenient(row, 1)?),
            profile: columns::lenient(row, 2)?,
            transaction: columns::lenient::<Option<i64>>(row, 3)?.map(RowId),
            kind,
            observation: columns::lenient(row, 6)?,
            author: columns::lenient(row, 7)?,
        })
    };
    events.into_iter().map(change).collect()
}

/// Parses the events of an entry from its name and its JSON.
fn parse_events(event: String, details: Option<&str>) -> serde_json::Result<Vec<ChangeKind>> {
    let details = details.map(serde_json::from_str).transpose()?;
    Ok(match details.unwrap_or_else(|| Value::Object(Map::new())) {
        Value::Object(mut fields) => match fields.remove(STEPS) {
            Some(steps) => {
                let steps: Vec<usize> = serde_json::from_value(steps)?;
                steps.into_iter().map(|index| ChangeKind::StepAdded { index }).collect()
            }
            None => {
                fields.insert(EVENT.to_owned(), Value::String(event));
                vec![serde_json::from_value(Value::Object(fields))?]
            }
        },
        statuses => {
            let (previous, current) = serde_json::from_value(statuses)?;
            vec![ChangeKind::StatusChanged { previous, current }]
        }
    })
}
