//! The frame rate: a frame for input is drawn immediately, a frame for data a little later, and at most 30 in a second.
//! While the keyboard is idle, data wait for the frame that updates the ages once a second.
//!
//! Pure: moments are parameters. A frame for data must never delay a frame for input.

use std::time::Duration;

use crate::clock::MonotonicTime;

/// The average interval between two frames: 24 in a second.
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 24);
/// The frames that may be drawn without an interval, so that a key is drawn immediately. With the others they make 30
/// in any second.
const BURST: u32 = 6;
/// The interval before a frame for data only: frames remain for input.
const DATA: Duration = Duration::from_millis(66);
/// The same without focus or while the keyboard is idle: a little less than the second after which ages need a frame.
const IDLE: Duration = Duration::from_millis(950);
/// The time after the last input until the keyboard counts as idle.
const IDLE_AFTER: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FrameCause {
    /// Data from the store, or a tick.
    Data,
    Input,
}

#[derive(Debug)]
pub(super) struct FramePacer {
    /// The reason for the next frame, if one is requested.
    requested: Option<FrameCause>,
    last: Option<MonotonicTime>,
    /// When the last frame for input was drawn.
    last_input: MonotonicTime,
    /// When the frames so far would end if drawn at the average interval.
    booked_until: MonotonicTime,
}

impl Default for FramePacer {
    /// Returns a pacing that requests the first frame.
    fn default() -> Self {
        Self {
            requested: Some(FrameCause::Input),
            last: None,
            last_input: MonotonicTime::default(),
            booked_until: MonotonicTime::default(),
        }
    }
}

impl FramePacer {
    pub(super) fn request(&mut self, cause: FrameCause) {
        self.requested = self.requested.max(Some(cause));
    }

    /// Whether there was input shortly before the last frame.
    pub(super) fn is_active(&self) -> bool {
        self.requested == Some(FrameCause::Input)
            || self.last.is_none_or(|last| last.since(self.last_input) < IDLE_AFTER)
    }

    /// Returns when the next frame is due; `None` if none is requested.
    pub(super) fn due(&self, is_focused: bool) -> Option<MonotonicTime> {
        let spacing = match self.requested? {
            FrameCause::Input => Duration::ZERO,
            FrameCause::Data if is_focused && self.is_active() => DATA,
            FrameCause::Data => IDLE,
        };
        let spaced = self.last.map_or_else(MonotonicTime::default, |last| last + spacing);
        let booked = MonotonicTime(self.booked_until.0.saturating_sub(FRAME * (BURST - 1)));
        Some(spaced.max(booked))
    }

    /// Records that a frame was drawn.
    pub(super) fn record_frame(&mut self, now: MonotonicTime) {
        if self.requested == Some(FrameCause::Input) {
            self.last_input = now;
        }
        (self.requested, self.last) = (None, Some(now));
        self.booked_until = self.booked_until.max(now) + FRAME;
    }
}

/// The pause after a count, as a multiple of its duration: counting a million rows costs more than counting a thousand.
const COUNT_PAUSE: u32 = 20;
/// The same while the keyboard is idle, and the longest such pause.
const COUNT_PAUSE_IDLE: (u32, Duration) = (4_000, Duration::from_secs(10));
/// The longest pause after a read or count: a long duration may come from a suspension of the process.
pub(super) const MAX_PAUSE: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(super) struct CountPacer {
    pub(super) is_requested: bool,
    /// When the running count began, and its view.
    pub(super) began: Option<(MonotonicTime, u64)>,
    /// When the last count ended, and how long it took.
    pub(super) last: Option<(MonotonicTime, Duration)>,
}

impl CountPacer {
    /// Returns when the next count is due; `None` if none is requested, or one is running.
    pub(super) fn due(&self, is_attended: bool) -> Option<MonotonicTime> {
        if !self.is_requested || self.began.is_some() {
            return None;
        }
        let Some((last, cost)) = self.last else { return Some(MonotonicTime::default()) };
        let (times, most) = COUNT_PAUSE_IDLE;
        let rest = (cost * COUNT_PAUSE).min(MAX_PAUSE);
        Some(last + if is_attended { rest } else { rest.max((cost * times).min(most)) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tui::fixtures::at;

    #[test]
    fn input_is_drawn_immediately_and_data_a_little_later() {
        let mut pace = FramePacer::default();
        assert_eq!(pace.due(true), Some(at(0)));
        pace.record_frame(at(10));
        assert_eq!(pace.due(true), None);
        pace.request(FrameCause::Data);
        assert_eq!([pace.due(true), pace.due(false)], [Some(at(76)), Some(at(960))]);
        pace.request(FrameCause::Input);
        pace.request(FrameCause::Data);
        assert_eq!(pace.due(true), Some(at(10)), "data don't delay input");
    }

    #[test]
    fn while_the_keyboard_is_idle_there_is_one_frame_a_second() {
        let mut pace = FramePacer::default();
        pace.record_frame(at(0));
        let drawn = (0..20_000).step_by(10).filter(|now| {
            pace.request(FrameCause::Data);
            let is_due = pace.due(true).is_some_and(|due| due <= at(*now));
            is_due.then(|| pace.record_frame(at(*now))).is_some()
        });
        let drawn: Vec<u64> = drawn.collect();
        let of = |from: u64| drawn.iter().filter(|now| (from..from + 9_000).contains(*now)).count();
        assert!(of(0) > 100 && of(11_000) == 9, "{drawn:?}");
        pace.request(FrameCause::Input);
        pace.record_frame(at(20_000));
        pace.request(FrameCause::Data);
        assert_eq!(pace.due(true), Some(at(20_066)), "after input the keyboard is not idle");
    }

    #[test]
    fn a_held_key_is_drawn_at_even_intervals() {
        let (mut pace, mut drawn) = (FramePacer::default(), Vec::new());
        for now in (0..3_000).step_by(16) {
            pace.request(FrameCause::Input);
            if pace.due(true).is_some_and(|due| due <= at(now)) {
                pace.record_frame(at(now));
                drawn.push(now);
            }
        }
        assert!(drawn.windows(2).all(|pair| pair[1] - pair[0] <= 64), "{drawn:?}");
    }

    proptest! {
        #[test]
        fn at_most_thirty_frames_a_second_and_no_request_waits_longer_than_a_frame(
            wants in prop::collection::vec((0_u64..40, any::<bool>()), 1..400),
        ) {
            let (mut pace, mut now, mut drawn) = (FramePacer::default(), 0, Vec::new());
            for (pause, is_key) in wants {
                now += pause;
                pace.request(if is_key { FrameCause::Input } else { FrameCause::Data });
                let due = pace.due(true).unwrap();
                prop_assert!(due <= at(now) + if is_key { FRAME } else { DATA }, "{:?} at {}", due, now);
                if due <= at(now) {
                    pace.record_frame(at(now));
                    drawn.push(now);
                }
            }
            for window in drawn.windows(31) {
                prop_assert!(window[30] - window[0] >= 1_000, "{:?}", window);
            }
        }
    }
}
