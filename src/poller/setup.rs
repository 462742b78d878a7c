//! The settings of a poller, and the errors that end a poller.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use tokio::{sync::watch, task::JoinError};

use super::heartbeat::Heartbeat;
use crate::{
    budget::{Pace, PaceHandover},
    chain_rpc::ChainNodes,
    clock::{Clock, MonotonicTime},
    process::lock::LockError,
    store::{Store, StoreError},
};

/// The settings and connections of one poller.
pub struct PollerSetup<T> {
    /// The store: the source of the transactions to poll, and the destination of the answers.
    pub store: Store,
    /// The connection to the service.
    pub transport: Arc<T>,
    /// The source of time.
    pub clock: Clock,
    /// The profile whose transactions the poller polls.
    pub profile: String,
    /// The limit of the integrator ID, in requests per second.
    pub rps: f64,
    /// The part of the integrator ID that may be shown.
    pub shown_id: String,
    /// The fingerprint of the base URL and the integrator ID. Must never leave this machine.
    pub fingerprint: String,
    /// The folder of the ID's budget file; `None` if no other process uses the store and the budget.
    pub budget_folder: Option<PathBuf>,
    /// The weight of a second of delay, by label. A transaction without a label in this map has the weight 1.
    pub weights: BTreeMap<String, f64>,
    /// The requests that the poller sends without being asked.
    pub scope: PollScope,
    /// The seed of the random jitter.
    pub seed: u64,
    /// The lease of the integrator ID; `None` if no other machine uses it.
    pub lease: Option<LeasePermit>,
    /// Counts the iterations of the poll loop.
    pub heartbeat: Heartbeat,
    /// The nodes of the chains that are asked besides the service; `None` if the settings name none.
    pub chain_nodes: Option<Arc<ChainNodes>>,
}

/// A poller's view of the lease of its integrator ID. The lease decides which machine of a team may poll.
#[derive(Clone)]
pub struct LeasePermit {
    /// Until when requests may begin, on [`Clock::since_boot`]; `None` while none may begin.
    pub may_send_until: watch::Receiver<Option<MonotonicTime>>,
    /// The key of the lease, by which the team identifies the base URL and the integrator ID.
    pub key: String,
    /// The pace that the previously polling machine left.
    pub inherited: Option<PaceHandover>,
    /// Takes the pace of this machine, which the next one inherits; `None` until this machine has inherited.
    pub pace: watch::Sender<Option<Pace>>,
}

impl<T> PollerSetup<T> {
    /// Returns the identifier of the base URL and the integrator ID in reports: the key of the lease in a team, whose
    /// reports other machines read, and otherwise the fingerprint.
    pub(super) fn report_id(&self) -> String {
        self.lease.as_ref().map_or(&self.fingerprint, |lease| &lease.key).clone()
    }
}

/// The requests that a poller sends without being asked. A poller sends the requests of people in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollScope {
    /// Polls every unsettled transaction.
    Everything,
    /// Sends only requests of people.
    RequestsOnly,
}

/// The error that ends a poller before it is stopped.
#[derive(Debug, thiserror::Error)]
pub enum PollerError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A lock file or the budget's file can't be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A task panicked.
    #[error("internal error: a task of the poller failed: {0}")]
    Task(#[from] JoinError),
}

/// Returns whether a request may begin now. Without a lease it always may.
pub(super) fn may_begin(lease: Option<&LeasePermit>, clock: &Clock) -> bool {
    lease.is_none_or(|lease| lease.may_send_until.borrow().is_some_and(|until| clock.since_boot() < until))
}

/// Waits until the lease permits something else; forever without a lease.
pub(super) async fn permit_change(lease: Option<&mut LeasePermit>) {
    let changed = match lease {
        Some(lease) => lease.may_send_until.changed().await,
        None => std::future::pending().await,
    };
    if changed.is_err() {
        // The lease's thread has ended, and its last permission expires by itself.
        std::future::pending().await
    }
}
