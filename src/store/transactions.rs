//! The transactions' table: rows to values and back, and what an answer does to a row.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    Seen, alerts, chains,
    changes::{self, Entry},
    columns, edits,
    error::StoreError,
    forecasts, observations, records,
    writer::Wrote,
};
use crate::domain::{
    alert::{Alert, AlertStep},
    change::What,
    experience,
    ids::{ChainId, RowId, TxHash},
    record::{ChainSide, StatusRecord},
    status::RouterStatus,
    transaction::{ChainNames, Learned, Told, Tracking, Transaction},
};

/// Decides what an answer means for the alerts: the transaction after it, what stands for it and for its profile, when.
pub type Judge = fn(&Transaction, &[Alert], DateTime<Utc>) -> Vec<AlertStep>;

/// Columns in the order in which [`read`] takes them. Of the record only what lists show.
pub(super) const SELECT: &str = "SELECT id, profile, transaction_id, from_chain, to_chain, quote_id, request_id,
    estimate, submitted_at, from_address, ticket, first_seen_at, untracked, parked_reason, status, status_since,
    gmp, message, last_checked_at, last_changed_at, settled_at, polls, failures, failing_since, last_error, conflict,
    (SELECT json_group_array(label) FROM (SELECT label FROM labels WHERE transaction_row = transactions.id ORDER BY label)),
    (SELECT json_group_array(text) FROM (SELECT text FROM notes
     WHERE transaction_row = transactions.id AND taken_back_at IS NULL ORDER BY id)),
    (SELECT name FROM chains WHERE chains.profile = transactions.profile AND chains.id = from_chain),
    (SELECT name FROM chains WHERE chains.profile = transactions.profile AND chains.id = to_chain),
    poll_requested_at,
    (SELECT evidence FROM forecasts WHERE forecasts.profile = transactions.profile
     AND forecasts.from_chain = transactions.from_chain AND forecasts.to_chain = '' AND forecasts.gmp = 0),
    from_name, to_name
    FROM transactions";

/// Whether a transaction is polled (`Transaction::wants_polling`); `transactions_polled` is an index of these.
pub(super) const POLLED: &str = "settled_at IS NULL AND untracked = 0 AND parked_reason IS NULL";

/// Where a transaction that doesn't wait stands in the order of deadlines.
pub(super) const NEVER_DUE: i64 = i64::MAX;

/// What became of an answer.
#[derive(Debug, Default)]
pub struct Observed {
    /// The transaction after it; `None` if that was deleted while the request was under way.
    pub transaction: Option<Transaction>,
    /// Whether something was learned of how long things take.
    pub has_taught: bool,
}

pub(super) fn observe(db: &Connection, seen: &Seen, judge: Judge) -> Result<(Observed, Wrote), StoreError> {
    let Some(mut transaction) = by_row(db, seen.transaction)? else {
        return Ok((Observed::default(), Wrote::Nothing));
    };
    let before = transaction.clone();
    let changes = transaction.apply(&seen.observation, seen.at);
    let (observation, last_body) = observations::keep(db, &transaction, &seen.observation, seen.at)?;
    records::write(db, &transaction, before.learned.record.as_ref(), (observation, last_body))?;
    write_learned(db, &before, &transaction)?;
    let profile = transaction.profile.clone();
    for chain in &seen.observation.chains {
        chains::learn(db, &profile, chain, seen.at)?;
    }
    let lessons = experience::lessons(&before.learned, &transaction, seen.at);
    for lesson in &lessons {
        forecasts::learn(db, &profile, lesson, seen.at)?;
    }
    let entry =
        Entry { at: seen.at, profile: &profile, transaction: Some(transaction.id), observation: Some(observation) };
    changes::append_all(db, &entry, &changes)?;
    let standing = alerts::standing_for(db, &profile, transaction.id)?;
    let steps = judge(&transaction, &standing, seen.at);
    alerts::carry_out(db, &steps, &entry)?;
    let is_news = changes != [What::Polled] || !steps.is_empty();
    let observed = Observed { transaction: Some(transaction), has_taught: !lessons.is_empty() };
    Ok((observed, if is_news { Wrote::Answer } else { Wrote::PollAlone }))
}

pub(super) fn request_poll(db: &Connection, transactions: &[RowId], at: DateTime<Utc>) -> Result<(), StoreError> {
    for row in transactions {
        if let Some(transaction) = by_row(db, *row)? {
            let entry = Entry::of(&transaction, at);
            changes::append(db, &entry, &What::PollRequested)?;
            db.prepare_cached("UPDATE transactions SET poll_requested_at = ? WHERE id = ?")?
                .execute(params![columns::moment(at), row.0])?;
        }
    }
    Ok(())
}

