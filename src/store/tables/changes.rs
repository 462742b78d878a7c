//! The change feed: appended with each write, read by number.
//!
//! Entries that bring no news are dropped in time, and who hasn't read them yet is told so; no other entry ever is.

use std::{collections::BTreeSet, ops::RangeInclusive};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row, params};
use serde_json::{Map, Value};

use super::columns;
use crate::{
    domain::{
        change::{Change, What},
        ids::RowId,
    },
    store::{error::StoreError, file::connection, reader::Reader},
};

/// How many numbers back entries without news are kept.
const POLLED_KEPT: i64 = 5_000;
/// And how often the older ones go.
const POLLED_PRUNED: i64 = 1_000;

/// Where the JSON of an event has its name; the table has a column for it.
const EVENT: &str = "event";
/// Where the JSON of an entry has its steps.
const STEPS: &str = "steps";
const POLLED: &str = "polled";
/// What a change of the status is called in the table: of these there are most.
const STATUS: &str = "status";

const SELECT: &str = "SELECT seq, at,
    ifnull(profile, (SELECT profile FROM transactions WHERE id = transaction_row)), transaction_row, event, what, observation
    FROM changes";

/// What a reader that knows the feed up to some number gets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Feed {
    /// What came after it, in order.
    pub changes: Vec<Change>,
    /// Whether that is all: otherwise entries that only said that something was polled were dropped.
    pub whole: bool,
}

/// When something happened, and to what.
#[derive(Clone, Copy)]
pub(in crate::store) struct Entry<'a> {
    pub(in crate::store) at: DateTime<Utc>,
    pub(in crate::store) profile: &'a str,
    pub(in crate::store) transaction: Option<RowId>,
    /// The answer that showed it.
    pub(in crate::store) observation: Option<i64>,
}

impl<'a> Entry<'a> {
    /// Something that happened to a transaction, other than by an answer. The profile is the transaction's.
    pub(in crate::store) fn of_row(row: RowId, at: DateTime<Utc>) -> Self {
        Self { at, profile: "", transaction: Some(row), observation: None }
    }

    /// Something that concerns a whole profile.
    pub(in crate::store) fn of_profile(profile: &'a str, at: DateTime<Utc>) -> Self {
        Self { at, profile, transaction: None, observation: None }
    }
}

impl Reader {
    /// What came after the feed's entry `seq`, at most `limit` entries.
    pub fn changes_after(&self, seq: i64, limit: usize) -> Result<Feed, StoreError> {
        connection::snapshot(self.db(), || after(self.db(), seq, limit))
    }

    /// The number of the feed's last entry; 0 if there is none.
    pub fn last_change(&self) -> Result<i64, StoreError> {
        last(self.db())
    }
}

pub(in crate::store) fn append(db: &Connection, entry: &Entry<'_>, what: &What) -> Result<(), StoreError> {
    let name = if let What::StatusChanged { .. } = what { STATUS } else { what.name() };
    insert(db, entry, (name, details(what)?))
}

