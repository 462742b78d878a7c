//! The health of a profile's polling: the breaker, a refused ID, throttling (`DESIGN.md`, Budget).
//!
//! The module is pure: results of requests and moments go in, the moment of the next probe and events come out. This
//! module must never allow less than one probe a minute. Only the rest that the service asks for may last longer.

use std::time::Duration;

use crate::{
    clock::MonotonicTime,
    domain::{observation::RequestFailure, operation::ProfileEvent, poller::PollerHealth},
};

/// The number of failures in a row that opens the breaker.
const FAILURES_TO_OPEN: u32 = 5;
/// The breaker stays closed while the last answer is younger than this: single transactions fail, not the service.
const RECENT_ANSWER: Duration = Duration::from_secs(2);
/// The intervals between probes of an unreachable service: 5, 10, 20, 40, 60, 60 … s.
const FIRST_PROBE_INTERVAL: Duration = Duration::from_secs(5);
const MAX_PROBE_INTERVAL: Duration = Duration::from_secs(60);
/// The interval between probes with a refused ID.
const REFUSED_PROBE_INTERVAL: Duration = Duration::from_secs(60);
/// The number of answers in a row without a 429 that ends the throttling.
const ANSWERS_TO_RECOVER: u32 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum HealthState {
    #[default]
    Live,
    Throttled {
        clean: u32,
    },
    Unreachable {
        probes: u32,
    },
    Unauthorized,
}

#[derive(Debug, Default)]
pub(super) struct ProfileHealth {
    state: HealthState,
    consecutive_failures: u32,
    /// When the last answer arrived.
    last_answer: Option<MonotonicTime>,
    next_probe: MonotonicTime,
    /// Whether an earlier run left an outage alert that no answer has ended yet: the first answer then returns
    /// `Recovered`.
    pub(super) has_earlier_problem: bool,
}

impl ProfileHealth {
    /// Returns the moment of the next probe if only probes are allowed, one at a time. Returns `None` if polling is
    /// allowed.
    pub(super) fn probe_at(&self) -> Option<MonotonicTime> {
        matches!(self.state, HealthState::Unreachable { .. } | HealthState::Unauthorized).then_some(self.next_probe)
    }

    pub(super) fn poller_health(&self) -> PollerHealth {
        match self.state {
            HealthState::Live => PollerHealth::Live,
            HealthState::Throttled { .. } => PollerHealth::Throttled,
            HealthState::Unreachable { .. } => PollerHealth::Unreachable,
            HealthState::Unauthorized => PollerHealth::Unauthorized,
        }
    }

    /// Applies the result of a request that ended at `now`. Returns the event that follows for the profile.
    pub(super) fn apply_result(
        &mut self,
        failure: Option<&RequestFailure>,
        now: MonotonicTime,
    ) -> Option<ProfileEvent> {
        match failure {
            Some(failure @ RequestFailure::Unauthorized(_)) => self.apply_refusal(failure, now),
            Some(failure @ RequestFailure::Throttled { .. }) => self.apply_throttling(failure, now),
            // Neither an answer nor an outage of the service.
            Some(RequestFailure::Local(_)) => None,
            Some(failure) if failure.is_outage() => self.apply_outage(failure, now),
            // The probe didn't succeed: something else answered it.
            Some(failure @ (RequestFailure::Server { .. } | RequestFailure::Unreadable(_)))
                if self.probe_at().is_some() =>
            {
                self.apply_outage(failure, now)
            }
            None
            | Some(
                RequestFailure::Rejected(_)
                | RequestFailure::Server { .. }
                | RequestFailure::Unreadable(_)
                | RequestFailure::OtherTransaction(_)
                | RequestFailure::Transport(_)
                | RequestFailure::TimedOut(_),
            ) => {
                self.last_answer = Some(now);
                self.apply_answer()
            }
        }
    }

    fn apply_refusal(&mut self, failure: &RequestFailure, now: MonotonicTime) -> Option<ProfileEvent> {
        self.next_probe = now + REFUSED_PROBE_INTERVAL;
        let is_new = self.state != HealthState::Unauthorized;
        self.state = HealthState::Unauthorized;
        is_new.then(|| ProfileEvent::Unauthorized(failure.one_line()))
    }

    fn apply_throttling(&mut self, failure: &RequestFailure, now: MonotonicTime) -> Option<ProfileEvent> {
        self.consecutive_failures = 0;
        // A refused ID hides the throttling. The budget rests in any case, as the 429 asks.
        if self.state == HealthState::Unauthorized {
            self.next_probe = now + REFUSED_PROBE_INTERVAL;
            return None;
        }
        let is_new = !matches!(self.state, HealthState::Throttled { .. });
        self.state = HealthState::Throttled { clean: 0 };
        is_new.then(|| ProfileEvent::Throttled(failure.one_line()))
    }

