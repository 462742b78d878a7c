//! The rules of alerts: the conditions that raise and clear an alert, and that end its acknowledgement or snooze.
//!
//! ```text
//!            raise                       two clean observations, or settled
//!   (none) ────────> firing ──────────────────────────────────────────────> cleared
//!                    │    ^                                                    ^
//!     a person acts  v    │ the status changes, or the severity rises,         │ the same
//!           acknowledged, snoozed    or the snooze is over ────────────────────┘
//! ```
//!
//! The third raise of a rule for one subject within ten minutes makes the alert flapping. The store detects flapping,
//! because it has the earlier raises.
//!
//! The module is pure: a transaction, active alerts and a moment go in, steps come out. A clock alone must never raise
//! an alert: the rules run after an answer, so that every raised alert is freshly confirmed (`DESIGN.md`, Alerts).

use chrono::{DateTime, Utc};

use crate::domain::{
    advice,
    alert::{Alert, AlertStep, Rule, RuleKind, Severity},
    chain_check,
    operation::ProfileEvent,
    transaction::{Tracking, Transaction},
};

/// The number of clean observations in a row that clears an alert.
const CLEAN_TO_CLEAR: u32 = 2;

/// Returns the steps for a transaction's alerts after an answer at `at`. `tx` includes that answer; `active` are the
/// active alerts of the transaction and of its profile. The answer to a request that was under way when a person
/// stopped the polling raises nothing: no later answer could clear the alert.
pub(crate) fn evaluate_answer(tx: &Transaction, active: &[Alert], at: DateTime<Utc>) -> Vec<AlertStep> {
    let is_untracked = tx.tracking == Tracking::Untracked;
    let conditions = if is_untracked { Vec::new() } else { advice::conditions(tx, at) };
    let own = || active.iter().filter(|alert| alert.transaction == Some(tx.id));
    let has_outage = active.iter().any(|alert| alert.rule.is_outage());
    let is_answered = tx.state.last_checked_at == Some(at);
    // An answer "not found" about a known transaction says nothing about its status, but isn't a failure.
    let has_status = is_answered && (tx.state.conflict.is_none() || tx.is_settled());
    let is_clean = tx.state.last_error.is_none();
    let can_be_raised = |rule: &Rule| match rule.kind() {
        RuleKind::Delay => !has_outage && is_answered,
        RuleKind::RepeatedFailure => !has_outage,
        RuleKind::LastingState => has_status,
        RuleKind::Outage(_) | RuleKind::Budget | RuleKind::Answer => true,
    };
    let is_new = |rule: &Rule| can_be_raised(rule) && own().all(|alert| alert.rule != *rule);
    let new: Vec<Rule> = conditions.iter().copied().filter(is_new).collect();
    let has_changed =
        tx.state.status_since == Some(at) || highest_severity(&new) > highest_severity(own().map(|alert| &alert.rule));
    let mut steps = Vec::new();
    for alert in own() {
        let next = next_step(tx, alert, &conditions, is_clean);
        // A cleared alert keeps its acknowledgement or snooze.
        if !matches!(next, Some(AlertStep::Clear { .. })) {
            steps.extend(end_of_handling(alert, at, has_changed));
        }
        steps.extend(next);
        // With a new reason, such as after a refusal of the corrected parameters, the alert is a new one.
        let has_reason = alert.rule == Rule::Rejected || alert.rule == Rule::Regressed && has_status;
        let tells_reason = has_reason && conditions.contains(&alert.rule);
        let message = message(tx, alert.rule);
        if tells_reason && alert.message != message {
            steps.push(AlertStep::Clear { id: alert.id, rule: alert.rule });
            steps.push(AlertStep::Raise { rule: alert.rule, message });
        }
    }
    steps.extend(new.into_iter().map(|rule| AlertStep::Raise { rule, message: message(tx, rule) }));
    steps
}

fn end_of_handling(alert: &Alert, at: DateTime<Utc>, has_changed: bool) -> Option<AlertStep> {
    let is_over = alert.handling.as_ref().is_some_and(|handling| handling.is_over(at, has_changed));
    is_over.then_some(AlertStep::EndHandling { id: alert.id })
}

/// Returns the steps for a transaction's alerts after an answer of its source chain at `at`. The answer raises and clears
/// `ChainDisagrees`. It raises `NotFoundLong` if the transaction failed on its source chain; only an answer of the
/// service clears `NotFoundLong`. After a person stopped the polling, nothing is raised.
pub(crate) fn evaluate_chain_answer(tx: &Transaction, active: &[Alert], at: DateTime<Utc>) -> Vec<AlertStep> {
    let is_tracked = tx.tracking != Tracking::Untracked;
    let disagrees = is_tracked && chain_check::contradiction(tx).is_some();
    let has_failed = is_tracked && advice::has_failed(tx);
    let own = || active.iter().filter(|alert| alert.transaction == Some(tx.id));
    let is_new = |rule: &Rule| own().all(|alert| alert.rule != *rule);
    let conditions = [disagrees.then_some(Rule::ChainDisagrees), has_failed.then_some(Rule::NotFoundLong)];
    let new: Vec<Rule> = conditions.into_iter().flatten().filter(is_new).collect();
    let has_risen = highest_severity(&new) > highest_severity(own().map(|alert| &alert.rule));
    let next = |alert: &Alert| match alert.rule {
        Rule::ChainDisagrees if !disagrees => Some(AlertStep::Clear { id: alert.id, rule: alert.rule }),
        _ => end_of_handling(alert, at, has_risen),
    };
    let raised = new.iter().map(|rule| AlertStep::Raise { rule: *rule, message: message(tx, *rule) });
    own().filter_map(next).chain(raised).collect()
}

