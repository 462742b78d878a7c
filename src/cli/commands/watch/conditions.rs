//! The conditions of polling and notification that `watch` reports on standard error, each once while it lasts.
//!
//! The module is pure: it must never print or read a clock.

use chrono::{DateTime, Utc};

use crate::domain::{
    poller::{PollerHealth, PollerReport, UNRESPONSIVE},
    span,
};

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
