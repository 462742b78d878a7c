//! What becomes of an alert while it stands: a person takes it on or snoozes it, and either ends (`DESIGN.md`, Alerts).
//!
//! Only what the states are, and which holds at a moment. What a change in the transaction ends is decided in `alerts`;
//! nothing here may ask a clock.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// So many raises of one rule for one subject, within [`FLAPPING_WITHIN`], make an alert flapping: that is said once, and none
/// of its further raises and clears is news.
pub const FLAPPING_RAISES: usize = 3;
/// How far back raises count towards flapping.
pub const FLAPPING_WITHIN: TimeDelta = TimeDelta::minutes(10);

/// How long what was cleared is shown as resolved.
pub const RESOLVED_FOR: TimeDelta = TimeDelta::hours(24);

/// Where an alert is in its life, at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AlertState {
    /// It stands, and nobody has said anything of it.
    Firing,
    /// A person has taken it on.
    Acknowledged,
    /// A person doesn't want to hear of it for now.
    Snoozed,
    /// It stands no more.
    Cleared,
}

impl AlertState {
    /// As in the JSON and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Firing => "firing",
            Self::Acknowledged => "acknowledged",
            Self::Snoozed => "snoozed",
            Self::Cleared => "cleared",
        }
    }
}

/// What a person has said of an alert that stands. It stands on, behind those of which nothing is said. The last word counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handling {
    /// They have taken it on.
    Acknowledged(Acknowledgement),
    /// They don't want to hear of it for now.
    Snoozed(Snoozed),
}

impl Handling {
    /// Whether it is over at `at`, given whether there is a `change`: the status is another, or graver things stand. What
    /// was snoozed until a moment waits for that moment alone.
    pub fn is_over(&self, at: DateTime<Utc>, change: bool) -> bool {
        match self {
            Self::Acknowledged(_) | Self::Snoozed(Snoozed { until: Snooze::Change, .. }) => change,
            Self::Snoozed(Snoozed { until: Snooze::Until(moment), .. }) => *moment <= at,
        }
    }
}

/// A person has taken an alert on. It ends with a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// When.
    pub at: DateTime<Utc>,
    /// In their words.
    pub note: Option<String>,
}

/// A person has snoozed an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snoozed {
    /// When.
    pub at: DateTime<Utc>,
    /// Until when.
    pub until: Snooze,
}

/// How long an alert is snoozed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Snooze {
    /// Until a moment, whatever happens before it.
    Until(DateTime<Utc>),
    /// Until the transaction's status changes, or graver things stand for it.
    Change,
}

impl Snooze {
    /// The moment at which it ends by itself, if there is one.
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

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn alert(handling: Option<Handling>) -> Alert {
        Alert {
            id: 1,
            rule: Rule::Overdue,
            subject: Subject::Profile,
            profile: "default".into(),
            raised_at: at(0),
            clean: 0,
            flapping: false,
            message: String::new(),
            handling,
            cleared_at: None,
        }
    }

    #[test]
    fn the_state_follows_from_what_was_said_and_from_the_moment() {
        use AlertState::{Acknowledged, Cleared, Firing, Snoozed as Asleep};
        let acknowledged = || Handling::Acknowledged(Acknowledgement { at: at(5), note: None });
        let snoozed = |until| Handling::Snoozed(Snoozed { at: at(5), until });
        // What was said; the state at 10 s, at 60 s and at 61 s; whether it is over at 10 s, without and with a change.
        let table = [
            (acknowledged(), [Acknowledged; 3], (false, true)),
            (snoozed(Snooze::Change), [Asleep; 3], (false, true)),
            (snoozed(Snooze::Until(at(60))), [Asleep, Firing, Firing], (false, false)),
        ];
        assert_eq!(alert(None).state(at(10)), Firing);
        for (said, states, over) in table {
            let mut alert = alert(Some(said.clone()));
            assert_eq!([10, 60, 61].map(|second| alert.state(at(second))), states, "{said:?}");
            assert_eq!((said.is_over(at(10), false), said.is_over(at(10), true)), over, "{said:?}");
            alert.cleared_at = Some(at(20));
            assert_eq!(alert.state(at(30)), Cleared);
        }
    }
}
