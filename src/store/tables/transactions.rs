//! The `transactions` table: the columns of a row, and how rows are read and written.
//!
//! The row type names every column once, so that selecting and reading a row always agree. `domain` decides what an
//! answer or an edit means for a transaction; this module must never decide it.

use std::sync::{LazyLock, OnceLock};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row, params, params_from_iter, types::Value};

use super::{columns, durations, identifiers::BY_IDENTIFIER, observations, on_chain, records, transaction_keys};
use crate::{
    domain::{
        ids::{ChainId, RowId, TransactionKey, TxHash},
        people::Authors,
        record::RecordSummary,
        status::RouterStatus,
        transaction::{ChainNames, Tracking, Transaction, TransactionHeader, TransactionParams, TransactionState},
    },
    store::{error::Result, reader::Reader, row_checksum, statement::CachedStatements},
};

/// The SQL condition for transactions that are polled (`Transaction::needs_polling`). The index `transactions_polled`
/// has the same condition.
pub(crate) const POLLED: &str = "settled_at IS NULL AND untracked = 0 AND parked_reason IS NULL";

/// The SQL expression for the end of a settled transaction (`Transaction::ended_at`); NULL before it is settled.
pub(crate) const ENDED_AT: &str = "iif(status = 'refund' AND settled_at IS NOT NULL, status_since, settled_at)";

/// The value of the column `due` for a transaction that doesn't wait: later than every deadline.
pub(crate) const NEVER_DUE: i64 = i64::MAX;

/// Defines the columns of the checksum, and the condition for a row whose checksum is wrong.
macro_rules! checked {
    ($columns:literal) => {
        /// The columns of the checksum. The others say whether and when the transaction is polled; indexes repeat them.
        pub(crate) const CHECKED: &str = $columns;
        const IS_DAMAGED: &str = concat!("checksum <> row_checksum(", $columns, ")");
    };
}

checked!(
    "profile, transaction_id, from_chain, to_chain, quote_id, request_id, estimate, submitted_at, from_address, ticket, first_seen_at, status, status_since, message, last_checked_at, last_changed_at, settled_at, polls, failures, failing_since, last_error, conflict, gmp, from_name, to_name, tracked_by, ticket_by, ended_unseen"
);

/// Defines the row type: each field with the SQL that selects the field. A field with its own column has the column's
/// name.
macro_rules! row {
    ($($field:ident: $type:ty = $sql:expr,)*) => {
        /// The values of one row, as SQLite stores them.
        struct TransactionRow {
            $($field: $type,)*
        }

        impl TransactionRow {
            /// The selected expressions, in the order in which [`Self::read`] reads them.
            const SELECTED: &[&str] = &[$($sql,)*];

            fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
                let mut column = 0..;
                let mut next = || column.next().unwrap_or_default();
                Ok(Self { $($field: columns::lenient(row, next())?,)* })
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
    ended_unseen: Option<bool> = "ended_unseen",
    polls: u64 = "polls",
    failures: u32 = "failures",
    failing_since: Option<i64> = "failing_since",
    last_error: Option<String> = "last_error",
    conflict: Option<String> = "conflict",
    gmp: Option<bool> = "gmp",
    from_name: Option<String> = "from_name",
    to_name: Option<String> = "to_name",
    tracked_by: Option<String> = "tracked_by",
    ticket_by: Option<String> = "ticket_by",
    labels: Option<String> = "(SELECT json_group_array(json_array(label, author)) FROM
        (SELECT label, author FROM labels WHERE transaction_row = transactions.id ORDER BY label) HAVING count(*) > 0)",
    notes: Option<String> = "(SELECT json_group_array(json_array(text, author)) FROM
        (SELECT text, author FROM notes WHERE transaction_row = transactions.id AND taken_back_at IS NULL ORDER BY id)
        HAVING count(*) > 0)",
    from_chain_name: Option<String> = "(SELECT name FROM chains
        WHERE chains.profile = transactions.profile AND chains.id = from_chain)",
    to_chain_name: Option<String> = "(SELECT name FROM chains
        WHERE chains.profile = transactions.profile AND chains.id = to_chain)",
    indexing: Option<String> = "(SELECT evidence FROM forecasts WHERE forecasts.profile = transactions.profile
        AND forecasts.from_chain = transactions.from_chain AND forecasts.to_chain = '' AND forecasts.gmp = 0)",
    is_damaged: bool = IS_DAMAGED,
    on_chain: Option<String> = "(SELECT reading FROM on_chain WHERE transaction_row = transactions.id)",
}

