//! The alerts' table: carries out the steps that `alerts` decided.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row, params};

use super::{
    changes::{self, Entry},
    columns,
    edits::Taken,
    error::StoreError,
};
use crate::domain::{
    alert::{Acknowledgement, Alert, AlertStep, Rule, Severity, Subject},
    change::What,
    ids::RowId,
};

const SELECT: &str = "SELECT id, rule, transaction_row, profile, raised_at, clean, message,
    acknowledged_at, acknowledged_note FROM alerts WHERE cleared_at IS NULL";

pub(super) fn carry_out(db: &Connection, steps: &[AlertStep], entry: &Entry<'_>) -> Result<(), StoreError> {
    let mut turned = false;
    for step in steps {
        match step {
            AlertStep::Raise { rule, message } => turned |= raise(db, *rule, message, entry)?,
            AlertStep::Count { id, clean } => {
                db.prepare_cached("UPDATE alerts SET clean = ? WHERE id = ?")?.execute(params![clean, id])?;
            }
            AlertStep::Clear { id, rule } => turned |= clear(db, *id, *rule, entry)?,
        }
    }
    match entry.transaction {
        Some(row) if turned => write_calm(db, row),
        _ => Ok(()),
    }
}

/// How calm a transaction is, from what stands for it: the first key of the order in which people look.
pub(super) fn calm(severity: Option<Severity>) -> u8 {
    match severity {
        Some(Severity::Critical) => 0,
        Some(Severity::Warning) => 1,
        Some(Severity::Info) => 2,
        None => 3,
    }
}

fn write_calm(db: &Connection, row: RowId) -> Result<(), StoreError> {
    let standing = collect(db, &format!("{SELECT} AND transaction_row = ?"), [row.0])?;
    let gravest = standing.iter().map(|alert| alert.rule.severity()).max();
    db.prepare_cached("UPDATE transactions SET calm = ? WHERE id = ?")?.execute(params![calm(gravest), row.0])?;
    Ok(())
}

fn clear(db: &Connection, id: i64, rule: Rule, entry: &Entry<'_>) -> Result<bool, StoreError> {
    let cleared = db
        .prepare_cached("UPDATE alerts SET cleared_at = ? WHERE id = ? AND cleared_at IS NULL")?
        .execute(params![columns::moment(entry.at), id])?;
    if cleared > 0 {
        changes::append(db, entry, &What::AlertCleared { rule, severity: rule.severity() })?;
    }
    Ok(cleared > 0)
}

fn raise(db: &Connection, rule: Rule, message: &str, entry: &Entry<'_>) -> Result<bool, StoreError> {
    let raised = db
        .prepare_cached(
            "INSERT INTO alerts (profile, rule, transaction_row, raised_at, message) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            entry.profile,
            rule.name(),
            entry.transaction.map(|row| row.0),
            columns::moment(entry.at),
            message
        ])?;
    if raised > 0 {
        changes::append(db, entry, &What::AlertRaised { rule, severity: rule.severity() })?;
    }
    Ok(raised > 0)
}

/// What stands for a transaction and for its profile as a whole.
pub(super) fn standing_for(db: &Connection, profile: &str, row: RowId) -> Result<Vec<Alert>, StoreError> {
    // Two lookups by index instead of one scan of all that stands.
    let of_profile = format!("{SELECT} AND transaction_row IS NULL AND profile = ?1 ORDER BY id");
    let mut alerts = of_transaction(db, row)?;
    alerts.extend(collect(db, &of_profile, [profile])?);
    Ok(alerts)
}

/// One that stands.
pub(super) fn by_id(db: &Connection, id: i64) -> Result<Option<Alert>, StoreError> {
    Ok(collect(db, &format!("{SELECT} AND id = ?"), [id])?.into_iter().next())
}

/// Makes who has taken an alert on another one, if things stand as expected.
pub(super) fn acknowledge(
    db: &Connection,
    id: i64,
    (from, to): (&Option<Taken>, &Option<Taken>),
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let Some(alert) = by_id(db, id)? else { return Ok(false) };
    let ((from_at, _), (to_at, to_note)) = (Taken::columns(from.as_ref()), Taken::columns(to.as_ref()));
    let sql = "UPDATE alerts SET acknowledged_at = ?3, acknowledged_note = ?4 WHERE id = ?1 AND acknowledged_at IS ?2";
    if db.prepare_cached(sql)?.execute(params![id, from_at, to_at, to_note])? == 0 {
        return Ok(false);
    }
    let transaction = match alert.subject {
        Subject::Transaction(row) => Some(row),
        Subject::Profile => None,
    };
    let what = match to {
        Some(_) => What::AlertAcknowledged { rule: alert.rule, note: to_note.map(str::to_owned) },
        None => What::AlertUnacknowledged { rule: alert.rule },
    };
    changes::append(db, &Entry { at, profile: &alert.profile, transaction, observation: None }, &what)?;
    Ok(true)
}

