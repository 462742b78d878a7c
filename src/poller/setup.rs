//! What a poller is given, and why it may end.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use tokio::task::JoinError;

use crate::{
    clock::Clock,
    process::lock::LockError,
    store::{Store, StoreError},
};

/// What a poller needs.
pub struct Setup<W> {
    /// Where it reads what to poll, and writes what it hears.
    pub store: Store,
    /// What it asks.
    pub wire: Arc<W>,
    /// Its time.
    pub clock: Clock,
    /// The profile whose transactions it polls.
    pub profile: String,
    /// The limit of the ID, in requests per second.
    pub rps: f64,
    /// What may be shown of the ID.
    pub shown_id: String,
    /// Of base URL and ID.
    pub fingerprint: String,
    /// The folder in which the ID's ledger lies; `None` if no other process uses the store and the budget.
    pub shared: Option<PathBuf>,
    /// How much more a delay costs for transactions with these labels.
    pub weights: BTreeMap<String, f64>,
    /// What it sends of its own accord.
    pub scope: Scope,
    /// For the jitter.
    pub seed: u64,
}

/// What a poller sends of its own accord. What people ask for it sends in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// It polls whatever is unsettled.
    Everything,
    /// Nothing.
    RequestsOnly,
}

/// Why a poller ended before it was stopped.
#[derive(Debug, thiserror::Error)]
pub enum PollerError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the budget can't be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A task panicked.
    #[error("a task of the poller failed: {0}")]
    Task(#[from] JoinError),
}
