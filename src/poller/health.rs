//! Whether the service can be asked at all: the breaker, refused IDs, throttling (`DESIGN.md`, Budget).
//!
//! Pure: outcomes and moments in, a gate and events out. It must never hold back longer than a minute without a probe,
//! but for the rest that the service itself asked for.

use std::time::Duration;

use crate::{
    clock::Mono,
    domain::{observation::Failure, operation::ProfileEvent, poller::PollerHealth},
};

/// Outages in a row that open the breaker.
const OUTAGES: u32 = 5;
/// It stays closed as long as an answer came this recently: then some transactions have trouble, not the service.
const SOUND: Duration = Duration::from_secs(2);
/// Between probes of a service that is out of reach: 5, 10, 20, 40, 60, 60 … s.
const FIRST_PROBE: Duration = Duration::from_secs(5);
const LONGEST_PROBE: Duration = Duration::from_secs(60);
/// Between probes with an ID that was refused.
const REFUSED_PROBE: Duration = Duration::from_secs(60);
/// Answers in a row without a 429 after which the throttling is over.
const CLEAN_AFTER_THROTTLE: u32 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
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

/// The health of one profile's polling.
#[derive(Debug, Default)]
pub(super) struct Health {
    state: State,
    outages: u32,
    /// When the last answer came.
    last_answer: Option<Mono>,
    next_probe: Mono,
    /// An earlier run left with trouble that no answer has ended yet.
    trouble_before: bool,
}

impl Health {
    pub(super) fn expect_recovery(&mut self) {
        self.trouble_before = true;
    }

    /// The moment of the next probe, if only one request at a time may go, as a probe.
    pub(super) fn probe_at(&self) -> Option<Mono> {
        matches!(self.state, State::Unreachable { .. } | State::Unauthorized).then_some(self.next_probe)
    }

    /// The health that the poller reports.
    pub(super) fn kind(&self) -> PollerHealth {
        match self.state {
            State::Live => PollerHealth::Live,
            State::Throttled { .. } => PollerHealth::Throttled,
            State::Unreachable { .. } => PollerHealth::Unreachable,
            State::Unauthorized => PollerHealth::Unauthorized,
        }
    }

    /// Takes in how a request ended at `now`.
    pub(super) fn ended(&mut self, failure: Option<&Failure>, now: Mono) -> Option<ProfileEvent> {
        match failure {
            Some(failure @ Failure::Unauthorized(_)) => self.refused(failure, now),
            Some(failure @ Failure::Throttled { .. }) => {
                self.next_probe = now + REFUSED_PROBE;
                self.throttled(failure)
            }
            Some(failure) if failure.is_outage() => self.outage(failure, now),
            _ => {
                self.last_answer = Some(now);
                self.answered()
            }
        }
    }

    fn refused(&mut self, failure: &Failure, now: Mono) -> Option<ProfileEvent> {
        self.next_probe = now + REFUSED_PROBE;
        let is_news = self.state != State::Unauthorized;
        self.state = State::Unauthorized;
        is_news.then(|| ProfileEvent::Unauthorized(failure.line()))
    }

    fn throttled(&mut self, failure: &Failure) -> Option<ProfileEvent> {
        self.outages = 0;
        match self.state {
            // The graver hides the lesser; the rest that the 429 asks for is kept in any case.
            State::Unauthorized => None,
            State::Throttled { .. } => {
                self.state = State::Throttled { clean: 0 };
                None
            }
            State::Live | State::Unreachable { .. } => {
                self.state = State::Throttled { clean: 0 };
                Some(ProfileEvent::Throttled(failure.line()))
            }
        }
    }

    fn outage(&mut self, failure: &Failure, now: Mono) -> Option<ProfileEvent> {
        self.outages = self.outages.saturating_add(1);
        let probes = match self.state {
            State::Unauthorized => {
                self.next_probe = now + REFUSED_PROBE;
                return None;
            }
            State::Unreachable { probes } => probes.saturating_add(1),
            State::Live | State::Throttled { .. } if self.outages < OUTAGES || self.was_sound(now) => return None,
            State::Live | State::Throttled { .. } => 0,
        };
        let factor = 1_u32.checked_shl(probes).unwrap_or(u32::MAX);
        self.next_probe = now + FIRST_PROBE.saturating_mul(factor).min(LONGEST_PROBE);
        let is_news = !matches!(self.state, State::Unreachable { .. });
        self.state = State::Unreachable { probes };
        is_news.then(|| ProfileEvent::Unreachable(failure.line()))
    }

    fn was_sound(&self, now: Mono) -> bool {
        self.last_answer.is_some_and(|answer| now.since(answer) < SOUND)
    }

    /// Whether anything stands in the way, now or since an earlier run.
    pub(super) fn is_troubled(&self) -> bool {
        self.trouble_before || self.state != State::Live
    }

