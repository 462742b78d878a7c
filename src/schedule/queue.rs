//! A priority queue by moment, whose entries may become stale. The caller decides which entries are current.
//!
//! A changed item gets a new entry, and its old entry is dropped at the front of the queue. The queue must never grow
//! with the number of changes: its owner calls [`PollQueue::drop_stale`].

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::clock::MonotonicTime;

/// The position of an item in the scheduler's table, and the generation of the item for which the entry was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueueEntry {
    pub(super) at: MonotonicTime,
    pub(super) position: u32,
    pub(super) generation: u32,
}

/// The queue, ordered by moment, then by position.
#[derive(Debug, Default)]
pub(super) struct PollQueue(BinaryHeap<Reverse<QueueEntry>>);

impl PollQueue {
    pub(super) fn push(&mut self, entry: QueueEntry) {
        self.0.push(Reverse(entry));
    }

    pub(super) fn extend(&mut self, entries: impl IntoIterator<Item = QueueEntry>) {
        self.0.extend(entries.into_iter().map(Reverse));
    }

    /// Returns the first current entry, and drops the stale entries before it.
    pub(super) fn first_current(&mut self, is_current: impl Fn(&QueueEntry) -> bool) -> Option<QueueEntry> {
        while let Some(Reverse(entry)) = self.0.peek() {
            if is_current(entry) {
                return Some(*entry);
            }
            self.0.pop();
        }
        None
    }

    /// Removes and returns the first current entry if its moment has come. Drops the stale entries before it.
    pub(super) fn pop_due(
        &mut self,
        now: MonotonicTime,
        is_current: impl Fn(&QueueEntry) -> bool,
    ) -> Option<QueueEntry> {
        let due = self.first_current(is_current).filter(|entry| entry.at <= now);
        due.inspect(|_| self.pop())
    }

    /// Removes the first entry.
    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    /// Drops every stale entry if there are more than `most` entries.
    pub(super) fn drop_stale(&mut self, most: usize, is_current: impl Fn(&QueueEntry) -> bool) {
        if self.0.len() > most {
            self.0.retain(|Reverse(entry)| is_current(entry));
        }
    }
}
