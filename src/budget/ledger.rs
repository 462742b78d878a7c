//! The ledger of one integrator ID: the slots that are in use, and when the next request may be sent.
//!
//! There are N slots. A request takes a slot, and the slot is free again one window after the *response* arrived. The
//! service saw the request before the response arrived. So no window of one second at the service ever holds more than
//! N requests (`DESIGN.md`, Budget; `service.md` 8). The ledger is pure. It must never give out a slot by a guess.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    micros,
    pace::{Pace, PaceHandover},
};
use crate::clock::MonotonicTime;

/// The window of the service's limit.
const SECOND: Duration = Duration::from_secs(1);
/// The longest time that a request may take. The service sees a request within this time after its process died, or
/// never.
pub(super) const REQUEST_LIMIT: Duration = Duration::from_secs(8);
/// How long the first member in the queue may be late before another member takes its slot.
const GRACE: Duration = Duration::from_millis(20);
/// No moment in a sound ledger lies further ahead: the longest rest after a 429, with its jitter.
const FURTHEST: Duration = Duration::from_secs(15 * 60);
/// The highest limit, in requests a second.
const HIGHEST_LIMIT: f64 = 1_000.0;

/// Identifies the slot of one request: the member that took the slot, and the member's own number for the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SlotId {
    /// The member's number. The file calls this field `seat`, as earlier builds do.
    #[serde(rename = "seat")]
    pub(super) member: u32,
    pub(super) slot: u64,
}

/// A slot that isn't free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum UsedSlot {
    /// The slot's request is under way, or the member will send it in a moment.
    Taken(SlotId),
    /// The service saw the slot's request by this moment.
    Seen(#[serde(with = "micros")] MonotonicTime),
}

/// Slots that a member took in one update.
#[derive(Debug)]
pub(super) struct Reservation {
    /// The earliest moment of each slot's send, in ascending order. The first is the moment of the update.
    pub(super) sends: Vec<MonotonicTime>,
    /// The first moment at which another member may send.
    pub(super) end: MonotonicTime,
    /// The shortest time between two sends.
    pub(super) spacing: Duration,
    /// How many other members wait.
    pub(super) others: usize,
}

/// Why the ledger gave no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotRefusal {
    /// No slot is free before this moment.
    Until(MonotonicTime),
    /// Every slot waits for a response.
    UntilAnswered,
}

/// The ledger of one integrator ID's requests. Moments are of the machine's monotonic clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// The limit that a member set last, in requests a second.
    limit: f64,
    /// The member that set the limit. Its limit ends with it.
    #[serde(default)]
    limit_owner: Option<u32>,
    /// The limits of the other members, each with its member, in the order in which they were set: when the limit ends,
    /// the last of these holds. Earlier builds write no such field.
    #[serde(default)]
    earlier_limits: Vec<(u32, f64)>,
    /// The slots that aren't free.
    slots: Vec<UsedSlot>,
    /// No request may be sent before this moment.
    #[serde(with = "micros")]
    next_send: MonotonicTime,
    /// Members that wait for a slot, in the order of their first refusal.
    queue: Vec<u32>,
    /// The rests and the reduced rate after a 429.
    pub pace: Pace,
}

impl Ledger {
    /// Creates a ledger for `limit` requests a second (above 0). The first request may be sent at `from`. A limit below
    /// one gives one slot with a longer window; the fraction of a limit above one is not used.
    pub fn new(limit: f64, from: MonotonicTime) -> Self {
        Self {
            limit,
            limit_owner: None,
            earlier_limits: Vec::new(),
            slots: Vec::new(),
            next_send: from,
            queue: Vec::new(),
            pace: Pace::default(),
        }
    }

    /// Returns how long a slot rests after its response at this limit and at the full rate.
    pub(super) fn slot_window(limit: f64) -> Duration {
        if limit < 1.0 { Duration::try_from_secs_f64(1.0 / limit).unwrap_or(Duration::MAX) } else { SECOND }
    }