/// One transaction, whole.
pub(super) fn by_row(db: &Connection, row: RowId) -> Result<Option<Transaction>, StoreError> {
    outline(db, row)?.map(|outline| whole(db, outline)).transpose()
}

/// One transaction, with what lists show of its record.
pub(super) fn outline(db: &Connection, row: RowId) -> Result<Option<Transaction>, StoreError> {
    let sql = format!("{SELECT} WHERE id = ?");
    Ok(db.prepare_cached(&sql)?.query_row([row.0], read).optional()?)
}

/// The same of the one that this names.
pub(super) fn outline_of(db: &Connection, profile: &str, told: &Told) -> Result<Option<Transaction>, StoreError> {
    let sql = format!("{SELECT} WHERE transaction_key = ? AND from_chain = ? AND profile = ?");
    let key = params![told.transaction_id.key(), told.from_chain.as_str(), profile];
    Ok(db.prepare_cached(&sql)?.query_row(key, read).optional()?)
}

/// Removes transactions with all that is known of them; how many there were. What was learned of how long things take stays.
pub(super) fn delete(db: &Connection, rows: &[RowId], at: DateTime<Utc>) -> Result<usize, StoreError> {
    let mut known = Vec::new();
    for row in rows {
        known.extend(outline(db, *row)?);
    }
    // First: whose an alert was isn't known any more afterwards.
    edits::forget(db, known.iter().map(|transaction| transaction.id))?;
    for Transaction { id, profile, .. } in &known {
        db.prepare_cached("DELETE FROM transactions WHERE id = ?")?.execute([id.0])?;
        changes::append(db, &Entry::of_profile(profile, at), &What::Deleted { row: id.0 })?;
    }
    changes::forget_polls_of_deleted(db)?;
    Ok(known.len())
}

/// The row of the one with this hash in a profile, or else in any; of one with its chain before it, that in the profile.
pub(super) fn known(db: &Connection, profile: &str, hash: &TxHash) -> Result<Option<RowId>, StoreError> {
    if let Some((from, hash)) = TxHash::parse_on_chain(hash.as_str()) {
        return row_of(db, profile, &from, &hash);
    }
    let sql = "SELECT id FROM transactions WHERE transaction_key = ? ORDER BY profile <> ?, id LIMIT 1";
    let row =
        db.prepare_cached(sql)?.query_row(params![hash.key(), profile], |row| row.get(0).map(RowId)).optional()?;
    Ok(row)
}

/// The row of the one with this hash on this source chain in a profile.
pub(super) fn row_of(
    db: &Connection,
    profile: &str,
    from: &ChainId,
    hash: &TxHash,
) -> Result<Option<RowId>, StoreError> {
    let sql = "SELECT id FROM transactions WHERE profile = ? AND from_chain = ? AND transaction_key = ?";
    let key = params![profile, from.as_str(), hash.key()];
    Ok(db.prepare_cached(sql)?.query_row(key, |row| row.get(0).map(RowId)).optional()?)
}

/// Everything that is tracked, whole, in the order in which it came.
#[cfg(test)]
pub(super) fn all(db: &Connection) -> Result<Vec<Transaction>, StoreError> {
    let mut statement = db.prepare_cached(&format!("{SELECT} ORDER BY id"))?;
    let rows = statement.query_map([], read)?;
    rows.map(|row| whole(db, row?)).collect()
}

/// With its record instead of what lists show of it.
pub(super) fn whole(db: &Connection, mut outline: Transaction) -> Result<Transaction, StoreError> {
    outline.learned.record = records::record(db, outline.id)?;
    Ok(outline)
}

/// Writes what an answer changed. What most answers leave alone stands in indexes, and is written only when it changes.
fn write_learned(db: &Connection, before: &Transaction, transaction: &Transaction) -> Result<(), StoreError> {
    let learned = &transaction.learned;
    db.prepare_cached(
        "UPDATE transactions SET message = ?, last_checked_at = ?, polls = ?, failures = ?, failing_since = ?,
         last_error = ?, conflict = ? WHERE id = ?",
    )?
    .execute(params![
        learned.message,
        learned.last_checked_at.map(columns::moment),
        learned.polls,
        learned.failures,
        learned.failing_since.map(columns::moment),
        learned.last_error,
        learned.conflict,
        transaction.id.0,
    ])?;
    let old = &before.learned;
    if (&old.status, old.settled_at, old.last_changed_at)
        != (&learned.status, learned.settled_at, learned.last_changed_at)
    {
        write_turn(db, transaction)?;
    }
    let tracked = |transaction: &Transaction| (transaction.tracking.clone(), transaction.poll_requested_at);
    if tracked(before) != tracked(transaction) {
        write_tracking(db, transaction)?;
    }
    Ok(())
}

