//! When the poller says how it goes: words soon, figures with the sign that it is alive.
//!
//! When is pure: reports and moments in, yes or no out. Each report wakes every subscriber of the store, so that nothing may be
//! reported again at once that nobody can act on.

use std::time::Duration;

use crate::{
    clock::{Clock, Mono},
    domain::{operation::Operation, poller::PollerReport},
    store::Store,
};

/// How often the poller says that it is alive, with its figures, which change with every answer.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// After so long without a report a poller isn't there any more.
pub(super) const SILENT: Duration = Duration::from_secs(15);
/// The least time between two reports that are made, to be kept or not.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// The least time from one report to the next with other words.
const INTERVAL: Duration = Duration::from_secs(1);

/// What was said last, and when.
#[derive(Debug, Default)]
pub(super) struct Reporter {
    last: Option<(Mono, PollerReport)>,
    /// When what couldn't be said yet is to be looked at again.
    held_back: Option<Mono>,
    /// Before this moment no report is made.
    earliest: Mono,
}

impl Reporter {
    /// When something is to be said in any case.
    pub(super) fn next(&self, now: Mono) -> Mono {
        let heartbeat = self.last.as_ref().map_or(now, |(at, _)| *at + HEARTBEAT);
        self.held_back.map_or(heartbeat, |held_back| held_back.min(heartbeat)).max(self.earliest)
    }

    /// Whether a report should be made and offered to [`Self::take`]: not with every answer, since making one takes longer than
    /// to compare it.
    pub(super) fn is_worth_a_report(&mut self, now: Mono) -> bool {
        if now < self.earliest {
            // Whatever changed meanwhile is looked at then.
            self.held_back = Some(self.earliest);
            return false;
        }
        self.earliest = now + LEAST_INTERVAL;
        true
    }

    /// Whether this is to be said; then it counts as said.
    pub(super) fn take(&mut self, report: &PollerReport, now: Mono) -> bool {
        let due =
            self.last.as_ref().map(|(at, last)| *at + if words(last) == words(report) { HEARTBEAT } else { INTERVAL });
        self.held_back = due.filter(|due| now < *due);
        if self.held_back.is_none() {
            self.last = Some((now, report.clone()));
        }
        self.held_back.is_none()
    }
}

/// What a report says but for its moments and its figures.
fn words(report: &PollerReport) -> impl PartialEq {
    let PollerReport { rps, share, throttled, failed, health, paused_until, last_error, .. } = report;
    (rps, share, throttled, failed, health, paused_until, last_error)
}

/// Saves a report in the background. A failed save is logged; the next report replaces it.
pub(super) fn submit(store: &Store, clock: &Clock, profile: &str, report: PollerReport) {
    let at = report.at;
    let operation = Operation::ReportPolling { profile: profile.to_owned(), report: Box::new(report) };
    let (receipt, hold) = (store.apply(operation, at), clock.hold());
    tokio::spawn(async move {
        let _hold = hold;
        if let Err(error) = receipt.await {
            tracing::debug!("the poller's report was not kept: {error}");
        }
    });
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeZone, Utc};

    use super::*;
    use crate::domain::poller::PollerHealth;

    #[test]
    fn words_are_said_within_a_second_and_figures_within_five() {
        let at = |millis| Mono(Duration::from_millis(millis));
        let mut reporter = Reporter::default();
        assert_eq!(reporter.next(at(7)), at(7));
        let same = PollerReport { at: DateTime::UNIX_EPOCH, requests: 1, ..PollerReport::default() };
        let later = PollerReport { at: Utc.timestamp_nanos(1), ..same.clone() };
        let figures = PollerReport { requests: 2, ..later.clone() };
        let words = PollerReport { health: PollerHealth::Throttled, ..figures.clone() };
        assert!(reporter.take(&same, at(0)));
        assert_eq!(reporter.next(at(7)), at(5_000));
        for (report, due) in [(&words, 1_000), (&figures, 5_000)] {
            let mut reporter = Reporter { last: Some((at(0), same.clone())), ..Reporter::default() };
            assert!(!reporter.take(report, at(due - 1)), "{due}");
            assert_eq!(reporter.next(at(due - 1)), at(due), "then it is looked at");
            assert!(reporter.take(report, at(due)) && reporter.next(at(due)) == at(due + 5_000), "{due}");
            assert!(!reporter.take(report, at(due + 4_999)), "it was said");
        }
    }

    #[test]
    fn the_next_moment_lies_ahead() {
        let mut reporter = Reporter::default();
        for now in (0..20_000).step_by(7).map(|millis| Mono(Duration::from_millis(millis))) {
            if reporter.is_worth_a_report(now) {
                reporter.take(&PollerReport::default(), now);
            }
            assert!(reporter.next(now) > now, "whoever sleeps until then would not sleep at {now:?}");
        }
    }
}
