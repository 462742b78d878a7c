//! The observations' table: each answer that differs from the one before is kept, equal ones are counted.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{columns, error::StoreError};
use crate::domain::{
    ids::RowId,
    observation::{Observation, Outcome},
    span,
};

/// One kept answer.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredObservation {
    /// When it first came.
    pub first_at: DateTime<Utc>,
    /// When it last came.
    pub last_at: DateTime<Utc>,
    /// How many times in a row.
    pub times: u64,
    /// What it said, in a few words: a status, `not found`, a failure.
    pub summary: String,
    /// The HTTP status, if there was an answer.
    pub http_status: Option<u16>,
    /// The last one's latency.
    pub latency: std::time::Duration,
    /// The body as it came, but for the integrator ID.
    pub body: Option<String>,
}

impl StoredObservation {
    /// What came, in words, for a person.
    pub fn sentence(&self) -> String {
        let http = self.http_status.map_or_else(String::new, |status| format!(" (HTTP {status})"));
        let times = match self.times {
            0 | 1 => String::new(),
            times => format!(", {times} times over {}", span::long(span::between(self.first_at, self.last_at))),
        };
        format!("answer: {}{http}{times}", self.summary)
    }
}

const COLUMNS: &str = "first_at, last_at, times, summary, http_status, latency, body";

pub(super) fn keep(
    db: &Connection,
    transaction: RowId,
    observation: &Observation,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let summary = summary(&observation.outcome);
    let last = db
        .prepare_cached(
            "SELECT id, summary, http_status, body FROM observations WHERE transaction_row = ? ORDER BY id DESC LIMIT 1",
        )?
        .query_row([transaction.0], |row| {
            let same = row.get_ref(1)?.as_str()? == summary
                && row.get::<_, Option<u16>>(2)? == observation.http_status
                && row.get_ref(3)?.as_str_or_null()? == observation.body.as_deref();
            Ok((row.get::<_, i64>(0)?, same))
        })
        .optional()?;
    let (moment, latency) = (columns::moment(at), columns::span(observation.latency));
    if let Some((id, true)) = last {
        db.prepare_cached("UPDATE observations SET last_at = ?, latency = ?, times = times + 1 WHERE id = ?")?
            .execute(params![moment, latency, id])?;
        return Ok(());
    }
    db.prepare_cached(
        "INSERT INTO observations (transaction_row, first_at, last_at, summary, http_status, latency, body)
         VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![transaction.0, moment, summary, observation.http_status, latency, observation.body])?;
    Ok(())
}

fn summary(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Record(record) => record.status.to_string(),
        Outcome::NotFound(None) => "not found".into(),
        Outcome::NotFound(Some(message)) => format!("not found: {message}"),
        Outcome::Failed(failure) => failure.line(),
    }
}

/// The kept answers of one transaction, the oldest first, without their bodies.
pub(super) fn of_transaction(db: &Connection, transaction: RowId) -> Result<Vec<StoredObservation>, StoreError> {
    let sql = "SELECT first_at, last_at, times, summary, http_status, latency, NULL
               FROM observations WHERE transaction_row = ? ORDER BY id";
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map([transaction.0], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The last answer, without its body.
pub(super) fn last(db: &Connection, transaction: RowId) -> Result<Option<StoredObservation>, StoreError> {
    let sql = "SELECT first_at, last_at, times, summary, http_status, latency, NULL
               FROM observations WHERE transaction_row = ? ORDER BY id DESC LIMIT 1";
    Ok(db.prepare_cached(sql)?.query_row([transaction.0], read).optional()?)
}

/// The last answer that had a body.
pub(super) fn last_with_body(db: &Connection, transaction: RowId) -> Result<Option<StoredObservation>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM observations WHERE transaction_row = ? AND body IS NOT NULL ORDER BY id DESC LIMIT 1"
    );
    Ok(db.prepare_cached(&sql)?.query_row([transaction.0], read).optional()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredObservation> {
    Ok(StoredObservation {
        first_at: columns::moment_from(row.get(0)?),
        last_at: columns::moment_from(row.get(1)?),
        times: row.get(2)?,
        summary: row.get(3)?,
        http_status: row.get(4)?,
        latency: columns::span_from(row.get(5)?),
        body: row.get(6)?,
    })
}
