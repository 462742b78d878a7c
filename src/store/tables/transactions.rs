//! The transactions' table: what one row holds, read and written.
//!
//! The row type names every column once, so that what is selected, read and written can't drift apart. What an answer or an
//! edit means for a transaction is decided in `domain`; nothing here may decide it.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use super::{columns, durations, records};
use crate::{
    domain::{
        ids::{ChainId, RowId, TxHash},
        operation::TransactionKey,
        record::RecordSummary,
        status::RouterStatus,
        transaction::{ChainNames, Tracking, Transaction, TransactionHeader, TransactionParams, TransactionState},
    },
    store::{error::StoreError, reader::Reader},
};

/// Whether a transaction is polled (`Transaction::wants_polling`); `transactions_polled` is an index of these.
pub(in crate::store) const POLLED: &str = "settled_at IS NULL AND untracked = 0 AND parked_reason IS NULL";

/// Where a transaction that doesn't wait stands in the order of deadlines.
pub(in crate::store) const NEVER_DUE: i64 = i64::MAX;

/// Defines the row: each field with the SQL that selects it. A field of a column of its own has that column's name.
macro_rules! row {
    ($($field:ident: $type:ty = $sql:expr,)*) => {
        /// A transaction as its columns have it.
        struct TransactionRow {
            $($field: $type,)*
        }

        impl TransactionRow {
            /// What is selected, in the order in which [`Self::read`] takes it.
            const SELECTED: &[&str] = &[$($sql,)*];

            fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
                let mut column = 0..;
                let mut next = || column.next().unwrap_or_default();
                Ok(Self { $($field: row.get(next())?,)* })
            }

            /// The value of a column.
            fn value(&self, column: &str) -> Option<&dyn ToSql> {
                match column {
                    $(stringify!($field) => Some(&self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

row! {
    id: i64 = "id",
    profile: String = "profile",
    transaction_id: String = "transaction_id",
    from_chain: String = "from_chain",
    to_chain: String = "to_chain",
    quote_id: String = "quote_id",
    request_id: Option<String> = "request_id",
    estimate: Option<i64> = "estimate",
    submitted_at: Option<i64> = "submitted_at",
    from_address: Option<String> = "from_address",
    ticket: Option<String> = "ticket",
    first_seen_at: i64 = "first_seen_at",
    untracked: bool = "untracked",
    parked_reason: Option<String> = "parked_reason",
    poll_requested_at: Option<i64> = "poll_requested_at",
    status: Option<String> = "status",
    status_since: Option<i64> = "status_since",
    message: Option<String> = "message",
    last_checked_at: Option<i64> = "last_checked_at",
    last_changed_at: Option<i64> = "last_changed_at",
    settled_at: Option<i64> = "settled_at",
    polls: u64 = "polls",
    failures: u32 = "failures",
    failing_since: Option<i64> = "failing_since",
    last_error: Option<String> = "last_error",
    conflict: Option<String> = "conflict",
    gmp: Option<bool> = "gmp",
    from_name: Option<String> = "from_name",
    to_name: Option<String> = "to_name",
    due: i64 = "due",
    labels: Option<String> = "(SELECT json_group_array(label) FROM
        (SELECT label FROM labels WHERE transaction_row = transactions.id ORDER BY label) HAVING count(*) > 0)",
    notes: Option<String> = "(SELECT json_group_array(text) FROM
        (SELECT text FROM notes WHERE transaction_row = transactions.id AND taken_back_at IS NULL ORDER BY id)
        HAVING count(*) > 0)",
    from_chain_name: Option<String> = "(SELECT name FROM chains
        WHERE chains.profile = transactions.profile AND chains.id = from_chain)",
    to_chain_name: Option<String> = "(SELECT name FROM chains
        WHERE chains.profile = transactions.profile AND chains.id = to_chain)",
    indexing: Option<String> = "(SELECT evidence FROM forecasts WHERE forecasts.profile = transactions.profile
        AND forecasts.from_chain = transactions.from_chain AND forecasts.to_chain = '' AND forecasts.gmp = 0)",
}

/// What every answer changes. Most answers leave the other columns alone, which stand in indexes.
const POLL_COLUMNS: &[&str] =
    &["message", "last_checked_at", "polls", "failures", "failing_since", "last_error", "conflict"];
/// What a new status changes.
const STATUS_COLUMNS: &[&str] =
    &["status", "status_since", "last_changed_at", "settled_at", "gmp", "from_name", "to_name", "due"];
/// The parameters, but for what names the transaction.
const PARAMETER_COLUMNS: &[&str] =
    &["to_chain", "quote_id", "request_id", "estimate", "submitted_at", "from_address", "ticket"];
/// Whether the transaction is polled.
const TRACKING_COLUMNS: &[&str] = &["untracked", "parked_reason", "poll_requested_at"];

impl TransactionRow {
    /// The header that the row holds.
    fn into_header(self) -> rusqlite::Result<TransactionHeader> {
        let moment = |at: Option<i64>| at.map(columns::moment_from);
        let list = |json: Option<String>| match json {
            None => Ok(Vec::new()),
            Some(json) => serde_json::from_str(&json).map_err(|error| columns::unreadable(0, error)),
        };
        let tracking = match (self.untracked, self.parked_reason) {
            (true, _) => Tracking::Untracked,
            (false, Some(reason)) => Tracking::Parked(reason),
            (false, None) => Tracking::Active,
        };
        let record = self.status.is_some().then_some(RecordSummary {
            is_gmp: self.gmp,
            from_name: self.from_name,
            to_name: self.to_name,
        });
        Ok(Transaction {
            id: RowId(self.id),
            profile: self.profile,
            params: TransactionParams {
                transaction_id: TxHash::new(self.transaction_id),
                from_chain: ChainId::new(self.from_chain),
                to_chain: ChainId::new(self.to_chain),
                quote_id: self.quote_id,
                request_id: self.request_id,
                estimate: self.estimate.map(columns::span_from),
                submitted_at: moment(self.submitted_at),
                from_address: self.from_address,
                ticket: self.ticket,
            },
            labels: list(self.labels)?,
            notes: list(self.notes)?,
            first_seen_at: columns::moment_from(self.first_seen_at),
            chain_names: ChainNames { from: self.from_chain_name, to: self.to_chain_name },
            poll_requested_at: moment(self.poll_requested_at),
            indexing: durations::parse(self.indexing.as_deref())?,
            tracking,
            state: TransactionState {
                status: self.status.map(RouterStatus::from),
                status_since: moment(self.status_since),
                record,
                message: self.message,
                last_checked_at: moment(self.last_checked_at),
                last_changed_at: moment(self.last_changed_at),
                settled_at: moment(self.settled_at),
                polls: self.polls,
                failures: self.failures,
                failing_since: moment(self.failing_since),
                last_error: self.last_error,
                conflict: self.conflict,
            },
        })
    }

    /// The row of a transaction with this summary of its record, but for what other tables hold.
    fn of<R>(transaction: &Transaction<R>, record: RecordSummary) -> Self {
        let moment = |at: Option<DateTime<Utc>>| at.map(columns::moment);
        let Transaction { params, state, .. } = transaction;
        let (untracked, parked_reason) = match &transaction.tracking {
            Tracking::Active => (false, None),
            Tracking::Parked(reason) => (false, Some(reason.clone())),
            Tracking::Untracked => (true, None),
        };
        Self {
            id: transaction.id.0,
            profile: transaction.profile.clone(),
            transaction_id: params.transaction_id.as_str().to_owned(),
            from_chain: params.from_chain.as_str().to_owned(),
            to_chain: params.to_chain.as_str().to_owned(),
            quote_id: params.quote_id.clone(),
            request_id: params.request_id.clone(),
            estimate: params.estimate.map(columns::span),
            submitted_at: moment(params.submitted_at),
            from_address: params.from_address.clone(),
            ticket: params.ticket.clone(),
            first_seen_at: columns::moment(transaction.first_seen_at),
            untracked,
            parked_reason,
            poll_requested_at: moment(transaction.poll_requested_at),
            status: state.status.as_ref().map(|status| status.raw().to_owned()),
            status_since: moment(state.status_since),
            message: state.message.clone(),
            last_checked_at: moment(state.last_checked_at),
            last_changed_at: moment(state.last_changed_at),
            settled_at: moment(state.settled_at),
            polls: state.polls,
            failures: state.failures,
            failing_since: moment(state.failing_since),
            last_error: state.last_error.clone(),
            conflict: state.conflict.clone(),
            gmp: record.is_gmp,
            from_name: record.from_name,
            to_name: record.to_name,
            due: due(transaction),
            labels: None,
            notes: None,
            from_chain_name: None,
            to_chain_name: None,
            indexing: None,
        }
    }

    /// Writes some columns of the row.
    fn update(&self, db: &Connection, columns: &[&[&str]]) -> Result<(), StoreError> {
        let columns: Vec<&str> = columns.iter().copied().flatten().copied().collect();
        let assignments: Vec<String> = columns.iter().map(|column| format!("{column} = ?")).collect();
        let sql = format!("UPDATE transactions SET {} WHERE id = ?", assignments.join(", "));
        let values: Vec<&dyn ToSql> =
            columns.iter().filter_map(|column| self.value(column)).chain([&self.id as &dyn ToSql]).collect();
        db.prepare_cached(&sql)?.execute(values.as_slice())?;
        Ok(())
    }
}

/// Selects headers; what follows is the condition. Rows are read by [`read`].
pub(in crate::store) fn select(which: &str) -> String {
    format!("SELECT {} FROM transactions {which}", TransactionRow::SELECTED.join(", "))
}

/// The header of a row that [`select`] found.
pub(in crate::store) fn read(row: &Row<'_>) -> rusqlite::Result<TransactionHeader> {
    TransactionRow::read(row)?.into_header()
}

impl Reader {
    /// What lists show of a transaction, so that no record is unpacked.
    pub fn header(&self, row: RowId) -> Result<Option<TransactionHeader>, StoreError> {
        header(self.db(), row)
    }

    /// The row of the transaction that a key names.
    pub fn row_of(&self, key: &TransactionKey) -> Result<Option<RowId>, StoreError> {
        row_of(self.db(), key)
    }

    /// What names these transactions in every store; those that are gone are left out.
    pub fn keys(&self, rows: &[RowId]) -> Result<Vec<TransactionKey>, StoreError> {
        rows.iter().filter_map(|row| key(self.db(), *row).transpose()).collect()
    }

    /// The oldest answer among the transactions that a profile's poller polls; of one never answered when it was first seen.
    pub fn oldest_answer(&self, profile: &str) -> Result<Option<DateTime<Utc>>, StoreError> {
        oldest_answer(self.db(), profile)
    }

    /// Hands out the header of each transaction that a profile's poller polls, and of each that a person asked to poll.
    pub fn each_polled(&self, profile: &str, mut each: impl FnMut(TransactionHeader)) -> Result<(), StoreError> {
        for condition in [POLLED.to_owned(), format!("poll_requested_at IS NOT NULL AND NOT ({POLLED})")] {
            let mut statement = self.db().prepare_cached(&select(&format!("WHERE profile = ? AND {condition}")))?;
            let mut rows = statement.query([profile])?;
            while let Some(row) = rows.next()? {
                each(read(row)?);
            }
        }
        Ok(())
    }

    /// The row of the transaction with this hash in a profile, or else in any other. A hash may have its source chain before
    /// it (`42161:0x9f3c…`); then only the profile counts.
    pub fn find_exact(&self, profile: &str, hash: &TxHash) -> Result<Option<RowId>, StoreError> {
        if let Some((from_chain, hash)) = TxHash::parse_on_chain(hash.as_str()) {
            return self.row_of(&TransactionKey { profile: profile.to_owned(), from_chain, hash });
        }
        let sql = "SELECT id FROM transactions WHERE transaction_key = ? ORDER BY profile <> ?, id LIMIT 1";
        let found = self.db().prepare_cached(sql)?.query_row(params![hash.key(), profile], |row| row.get(0).map(RowId));
        Ok(found.optional()?)
    }
}

/// What lists show of a transaction.
pub(in crate::store) fn header(db: &Connection, row: RowId) -> Result<Option<TransactionHeader>, StoreError> {
    Ok(db.prepare_cached(&select("WHERE id = ?"))?.query_row([row.0], read).optional()?)
}

/// What lists show of the transaction that a key names.
pub(in crate::store) fn header_of(
    db: &Connection,
    key: &TransactionKey,
) -> Result<Option<TransactionHeader>, StoreError> {
    let sql = select("WHERE transaction_key = ? AND from_chain = ? AND profile = ?");
    let values = params![key.hash.key(), key.from_chain.as_str(), key.profile];
    Ok(db.prepare_cached(&sql)?.query_row(values, read).optional()?)
}

/// A transaction with its record.
pub(in crate::store) fn whole(db: &Connection, header: TransactionHeader) -> Result<Transaction, StoreError> {
    let record = records::record(db, header.id)?;
    Ok(header.with_record(record))
}

/// The transaction that a key names, with its record.
pub(in crate::store) fn whole_of(db: &Connection, key: &TransactionKey) -> Result<Option<Transaction>, StoreError> {
    header_of(db, key)?.map(|header| whole(db, header)).transpose()
}

/// The row of the transaction that a key names.
pub(in crate::store) fn row_of(db: &Connection, key: &TransactionKey) -> Result<Option<RowId>, StoreError> {
    let sql = "SELECT id FROM transactions WHERE profile = ? AND from_chain = ? AND transaction_key = ?";
    let values = params![key.profile, key.from_chain.as_str(), key.hash.key()];
    Ok(db.prepare_cached(sql)?.query_row(values, |row| row.get(0).map(RowId)).optional()?)
}

/// What names a transaction in every store.
pub(in crate::store) fn key(db: &Connection, row: RowId) -> Result<Option<TransactionKey>, StoreError> {
    let sql = "SELECT profile, from_chain, transaction_id FROM transactions WHERE id = ?";
    let read = |row: &Row<'_>| {
        Ok(TransactionKey {
            profile: row.get(0)?,
            from_chain: ChainId::new(row.get::<_, String>(1)?),
            hash: TxHash::new(row.get::<_, String>(2)?),
        })
    };
    Ok(db.prepare_cached(sql)?.query_row([row.0], read).optional()?)
}