/// Columns that are written together. Many columns are indexed, and most writes leave most groups unchanged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ColumnGroup {
    /// What every answer changes.
    Poll,
    /// What a new status changes.
    Status,
    /// The parameters, except those of the transaction's key.
    Parameters,
    /// Whether the transaction is polled.
    Tracking,
    /// The deadline alone: part of several indexes, of which each takes as long to update as the row.
    Due,
}

impl ColumnGroup {
    const ALL: [Self; 5] = [Self::Poll, Self::Status, Self::Parameters, Self::Tracking, Self::Due];

    /// Returns the columns with their values for a transaction and the summary of its record.
    fn values<R>(self, tx: &Transaction<R>, record: &RecordSummary) -> Vec<(&'static str, Value)> {
        let moment = |at: Option<DateTime<Utc>>| Value::from(at.map(columns::moment));
        let text = |text: &Option<String>| Value::from(text.clone());
        let Transaction { params, state, .. } = tx;
        match self {
            Self::Poll => vec![
                ("message", text(&state.message)),
                ("last_checked_at", moment(state.last_checked_at)),
                ("polls", state.polls.cast_signed().into()),
                ("failures", state.failures.into()),
                ("failing_since", moment(state.failing_since)),
                ("last_error", text(&state.last_error)),
                ("conflict", text(&state.conflict)),
            ],
            Self::Status => vec![
                ("status", state.status.as_ref().map(|status| status.raw().to_owned()).into()),
                ("status_since", moment(state.status_since)),
                ("last_changed_at", moment(state.last_changed_at)),
                ("settled_at", moment(state.settled_at)),
                ("ended_unseen", state.ended_unseen.into()),
                ("gmp", record.is_gmp.into()),
                ("from_name", text(&record.from_name)),
                ("to_name", text(&record.to_name)),
                ("due", due(tx).into()),
            ],
            Self::Parameters => vec![
                ("to_chain", params.to_chain.as_str().to_owned().into()),
                ("quote_id", params.quote_id.clone().into()),
                ("request_id", text(&params.request_id)),
                ("estimate", params.estimate.map(columns::span).into()),
                ("submitted_at", moment(params.submitted_at)),
                ("from_address", text(&params.from_address)),
                ("ticket", text(&params.ticket)),
                ("ticket_by", text(&tx.authors.ticket)),
            ],
            Self::Tracking => {
                let reason = if let Tracking::Parked(reason) = &tx.tracking { Some(reason.clone()) } else { None };
                vec![
                    ("untracked", (tx.tracking == Tracking::Untracked).into()),
                    ("parked_reason", reason.into()),
                    ("poll_requested_at", moment(tx.poll_requested_at)),
                ]
            }
            Self::Due => vec![("due", due(tx).into())],
        }
    }

    /// Returns the SQL that updates these groups in a row; its values are the columns in their order, and then the row.
    fn update_sql(groups: &[Self], columns: &[&str]) -> &'static str {
        static BY_GROUPS: [OnceLock<String>; 1 << ColumnGroup::ALL.len()] =
            [const { OnceLock::new() }; 1 << ColumnGroup::ALL.len()];
        let is_in = |group: Self| usize::from(groups.contains(&group));
        let index = Self::ALL.into_iter().fold(0, |bits, group| bits << 1 | is_in(group));
        let build = || {
            let values: Vec<String> = (1..=columns.len()).map(|index| format!("?{index}")).collect();
            let set: Vec<_> = columns.iter().copied().zip(values.iter().map(String::as_str)).collect();
            let set = row_checksum::assignments(CHECKED, &set);
            format!("UPDATE transactions SET {set} WHERE id = ?{}", columns.len() + 1)
        };
        BY_GROUPS.get(index).map_or("", |sql| sql.get_or_init(build))
    }
}