/// Lets whatever was taken on stand as new again, since its transaction is in another state by now.
pub(super) fn end_acknowledgements(db: &Connection, row: RowId, entry: &Entry<'_>) -> Result<(), StoreError> {
    let taken = of_transaction(db, row)?.into_iter().filter(|alert| alert.acknowledged.is_some());
    for Alert { id, rule, .. } in taken {
        db.prepare_cached("UPDATE alerts SET acknowledged_at = NULL, acknowledged_note = NULL WHERE id = ?")?
            .execute([id])?;
        changes::append(db, entry, &What::AlertUnacknowledged { rule })?;
    }
    Ok(())
}

/// Clears whatever stands for a transaction.
pub(super) fn clear_all(db: &Connection, row: RowId, at: DateTime<Utc>) -> Result<(), StoreError> {
    let entry = Entry { at, profile: "", transaction: Some(row), observation: None };
    let steps: Vec<_> =
        of_transaction(db, row)?.iter().map(|alert| AlertStep::Clear { id: alert.id, rule: alert.rule }).collect();
    carry_out(db, &steps, &entry)
}

/// What stands for one transaction, the oldest first.
pub(super) fn of_transaction(db: &Connection, row: RowId) -> Result<Vec<Alert>, StoreError> {
    collect(db, &format!("{SELECT} AND transaction_row = ? ORDER BY id"), [row.0])
}

/// What stands for profiles as a whole, the oldest first.
pub(super) fn of_profiles(db: &Connection) -> Result<Vec<Alert>, StoreError> {
    collect(db, &format!("{SELECT} AND transaction_row IS NULL ORDER BY id"), [])
}

/// How many alerts stand by rule.
pub(super) fn counts(db: &Connection) -> Result<Vec<(Rule, u64)>, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT rule, count(*) FROM alerts WHERE cleared_at IS NULL GROUP BY rule")?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
    let named =
        |row: rusqlite::Result<(String, u64)>| row.map(|(rule, count)| Rule::named(&rule).map(|rule| (rule, count)));
    Ok(rows.filter_map(|row| named(row).transpose()).collect::<Result<_, _>>()?)
}

/// Everything that stands, the oldest first.
pub(super) fn standing(db: &Connection) -> Result<Vec<Alert>, StoreError> {
    collect(db, &format!("{SELECT} ORDER BY id"), [])
}

/// The gravest of what stands, at most so many; of the same rule the oldest first. Costs n in what stands.
pub(super) fn gravest(db: &Connection, most: usize) -> Result<Vec<Alert>, StoreError> {
    let urgency: String =
        Rule::ALL.iter().enumerate().map(|(place, rule)| format!(" WHEN '{}' THEN {place}", rule.name())).collect();
    let order = format!("CASE rule{urgency} ELSE {} END, raised_at, id", Rule::ALL.len());
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    collect(db, &format!("{SELECT} ORDER BY {order} LIMIT ?"), [most])
}

fn collect(db: &Connection, sql: &str, params: impl rusqlite::Params) -> Result<Vec<Alert>, StoreError> {
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map(params, read)?;
    // A rule that a later hoptop added is none of ours.
    Ok(rows.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Option<Alert>> {
    let rule: String = row.get(1)?;
    let Some(rule) = Rule::named(&rule) else { return Ok(None) };
    let subject = row.get::<_, Option<i64>>(2)?.map_or(Subject::Profile, |row| Subject::Transaction(RowId(row)));
    Ok(Some(Alert {
        id: row.get(0)?,
        rule,
        subject,
        profile: row.get(3)?,
        raised_at: columns::moment_from(row.get(4)?),
        clean: row.get(5)?,
        message: row.get(6)?,
        acknowledged: row
            .get::<_, Option<i64>>(7)?
            .map(columns::moment_from)
            .map(|at| Ok::<_, rusqlite::Error>(Acknowledgement { at, note: row.get(8)? }))
            .transpose()?,
    }))
}
