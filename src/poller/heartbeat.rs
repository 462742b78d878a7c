//! The heartbeat of a poller: shows others in this process that the poll loop goes on.
//!
//! Only the loop itself may beat, so that a hung loop is noticed.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Counts the turns of a poll loop. The loop takes a turn at least every five seconds, for its report. Clones share the
/// count.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat(Arc<AtomicU64>);

impl Heartbeat {
    /// Counts a turn of the loop.
    pub fn beat(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of turns so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
