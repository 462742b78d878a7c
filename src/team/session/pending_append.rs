//! The work that waits for the connection: writes to append together, and bodies to read. Each has the channel for its
//! result.

use tokio::sync::oneshot;

use super::session_error::SessionError;
use crate::{
    clock::{Clock, MonotonicTime},
    domain::{ids::TransactionKey, operation::Envelope, team::Nonce},
    store::{OperationResult, StoreError, StoreFault, payload},
    team::error::TeamError,
};

/// The most operations in one entry.
pub(super) const MAX_OPERATIONS: usize = 256;

/// Takes the result of a write.
type ResultSender = oneshot::Sender<Result<OperationResult, StoreError>>;

/// A request for the body of an answer that a light replica left in the log.
pub(super) struct BodyRequest {
    pub(super) entry: u64,
    /// The transaction that the answer is about.
    pub(super) transaction: TransactionKey,
    pub(super) digest: Option<i64>,
    /// Takes the body.
    pub(super) reply: ResultSender,
}

/// Writes that are appended together.
pub(super) struct PendingAppend {
    /// The entries and their nonces. All but the last of several are parts.
    pub(super) entries: Vec<(Nonce, Vec<u8>)>,
    /// Whether a poller wrote them, under its lease.
    pub(super) is_written_by_poller: bool,
    /// Take the result of each operation.
    replies: Vec<ResultSender>,
    /// When the first of the writes was submitted.
    pub(super) since: MonotonicTime,
    /// Whether the database has an entry already, or may have one because an attempt ended without an answer.
    pub(super) may_be_in_log: bool,
}

impl PendingAppend {
    /// Creates an append of a payload, which becomes as many entries as it needs. Without a payload the append has no
    /// entries, and is completed after all earlier ones.
    pub(super) fn new(payload: Option<Vec<u8>>, replies: Vec<ResultSender>, clock: &Clock) -> Self {
        let parts = payload.map_or_else(Vec::new, |payload| payload::split(payload, Nonce(rand::random())));
        let entries = parts.into_iter().map(|part| (Nonce(rand::random()), part)).collect();
        Self { entries, is_written_by_poller: false, replies, since: clock.now().mono, may_be_in_log: false }
    }

    /// Takes a run of operations of one kind; `None` if there are none.
    pub(super) fn of_operations(run: &mut Vec<(Box<Envelope>, ResultSender)>, clock: &Clock) -> Option<Self> {
        let (envelopes, replies): (Vec<_>, Vec<_>) = run.drain(..).unzip();
        let is_written_by_poller = envelopes.first()?.operation.is_written_by_poller();
        let operations: Vec<&Envelope> = envelopes.iter().map(AsRef::as_ref).collect();
        match payload::encode(&operations) {
            Ok(payload) => Some(Self { is_written_by_poller, ..Self::new(Some(payload), replies, clock) }),
            Err(error) => {
                let reason = error.to_string();
                replies.into_iter().for_each(|reply| drop(reply.send(Err(StoreFault::Log(reason.clone()).into()))));
                None
            }
        }
    }

    /// Completes each write with the result of its operation.
    pub(super) fn complete(self, results: Vec<Result<OperationResult, String>>) {
        let mut results = results.into_iter();
        for reply in self.replies {
            let result = match results.next() {
                Some(result) => result.map_err(|reason| StoreFault::CommitFailed(reason).into()),
                None if self.entries.is_empty() => Ok(OperationResult::Done),
                None => Err(StoreFault::Log(
                    "the write is in the team's log, but its result is unknown; check it before you repeat it".into(),
                )
                .into()),
            };
            reply.send(result).ok();
        }
    }

    /// Fails each write with an error.
    pub(super) fn fail(self, error: &SessionError) {
        let reason = match (self.is_written_by_poller, self.may_be_in_log) {
            (true, _) => error.to_string(),
            (false, true) => {
                format!(
                    "{error}; the write may have been saved: check it when the database is back, before you repeat it"
                )
            }
            (false, false) => format!("nothing was saved: {error}"),
        };
        let fault = match error {
            SessionError::Team(TeamError::Permission(_) | TeamError::FormatRetired) if !self.is_written_by_poller => {
                StoreFault::WriteRefused(reason)
            }
            SessionError::Team(_) | SessionError::Store(_) => StoreFault::Log(reason),
        };
        self.replies.into_iter().for_each(|reply| drop(reply.send(Err(fault.clone().into()))));
    }
}
