//! Transactions and answers out of a seed: what the simulated service says, as long as the real one's bodies are. For tests that
//! write a store, and for its benchmark.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use hoptop::{
    api::{Reply, interpret},
    domain::{
        ids::RowId,
        observation::{Observation, Outcome},
        operation::{Operation, TransactionKey},
        transaction::{NewTransaction, TransactionParams},
    },
    sim::{body, plan::Transfer, world::World},
    store::{ImportReport, Receipt, Store},
};

/// The profile that everything is tracked in.
pub const PROFILE: &str = "default";

/// An observation of a transaction, with its moment.
pub struct TimedObservation {
    pub transaction: TransactionKey,
    pub observation: Observation,
    pub at: DateTime<Utc>,
}

impl TimedObservation {
    /// The operation that keeps it.
    pub fn operation(self) -> Operation {
        Operation::Observe { transaction: self.transaction, observation: Box::new(self.observation) }
    }

    /// Submits it to a store.
    pub fn submit(self, store: &Store) -> Receipt {
        let at = self.at;
        store.apply(self.operation(), at)
    }
}

/// Names a transaction in every store.
pub fn key(params: &TransactionParams) -> TransactionKey {
    let (from_chain, hash) = (params.from_chain.clone(), params.transaction_id.clone());
    TransactionKey { profile: PROFILE.into(), from_chain, hash }
}

/// Tracks a batch, and waits.
pub fn track(store: &Store, transactions: Vec<NewTransaction>, at: DateTime<Utc>) -> ImportReport {
    let operation = Operation::Track { profile: PROFILE.into(), transactions };
    store.apply(operation, at).wait().unwrap().tracked().unwrap()
}

/// What a body weighs that fills every field that `service.md` (2.2 to 2.5) shows.
pub const BODY: usize = 3_584;

/// The way of a transfer that brings news three times: status and steps.
pub const WAY: [(&str, usize); 3] = [("ongoing", 1), ("ongoing", 2), ("success", 3)];

/// So many transfers, the same for the same seed.
pub fn world(seed: u64, count: usize, start: DateTime<Utc>) -> World {
    World::seeded(seed, count, start)
}

/// What the service says of a transfer, as long as [`BODY`].
pub fn body(transfer: &Transfer, said: (&str, usize), age: Duration) -> String {
    padded(&short_body(transfer, said, age))
}

/// The same, as short as the simulated service has it: where only the record counts.
pub fn short_body(transfer: &Transfer, (status, steps): (&str, usize), age: Duration) -> String {
    let said = body::Said { status, steps, age, edits: &[] };
    body::record(transfer, said, "an-integrator-of-the-benchmark").unwrap()
}

/// With endpoints of the chain, as many as it takes: a body that is whole in length, and the same for a route.
fn padded(text: &str) -> String {
    const MARK: &str = "\"rpcList\":[";
    let mut text = text.to_owned();
    let mut number = 0;
    while text.len() < BODY {
        let Some(at) = text.find(MARK) else { break };
        text.insert_str(at + MARK.len(), &format!("\"https://rpc-{number}.chain.example/v1/mainnet\","));
        number += 1;
    }
    text
}

/// What is kept of such a body.
pub fn seen(params: &TransactionParams, body: String, at: DateTime<Utc>) -> TimedObservation {
    let heard = interpret(&Reply { status: 200, retry_after: None, body: body.as_bytes() }, params, at);
    assert!(matches!(heard.outcome, Outcome::Record(_)), "{:?}", heard.outcome);
    let observation = Observation {
        outcome: heard.outcome,
        http_status: Some(200),
        latency: Duration::from_millis(150),
        body: Some(body),
        chains: heard.chains,
    };
    TimedObservation { transaction: key(params), observation, at }
}

/// The rows that an import added to a store, all one after the other.
pub fn added(report: &ImportReport) -> impl Iterator<Item = RowId> {
    let first = report.added.first[0].0;
    (first..).take(report.added.count).map(RowId)
}

/// All that three answers say of a transfer, a minute apart.
pub fn answers(world: &World, new: &NewTransaction, from: DateTime<Utc>) -> Vec<TimedObservation> {
    let transfer = world.find(new.params.transaction_id.as_str()).unwrap();
    let answer = |(minute, said): (i64, (&str, usize))| {
        let age = Duration::from_secs(60 * minute.unsigned_abs() + 30);
        seen(&new.params, body(transfer, said, age), from + TimeDelta::minutes(minute))
    };
    (0..).zip(WAY).map(answer).collect()
}
