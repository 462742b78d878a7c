//! A store of transactions that are all under way, some of them with answers and alerts.

use std::{path::Path, time::Duration};

use chrono::TimeDelta;
use hoptop::{
    clock::Clock,
    domain::{secret::IntegratorId, transaction::NewTransaction},
    sim::{
        plan::{Answer, Stage, Transfer},
        world::{CountsFrom, World},
    },
    store::{Receipt, Store},
};

use crate::material::{self, TimedObservation};

pub use crate::material::PROFILE;
pub const SEED: u64 = 600;
/// The integrator ID of the sessions.
pub const ID: &str = "an-integrator-of-the-benchmark";
/// So many have answers: enough for every row that is on the screen.
const ANSWERED: usize = 200;

/// What is tracked, with the world that it is from.
pub struct Tracked {
    pub store: Store,
    pub world: World,
    batch: Vec<NewTransaction>,
}

impl Tracked {
    /// So many transactions, submitted over the last hour.
    pub fn make(path: &Path, count: usize, clock: &Clock) -> Self {
        let store = Store::open(path).unwrap();
        let now = clock.now().wall;
        let world = material::world(SEED, count, now);
        let mut batch = world.transfers();
        for (index, new) in batch.iter_mut().enumerate() {
            new.params.submitted_at = Some(now - TimeDelta::seconds((index % 3_600) as i64));
            new.params.ticket = index.is_multiple_of(4).then(|| format!("SUP-{index}"));
            new.labels = vec![format!("batch-{}", index / 100)];
        }
        let tracked = Self::track(store, (world, batch), clock);
        for place in 0..ANSWERED.min(count) {
            let said = if place.is_multiple_of(9) { ("needs_gas", 2) } else { ("ongoing", 1) };
            tracked.seen(place, said, clock).submit(&tracked.store).wait().unwrap();
        }
        tracked
    }

    /// So many of which nothing is heard but what was heard before: under way, and not due for hours.
    pub fn still(path: &Path, count: usize, clock: &Clock) -> Self {
        const ESTIMATE: Duration = Duration::from_secs(7_200);
        let now = clock.now().wall;
        let seeded = material::world(SEED, count, now);
        let mut transfers: Vec<_> = seeded
            .transfers()
            .iter()
            .map(|new| seeded.find(new.params.transaction_id.as_str()).unwrap().clone())
            .collect();
        for (index, transfer) in transfers.iter_mut().enumerate() {
            transfer.stages = vec![Stage::new(Duration::ZERO, Answer::record("ongoing", 1))];
            transfer.begins = TimeDelta::hours(-1);
            transfer.new.params.estimate = Some(ESTIMATE);
            transfer.new.params.submitted_at = Some(now - TimeDelta::seconds((index % 600) as i64));
        }
        let world = World::scripted(transfers, now, CountsFrom::Start);
        let batch = world.transfers();
        let tracked = Self::track(Store::open(path).unwrap(), (world, batch), clock);
        // To the letter what will be said again, but for the running times.
        let id = IntegratorId::new(ID).unwrap();
        let said =
            |transfer: &Transfer| id.redact(material::short_body(transfer, ("ongoing", 1), Duration::from_secs(60)));
        let heard = |place| tracked.seen_as(place, said, clock).submit(&tracked.store);
        let kept: Vec<Receipt> = (0..count).map(heard).collect();
        kept.into_iter().for_each(|kept| drop(kept.wait().unwrap()));
        tracked
    }

    fn track(store: Store, (world, batch): (World, Vec<NewTransaction>), clock: &Clock) -> Self {
        material::track(&store, batch.clone(), clock.now().wall);
        Self { store, world, batch }
    }

    /// What is heard of one of them.
    pub fn seen(&self, place: usize, said: (&str, usize), clock: &Clock) -> TimedObservation {
        self.seen_as(place, |transfer| material::body(transfer, said, Duration::from_secs(60)), clock)
    }

    fn seen_as(&self, place: usize, said: impl Fn(&Transfer) -> String, clock: &Clock) -> TimedObservation {
        let new = &self.batch[place % self.batch.len()];
        let transfer = self.world.find(new.params.transaction_id.as_str()).unwrap();
        material::seen(&new.params, said(transfer), clock.now().wall)
    }
}
