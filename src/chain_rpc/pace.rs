//! The rate of one host: even spacing, and a rest after the host's limit was met.
//!
//! This module must never read a clock, and has nothing to do with the integrator's budget.

use std::time::Duration;

use crate::clock::MonotonicTime;

/// The first rest after a refusal that names none; each further refusal doubles it.
const FIRST_REST: Duration = Duration::from_secs(1);
/// The longest rest.
const MAX_REST: Duration = Duration::from_secs(60);

/// The pace of one host. Without a limit, requests are not spaced.
#[derive(Debug, Default)]
pub(super) struct HostPace {
    interval: Duration,
    next: MonotonicTime,
    /// The number of refusals in a row.
    refusals: u32,
}

impl HostPace {
    /// Limits the host to so many requests per second. Of several limits the lowest holds, since chains may share a host.
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

    /// Lets the host rest: for as long as it asked, or else longer each time.
    pub(super) fn rest(&mut self, now: MonotonicTime, asked: Option<Duration>) {
        let usual = FIRST_REST.saturating_mul(1 << self.refusals.min(6));
        self.refusals = self.refusals.saturating_add(1);
        self.next = self.next.max(now + asked.unwrap_or(usual).min(MAX_REST));
    }

    /// The host answered.
    pub(super) fn answered(&mut self) {
        self.refusals = 0;
    }

    /// Whether the host rests after a refusal.
    pub(super) fn is_resting(&self, now: MonotonicTime) -> bool {
        self.refusals > 0 && self.next > now
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
        pace.rest(at(5_000), None);
        assert_eq!(pace.take(at(5_100)), at(6_000));
        pace.rest(at(6_000), None);
        assert_eq!(pace.wait(at(6_000)), Duration::from_secs(2));
        pace.rest(at(6_000), Some(Duration::from_secs(3_600)));
        assert_eq!(pace.wait(at(6_000)), MAX_REST);
        pace.answered();
        pace.rest(at(100_000), None);
        assert_eq!(pace.take(at(100_000)), at(101_000));
    }
}
