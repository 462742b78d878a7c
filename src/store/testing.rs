//! Helpers for tests: they apply operations by row numbers and return the outcomes at once.

use chrono::{DateTime, Utc};

use super::{
    AlertQuery, AppliedObservation, ImportReport, OpenMark, OperationResult, QuoteSubmission, Reader, Receipt,
    Reversal, Store, StoredBody,
    error::Result,
    payload,
    tables::{alerts, transactions},
    writer::WriteJob,
};
use crate::domain::{
    alert::Alert,
    ids::{RowId, TransactionKey},
    observation::Observation,
    on_chain::OnChainState,
    operation::{Envelope, LocalEdit, Operation, ProfileEvent, QuoteKey, Stamp},
    poller::PollerReport,
    quote::{QuoteObservation, QuoteRequest},
    team::{LogEntry, LogPosition, Nonce},
    transaction::{NewTransaction, Transaction},
};

impl Reader {
    /// Returns a transaction with its record.
    pub(crate) fn transaction(&self, row: RowId) -> Result<Option<Transaction>> {
        self.header(row)?.map(|header| transactions::whole(self.db(), header)).transpose()
    }

    /// Returns every transaction in the order in which they were added, every active alert, and the number of the
    /// feed's last entry.
    pub(crate) fn load(&self) -> Result<(Vec<Transaction>, Vec<Alert>, i64)> {
        self.snapshot(|| {
            Ok((transactions::all(self.db())?, alerts::load(self.db(), AlertQuery::Active)?, self.last_change()?))
        })
    }
}

impl StoredBody {
    /// Returns the body; `None` if the store doesn't hold it.
    pub(crate) fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::InLog { .. } => None,
        }
    }
}

/// Applies an operation and waits for its outcome.
pub(crate) fn apply(store: &Store, operation: Operation, at: DateTime<Utc>) -> Result<OperationResult> {
    store.apply(operation, at).wait()
}

/// Returns an entry of a team's log with these operations.
pub(crate) fn log_entry(seq: u64, operations: Vec<Operation>, at: DateTime<Utc>) -> LogEntry {
    let stamped = operations.into_iter().map(|operation| Envelope::new(operation, Stamp::new(at, None)));
    let envelopes: Vec<Envelope> = stamped.collect();
    let payload = payload::encode(&envelopes.iter().collect::<Vec<_>>()).unwrap();
    LogEntry { position: LogPosition { seq, nonce: Nonce(seq.into()) }, author: Some("ana".into()), payload }
}

pub(crate) fn track(
    store: &Store,
    profile: &str,
    transactions: Vec<NewTransaction>,
    at: DateTime<Utc>,
) -> ImportReport {
    let operation = Operation::Track { profile: profile.to_owned(), transactions };
    apply(store, operation, at).unwrap().tracked().unwrap()
}

/// Returns the key of a row; for a deleted row, a key without a transaction.
pub(crate) fn key(store: &Store, row: RowId) -> TransactionKey {
    let known = store.reader().unwrap().keys(&[row]).unwrap().pop();
    known.unwrap_or_else(|| crate::domain::fixtures::transaction(i64::MAX).key())
}

pub(crate) fn observe(store: &Store, row: RowId, observation: Observation, at: DateTime<Utc>) -> AppliedObservation {
    let operation = Operation::Observe { transaction: key(store, row), observation: Box::new(observation) };
    *apply(store, operation, at).unwrap().observed().unwrap()
}

pub(crate) fn observe_chain(store: &Store, row: RowId, on_chain: OnChainState, at: DateTime<Utc>) {
    let operation = Operation::ObserveChain { transaction: key(store, row), on_chain: Box::new(on_chain) };
    apply(store, operation, at).unwrap();
}

pub(crate) fn try_edit(store: &Store, profile: &str, edit: LocalEdit, at: DateTime<Utc>) -> Result<usize> {
    let edit = store.reader()?.resolve(edit)?;
    apply(store, Operation::Edit { profile: profile.to_owned(), edit }, at)?.changed()
}

