//! When a frame is drawn: at once for what a person did, a little later for news, and never more than 30 in a second.
//!
//! Pure: moments come in. It must never hold back a key's frame for the sake of news.

use std::{collections::VecDeque, time::Duration};

use crate::clock::Mono;

/// The most frames in a second.
const FRAMES: usize = 30;
const SECOND: Duration = Duration::from_secs(1);
/// From one frame to the next that only news want: so many that there are frames left for a person.
const NEWS: Duration = Duration::from_millis(50);
/// The same while nobody looks.
const UNSEEN: Duration = Duration::from_secs(1);

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
    /// The last frames, at most [`FRAMES`].
    drawn: VecDeque<Mono>,
}

impl Default for Pace {
    /// The first frame is wanted.
    fn default() -> Self {
        Self { wanted: Some(Cause::Person), drawn: VecDeque::with_capacity(FRAMES) }
    }
}

impl Pace {
    /// Something changed on the screen.
    pub(super) fn want(&mut self, cause: Cause) {
        self.wanted = self.wanted.max(Some(cause));
    }

    /// When the next frame is to be drawn, if one is wanted.
    pub(super) fn due(&self, focused: bool) -> Option<Mono> {
        let full = self.drawn.front().filter(|_| self.drawn.len() == FRAMES).map(|first| *first + SECOND);
        let spacing = match self.wanted? {
            Cause::Person => Duration::ZERO,
            Cause::News if focused => NEWS,
            Cause::News => UNSEEN,
        };
        let spaced = self.drawn.back().map(|last| *last + spacing);
        Some(full.max(spaced).unwrap_or_default())
    }

    /// A frame was drawn.
    pub(super) fn drew(&mut self, now: Mono) {
        self.wanted = None;
        if self.drawn.len() == FRAMES {
            self.drawn.pop_front();
        }
        self.drawn.push_back(now);
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
        assert_eq!([pace.due(true), pace.due(false)], [Some(at(60)), Some(at(1_010))]);
        pace.want(Cause::Person);
        pace.want(Cause::News);
        assert_eq!(pace.due(true), Some(at(10)), "whatever else comes");
    }

    proptest! {
        #[test]
        fn never_more_than_thirty_in_a_second_and_a_key_waits_only_for_that(
            wants in prop::collection::vec((0_u64..40, any::<bool>()), 1..400),
        ) {
            let (mut pace, mut now, mut drawn) = (Pace::default(), 0, Vec::new());
            for (pause, is_key) in wants {
                now += pause;
                let news = pace.wanted == Some(Cause::News);
                pace.want(if is_key { Cause::Person } else { Cause::News });
                if let Some(due) = pace.due(true).filter(|due| *due <= at(now)) {
                    prop_assert!(due <= at(now));
                    pace.drew(at(now));
                    drawn.push(now);
                } else if is_key {
                    prop_assert!(drawn.len() >= FRAMES, "a key had to wait, news before it: {}", news);
                }
            }
            for window in drawn.windows(FRAMES + 1) {
                prop_assert!(window[FRAMES] - window[0] >= 1_000, "{:?}", window);
            }
        }
    }
}