    fn apply_outage(&mut self, failure: &RequestFailure, now: MonotonicTime) -> Option<ProfileEvent> {
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
        let has_recent_answer = self.last_answer.is_some_and(|answer| now.since(answer) < RECENT_ANSWER);
        let probes = match self.state {
            HealthState::Unauthorized => {
                self.next_probe = now + REFUSED_PROBE_INTERVAL;
                return None;
            }
            // A request that was under way when the outage began is no probe.
            HealthState::Unreachable { .. } if now < self.next_probe => return None,
            HealthState::Unreachable { probes } => probes.saturating_add(1),
            HealthState::Live | HealthState::Throttled { .. }
                if self.consecutive_failures < FAILURES_TO_OPEN || has_recent_answer =>
            {
                return None;
            }
            HealthState::Live | HealthState::Throttled { .. } => 0,
        };
        let factor = 2_u32.saturating_pow(probes);
        self.next_probe = now + FIRST_PROBE_INTERVAL.saturating_mul(factor).min(MAX_PROBE_INTERVAL);
        let is_new = !matches!(self.state, HealthState::Unreachable { .. });
        self.state = HealthState::Unreachable { probes };
        is_new.then(|| ProfileEvent::Unreachable(failure.one_line()))
    }

    /// Returns whether polling has a problem, or an earlier run left one.
    pub(super) fn has_problem(&self) -> bool {
        self.has_earlier_problem || self.state != HealthState::Live
    }

    /// Resets the health when nothing is left to ask. Returns `Recovered` if there was a problem.
    pub(super) fn reset(&mut self) -> Option<ProfileEvent> {
        let had_problem = self.has_problem();
        *self = Self::default();
        had_problem.then_some(ProfileEvent::Recovered)
    }

