//! How long a settled transfer took, and how well that is known.
//!
//! Every display and every statistic of single transfers must use this, so that a bound is never shown as a
//! measurement.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{
    span,
    transaction::{SHORT_DURATION, Transaction},
};

/// How long a settled transfer took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettledDuration {
    /// From the submission to the answer that showed the end.
    Measured(Duration),
    /// An upper bound: no answer came in the second half of this time, so the transfer may have ended much earlier.
    AtMost(Duration),
    /// From the moment when hoptop first saw the transfer, because its submission isn't known, or is given as after its end.
    SinceFirstSeen(Duration),
}

impl SettledDuration {
    /// Returns how long a transaction took; `None` before it is settled.
    pub(crate) fn of<R>(tx: &Transaction<R>) -> Option<Self> {
        let ended = tx.state.settled_at.and(tx.ended_at())?;
        let first_seen = tx.first_seen_at;
        // A local time written as UTC is in the future.
        let Some(submitted) = tx.params.submitted_at.filter(|submitted| *submitted <= ended) else {
            return Some(Self::SinceFirstSeen(span::between(first_seen, ended)));
        };
        let duration = span::between(submitted, ended);
        let untracked = span::between(submitted, first_seen);
        let watched = span::between(first_seen, ended);
        let ended_unseen = tx.state.ended_unseen.unwrap_or(tx.state.polls <= 1);
        let is_bound =
            ended_unseen && duration > SHORT_DURATION || untracked * 2 > duration && watched <= SHORT_DURATION;
        Some(if is_bound { Self::AtMost(duration) } else { Self::Measured(duration) })
    }

    /// Returns the time, whether measured or not.
    pub(crate) fn time(self) -> Duration {
        match self {
            Self::Measured(time) | Self::AtMost(time) | Self::SinceFirstSeen(time) => time,
        }
    }

    /// Returns the duration if it was measured: only such durations may enter statistics.
    pub(crate) fn measured(self) -> Option<Duration> {
        match self {
            Self::Measured(time) => Some(time),
            Self::AtMost(_) | Self::SinceFirstSeen(_) => None,
        }
    }

    /// Whether the duration is an upper bound; `None` if it doesn't begin at the submission.
    pub(crate) fn is_upper_bound(self) -> Option<bool> {
        match self {
            Self::Measured(_) => Some(false),
            Self::AtMost(_) => Some(true),
            Self::SinceFirstSeen(_) => None,
        }
    }
}

/// Returns the age of a transaction for a narrow column: `38m`, or `<38m` if it took at most that long.
pub(crate) fn short_age<R>(tx: &Transaction<R>, now: DateTime<Utc>) -> String {
    match SettledDuration::of(tx) {
        Some(SettledDuration::AtMost(time)) => format!("<{}", span::short_at_most(time)),
        Some(SettledDuration::Measured(time) | SettledDuration::SinceFirstSeen(time)) => span::short(time),
        None => span::short(tx.age(now)),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::domain::{fixtures, observation::RequestFailure, status::RouterStatus, transaction::TransactionState};

    /// Returns a transaction that settled 20 minutes after its submission and was tracked from this minute on.
    fn settled(tracked_from: i64, submission_is_known: bool) -> Transaction {
        let mut tx = fixtures::transaction(1);
        let submitted = tx.first_seen_at;
        tx.params.submitted_at = submission_is_known.then_some(submitted);
        tx.first_seen_at = submitted + TimeDelta::minutes(tracked_from);
        tx.apply(&fixtures::says(RouterStatus::Success), submitted + TimeDelta::minutes(20));
        tx
    }

    /// Returns a transaction that was tracked and answered from its submission on, with a gap from this minute until the
    /// answer that showed its end, 20 minutes after the submission.
    fn watched_until(minute: i64) -> Transaction {
        let mut tx = settled(0, true);
        tx.state = TransactionState::default();
        for (minute, status) in
            [(0, RouterStatus::Ongoing), (minute, RouterStatus::Ongoing), (20, RouterStatus::Success)]
        {
            tx.apply(&fixtures::says(status), tx.first_seen_at + TimeDelta::minutes(minute));
        }
        tx
    }

    #[test]
    fn a_duration_is_measured_only_if_the_transfer_was_watched() {
        let minutes = |count: u64| Duration::from_secs(count * 60);
        let of = |tracked_from, known| SettledDuration::of(&settled(tracked_from, known)).unwrap();
        assert_eq!(SettledDuration::of(&watched_until(12)), Some(SettledDuration::Measured(minutes(20))));
        assert_eq!(SettledDuration::of(&watched_until(9)), Some(SettledDuration::AtMost(minutes(20))));
        assert_eq!(of(1, true), SettledDuration::AtMost(minutes(20)));
        assert_eq!(of(19, true), SettledDuration::AtMost(minutes(20)));
        assert_eq!(of(19, false), SettledDuration::SinceFirstSeen(minutes(1)));
        assert_eq!(SettledDuration::of(&fixtures::transaction(1)), None);
        let known = [SettledDuration::of(&watched_until(12)).unwrap(), of(19, true), of(19, false)];
        assert_eq!(known.map(SettledDuration::measured), [Some(minutes(20)), None, None]);
        assert_eq!(known.map(SettledDuration::is_upper_bound), [Some(false), Some(true), None]);
    }

    #[test]
    fn later_polls_and_earlier_failures_make_no_bound_a_measurement() {
        let is_bound = |tx: &Transaction| SettledDuration::of(tx).unwrap().is_upper_bound();
        let mut polled_again = settled(19, true);
        polled_again.apply(&fixtures::says(RouterStatus::Success), polled_again.first_seen_at + TimeDelta::hours(1));
        let new = || Transaction { state: TransactionState::default(), ..settled(17, true) };
        let after = |minutes| polled_again.first_seen_at + TimeDelta::minutes(minutes);
        let (mut failed, mut watched) = (new(), new());
        failed.apply(&fixtures::fails(RequestFailure::Transport("reset".into())), after(0));
        watched.apply(&fixtures::says(RouterStatus::Ongoing), after(0));
        for tx in [&mut failed, &mut watched] {
            tx.apply(&fixtures::says(RouterStatus::Success), after(1));
        }
        assert_eq!([&polled_again, &failed, &watched].map(is_bound), [Some(true), Some(true), Some(false)]);
    }

    #[test]
    fn narrow_column_marks_an_upper_bound() {
        let age = |minute| {
            let tx = watched_until(minute);
            short_age(&tx, tx.first_seen_at + TimeDelta::hours(5))
        };
        assert_eq!([age(19), age(1)], ["20m", "<20m"]);
    }
}
