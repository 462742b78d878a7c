//! The `alerts` table: how rows are read, and the single writes of a row.
//!
//! `operations` appends changes of alerts to the feed; this module must never do so.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row, ToSql, params};

use super::{changes::FeedEntry, columns, transaction_keys, transactions};
use crate::{
    domain::{
        alert::{Alert, FLAPPING_RAISES, FLAPPING_WITHIN, Handling, HandlingKind, Rule, Severity, SnoozeEnd},
        ids::RowId,
        operation::{AlertKey, Edit, LocalEdit, SubjectKey},
    },
    store::{error::Result, reader::Reader, statement::CachedStatements},
};

/// The columns of the checksum: those that never change.
pub(crate) const CHECKED: &str = "profile, rule, transaction_row, raised_at, message, flapping";
const SELECT: &str = "SELECT id, rule, transaction_row, profile, raised_at, clean, message,
    acknowledged_at, acknowledged_note, snoozed_at, snoozed_until, flapping, cleared_at, handled_by FROM alerts";
/// The severity rank of a transaction without an active alert. Also the distance from a firing to a handled alert's
/// rank.
const NO_ALERT_RANK: i64 = 3;

/// Which alerts to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertQuery {
    /// All active alerts, oldest first.
    Active,
    /// The active alerts of one transaction, oldest first.
    OfTransaction(RowId),
    /// The active alerts about a whole profile, of every profile, oldest first.
    OfProfiles,
    /// At most this many active alerts, most urgent first: unhandled before handled, then by rule, then oldest first.
    /// Costs O(n) in the active alerts.
    MostUrgent(usize),
    /// At most this many alerts that were cleared at or after a time, newest first.
    ClearedSince(DateTime<Utc>, usize),
}

/// The numbers of active alerts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlertCounts {
    /// Firing alerts (not handled, or with an ended snooze) by severity: critical, warning, info.
    pub firing: [u64; 3],
    /// Acknowledged and snoozed alerts.
    pub handled: u64,
}

impl AlertCounts {
    /// Adds up the counts by rule ([`Reader::alerts_by_rule`]).
    pub fn sum(by_rule: &[(Rule, [u64; 2])]) -> Self {
        let mut counts = Self::default();
        for (rule, [firing, handled]) in by_rule {
            let [critical, warning, info] = &mut counts.firing;
            *match rule.severity() {
                Severity::Critical => critical,
                Severity::Warning => warning,
                Severity::Info => info,
            } += firing;
            counts.handled += handled;
        }
        counts
    }
}

impl Reader {
    /// Returns alerts, in the order that the query documents.
    pub fn alerts(&self, query: AlertQuery) -> Result<Vec<Alert>> {
        load(self.db(), query)
    }

    /// Converts an edit by row numbers, which are those of this store, into an edit by keys, which are valid in every
    /// store. Transactions and alerts that are gone are left out.
    pub fn resolve(&self, edit: LocalEdit) -> Result<Edit> {
        edit.resolve(|row| transaction_keys::key(self.db(), row), |alert| key(self.db(), alert))
    }

    /// Returns the numbers of firing and handled alerts at `now` for each rule, of one profile or of all.
    pub fn alerts_by_rule(&self, profile: Option<&str>, now: DateTime<Utc>) -> Result<Vec<(Rule, [u64; 2])>> {
        let sql = "SELECT rule,
            count(*) FILTER (WHERE acknowledged_at IS NULL AND (snoozed_at IS NULL OR snoozed_until <= ?1)), count(*)
            FROM alerts WHERE cleared_at IS NULL AND (?2 IS NULL OR profile = ?2) GROUP BY rule";
        let read = |row: &Row<'_>| Ok((columns::lenient(row, 0)?, row.get(1)?, row.get(2)?));
        let rows: Vec<(String, u64, u64)> = self.db().all(sql, params![columns::moment(now), profile], read)?;
        let known =
            |(rule, firing, active): (String, u64, u64)| Some((Rule::find_by_name(&rule)?, [firing, active - firing]));
        Ok(rows.into_iter().filter_map(known).collect())
    }
}

pub(crate) fn load(db: &Connection, query: AlertQuery) -> Result<Vec<Alert>> {
    match query {
        AlertQuery::Active => collect(db, "cleared_at IS NULL ORDER BY id", []),
        AlertQuery::OfTransaction(row) => {
            collect(db, "cleared_at IS NULL AND transaction_row = ? ORDER BY id", [row.0])
        }
        AlertQuery::OfProfiles => collect(db, "cleared_at IS NULL AND transaction_row IS NULL ORDER BY id", []),
        AlertQuery::MostUrgent(limit) => {
            let urgency = Rule::ALL.iter().enumerate();
            let urgency: String = urgency.map(|(rank, rule)| format!(" WHEN '{}' THEN {rank}", rule.name())).collect();
            let condition = format!(
                "cleared_at IS NULL ORDER BY acknowledged_at IS NOT NULL OR snoozed_at IS NOT NULL,
                 CASE rule{urgency} ELSE {} END, raised_at, id LIMIT ?",
                Rule::ALL.len()
            );
            collect(db, &condition, [limit])
        }
        AlertQuery::ClearedSince(since, limit) => {
            let condition = "cleared_at >= ? ORDER BY cleared_at DESC, id DESC LIMIT ?";
            collect(db, condition, params![columns::moment(since), limit])
        }
    }
}

