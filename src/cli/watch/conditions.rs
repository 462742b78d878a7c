//! What `watch` reports on standard error about polling and notification: each condition once, as long as it lasts.
//!
//! Pure: what was seen goes in, lines come out.

use chrono::{DateTime, Utc};

use crate::domain::{
    poller::{PollerHealth, PollerReport},
    span,
};

/// What stands in the way of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The service refuses the ID.
    Refused,
    /// It can't be reached, or throttles.
    OutOfReach,
}

/// The conditions that were reported already.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// That another process should poll and says nothing.
    is_waiting: bool,
    /// That polling is paused.
    is_paused: bool,
    /// What keeps alerts from being told outside.
    untold: Vec<String>,
}

impl Conditions {
    /// Returns the new conditions, a line each.
    pub(super) fn news(&mut self, live: Option<&PollerReport>, untold: &[String], now: DateTime<Utc>) -> Vec<String> {
        let mut lines = Vec::new();
        let is_waiting = live.is_some_and(|report| report.health == PollerHealth::Waiting);
        if is_waiting && !self.is_waiting {
            lines.push(
                "another hoptop polls this store but says nothing, it may be suspended; this one takes over when that one ends"
                    .to_owned(),
            );
        }
        let paused_until = live.and_then(|report| report.paused_until).filter(|until| *until > now);
        if let (Some(until), false) = (paused_until, self.is_paused) {
            lines.push(format!("polling is paused for {}, in a dashboard", span::long(span::between(now, until))));
        }
        let new = untold.iter().filter(|trouble| !self.untold.contains(trouble));
        lines.extend(new.map(|trouble| format!("an alert was not told: {trouble}")));
        *self = Self { is_waiting, is_paused: paused_until.is_some(), untold: untold.to_vec() };
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trouble_is_said_once_and_again_when_it_comes_back() {
        let mut conditions = Conditions::default();
        let report = PollerReport { health: PollerHealth::Waiting, ..PollerReport::default() };
        let now = DateTime::UNIX_EPOCH;
        let untold = ["webhook: x".to_owned()];
        assert_eq!(conditions.news(Some(&report), &untold, now).len(), 2);
        assert_eq!(conditions.news(Some(&report), &untold, now), [""; 0]);
        assert_eq!(conditions.news(None, &[], now), [""; 0]);
        assert_eq!(conditions.news(None, &untold, now), ["an alert was not told: webhook: x"]);
    }
}
