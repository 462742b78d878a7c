//! The life cycle of an active alert: a person acknowledges or snoozes the alert, and both end again (`DESIGN.md`,
//! Alerts).
//!
//! This module defines the states, and when an acknowledgement or a snooze ends. `Alert::state` returns the state at a
//! moment. `alerts` decides what a change of the transaction ends.
//! Nothing here may read a clock.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::domain::named::named;

/// The number of raises of one rule for one subject, within [`FLAPPING_WITHIN`], that makes an alert flapping. Flapping
/// is reported once; further raises and clears are not.
pub(crate) const FLAPPING_RAISES: usize = 3;
/// The time within which raises count towards flapping.
pub(crate) const FLAPPING_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// How long a cleared alert is shown as resolved.
pub(crate) const RESOLVED_FOR: TimeDelta = TimeDelta::hours(24);

named! {
    /// The state of an alert at a moment.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum AlertState: name {
        /// The alert is active, and nobody has handled it.
        Firing "firing",
        /// A person acknowledged the alert.
        Acknowledged "acknowledged",
        /// A person snoozed the alert.
        Snoozed "snoozed",
        /// The alert is no longer active. The screen shows `resolved`.
        Cleared "cleared",
    }
}

/// How a person handled an active alert. The alert stays active, below unhandled alerts. The last action counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handling {
    /// When the person handled the alert.
    pub at: DateTime<Utc>,
    /// The person's name, if set.
    pub author: Option<String>,
    /// What the person did.
    pub kind: HandlingKind,
}

/// What a person did about an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandlingKind {
    /// The person acknowledged the alert, with this note. It ends when the status changes or the severity rises.
    Acknowledged(Option<String>),
    /// The person snoozed the alert.
    Snoozed(SnoozeEnd),
}

impl Handling {
    /// Returns the name of the person who handled the alert, if set.
    pub fn author(&self) -> Option<&str> {
        self.author.as_deref()
    }

    /// Returns the note of an acknowledgement.
    pub fn note(&self) -> Option<&str> {
        match &self.kind {
            HandlingKind::Acknowledged(note) => note.as_deref(),
            HandlingKind::Snoozed(_) => None,
        }
    }

    /// Returns the end of a snooze; `None` for an acknowledgement.
    pub fn snooze(&self) -> Option<SnoozeEnd> {
        match self.kind {
            HandlingKind::Acknowledged(_) => None,
            HandlingKind::Snoozed(until) => Some(until),
        }
    }

    /// Whether the handling is over at `at`. `has_changed`: the status changed or the severity rose. A snooze
    /// until a moment ends at that moment only.
    pub fn is_over(&self, at: DateTime<Utc>, has_changed: bool) -> bool {
        match self.kind {
            HandlingKind::Acknowledged(_) | HandlingKind::Snoozed(SnoozeEnd::Change) => has_changed,
            HandlingKind::Snoozed(SnoozeEnd::Until(moment)) => moment <= at,
        }
    }
}

/// The end of a snooze.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnoozeEnd {
    /// A moment, whatever happens before.
    Until(DateTime<Utc>),
    /// A change of the transaction's status, or a rise of the severity.
    Change,
}

impl SnoozeEnd {
    /// Returns the moment at which the snooze ends by itself, if it has one.
    pub fn moment(self) -> Option<DateTime<Utc>> {
        match self {
            Self::Until(moment) => Some(moment),
            Self::Change => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::*, *};
    use crate::domain::fixtures::{self, at};

    fn alert(handling: Option<Handling>) -> Alert {
        Alert { handling, ..fixtures::alert(Rule::Overdue, None) }
    }

    #[test]
    fn the_state_follows_from_the_handling_and_the_moment() {
        use AlertState::{Acknowledged, Cleared, Firing, Snoozed};
        let handled = |kind| Handling { at: at(5), author: None, kind };
        let snoozed = |until| handled(HandlingKind::Snoozed(until));
        // The handling; the state at 10 s, 60 s and 61 s; whether the handling is over at 10 s, without and with a
        // change.
        let table = [
            (handled(HandlingKind::Acknowledged(None)), [Acknowledged; 3], (false, true)),
            (snoozed(SnoozeEnd::Change), [Snoozed; 3], (false, true)),
            (snoozed(SnoozeEnd::Until(at(60))), [Snoozed, Firing, Firing], (false, false)),
        ];
        assert_eq!(alert(None).state(at(10)), Firing);
        for (handling, states, over) in table {
            let mut alert = alert(Some(handling.clone()));
            assert_eq!([10, 60, 61].map(|second| alert.state(at(second))), states, "{handling:?}");
            assert_eq!((handling.is_over(at(10), false), handling.is_over(at(10), true)), over, "{handling:?}");
            alert.cleared_at = Some(at(20));
            assert_eq!(alert.state(at(30)), Cleared);
        }
    }
}
