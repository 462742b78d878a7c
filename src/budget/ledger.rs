//! The ledger: who sent when, and so when anybody may send again.
//!
//! N slots; one is taken to send, and is free again a window after its *response* arrived. Since the service saw the request
//! before we saw its response, no window of one second at the service ever holds more than N of our requests (`DESIGN.md`,
//! Budget; `service.md` 8). Pure. It must never give out a slot on the strength of a guess.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::pace::Pace;
use crate::clock::Mono;

/// The window of the service's limit.
const SECOND: Duration = Duration::from_secs(1);
/// How long a request may take: within this time after it was given up, or its process died, the service has seen it, or never
/// will.
pub(super) const REQUEST_LIMIT: Duration = Duration::from_secs(8);
/// How much later than the slot the one may come whose turn it is, before another takes it.
const GRACE: Duration = Duration::from_millis(20);
/// Nothing that was written lies further ahead: the longest rest that a 429 asks for, with its jitter.
const FURTHEST: Duration = Duration::from_secs(15 * 60);
/// The highest limit, in requests a second.
const MOST: f64 = 1_000.0;

/// One request's slot: whose it is, and which of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SlotId {
    pub(super) seat: u32,
    pub(super) slot: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Slot {
    /// Its request is under way.
    Taken(SlotId),
    /// The service has seen the request by this moment.
    Seen(#[serde(with = "micros")] Mono),
}

/// Why no slot was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is none before this moment.
    Until(Mono),
    /// All wait for their responses.
    UntilAnswered,
}

/// The ledger of one integrator ID's requests. Moments are of the machine's monotonic clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// The limit that was said last, in requests a second.
    limit: f64,
    /// The slots that aren't free.
    slots: Vec<Slot>,
    #[serde(with = "micros")]
    next_send: Mono,
    /// Seats that wait for a slot, in the order in which they came.
    queue: Vec<u32>,
    /// How fast it goes after a 429.
    pub pace: Pace,
}

impl Ledger {
    /// A ledger for `limit` requests a second (above 0), of which the first may be sent at `from`. Below one a second there is
    /// one slot and its window grows; a fraction above one is not used.
    pub fn new(limit: f64, from: Mono) -> Self {
        Self { limit, slots: Vec::new(), next_send: from, queue: Vec::new(), pace: Pace::default() }
    }

    /// How long a slot rests after its response at this limit, if nothing is cut.
    pub(super) fn window_of(limit: f64) -> Duration {
        if limit < 1.0 { Duration::try_from_secs_f64(1.0 / limit).unwrap_or(Duration::MAX) } else { SECOND }
    }

    /// The limit, in requests a second.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// From now on there are so many requests a second, obeyed at once.
    pub fn set_limit(&mut self, limit: f64) {
        self.limit = limit;
    }

    /// Requests a second that are used of the limit: fewer after a 429.
    pub fn rate(&self) -> f64 {
        let whole = if self.limit < 1.0 { self.limit } else { self.limit.floor() };
        whole * self.pace.share()
    }

    /// Requests a second that can really go out, if each takes `trip` there and back (`DESIGN.md`, Numbers: throughput).
    pub fn throughput(&self, trip: Duration) -> f64 {
        let (count, window) = self.shape();
        count as f64 / (window + trip).as_secs_f64()
    }

    /// How many slots there are, and how long each rests after its response.
    fn shape(&self) -> (usize, Duration) {
        let rate = self.rate();
        // A hair less, or 7.000000001 slots would be 8.
        let count = (rate - 1e-9).ceil().max(1.0);
        let window = Duration::try_from_secs_f64(count / rate).unwrap_or(Duration::MAX).max(SECOND);
        (count as usize, window)
    }

    /// From when on a request may be sent; `None` while every slot waits for its response.
    pub fn ready_at(&self) -> Option<Mono> {
        let (count, window) = self.shape();
        let taken = self.slots.iter().filter(|slot| matches!(slot, Slot::Taken(_))).count();
        // As many of those that rest must become free as there are too many.
        let mut free: Vec<Mono> = self.slots.iter().filter_map(|slot| slot.free_at(window)).collect();
        free.sort_unstable();
        let surplus = (taken + free.len() + 1).saturating_sub(count);
        let free = match surplus {
            0 => Some(Mono::default()),
            surplus => free.get(surplus - 1).copied(),
        };
        free.map(|free| free.max(self.next_send).max(self.pace.resting_until()))
    }

    /// Whether nobody beside the one who sits here waits for a slot.
    pub(super) fn is_alone(&self, seat: u32) -> bool {
        self.queue.iter().all(|waiting| *waiting == seat)
    }

