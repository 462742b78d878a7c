//! When the poller says how it goes: words soon, figures with the sign that it is alive.
//!
//! Pure: reports and moments in, yes or no out. Each report wakes everybody who follows the store, so it must never say again
//! at once what nobody can act on.

use std::time::Duration;

use crate::{clock::Mono, store::PollerReport};

/// How often the poller says that it is alive, with its figures, which change with every answer.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// After so long without a report a poller isn't there any more.
pub(super) const SILENT: Duration = Duration::from_secs(15);
/// The least time from one report to the next with other words.
const INTERVAL: Duration = Duration::from_secs(1);

/// What was said last, and when.
#[derive(Debug, Default)]
pub(super) struct Reporter {
    last: Option<(Mono, PollerReport)>,
    /// When what couldn't be said yet is to be looked at again.
    held_back: Option<Mono>,
}

impl Reporter {
    /// When something is to be said in any case.
    pub(super) fn next(&self, now: Mono) -> Mono {
        let heartbeat = self.last.as_ref().map_or(now, |(at, _)| *at + HEARTBEAT);
        self.held_back.map_or(heartbeat, |held_back| held_back.min(heartbeat))
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

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeZone, Utc};

    use super::*;

    #[test]
    fn words_are_said_within_a_second_and_figures_within_five() {
        let at = |millis| Mono(Duration::from_millis(millis));
        let mut reporter = Reporter::default();
        assert_eq!(reporter.next(at(7)), at(7));
        let same = PollerReport { at: DateTime::UNIX_EPOCH, requests: 1, ..PollerReport::default() };
        let later = PollerReport { at: Utc.timestamp_nanos(1), ..same.clone() };
        let figures = PollerReport { requests: 2, ..later.clone() };
        let words = PollerReport { health: "throttled".into(), ..figures.clone() };
        assert!(reporter.take(&same, at(0)));
        assert_eq!(reporter.next(at(7)), at(5_000));
        for (report, due) in [(&words, 1_000), (&figures, 5_000)] {
            let mut reporter = Reporter { last: Some((at(0), same.clone())), held_back: None };
            assert!(!reporter.take(report, at(due - 1)), "{due}");
            assert_eq!(reporter.next(at(due - 1)), at(due), "then it is looked at");
            assert!(reporter.take(report, at(due)) && reporter.next(at(due)) == at(due + 5_000), "{due}");
            assert!(!reporter.take(report, at(due + 4_999)), "it was said");
        }
    }
}