/// The oldest answer among the transactions that are polled.
pub(in crate::store) fn oldest_answer(db: &Connection, profile: &str) -> Result<Option<DateTime<Utc>>, StoreError> {
    let sql =
        format!("SELECT min(ifnull(last_checked_at, first_seen_at)) FROM transactions WHERE profile = ? AND {POLLED}");
    let oldest: Option<i64> = db.prepare_cached(&sql)?.query_row([profile], |row| row.get(0))?;
    Ok(oldest.map(columns::moment_from))
}

/// Every transaction with its record, in the order in which they were added.
#[cfg(test)]
pub(in crate::store) fn all(db: &Connection) -> Result<Vec<Transaction>, StoreError> {
    let mut statement = db.prepare_cached(&select("ORDER BY id"))?;
    let rows = statement.query_map([], read)?;
    rows.map(|row| whole(db, row?)).collect()
}

/// Removes a transaction, and with it whatever refers to it.
pub(in crate::store) fn delete(db: &Connection, row: RowId) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM transactions WHERE id = ?")?.execute([row.0])?;
    Ok(())
}

/// Writes that a person asked to poll a transaction now.
pub(in crate::store) fn request_poll(db: &Connection, row: RowId, at: DateTime<Utc>) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE transactions SET poll_requested_at = ? WHERE id = ?")?
        .execute(params![columns::moment(at), row.0])?;
    Ok(())
}

