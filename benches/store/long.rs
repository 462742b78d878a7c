//! A store with very many transactions, one in ten of them unsettled, as it would be after months: made through the product's own
//! imports and answers.

use std::{path::PathBuf, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use hoptop::{
    domain::{ids::RowId, transaction::NewTransaction},
    sim::world::World,
    store::Store,
};
use tempfile::TempDir;

use crate::{
    Bench,
    material::{self, TimedObservation},
    writes,
};

const SEED: u64 = 1_000;
/// Transactions that are made at a time.
const CHUNK: usize = 10_000;

/// The store, in a folder that goes with it.
pub struct Long {
    pub count: usize,
    pub path: PathBuf,
    pub folder: TempDir,
}

impl Long {
    pub fn make(bench: &Bench, count: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let now = bench.clock.now().wall;
        let (seconds, ()) = bench.seconds(|| {
            let store = Store::open(&path).unwrap();
            for chunk in 0..count.div_ceil(CHUNK) {
                let size = CHUNK.min(count - chunk * CHUNK);
                fill(&store, (chunk, size), now - TimeDelta::hours((count / CHUNK - chunk) as i64));
            }
        });
        println!("A store of {count} transactions was made in {seconds:.0} s.");
        Self { count, path, folder }
    }
}

/// Tracks a chunk, which comes in at `start`, and hears of each of its transactions once.
fn fill(store: &Store, (chunk, size): (usize, usize), start: DateTime<Utc>) {
    let world = material::world(SEED + chunk as u64, size, start);
    let mut batch = world.transfers();
    for (index, new) in batch.iter_mut().enumerate() {
        let number = chunk * CHUNK + index;
        new.labels = vec![format!("batch-{}", number / 100)];
        new.params.ticket = number.is_multiple_of(4).then(|| format!("SUP-{number}"));
        new.params.estimate = Some(Duration::from_secs(600 + 60 * (number % 40) as u64));
    }
    let report = material::track(store, batch.clone(), start);
    let rows = material::added(&report).zip(&batch);
    writes::keep(store, rows.map(|(row, new)| answer(&world, (row, new), start)));
}

/// What is heard of a transaction: nine of ten have settled, a few badly; of the others most are on their way.
fn answer(world: &World, (row, new): (RowId, &NewTransaction), start: DateTime<Utc>) -> TimedObservation {
    let lot = row.0 % 1_000;
    let said = match (lot % 10, lot) {
        (0, 0) => ("refund", 2),
        (0, 10) => ("needs_gas", 2),
        (0, 500..) => ("ongoing", 1),
        (0, _) => ("ongoing", 2),
        (_, 1..=3) => ("partial_success", 3),
        _ => ("success", 3),
    };
    let transfer = world.find(new.params.transaction_id.as_str()).unwrap();
    let at = start + TimeDelta::milliseconds(row.0 % 60_000);
    let age = Duration::from_secs(60);
    if said.0 != "success" {
        return material::seen(&new.params, material::body(transfer, said, age), at);
    }
    // As if retention had dropped the body: no list reads it, and that saves minutes.
    let mut seen = material::seen(&new.params, material::short_body(transfer, said, age), at);
    seen.observation.body = None;
    seen
}
