//! How fast an ID may go after the service said that it asks too often (`service.md` 7.1, 8; `DESIGN.md`, Budget).
//!
//! Pure. It must never rest longer than ten minutes on the word of a header, nor cut more than once a second.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ledger::micros;
use crate::clock::Mono;

const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(600);
/// What is left of the rate after a 429.
const CUT: f64 = 0.7;
/// However many come, that much of the rate is left.
const LEAST: f64 = 0.05;
/// Between two cuts at least.
const CUT_INTERVAL: Duration = Duration::from_secs(1);
/// So long it takes, with clean answers, until the whole rate is there again.
const RECOVERY: Duration = Duration::from_secs(120);

/// The rests and the rate of one integrator ID: what the service asks for, else a doubling second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// The share of the limit that is used: above 0, at most 1.
    share: f64,
    /// What the share was when it began to grow again.
    grows_from: f64,
    #[serde(with = "micros::maybe")]
    growing_since: Option<Mono>,
    #[serde(with = "micros::maybe")]
    cut_at: Option<Mono>,
    #[serde(with = "micros")]
    resting_until: Mono,
    /// Rests in a row that no clean answer came between.
    rests: u32,
}

impl Default for Pace {
    fn default() -> Self {
        let (growing_since, cut_at) = (None, None);
        Self { share: 1.0, grows_from: 1.0, growing_since, cut_at, resting_until: Mono::default(), rests: 0 }
    }
}

impl Pace {
    /// The share of the limit that may be used, above 0 and at most 1.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Nothing is sent before this moment.
    pub fn resting_until(&self) -> Mono {
        self.resting_until
    }

    /// A 429 came: the ID rests for `retry_after`, or 1, 2, 4 … s, and up to half of that on top by `jitter` (0 to 1).
    ///
    /// Those that were under way when the first of them came say the same again: they prolong the rest if they ask for
    /// more, and don't double it.
    #[allow(clippy::manual_clamp, reason = "clamp lets a NaN through")]
    pub fn throttled(&mut self, retry_after: Option<Duration>, jitter: f64, at: Mono) {
        if at >= self.resting_until {
            self.rests = self.rests.saturating_add(1).min(16);
        }
        let doubled = FIRST_REST.saturating_mul(1_u32.checked_shl(self.rests.max(1) - 1).unwrap_or(u32::MAX));
        let rest = retry_after.unwrap_or(doubled).clamp(FIRST_REST, LONGEST_REST);
        // `max` first: it turns a NaN into 0.
        let extra = rest.mul_f64(jitter.max(0.0).min(1.0) / 2.0);
        self.resting_until = self.resting_until.max(at + rest.saturating_add(extra).min(LONGEST_REST));
        self.growing_since = None;
        if self.cut_at.is_none_or(|cut| at.since(cut) >= CUT_INTERVAL) {
            (self.share, self.cut_at) = ((self.share * CUT).max(LEAST), Some(at));
        }
    }

    /// An answer came that wasn't a 429: the rate grows again.
    pub fn answered(&mut self, at: Mono) {
        // What was under way when a 429 came proves nothing.
        if at < self.resting_until {
            return;
        }
        self.rests = 0;
        if self.share >= 1.0 {
            return;
        }
        let since = *self.growing_since.get_or_insert_with(|| {
            self.grows_from = self.share;
            at
        });
        let grown = at.since(since).as_secs_f64() / RECOVERY.as_secs_f64();
        self.share = (self.grows_from + (1.0 - self.grows_from) * grown).min(1.0);
        if self.share >= 1.0 {
            self.growing_since = None;
        }
    }

    /// Whether what was read can be true, when nothing lies later than `latest`.
    pub(super) fn is_sound(&self, latest: Mono) -> bool {
        let shares = [self.share, self.grows_from];
        let moments = [Some(self.resting_until), self.growing_since, self.cut_at];
        shares.iter().all(|share| (LEAST..=1.0).contains(share)) && moments.iter().flatten().all(|at| *at <= latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Mono {
        Mono(Duration::from_secs_f64(seconds))
    }

    #[test]
    fn rests_double_until_a_clean_answer_comes() {
        let mut pace = Pace::default();
        let mut now = at(0.0);
        let mut rests = Vec::new();
        for _ in 0..4 {
            pace.throttled(None, 0.0, now);
            rests.push(pace.resting_until().since(now).as_secs());
            now = pace.resting_until();
        }
        assert_eq!(rests, [1, 2, 4, 8]);
        pace.answered(now);
        pace.throttled(None, 1.0, now);
        assert_eq!(pace.resting_until().since(now), Duration::from_millis(1_500));
    }

    #[test]
    fn a_storm_cuts_once_a_second_and_doubles_once_a_rest() {
        let mut pace = Pace::default();
        for tenth in 0..10 {
            pace.throttled(None, 0.0, at(f64::from(tenth) / 10.0));
        }
        assert!((pace.share() - 0.7).abs() < 1e-9, "{}", pace.share());
        assert_eq!(pace.resting_until(), at(1.9));
        pace.throttled(None, 0.0, at(1.0));
        assert!((pace.share() - 0.49).abs() < 1e-9, "{}", pace.share());
        for second in 10..100 {
            pace.throttled(None, 0.0, at(f64::from(second)));
        }
        assert_eq!(pace.share(), LEAST);
    }

    #[test]
    fn the_rate_is_back_after_two_minutes_of_clean_answers() {
        let mut pace = Pace::default();
        pace.throttled(Some(Duration::from_secs(7)), 0.0, at(0.0));
        pace.answered(at(3.0));
        assert_eq!(pace.share(), 0.7);
        let shares: Vec<f64> = [10.0, 70.0, 129.0, 130.0]
            .map(|second| {
                pace.answered(at(second));
                pace.share()
            })
            .into();
        let expected = [0.7, 0.85, 0.9975, 1.0];
        assert!(shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-6), "{shares:?}");
    }

    #[test]
    fn rests_are_bounded_whatever_comes() {
        let rest = |retry_after, jitter| {
            let mut pace = Pace::default();
            pace.throttled(retry_after, jitter, at(5.0));
            pace.resting_until().since(at(5.0))
        };
        assert_eq!(rest(Some(Duration::from_secs(1_000_000_000_000)), 1.0), LONGEST_REST);
        assert_eq!(rest(Some(Duration::ZERO), 0.0), FIRST_REST);
        assert_eq!(rest(None, f64::NAN), FIRST_REST);
        let mut pace = Pace::default();
        let mut now = at(0.0);
        for _ in 0..100 {
            pace.throttled(None, 1.0, now);
            assert!(pace.resting_until().since(now) <= LONGEST_REST && pace.is_sound(now + LONGEST_REST));
            now = pace.resting_until();
        }
    }
}
