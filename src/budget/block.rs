//! A block: slots that a member takes from the ledger in one update, to send within the next moments.
//!
//! Each slot of a block has the earliest moment of its send, and the block reserves a stretch of time for its sends.
//! The module is pure. A block must never give out a slot before its moment, nor a slot whose send would reach beyond
//! the stretch.

use std::{collections::VecDeque, time::Duration};

use super::ledger::{Ledger, Reservation};
use crate::clock::MonotonicTime;

/// The longest time ahead for which a member takes slots. A new file gives no slot for a whole window, which is much
/// longer. By then the members have used up the blocks of a lost file.
pub(super) const SPAN: Duration = Duration::from_millis(100);

/// The slots of a block that are left.
#[derive(Debug)]
pub(super) struct SlotBlock {
    /// The number of each slot, and the earliest moment of its send; in the order of the sends.
    slots: VecDeque<(u64, MonotonicTime)>,
    /// The end of the stretch: the first moment at which another member may send.
    pub(super) end: MonotonicTime,
    /// The shortest time between two sends.
    spacing: Duration,
    /// The rate for which the moments were planned, in requests a second.
    rate: f64,
    /// The earliest moment of the next send, by the spacing alone. From then on another member may send if this member
    /// returns its unused slots.
    pub(super) next_send: MonotonicTime,
}

impl SlotBlock {
    /// Returns the highest number of slots in a block at this rate, at least one.
    pub(super) fn max_slots(rate: f64) -> usize {
        ((rate * SPAN.as_secs_f64()) as usize).max(1)
    }

    /// Creates the block of a reservation that was made at `now`. The first slot, of the number `first`, is in use from
    /// then on.
    pub(super) fn new(first: u64, reservation: Reservation, rate: f64, now: MonotonicTime) -> Self {
        let Reservation { sends, end, spacing, .. } = reservation;
        Self { slots: (first..).zip(sends).skip(1).collect(), end, spacing, rate, next_send: now + spacing }
    }

    /// Returns the next slot, if it may still be used at `now` or later.
    pub(super) fn next_slot(&self, now: MonotonicTime) -> Option<u64> {
        let (slot, _) = self.slots.front()?;
        (self.ready_at()?.max(now) + self.spacing <= self.end).then_some(*slot)
    }

    /// Returns the earliest moment of the next send, if there is a slot left.
    pub(super) fn ready_at(&self) -> Option<MonotonicTime> {
        self.slots.front().map(|(_, from)| (*from).max(self.next_send))
    }

    /// Takes the next slot to send at `now`, if it may be used at `now`.
    pub(super) fn take(&mut self, now: MonotonicTime) -> Option<u64> {
        if self.ready_at()? > now {
            return None;
        }
        let slot = self.next_slot(now)?;
        self.slots.pop_front();
        self.next_send = now + self.spacing;
        Some(slot)
    }

    /// Returns whether the block may be used at `now` although the ledger changed since: no member lowered the rate,
    /// and the ID does not rest.
    pub(super) fn is_allowed_by(&self, ledger: &Ledger, now: MonotonicTime) -> bool {
        ledger.rate() >= self.rate && ledger.pace.resting_until() <= now
    }
}
