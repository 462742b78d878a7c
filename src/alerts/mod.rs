//! The alerts' rules: what is raised, what counts towards clearing, what is cleared.
//!
//! Pure: a transaction, what stands, and the moment in; steps out. It must never raise anything on the strength of a
//! clock alone: it is asked after an answer, so that what it raises was freshly confirmed (`DESIGN.md`, Alerts).

use chrono::{DateTime, Utc};

use crate::domain::{
    advice,
    alert::{Alert, AlertStep, Rule, Subject},
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
    let clean = tx.learned.last_checked_at == Some(at);
    let mut steps: Vec<_> = own.iter().filter_map(|alert| step(tx, alert, &held, clean)).collect();
    let new = held.into_iter().filter(|rule| !hidden(*rule) && own.iter().all(|alert| alert.rule != *rule));
    steps.extend(new.map(|rule| AlertStep::Raise { rule, message: message(tx, rule) }));
    steps
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
    let learned = &tx.learned;
    match (rule, &tx.tracking) {
        (Rule::Overdue, _) => format!("past its limit of {}", tx.deadline().basis()),
        (Rule::Rejected, Tracking::Parked(reason)) => reason.clone(),
        (Rule::PollFailing, _) => learned.last_error.clone().unwrap_or_default(),
        (Rule::Regressed, _) => match (&learned.conflict, &learned.status) {
            (Some(conflict), _) => conflict.clone(),
            (None, Some(status)) => format!("the service says `{}`, which isn't documented", status.raw()),
            (None, None) => String::new(),
        },
        (Rule::NeedsGas, _) => "execution is paused on the destination chain".into(),
        (Rule::PartialSuccess, _) => "the destination transaction reverted".into(),
        (Rule::Refund | Rule::RefundSlow, _) => "funds return on the source chain".into(),
        (Rule::NotFoundLong, _) => learned.message.clone().unwrap_or_else(|| "no on-chain record yet".into()),
        (Rule::Rejected | Rule::Unauthorized | Rule::Unreachable | Rule::Throttled | Rule::BudgetShort, _) => {
            String::new()
        }
    }
}