impl TransactionRow {
    /// Converts the row into a transaction header.
    fn into_header(self) -> TransactionHeader {
        let moment = |at: Option<i64>| at.map(columns::moment_from);
        let (labels, label_authors) = parse_authored(self.labels.as_deref());
        let (notes, note_authors) = parse_authored(self.notes.as_deref());
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
        Transaction {
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
            labels,
            notes,
            authors: Authors {
                tracked: self.tracked_by,
                ticket: self.ticket_by,
                labels: label_authors,
                notes: note_authors,
            },
            first_seen_at: columns::moment_from(self.first_seen_at),
            chain_names: ChainNames { from: self.from_chain_name, to: self.to_chain_name },
            poll_requested_at: moment(self.poll_requested_at),
            indexing: durations::parse_evidence(self.indexing.as_deref()),
            tracking,
            state: TransactionState {
                status: self.status.map(RouterStatus::from),
                status_since: moment(self.status_since),
                message: self.message,
                last_checked_at: moment(self.last_checked_at),
                last_changed_at: moment(self.last_changed_at),
                settled_at: moment(self.settled_at),
                ended_unseen: self.ended_unseen,
                polls: self.polls,
                failures: self.failures,
                failing_since: moment(self.failing_since),
                last_error: self.last_error,
                conflict: self.conflict,
            },
            record,
            on_chain: on_chain::parse(self.on_chain.as_deref()),
            response_ids: Vec::new(),
            is_damaged: self.is_damaged,
        }
    }
}

/// Updates these groups of columns in a transaction's row.
fn update<R>(db: &Connection, tx: &Transaction<R>, record: &RecordSummary, groups: &[ColumnGroup]) -> Result<()> {
    // The SQL is cached by the set of groups, so the order of the columns must not depend on the order of `groups`.
    let sorted = ColumnGroup::ALL.into_iter().filter(|group| groups.contains(group));
    let (columns, values): (Vec<_>, Vec<_>) = sorted.flat_map(|group| group.values(tx, record)).unzip();
    let values = values.into_iter().chain([Value::Integer(tx.id.0)]);
    db.run(ColumnGroup::update_sql(groups, &columns), params_from_iter(values))
}

/// Returns texts and their authors; no authors if no text has one.
fn parse_authored(json: Option<&str>) -> (Vec<String>, Vec<Option<String>>) {
    let parsed = json.and_then(|json| columns::parse_or_omit(json, format_args!("a list of labels or notes")));
    let authored: Vec<(String, Option<String>)> = parsed.unwrap_or_default();
    let (texts, mut authors): (Vec<_>, Vec<_>) = authored.into_iter().unzip();
    if authors.iter().all(Option::is_none) {
        authors.clear();
    }
    (texts, authors)
}

/// Returns the SQL that selects headers, with `clause` (`WHERE …` or `ORDER BY …`) at its end. [`read`] reads the rows.
pub(crate) fn select(clause: &str) -> String {
    format!("SELECT {} FROM transactions {clause}", TransactionRow::SELECTED.join(", "))
}

/// Reads the header from a row that [`select`] found.
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<TransactionHeader> {
    Ok(TransactionRow::read(row)?.into_header())
}

impl Reader {
    /// Returns a transaction with the summary of its record, without unpacking the record; `None` if there is no such
    /// row.
    pub fn header(&self, row: RowId) -> Result<Option<TransactionHeader>> {
        header(self.db(), row)
    }

    /// Like [`Self::header`], of the transaction with this key.
    pub fn header_of(&self, key: &TransactionKey) -> Result<Option<TransactionHeader>> {
        header_of(self.db(), key)
    }

    /// Returns the keys of these transactions, which are valid in every store. Deleted transactions are left out.
    pub fn keys(&self, rows: &[RowId]) -> Result<Vec<TransactionKey>> {
        rows.iter().filter_map(|row| transaction_keys::key(self.db(), *row).transpose()).collect()
    }

    /// Calls `visit` with the header of each polled transaction of a profile, and of each with a requested poll.
    pub fn each_polled(&self, profile: &str, mut visit: impl FnMut(TransactionHeader)) -> Result<()> {
        for condition in [POLLED.to_owned(), format!("poll_requested_at IS NOT NULL AND NOT ({POLLED})")] {
            let mut statement = self.db().prepare_cached(&select(&format!("WHERE profile = ? AND {condition}")))?;
            let mut rows = statement.query([profile])?;
            while let Some(row) = rows.next()? {
                visit(read(row)?);
            }
        }
        Ok(())
    }