/// Returns the active alerts of a transaction, and those about its whole profile.
pub(crate) fn active_for(db: &Connection, profile: &str, row: RowId) -> Result<Vec<Alert>> {
    // Two index lookups instead of a scan of all active alerts.
    let mut alerts = load(db, AlertQuery::OfTransaction(row))?;
    alerts.extend(active_of_profile(db, profile)?);
    Ok(alerts)
}

/// Returns the active alerts about a whole profile.
pub(crate) fn active_of_profile(db: &Connection, profile: &str) -> Result<Vec<Alert>> {
    collect(db, "cleared_at IS NULL AND transaction_row IS NULL AND profile = ?1 ORDER BY id", [profile])
}

/// Returns an active alert by its number.
pub(crate) fn by_id(db: &Connection, id: i64) -> Result<Option<Alert>> {
    Ok(collect(db, "cleared_at IS NULL AND id = ?", [id])?.into_iter().next())
}

/// Returns the active alert with a key.
pub(crate) fn by_key(db: &Connection, key: &AlertKey) -> Result<Option<Alert>> {
    let (rule, raised_at) = (key.rule.name(), columns::moment(key.raised_at));
    let of_subject = |condition: &str, subject: &dyn ToSql| {
        let condition = format!("cleared_at IS NULL AND rule = ? AND raised_at = ? AND {condition}");
        collect(db, &condition, params![rule, raised_at, subject])
    };
    let alerts = match &key.about {
        SubjectKey::Profile(profile) => of_subject("transaction_row IS NULL AND profile = ?", profile),
        // Earlier versions left out the profile of some alerts.
        SubjectKey::Transaction(transaction) => match transactions::row_of(db, transaction)? {
            Some(row) => of_subject("transaction_row = ?", &row.0),
            None => return Ok(None),
        },
    };
    Ok(alerts?.into_iter().next())
}

/// Returns the key of an active alert, which is valid in every store.
pub(crate) fn key(db: &Connection, id: i64) -> Result<Option<AlertKey>> {
    let Some(alert) = by_id(db, id)? else { return Ok(None) };
    let about = match alert.transaction {
        None => SubjectKey::Profile(alert.profile),
        Some(row) => match transaction_keys::key(db, row)? {
            Some(key) => SubjectKey::Transaction(key),
            None => return Ok(None),
        },
    };
    Ok(Some(AlertKey { about, rule: alert.rule, raised_at: alert.raised_at }))
}

/// Returns the active alerts whose snooze has ended at `at`.
pub(crate) fn with_ended_snooze(db: &Connection, at: DateTime<Utc>) -> Result<Vec<Alert>> {
    collect(db, "snoozed_until <= ? AND cleared_at IS NULL ORDER BY snoozed_until, id", [columns::moment(at)])
}

/// Inserts an alert. Returns `false` if an alert with the same rule and subject is already active.
pub(crate) fn insert(
    db: &Connection,
    rule: Rule,
    message: &str,
    is_flapping: bool,
    entry: &FeedEntry<'_>,
) -> Result<bool> {
    let sql = "INSERT INTO alerts (profile, rule, transaction_row, raised_at, message, flapping, checksum)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, row_checksum(?1, ?2, ?3, ?4, ?5, ?6)) ON CONFLICT DO NOTHING";
    let (row, at) = (entry.transaction.map(|row| row.0), columns::moment(entry.at));
    Ok(db.change(sql, params![entry.profile, rule.name(), row, at, message, is_flapping])? > 0)
}

/// Returns whether an alert that is raised now is flapping, and whether the previous alert with its rule and subject was.
pub(crate) fn flapping_state(db: &Connection, rule: Rule, entry: &FeedEntry<'_>) -> Result<(bool, bool)> {
    let (since, at) = (columns::moment(entry.at - FLAPPING_WITHIN), columns::moment(entry.at));
    let row = entry.transaction.map(|row| row.0);
    let raises: Vec<bool> = db.all(
        "SELECT flapping FROM alerts WHERE profile = ?1 AND rule = ?2 AND transaction_row IS ?3
         AND cleared_at > ?4 AND raised_at > ?4 AND raised_at <= ?5 ORDER BY id DESC",
        params![entry.profile, rule.name(), row, since, at],
        |row| row.get(0),
    )?;
    Ok((raises.len() + 1 >= FLAPPING_RAISES, raises.first() == Some(&true)))
}

/// Sets the number of consecutive observations without the alert's condition.
pub(crate) fn set_clean_count(db: &Connection, id: i64, clean: u32) -> Result<()> {
    db.run("UPDATE alerts SET clean = ? WHERE id = ?", params![clean, id])
}