/// What becomes of a profile's alerts when `now_holds` is the one condition that holds for it as a whole, if any: the
/// graver hides the others.
pub fn judge_profile(now_holds: Option<(Rule, &str)>, standing: &[Alert]) -> Vec<AlertStep> {
    let own = || standing.iter().filter(|alert| alert.subject == Subject::Profile && alert.rule.is_outage());
    let rule = now_holds.map(|(rule, _)| rule);
    let over = own().filter(|alert| Some(alert.rule) != rule);
    let mut steps: Vec<_> = over.map(|alert| AlertStep::Clear { id: alert.id, rule: alert.rule }).collect();
    if let Some((rule, message)) = now_holds
        && own().all(|alert| alert.rule != rule)
    {
        steps.push(AlertStep::Raise { rule, message: message.to_owned() });
    }
    steps
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::domain::{fixtures, observation::Failure, status::RouterStatus};

    fn alert(id: i64, rule: Rule, subject: Subject, clean: u32) -> Alert {
        let raised_at = DateTime::UNIX_EPOCH;
        Alert {
            id,
            rule,
            subject,
            profile: "default".into(),
            raised_at,
            clean,
            message: String::new(),
            acknowledged: None,
        }
    }

    fn after(status: RouterStatus, minutes: i64) -> (Transaction, DateTime<Utc>) {
        let mut tx = fixtures::transaction(1);
        let at = tx.first_seen_at + TimeDelta::minutes(minutes);
        tx.apply(&fixtures::says(status), at);
        (tx, at)
    }

    fn raised(steps: &[AlertStep]) -> Vec<Rule> {
        let rule = |step: &AlertStep| match step {
            AlertStep::Raise { rule, .. } => Some(*rule),
            _ => None,
        };
        steps.iter().filter_map(rule).collect()
    }

    #[test]
    fn each_status_raises_its_alert_once() {
        let table = [
            (RouterStatus::Ongoing, 5, vec![]),
            (RouterStatus::Ongoing, 15, vec![Rule::Overdue]),
            (RouterStatus::NotFound, 1, vec![]),
            (RouterStatus::NotFound, 3, vec![Rule::NotFoundLong]),
            (RouterStatus::NeedsGas, 1, vec![Rule::NeedsGas]),
            (RouterStatus::PartialSuccess, 1, vec![Rule::PartialSuccess]),
            (RouterStatus::Refund, 1, vec![Rule::Refund]),
            (RouterStatus::Unknown("settling".into()), 1, vec![Rule::Regressed]),
            (RouterStatus::Success, 60, vec![]),
        ];
        for (status, minutes, rules) in table {
            let (tx, at) = after(status, minutes);
            assert_eq!(raised(&judge(&tx, &[], at)), rules, "{:?}", tx.learned.status);
            let standing: Vec<_> = rules.iter().map(|rule| alert(1, *rule, Subject::Transaction(tx.id), 0)).collect();
            assert_eq!(judge(&tx, &standing, at), [], "{:?}", tx.learned.status);
        }
    }

    #[test]
    fn two_clean_observations_clear_and_a_relapse_starts_anew() {
        let (tx, at) = after(RouterStatus::Ongoing, 5);
        let own = Subject::Transaction(tx.id);
        let gas = |clean| [alert(7, Rule::NeedsGas, own, clean)];
        assert_eq!(judge(&tx, &gas(0), at), [AlertStep::Count { id: 7, clean: 1 }]);
        assert_eq!(judge(&tx, &gas(1), at), [AlertStep::Clear { id: 7, rule: Rule::NeedsGas }]);
        let (tx, at) = after(RouterStatus::NeedsGas, 5);
        assert_eq!(judge(&tx, &gas(1), at), [AlertStep::Count { id: 7, clean: 0 }]);
    }

    #[test]
    fn settling_clears_at_once_and_a_failure_clears_nothing() {
        let (tx, at) = after(RouterStatus::Success, 20);
        let overdue = [alert(7, Rule::Overdue, Subject::Transaction(tx.id), 0)];
        assert_eq!(judge(&tx, &overdue, at), [AlertStep::Clear { id: 7, rule: Rule::Overdue }]);
        let mut tx = fixtures::transaction(1);
        tx.apply(&fixtures::fails(Failure::Transport("reset".into())), at);
        assert_eq!(judge(&tx, &[alert(7, Rule::NeedsGas, Subject::Transaction(tx.id), 1)], at), []);
    }

    #[test]
    fn trouble_of_the_whole_profile_hides_what_follows_from_it() {
        let (tx, at) = after(RouterStatus::Ongoing, 20);
        let throttled = [alert(1, Rule::Throttled, Subject::Profile, 0)];
        assert_eq!(judge(&tx, &throttled, at), []);
        let (tx, at) = after(RouterStatus::NeedsGas, 20);
        assert_eq!(raised(&judge(&tx, &throttled, at)), [Rule::NeedsGas]);
    }

    #[test]
    fn five_failures_over_two_minutes_are_an_alert() {
        let mut tx = fixtures::transaction(1);
        let mut rules = Vec::new();
        for minute in 0..6 {
            let at = tx.first_seen_at + TimeDelta::seconds(30 * minute);
            tx.apply(&fixtures::fails(Failure::Transport("reset".into())), at);
            rules.push(raised(&judge(&tx, &[], at)));
        }
        assert_eq!(rules, [vec![], vec![], vec![], vec![], vec![Rule::PollFailing], vec![Rule::PollFailing]]);
    }

    #[test]
    fn the_graver_trouble_of_a_profile_takes_the_other_s_place() {
        let throttled = [alert(1, Rule::Throttled, Subject::Profile, 0)];
        assert_eq!(
            judge_profile(Some((Rule::Unauthorized, "no")), &throttled),
            [
                AlertStep::Clear { id: 1, rule: Rule::Throttled },
                AlertStep::Raise { rule: Rule::Unauthorized, message: "no".into() }
            ]
        );
        assert_eq!(judge_profile(Some((Rule::Throttled, "again")), &throttled), []);
        assert_eq!(judge_profile(None, &throttled), [AlertStep::Clear { id: 1, rule: Rule::Throttled }]);
    }
}
