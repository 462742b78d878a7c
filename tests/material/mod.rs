//! Transactions and answers of the simulated service, generated from a seed, with bodies as long as the real service's.
//! For tests that write to a store, and for benchmarks.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use hoptop::internals::{
    api::{HttpAnswer, interpret},
    domain::{NewTransaction, Observation, Operation, RowId, StatusOutcome, TransactionKey, TransactionParams},
    sim::{RecordContent, SimulatedWorld, Transfer, record},
    store::{ImportReport, Receipt, Store},
};

/// The profile of every tracked transaction.
pub(crate) const PROFILE: &str = "default";

/// An observation of a transaction, with its time.
pub(crate) struct TimedObservation {
    pub transaction: TransactionKey,
    pub observation: Observation,
    pub at: DateTime<Utc>,
}

impl TimedObservation {
    /// Returns the operation that records the observation.
    pub(crate) fn operation(self) -> Operation {
        Operation::Observe { transaction: self.transaction, observation: Box::new(self.observation) }
    }

    /// Submits the observation to a store.
    pub(crate) fn submit(self, store: &Store) -> Receipt {
        let at = self.at;
        store.apply(self.operation(), at)
    }
}

/// Returns the key that identifies a transaction in every store.
pub(crate) fn key(params: &TransactionParams) -> TransactionKey {
    let (from_chain, hash) = (params.from_chain.clone(), params.transaction_id.clone());
    TransactionKey { profile: PROFILE.into(), from_chain, hash }
}

/// Tracks a batch, and waits until the store has written it.
pub(crate) fn track(store: &Store, transactions: Vec<NewTransaction>, at: DateTime<Utc>) -> ImportReport {
    let operation = Operation::Track { profile: PROFILE.into(), transactions };
    store.apply(operation, at).wait().unwrap().tracked().unwrap()
}

/// The length in bytes of a body that fills every field that `service.md` (2.2 to 2.5) shows.
pub(crate) const BODY_LENGTH: usize = 3_584;

/// The three answers about a transfer, each with a change: status and number of steps.
pub(crate) const STATUS_SEQUENCE: [(&str, usize); 3] = [("ongoing", 1), ("ongoing", 2), ("success", 3)];

/// Creates a world of `count` transfers, the same for the same seed.
pub(crate) fn world(seed: u64, count: usize, start: DateTime<Utc>) -> SimulatedWorld {
    SimulatedWorld::seeded(seed, count, start)
}

/// Returns a status record of a transfer, [`BODY_LENGTH`] bytes long. `state` is its status and number of steps.
pub(crate) fn body(transfer: &Transfer, state: (&str, usize), age: Duration) -> String {
    pad_body(&short_body(transfer, state, age))
}

/// Like [`body`], but as short as the simulated service sends it: for callers that need only the record.
pub(crate) fn short_body(transfer: &Transfer, (status, steps): (&str, usize), age: Duration) -> String {
    let content = RecordContent { status, steps, age, edits: &[] };
    record(transfer, content, "an-integrator-of-the-benchmark").unwrap()
}

/// Pads a body to [`BODY_LENGTH`] with RPC endpoints of its chain, which are the same for each transfer of a route.
fn pad_body(text: &str) -> String {
    const MARK: &str = "\"rpcList\":[";
    let mut text = text.to_owned();
    let mut number = 0;
    while text.len() < BODY_LENGTH {
        let Some(at) = text.find(MARK) else { break };
        text.insert_str(at + MARK.len(), &format!("\"https://rpc-{number}.chain.example/v1/mainnet\","));
        number += 1;
    }
    text
}

/// Returns the observation of a reply with such a body.
pub(crate) fn seen(params: &TransactionParams, body: String, at: DateTime<Utc>) -> TimedObservation {
    let answer = interpret(&HttpAnswer { status: 200, retry_after: None, body: body.as_bytes() }, params, at);
    assert!(matches!(answer.outcome, StatusOutcome::Record(_)), "{:?}", answer.outcome);
    let observation = Observation {
        outcome: answer.outcome,
        http_status: Some(200),
        latency: Duration::from_millis(150),
        body: Some(body),
        chains: answer.chains,
        response_id: None,
    };
    TimedObservation { transaction: key(params), observation, at }
}

/// Returns the rows that an import added to a store; their numbers are consecutive.
pub(crate) fn added(report: &ImportReport) -> impl Iterator<Item = RowId> {
    let first = report.added.listed[0].0;
    (first..).take(report.added.count).map(RowId)
}

/// Returns the three observations of a transfer in [`STATUS_SEQUENCE`], one minute apart, the first at `from`.
pub(crate) fn answers(world: &SimulatedWorld, new: &NewTransaction, from: DateTime<Utc>) -> Vec<TimedObservation> {
    let transfer = world.find(new.params.transaction_id.as_str()).unwrap();
    let answer = |(minute, state): (i64, (&str, usize))| {
        let age = Duration::from_secs(60 * minute.unsigned_abs() + 30);
        seen(&new.params, body(transfer, state, age), from + TimeDelta::minutes(minute))
    };
    (0..).zip(STATUS_SEQUENCE).map(answer).collect()
}
