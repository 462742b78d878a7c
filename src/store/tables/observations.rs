//! The observations' table: each answer that brought news is kept with its body, the others are counted with it.
//!
//! An entry is never rewritten but for its count; retention may drop its body, and says so.

use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    bodies::{self, Packed},
    columns,
};
use crate::domain::{
    ids::RowId,
    observation::{Observation, Outcome},
    span,
    transaction::Transaction,
};
use crate::store::{error::StoreError, reader::Reader};

/// One kept answer.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredObservation {
    /// The store's number.
    pub id: i64,
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
    pub latency: Duration,
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

impl Reader {
    /// The answers about a transaction, the oldest first.
    pub fn answers(&self, row: RowId) -> Result<Vec<StoredObservation>, StoreError> {
        of_transaction(self.db(), row)
    }

    /// The body of one answer, as it came, by the store's number.
    pub fn body(&self, observation: i64) -> Result<Option<String>, StoreError> {
        body(self.db(), observation)
    }

    /// The time from the previous answer that told the state of the same transaction to this one; `None` of the first. A
    /// failure tells nothing of the state.
    pub fn gap_before(&self, observation: i64) -> Result<Option<Duration>, StoreError> {
        let sql = "SELECT first_at, (SELECT max(last_at) FROM observations AS earlier
                   WHERE earlier.transaction_row = this.transaction_row AND earlier.id < this.id
                       AND earlier.http_status IN (200, 404))
                   FROM observations AS this WHERE id = ?";
        let found = self
            .db()
            .prepare_cached(sql)?
            .query_row([observation], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?)))
            .optional()?;
        let moments = found.and_then(|(at, before)| Some((columns::moment_from(before?), columns::moment_from(at))));
        Ok(moments.map(|(before, at)| span::between(before, at)))
    }

    /// From a place on, transactions that settled before a moment and still have bodies, the longest settled first, at most so
    /// many; and the place behind them. Costs n in what settled between the two places.
    pub fn with_old_bodies(
        &self,
        from: OldBodies,
        settled_before: DateTime<Utc>,
        most: usize,
    ) -> Result<(OldBodies, Vec<RowId>), StoreError> {
        with_old_bodies(self.db(), from, settled_before, most)
    }
}

/// Where the body of the last answer stands.
pub(in crate::store) enum LastBody<'a> {
    /// The last entry of the history has it.
    InHistory(&'a str),
    /// No entry has it; and whether it is that of a record.
    Apart(&'a str, bool),
    /// None came: the last one is still the last.
    Unchanged,
}

/// Keeps an answer: with an entry of its own if it brought news, else counted with the one before. With it the number of the
/// entry. A failure is told apart by its words, since a page with an error is another one each time.
pub(in crate::store) fn keep<'a>(
    db: &Connection,
    transaction: &Transaction,
    observation: &'a Observation,
    at: DateTime<Utc>,
) -> Result<(i64, LastBody<'a>), StoreError> {
    let summary = summary(&observation.outcome);
    let brought_news = transaction.state.last_changed_at == Some(at);
    let last = db
        .prepare_cached(
            "SELECT id, summary, http_status FROM observations WHERE transaction_row = ? ORDER BY id DESC LIMIT 1",
        )?
        .query_row([transaction.id.0], |row| {
            let same = row.get_ref(1)?.as_str()? == summary && row.get::<_, Option<u16>>(2)? == observation.http_status;
            Ok((row.get::<_, i64>(0)?, same))
        })
        .optional()?;
    let (moment, latency) = (columns::moment(at), columns::span(observation.latency));
    if let Some((id, true)) = last
        && !brought_news
    {
        db.prepare_cached("UPDATE observations SET last_at = ?, latency = ?, times = times + 1 WHERE id = ?")?
            .execute(params![moment, latency, id])?;
        let last = match observation.body.as_deref() {
            None => LastBody::Unchanged,
            Some(text) if readable_body(db, id)?.as_deref() == Some(text) => LastBody::InHistory(text),
            Some(text) => LastBody::Apart(text, matches!(observation.outcome, Outcome::Record(_))),
        };
        return Ok((id, last));
    }
    let is_record = matches!(observation.outcome, Outcome::Record(_));
    let packed = observation.body.as_deref().map(|body| pack(db, transaction, (body, is_record))).transpose()?;
    let packed = packed.unwrap_or(Packed::NONE);
    db.prepare_cached(
        "INSERT INTO observations (transaction_row, first_at, last_at, summary, http_status, latency,
         body, body_dictionary, body_base) VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        transaction.id.0,
        moment,
        summary,
        observation.http_status,
        latency,
        packed,
        packed.dictionary,
        packed.base
    ])?;
    let last = observation.body.as_deref().map_or(LastBody::Unchanged, LastBody::InHistory);
    Ok((db.last_insert_rowid(), last))
}

