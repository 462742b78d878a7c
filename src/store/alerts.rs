//! The alerts' table: carries out the steps that `alerts` decided.

use rusqlite::{Connection, Row, params};

use super::{
    changes::{self, Entry},
    columns,
    error::StoreError,
};
use crate::domain::{
    alert::{Alert, AlertStep, Rule, Subject},
    change::What,
    ids::RowId,
};

const SELECT: &str =
    "SELECT id, rule, transaction_row, profile, raised_at, clean, message FROM alerts WHERE cleared_at IS NULL";

pub(super) fn carry_out(db: &Connection, steps: &[AlertStep], entry: &Entry<'_>) -> Result<(), StoreError> {
    for step in steps {
        match step {
            AlertStep::Raise { rule, message } => raise(db, *rule, message, entry)?,
            AlertStep::Count { id, clean } => {
                db.prepare_cached("UPDATE alerts SET clean = ? WHERE id = ?")?.execute(params![clean, id])?;
            }
            AlertStep::Clear { id, rule } => {
                let cleared = db
                    .prepare_cached("UPDATE alerts SET cleared_at = ? WHERE id = ? AND cleared_at IS NULL")?
                    .execute(params![columns::moment(entry.at), id])?;
                if cleared > 0 {
                    changes::append(db, entry, &What::AlertCleared { rule: *rule, severity: rule.severity() })?;
                }
            }
        }
    }
    Ok(())
}

fn raise(db: &Connection, rule: Rule, message: &str, entry: &Entry<'_>) -> Result<(), StoreError> {
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
    Ok(())
}

/// What stands for a transaction and for its profile as a whole.
pub(super) fn standing_for(db: &Connection, profile: &str, row: RowId) -> Result<Vec<Alert>, StoreError> {
    // Two lookups by index instead of one scan of all that stands.
    let of_transaction = format!("{SELECT} AND transaction_row = ?1 ORDER BY id");
    let of_profile = format!("{SELECT} AND transaction_row IS NULL AND profile = ?1 ORDER BY id");
    let mut alerts = collect(db, &of_transaction, [row.0])?;
    alerts.extend(collect(db, &of_profile, [profile])?);
    Ok(alerts)
}

/// Everything that stands, the oldest first.
pub(super) fn standing(db: &Connection) -> Result<Vec<Alert>, StoreError> {
    collect(db, &format!("{SELECT} ORDER BY id"), [])
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
    }))
}