    /// Applies an answer of the service, or a failure of this request alone.
    fn apply_answer(&mut self) -> Option<ProfileEvent> {
        self.consecutive_failures = 0;
        let has_earlier_problem = std::mem::take(&mut self.has_earlier_problem);
        match self.state {
            HealthState::Live => has_earlier_problem.then_some(ProfileEvent::Recovered),
            HealthState::Throttled { clean } if clean + 1 < ANSWERS_TO_RECOVER => {
                self.state = HealthState::Throttled { clean: clean + 1 };
                None
            }
            HealthState::Throttled { .. } | HealthState::Unreachable { .. } | HealthState::Unauthorized => {
                self.state = HealthState::Live;
                Some(ProfileEvent::Recovered)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> MonotonicTime {
        MonotonicTime(Duration::from_secs(seconds))
    }

    #[test]
    fn failure_of_this_machine_neither_makes_nor_ends_an_outage() {
        let mut health = ProfileHealth::default();
        let local = RequestFailure::Local("too many open files".into());
        assert!((0..20).all(|second| health.apply_result(Some(&local), at(second)).is_none()));
        assert_eq!(health.poller_health(), PollerHealth::Live);
        let reset = RequestFailure::Transport("reset".into());
        let events: Vec<_> = (20..40).filter_map(|second| health.apply_result(Some(&reset), at(second))).collect();
        assert!(matches!(events[..], [ProfileEvent::Unreachable(_)]), "{events:?}");
        assert_eq!(health.apply_result(Some(&local), at(41)), None);
        assert_eq!(health.poller_health(), PollerHealth::Unreachable);
    }

    fn refused() -> RequestFailure {
        RequestFailure::Unauthorized("invalid".into())
    }

    fn outage() -> RequestFailure {
        RequestFailure::Transport("connection refused".into())
    }

    #[test]
    fn five_outages_in_a_row_open_the_breaker_and_one_answer_closes_it() {
        let mut health = ProfileHealth::default();
        for _ in 0..4 {
            assert_eq!(health.apply_result(Some(&outage()), at(0)), None);
        }
        assert_eq!(health.probe_at(), None);
        assert_eq!(
            health.apply_result(Some(&outage()), at(0)),
            Some(ProfileEvent::Unreachable("connection refused".into()))
        );
        let (mut pauses, mut now) = (Vec::new(), at(0));
        for _ in 0..6 {
            let probe_at = health.probe_at().unwrap();
            pauses.push(probe_at.since(now).as_secs());
            // A request that was sent before the outage was known fails late.
            assert_eq!(health.apply_result(Some(&outage()), now), None);
            assert_eq!(health.probe_at(), Some(probe_at));
            now = probe_at;
            assert_eq!(health.apply_result(Some(&outage()), now), None);
        }
        assert_eq!(pauses, [5, 10, 20, 40, 60, 60]);
        assert_eq!(health.apply_result(None, at(0)), Some(ProfileEvent::Recovered));
        assert_eq!((health.probe_at(), health.poller_health()), (None, PollerHealth::Live));
    }

    #[test]
    fn outages_soon_after_an_answer_do_not_open_the_breaker() {
        let mut health = ProfileHealth::default();
        health.apply_result(None, at(10));
        for _ in 0..20 {
            assert_eq!(health.apply_result(Some(&outage()), at(11)), None);
        }
        assert!(matches!(health.apply_result(Some(&outage()), at(12)), Some(ProfileEvent::Unreachable(_))));
    }

    #[test]
    fn an_answer_between_outages_keeps_the_breaker_closed() {
        let mut health = ProfileHealth::default();
        for _ in 0..20 {
            for _ in 0..4 {
                assert_eq!(health.apply_result(Some(&outage()), at(0)), None);
            }
            assert_eq!(health.apply_result(None, at(0)), None);
        }
    }

    #[test]
    fn refused_id_is_reported_once_and_probed_once_a_minute() {
        let mut health = ProfileHealth::default();
        assert!(matches!(health.apply_result(Some(&refused()), at(10)), Some(ProfileEvent::Unauthorized(_))));
        assert_eq!(health.probe_at(), Some(at(70)));
        assert_eq!(health.apply_result(Some(&refused()), at(70)), None);
        assert_eq!(health.probe_at(), Some(at(130)));
        assert_eq!(health.apply_result(None, at(130)), Some(ProfileEvent::Recovered));
    }

    #[test]
    fn other_failures_of_a_refused_id_s_probe_only_set_the_next_probe() {
        let mut health = ProfileHealth::default();
        health.apply_result(Some(&refused()), at(0));
        for (second, failure) in [(60, outage()), (120, RequestFailure::Throttled { message: None, retry_after: None })]
        {
            assert_eq!(health.apply_result(Some(&failure), at(second)), None);
            assert_eq!(
                (health.probe_at(), health.poller_health()),
                (Some(at(second + 60)), PollerHealth::Unauthorized)
            );
        }
    }

    #[test]
    fn probe_that_something_else_answers_ends_no_problem() {
        let page = RequestFailure::Unreadable("the answer is an HTML page".into());
        let forbidden = RequestFailure::Server { status: 403, message: "forbidden".into() };
        for failure in [page, forbidden] {
            let mut health = ProfileHealth::default();
            health.apply_result(Some(&refused()), at(0));
            assert_eq!(health.apply_result(Some(&failure), at(60)), None);
            assert_eq!((health.probe_at(), health.poller_health()), (Some(at(120)), PollerHealth::Unauthorized));
            let mut health = ProfileHealth::default();
            let events = (0..5).filter_map(|_| health.apply_result(Some(&outage()), at(0))).count();
            assert_eq!((events, health.apply_result(Some(&failure), at(5))), (1, None));
            assert_eq!((health.probe_at(), health.poller_health()), (Some(at(15)), PollerHealth::Unreachable));
            assert_eq!(health.apply_result(None, at(15)), Some(ProfileEvent::Recovered));
        }
    }

    #[test]
    fn reset_ends_a_problem_once() {
        let mut health = ProfileHealth::default();
        assert_eq!(health.reset(), None);
        health.apply_result(Some(&refused()), at(0));
        assert_eq!((health.reset(), health.has_problem()), (Some(ProfileEvent::Recovered), false));
    }

    #[test]
    fn throttling_ends_after_two_answers() {
        let mut health = ProfileHealth::default();
        let throttled = RequestFailure::Throttled { message: None, retry_after: None };
        assert!(matches!(health.apply_result(Some(&throttled), at(0)), Some(ProfileEvent::Throttled(_))));
        assert_eq!(health.apply_result(Some(&throttled), at(0)), None);
        assert_eq!(health.apply_result(None, at(1)), None);
        assert_eq!(health.apply_result(None, at(2)), Some(ProfileEvent::Recovered));
    }

    #[test]
    fn problem_of_an_earlier_run_ends_with_the_first_answer() {
        let mut health = ProfileHealth { has_earlier_problem: true, ..ProfileHealth::default() };
        assert_eq!(health.apply_result(None, at(1)), Some(ProfileEvent::Recovered));
        assert_eq!(health.apply_result(None, at(1)), None);
    }
}
