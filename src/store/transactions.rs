//! The transactions' table: rows to values and back, and what an answer does to a row.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    Seen, alerts, chains,
    changes::{self, Entry},
    columns,
    error::StoreError,
    forecasts, observations,
};
use crate::domain::{
    alert::{Alert, AlertStep},
    change::What,
    experience,
    ids::{ChainId, RowId, TxHash},
    record::StatusRecord,
    status::RouterStatus,
    transaction::{ChainNames, Learned, Told, Tracking, Transaction},
};

/// Decides what an answer means for the alerts: the transaction after it, what stands for it and for its profile, when.
pub type Judge = fn(&Transaction, &[Alert], DateTime<Utc>) -> Vec<AlertStep>;

/// Columns in the order in which [`read`] takes them.
pub(super) const SELECT: &str = "SELECT id, profile, transaction_id, from_chain, to_chain, quote_id, request_id,
    estimate, submitted_at, from_address, ticket, first_seen_at, untracked, parked_reason, status, status_since,
    record, message, last_checked_at, last_changed_at, settled_at, polls, failures, failing_since, last_error, conflict,
    (SELECT json_group_array(label ORDER BY label) FROM labels WHERE transaction_row = transactions.id),
    (SELECT json_group_array(text ORDER BY id) FROM notes WHERE transaction_row = transactions.id),
    (SELECT name FROM chains WHERE chains.profile = transactions.profile AND chains.id = from_chain),
    (SELECT name FROM chains WHERE chains.profile = transactions.profile AND chains.id = to_chain),
    poll_requested_at,
    (SELECT evidence FROM forecasts WHERE forecasts.profile = transactions.profile
     AND forecasts.from_chain = transactions.from_chain AND forecasts.to_chain = '' AND gmp = 0)
    FROM transactions";

pub(super) fn observe(db: &Connection, seen: &Seen, judge: Judge) -> Result<(), StoreError> {
    let Some(mut transaction) = by_row(db, seen.transaction)? else {
        // Deleted while the request was under way.
        return Ok(());
    };
    let before = transaction.learned.clone();
    let changes = transaction.apply(&seen.observation, seen.at);
    observations::keep(db, transaction.id, &seen.observation, seen.at)?;
    write_learned(db, &transaction)?;
    let profile = transaction.profile.clone();
    for chain in &seen.observation.chains {
        chains::learn(db, &profile, chain, seen.at)?;
    }
    for lesson in experience::lessons(&before, &transaction, seen.at) {
        forecasts::learn(db, &profile, &lesson, seen.at)?;
    }
    let entry = Entry { at: seen.at, profile: &profile, transaction: Some(transaction.id) };
    for what in &changes {
        changes::append(db, &entry, what)?;
    }
    let standing = alerts::standing_for(db, &profile, transaction.id)?;
    alerts::carry_out(db, &judge(&transaction, &standing, seen.at), &entry)
}

pub(super) fn request_poll(db: &Connection, transactions: &[RowId], at: DateTime<Utc>) -> Result<(), StoreError> {
    for row in transactions {
        if let Some(transaction) = by_row(db, *row)? {
            let entry = Entry { at, profile: &transaction.profile, transaction: Some(*row) };
            changes::append(db, &entry, &What::PollRequested)?;
            db.prepare_cached("UPDATE transactions SET poll_requested_at = ? WHERE id = ?")?
                .execute(params![columns::moment(at), row.0])?;
        }
    }
    Ok(())
}

pub(super) fn by_row(db: &Connection, row: RowId) -> Result<Option<Transaction>, StoreError> {
    let sql = format!("{SELECT} WHERE id = ?");
    Ok(db.prepare_cached(&sql)?.query_row([row.0], read).optional()?)
}

