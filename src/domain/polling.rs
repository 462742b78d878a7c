//! Whether polling works: its obstacle, and the age of the answers against their target.
//!
//! One verdict for the dashboard, `doctor` and the metrics. It must never be good beside an old answer.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{
    need,
    poller::{PollerHealth, PollerReport},
    span,
};

/// The polling of a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PollingState {
    /// The last report of the profile's poller.
    pub poller: Option<PollerReport>,
    /// The end of a person's pause, past or future. The store has it before the poller reports it.
    pub paused_until: Option<DateTime<Utc>>,
    /// The time of the oldest answer about a polled transaction.
    pub oldest_answer: Option<DateTime<Utc>>,
}

impl PollingState {
    /// Returns the poller's report; `None` if no poller runs.
    pub fn live_poller(&self, now: DateTime<Utc>) -> Option<&PollerReport> {
        self.poller.as_ref().filter(|report| report.is_live(now))
    }

    /// Returns the end of a person's pause, while polling is paused.
    pub fn paused_until(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.live_poller(now)?;
        self.paused_until.filter(|until| *until > now)
    }

    /// Returns the age of the oldest answer about a polled transaction.
    pub fn oldest_age(&self, now: DateTime<Utc>) -> Option<Duration> {
        self.oldest_answer.map(|oldest| span::between(oldest, now))
    }

    /// Returns the verdict at `now`.
    pub(crate) fn verdict(&self, now: DateTime<Utc>) -> PollingVerdict {
        PollingVerdict::new(self.live_poller(now), self.paused_until, self.oldest_age(now), now)
    }
}

/// The age of the oldest answer against the target age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// Within the target.
    Fresh,
    /// Up to three times the target.
    Late,
    /// Older.
    Stale,
    /// No request of this poller was answered since its start, so long ago.
    Unanswered(Duration),
}

impl Freshness {
    /// Returns the freshness of an oldest answer of this age. `None` means that no transaction is polled. A transaction
    /// without an answer has an age too, so the age alone doesn't show that nothing was answered.
    fn of(oldest: Option<Duration>, report: Option<&PollerReport>) -> Self {
        match (oldest, report) {
            (Some(_), Some(report)) if report.failed > 0 && report.answered == Some(0) => {
                Self::Unanswered(report.running)
            }
            (Some(oldest), _) if oldest > need::TARGET * 3 => Self::Stale,
            (Some(oldest), _) if oldest > need::TARGET => Self::Late,
            _ => Self::Fresh,
        }
    }
}

/// What keeps a profile from being polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollingObstacle {
    /// No process polls.
    NoPoller,
    /// A person paused polling until this moment.
    Paused(DateTime<Utc>),
    /// The poller is in trouble; it sends nothing before the moment, if there is one.
    Trouble(PollerHealth, Option<DateTime<Utc>>),
}

/// The state of a profile's polling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PollingVerdict {
    /// The obstacle; `None` while requests are sent and answered.
    pub(crate) obstacle: Option<PollingObstacle>,
    /// The age of the oldest answer against the target.
    pub(crate) freshness: Freshness,
    /// Whether the budget is too small for the number of transactions.
    pub(crate) is_short: bool,
}

impl PollingVerdict {
    /// Returns the verdict on a profile with this live report, this end of a pause, and an oldest answer of this age.
    pub(crate) fn new(
        report: Option<&PollerReport>,
        paused_until: Option<DateTime<Utc>>,
        oldest: Option<Duration>,
        now: DateTime<Utc>,
    ) -> Self {
        let obstacle = match (report, paused_until.filter(|until| *until > now)) {
            (None, _) => Some(PollingObstacle::NoPoller),
            (Some(_), Some(until)) => Some(PollingObstacle::Paused(until)),
            (Some(report), None) => match report.health {
                PollerHealth::Live | PollerHealth::Paused => None,
                health @ (PollerHealth::Throttled
                | PollerHealth::Unreachable
                | PollerHealth::Unauthorized
                | PollerHealth::Stopped
                | PollerHealth::Waiting
                | PollerHealth::Unknown) => {
                    Some(PollingObstacle::Trouble(health, report.resting_until.filter(|until| *until > now)))
                }
            },
        };
        let is_short = report.and_then(|report| report.need).is_some_and(|need| need.is_always_short());
        Self { obstacle, freshness: Freshness::of(oldest, report), is_short }
    }

    /// Whether requests are sent and answered, the budget is large enough, and no answer is older than its target.
    pub(crate) fn is_good(&self) -> bool {
        self.obstacle.is_none() && self.freshness == Freshness::Fresh && !self.is_short
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{fixtures::at, need::Need};

    #[test]
    fn polling_is_good_only_without_obstacle_with_fresh_answers_and_enough_budget() {
        let live = PollerReport { health: PollerHealth::Live, ..PollerReport::default() };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let verdict = |report, paused, oldest| PollingVerdict::new(report, paused, oldest, at(100));
        assert!(verdict(Some(&live), None, seconds(90)).is_good());
        assert!(verdict(Some(&live), None, None).is_good());
        assert!(verdict(Some(&live), Some(at(99)), None).is_good(), "the pause is over");
        let old = [(91, Freshness::Late), (270, Freshness::Late), (271, Freshness::Stale), (720, Freshness::Stale)];
        for (age, freshness) in old {
            let verdict = verdict(Some(&live), None, seconds(age));
            assert_eq!((verdict.freshness, verdict.is_good()), (freshness, false), "{age}");
        }
        // One request is under way.
        let running = Duration::from_secs(20);
        let failing = PollerReport { requests: 4, failed: 3, answered: Some(0), running, ..live.clone() };
        assert_eq!(verdict(Some(&failing), None, seconds(9)).freshness, Freshness::Unanswered(running));
        assert_eq!(verdict(Some(&failing), None, None).freshness, Freshness::Fresh, "nothing is polled");
        let answered = PollerReport { answered: Some(1), ..failing.clone() };
        assert_eq!(verdict(Some(&answered), None, seconds(9)).freshness, Freshness::Fresh);
        let of_an_earlier_version = PollerReport { answered: None, ..failing.clone() };
        assert_eq!(verdict(Some(&of_an_earlier_version), None, seconds(9)).freshness, Freshness::Fresh);
        assert_eq!(verdict(None, None, None).obstacle, Some(PollingObstacle::NoPoller));
        assert_eq!(verdict(Some(&live), Some(at(400)), None).obstacle, Some(PollingObstacle::Paused(at(400))));
        let down =
            PollerReport { health: PollerHealth::Unreachable, resting_until: Some(at(120)), ..PollerReport::default() };
        let expected = PollingObstacle::Trouble(PollerHealth::Unreachable, Some(at(120)));
        assert_eq!(verdict(Some(&down), None, None).obstacle, Some(expected));
        let short = PollerReport { need: Some(Need { polls: 9.0, allowed: 1.0, unsettled: 900 }), ..live.clone() };
        assert!(!verdict(Some(&short), None, None).is_good());
    }
}