    /// Returns the limit, in requests a second.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Sets a member's limit, in requests a second. The new limit holds from the next slot on.
    pub(super) fn set_limit(&mut self, limit: f64, member: u32) {
        let before = self.limit_owner.replace(member).map(|owner| (owner, self.limit));
        self.earlier_limits.extend(before);
        self.earlier_limits.retain(|(owner, _)| *owner != member);
        self.limit = limit;
    }

    /// Makes sure that a member has a limit, which holds once those of all other members have ended.
    pub(super) fn keep_limit(&mut self, limit: f64, member: u32) {
        let has_limit = self.earlier_limits.iter().any(|(owner, _)| *owner == member);
        if !has_limit && self.limit_owner != Some(member) {
            self.earlier_limits.insert(0, (member, limit));
        }
    }

    /// Returns the member that set the limit, if that is known.
    pub(super) fn limit_owner(&self) -> Option<u32> {
        self.limit_owner
    }

    /// Ends a member's limit. If it held, that of the member before it holds then.
    pub(super) fn end_limit(&mut self, member: u32) {
        self.earlier_limits.retain(|(owner, _)| *owner != member);
        if self.limit_owner == Some(member) {
            let before = self.earlier_limits.pop();
            self.limit_owner = before.map(|(owner, _)| owner);
            self.limit = before.map_or(self.limit, |(_, limit)| limit);
        }
    }

    /// Applies the pace of the machine that used the ID before this one. Its last request counts, too: at a limit below
    /// one a second, the window is longer than a handover.
    pub(super) fn inherit(&mut self, left: &PaceHandover, now: MonotonicTime) {
        self.pace.inherit(left, now);
        if self.limit < 1.0 {
            self.next_send = self.next_send.max(now + Self::slot_window(self.limit));
        }
    }

    /// Returns the rate in use, in requests a second: the limit, or less after a 429.
    pub fn rate(&self) -> f64 {
        let whole = if self.limit < 1.0 { self.limit } else { self.limit.floor() };
        whole * self.pace.share()
    }

    /// Returns how many requests a second can be sent if each takes `round_trip` (`DESIGN.md`, Numbers: throughput).
    pub fn throughput(&self, round_trip: Duration) -> f64 {
        let (count, window) = self.slots_and_window();
        count as f64 / (window + round_trip).as_secs_f64()
    }

    /// Returns the number of slots, and how long a slot rests after its response.
    fn slots_and_window(&self) -> (usize, Duration) {
        let rate = self.rate();
        // Without the margin 7.000000001 would make 8 slots.
        let count = (rate - 1e-9).ceil().max(1.0);
        let window = Duration::try_from_secs_f64(count / rate).unwrap_or(Duration::MAX).max(SECOND);
        (count as usize, window)
    }

    /// Returns the moment from which a request may be sent, or `None` while every slot waits for a response.
    pub fn ready_at(&self) -> Option<MonotonicTime> {
        self.free_moments().next()?.map(|free| free.max(self.next_send).max(self.pace.resting_until()))
    }

    /// Returns when the member at this place in the queue should ask again, if the first slot is free at `ready`. That
    /// is when a slot is free after the members ahead took theirs, or the end of the first member's grace if that is
    /// sooner.
    fn expected_turn(&self, place: usize, ready: MonotonicTime, now: MonotonicTime) -> MonotonicTime {
        let spacing = self.spacing().saturating_mul(u32::try_from(place).unwrap_or(u32::MAX));
        let free = self.free_moments().nth(place).flatten();
        let expected = free.map(|free| free.max(ready).max(self.next_send + spacing));
        let grace = ready + GRACE;
        match expected.filter(|expected| *expected > now && *expected < grace) {
            Some(expected) => expected,
            None if ready > now => ready,
            None => grace,
        }
    }