    /// Returns the row of the transaction that is tracked by this hash, or whose record has this hash or ID; in
    /// `profile`, or else in any profile. The hash may have a prefix with the source chain (`42161:0x9f3c…`); then only
    /// `profile` is searched, and only for the tracked hash.
    pub fn find_tracked(&self, profile: &str, hash: &TxHash) -> Result<Option<RowId>> {
        if let Some((from_chain, hash)) = TxHash::parse_on_chain(hash.as_str()) {
            return row_of(self.db(), &TransactionKey { profile: profile.to_owned(), from_chain, hash });
        }
        let first = |condition: &str, value: &str| {
            let sql = format!("SELECT id FROM transactions WHERE {condition} ORDER BY profile <> ?2, id LIMIT 1");
            self.db().first(&sql, [value, profile], |row| row.get(0).map(RowId))
        };
        match first("transaction_key = ?1", &hash.key())? {
            None => first(BY_IDENTIFIER, &hash.as_str().to_lowercase()),
            found => Ok(found),
        }
    }
}

/// Returns a transaction with the summary of its record; `None` if there is no such row.
pub(crate) fn header(db: &Connection, row: RowId) -> Result<Option<TransactionHeader>> {
    static SQL: LazyLock<String> = LazyLock::new(|| select("WHERE id = ?"));
    db.first(&SQL, [row.0], read)
}

/// Returns the transaction with this key, with the summary of its record.
pub(crate) fn header_of(db: &Connection, key: &TransactionKey) -> Result<Option<TransactionHeader>> {
    static SQL: LazyLock<String> =
        LazyLock::new(|| select("WHERE transaction_key = ? AND from_chain = ? AND profile = ?"));
    let values = params![key.hash.key(), key.from_chain.as_str(), key.profile];
    db.first(&SQL, values, read)
}

/// Adds the full record and the service's IDs of its answers to a transaction header.
pub(crate) fn whole(db: &Connection, header: TransactionHeader) -> Result<Transaction> {
    let record = records::record(db, header.id)?;
    let response_ids = observations::response_ids(db, header.id)?;
    let is_damaged = header.is_damaged || records::is_damaged(db, header.id)?;
    Ok(Transaction { response_ids, is_damaged, ..header.with_record(record) })
}

/// Returns the transaction with this key, with its full record. The IDs of the service's answers are left out: no write
/// needs them, and every answer that is stored reads the transaction.
pub(crate) fn whole_of(db: &Connection, key: &TransactionKey) -> Result<Option<Transaction>> {
    let Some(header) = header_of(db, key)? else { return Ok(None) };
    let record = records::record(db, header.id)?;
    Ok(Some(header.with_record(record)))
}

/// Resumes the polling of a transaction that a person or the service stopped.
pub(crate) fn resume(db: &Connection, row: RowId) -> Result<()> {
    db.run("UPDATE transactions SET untracked = 0, parked_reason = NULL WHERE id = ?", [row.0])
}

pub(crate) fn row_of(db: &Connection, key: &TransactionKey) -> Result<Option<RowId>> {
    let sql = "SELECT id FROM transactions WHERE profile = ? AND from_chain = ? AND transaction_key = ?";
    let values = params![key.profile, key.from_chain.as_str(), key.hash.key()];
    db.first(sql, values, |row| row.get(0).map(RowId))
}

/// Returns the oldest time of an answer about the polled transactions of a profile. A transaction without an answer
/// counts with the time when it was first seen.
pub(crate) fn oldest_answer(db: &Connection, profile: &str) -> Result<Option<DateTime<Utc>>> {
    let sql =
        format!("SELECT min(ifnull(last_checked_at, first_seen_at)) FROM transactions WHERE profile = ? AND {POLLED}");
    db.one(&sql, [profile], |row| columns::optional_moment(row, 0))
}

/// Returns every transaction with its record, in the order in which they were added.
#[cfg(test)]
pub(crate) fn all(db: &Connection) -> Result<Vec<Transaction>> {
    let mut statement = db.prepare_cached(&select("ORDER BY id"))?;
    let rows = statement.query_map([], read)?;
    rows.map(|row| whole(db, row?)).collect()
}

/// Deletes a transaction, and by foreign keys all rows that refer to it.
pub(crate) fn delete(db: &Connection, row: RowId) -> Result<()> {
    db.run("DELETE FROM transactions WHERE id = ?", [row.0])
}