    /// Takes a slot to send at `now`, if one is free and nobody else's turn comes first. Returns how many others wait.
    pub(super) fn take(&mut self, id: SlotId, now: Mono) -> Result<usize, Refused> {
        let (count, window) = self.shape();
        // Before the slots that are free go: it was from when the one was free whose turn is first.
        let ready = self.ready_at();
        self.slots.retain(|slot| slot.free_at(window).is_none_or(|free| free > now));
        let turn = self.queue.iter().position(|seat| *seat == id.seat);
        let refused = match ready {
            None => Some(Refused::UntilAnswered),
            Some(ready) if ready > now => Some(Refused::Until(ready)),
            // Another came earlier and will be here in a moment, if it still wants to.
            Some(ready) if turn != Some(0) && !self.queue.is_empty() && now < ready + GRACE => {
                Some(Refused::Until(ready + GRACE))
            }
            Some(_) => None,
        };
        if let Some(refused) = refused {
            if turn.is_none() {
                self.queue.push(id.seat);
            }
            return Err(refused);
        }
        let others = self.queue.iter().filter(|seat| **seat != id.seat).count();
        // Whoever was before this one didn't come.
        self.queue.drain(..turn.map_or(self.queue.len(), |turn| turn + 1));
        self.slots.push(Slot::Taken(id));
        let spacing = Duration::try_from_secs_f64(1.0 / self.rate()).unwrap_or(window).min(window);
        self.next_send = self.next_send.max(now + spacing);
        debug_assert!(self.slots.len() <= count, "more slots than the limit has");
        Ok(others)
    }

    /// The response to this slot's request arrived at `arrival`.
    pub(super) fn answered(&mut self, id: SlotId, arrival: Mono) {
        self.release(&Slot::Taken(id), arrival);
    }

    /// The request was given up at `now` after `timeout`. Nobody knows when the service saw it, or if it still will: the slot
    /// rests for the timeout and a window.
    pub(super) fn lost(&mut self, id: SlotId, now: Mono, timeout: Duration) {
        self.release(&Slot::Taken(id), now + timeout);
    }

    /// Whoever sat here is gone, found at `now`: its requests are lost.
    pub(super) fn bury(&mut self, seat: u32, now: Mono) {
        self.queue.retain(|waiting| *waiting != seat);
        for slot in &mut self.slots {
            if matches!(slot, Slot::Taken(id) if id.seat == seat) {
                *slot = Slot::Seen(now + REQUEST_LIMIT);
            }
        }
    }

    /// Makes sure that of this seat these requests are known to be under way and no others, whatever happened to the ledger
    /// meanwhile.
    pub(super) fn recall(&mut self, seat: u32, taken: &BTreeMap<u64, Mono>) {
        let is_stale =
            |slot: &Slot| matches!(slot, Slot::Taken(id) if id.seat == seat && !taken.contains_key(&id.slot));
        self.slots.retain(|slot| !is_stale(slot));
        for slot in taken.keys().map(|slot| Slot::Taken(SlotId { seat, slot: *slot })) {
            if !self.slots.contains(&slot) {
                self.slots.push(slot);
            }
        }
    }

    /// The seats that have requests under way.
    pub(super) fn seats(&self) -> impl Iterator<Item = u32> {
        let seat = |slot: &Slot| match slot {
            Slot::Taken(id) => Some(id.seat),
            Slot::Seen(_) => None,
        };
        self.slots.iter().filter_map(seat)
    }

    /// How many requests are under way.
    pub fn under_way(&self) -> usize {
        self.seats().count()
    }

    /// Whether what was read can be true at `now`. Another process may be ahead of that, and a limit that was lower a moment
    /// ago leaves longer waits behind; but nothing lies further ahead than any rule reaches.
    pub(super) fn is_sound(&self, now: Mono) -> bool {
        let latest = now + FURTHEST;
        let seen = |slot: &Slot| match slot {
            Slot::Seen(at) => *at <= latest,
            Slot::Taken(_) => true,
        };
        self.limit > 0.0
            && self.limit <= MOST
            && self.slots.len() <= 2 * MOST as usize
            && self.slots.iter().all(seen)
            && self.next_send <= latest.max(now + self.shape().1)
            && self.pace.is_sound(latest)
    }

    /// A slot that the ledger has forgotten counts all the same.
    fn release(&mut self, taken: &Slot, seen: Mono) {
        match self.slots.iter_mut().find(|slot| *slot == taken) {
            Some(slot) => *slot = Slot::Seen(seen),
            None => self.slots.push(Slot::Seen(seen)),
        }
    }
}

impl Slot {
    fn free_at(&self, window: Duration) -> Option<Mono> {
        match self {
            Self::Seen(at) => Some(*at + window),
            Self::Taken(_) => None,
        }
    }
}

/// Moments as whole microseconds, rounded up: a slot is never free too early.
pub(super) mod micros {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::clock::Mono;

    pub(in crate::budget) fn serialize<S: Serializer>(moment: &Mono, to: S) -> Result<S::Ok, S::Error> {
        u64::try_from(moment.0.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX).serialize(to)
    }

    pub(in crate::budget) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Mono, D::Error> {
        u64::deserialize(from).map(|micros| Mono(Duration::from_micros(micros)))
    }

    /// The same where there may be none.
    pub(in crate::budget) mod maybe {
        use super::{Deserialize, Deserializer, Duration, Mono, Serialize, Serializer};

        pub(in crate::budget) fn serialize<S: Serializer>(moment: &Option<Mono>, to: S) -> Result<S::Ok, S::Error> {
            moment.map(|moment| u64::try_from(moment.0.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX)).serialize(to)
        }

        pub(in crate::budget) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Mono>, D::Error> {
            Ok(Option::<u64>::deserialize(from)?.map(|micros| Mono(Duration::from_micros(micros))))
        }
    }
}
