//! The life cycle of an active alert: a person acknowledges or snoozes the alert, and both end again (`DESIGN.md`,
//! Alerts).
//!
//! This module defines the states, and when an acknowledgement or a snooze ends. `Alert::state` returns the state at a
//! moment. `alerts` decides what a change of the transaction ends.
//! Nothing here may read a clock.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// The number of raises of one rule for one subject, within [`FLAPPING_WITHIN`], that makes an alert flapping. Flapping
/// is reported once; further raises and clears are not.
pub(crate) const FLAPPING_RAISES: usize = 3;
/// The time within which raises count towards flapping.
pub(crate) const FLAPPING_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// How long a cleared alert is shown as resolved.
pub(crate) const RESOLVED_FOR: TimeDelta = TimeDelta::hours(24);

/// The state of an alert at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AlertState {
    /// The alert is active, and nobody has handled it.
    Firing,
    /// A person acknowledged the alert.
    Acknowledged,
    /// A person snoozed the alert.
    Snoozed,
    /// The alert is no longer active.
    Cleared,
}

impl AlertState {
    /// Returns the name in JSON. The screen shows `resolved` for a cleared alert.
    pub fn name(self) -> &'static str {
        match self {
            Self::Firing => "firing",
            Self::Acknowledged => "acknowledged",
            Self::Snoozed => "snoozed",
            Self::Cleared => "cleared",
        }
    }
}

/// How a person handled an active alert. The alert stays active, below unhandled alerts. The last action counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handling {
    /// The person acknowledged the alert.
    Acknowledged(Acknowledgement),
    /// The person snoozed the alert.
    Snoozed(Snoozed),
}

impl Handling {
    /// Returns the name of the person who handled the alert, if set.
    pub fn author(&self) -> Option<&str> {
        match self {
            Self::Acknowledged(acknowledgement) => acknowledgement.author.as_deref(),
            Self::Snoozed(snoozed) => snoozed.author.as_deref(),
        }
    }

    /// Whether the handling is over at `at`. `has_changed`: the status changed or the severity rose. A snooze
    /// until a moment ends at that moment only.
    pub fn is_over(&self, at: DateTime<Utc>, has_changed: bool) -> bool {
        match self {
            Self::Acknowledged(_) | Self::Snoozed(Snoozed { until: SnoozeEnd::Change, .. }) => has_changed,
            Self::Snoozed(Snoozed { until: SnoozeEnd::Until(moment), .. }) => *moment <= at,
        }
    }
}

/// The acknowledgement of an alert. It ends when the status changes or the severity rises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// When the alert was acknowledged.
    pub at: DateTime<Utc>,
    /// The person's note.
    pub note: Option<String>,
    /// The person's name, if set.
    pub author: Option<String>,
}

/// The snooze of an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snoozed {
    /// When the alert was snoozed.
    pub at: DateTime<Utc>,
    /// The end of the snooze.
    pub until: SnoozeEnd,
    /// The person's name, if set.
    pub author: Option<String>,
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
        Alert { handling, ..fixtures::alert(Rule::Overdue, AlertSubject::Profile) }
    }

    #[test]
    fn the_state_follows_from_the_handling_and_the_moment() {
        use AlertState::{Acknowledged, Cleared, Firing, Snoozed as SnoozedState};
        let acknowledged = || Handling::Acknowledged(Acknowledgement { at: at(5), note: None, author: None });
        let snoozed = |until| Handling::Snoozed(Snoozed { at: at(5), until, author: None });
        // The handling; the state at 10 s, 60 s and 61 s; whether the handling is over at 10 s, without and with a
        // change.
        let table = [
            (acknowledged(), [Acknowledged; 3], (false, true)),
            (snoozed(SnoozeEnd::Change), [SnoozedState; 3], (false, true)),
            (snoozed(SnoozeEnd::Until(at(60))), [SnoozedState, Firing, Firing], (false, false)),
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
