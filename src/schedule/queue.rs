//! A queue by moments whose entries may go stale: whoever takes one out says whether it still holds.
//!
//! Changing an entry means adding another; the old one is dropped when it comes up. It must never grow with the number of
//! changes: when most of it is stale its owner rebuilds it.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::clock::Mono;

/// A place in the scheduler's table, and the turn of its item that the entry was made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) at: Mono,
    pub(super) place: u32,
    pub(super) turn: u32,
}

/// The earliest first; of those at the same moment the one with the lower place.
#[derive(Debug, Default)]
pub(super) struct Queue(BinaryHeap<Reverse<Entry>>);

impl Queue {
    pub(super) fn push(&mut self, entry: Entry) {
        self.0.push(Reverse(entry));
    }

    pub(super) fn extend(&mut self, entries: impl IntoIterator<Item = Entry>) {
        self.0.extend(entries.into_iter().map(Reverse));
    }

    /// The first entry that holds; those before it that don't are dropped.
    pub(super) fn first(&mut self, holds: impl Fn(&Entry) -> bool) -> Option<Entry> {
        while let Some(Reverse(entry)) = self.0.peek() {
            if holds(entry) {
                return Some(*entry);
            }
            self.0.pop();
        }
        None
    }

    /// Takes the first entry out.
    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    /// Drops what doesn't hold, if there are more entries than `most`.
    pub(super) fn trim(&mut self, most: usize, holds: impl Fn(&Entry) -> bool) {
        if self.0.len() > most {
            self.0.retain(|Reverse(entry)| holds(entry));
        }
    }
}
