//! The conditions of polling and notification that `watch` reports on standard error, each once while it lasts.
//!
//! The module is pure: it must never print or read a clock.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::{
    clock::MonotonicTime,
    domain::{
        poller::{PollerHealth, PollerReport, UNRESPONSIVE},
        span,
    },
};

/// How long the service may refuse the ID before a watch with an end gives up: three probes.
const REFUSED_FOR: Duration = Duration::from_secs(3 * 60);

/// Since when the service has given no answer but refusals of the ID.
#[derive(Debug, Default)]
pub(crate) struct RefusalTimer(Option<MonotonicTime>);

impl RefusalTimer {
    /// Applies whether the service refuses the ID now.
    pub(crate) fn update(&mut self, is_refused: bool, now: MonotonicTime) {
        self.0 = is_refused.then(|| self.0.unwrap_or(now));
    }

    /// Returns the moment from which waiting is pointless, if the service refuses the ID.
    pub(crate) fn gives_up_at(&self) -> Option<MonotonicTime> {
        self.0.map(|since| since + REFUSED_FOR)
    }
}

/// The conditions that are active and were reported.
#[derive(Debug, Default)]
pub(crate) struct WatchConditions {
    /// Whether another process holds the right to poll but doesn't report.
    is_waiting: bool,
    is_paused: bool,
    /// The errors of the notification channels.
    notify_errors: Vec<String>,
}

impl WatchConditions {
    /// Replaces the conditions, and returns one line for each new condition.
    pub(crate) fn update(
        &mut self,
        live: Option<&PollerReport>,
        notify_errors: &[String],
        now: DateTime<Utc>,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let is_waiting = live.is_some_and(|report| report.health == PollerHealth::Waiting);
        if is_waiting && !self.is_waiting {
            lines.push(UNRESPONSIVE.to_owned());
        }
        let paused_until = live.and_then(|report| report.paused_until).filter(|until| *until > now);
        if let (Some(until), false) = (paused_until, self.is_paused) {
            lines.push(format!(
                "polling is paused in a dashboard for another {}",
                span::long(span::between(now, until))
            ));
        }
        let new = notify_errors.iter().filter(|error| !self.notify_errors.contains(error));
        lines.extend(new.map(|error| format!("a notification was not sent: {error}")));
        *self = Self { is_waiting, is_paused: paused_until.is_some(), notify_errors: notify_errors.to_vec() };
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_lasts_until_another_answer() {
        let at = |seconds| MonotonicTime::default() + Duration::from_secs(seconds);
        let mut refusal = RefusalTimer::default();
        refusal.update(true, at(1));
        refusal.update(true, at(100));
        assert_eq!(refusal.gives_up_at(), Some(at(181)), "three minutes after the first refusal");
        refusal.update(false, at(120));
        assert_eq!(refusal.gives_up_at(), None);
        refusal.update(true, at(130));
        assert_eq!(refusal.gives_up_at(), Some(at(310)));
    }

    #[test]
    fn condition_is_reported_once_and_again_after_it_returns() {
        let mut conditions = WatchConditions::default();
        let report = PollerReport { health: PollerHealth::Waiting, ..PollerReport::default() };
        let now = DateTime::UNIX_EPOCH;
        let errors = ["webhook: x".to_owned()];
        assert_eq!(conditions.update(Some(&report), &errors, now).len(), 2);
        assert_eq!(conditions.update(Some(&report), &errors, now), [""; 0]);
        assert_eq!(conditions.update(None, &[], now), [""; 0]);
        assert_eq!(conditions.update(None, &errors, now), ["a notification was not sent: webhook: x"]);
    }
}
