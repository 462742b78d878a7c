//! The writer as steps of a simulation, which decides when each step happens.
//!
//! A simulation with threads has an order of events that no seed gives again.

use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::Notify;

use super::{CommitTrigger, OnOperationKept, RunningWriter, WriterThread, WriterWake};
use crate::store::{file::health::StoreHealth, watcher::Watcher};

/// The writer of a store, run by a simulation. If it is dropped, what waits isn't written, as after a kill.
pub struct WriterSteps {
    worker: WriterThread,
    submitted: Arc<Notify>,
}

impl WriterSteps {
    /// Waits until a write is submitted.
    pub async fn wait_for_write(&mut self) {
        self.submitted.notified().await;
    }

    /// Commits the waiting writes together and answers them, as the writer's thread does.
    pub fn write(&mut self) {
        self.worker.write_batch(None);
        while !self.worker.is_derived {
            self.worker.derive_more();
        }
    }

    /// Does the thread's work after the last write.
    pub fn finish(mut self) {
        self.write();
        self.worker.finish();
    }
}

impl RunningWriter {
    /// Creates a writer without a thread. Each operation that is kept is passed to `on_kept`. Nobody may block on a
    /// receipt.
    pub(in crate::store) fn in_steps(
        connection: Connection,
        health: Arc<StoreHealth>,
        watcher: Arc<Watcher>,
        on_kept: OnOperationKept,
    ) -> (Self, WriterSteps) {
        let (queue, worker) = WriterThread::new(connection, health, watcher);
        let submitted: Arc<Notify> = Arc::default();
        let writer = WriterWake::Steps(Arc::clone(&submitted));
        let commit_trigger = CommitTrigger { queued: Arc::clone(&worker.queued), writer };
        let handle = Self { queue: Some(queue), thread: None, commit_trigger };
        (handle, WriterSteps { worker: WriterThread { on_kept: Some(on_kept), ..worker }, submitted })
    }
}
