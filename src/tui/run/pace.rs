//! When a frame is drawn: at once for what a person did, a little later for news, and never more than 30 in a second. While
//! nobody is at the keyboard news wait for the second's frame, which the ages want anyway.
//!
//! Pure: moments come in. It must never hold back a key's frame for the sake of news.

use std::time::Duration;

use crate::clock::Mono;

/// From one frame to the next, in the long run: 24 in a second.
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 24);
/// So many may come at once besides, so that a key needs no patience. With the others that makes 30 in any second.
const AT_ONCE: u32 = 6;
/// From one frame to the next that only news want: there are frames left for a person.
const NEWS: Duration = Duration::from_millis(66);
/// The same while nobody looks, or is at the keyboard: a little less than the second after which the ages want one.
const UNATTENDED: Duration = Duration::from_millis(950);
/// So long after a person's last key they still are.
const STAYS: Duration = Duration::from_secs(10);

/// What wants a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    News,
    Person,
}

#[derive(Debug)]
pub(super) struct Pace {
    /// What wants the next one, if anything does.
    wanted: Option<Cause>,
    last: Option<Mono>,
    /// When the last frame was drawn that a person wanted.
    attended: Mono,
    /// When the frames so far would all be due, one after the other.
    paid_until: Mono,
}

impl Default for Pace {
    /// The first frame is wanted.
    fn default() -> Self {
        Self { wanted: Some(Cause::Person), last: None, attended: Mono::default(), paid_until: Mono::default() }
    }
}

impl Pace {
    /// Something changed on the screen.
    pub(super) fn want(&mut self, cause: Cause) {
        self.wanted = self.wanted.max(Some(cause));
    }

    /// Whether a person did something not long before the last frame.
    pub(super) fn is_attended(&self) -> bool {
        self.wanted == Some(Cause::Person) || self.last.is_none_or(|last| last.since(self.attended) < STAYS)
    }

    /// When the next frame is to be drawn, if one is wanted.
    pub(super) fn due(&self, focused: bool) -> Option<Mono> {
        let spacing = match self.wanted? {
            Cause::Person => Duration::ZERO,
            Cause::News if focused && self.is_attended() => NEWS,
            Cause::News => UNATTENDED,
        };
        let spaced = self.last.map_or_else(Mono::default, |last| last + spacing);
        let paid = Mono(self.paid_until.0.saturating_sub(FRAME * (AT_ONCE - 1)));
        Some(spaced.max(paid))
    }

    /// A frame was drawn.
    pub(super) fn drew(&mut self, now: Mono) {
        if self.wanted == Some(Cause::Person) {
            self.attended = now;
        }
        (self.wanted, self.last) = (None, Some(now));
        self.paid_until = self.paid_until.max(now) + FRAME;
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
    fn a_key_is_drawn_at_once_and_news_a_little_later() {
        let mut pace = Pace::default();
        assert_eq!(pace.due(true), Some(at(0)));
        pace.drew(at(10));
        assert_eq!(pace.due(true), None);
        pace.want(Cause::News);
        assert_eq!([pace.due(true), pace.due(false)], [Some(at(76)), Some(at(960))]);
        pace.want(Cause::Person);
        pace.want(Cause::News);
        assert_eq!(pace.due(true), Some(at(10)), "whatever else comes");
    }

    #[test]
    fn while_nobody_is_at_the_keyboard_there_is_a_frame_a_second() {
        let mut pace = Pace::default();
        pace.drew(at(0));
        let drawn = (0..20_000).step_by(10).filter(|now| {
            pace.want(Cause::News);
            let is_due = pace.due(true).is_some_and(|due| due <= at(*now));
            is_due.then(|| pace.drew(at(*now))).is_some()
        });
        let drawn: Vec<u64> = drawn.collect();
        let of = |from: u64| drawn.iter().filter(|now| (from..from + 9_000).contains(*now)).count();
        assert!(of(0) > 100 && of(11_000) == 9, "{drawn:?}");
        pace.want(Cause::Person);
        pace.drew(at(20_000));
        pace.want(Cause::News);
        assert_eq!(pace.due(true), Some(at(20_066)), "somebody is back");
    }

    #[test]
    fn a_key_that_is_held_is_drawn_evenly() {
        let (mut pace, mut drawn) = (Pace::default(), Vec::new());
        for now in (0..3_000).step_by(16) {
            pace.want(Cause::Person);
            if pace.due(true).is_some_and(|due| due <= at(now)) {
                pace.drew(at(now));
                drawn.push(now);
            }
        }
        assert!(drawn.windows(2).all(|pair| pair[1] - pair[0] <= 64), "{drawn:?}");
    }

    proptest! {
        #[test]
        fn never_more_than_thirty_in_a_second_and_nothing_waits_longer_than_a_frame(
            wants in prop::collection::vec((0_u64..40, any::<bool>()), 1..400),
        ) {
            let (mut pace, mut now, mut drawn) = (Pace::default(), 0, Vec::new());
            for (pause, is_key) in wants {
                now += pause;
                pace.want(if is_key { Cause::Person } else { Cause::News });
                let due = pace.due(true).unwrap();
                prop_assert!(due <= at(now) + if is_key { FRAME } else { NEWS }, "{:?} at {}", due, now);
                if due <= at(now) {
                    pace.drew(at(now));
                    drawn.push(now);
                }
            }
            for window in drawn.windows(31) {
                prop_assert!(window[30] - window[0] >= 1_000, "{:?}", window);
            }
        }
    }
}