/// Writes what an answer changed.
pub(in crate::store) fn write_answer(
    db: &Connection,
    before: &Transaction,
    after: &Transaction,
) -> Result<(), StoreError> {
    let mut changed = vec![POLL_COLUMNS];
    // Two answers of one moment may both bring news, so that the moment alone doesn't tell.
    let (summary_before, summary_after) = (summary(before), summary(after));
    let status = |tx: &Transaction| {
        let TransactionState { status, settled_at, last_changed_at, .. } = &tx.state;
        (status.clone(), *settled_at, *last_changed_at)
    };
    if status(before) != status(after) || summary_before != summary_after {
        changed.push(STATUS_COLUMNS);
    }
    if (&before.tracking, before.poll_requested_at) != (&after.tracking, after.poll_requested_at) {
        changed.push(TRACKING_COLUMNS);
    }
    TransactionRow::of(after, summary_after).update(db, &changed)
}

/// Writes other parameters of a transaction, and what follows from them. Returns the parameters as the store keeps them.
pub(in crate::store) fn write_told(
    db: &Connection,
    before: &TransactionHeader,
    params: &TransactionParams,
) -> Result<TransactionParams, StoreError> {
    let params = TransactionParams {
        estimate: params.estimate.map(|estimate| columns::span_from(columns::span(estimate))),
        submitted_at: params.submitted_at.map(|at| columns::moment_from(columns::moment(at))),
        ..params.clone()
    };
    let header = TransactionHeader { params: params.clone(), ..before.clone() };
    let mut changed = vec![PARAMETER_COLUMNS];
    if params.to_chain != before.params.to_chain {
        // The name of the destination chain stands in the record.
        changed.push(STATUS_COLUMNS);
        let whole = whole(db, header)?;
        TransactionRow::of(&whole, summary(&whole)).update(db, &changed)?;
        return Ok(params);
    }
    if due(&header) != due(before) {
        // The deadline stands in several indexes, each of which takes as long to write as the row.
        changed.push(&["due"]);
    }
    TransactionRow::of(&header, RecordSummary::default()).update(db, &changed)?;
    Ok(params)
}

/// What a row holds of a transaction's record.
fn summary(transaction: &Transaction) -> RecordSummary {
    let record = transaction.state.record.as_ref();
    let TransactionParams { from_chain, to_chain, .. } = &transaction.params;
    record.map(|record| RecordSummary::new(record, from_chain, to_chain)).unwrap_or_default()
}

/// Where a transaction stands in the order of deadlines.
fn due<R>(transaction: &Transaction<R>) -> i64 {
    if transaction.is_waiting() { columns::moment(transaction.deadline().at) } else { NEVER_DUE }
}