/// Writes what news change.
fn write_turn(db: &Connection, transaction: &Transaction) -> Result<(), StoreError> {
    let learned = &transaction.learned;
    let said = |side: Option<&ChainSide>, told: &ChainId| {
        side.filter(|side| side.chain_id.as_ref() == Some(told)).and_then(|side| side.chain_name.clone())
    };
    let record = learned.record.as_ref();
    db.prepare_cached(
        "UPDATE transactions SET status = ?, status_since = ?, last_changed_at = ?, settled_at = ?, gmp = ?,
         from_name = ?, to_name = ?, due = ? WHERE id = ?",
    )?
    .execute(params![
        learned.status.as_ref().map(RouterStatus::raw),
        learned.status_since.map(columns::moment),
        learned.last_changed_at.map(columns::moment),
        learned.settled_at.map(columns::moment),
        record.and_then(|record| record.is_gmp),
        said(record.map(|record| &record.from), &transaction.told.from_chain),
        said(record.map(|record| &record.to), &transaction.told.to_chain),
        due(transaction),
        transaction.id.0,
    ])?;
    Ok(())
}

/// Writes what we were told, and what follows from it; the same as the store keeps it.
pub(super) fn write_told(db: &Connection, before: &Transaction, told: &Told) -> Result<Told, StoreError> {
    let told = Told {
        estimate: told.estimate.map(|estimate| columns::span_from(columns::span(estimate))),
        submitted_at: told.submitted_at.map(|at| columns::moment_from(columns::moment(at))),
        ..told.clone()
    };
    let after = Transaction { told: told.clone(), ..before.clone() };
    db.prepare_cached(
        "UPDATE transactions SET to_chain = ?, quote_id = ?, request_id = ?, estimate = ?, submitted_at = ?,
         from_address = ?, ticket = ? WHERE id = ?",
    )?
    .execute(params![
        told.to_chain.as_str(),
        told.quote_id,
        told.request_id,
        told.estimate.map(columns::span),
        told.submitted_at.map(columns::moment),
        told.from_address,
        told.ticket,
        after.id.0,
    ])?;
    // It stands in several indexes, each of which takes as long as the row.
    if due(&after) != due(before) {
        db.prepare_cached("UPDATE transactions SET due = ? WHERE id = ?")?.execute([due(&after), after.id.0])?;
    }
    if told.to_chain != before.told.to_chain {
        // What the answers call it stands in the record.
        write_turn(db, &whole(db, after)?)?;
    }
    Ok(told)
}

/// Writes whether it is polled.
pub(super) fn write_tracking(db: &Connection, transaction: &Transaction) -> Result<(), StoreError> {
    let (untracked, parked) = tracking_columns(&transaction.tracking);
    db.prepare_cached("UPDATE transactions SET untracked = ?, parked_reason = ?, poll_requested_at = ? WHERE id = ?")?
        .execute(params![untracked, parked, transaction.poll_requested_at.map(columns::moment), transaction.id.0])?;
    Ok(())
}

/// Where a transaction stands in the order of deadlines.
pub(super) fn due(transaction: &Transaction) -> i64 {
    if transaction.is_waiting() { columns::moment(transaction.deadline().at) } else { NEVER_DUE }
}

pub(super) fn tracking_columns(tracking: &Tracking) -> (bool, Option<&str>) {
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
    Ok(Learned {
        status: row.get::<_, Option<String>>(14)?.map(RouterStatus::from),
        status_since: moment(row, 15)?,
        record: outlined_record(row)?,
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

/// What lists show of a record: whether the route carries a message, and what the chains are called.
fn outlined_record(row: &Row<'_>) -> rusqlite::Result<Option<StatusRecord>> {
    let Some(status) = row.get::<_, Option<String>>(14)? else { return Ok(None) };
    let side = |told: usize, name: usize| {
        Ok::<_, rusqlite::Error>(ChainSide {
            chain_id: Some(ChainId::new(row.get::<_, String>(told)?)),
            chain_name: row.get(name)?,
            ..ChainSide::default()
        })
    };
    let bare = StatusRecord::bare(RouterStatus::from(status));
    Ok(Some(StatusRecord { is_gmp: row.get(16)?, from: side(3, 32)?, to: side(4, 33)?, ..bare }))
}

fn moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<DateTime<Utc>>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(columns::moment_from))
}

fn read_list(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let json = row.get_ref(column)?.as_str()?;
    serde_json::from_str(json).map_err(|error| columns::unreadable(column, error))
}