/// Clears an active alert. Returns whether it was flapping; `None` if it wasn't active.
pub(crate) fn clear(db: &Connection, id: i64, at: DateTime<Utc>) -> Result<Option<bool>> {
    let sql = "UPDATE alerts SET cleared_at = ? WHERE id = ? AND cleared_at IS NULL RETURNING flapping";
    db.first(sql, params![columns::moment(at), id], |row| row.get(0))
}

/// Activates the alerts again that were cleared when polling of the transaction stopped; their handling is unchanged.
/// Returns the rules, each with whether the alert is flapping.
pub(crate) fn reactivate(db: &Connection, row: RowId) -> Result<Vec<(Rule, bool)>> {
    let sql = "UPDATE OR IGNORE alerts SET cleared_at = NULL, clean = 0 WHERE transaction_row = ?1 AND cleared_at =
        (SELECT at FROM changes WHERE transaction_row = ?1 AND event = 'untracked' ORDER BY seq DESC LIMIT 1)
        RETURNING rule, flapping";
    let found: Vec<(String, bool)> = db.all(sql, [row.0], |found| Ok((found.get::<_, String>(0)?, found.get(1)?)))?;
    Ok(found.into_iter().filter_map(|(rule, flapping)| Some((Rule::find_by_name(&rule)?, flapping))).collect())
}

/// Writes the handling of an alert; with `None` the alert fires.
pub(crate) fn set_handling(db: &Connection, id: i64, handling: Option<&Handling>) -> Result<()> {
    let sql = "UPDATE alerts SET acknowledged_at = ?2, acknowledged_note = ?3, snoozed_at = ?4, snoozed_until = ?5,
               handled_by = ?6 WHERE id = ?1";
    let at = handling.map(|handling| columns::moment(handling.at));
    let snooze = handling.and_then(Handling::snooze);
    let (acknowledged_at, snoozed_at) = if snooze.is_none() { (at, None) } else { (None, at) };
    let until = snooze.and_then(SnoozeEnd::moment).map(columns::moment);
    let (note, author) = (handling.and_then(Handling::note), handling.and_then(Handling::author));
    db.run(sql, params![id, acknowledged_at, note, snoozed_at, until, author])
}

/// Writes the severity rank of a transaction, the first key of the default order (`queries/order.rs`). The ranks
/// are: critical alert -3, warning -2, info -1; 0, 1, 2 if all alerts are handled; 3 without alerts.
pub(crate) fn write_severity_rank(db: &Connection, row: RowId) -> Result<()> {
    let rank = |alert: &Alert| {
        let rank = match alert.rule.severity() {
            Severity::Critical => -3,
            Severity::Warning => -2,
            Severity::Info => -1,
        };
        if alert.handling.is_some() { rank + NO_ALERT_RANK } else { rank }
    };
    let active = load(db, AlertQuery::OfTransaction(row))?;
    let rank = active.iter().map(rank).min().unwrap_or(NO_ALERT_RANK);
    db.run("UPDATE transactions SET calm = ? WHERE id = ?", [rank, row.0])
}

/// Returns the alerts that meet a condition (SQL), in the order that may stand behind the condition.
fn collect(db: &Connection, condition: &str, params: impl rusqlite::Params) -> Result<Vec<Alert>> {
    // A later version of hoptop may add rules that this version doesn't know.
    Ok(db.all(&format!("{SELECT} WHERE {condition}"), params, read)?.into_iter().flatten().collect())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Option<Alert>> {
    let rule: String = columns::lenient(row, "rule")?;
    let Some(rule) = Rule::find_by_name(&rule) else { return Ok(None) };
    Ok(Some(Alert {
        id: row.get("id")?,
        rule,
        transaction: row.get::<_, Option<i64>>("transaction_row")?.map(RowId),
        profile: columns::lenient(row, "profile")?,
        raised_at: columns::moment_from(columns::lenient(row, "raised_at")?),
        clean: columns::lenient(row, "clean")?,
        is_flapping: columns::lenient(row, "flapping")?,
        message: columns::lenient(row, "message")?,
        handling: read_handling(row)?,
        cleared_at: columns::optional_moment(row, "cleared_at")?,
    }))
}

fn read_handling(row: &Row<'_>) -> rusqlite::Result<Option<Handling>> {
    let author = columns::lenient(row, "handled_by")?;
    if let Some(at) = columns::optional_moment(row, "acknowledged_at")? {
        let kind = HandlingKind::Acknowledged(columns::lenient(row, "acknowledged_note")?);
        return Ok(Some(Handling { at, author, kind }));
    }
    let until = columns::optional_moment(row, "snoozed_until")?.map_or(SnoozeEnd::Change, SnoozeEnd::Until);
    let snoozed = columns::optional_moment(row, "snoozed_at")?;
    Ok(snoozed.map(|at| Handling { at, author, kind: HandlingKind::Snoozed(until) }))
}
