//! The rate of an ID after HTTP 429 (`service.md` 7.1, 8; `DESIGN.md`, Budget).
//!
//! The module is pure. The rest must never last longer than ten minutes, whatever a header asks for. The rate must
//! never be cut more than once a second.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::micros;
use crate::clock::MonotonicTime;

const FIRST_REST: Duration = Duration::from_secs(1);
const MAX_REST: Duration = Duration::from_secs(600);
/// The factor of the rate at a 429.
const CUT: f64 = 0.7;
/// The lowest share of the limit, however many 429 come.
const LOWEST_SHARE: f64 = 0.05;
/// The shortest time between two cuts.
const CUT_INTERVAL: Duration = Duration::from_secs(1);
/// How long clean answers take to restore the full rate.
const RECOVERY: Duration = Duration::from_secs(120);

/// The rests and the reduced rate of one integrator ID. A rest lasts as long as the service asks for, else 1, 2, 4 … s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// The share of the limit in use: above 0, at most 1.
    share: f64,
    /// The share at the moment `growing_since`.
    grows_from: f64,
    #[serde(serialize_with = "micros::serialize_optional", deserialize_with = "micros::deserialize_optional")]
    growing_since: Option<MonotonicTime>,
    #[serde(serialize_with = "micros::serialize_optional", deserialize_with = "micros::deserialize_optional")]
    cut_at: Option<MonotonicTime>,
    #[serde(with = "micros")]
    resting_until: MonotonicTime,
    /// How many rests came in a row without a clean answer between them.
    rests: u32,
}

/// The part of a pace that another machine can use: its clock has other moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PaceHandover {
    /// How much of a rest is left, in milliseconds.
    rest: u64,
    /// The share of the limit in use, in thousandths; 0 is unknown.
    share: u32,
}

impl Default for Pace {
    fn default() -> Self {
        let (growing_since, cut_at) = (None, None);
        Self { share: 1.0, grows_from: 1.0, growing_since, cut_at, resting_until: MonotonicTime::default(), rests: 0 }
    }
}

impl Pace {
    /// Returns the share of the limit that may be used, above 0 and at most 1.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Returns the moment before which no request may be sent.
    pub fn resting_until(&self) -> MonotonicTime {
        self.resting_until
    }

    /// Applies a 429: the ID rests for `retry_after`, else for 1, 2, 4 … s. `jitter` (0 to 1) prolongs the rest by up
    /// to half.
    ///
    /// A 429 that arrives during a rest answers a request from before the rest. Such a 429 may prolong the rest, and
    /// does not double the next one.
    #[allow(clippy::manual_clamp, reason = "clamp lets a NaN through")]
    pub fn apply_throttled(&mut self, retry_after: Option<Duration>, jitter: f64, at: MonotonicTime) {
        if at >= self.resting_until {
            self.rests = self.rests.saturating_add(1).min(16);
        }
        let doubled = FIRST_REST.saturating_mul(2_u32.saturating_pow(self.rests.max(1) - 1));
        let rest = retry_after.unwrap_or(doubled).clamp(FIRST_REST, MAX_REST);
        // `max` first: it turns a NaN into 0.
        let extra = rest.mul_f64(jitter.max(0.0).min(1.0) / 2.0);
        self.resting_until = self.resting_until.max(at + rest.saturating_add(extra).min(MAX_REST));
        self.growing_since = None;
        if self.cut_at.is_none_or(|cut| at.since(cut) >= CUT_INTERVAL) {
            (self.share, self.cut_at) = ((self.share * CUT).max(LOWEST_SHARE), Some(at));
        }
    }