    /// Returns the shortest time between two sends.
    fn spacing(&self) -> Duration {
        let (_, window) = self.slots_and_window();
        Duration::try_from_secs_f64(1.0 / self.rate()).unwrap_or(window).min(window)
    }

    /// Returns from when on there are slots for one more request, two more, and so on. The moments end with `None`,
    /// from the request on that must wait for a response.
    fn free_moments(&self) -> impl Iterator<Item = Option<MonotonicTime>> + use<> {
        let (count, window) = self.slots_and_window();
        let mut free: Vec<MonotonicTime> = self.slots.iter().filter_map(|slot| slot.free_at(window)).collect();
        free.sort_unstable();
        let in_use = self.slots.len();
        (1..).map(move |more| {
            // So many resting slots must become free before so many more requests stay within the count.
            match (in_use + more).saturating_sub(count) {
                0 => Some(MonotonicTime::default()),
                surplus => free.get(surplus - 1).copied(),
            }
        })
    }

    /// Returns whether no other member than this one waits for a slot.
    pub(super) fn is_only_waiting(&self, member: u32) -> bool {
        self.queue.iter().all(|waiting| *waiting == member)
    }

    /// Takes a slot to send at `now`, if a slot is free and no other member is first in the queue. Takes up to `most`
    /// slots in all, to send within `span`. While other members wait, each of them and this one get an equal part of
    /// `span`. The slots get consecutive numbers from `first` on.
    pub(super) fn reserve(
        &mut self,
        first: SlotId,
        most: usize,
        span: Duration,
        now: MonotonicTime,
    ) -> Result<Reservation, SlotRefusal> {
        let (count, window) = self.slots_and_window();
        // Before free slots are removed: the grace of the first member in the queue begins when the slot became free.
        let ready = self.ready_at();
        self.slots.retain(|slot| slot.free_at(window).is_none_or(|free| free > now));
        let turn = self.queue.iter().position(|member| *member == first.member);
        let place = turn.unwrap_or(self.queue.len());
        let refused = match ready {
            None => Some(SlotRefusal::UntilAnswered),
            // Or another member is first, and may still come within its grace.
            Some(ready) if ready > now || (place > 0 && now < ready + GRACE) => {
                Some(SlotRefusal::Until(self.expected_turn(place, ready, now)))
            }
            Some(_) => None,
        };
        if let Some(refused) = refused {
            if turn.is_none() {
                self.queue.push(first.member);
            }
            return Err(refused);
        }
        debug_assert!(self.slots.len() < count, "more slots than the limit has");
        let others = self.queue.iter().filter(|member| **member != first.member).count();
        // The members ahead of this one missed their turn.
        self.queue.drain(..turn.map_or(self.queue.len(), |turn| turn + 1));
        let spacing = self.spacing();
        let latest = now + span / u32::try_from(1 + others).unwrap_or(u32::MAX);
        let sends = self.plan(most, spacing, now, latest);
        self.slots.extend((first.slot..).zip(&sends).map(|(slot, _)| UsedSlot::Taken(SlotId { slot, ..first })));
        Ok(Reservation { sends, end: self.next_send, spacing, others })
    }

    /// Returns the earliest moments of up to `most` sends: the first at `now`, all others before `latest`.
    fn plan(
        &mut self,
        most: usize,
        spacing: Duration,
        now: MonotonicTime,
        latest: MonotonicTime,
    ) -> Vec<MonotonicTime> {
        let mut sends = Vec::with_capacity(most);
        for free in self.free_moments().take(most) {
            // A slot that rests until later counts twice until then, as resting and as taken: other members wait rather
            // longer.
            let Some(send) = free.map(|free| free.max(self.next_send).max(now)) else { break };
            if !sends.is_empty() && send >= latest {
                break;
            }
            sends.push(send);
            self.next_send = micros::round_up(send + spacing);
        }
        sends
    }

