//! Alerts as data: the rules' names, how grave each is, and what stands raised (`DESIGN.md`, Alerts).
//!
//! When an alert is raised or cleared is decided in `alerts`; here is only what it is.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::RowId;

mod life;

pub use life::{
    Acknowledgement, AlertState, FLAPPING_RAISES, FLAPPING_WITHIN, Handling, RESOLVED_FOR, Snooze, Snoozed,
};

/// How soon a person should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// For information.
    Info,
    /// Look.
    Warning,
    /// Act now.
    Critical,
}

impl Severity {
    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident $name:literal $severity:ident,)*) => {
        /// A condition that a person should know of. The order is that of urgency, the most urgent first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Rule { $($(#[$doc])* $rule,)* }

        impl Rule {
            /// Every rule, the most urgent first.
            pub const ALL: &[Self] = &[$(Self::$rule,)*];

            /// Whether this one keeps all answers of a profile away, so that nothing new can be concluded.
            pub fn is_outage(self) -> bool {
                matches!(self, Self::Unauthorized | Self::Unreachable | Self::Throttled)
            }

            /// As in the JSON and on screen.
            pub fn name(self) -> &'static str {
                match self { $(Self::$rule => $name,)* }
            }

            /// How soon a person should look.
            pub fn severity(self) -> Severity {
                match self { $(Self::$rule => Severity::$severity,)* }
            }

            /// The rule of this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|rule| rule.name() == name)
            }
        }
    };
}

rules! {
    /// The service refuses the integrator ID; all polling of the profile stands still.
    Unauthorized "unauthorized" Critical,
    /// The service can't be reached.
    Unreachable "unreachable" Critical,
    /// Still ongoing, or not found, past the deadline, freshly confirmed.
    Overdue "overdue" Critical,
    /// The destination side reverted.
    PartialSuccess "partial_success" Critical,
    /// The service says that we ask too often.
    Throttled "throttled" Warning,
    /// Execution is paused since the gas price rose.
    NeedsGas "needs_gas" Warning,
    /// A refund takes longer than usual.
    RefundSlow "refund_slow" Warning,
    /// Not visible for much longer than usual.
    NotFoundLong "not_found_long" Warning,
    /// The service refuses this transaction's parameters.
    Rejected "rejected" Warning,
    /// A settled status changed, or a value came that isn't documented.
    Regressed "regressed" Warning,
    /// Five failures in a row over two minutes.
    PollFailing "poll_failing" Warning,
    /// The budget can't keep the answers fresh: the need stays over nine tenths of it.
    BudgetShort "budget_short" Warning,
    /// Funds return to the order's `fromAddress`.
    Refund "refund" Info,
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// What an alert is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// One transaction.
    Transaction(RowId),
    /// A whole profile.
    Profile,
}

/// A raised alert.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// The store's number.
    pub id: i64,
    /// The condition.
    pub rule: Rule,
    /// What it is about.
    pub subject: Subject,
    /// The profile that it belongs to.
    pub profile: String,
    /// When it was raised.
    pub raised_at: DateTime<Utc>,
    /// Clean observations in a row since the condition last held. Two clear it.
    pub clean: u32,
    /// Whether it comes and goes: it was raised [`FLAPPING_RAISES`] times within [`FLAPPING_WITHIN`], with this time.
    pub flapping: bool,
    /// One line on this case.
    pub message: String,
    /// What a person has said of it, until that is over.
    pub handling: Option<Handling>,
    /// When it was cleared.
    pub cleared_at: Option<DateTime<Utc>>,
}

impl Alert {
    /// Where it is in its life at `at`. What is snoozed until a moment fires again by itself.
    pub fn state(&self, at: DateTime<Utc>) -> AlertState {
        match (self.cleared_at, &self.handling) {
            (Some(_), _) => AlertState::Cleared,
            (None, Some(Handling::Acknowledged(_))) => AlertState::Acknowledged,
            (None, Some(said)) if !said.is_over(at, false) => AlertState::Snoozed,
            (None, _) => AlertState::Firing,
        }
    }

    /// Forgets what is over at `at` by itself: nothing of what was said holds any more.
    pub fn end_snooze(&mut self, at: DateTime<Utc>) {
        self.handling.take_if(|said| said.is_over(at, false));
    }

    /// Who has taken it on.
    pub fn acknowledged(&self) -> Option<&Acknowledgement> {
        match &self.handling {
            Some(Handling::Acknowledged(acknowledgement)) => Some(acknowledgement),
            _ => None,
        }
    }

    /// How it is snoozed, whether or not that is over.
    pub fn snoozed(&self) -> Option<&Snoozed> {
        match &self.handling {
            Some(Handling::Snoozed(snoozed)) => Some(snoozed),
            _ => None,
        }
    }
}

/// How soon a person should look at what these are about: whether one fires of which nobody has said anything, and how grave
/// the gravest of those is, or else of all.
pub fn urgency(alerts: &[Alert]) -> Option<(bool, Severity)> {
    alerts.iter().map(|alert| (alert.handling.is_none(), alert.rule.severity())).max()
}

/// One step in an alert's life, decided by `alerts` and carried out by `store`.
#[derive(Clone, Debug, PartialEq)]
pub enum AlertStep {
    /// Raise the rule for the subject.
    Raise {
        /// The condition.
        rule: Rule,
        /// One line on this case.
        message: String,
    },
    /// Set how many clean observations in a row there were.
    Count {
        /// The alert.
        id: i64,
        /// The count.
        clean: u32,
    },
    /// Clear the alert.
    Clear {
        /// The alert.
        id: i64,
        /// The condition.
        rule: Rule,
    },
    /// End what set the alert aside: it fires again.
    EndHandling {
        /// The alert.
        id: i64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_found_by_its_name() {
        for rule in Rule::ALL {
            assert_eq!(Rule::named(rule.name()), Some(*rule));
            assert_eq!(serde_json::to_value(rule).unwrap(), rule.name());
        }
    }

    #[test]
    fn urgency_follows_severity() {
        assert!(Rule::ALL.is_sorted_by_key(|rule| std::cmp::Reverse(rule.severity())));
    }
}