pub(super) fn all(db: &Connection) -> Result<Vec<Transaction>, StoreError> {
    let mut statement = db.prepare_cached(&format!("{SELECT} ORDER BY id"))?;
    let rows = statement.query_map([], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn write_learned(db: &Connection, transaction: &Transaction) -> Result<(), StoreError> {
    let learned = &transaction.learned;
    let record = learned.record.as_ref().map(serde_json::to_string).transpose();
    let (untracked, parked) = tracking_columns(&transaction.tracking);
    db.prepare_cached(
        "UPDATE transactions SET untracked = ?, parked_reason = ?, status = ?, status_since = ?, record = ?, message = ?,
         last_checked_at = ?, last_changed_at = ?, settled_at = ?, polls = ?, failures = ?, failing_since = ?,
         last_error = ?, conflict = ?, poll_requested_at = ? WHERE id = ?",
    )?
    .execute(params![
        untracked,
        parked,
        learned.status.as_ref().map(RouterStatus::raw),
        learned.status_since.map(columns::moment),
        record.map_err(|error| columns::unreadable(16, error))?,
        learned.message,
        learned.last_checked_at.map(columns::moment),
        learned.last_changed_at.map(columns::moment),
        learned.settled_at.map(columns::moment),
        learned.polls,
        learned.failures,
        learned.failing_since.map(columns::moment),
        learned.last_error,
        learned.conflict,
        transaction.poll_requested_at.map(columns::moment),
        transaction.id.0,
    ])?;
    Ok(())
}

fn tracking_columns(tracking: &Tracking) -> (bool, Option<&str>) {
    match tracking {
        Tracking::Active => (false, None),
        Tracking::Parked(reason) => (false, Some(reason)),
        Tracking::Untracked => (true, None),
    }
}

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Transaction> {
    let tracking = match (row.get(12)?, row.get::<_, Option<String>>(13)?) {
        (true, _) => Tracking::Untracked,
        (false, Some(reason)) => Tracking::Parked(reason),
        (false, None) => Tracking::Active,
    };
    Ok(Transaction {
        id: RowId(row.get(0)?),
        profile: row.get(1)?,
        told: read_told(row)?,
        labels: read_list(row, 26)?,
        notes: read_list(row, 27)?,
        first_seen_at: columns::moment_from(row.get(11)?),
        chain_names: ChainNames { from: row.get(28)?, to: row.get(29)? },
        poll_requested_at: moment(row, 30)?,
        indexing: forecasts::parse(row.get_ref(31)?.as_str_or_null()?)?,
        tracking,
        learned: read_learned(row)?,
    })
}

fn read_told(row: &Row<'_>) -> rusqlite::Result<Told> {
    Ok(Told {
        transaction_id: TxHash::new(row.get::<_, String>(2)?),
        from_chain: ChainId::new(row.get::<_, String>(3)?),
        to_chain: ChainId::new(row.get::<_, String>(4)?),
        quote_id: row.get(5)?,
        request_id: row.get(6)?,
        estimate: row.get::<_, Option<i64>>(7)?.map(columns::span_from),
        submitted_at: moment(row, 8)?,
        from_address: row.get(9)?,
        ticket: row.get(10)?,
    })
}

fn read_learned(row: &Row<'_>) -> rusqlite::Result<Learned> {
    let record: Option<String> = row.get(16)?;
    let record = record.map(|json| serde_json::from_str::<StatusRecord>(&json)).transpose();
    Ok(Learned {
        status: row.get::<_, Option<String>>(14)?.map(RouterStatus::from),
        status_since: moment(row, 15)?,
        record: record.map_err(|error| columns::unreadable(16, error))?,
        message: row.get(17)?,
        last_checked_at: moment(row, 18)?,
        last_changed_at: moment(row, 19)?,
        settled_at: moment(row, 20)?,
        polls: row.get(21)?,
        failures: row.get(22)?,
        failing_since: moment(row, 23)?,
        last_error: row.get(24)?,
        conflict: row.get(25)?,
    })
}

fn moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<DateTime<Utc>>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(columns::moment_from))
}

fn read_list(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let json = row.get_ref(column)?.as_str()?;
    serde_json::from_str(json).map_err(|error| columns::unreadable(column, error))
}
