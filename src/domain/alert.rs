//! Alerts as data: the rules, their severities, and the alerts themselves (`DESIGN.md`, Alerts).
//!
//! This module must only define alerts; `alerts` decides when an alert is raised or cleared.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{ids::RowId, named::named};

mod life;

pub(crate) use life::{AlertState, FLAPPING_RAISES, FLAPPING_WITHIN, Handling, HandlingKind, RESOLVED_FOR, SnoozeEnd};

named! {
    /// How soon a person should react.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Severity: name {
        /// For information.
        Info "info",
        /// A person should look.
        Warning "warning",
        /// A person should act now.
        Critical "critical",
    }
}

impl Severity {
    /// Every severity, the most urgent first.
    pub(crate) const ALL: [Self; 3] = [Self::Critical, Self::Warning, Self::Info];
}

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident $name:literal $label:literal $severity:ident $kind:expr,)*) => {
        /// A condition that a person should know of, in the order of urgency, the most urgent first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Rule { $($(#[$doc])* $rule,)* }

        impl Rule {
            /// Every rule, the most urgent first.
            pub const ALL: &[Self] = &[$(Self::$rule,)*];

            /// Returns the name in JSON, filters and settings.
            pub fn name(self) -> &'static str {
                match self { $(Self::$rule => $name,)* }
            }

            /// Returns how soon a person should react.
            pub fn severity(self) -> Severity {
                match self { $(Self::$rule => Severity::$severity,)* }
            }

            /// Returns what raises this rule.
            pub fn kind(self) -> RuleKind {
                match self { $(Self::$rule => $kind,)* }
            }

            /// Returns the rule in words, of at most 15 letters, for a person.
            pub fn label(self) -> &'static str {
                match self { $(Self::$rule => $label,)* }
            }

            /// Returns the rule with this name.
            pub fn find_by_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|rule| rule.name() == name)
            }
        }
    };
}

rules! {
    /// The service refuses the integrator ID; all polling of the profile stops.
    Unauthorized "unauthorized" "ID refused" Critical RuleKind::Outage(Outage::Unauthorized),
    /// The service can't be reached.
    Unreachable "unreachable" "unreachable" Critical RuleKind::Outage(Outage::Unreachable),
    /// Still ongoing or not found past the deadline, confirmed by a fresh answer.
    Overdue "overdue" "overdue" Critical RuleKind::Delay,
    /// The destination transaction reverted.
    PartialSuccess "partial_success" "partial success" Critical RuleKind::Answer,
    /// The service throttles the integrator ID.
    Throttled "throttled" "throttled" Warning RuleKind::Outage(Outage::Throttled),
    /// Execution is paused because the gas price rose.
    NeedsGas "needs_gas" "needs gas" Warning RuleKind::Answer,
    /// A refund takes longer than usual.
    RefundSlow "refund_slow" "refund slow" Warning RuleKind::LastingState,
    /// The chain itself contradicts the service.
    ChainDisagrees "chain_disagrees" "chain disagrees" Warning RuleKind::Answer,
    /// Not found for much longer than usual.
    NotFoundLong "not_found_long" "still not found" Warning RuleKind::LastingState,
    /// The service refuses this transaction's parameters.
    Rejected "rejected" "rejected" Warning RuleKind::Answer,
    /// A settled status changed, or an undocumented value came.
    Regressed "regressed" "regressed" Warning RuleKind::Answer,
    /// Five failures in a row over two minutes.
    PollFailing "poll_failing" "polls fail" Warning RuleKind::RepeatedFailure,
    /// The budget can't keep the answers fresh: the need stays above nine tenths of the budget.
    BudgetShort "budget_short" "budget too low" Warning RuleKind::Budget,
    /// Funds return to the order's `fromAddress`.
    Refund "refund" "refund" Info RuleKind::Answer,
}

/// What raises a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// No answers reach the profile, so that nothing new can be concluded.
    Outage(Outage),
    /// The budget of the profile.
    Budget,
    /// An answer says so.
    Answer,
    /// An answer confirms that a state lasts too long. A failed request shows only that time passed.
    LastingState,
    /// Something should have happened by now, and an answer confirms that it didn't. An outage explains it.
    Delay,
    /// Requests about the transaction fail. An outage explains it.
    RepeatedFailure,
}