/// Writes the time at which a person requested a poll of a transaction.
pub(crate) fn request_poll(db: &Connection, row: RowId, at: DateTime<Utc>) -> Result<()> {
    db.run("UPDATE transactions SET poll_requested_at = ? WHERE id = ?", params![columns::moment(at), row.0])
}

/// Writes the source chain of a transaction, which is then as if it had never been answered, and whether it is polled.
pub(crate) fn write_source(db: &Connection, row: RowId, chain: &ChainId, tracking: Tracking) -> Result<()> {
    let Some(header) = header(db, row)? else { return Ok(()) };
    let before = header.with_record(None);
    let mut after = Transaction { state: TransactionState::default(), tracking, ..before.clone() };
    after.params.from_chain = chain.clone();
    after.state.polls = before.state.polls;
    let set = row_checksum::assignments(CHECKED, &[("from_chain", "?1")]);
    db.run(&format!("UPDATE transactions SET {set} WHERE id = ?2"), params![chain.as_str(), row.0])?;
    // The triggers of the search index don't watch this column.
    db.run(
        "INSERT OR IGNORE INTO search_outdated SELECT ?1 WHERE ?1 <= (SELECT indexed_to FROM search_progress)",
        [row.0],
    )?;
    records::remove(db, row)?;
    let changed = [ColumnGroup::Poll, ColumnGroup::Status, ColumnGroup::Tracking, ColumnGroup::Parameters];
    update(db, &after, &RecordSummary::default(), &changed)
}

/// Writes the changes of an answer, and only the groups of columns that changed.
pub(crate) fn write_answer(db: &Connection, before: &Transaction, after: &Transaction) -> Result<()> {
    let mut changed = vec![ColumnGroup::Poll];
    // Two answers at the same time may both change something: comparing the times alone isn't enough.
    let (summary_before, summary_after) = (summary(before), summary(after));
    let status = |tx: &Transaction| {
        let TransactionState { status, settled_at, last_changed_at, .. } = &tx.state;
        (status.clone(), *settled_at, *last_changed_at)
    };
    if status(before) != status(after) || summary_before != summary_after {
        changed.push(ColumnGroup::Status);
    }
    if (&before.tracking, before.poll_requested_at) != (&after.tracking, after.poll_requested_at) {
        changed.push(ColumnGroup::Tracking);
    }
    update(db, after, &summary_after, &changed)
}

/// Writes new parameters of a transaction and the columns derived from them; `ticket_author` is the author of the
/// ticket if the ticket changes. Returns the parameters as stored (milliseconds).
pub(crate) fn write_params(
    db: &Connection,
    before: &TransactionHeader,
    params: &TransactionParams,
    ticket_author: Option<&str>,
) -> Result<TransactionParams> {
    let params = TransactionParams {
        estimate: params.estimate.map(|estimate| columns::span_from(columns::span(estimate))),
        submitted_at: params.submitted_at.map(|at| columns::moment_from(columns::moment(at))),
        ..params.clone()
    };
    let mut header = TransactionHeader { params: params.clone(), ..before.clone() };
    if params.ticket != before.params.ticket {
        header.authors.ticket = ticket_author.map(str::to_owned);
    }
    let mut changed = vec![ColumnGroup::Parameters];
    if params.to_chain != before.params.to_chain {
        // The name of the destination chain comes from the record.
        changed.push(ColumnGroup::Status);
        let whole = whole(db, header)?;
        update(db, &whole, &summary(&whole), &changed)?;
    } else {
        changed.extend((due(&header) != due(before)).then_some(ColumnGroup::Due));
        update(db, &header, &RecordSummary::default(), &changed)?;
    }
    Ok(params)
}

/// Returns the summary of a transaction's record that its row holds.
fn summary(transaction: &Transaction) -> RecordSummary {
    let record = transaction.record.as_ref();
    let TransactionParams { from_chain, to_chain, .. } = &transaction.params;
    record.map(|record| RecordSummary::new(record, from_chain, to_chain)).unwrap_or_default()
}

/// Returns the deadline in milliseconds if the transaction waits, else [`NEVER_DUE`].
fn due<R>(transaction: &Transaction<R>) -> i64 {
    if transaction.is_waiting() { columns::moment(transaction.deadline().at) } else { NEVER_DUE }
}