pub(crate) fn edit(store: &Store, profile: &str, edit: LocalEdit, at: DateTime<Utc>) -> usize {
    try_edit(store, profile, edit, at).unwrap()
}

pub(crate) fn undo(store: &Store, profile: &str, at: DateTime<Utc>) -> Option<Reversal> {
    apply(store, Operation::Undo { profile: profile.to_owned() }, at).unwrap().reversed().unwrap()
}

pub(crate) fn redo(store: &Store, profile: &str, at: DateTime<Utc>) -> Option<Reversal> {
    apply(store, Operation::Redo { profile: profile.to_owned() }, at).unwrap().reversed().unwrap()
}

pub(crate) fn delete(store: &Store, rows: Vec<RowId>, at: DateTime<Utc>) -> usize {
    let transactions = store.reader().unwrap().keys(&rows).unwrap();
    apply(store, Operation::Delete { transactions }, at).unwrap().changed().unwrap()
}

pub(crate) fn request_poll(store: &Store, rows: Vec<RowId>, at: DateTime<Utc>) {
    let transactions = store.reader().unwrap().keys(&rows).unwrap();
    apply(store, Operation::RequestPoll { transactions }, at).unwrap();
}

/// Submits a batch without waiting for its outcome.
pub(crate) fn submit_track(
    store: &Store,
    profile: &str,
    transactions: Vec<NewTransaction>,
    at: DateTime<Utc>,
) -> Receipt {
    store.apply(Operation::Track { profile: profile.to_owned(), transactions }, at)
}

/// Writes a poller's report at the report's own time.
pub(crate) fn report(store: &Store, profile: &str, report: PollerReport) {
    let at = report.at;
    apply(store, Operation::ReportPolling { profile: profile.to_owned(), report: Box::new(report) }, at).unwrap();
}

pub(crate) fn record_event(store: &Store, profile: &str, event: ProfileEvent, at: DateTime<Utc>) {
    apply(store, Operation::RecordProfileEvent { profile: profile.to_owned(), event }, at).unwrap();
}

pub(crate) fn mark_open(store: &Store, mark: OpenMark) {
    store.mark_open(mark, None).wait().unwrap();
}

pub(crate) fn ask_quote(
    store: &Store,
    profile: &str,
    request: QuoteRequest,
    wanted_until: DateTime<Utc>,
    at: DateTime<Utc>,
) -> QuoteSubmission {
    let operation = Operation::RequestQuote { profile: profile.to_owned(), request, wanted_until };
    apply(store, operation, at).unwrap().asked().unwrap()
}

/// Returns the key of a quote request by its number in this store.
pub(crate) fn quote_key(store: &Store, id: i64) -> QuoteKey {
    store.reader().unwrap().quote(id).unwrap().unwrap().key()
}

pub(crate) fn withdraw_quote(store: &Store, id: i64, wanted_until: DateTime<Utc>, at: DateTime<Utc>) {
    apply(store, Operation::WithdrawQuote { quote: quote_key(store, id), wanted_until }, at).unwrap();
}

pub(crate) fn claim_quote(store: &Store, id: i64, at: DateTime<Utc>) -> bool {
    apply(store, Operation::ClaimQuote { quote: quote_key(store, id) }, at).unwrap().claimed().unwrap()
}

pub(crate) fn answer_quote(store: &Store, id: i64, observation: QuoteObservation, at: DateTime<Utc>) {
    apply(store, Operation::AnswerQuote { quote: quote_key(store, id), observation }, at).unwrap();
}

/// Runs a closure in a write transaction on the writer's connection, for example to change a setting of this
/// connection.
pub(crate) fn with_writer(
    store: &Store,
    work: impl Fn(&rusqlite::Connection) -> Result<()> + Send + 'static,
) -> Receipt {
    store.writer.submit(WriteJob::Run(Box::new(work)))
}

// For tests outside of the store.

/// Returns every tracked transaction with its record, in the order in which they were added.
pub(crate) fn load_transactions(reader: &Reader) -> Vec<Transaction> {
    transactions::all(reader.db()).unwrap()
}