/// What keeps answers from reaching a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// The service refuses the integrator ID.
    Unauthorized,
    /// The service can't be reached.
    Unreachable,
    /// The service throttles the integrator ID.
    Throttled,
}

impl Rule {
    /// Whether no answers reach the profile while this rule is active.
    pub fn is_outage(self) -> bool {
        self.outage().is_some()
    }

    /// Returns what keeps answers from reaching the profile while this rule is active.
    pub(crate) fn outage(self) -> Option<Outage> {
        let RuleKind::Outage(outage) = self.kind() else { return None };
        Some(outage)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// An alert, active or cleared.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// The store's number.
    pub id: i64,
    /// The rule.
    pub rule: Rule,
    /// The transaction; `None` for an alert of the whole profile.
    pub transaction: Option<RowId>,
    /// The profile of the alert.
    pub profile: String,
    /// When the alert was raised.
    pub raised_at: DateTime<Utc>,
    /// The number of clean observations in a row since the condition last held. Two clear the alert.
    pub clean: u32,
    /// Whether the alert flaps: raised `FLAPPING_RAISES` times within `FLAPPING_WITHIN`, this raise included.
    pub is_flapping: bool,
    /// One line that describes this case.
    pub message: String,
    /// How a person handled the alert; `None` once that is over.
    pub handling: Option<Handling>,
    /// When the alert was cleared.
    pub cleared_at: Option<DateTime<Utc>>,
}

impl Alert {
    /// Returns the state at `at`. A snooze until a moment ends by itself; then the alert fires again.
    pub fn state(&self, at: DateTime<Utc>) -> AlertState {
        match (self.cleared_at, &self.handling) {
            (Some(_), _) => AlertState::Cleared,
            (None, Some(Handling { kind: HandlingKind::Acknowledged(_), .. })) => AlertState::Acknowledged,
            (None, Some(handling)) if !handling.is_over(at, false) => AlertState::Snoozed,
            (None, _) => AlertState::Firing,
        }
    }

    /// Removes the handling if it is over at `at` by itself.
    pub fn end_snooze(&mut self, at: DateTime<Utc>) {
        self.handling.take_if(|handling| handling.is_over(at, false));
    }

    /// Returns the acknowledgement, if there is one.
    pub fn acknowledged(&self) -> Option<&Handling> {
        self.handling.as_ref().filter(|handling| handling.snooze().is_none())
    }

    /// Returns the snooze, if there is one, even if it is over.
    pub fn snoozed(&self) -> Option<&Handling> {
        self.handling.as_ref().filter(|handling| handling.snooze().is_some())
    }
}

/// How urgent the alerts of one transaction are. An unhandled alert is more urgent than any handled one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Urgency {
    /// Whether an alert is neither acknowledged nor snoozed.
    pub(crate) is_unhandled: bool,
    /// The highest severity of the unhandled alerts, or else of all.
    pub(crate) severity: Severity,
}

/// Returns the urgency of alerts; `None` without any.
pub(crate) fn urgency(alerts: &[Alert]) -> Option<Urgency> {
    let of = |alert: &Alert| Urgency { is_unhandled: alert.handling.is_none(), severity: alert.rule.severity() };
    alerts.iter().map(of).max()
}

/// One transition of an alert, decided by `alerts` and carried out by `store`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AlertStep {
    /// Raise the rule for the subject.
    Raise {
        rule: Rule,
        /// One line that describes this case.
        message: String,
    },
    /// Set the number of clean observations in a row.
    SetCleanCount { id: i64, clean: u32 },
    /// Clear the alert.
    Clear { id: i64, rule: Rule },
    /// End the acknowledgement or snooze, so that the alert fires again.
    EndHandling { id: i64 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_found_by_its_name() {
        for rule in Rule::ALL {
            assert_eq!(Rule::find_by_name(rule.name()), Some(*rule));
            assert_eq!(serde_json::to_value(rule).unwrap(), rule.name());
        }
    }

    #[test]
    fn rules_are_sorted_by_severity() {
        assert!(Rule::ALL.is_sorted_by_key(|rule| std::cmp::Reverse(rule.severity())));
    }
}
