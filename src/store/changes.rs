//! The change feed: appended with each write, read by number.
//!
//! Entries that bring no news are dropped in time, and who hasn't read them yet is told so; no other entry ever is.

use std::ops::RangeInclusive;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row, params};
use serde_json::{Map, Value};

use super::{columns, error::StoreError};
use crate::domain::{
    change::{Change, What},
    ids::RowId,
    transaction::Transaction,
};

/// How many entries without news are kept before the older half goes.
const POLLED_KEPT: i64 = 20_000;

/// Where the JSON of an event has its name; the table has a column for it.
const EVENT: &str = "event";

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
pub(super) struct Entry<'a> {
    pub(super) at: DateTime<Utc>,
    pub(super) profile: &'a str,
    pub(super) transaction: Option<RowId>,
    /// The answer that showed it.
    pub(super) observation: Option<i64>,
}

impl<'a> Entry<'a> {
    /// Something that happened to a transaction, other than by an answer.
    pub(super) fn of(transaction: &'a Transaction, at: DateTime<Utc>) -> Self {
        Self { at, profile: &transaction.profile, transaction: Some(transaction.id), observation: None }
    }

    /// Something that concerns a whole profile.
    pub(super) fn of_profile(profile: &'a str, at: DateTime<Utc>) -> Self {
        Self { at, profile, transaction: None, observation: None }
    }
}

pub(super) fn append(db: &Connection, entry: &Entry<'_>, what: &What) -> Result<(), StoreError> {
    let profile = entry.profile;
    db.prepare_cached(
        "INSERT INTO changes (at, profile, transaction_row, event, what, observation) VALUES (?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        columns::moment(entry.at),
        entry.transaction.is_none().then_some(profile),
        entry.transaction.map(|row| row.0),
        what.name(),
        details(what)?,
        entry.observation
    ])?;
    let seq = db.last_insert_rowid();
    if seq % POLLED_KEPT == 0 {
        prune(db, seq - POLLED_KEPT)?;
    }
    Ok(())
}

/// What an event says beyond its name.
fn details(what: &What) -> Result<Option<String>, StoreError> {
    let unreadable = |error| columns::unreadable(0, error);
    let Value::Object(mut fields) = serde_json::to_value(what).map_err(unreadable)? else { return Ok(None) };
    fields.remove(EVENT);
    let written = (!fields.is_empty()).then(|| serde_json::to_string(&fields)).transpose();
    Ok(written.map_err(unreadable)?)
}

/// Appends an entry for each of these transactions, all of which were added now and are `entry`'s profile's.
pub(super) fn append_imported(
    db: &Connection,
    entry: &Entry<'_>,
    rows: RangeInclusive<RowId>,
) -> Result<(), StoreError> {
    let before = last(db)?;
    // One statement for all of them: of a large batch a tenth of what one each would take.
    db.prepare_cached(
        "INSERT INTO changes (at, transaction_row, event)
         SELECT ?, id, ? FROM transactions WHERE id BETWEEN ? AND ? ORDER BY id",
    )?
    .execute(params![columns::moment(entry.at), What::Imported.name(), rows.start().0, rows.end().0])?;
    let passed = last(db)? / POLLED_KEPT;
    if passed > before / POLLED_KEPT {
        prune(db, (passed - 1) * POLLED_KEPT)?;
    }
    Ok(())
}

fn prune(db: &Connection, floor: i64) -> Result<(), StoreError> {
    db.execute("DELETE FROM changes WHERE event = 'polled' AND seq <= ?", [floor])?;
    db.execute("UPDATE feed SET floor = ?", [floor])?;
    Ok(())
}

/// The number of the last entry; 0 if there is none.
pub(super) fn last(db: &Connection) -> Result<i64, StoreError> {
    Ok(db.prepare_cached("SELECT ifnull(max(seq), 0) FROM changes")?.query_row([], |row| row.get(0))?)
}

pub(super) fn after(db: &Connection, seq: i64, limit: usize) -> Result<Feed, StoreError> {
    let floor: i64 = db.prepare_cached("SELECT floor FROM feed")?.query_row([], |row| row.get(0))?;
    let mut statement = db.prepare_cached(&format!("{SELECT} WHERE seq > ? ORDER BY seq LIMIT ?"))?;
    let rows = statement.query_map(params![seq, i64::try_from(limit).unwrap_or(i64::MAX)], read)?;
    Ok(Feed { changes: rows.collect::<Result<_, _>>()?, whole: seq >= floor })
}

/// What brought news of one transaction, the oldest first.
pub(super) fn of_transaction(db: &Connection, transaction: RowId) -> Result<Vec<Change>, StoreError> {
    let sql = format!("{SELECT} WHERE transaction_row = ? AND event <> 'polled' ORDER BY seq");
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map([transaction.0], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Change> {
    let fields = row.get_ref(5)?.as_str_or_null()?.map(serde_json::from_str).transpose();
    let mut fields: Map<String, Value> = fields.map_err(|error| columns::unreadable(5, error))?.unwrap_or_default();
    fields.insert(EVENT.to_owned(), Value::String(row.get(4)?));
    Ok(Change {
        seq: row.get(0)?,
        at: columns::moment_from(row.get(1)?),
        profile: row.get(2)?,
        transaction: row.get::<_, Option<i64>>(3)?.map(RowId),
        what: serde_json::from_value(Value::Object(fields)).map_err(|error| columns::unreadable(5, error))?,
        observation: row.get(6)?,
    })
}
