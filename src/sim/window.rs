//! The simulated service's rate limit: the requests of one integrator ID in the trailing window.
//!
//! Arrivals older than the window are dropped. This module must never keep or print an ID, only a fingerprint.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use crate::{clock::MonotonicTime, domain::secret::IntegratorId};

/// The arrivals of each ID in the trailing window, and the limit on them.
pub(super) struct RateWindows {
    /// The most requests in any trailing window.
    limit: usize,
    /// The length of the window.
    window: Duration,
    arrivals: HashMap<String, VecDeque<MonotonicTime>>,
}

/// The number of IDs above which IDs without a recent request are forgotten.
const KEPT_IDS: usize = 64;

impl RateWindows {
    /// Creates the windows for a limit in requests a second. Below 1, the limit is one request in a longer window.
    pub(super) fn new(rps: f64) -> Self {
        let (limit, window) = match rps >= 1.0 {
            true => (rps as usize, Duration::from_secs(1)),
            false => (1, Duration::try_from_secs_f64(1.0 / rps).unwrap_or(Duration::MAX)),
        };
        Self { limit, window, arrivals: HashMap::new() }
    }

    /// Counts an arrival and returns the number of arrivals in the window that ends with it.
    pub(super) fn count_arrival(&mut self, id: &IntegratorId, now: MonotonicTime) -> usize {
        let window = self.window;
        let recent = |arrival: MonotonicTime| now.since(arrival) < window;
        if self.arrivals.len() > KEPT_IDS {
            self.arrivals.retain(|_, arrivals| arrivals.back().is_some_and(|last| recent(*last)));
        }
        let arrivals = self.arrivals.entry(id.fingerprint("")).or_default();
        while arrivals.front().is_some_and(|first| !recent(*first)) {
            arrivals.pop_front();
        }
        arrivals.push_back(now);
        arrivals.len()
    }

    /// Whether this number of arrivals is over the limit.
    pub(super) fn is_over(&self, arrivals: usize) -> bool {
        arrivals > self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonotonicTime {
        MonotonicTime(Duration::from_millis(millis))
    }

    #[test]
    fn window_is_one_second_or_longer_for_rates_below_one() {
        let of = |rps| (RateWindows::new(rps).limit, RateWindows::new(rps).window);
        assert_eq!((of(10.0), of(0.5)), ((10, Duration::from_secs(1)), (1, Duration::from_secs(2))));
        assert_eq!(of(0.0).1, Duration::MAX);
    }

    #[test]
    fn arrivals_leave_the_window_after_its_length() {
        let id = IntegratorId::new("integrator").unwrap();
        let mut windows = RateWindows::new(2.0);
        assert_eq!([0, 400, 999].map(|millis| windows.count_arrival(&id, at(millis))), [1, 2, 3]);
        assert_eq!([1_000, 1_400, 5_000].map(|millis| windows.count_arrival(&id, at(millis))), [3, 3, 1]);
        assert!(windows.is_over(3) && !windows.is_over(2));
    }

    #[test]
    fn ids_are_counted_separately_and_idle_ones_are_forgotten() {
        let mut windows = RateWindows::new(2.0);
        for number in 0..1_000 {
            let id = IntegratorId::new(&format!("integrator-{number}")).unwrap();
            assert_eq!(windows.count_arrival(&id, at(number * 1_000)), 1);
        }
        assert!(windows.arrivals.len() <= KEPT_IDS + 1);
    }
}
