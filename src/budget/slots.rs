//! Slots: the rule that keeps every window at the service within the limit, whatever the network does.
//!
//! N slots; one is taken to send, and is free again a window after its *response* arrived. Since the service saw the
//! request before we saw its response, no window of one second at the service ever holds more than N of our requests
//! (`DESIGN.md`, Budget; `service.md` 8). It must never give out a slot on the strength of a guess.

use std::time::Duration;

use crate::clock::Mono;

/// The window of the service's limit.
const SECOND: Duration = Duration::from_secs(1);

/// A taken slot; to be handed back with what became of the request.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a ticket that isn't handed back holds its slot for ever"]
pub struct Ticket(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// Free from this moment on.
    Free(Mono),
    /// Its request is under way.
    Taken,
}

/// The slots of one integrator ID.
#[derive(Debug)]
pub struct Slots {
    slots: Vec<Slot>,
    /// How long a slot rests after its response.
    window: Duration,
    /// The least time between two sends.
    spacing: Duration,
    next_send: Mono,
}

impl Slots {
    /// Slots for `rps` requests a second (above 0), the first of them free at `from`. Below one a second there is one
    /// slot and its window grows; a fraction above one is not used.
    pub fn new(rps: f64, from: Mono) -> Self {
        let window = if rps < 1.0 { Duration::try_from_secs_f64(1.0 / rps).unwrap_or(Duration::MAX) } else { SECOND };
        let count = (rps.floor() as usize).max(1);
        let spacing = Duration::try_from_secs_f64(1.0 / rps).unwrap_or(window).min(window);
        Self { slots: vec![Slot::Free(from); count], window, spacing, next_send: from }
    }

    /// From when on a request may be sent; `None` while every slot waits for its response.
    pub fn ready_at(&self) -> Option<Mono> {
        let free = |slot: &Slot| match slot {
            Slot::Free(at) => Some(*at),
            Slot::Taken => None,
        };
        self.slots.iter().filter_map(free).min().map(|free| free.max(self.next_send))
    }

