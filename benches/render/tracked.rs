//! A store of transactions that are all under way, some of them with answers and alerts.

use std::path::Path;

use chrono::TimeDelta;
use hoptop::{
    alerts,
    clock::Clock,
    domain::{ids::RowId, transaction::NewTransaction},
    sim::world::World,
    store::{Seen, Store},
};

use crate::material;

pub const PROFILE: &str = "default";
pub const SEED: u64 = 600;
/// So many have answers: enough for every row that is on the screen.
const ANSWERED: usize = 200;

/// What is tracked, with the world that it is from.
pub struct Tracked {
    pub store: Store,
    world: World,
    told: Vec<(RowId, NewTransaction)>,
}

impl Tracked {
    /// So many transactions, submitted over the last hour.
    pub fn make(path: &Path, count: usize, clock: &Clock) -> Self {
        let store = Store::open(path).unwrap();
        let now = clock.now().wall;
        let world = material::world(SEED, count, now);
        let mut batch = world.transfers();
        for (index, new) in batch.iter_mut().enumerate() {
            new.told.submitted_at = Some(now - TimeDelta::seconds((index % 3_600) as i64));
            new.told.ticket = index.is_multiple_of(4).then(|| format!("SUP-{index}"));
            new.labels = vec![format!("batch-{}", index / 100)];
        }
        let report = store.import(PROFILE, batch.clone(), now).wait().unwrap();
        let told: Vec<_> = (report.added.first[0].0..).map(RowId).zip(batch).collect();
        let tracked = Self { store, world, told };
        for place in 0..ANSWERED.min(count) {
            let said = if place.is_multiple_of(9) { ("needs_gas", 2) } else { ("ongoing", 1) };
            let seen = tracked.seen(place, said, clock);
            tracked.store.observe(seen, alerts::judge).wait().unwrap();
        }
        tracked
    }

    /// What is heard of one of them.
    pub fn seen(&self, place: usize, said: (&str, usize), clock: &Clock) -> Seen {
        let (row, new) = &self.told[place % self.told.len()];
        let transfer = self.world.find(new.told.transaction_id.as_str()).unwrap();
        let body = material::body(transfer, said, std::time::Duration::from_secs(60));
        material::seen(*row, (&new.told, body), clock.now().wall)
    }
}
