//! The operations of all processes in the order of their commits, and a store that applies them once more.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use chrono::{DateTime, Utc};
use hoptop::internals::{
    domain::Operation,
    store::{OnOperationKept, Store, WriterSteps},
};

/// A write takes at least this many operations, if so many wait.
const BATCH: usize = 100;

/// An operation that was kept, and its moment.
type KeptOperation = (Operation, DateTime<Utc>);

/// The operations that were kept and aren't replayed yet. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct KeptOperations(Arc<Mutex<Vec<KeptOperation>>>);

impl KeptOperations {
    /// Returns the callback that a process calls with each operation that its store keeps.
    pub(crate) fn recorder(&self) -> OnOperationKept {
        let kept = self.clone();
        Box::new(move |operation, at| kept.0.lock().unwrap().push((operation.clone(), at)))
    }
}

/// A store that was empty, and gets the operations one after another from one process.
pub(crate) struct Replay {
    store: Store,
    writer: WriterSteps,
    kept: KeptOperations,
    pub(crate) operations: u64,
}

impl Replay {
    pub(crate) fn new(folder: &Path, kept: KeptOperations, at: DateTime<Utc>) -> Self {
        let (store, writer, _) = Store::open_in_steps(&folder.join("replay.db"), at, Box::new(|_, _| ())).unwrap();
        Self { store, writer: writer.unwrap(), kept, operations: 0 }
    }

    /// Applies the operations that were kept since the last call.
    pub(crate) fn catch_up(&mut self) {
        let kept = std::mem::take(&mut *self.kept.0.lock().unwrap());
        self.operations += kept.len() as u64;
        let receipts: Vec<_> = kept.into_iter().map(|(operation, at)| self.store.apply(operation, at)).collect();
        // One write takes a part of the waiting operations.
        for _ in receipts.chunks(BATCH) {
            self.writer.write();
        }
        for receipt in receipts {
            receipt.wait().expect("an operation that was kept can't be replayed");
        }
    }

    /// Returns a line for each table: its name, its number of rows, and its checksum.
    pub(crate) fn checksums(&self) -> Vec<String> {
        checksums(&self.store)
    }
}

/// Returns a line for each table of a store: its name, its number of rows, and its checksum.
pub(crate) fn checksums(store: &Store) -> Vec<String> {
    let sums = store.reader().unwrap().checksums().unwrap();
    sums.into_iter().map(|sum| format!("{} {} {}", sum.table, sum.rows, sum.digest)).collect()
}