fn highest_severity<'a>(rules: impl IntoIterator<Item = &'a Rule>) -> Option<Severity> {
    rules.into_iter().map(|rule| rule.severity()).max()
}

fn next_step(tx: &Transaction, alert: &Alert, conditions: &[Rule], is_clean: bool) -> Option<AlertStep> {
    let Alert { id, rule, .. } = *alert;
    if conditions.contains(&rule) {
        return (alert.clean > 0).then_some(AlertStep::SetCleanCount { id, clean: 0 });
    }
    // A settled transaction is not polled again, so that no second clean answer comes.
    let is_over = tx.is_settled() || alert.clean + 1 >= CLEAN_TO_CLEAR;
    match (is_clean, is_over) {
        (false, _) => None,
        (true, true) => Some(AlertStep::Clear { id, rule }),
        (true, false) => Some(AlertStep::SetCleanCount { id, clean: alert.clean + 1 }),
    }
}

/// Returns one line about this case.
fn message(tx: &Transaction, rule: Rule) -> String {
    let state = &tx.state;
    match rule {
        Rule::Overdue => format!("past its limit of {}", tx.deadline().basis()),
        Rule::Rejected => match &tx.tracking {
            Tracking::Parked(reason) => reason.clone(),
            Tracking::Active | Tracking::Untracked => String::new(),
        },
        Rule::PollFailing => state.last_error.clone().unwrap_or_default(),
        Rule::Regressed => match (&state.conflict, &state.status) {
            (Some(conflict), _) => conflict.clone(),
            (None, Some(status)) if status.raw().is_empty() => "the answer has no status".into(),
            (None, Some(status)) => format!("the service says `{}`, which isn't documented", status.raw()),
            (None, None) => String::new(),
        },
        Rule::NeedsGas => "execution is paused on the destination chain".into(),
        Rule::PartialSuccess => "the destination transaction reverted".into(),
        Rule::Refund | Rule::RefundSlow => "funds return on the source chain".into(),
        Rule::NotFoundLong => {
            let failure = chain_check::failure(tx).or_else(|| state.message.clone());
            failure.unwrap_or_else(|| "no on-chain record yet".into())
        }
        Rule::ChainDisagrees => chain_check::contradiction(tx).unwrap_or_default(),
        Rule::Unauthorized | Rule::Unreachable | Rule::Throttled | Rule::BudgetShort => String::new(),
    }
}

/// Returns the steps for a profile's alerts after an event. Of the outage alerts only one is active at a time: a new
/// outage replaces the former one. Only a refused ID hides the other outages until the service answers again. A
/// restarted poller may be throttled before the service refuses the ID again.
pub(crate) fn evaluate_profile_event(event: &ProfileEvent, active: &[Alert]) -> Vec<AlertStep> {
    let own = || active.iter().filter(|alert| alert.transaction.is_none());
    let clear = |alert: &Alert| AlertStep::Clear { id: alert.id, rule: alert.rule };
    let raise = |rule: Rule, message: &str| {
        let is_active = own().any(|alert| alert.rule == rule);
        (!is_active).then(|| AlertStep::Raise { rule, message: message.to_owned() })
    };
    let outage = match event {
        ProfileEvent::BudgetShort(message) => return raise(Rule::BudgetShort, message).into_iter().collect(),
        ProfileEvent::BudgetSufficient => {
            return own().filter(|alert| alert.rule == Rule::BudgetShort).map(clear).collect();
        }
        ProfileEvent::Throttled(message) => Some((Rule::Throttled, message)),
        ProfileEvent::Unauthorized(message) => Some((Rule::Unauthorized, message)),
        ProfileEvent::Unreachable(message) => Some((Rule::Unreachable, message)),
        ProfileEvent::Recovered => None,
    };
    if matches!(event, ProfileEvent::Throttled(_) | ProfileEvent::Unreachable(_))
        && own().any(|alert| alert.rule == Rule::Unauthorized)
    {
        return Vec::new();
    }
    let is_over = |alert: &&Alert| alert.rule.is_outage() && outage.is_none_or(|(rule, _)| rule != alert.rule);
    let over = own().filter(is_over).map(clear);
    over.chain(outage.and_then(|(rule, message)| raise(rule, message))).collect()
}

#[cfg(test)]
mod tests;
