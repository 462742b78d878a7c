//! All that is tracked, in numbers, and what whoever polls has to look after.
//!
//! Each number is one query over an index, or says what it costs. Nothing here takes memory for each transaction.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    alerts, columns,
    error::StoreError,
    transactions::{self, POLLED},
};
use crate::domain::{alert::Alert, ids::RowId, need, status::RouterStatus, transaction::Transaction};

/// What a profile's poller has to look after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// How many are polled.
    pub polled: usize,
    /// How many of these are young (`need::young_until`).
    pub young: usize,
    /// The oldest answer; of one never answered when it was first seen.
    pub oldest: Option<DateTime<Utc>>,
}

/// How many are tracked. Costs n, in the smallest index.
pub(super) fn tracked(db: &Connection) -> Result<u64, StoreError> {
    Ok(db.prepare_cached("SELECT count(*) FROM transactions")?.query_row([], |row| row.get(0))?)
}

/// The oldest answer among those that are polled.
pub(super) fn oldest(db: &Connection, profile: &str) -> Result<Option<DateTime<Utc>>, StoreError> {
    let sql =
        format!("SELECT min(ifnull(last_checked_at, first_seen_at)) FROM transactions WHERE profile = ? AND {POLLED}");
    let oldest: Option<i64> = db.prepare_cached(&sql)?.query_row([profile], |row| row.get(0))?;
    Ok(oldest.map(columns::moment_from))
}

/// The newest answer of all. Costs n.
pub(super) fn newest(db: &Connection) -> Result<Option<DateTime<Utc>>, StoreError> {
    let newest: Option<i64> =
        db.prepare_cached("SELECT max(last_checked_at) FROM transactions")?.query_row([], |row| row.get(0))?;
    Ok(newest.map(columns::moment_from))
}

/// What a profile's poller has to look after at `now`. Costs n in what is polled.
pub(super) fn load(db: &Connection, profile: &str, now: DateTime<Utc>) -> Result<Load, StoreError> {
    let sql = format!(
        "SELECT count(*), count(*) FILTER (WHERE (status IS NULL OR status = 'not_found') AND submitted > ?2)
         FROM transactions WHERE profile = ?1 AND {POLLED}"
    );
    let young_since = columns::moment(now - need::YOUNG);
    let (polled, young) =
        db.prepare_cached(&sql)?.query_row(params![profile, young_since], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Load { polled, young, oldest: oldest(db, profile)? })
}

/// How many of a profile have each status; `None` before the first answer. Costs n, in the index of the statuses.
pub(super) fn by_status(db: &Connection, profile: &str) -> Result<Vec<(Option<RouterStatus>, u64)>, StoreError> {
    let sql = "SELECT status, count(*) FROM transactions WHERE profile = ? GROUP BY status";
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map([profile], |row| Ok((row.get::<_, Option<String>>(0)?, row.get(1)?)))?;
    let rows: Vec<(Option<String>, u64)> = rows.collect::<Result<_, _>>()?;
    Ok(rows.into_iter().map(|(status, count)| (status.map(RouterStatus::from), count)).collect())
}

/// Hands on each transaction that is polled, and each that a person asked for, with what lists show of its record.
pub(super) fn each_polled(db: &Connection, profile: &str, each: &mut dyn FnMut(Transaction)) -> Result<(), StoreError> {
    for condition in [POLLED.to_owned(), format!("poll_requested_at IS NOT NULL AND NOT ({POLLED})")] {
        let sql = format!("{} WHERE profile = ? AND {condition}", transactions::SELECT);
        let mut statement = db.prepare_cached(&sql)?;
        let mut rows = statement.query([profile])?;
        while let Some(row) = rows.next()? {
            each(transactions::read(row)?);
        }
    }
    Ok(())
}

/// The first of those that need somebody in the order in which lists show them, with the gravest that stands for it: what isn't set
/// aside first, then by its rule.
pub(super) fn most_urgent(db: &Connection) -> Result<Option<(Alert, Transaction)>, StoreError> {
    let sql = "SELECT id FROM transactions WHERE calm < 3 ORDER BY calm, due, id LIMIT 1";
    let row = db.prepare_cached(sql)?.query_row([], |row| row.get(0).map(RowId)).optional()?;
    let Some(row) = row else { return Ok(None) };
    let alerts = alerts::of_transaction(db, row)?.into_iter();
    let alert = alerts.min_by_key(|alert| (alert.set_aside.is_some(), alert.rule));
    Ok(alert.zip(transactions::outline(db, row)?))
}