fn insert(db: &Connection, entry: &Entry<'_>, (event, details): (&str, Option<String>)) -> Result<(), StoreError> {
    let (seq, at, row) = (last(db)? + 1, columns::moment(entry.at), entry.transaction.map(|row| row.0));
    if let (POLLED, Some(row)) = (event, row) {
        db.prepare_cached("INSERT INTO polls (seq, at, transaction_row) VALUES (?, ?, ?)")?.execute([seq, at, row])?;
        return if seq % POLLED_PRUNED == 0 { prune(db, seq - POLLED_KEPT) } else { Ok(()) };
    }
    let profile = row.is_none().then_some(entry.profile);
    db.prepare_cached(
        "INSERT INTO changes (seq, at, profile, transaction_row, event, what, observation) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![seq, at, profile, row, event, details, entry.observation])?;
    Ok(())
}

/// Appends what one answer brought. New steps mostly come together, and share an entry.
pub(in crate::store) fn append_all(db: &Connection, entry: &Entry<'_>, changes: &[What]) -> Result<(), StoreError> {
    let step = |what: &What| match what {
        What::StepAdded { index } => Some(*index),
        _ => None,
    };
    let steps: Vec<usize> = changes.iter().filter_map(step).collect();
    let mut told = false;
    for what in changes {
        match step(what) {
            None => append(db, entry, what)?,
            Some(_) if std::mem::replace(&mut told, true) => {}
            Some(_) => {
                let details = serde_json::json!({ STEPS: steps }).to_string();
                insert(db, entry, (STEPS, Some(details)))?;
            }
        }
    }
    Ok(())
}

/// What an event says beyond its name.
fn details(what: &What) -> Result<Option<String>, StoreError> {
    if let What::StatusChanged { previous, current } = what {
        return Ok(Some(serde_json::json!([previous, current]).to_string()));
    }
    let unreadable = |error| columns::unreadable(0, error);
    let Value::Object(mut fields) = serde_json::to_value(what).map_err(unreadable)? else { return Ok(None) };
    fields.remove(EVENT);
    let written = (!fields.is_empty()).then(|| serde_json::to_string(&fields)).transpose();
    Ok(written.map_err(unreadable)?)
}

/// Appends an entry for each of these transactions that `which`, a condition in SQL, holds for.
///
/// It numbers them itself, as everybody does who appends: SQLite knows nothing of the numbers that polls have taken, and
/// whoever follows would miss what comes before them.
pub(in crate::store) fn append_to_each(
    db: &Connection,
    (rows, which): (RangeInclusive<i64>, &str),
    what: &What,
    at: DateTime<Utc>,
) -> Result<RangeInclusive<i64>, StoreError> {
    // One statement for all of them: of a large batch a tenth of what one each would take.
    let before = last(db)?;
    db.prepare_cached(&format!(
        "INSERT INTO changes (seq, at, transaction_row, event, what)
         SELECT ?1 + id, ?2, id, ?3, ?4 FROM transactions WHERE id BETWEEN ?5 AND ?6 AND {which} ORDER BY id"
    ))?
    .execute(params![
        before + 1 - rows.start(),
        columns::moment(at),
        what.name(),
        details(what)?,
        rows.start(),
        rows.end()
    ])?;
    Ok(before + 1..=last(db)?)
}

/// Forgets that transactions were polled that are there no more.
pub(in crate::store) fn forget_polls_of_deleted(db: &Connection) -> Result<(), StoreError> {
    let gone = "NOT EXISTS (SELECT 1 FROM transactions WHERE id = transaction_row)";
    db.prepare_cached(&format!("DELETE FROM polls WHERE {gone}"))?.execute([])?;
    Ok(())
}

fn prune(db: &Connection, floor: i64) -> Result<(), StoreError> {
    db.execute("DELETE FROM polls WHERE seq <= ?", [floor])?;
    db.execute("UPDATE feed SET floor = max(floor, ?)", [floor])?;
    Ok(())
}

/// The number of the last entry; 0 if there is none.
pub(in crate::store) fn last(db: &Connection) -> Result<i64, StoreError> {
    // What was removed with its transaction had a number too, which must never come again.
    let sql = "SELECT max(ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0),
               ifnull((SELECT max(seq) FROM polls), 0))";
    Ok(db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Up to where entries without news were dropped.
fn floor(db: &Connection) -> Result<i64, StoreError> {
    Ok(db.prepare_cached("SELECT floor FROM feed")?.query_row([], |row| row.get(0))?)
}

/// Counts one more commit; its number.
pub(in crate::store) fn count_commit(db: &Connection) -> Result<i64, StoreError> {
    // In two statements: `RETURNING` would make a temporary table for each commit.
    let number = last_commit(db)? + 1;
    db.prepare_cached("UPDATE feed SET commits = ?")?.execute([number])?;
    Ok(number)
}

/// The number of the last commit.
pub(in crate::store) fn last_commit(db: &Connection) -> rusqlite::Result<i64> {
    db.prepare_cached("SELECT commits FROM feed")?.query_row([], |row| row.get(0))
}

/// What came after a number; to be read in one snapshot.
fn after(db: &Connection, seq: i64, limit: usize) -> Result<Feed, StoreError> {
    let floor = floor(db)?;
    // Both by their numbers, so that neither is sorted. Of what was removed nobody needs to know that it was polled.
    let sql = format!(
        "SELECT seq, at, profile, id, '{POLLED}', NULL, NULL
         FROM (SELECT seq, at, transaction_row FROM polls WHERE seq > ?1) CROSS JOIN transactions ON id = transaction_row
         UNION ALL {SELECT} WHERE seq > ?1 ORDER BY seq LIMIT ?2"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map(params![seq, i64::try_from(limit).unwrap_or(i64::MAX)], read)?;
    Ok(Feed { changes: flat(rows)?, whole: seq >= floor })
}

/// The transactions that something happened to after a number; `None` if they are many, or not all of them are known any more.
pub(in crate::store) fn rows_after(db: &Connection, seq: i64) -> Result<Option<BTreeSet<RowId>>, StoreError> {
    /// To read whatever was asked for costs no more than to look for those among so many.
    const MOST: usize = 500;
    if seq < floor(db)? {
        return Ok(None);
    }
    let sql = "SELECT transaction_row FROM polls WHERE seq > ?1
               UNION ALL SELECT transaction_row FROM changes WHERE seq > ?1 LIMIT ?2";
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map(params![seq, i64::try_from(MOST).unwrap_or(i64::MAX)], |row| row.get(0))?;
    let rows: Vec<Option<i64>> = rows.collect::<Result<_, _>>()?;
    Ok((rows.len() < MOST).then(|| rows.into_iter().flatten().map(RowId).collect()))
}

/// What brought news of one transaction, the oldest first.
pub(in crate::store) fn of_transaction(db: &Connection, transaction: RowId) -> Result<Vec<Change>, StoreError> {
    let sql = format!("{SELECT} WHERE transaction_row = ? ORDER BY seq");
    let mut statement = db.prepare_cached(&sql)?;
    flat(statement.query_map([transaction.0], read)?)
}

fn flat(rows: impl Iterator<Item = rusqlite::Result<Vec<Change>>>) -> Result<Vec<Change>, StoreError> {
    let rows: Vec<Vec<Change>> = rows.collect::<Result<_, _>>()?;
    Ok(rows.into_iter().flatten().collect())
}

/// What an entry says: one change, or several steps.
fn read(row: &Row<'_>) -> rusqlite::Result<Vec<Change>> {
    let unreadable = |error| columns::unreadable(5, error);
    let details = row.get_ref(5)?.as_str_or_null()?.map(serde_json::from_str).transpose().map_err(unreadable)?;
    let whats: Vec<What> = match details.unwrap_or_else(|| Value::Object(Map::new())) {
        Value::Object(mut fields) => match fields.remove(STEPS) {
            Some(steps) => {
                let steps: Vec<usize> = serde_json::from_value(steps).map_err(unreadable)?;
                steps.into_iter().map(|index| What::StepAdded { index }).collect()
            }
            None => {
                fields.insert(EVENT.to_owned(), Value::String(row.get(4)?));
                vec![serde_json::from_value(Value::Object(fields)).map_err(unreadable)?]
            }
        },
        pair => {
            let (previous, current) = serde_json::from_value(pair).map_err(unreadable)?;
            vec![What::StatusChanged { previous, current }]
        }
    };
    let change = |what| {
        Ok(Change {
            seq: row.get(0)?,
            at: columns::moment_from(row.get(1)?),
            profile: row.get(2)?,
            transaction: row.get::<_, Option<i64>>(3)?.map(RowId),
            what,
            observation: row.get(6)?,
        })
    };
    whats.into_iter().map(change).collect()
}
