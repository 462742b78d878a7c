//! A store as after months of use, with very many transactions, one in ten of them unsettled. The product's own imports
//! and answers fill the store.

use std::{path::PathBuf, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use hoptop::internals::{
    domain::{NewTransaction, RowId},
    sim::SimulatedWorld,
    store::Store,
};
use tempfile::TempDir;

use crate::{
    StoreBench,
    material::{self, TimedObservation},
    writes,
};

const SEED: u64 = 1_000;
/// The transactions created at a time.
const CHUNK_SIZE: usize = 10_000;

/// A store in a temporary folder, which is deleted when the value is dropped.
pub(crate) struct LargeStore {
    pub count: usize,
    pub path: PathBuf,
    pub folder: TempDir,
}

impl LargeStore {
    pub(crate) fn make(bench: &StoreBench, count: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let now = bench.clock.now().wall;
        let (seconds, ()) = bench.seconds(|| {
            let store = Store::open(&path).unwrap();
            for chunk in 0..count.div_ceil(CHUNK_SIZE) {
                let size = CHUNK_SIZE.min(count - chunk * CHUNK_SIZE);
                fill(&store, chunk, size, now - TimeDelta::hours((count / CHUNK_SIZE - chunk) as i64));
            }
        });
        println!("A store of {count} transactions was made in {seconds:.0} s.");
        Self { count, path, folder }
    }
}

/// Tracks a chunk of transactions at `start`, and saves one answer about each.
fn fill(store: &Store, chunk: usize, size: usize, start: DateTime<Utc>) {
    let world = material::world(SEED + chunk as u64, size, start);
    let mut batch = world.transfers();
    for (index, new) in batch.iter_mut().enumerate() {
        let number = chunk * CHUNK_SIZE + index;
        new.labels = vec![format!("batch-{}", number / 100)];
        new.params.ticket = number.is_multiple_of(4).then(|| format!("SUP-{number}"));
        new.params.estimate = Some(Duration::from_secs(600 + 60 * (number % 40) as u64));
    }
    let report = material::track(store, batch.clone(), start);
    let rows = material::added(&report).zip(&batch);
    writes::save(store, rows.map(|(row, new)| answer(&world, row, new, start)));
}

/// Returns the answer about a transaction: nine in ten have settled, a few badly; most of the others are in progress.
fn answer(world: &SimulatedWorld, row: RowId, new: &NewTransaction, start: DateTime<Utc>) -> TimedObservation {
    let remainder = row.0 % 1_000;
    let status = match (remainder % 10, remainder) {
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
    if status.0 != "success" {
        return material::seen(&new.params, material::body(transfer, status, age), at);
    }
    // The body is dropped, as by retention: no list reads it, and this saves minutes.
    let mut timed = material::seen(&new.params, material::short_body(transfer, status, age), at);
    timed.observation.body = None;
    timed
}
