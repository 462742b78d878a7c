//! Applies operations: the only way into the lasting tables.
//!
//! [`apply`] is deterministic: the same operations in the same order give every store the same content, except for row
//! numbers. It must never read a clock, a setting or anything else outside the store and the operation.

mod alerts;
mod delete;
mod edit;
mod import_report;
mod indexes;
mod light;
mod on_chain;
mod poll;
mod profile;
mod quotes;
mod rebuild;
mod track;
mod undo;

use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use self::import_report::ImportReport;
pub(crate) use self::{
    delete::{DroppedBodies, with_secure_delete},
    light::leave_bodies_out,
    poll::AppliedObservation,
    quotes::QuoteSubmission,
    rebuild::{DecodeRecord, rebuild_records},
    track::{ImportPreview, track_batch},
    undo::{ImportToUndo, Reversal},
};
use super::{
    body_storage::BodyStorage,
    error::{Result, StoreError},
    tables::{
        changes, identifiers, notification_cursors, pollers, quotes as quotes_table, search_index, status_requests,
    },
};
use crate::domain::{
    operation::{Envelope, Operation},
    team::LogPosition,
};

/// The result of applying entries of a team's log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppliedEntries {
    /// The replica's position now.
    pub position: LogPosition,
    /// By the number of each entry that was applied now: the results of its operations.
    pub results: Vec<(u64, Vec<Result<OperationResult, String>>)>,
    /// Whether an entry that was applied now deletes transactions.
    pub has_deletion: bool,
}

/// Defines the results of operations, and a method for each kind, for callers that know which operation they applied.
macro_rules! results {
    ($($(#[$doc:meta])* $kind:ident($value:ty) => $method:ident,)*) => {
        /// The result of an operation.
        #[derive(Clone, Debug, PartialEq)]
        pub enum OperationResult {
            /// Nothing to report.
            Done,
            $($(#[$doc])* $kind($value),)*
        }

        impl OperationResult {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// If the result is of another kind of operation.
                pub fn $method(self) -> Result<$value> {
                    match self {
                        Self::$kind(value) => Ok(value),
                        _ => Err(StoreError::UnexpectedResult),
                    }
                }
            )*
        }
    };
}

results! {
    /// The result of [`Operation::Track`].
    Tracked(ImportReport) => tracked,
    /// The result of [`Operation::Observe`].
    Observed(Box<AppliedObservation>) => observed,
    /// The result of [`Operation::Edit`] and [`Operation::Delete`]: the number of changes.
    Changed(usize) => changed,
    /// The result of [`Operation::Undo`] and [`Operation::Redo`]; `None` if there was nothing to reverse.
    Reversed(Option<Reversal>) => reversed,
    /// The result of [`Operation::DropBodies`].
    Dropped(DroppedBodies) => dropped,
    /// The result of [`Operation::RequestQuote`].
    Asked(QuoteSubmission) => asked,
    /// The result of [`Operation::ClaimQuote`]: whether the request is to be sent.
    Claimed(bool) => claimed,
    /// The result of applying entries of a team's log.
    Replicated(Box<AppliedEntries>) => replicated,
    /// The body of an answer that a light replica read from the team's log; `None` if the log no longer has it.
    Body(Option<String>) => body,
}

/// Applies one operation; `storage` says where the bodies of answers go. After an error the caller must roll back its
/// transaction, since the operation may be half done.
pub(crate) fn apply(db: &Transaction<'_>, envelope: &Envelope, storage: BodyStorage) -> Result<OperationResult> {
    let Envelope { stamp, operation, .. } = envelope;
    let (at, done) = (stamp.at, |()| OperationResult::Done);
    match operation {
        Operation::Track { profile, transactions } => {
            track::track(db, profile, transactions, stamp).map(OperationResult::Tracked)
        }
        Operation::Observe { transaction, observation } => poll::observe(db, transaction, observation, storage, at)
            .map(|observed| OperationResult::Observed(Box::new(observed))),
        Operation::ObserveChain { transaction, on_chain } => on_chain::observe(db, transaction, on_chain, at).map(done),
        Operation::RequestChainCheck { transactions } => on_chain::request(db, transactions, stamp).map(done),
        Operation::Edit { profile, edit } => edit::apply(db, profile, edit, stamp).map(OperationResult::Changed),
        Operation::Undo { profile } => undo::undo(db, profile, stamp).map(OperationResult::Reversed),
        Operation::Redo { profile } => undo::redo(db, profile, stamp).map(OperationResult::Reversed),
        Operation::Delete { transactions } => delete::delete(db, transactions, stamp).map(OperationResult::Changed),
        Operation::DropBodies { transactions } => {
            delete::drop_bodies(db, transactions, at).map(OperationResult::Dropped)
        }
        Operation::RequestPoll { transactions } => poll::request(db, transactions, stamp).map(done),
        Operation::Pause { profile, until } => pollers::set_pause(db, profile, *until).map(done),
        Operation::RequestQuote { profile, request, wanted_until } => {
            quotes::ask(db, profile, request, *wanted_until, at).map(OperationResult::Asked)
        }
        Operation::WithdrawQuote { quote, wanted_until } => {
            quotes_table::withdraw(db, quote, *wanted_until, at).map(done)
        }
        Operation::ClaimQuote { quote } => quotes::claim(db, quote, at).map(OperationResult::Claimed),
        Operation::AnswerQuote { quote, observation } => quotes::answer(db, quote, observation, at).map(done),
        Operation::RequestStatus { profile, params, wanted_until } => {
            status_requests::insert(db, profile, params, *wanted_until, at).map(done)
        }
        Operation::AnswerStatus { request, observation } => {
            status_requests::set_answer(db, request, observation, at).map(done)
        }
        Operation::ForgetStatus { request } => {
            with_secure_delete(db, || status_requests::delete(db, request)).map(done)
        }
        Operation::RecordProfileEvent { profile, event } => profile::record_event(db, profile, event, at).map(done),
        Operation::ReportPolling { profile, report } => profile::report_polling(db, profile, report, at).map(done),
        Operation::MoveNotificationCursor { profile, cursor } => {
            notification_cursors::write(db, profile, cursor).map(done)
        }
    }
}

/// Adds a part of the data that this version derives and an earlier version did not derive. Returns whether more may be
/// missing. Does nothing in a store of this version.
pub(crate) fn complete_derived(db: &mut Connection) -> Result<bool> {
    const RECORDS_PER_COMMIT: usize = 200;
    // Without the lock: a store of this version must not wait for another process's writer.
    if !identifiers::are_missing(db)? {
        return Ok(false);
    }
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    identifiers::add_missing(&transaction, RECORDS_PER_COMMIT)?;
    transaction.commit()?;
    Ok(true)
}

/// Adds a part of the missing texts to the search index. Returns whether many more are missing.
pub(crate) fn extend_search_index(db: &mut Connection) -> Result<bool> {
    if !search_index::is_behind(db)? {
        return Ok(false);
    }
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    search_index::extend(&transaction)?;
    transaction.commit()?;
    search_index::is_behind(db)
}

/// Moves the notification cursors of a snapshot back to the end of its feed: the database may have lost entries that
/// this machine had applied.
pub(crate) fn rewind_cursors_to_feed_end(snapshot: &Connection) -> Result<()> {
    notification_cursors::rewind_to(snapshot, changes::last(snapshot)?)
}