    /// Gives back the rest of a stretch that ends at `end`, from `next_send` on, unless a member reserved a later one.
    pub(super) fn return_stretch(&mut self, end: MonotonicTime, next_send: MonotonicTime) {
        if self.next_send == end {
            self.next_send = micros::round_up(next_send);
        }
    }

    pub(super) fn has_taken(&self, id: SlotId) -> bool {
        self.slots.contains(&UsedSlot::Taken(id))
    }

    /// Lets a taken slot rest for a window after `seen`, the latest moment at which the service may see the request: when
    /// the response arrived, or a timeout after the request was given up. A slot that is missing in the ledger is added,
    /// so that its request still counts.
    pub(super) fn release(&mut self, id: SlotId, seen: MonotonicTime) {
        match self.slots.iter_mut().find(|slot| **slot == UsedSlot::Taken(id)) {
            Some(slot) => *slot = UsedSlot::Seen(seen),
            None => self.slots.push(UsedSlot::Seen(seen)),
        }
    }

    /// Releases the slots of a member that was found dead at `now`, and removes the member from the queue.
    pub(super) fn release_dead_member(&mut self, member: u32, now: MonotonicTime) {
        self.queue.retain(|waiting| *waiting != member);
        for slot in &mut self.slots {
            if matches!(slot, UsedSlot::Taken(id) if id.member == member) {
                *slot = UsedSlot::Seen(now + REQUEST_LIMIT);
            }
        }
    }

    /// Makes the taken slots of this member equal to `taken`, whatever happened to the ledger's file.
    pub(super) fn reconcile(&mut self, member: u32, taken: &BTreeMap<u64, MonotonicTime>) {
        let is_stale = |slot: &UsedSlot| matches!(slot, UsedSlot::Taken(id) if id.member == member && !taken.contains_key(&id.slot));
        self.slots.retain(|slot| !is_stale(slot));
        if self.slot_members().filter(|owner| *owner == member).count() == taken.len() {
            return;
        }
        for slot in taken.keys().map(|slot| UsedSlot::Taken(SlotId { member, slot: *slot })) {
            if !self.slots.contains(&slot) {
                self.slots.push(slot);
            }
        }
    }

    /// The member of each taken slot. A member with two taken slots appears twice.
    pub(super) fn slot_members(&self) -> impl Iterator<Item = u32> {
        let member = |slot: &UsedSlot| match slot {
            UsedSlot::Taken(id) => Some(id.member),
            UsedSlot::Seen(_) => None,
        };
        self.slots.iter().filter_map(member)
    }

    /// Returns how many requests are under way, or about to be sent.
    pub fn under_way(&self) -> usize {
        self.slot_members().count()
    }

    /// Returns whether a ledger that was read from a file can be true at `now`. Another process may have a later `now`,
    /// and a limit that was raised just now leaves longer waits. But no moment may lie further ahead than any rule
    /// reaches.
    pub(super) fn is_sound(&self, now: MonotonicTime) -> bool {
        let latest = now + FURTHEST;
        let is_sound = |slot: &UsedSlot| match slot {
            UsedSlot::Seen(at) => *at <= latest,
            UsedSlot::Taken(_) => true,
        };
        let is_limit = |limit: f64| limit > 0.0 && limit <= HIGHEST_LIMIT;
        is_limit(self.limit)
            && self.earlier_limits.iter().all(|(_, limit)| is_limit(*limit))
            && self.slots.len() <= 2 * HIGHEST_LIMIT as usize
            && self.slots.iter().all(is_sound)
            && self.next_send <= latest.max(now + self.slots_and_window().1)
            && self.pace.is_sound(latest)
    }
}

impl UsedSlot {
    /// Returns when the slot is free, or `None` while its request is under way.
    fn free_at(&self, window: Duration) -> Option<MonotonicTime> {
        match self {
            Self::Seen(at) => Some(*at + window),
            Self::Taken(_) => None,
        }
    }
}
