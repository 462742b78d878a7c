//! The rate of one host: even spacing, and a rest after the host's limit was met.
//!
//! This module must never read a clock, and has nothing to do with the integrator's budget.

use std::time::Duration;

use crate::clock::MonotonicTime;

/// The first rest without a requested duration. Each further 429 in a row doubles the rest.
const FIRST_REST: Duration = Duration::from_secs(1);
/// The longest rest.
const MAX_REST: Duration = Duration::from_secs(60);

/// The pace of one host. Without a limit, requests are not spaced.
#[derive(Debug, Default)]
pub(super) struct HostPace {
    interval: Duration,
    next: MonotonicTime,
    /// The number of 429s in a row.
    rests: u32,
}

impl HostPace {
    /// Limits the host to `rps` requests per second. The lowest of several limits holds, since chains may share a host.
    pub(super) fn limit(&mut self, rps: f64) {
        let interval = Duration::try_from_secs_f64(1.0 / rps).unwrap_or(MAX_REST).min(MAX_REST);
        self.interval = self.interval.max(interval);
    }

    /// Returns when the next request may be sent, and counts it as sent then.
    pub(super) fn take(&mut self, now: MonotonicTime) -> MonotonicTime {
        let at = self.next.max(now);
        self.next = at + self.interval;
        at
    }

    /// Lets the host rest after a 429: for as long as it asked, or else longer each time.
    pub(super) fn apply_throttled(&mut self, retry_after: Option<Duration>, now: MonotonicTime) {
        let usual = FIRST_REST.saturating_mul(1 << self.rests.min(6));
        self.rests = self.rests.saturating_add(1);
        self.next = self.next.max(now + retry_after.unwrap_or(usual).min(MAX_REST));
    }

    /// Records an answer: the next rest is short again.
    pub(super) fn apply_answered(&mut self) {
        self.rests = 0;
    }

    /// Whether the next request must wait and the host hasn't answered since its last 429.
    pub(super) fn is_resting(&self, now: MonotonicTime) -> bool {
        self.rests > 0 && self.next > now
    }

    /// Returns how long a request would wait now.
    pub(super) fn wait(&self, now: MonotonicTime) -> Duration {
        self.next.since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> MonotonicTime {
        MonotonicTime(Duration::from_millis(milliseconds))
    }

    #[test]
    fn requests_are_spaced_and_a_refusal_makes_the_host_rest_longer_each_time() {
        let mut pace = HostPace::default();
        [20.0, 5.0, 10.0].into_iter().for_each(|rps| pace.limit(rps));
        assert_eq!([0, 0, 0].map(|now| pace.take(at(now))), [at(0), at(200), at(400)]);
        assert_eq!(pace.take(at(5_000)), at(5_000));
        pace.apply_throttled(None, at(5_000));
        assert_eq!(pace.take(at(5_100)), at(6_000));
        pace.apply_throttled(None, at(6_000));
        assert_eq!(pace.wait(at(6_000)), Duration::from_secs(2));
        pace.apply_throttled(Some(Duration::from_secs(3_600)), at(6_000));
        assert_eq!(pace.wait(at(6_000)), MAX_REST);
        pace.apply_answered();
        pace.apply_throttled(None, at(100_000));
        assert_eq!(pace.take(at(100_000)), at(101_000));
    }
}