/// Packs a body. That of a record is like the first one of its transaction, or like those of its route; what else comes, such
/// as a page with an error, is like nothing.
pub(in crate::store) fn pack(
    db: &Connection,
    transaction: &Transaction,
    (text, is_record): (&str, bool),
) -> Result<Packed, StoreError> {
    if !is_record {
        return bodies::pack(text, None);
    }
    match first(db, transaction.id)? {
        Some((id, like)) => bodies::pack_like(text, None, (id, &like)),
        None => {
            bodies::pack_first(db, &transaction.params, (text, &bodies::record_json(transaction)?.unwrap_or_default()))
        }
    }
}

/// The first body of a transaction that others are packed with, and its number.
fn first(db: &Connection, transaction: RowId) -> Result<Option<(i64, String)>, StoreError> {
    let first = db
        .prepare_cached(
            "SELECT id FROM observations WHERE transaction_row = ? AND body_dictionary IS NOT NULL ORDER BY id LIMIT 1",
        )?
        .query_row([transaction.0], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(id) = first else { return Ok(None) };
    Ok(readable_body(db, id)?.map(|body| (id, body)))
}

/// The body of one entry.
pub(in crate::store) fn body(db: &Connection, id: i64) -> Result<Option<String>, StoreError> {
    let packed = db
        .prepare_cached("SELECT body, body_dictionary, body_base FROM observations WHERE id = ?")?
        .query_row([id], |row| Packed::read(row, 0))
        .optional()?;
    // What another body was packed with was packed with a dictionary itself.
    packed.map_or(Ok(None), |packed| bodies::unpack(db, &packed, |base| body(db, base)))
}

/// The body of one entry; none if it can't be unpacked, so that one bad text stands in nobody's way.
pub(in crate::store) fn readable_body(db: &Connection, id: i64) -> Result<Option<String>, StoreError> {
    bodies::readable(body(db, id), format_args!("the body of answer {id}"))
}

fn summary(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Record(record) => record.status.to_string(),
        Outcome::NotFound(None) => "not found".into(),
        Outcome::NotFound(Some(message)) => format!("not found: {message}"),
        Outcome::Failed(failure) => failure.line(),
    }
}

const SELECT: &str = "SELECT id, first_at, last_at, times, summary, http_status, latency FROM observations";

/// The entries of one transaction, the oldest first.
pub(in crate::store) fn of_transaction(
    db: &Connection,
    transaction: RowId,
) -> Result<Vec<StoredObservation>, StoreError> {
    let mut statement = db.prepare_cached(&format!("{SELECT} WHERE transaction_row = ? ORDER BY id"))?;
    let rows = statement.query_map([transaction.0], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The last body that came.
pub(in crate::store) fn last_body(db: &Connection, transaction: RowId) -> Result<Option<String>, StoreError> {
    let id = db
        .prepare_cached(
            "SELECT id FROM observations WHERE transaction_row = ? AND body IS NOT NULL ORDER BY id DESC LIMIT 1",
        )?
        .query_row([transaction.0], |row| row.get::<_, i64>(0))
        .optional()?;
    id.map_or(Ok(None), |id| body(db, id))
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredObservation> {
    Ok(StoredObservation {
        id: row.get(0)?,
        first_at: columns::moment_from(row.get(1)?),
        last_at: columns::moment_from(row.get(2)?),
        times: row.get(3)?,
        summary: row.get(4)?,
        http_status: row.get(5)?,
        latency: columns::span_from(row.get(6)?),
    })
}

/// A place in the order in which transactions settled: what was dropped before it isn't looked at again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OldBodies {
    settled_at: i64,
    row: i64,
}

fn with_old_bodies(
    db: &Connection,
    from: OldBodies,
    before: DateTime<Utc>,
    most: usize,
) -> Result<(OldBodies, Vec<RowId>), StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT settled_at, id FROM transactions
         WHERE settled_at IS NOT NULL AND settled_at >= ?1 AND settled_at < ?3 AND (settled_at > ?1 OR id < ?2)
         AND (EXISTS (SELECT 1 FROM observations WHERE transaction_row = transactions.id AND body IS NOT NULL)
              OR EXISTS (SELECT 1 FROM records WHERE transaction_row = transactions.id AND body IS NOT NULL))
         ORDER BY settled_at, id DESC LIMIT ?4",
    )?;
    let rows = statement.query_map(params![from.settled_at, from.row, columns::moment(before), most], |row| {
        Ok(OldBodies { settled_at: row.get(0)?, row: row.get(1)? })
    })?;
    let found: Vec<OldBodies> = rows.collect::<Result<_, _>>()?;
    let reached = found.last().copied().unwrap_or(from);
    Ok((reached, found.into_iter().map(|found| RowId(found.row)).collect()))
}

/// Clears the bodies of one transaction's answers; returns how many there were.
pub(in crate::store) fn clear_bodies(db: &Connection, transaction: RowId) -> Result<usize, StoreError> {
    let sql = "UPDATE observations SET body = NULL, body_dictionary = NULL, body_base = NULL
               WHERE transaction_row = ? AND body IS NOT NULL";
    Ok(db.prepare_cached(sql)?.execute([transaction.0])?)
}