    /// Applies a clean answer, that is any answer but a 429: the rate grows.
    pub fn apply_answered(&mut self, at: MonotonicTime) {
        // An answer during a rest belongs to a request from before the 429.
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

    /// Returns the part of the pace that another machine inherits at `now`.
    pub fn handover(&self, now: MonotonicTime) -> PaceHandover {
        let rest = u64::try_from(self.resting_until.since(now).as_millis()).unwrap_or(u64::MAX);
        PaceHandover { rest, share: (self.share * 1_000.0).round() as u32 }
    }

    /// Applies the pace of another machine: the longer rest and the lower rate count.
    pub(super) fn inherit(&mut self, left: &PaceHandover, now: MonotonicTime) {
        self.resting_until = self.resting_until.max(now + Duration::from_millis(left.rest).min(MAX_REST));
        let share = f64::from(left.share) / 1_000.0;
        if (LOWEST_SHARE..self.share).contains(&share) {
            (self.share, self.growing_since) = (share, None);
        }
    }

    /// Returns whether a pace that was read from a file can be true, if no moment lies after `latest`.
    pub(super) fn is_sound(&self, latest: MonotonicTime) -> bool {
        let shares = [self.share, self.grows_from];
        let moments = [Some(self.resting_until), self.growing_since, self.cut_at];
        let is_share = |share: &f64| (LOWEST_SHARE..=1.0).contains(share);
        shares.iter().all(is_share) && moments.iter().flatten().all(|at| *at <= latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> MonotonicTime {
        MonotonicTime(Duration::from_secs_f64(seconds))
    }

    #[test]
    fn rests_double_until_a_clean_answer_comes() {
        let mut pace = Pace::default();
        let mut now = at(0.0);
        let mut rests = Vec::new();
        for _ in 0..4 {
            pace.apply_throttled(None, 0.0, now);
            rests.push(pace.resting_until().since(now).as_secs());
            now = pace.resting_until();
        }
        assert_eq!(rests, [1, 2, 4, 8]);
        pace.apply_answered(now);
        pace.apply_throttled(None, 1.0, now);
        assert_eq!(pace.resting_until().since(now), Duration::from_millis(1_500));
    }

    #[test]
    fn many_429_cut_the_rate_once_a_second_and_double_the_rest_once() {
        let mut pace = Pace::default();
        for tenth in 0..10 {
            pace.apply_throttled(None, 0.0, at(f64::from(tenth) / 10.0));
        }
        assert!((pace.share() - 0.7).abs() < 1e-9, "{}", pace.share());
        assert_eq!(pace.resting_until(), at(1.9));
        pace.apply_throttled(None, 0.0, at(1.0));
        assert!((pace.share() - 0.49).abs() < 1e-9, "{}", pace.share());
        for second in 10..100 {
            pace.apply_throttled(None, 0.0, at(f64::from(second)));
        }
        assert_eq!(pace.share(), LOWEST_SHARE);
    }

    #[test]
    fn the_rate_is_back_after_two_minutes_of_clean_answers() {
        let mut pace = Pace::default();
        pace.apply_throttled(Some(Duration::from_secs(7)), 0.0, at(0.0));
        pace.apply_answered(at(3.0));
        assert_eq!(pace.share(), 0.7);
        let shares: Vec<f64> = [10.0, 70.0, 129.0, 130.0]
            .map(|second| {
                pace.apply_answered(at(second));
                pace.share()
            })
            .into();
        let expected = [0.7, 0.85, 0.9975, 1.0];
        assert!(shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-6), "{shares:?}");
    }

    #[test]
    fn rests_are_bounded_for_any_input() {
        let rest = |retry_after, jitter| {
            let mut pace = Pace::default();
            pace.apply_throttled(retry_after, jitter, at(5.0));
            pace.resting_until().since(at(5.0))
        };
        assert_eq!(rest(Some(Duration::from_secs(1_000_000_000_000)), 1.0), MAX_REST);
        assert_eq!(rest(Some(Duration::ZERO), 0.0), FIRST_REST);
        assert_eq!(rest(None, f64::NAN), FIRST_REST);
        let mut pace = Pace::default();
        let mut now = at(0.0);
        for _ in 0..100 {
            pace.apply_throttled(None, 1.0, now);
            assert!(pace.resting_until().since(now) <= MAX_REST && pace.is_sound(now + MAX_REST));
            now = pace.resting_until();
        }
    }
}