    /// Nothing is left to ask.
    pub(super) fn stand_down(&mut self) -> Option<ProfileEvent> {
        let troubled = self.is_troubled();
        *self = Self::default();
        troubled.then_some(ProfileEvent::Recovered)
    }

    /// The service answered, for better or worse.
    fn answered(&mut self) -> Option<ProfileEvent> {
        self.outages = 0;
        let trouble_before = std::mem::take(&mut self.trouble_before);
        match self.state {
            State::Live => trouble_before.then_some(ProfileEvent::Recovered),
            State::Throttled { clean } if clean + 1 < CLEAN_AFTER_THROTTLE => {
                self.state = State::Throttled { clean: clean + 1 };
                None
            }
            _ => {
                self.state = State::Live;
                Some(ProfileEvent::Recovered)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Mono {
        Mono(Duration::from_secs(seconds))
    }

    fn refused() -> Failure {
        Failure::Unauthorized("invalid".into())
    }

    fn outage() -> Failure {
        Failure::Transport("connection refused".into())
    }

    #[test]
    fn five_outages_in_a_row_open_the_breaker_and_one_answer_closes_it() {
        let mut health = Health::default();
        for _ in 0..4 {
            assert_eq!(health.ended(Some(&outage()), at(0)), None);
        }
        assert_eq!(health.probe_at(), None);
        assert_eq!(health.ended(Some(&outage()), at(0)), Some(ProfileEvent::Unreachable("connection refused".into())));
        let mut probes = Vec::new();
        for _ in 0..6 {
            probes.push(health.probe_at().unwrap().0.as_secs());
            assert_eq!(health.ended(Some(&outage()), at(0)), None);
        }
        assert_eq!(probes, [5, 10, 20, 40, 60, 60]);
        assert_eq!(health.ended(None, at(0)), Some(ProfileEvent::Recovered));
        assert_eq!((health.probe_at(), health.kind()), (None, PollerHealth::Live));
    }

    #[test]
    fn outages_beside_answers_do_not_open_the_breaker() {
        let mut health = Health::default();
        health.ended(None, at(10));
        for _ in 0..20 {
            assert_eq!(health.ended(Some(&outage()), at(11)), None);
        }
        assert!(matches!(health.ended(Some(&outage()), at(12)), Some(ProfileEvent::Unreachable(_))));
    }

    #[test]
    fn an_answer_between_outages_keeps_the_breaker_closed() {
        let mut health = Health::default();
        for _ in 0..20 {
            for _ in 0..4 {
                assert_eq!(health.ended(Some(&outage()), at(0)), None);
            }
            assert_eq!(health.ended(None, at(0)), None);
        }
    }

    #[test]
    fn a_refused_id_is_told_once_and_probed_once_a_minute() {
        let mut health = Health::default();
        assert!(matches!(health.ended(Some(&refused()), at(10)), Some(ProfileEvent::Unauthorized(_))));
        assert_eq!(health.probe_at(), Some(at(70)));
        assert_eq!(health.ended(Some(&refused()), at(70)), None);
        assert_eq!(health.probe_at(), Some(at(130)));
        assert_eq!(health.ended(None, at(130)), Some(ProfileEvent::Recovered));
    }

    #[test]
    fn what_else_a_refused_id_s_probe_brings_changes_nothing_but_the_next_one() {
        let mut health = Health::default();
        health.ended(Some(&refused()), at(0));
        for (second, failure) in [(60, outage()), (120, Failure::Throttled { message: None, retry_after: None })] {
            assert_eq!(health.ended(Some(&failure), at(second)), None);
            assert_eq!((health.probe_at(), health.kind()), (Some(at(second + 60)), PollerHealth::Unauthorized));
        }
    }

    #[test]
    fn with_nothing_left_to_ask_trouble_is_over() {
        let mut health = Health::default();
        assert_eq!(health.stand_down(), None);
        health.ended(Some(&refused()), at(0));
        assert_eq!((health.stand_down(), health.is_troubled()), (Some(ProfileEvent::Recovered), false));
    }

    #[test]
    fn throttling_is_over_after_two_answers() {
        let mut health = Health::default();
        let throttled = Failure::Throttled { message: None, retry_after: None };
        assert!(matches!(health.ended(Some(&throttled), at(0)), Some(ProfileEvent::Throttled(_))));
        assert_eq!(health.ended(Some(&throttled), at(0)), None);
        assert_eq!(health.ended(None, at(1)), None);
        assert_eq!(health.ended(None, at(2)), Some(ProfileEvent::Recovered));
    }

    #[test]
    fn trouble_of_an_earlier_run_is_over_with_the_first_answer() {
        let mut health = Health::default();
        health.expect_recovery();
        assert_eq!(health.ended(None, at(1)), Some(ProfileEvent::Recovered));
        assert_eq!(health.ended(None, at(1)), None);
    }
}
