//! A store of unsettled transactions, some of them with answers and alerts.

use std::{path::Path, time::Duration};

use chrono::TimeDelta;
use hoptop::internals::{
    clock::Clock,
    domain::{IntegratorId, NewTransaction},
    sim::{CountsFrom, PlannedAnswer, SimulatedWorld, Transfer, TransferStage},
    store::{Receipt, Store},
};

use crate::material::{self, TimedObservation};

pub(crate) use crate::material::PROFILE;
pub(crate) const SEED: u64 = 600;
/// The integrator ID of the sessions.
pub(crate) const ID: &str = "an-integrator-of-the-benchmark";
/// The number of transactions with answers: enough for every row on the screen.
const ANSWERED_COUNT: usize = 200;

/// A store, the simulated world of its transactions, and the transactions.
pub(crate) struct TrackedStore {
    pub store: Store,
    pub world: SimulatedWorld,
    batch: Vec<NewTransaction>,
}

impl TrackedStore {
    /// Creates a store of `count` transactions, submitted over the last hour.
    pub(crate) fn make(path: &Path, count: usize, clock: &Clock) -> Self {
        let store = Store::open(path).unwrap();
        let now = clock.now().wall;
        let world = material::world(SEED, count, now);
        let mut batch = world.transfers();
        for (index, new) in batch.iter_mut().enumerate() {
            new.params.submitted_at = Some(now - TimeDelta::seconds((index % 3_600) as i64));
            new.params.ticket = index.is_multiple_of(4).then(|| format!("SUP-{index}"));
            new.labels = vec![format!("batch-{}", index / 100)];
        }
        let tracked = Self::track(store, world, batch, clock);
        for index in 0..ANSWERED_COUNT.min(count) {
            let status = if index.is_multiple_of(9) { ("needs_gas", 2) } else { ("ongoing", 1) };
            tracked.observe(index, status, clock).submit(&tracked.store).wait().unwrap();
        }
        tracked
    }

    /// Creates a store of `count` transactions in progress whose answers don't change, with deadlines hours away.
    pub(crate) fn make_unchanging(path: &Path, count: usize, clock: &Clock) -> Self {
        const ESTIMATE: Duration = Duration::from_secs(7_200);
        let now = clock.now().wall;
        let seeded = material::world(SEED, count, now);
        let mut transfers: Vec<_> = seeded
            .transfers()
            .iter()
            .map(|new| seeded.find(new.params.transaction_id.as_str()).unwrap().clone())
            .collect();
        for (index, transfer) in transfers.iter_mut().enumerate() {
            transfer.stages = vec![TransferStage::new(Duration::ZERO, PlannedAnswer::record("ongoing", 1))];
            transfer.begins = TimeDelta::hours(-1);
            transfer.new.params.estimate = Some(ESTIMATE);
            transfer.new.params.submitted_at = Some(now - TimeDelta::seconds((index % 600) as i64));
        }
        let world = SimulatedWorld::scripted(transfers, now, CountsFrom::Start);
        let batch = world.transfers();
        let tracked = Self::track(Store::open(path).unwrap(), world, batch, clock);
        // The body that the service will send again, except for the elapsed times.
        let id = IntegratorId::new(ID).unwrap();
        let body =
            |transfer: &Transfer| id.redact(material::short_body(transfer, ("ongoing", 1), Duration::from_secs(60)));
        let submit = |index| tracked.observe_body(index, body, clock).submit(&tracked.store);
        let receipts: Vec<Receipt> = (0..count).map(submit).collect();
        receipts.into_iter().for_each(|receipt| drop(receipt.wait().unwrap()));
        tracked
    }

    fn track(store: Store, world: SimulatedWorld, batch: Vec<NewTransaction>, clock: &Clock) -> Self {
        material::track(&store, batch.clone(), clock.now().wall);
        Self { store, world, batch }
    }

    /// Returns an observation of one transaction.
    pub(crate) fn observe(&self, index: usize, status: (&str, usize), clock: &Clock) -> TimedObservation {
        self.observe_body(index, |transfer| material::body(transfer, status, Duration::from_secs(60)), clock)
    }

    fn observe_body(&self, index: usize, body: impl Fn(&Transfer) -> String, clock: &Clock) -> TimedObservation {
        let new = &self.batch[index % self.batch.len()];
        let transfer = self.world.find(new.params.transaction_id.as_str()).unwrap();
        material::seen(&new.params, body(transfer), clock.now().wall)
    }
}
