//! When the poller submits its report: within a second after a change of its state, else every five seconds.
//!
//! [`Reporter`] is pure: reports and moments go in, a decision comes out. Each report wakes every subscriber of the
//! store, so a change of mere figures must never cause an immediate report.

use std::time::Duration;

use tokio::task::JoinHandle;

use crate::{
    clock::{Clock, MonotonicTime},
    domain::{operation::Operation, poller::PollerReport},
    store::Store,
};

/// The interval of reports without a change of state. They carry the figures, which change with every answer.
const UNCHANGED_REPORT_INTERVAL: Duration = Duration::from_secs(5);
/// The shortest time between two reports that are built, submitted or not.
const MIN_BUILD_INTERVAL: Duration = Duration::from_millis(100);
/// The shortest time between two submitted reports with different urgent fields.
const CHANGED_REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// The last submitted report, and the moments of the next ones.
#[derive(Debug, Default)]
pub(super) struct Reporter {
    last: Option<(MonotonicTime, PollerReport)>,
    /// When a report that was not submitted is compared again.
    recheck_at: Option<MonotonicTime>,
    /// The moment before which no report is built.
    earliest: MonotonicTime,
}

impl Reporter {
    /// Returns the moment of the next report or comparison.
    pub(super) fn next_report(&self, now: MonotonicTime) -> MonotonicTime {
        let heartbeat = self.last.as_ref().map_or(now, |(at, _)| *at + UNCHANGED_REPORT_INTERVAL);
        self.recheck_at.map_or(heartbeat, |recheck_at| recheck_at.min(heartbeat)).max(self.earliest)
    }

    /// Returns whether a report should be built now and passed to [`Self::accept`]. Building a report takes longer than
    /// comparing two, so not every answer builds a report.
    pub(super) fn try_start_report(&mut self, now: MonotonicTime) -> bool {
        if now < self.earliest {
            // The next comparison includes the changes until then.
            self.recheck_at = Some(self.earliest);
            return false;
        }
        self.earliest = now + MIN_BUILD_INTERVAL;
        true
    }

    /// Returns whether this report is to be submitted. If so, it counts as submitted.
    pub(super) fn accept(&mut self, report: &PollerReport, now: MonotonicTime) -> bool {
        let due = self.last.as_ref().map(|(at, last)| {
            *at + if urgent_fields(last) == urgent_fields(report) {
                UNCHANGED_REPORT_INTERVAL
            } else {
                CHANGED_REPORT_INTERVAL
            }
        });
        self.recheck_at = due.filter(|due| now < *due);
        if self.recheck_at.is_none() {
            self.last = Some((now, report.clone()));
        }
        self.recheck_at.is_none()
    }
}

/// Returns the urgent fields, whose changes are reported within a second.
fn urgent_fields(report: &PollerReport) -> impl PartialEq {
    let PollerReport { rps, share, throttled, failed, health, paused_until, last_error, .. } = report;
    (rps, share, throttled, failed, health, paused_until, last_error)
}

/// Rounds to two decimal places: smaller changes aren't worth a report.
pub(super) fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// The task that saves a report.
pub(super) type SavingReport = JoinHandle<()>;

/// Waits a moment until a report is saved. Another process may have locked the store for long.
pub(super) async fn wait_until_saved(saving: SavingReport, clock: &Clock) {
    const LIMIT: Duration = Duration::from_millis(300);
    tokio::select! {
        biased;
        _ = saving => {}
        () = clock.sleep_until(clock.now().mono + LIMIT) => {}
    }
}

/// Saves a report in the background, and returns the task. A failed save is logged; the next report replaces it.
pub(super) fn submit(store: &Store, clock: &Clock, profile: &str, report: PollerReport) -> SavingReport {
    let at = report.at;
    let operation = Operation::ReportPolling { profile: profile.to_owned(), report: Box::new(report) };
    let (receipt, hold) = (store.apply(operation, at), clock.hold());
    tokio::spawn(async move {
        let _hold = hold;
        if let Err(error) = receipt.await {
            tracing::debug!("failed to store the poller's report: {error}");
        }
    })
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeZone, Utc};

    use super::*;
    use crate::domain::poller::PollerHealth;

    #[test]
    fn urgent_fields_are_reported_within_a_second_and_figures_within_five() {
        let at = |millis| MonotonicTime(Duration::from_millis(millis));
        let mut reporter = Reporter::default();
        assert_eq!(reporter.next_report(at(7)), at(7));
        let same = PollerReport { at: DateTime::UNIX_EPOCH, requests: 1, ..PollerReport::default() };
        let later = PollerReport { at: Utc.timestamp_nanos(1), ..same.clone() };
        let figures = PollerReport { requests: 2, ..later.clone() };
        let urgent = PollerReport { health: PollerHealth::Throttled, ..figures.clone() };
        assert!(reporter.accept(&same, at(0)));
        assert_eq!(reporter.next_report(at(7)), at(5_000));
        for (report, due) in [(&urgent, 1_000), (&figures, 5_000)] {
            let mut reporter = Reporter { last: Some((at(0), same.clone())), ..Reporter::default() };
            assert!(!reporter.accept(report, at(due - 1)), "{due}");
            assert_eq!(reporter.next_report(at(due - 1)), at(due), "the comparison is due with the report");
            assert!(reporter.accept(report, at(due)) && reporter.next_report(at(due)) == at(due + 5_000), "{due}");
            assert!(!reporter.accept(report, at(due + 4_999)), "the same report is accepted twice");
        }
    }

    #[test]
    fn next_report_is_always_in_the_future() {
        let mut reporter = Reporter::default();
        for now in (0..20_000).step_by(7).map(|millis| MonotonicTime(Duration::from_millis(millis))) {
            if reporter.try_start_report(now) {
                reporter.accept(&PollerReport::default(), now);
            }
            assert!(reporter.next_report(now) > now, "the driver would not sleep at {now:?}");
        }
    }
}
