//! The alerts' rules: what is raised, what counts towards clearing, what is cleared, and what ends an acknowledgement or a
//! snooze.
//!
//! ```text
//!            raise                       two clean observations, or settled
//!   (none) ────────> firing ──────────────────────────────────────────────> cleared
//!                    │    ^                                                    ^
//!     a person says  v    │ the status changes, graver things stand,           │ the same
//!           acknowledged, snoozed    or the moment has come ───────────────────┘
//! ```
//!
//! The third raise of a rule for one subject within ten minutes makes it flapping: the store, which has those before, says
//! so once.
//!
//! Pure: a transaction, what stands, and the moment in; steps out. It must never raise anything on the strength of a
//! clock alone: it is asked after an answer, so that what it raises was freshly confirmed (`DESIGN.md`, Alerts).

use chrono::{DateTime, Utc};

use crate::domain::{
    advice,
    alert::{Alert, AlertStep, Rule, Severity, Subject},
    operation::ProfileEvent,
    transaction::{Tracking, Transaction},
};

/// Clean observations in a row that clear an alert.
const CLEAN_TO_CLEAR: u32 = 2;

/// What an answer at `at` means for a transaction's alerts, given it after that answer and what `standing` there is for
/// it and for its profile.
pub fn judge(tx: &Transaction, standing: &[Alert], at: DateTime<Utc>) -> Vec<AlertStep> {
    let held = advice::conditions(tx, at);
    let (own, of_profile): (Vec<&Alert>, Vec<&Alert>) =
        standing.iter().partition(|alert| alert.subject == Subject::Transaction(tx.id));
    let outage = of_profile.iter().any(|alert| alert.rule.is_outage());
    let hidden = |rule: Rule| outage && matches!(rule, Rule::Overdue | Rule::PollFailing);
    let clean = tx.state.last_checked_at == Some(at);
    // As of what is overdue an answer says so: a failed request only lets time pass.
    let unsaid = |rule: Rule| !clean && matches!(rule, Rule::NotFoundLong | Rule::RefundSlow);
    let is_new = |rule: &Rule| !hidden(*rule) && !unsaid(*rule) && own.iter().all(|alert| alert.rule != *rule);
    let new: Vec<Rule> = held.iter().copied().filter(is_new).collect();
    let change = tx.state.status_since == Some(at) || gravest(&new) > gravest(own.iter().map(|alert| &alert.rule));
    let mut steps = Vec::new();
    for alert in own {
        let own = step(tx, alert, &held, clean);
        // What is cleared keeps what was said of it.
        let stands = !matches!(own, Some(AlertStep::Clear { .. }));
        steps.extend((stands && ends(alert, at, change)).then_some(AlertStep::EndHandling { id: alert.id }));
        steps.extend(own);
    }
    steps.extend(new.into_iter().map(|rule| AlertStep::Raise { rule, message: message(tx, rule) }));
    steps
}

fn gravest<'a>(rules: impl IntoIterator<Item = &'a Rule>) -> Option<Severity> {
    rules.into_iter().map(|rule| rule.severity()).max()
}

/// Whether what set an alert aside is over.
fn ends(alert: &Alert, at: DateTime<Utc>, change: bool) -> bool {
    alert.handling.as_ref().is_some_and(|said| said.is_over(at, change))
}

fn step(tx: &Transaction, alert: &Alert, held: &[Rule], clean: bool) -> Option<AlertStep> {
    let Alert { id, rule, .. } = *alert;
    if held.contains(&rule) {
        return (alert.clean > 0).then_some(AlertStep::Count { id, clean: 0 });
    }
    // Of a settled one no second answer will come.
    let over = tx.is_settled() || alert.clean + 1 >= CLEAN_TO_CLEAR;
    match (clean, over) {
        (false, _) => None,
        (true, true) => Some(AlertStep::Clear { id, rule }),
        (true, false) => Some(AlertStep::Count { id, clean: alert.clean + 1 }),
    }
}

/// One line on this case.
fn message(tx: &Transaction, rule: Rule) -> String {
    let state = &tx.state;
    match (rule, &tx.tracking) {
        (Rule::Overdue, _) => format!("past its limit of {}", tx.deadline().basis()),
        (Rule::Rejected, Tracking::Parked(reason)) => reason.clone(),
        (Rule::PollFailing, _) => state.last_error.clone().unwrap_or_default(),
        (Rule::Regressed, _) => match (&state.conflict, &state.status) {
            (Some(conflict), _) => conflict.clone(),
            (None, Some(status)) => format!("the service says `{}`, which isn't documented", status.raw()),
            (None, None) => String::new(),
        },
        (Rule::NeedsGas, _) => "execution is paused on the destination chain".into(),
        (Rule::PartialSuccess, _) => "the destination transaction reverted".into(),
        (Rule::Refund | Rule::RefundSlow, _) => "funds return on the source chain".into(),
        (Rule::NotFoundLong, _) => state.message.clone().unwrap_or_else(|| "no on-chain record yet".into()),
        (Rule::Rejected | Rule::Unauthorized | Rule::Unreachable | Rule::Throttled | Rule::BudgetShort, _) => {
            String::new()
        }
    }
}

/// What an event makes of the active alerts of its profile. Of the conditions that keep every answer away only one holds at a
/// time: the graver hides the others.
pub fn judge_profile(event: &ProfileEvent, active: &[Alert]) -> Vec<AlertStep> {
    let own = || active.iter().filter(|alert| alert.subject == Subject::Profile);
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
    let is_over = |alert: &&Alert| alert.rule.is_outage() && outage.is_none_or(|(rule, _)| rule != alert.rule);
    let over = own().filter(is_over).map(clear);
    over.chain(outage.and_then(|(rule, message)| raise(rule, message))).collect()
}

#[cfg(test)]
mod tests;