    /// Takes a slot to send at `now`, if one is free.
    pub fn take(&mut self, now: Mono) -> Option<Ticket> {
        if now < self.next_send {
            return None;
        }
        let free = |slot: &Slot| matches!(slot, Slot::Free(at) if *at <= now);
        let index = self.slots.iter().position(free)?;
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Slot::Taken;
        }
        self.next_send = now + self.spacing;
        Some(Ticket(index))
    }

    /// The response to this slot's request arrived at `arrival`.
    pub fn answered(&mut self, ticket: Ticket, arrival: Mono) {
        self.release(ticket, arrival + self.window);
    }

    /// The request was given up at `now` after `timeout`. Nobody knows when the service saw it, or if it still will: the
    /// slot rests for the timeout and a window.
    pub fn lost(&mut self, ticket: Ticket, now: Mono, timeout: Duration) {
        self.release(ticket, now + timeout + self.window);
    }

    /// From when on none of these requests counts any more, if those under way are given up at `now` after at most `timeout`.
    pub fn quiet_at(&self, now: Mono, timeout: Duration) -> Mono {
        let quiet = |slot: &Slot| match slot {
            Slot::Free(at) => *at,
            Slot::Taken => now + timeout + self.window,
        };
        self.slots.iter().map(quiet).max().unwrap_or(now)
    }

    fn release(&mut self, Ticket(index): Ticket, free: Mono) {
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Slot::Free(free);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(milliseconds: u64) -> Mono {
        Mono(Duration::from_millis(milliseconds))
    }

    #[test]
    fn a_slot_is_free_a_second_after_its_response() {
        let mut slots = Slots::new(1.0, at(0));
        let ticket = slots.take(at(0)).unwrap();
        assert_eq!((slots.take(at(5_000)), slots.ready_at()), (None, None));
        slots.answered(ticket, at(5_000));
        assert_eq!((slots.take(at(5_999)), slots.ready_at()), (None, Some(at(6_000))));
        assert!(slots.take(at(6_000)).is_some());
    }

    #[test]
    fn sends_are_spaced_evenly() {
        let mut slots = Slots::new(10.0, at(0));
        let _first = slots.take(at(0)).unwrap();
        assert_eq!((slots.take(at(99)), slots.ready_at()), (None, Some(at(100))));
        assert!(slots.take(at(100)).is_some());
    }

    #[test]
    fn below_one_a_second_the_window_grows() {
        let mut slots = Slots::new(0.25, at(0));
        let ticket = slots.take(at(0)).unwrap();
        slots.answered(ticket, at(100));
        assert_eq!(slots.ready_at(), Some(at(4_100)));
    }

    #[test]
    fn a_lost_request_s_slot_rests_for_the_timeout_and_a_window() {
        let mut slots = Slots::new(1.0, at(0));
        let ticket = slots.take(at(0)).unwrap();
        slots.lost(ticket, at(10_000), Duration::from_secs(10));
        assert_eq!(slots.ready_at(), Some(at(21_000)));
    }

    #[test]
    fn who_comes_after_waits_for_all_of_them() {
        let mut slots = Slots::new(2.0, at(0));
        let first = slots.take(at(0)).unwrap();
        slots.answered(first, at(300));
        assert_eq!(slots.quiet_at(at(400), Duration::from_secs(10)), at(1_300));
        let _under_way = slots.take(at(500)).unwrap();
        assert_eq!(slots.quiet_at(at(600), Duration::from_secs(10)), at(11_600));
    }

    /// One request of the adversary's network: how long until the service sees it, how long until we see the response,
    /// in milliseconds, and whether the response never comes.
    type Trip = (u64, u64, bool);

    const TIMEOUT: u64 = 10_000;

    /// Sends as soon as it is allowed to; returns when the service saw each request.
    fn arrivals(rps: f64, trips: &[Trip]) -> Vec<u64> {
        let mut slots = Slots::new(rps, at(0));
        let mut under_way: Vec<(u64, bool, Ticket)> = Vec::new();
        let mut seen = Vec::new();
        let mut now = 0;
        for (there, back, lost) in trips {
            let ticket = loop {
                if let Some(ticket) = slots.take(at(now)) {
                    break ticket;
                }
                let ready = slots.ready_at().map(|ready| ready.0.as_millis() as u64);
                let answer = under_way.iter().map(|(end, ..)| *end).min();
                now = ready.into_iter().chain(answer).min().unwrap().max(now + 1);
                for index in (0..under_way.len()).rev() {
                    if under_way[index].0 <= now {
                        let (end, lost, ticket) = under_way.swap_remove(index);
                        match lost {
                            true => slots.lost(ticket, at(end), Duration::from_millis(TIMEOUT)),
                            false => slots.answered(ticket, at(end)),
                        }
                    }
                }
            };
            seen.push(now + there);
            let end = if *lost { now + TIMEOUT } else { now + there + back };
            under_way.push((end, *lost, ticket));
        }
        seen.sort_unstable();
        seen
    }

    proptest! {
        #[test]
        fn no_window_at_the_service_holds_more_than_the_limit(
            rps in 1_u32..=12,
            trips in prop::collection::vec((0_u64..3_000, 0_u64..3_000, prop::bool::weighted(0.05)), 1..200),
        ) {
            let seen = arrivals(f64::from(rps), &trips);
            let limit = rps as usize;
            for window in seen.windows(limit + 1) {
                prop_assert!(window[limit] - window[0] >= 1_000, "{window:?}");
            }
        }

        #[test]
        fn a_slow_id_s_requests_stay_apart(
            trips in prop::collection::vec((0_u64..3_000, 0_u64..3_000, prop::bool::weighted(0.05)), 1..50),
        ) {
            let seen = arrivals(0.2, &trips);
            prop_assert!(seen.windows(2).all(|pair| pair[1] - pair[0] >= 5_000), "{seen:?}");
        }
    }
}
