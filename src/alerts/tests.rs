//! Tests of the rules on tables, and of the life cycle against a model.

use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;
use crate::domain::{
    alert::{AlertState, Handling, HandlingKind, SnoozeEnd},
    fixtures,
    ids::{ChainId, RowId},
    observation::{Observation, RequestFailure},
    on_chain::{ChainReading, ChainVerdict, Mined, OnChainState},
    status::RouterStatus,
};

fn alert(id: i64, rule: Rule, transaction: Option<RowId>, clean: u32) -> Alert {
    Alert { id, clean, ..fixtures::alert(rule, transaction) }
}

fn after_answer(status: RouterStatus, minutes: i64) -> (Transaction, DateTime<Utc>) {
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
        let (tx, at) = after_answer(status, minutes);
        assert_eq!(raised(&evaluate_answer(&tx, &[], at)), rules, "{:?}", tx.state.status);
        let raised = |rule: &Rule| Alert { message: message(&tx, *rule), ..alert(1, *rule, Some(tx.id), 0) };
        let active: Vec<_> = rules.iter().map(raised).collect();
        assert_eq!(evaluate_answer(&tx, &active, at), [], "{:?}", tx.state.status);
    }
}

#[test]
fn another_undocumented_status_raises_its_alert_again() {
    let (mut tx, at) = after_answer(RouterStatus::Unknown("settling".into()), 1);
    let active = Alert { message: message(&tx, Rule::Regressed), ..alert(7, Rule::Regressed, Some(tx.id), 0) };
    let later = at + TimeDelta::minutes(1);
    tx.apply(&fixtures::says(RouterStatus::Unknown(String::new())), later);
    let steps = evaluate_answer(&tx, &[active], later);
    let [AlertStep::Clear { id: 7, .. }, AlertStep::Raise { message, .. }] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!(message, "the answer has no status");
}

/// Returns a transaction for which the rule holds, and the moment; `None` for a rule about a profile.
fn transaction_that_raises(rule: Rule) -> Option<(Transaction, DateTime<Utc>)> {
    let refund_after = |minutes| {
        let (mut tx, at) = after_answer(RouterStatus::Refund, 1);
        let later = at + TimeDelta::minutes(minutes);
        tx.apply(&fixtures::says(RouterStatus::Refund), later);
        (tx, later)
    };
    let (mut ongoing, at) = after_answer(RouterStatus::Ongoing, 5);
    Some(match rule {
        Rule::Overdue => after_answer(RouterStatus::Ongoing, 15),
        Rule::PartialSuccess => after_answer(RouterStatus::PartialSuccess, 1),
        Rule::NeedsGas => after_answer(RouterStatus::NeedsGas, 1),
        Rule::Refund => refund_after(1),
        Rule::RefundSlow => refund_after(16),
        Rule::NotFoundLong => after_answer(RouterStatus::NotFound, 3),
        Rule::Regressed => after_answer(RouterStatus::Unknown("settling".into()), 1),
        Rule::ChainDisagrees => {
            let reverted = ChainReading::without_node(ChainVerdict::Reverted(Mined::default()));
            ongoing.on_chain = Some(OnChainState::after(None, reverted, None, at));
            (ongoing, at)
        }
        Rule::Rejected => {
            ongoing.tracking = Tracking::Parked("fromChainId does not match".into());
            (ongoing, at)
        }
        Rule::PollFailing => {
            for minutes in 0..5 {
                ongoing.apply(
                    &fixtures::fails(RequestFailure::Transport("reset".into())),
                    at + TimeDelta::minutes(minutes),
                );
            }
            (ongoing, at + TimeDelta::minutes(4))
        }
        Rule::Unauthorized | Rule::Unreachable | Rule::Throttled | Rule::BudgetShort => return None,
    })
}

#[test]
fn each_rule_about_a_transaction_holds_for_one_and_says_why_and_what_to_do() {
    for rule in Rule::ALL {
        let Some((tx, at)) = transaction_that_raises(*rule) else { continue };
        assert!(advice::conditions(&tx, at).contains(rule), "{rule}");
        assert!(!message(&tx, *rule).is_empty(), "{rule} has no message");
        let advice = advice::advise(&tx, at, chrono::Offset::fix(&Utc));
        assert!(!advice.verdict.is_empty() && !advice.say.is_empty() && !advice.act.is_empty(), "{rule}: {advice:?}");
    }
}

#[test]
fn chain_verdict_raises_and_clears_only_its_own_rule_and_an_agreeing_status_clears_it() {
    let (mut tx, at) = after_answer(RouterStatus::Ongoing, 20);
    let says = |verdict| Some(OnChainState::after(None, ChainReading::without_node(verdict), None, at));
    tx.on_chain = says(ChainVerdict::Reverted(Mined::default()));
    // Overdue needs an answer of the service.
    assert_eq!(raised(&evaluate_chain_answer(&tx, &[], at)), [Rule::ChainDisagrees]);
    // It ends the acknowledgement of a less severe alert.
    let handling = acknowledged();
    let less = Alert { handling, ..alert(2, Rule::Refund, Some(tx.id), 0) };
    assert!(evaluate_chain_answer(&tx, &[less], at).contains(&AlertStep::EndHandling { id: 2 }));
    let active = [alert(1, Rule::ChainDisagrees, Some(tx.id), 0)];
    assert_eq!(evaluate_chain_answer(&tx, &active, at), []);
    tx.on_chain = says(ChainVerdict::Succeeded(Mined::default()));
    assert_eq!(evaluate_chain_answer(&tx, &active, at), [AlertStep::Clear { id: 1, rule: Rule::ChainDisagrees }]);
    tx.on_chain = says(ChainVerdict::Reverted(Mined::default()));
    let untracked = Transaction { tracking: Tracking::Untracked, ..tx.clone() };
    assert_eq!(evaluate_chain_answer(&untracked, &[], at), [], "nobody polls it");
    tx.on_chain = says(ChainVerdict::Succeeded(Mined::default()));
    let of_another = [alert(1, Rule::ChainDisagrees, Some(RowId(99)), 0)];
    assert_eq!(evaluate_chain_answer(&tx, &of_another, at), []);
    // An answer of the service judges the rule like the others.
    tx.on_chain = says(ChainVerdict::Reverted(Mined::default()));
    let (answered, later) = (fixtures::says(RouterStatus::Success), at + TimeDelta::seconds(9));
    tx.apply(&answered, later);
    assert_eq!(raised(&evaluate_answer(&tx, &[], later)), [Rule::ChainDisagrees]);
}

#[test]
fn transaction_that_failed_on_its_source_chain_needs_somebody_at_once() {
    let (mut tx, at) = after_answer(RouterStatus::NotFound, 1);
    assert_eq!(raised(&evaluate_answer(&tx, &[], at)), []);
    let says = |verdict| Some(OnChainState::after(None, ChainReading::without_node(verdict), None, at));
    for (verdict, expected) in [
        (ChainVerdict::Reverted(Mined::default()), "reverted on Arbitrum"),
        (ChainVerdict::Elsewhere(ChainId::new("8453")), "found on Base, not on Arbitrum"),
    ] {
        tx.on_chain = says(verdict);
        let raise = AlertStep::Raise { rule: Rule::NotFoundLong, message: expected.into() };
        // By the chain's answer, or by the next one of the service.
        for steps in [evaluate_chain_answer(&tx, &[], at), evaluate_answer(&tx, &[], at)] {
            assert!(steps.contains(&raise), "{steps:?}");
        }
        let own = [alert(1, Rule::NotFoundLong, Some(tx.id), 0)];
        assert_eq!((evaluate_chain_answer(&tx, &own, at), tx.is_awaited()), (vec![], false));
    }
    // The chain may be wrong once.
    for verdict in [ChainVerdict::Dropped, ChainVerdict::Pending, ChainVerdict::Unknown(Vec::new())] {
        tx.on_chain = says(verdict);
        assert_eq!(raised(&evaluate_answer(&tx, &[], at)), []);
    }
}

#[test]
fn failure_alone_raises_no_alert_about_a_long_wait() {
    for (status, rule) in [(RouterStatus::NotFound, Rule::NotFoundLong), (RouterStatus::Refund, Rule::RefundSlow)] {
        let (mut tx, at) = after_answer(status.clone(), 1);
        let known = alert(1, Rule::Refund, Some(tx.id), 0);
        let later = at + TimeDelta::minutes(20);
        tx.apply(&fixtures::fails(RequestFailure::Transport("refused".into())), later);
        assert_eq!(raised(&evaluate_answer(&tx, std::slice::from_ref(&known), later)), []);
        tx.apply(&fixtures::says(status), later);
        assert!(raised(&evaluate_answer(&tx, &[known], later)).contains(&rule));
    }
}

#[test]
fn failed_request_does_not_confirm_that_a_transfer_is_overdue() {
    let (mut tx, at) = after_answer(RouterStatus::Ongoing, 1);
    // The chain says that it was mined earlier.
    tx.params.submitted_at = Some(at - TimeDelta::minutes(20));
    let later = at + TimeDelta::hours(1);
    tx.apply(&fixtures::fails(RequestFailure::Transport("reset".into())), later);
    assert_eq!(raised(&evaluate_answer(&tx, &[], later)), []);
    tx.apply(&fixtures::says(RouterStatus::Ongoing), later);
    assert_eq!(raised(&evaluate_answer(&tx, &[], later)), [Rule::Overdue]);
}

#[test]
fn two_clean_observations_clear_an_alert_and_a_relapse_resets_the_count() {
    let (tx, at) = after_answer(RouterStatus::Ongoing, 5);
    let own = Some(tx.id);
    let gas = |clean| [alert(7, Rule::NeedsGas, own, clean)];
    assert_eq!(evaluate_answer(&tx, &gas(0), at), [AlertStep::SetCleanCount { id: 7, clean: 1 }]);
    assert_eq!(evaluate_answer(&tx, &gas(1), at), [AlertStep::Clear { id: 7, rule: Rule::NeedsGas }]);
    let (tx, at) = after_answer(RouterStatus::NeedsGas, 5);
    assert_eq!(evaluate_answer(&tx, &gas(1), at), [AlertStep::SetCleanCount { id: 7, clean: 0 }]);
}

#[test]
fn refusal_for_another_reason_raises_the_alert_again() {
    let (mut tx, at) = after_answer(RouterStatus::Ongoing, 5);
    let at = at + TimeDelta::minutes(1);
    let refuse = |tx: &mut Transaction, reason: &str| {
        tx.apply(&fixtures::fails(RequestFailure::Rejected(reason.into())), at);
    };
    refuse(&mut tx, "quoteId is not valid");
    let [AlertStep::Raise { message, .. }] = &evaluate_answer(&tx, &[], at)[..] else { panic!("not raised") };
    let known =
        Alert { message: message.clone(), handling: acknowledged(), ..alert(7, Rule::Rejected, Some(tx.id), 0) };
    assert_eq!(evaluate_answer(&tx, std::slice::from_ref(&known), at), []);
    refuse(&mut tx, "toChainId does not match");
    let steps = evaluate_answer(&tx, &[known], at);
    let [clear, AlertStep::Raise { rule: Rule::Rejected, message }] = &steps[..] else { panic!("{steps:?}") };
    assert_eq!(*clear, AlertStep::Clear { id: 7, rule: Rule::Rejected });
    assert!(message.contains("toChainId"), "{message}");
}

#[test]
fn settling_clears_alerts_at_once_and_a_failure_clears_none() {
    let (tx, at) = after_answer(RouterStatus::Success, 20);
    let overdue = [alert(7, Rule::Overdue, Some(tx.id), 0)];
    assert_eq!(evaluate_answer(&tx, &overdue, at), [AlertStep::Clear { id: 7, rule: Rule::Overdue }]);
    let mut tx = fixtures::transaction(1);
    tx.apply(&fixtures::fails(RequestFailure::Transport("reset".into())), at);
    assert_eq!(evaluate_answer(&tx, &[alert(7, Rule::NeedsGas, Some(tx.id), 1)], at), []);
}

#[test]
fn outage_of_the_profile_suppresses_new_overdue_alerts() {
    let (tx, at) = after_answer(RouterStatus::Ongoing, 20);
    let throttled = [alert(1, Rule::Throttled, None, 0)];
    assert_eq!(evaluate_answer(&tx, &throttled, at), []);
    let (tx, at) = after_answer(RouterStatus::NeedsGas, 20);
    assert_eq!(raised(&evaluate_answer(&tx, &throttled, at)), [Rule::NeedsGas]);
}

#[test]
fn five_failures_over_two_minutes_raise_an_alert() {
    let mut tx = fixtures::transaction(1);
    let mut rules = Vec::new();
    for minute in 0..6 {
        let at = tx.first_seen_at + TimeDelta::seconds(30 * minute);
        tx.apply(&fixtures::fails(RequestFailure::Transport("reset".into())), at);
        rules.push(raised(&evaluate_answer(&tx, &[], at)));
    }
    assert_eq!(rules, [vec![], vec![], vec![], vec![], vec![Rule::PollFailing], vec![Rule::PollFailing]]);
}

#[test]
fn new_outage_of_a_profile_replaces_the_former_one() {
    let throttled = [alert(1, Rule::Throttled, None, 0)];
    assert_eq!(
        evaluate_profile_event(&ProfileEvent::Unauthorized("no".into()), &throttled),
        [
            AlertStep::Clear { id: 1, rule: Rule::Throttled },
            AlertStep::Raise { rule: Rule::Unauthorized, message: "no".into() }
        ]
    );
    assert_eq!(evaluate_profile_event(&ProfileEvent::Throttled("again".into()), &throttled), []);
    assert_eq!(
        evaluate_profile_event(&ProfileEvent::Recovered, &throttled),
        [AlertStep::Clear { id: 1, rule: Rule::Throttled }]
    );
}

#[test]
fn refused_id_hides_other_outages_until_the_service_answers() {
    let unauthorized = [alert(1, Rule::Unauthorized, None, 0)];
    for event in [ProfileEvent::Throttled("429".into()), ProfileEvent::Unreachable("no route".into())] {
        assert_eq!(evaluate_profile_event(&event, &unauthorized), []);
    }
    let recovered = evaluate_profile_event(&ProfileEvent::Recovered, &unauthorized);
    assert_eq!(recovered, [AlertStep::Clear { id: 1, rule: Rule::Unauthorized }]);
}

fn acknowledged() -> Option<Handling> {
    Some(Handling { at: DateTime::UNIX_EPOCH, author: None, kind: HandlingKind::Acknowledged(None) })
}

fn snoozed(until: SnoozeEnd) -> Option<Handling> {
    Some(Handling { at: DateTime::UNIX_EPOCH, author: None, kind: HandlingKind::Snoozed(until) })
}

#[test]
fn acknowledgement_ends_with_a_change_and_snooze_with_a_change_or_at_its_moment() {
    let (mut tx, first) = after_answer(RouterStatus::NeedsGas, 5);
    let at = first + TimeDelta::minutes(1);
    tx.apply(&fixtures::says(RouterStatus::NeedsGas), at);
    let active = |kind| [Alert { handling: kind, ..alert(7, Rule::NeedsGas, Some(tx.id), 0) }];
    let end = [AlertStep::EndHandling { id: 7 }];
    // The handling, and the steps at the same status and at a new status.
    let table = [
        (acknowledged(), &[][..], &end[..]),
        (snoozed(SnoozeEnd::Change), &[], &end),
        (snoozed(SnoozeEnd::Until(at + TimeDelta::seconds(1))), &[], &[]),
        (snoozed(SnoozeEnd::Until(at)), &end, &end),
        (None, &[], &[]),
    ];
    for (handling, same, other) in table {
        assert_eq!(evaluate_answer(&tx, &active(handling.clone()), at), same, "{handling:?}");
        let mut changed = tx.clone();
        changed.state.status_since = Some(at);
        assert_eq!(evaluate_answer(&changed, &active(handling.clone()), at), other, "{handling:?}");
    }
}

#[test]
fn handled_alert_fires_again_only_when_a_new_alert_is_more_severe() {
    let (mut tx, first) = after_answer(RouterStatus::Refund, 1);
    let own = Some(tx.id);
    let handled = |rule, kind| Alert { handling: kind, ..alert(7, rule, own, 0) };
    let at = first + TimeDelta::minutes(20);
    tx.apply(&fixtures::says(RouterStatus::Refund), at);
    let steps = evaluate_answer(&tx, &[handled(Rule::Refund, acknowledged())], at);
    assert_eq!((&steps[0], raised(&steps)), (&AlertStep::EndHandling { id: 7 }, vec![Rule::RefundSlow]));
    let steps =
        evaluate_answer(&tx, &[handled(Rule::Refund, acknowledged()), handled(Rule::RefundSlow, acknowledged())], at);
    assert_eq!(steps, []);
    // The new alert has the severity of an alert that is active already.
    let steps =
        evaluate_answer(&tx, &[handled(Rule::Refund, acknowledged()), handled(Rule::Regressed, acknowledged())], at);
    assert!(!steps.contains(&AlertStep::EndHandling { id: 7 }) && raised(&steps) == [Rule::RefundSlow], "{steps:?}");
}

#[test]
fn cleared_alert_keeps_its_acknowledgement() {
    let (tx, at) = after_answer(RouterStatus::Success, 20);
    let overdue = Alert { handling: acknowledged(), ..alert(7, Rule::Overdue, Some(tx.id), 0) };
    assert_eq!(evaluate_answer(&tx, &[overdue], at), [AlertStep::Clear { id: 7, rule: Rule::Overdue }]);
}

/// A model of the store: a transaction with all of its alerts.
struct AlertModel {
    tx: Transaction,
    alerts: Vec<Alert>,
}

#[derive(Clone, Debug)]
enum ModelEvent {
    Answered(RouterStatus),
    Failed,
    Handled(Option<SnoozeEnd>),
}

fn event() -> impl Strategy<Value = ModelEvent> {
    let mut statuses = RouterStatus::DOCUMENTED.to_vec();
    statuses.push(RouterStatus::Unknown("settling".into()));
    prop_oneof![
        6 => prop::sample::select(statuses).prop_map(ModelEvent::Answered),
        2 => Just(ModelEvent::Failed),
        1 => Just(ModelEvent::Handled(None)),
        1 => Just(ModelEvent::Handled(Some(SnoozeEnd::Change))),
        1 => (0_i64..8_000).prop_map(|second| ModelEvent::Handled(Some(SnoozeEnd::Until(moment(second))))),
    ]
}

fn moment(second: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
}

impl AlertModel {
    fn active(&self) -> Vec<Alert> {
        self.alerts.iter().filter(|alert| alert.cleared_at.is_none()).cloned().collect()
    }

    fn handle_active(&mut self, until: Option<SnoozeEnd>, at: DateTime<Utc>) {
        let kind = until.map_or(HandlingKind::Acknowledged(None), HandlingKind::Snoozed);
        let handling = Handling { at, author: None, kind };
        let active = self.alerts.iter_mut().filter(|alert| alert.cleared_at.is_none());
        active.for_each(|alert| alert.handling = Some(handling.clone()));
    }

    fn observe(&mut self, observation: &Observation, at: DateTime<Utc>) {
        self.tx.apply(observation, at);
        for step in evaluate_answer(&self.tx, &self.active(), at) {
            let number = i64::try_from(self.alerts.len()).unwrap();
            let index_of = |id: i64| usize::try_from(id).unwrap();
            match step {
                AlertStep::SetCleanCount { id, clean } => self.alerts[index_of(id)].clean = clean,
                AlertStep::Clear { id, .. } => self.alerts[index_of(id)].cleared_at = Some(at),
                AlertStep::EndHandling { id } => self.alerts[index_of(id)].handling = None,
                AlertStep::Raise { rule, .. } => {
                    self.alerts.push(alert(number, rule, Some(self.tx.id), 0));
                }
            }
        }
    }

    /// Checks the invariants after an answer, given the alerts before it, and whether the answer changed the status.
    fn check(&self, before: &[Alert], has_changed: bool, at: DateTime<Utc>) -> Result<(), TestCaseError> {
        let active = self.active();
        let mut rules: Vec<_> = active.iter().map(|alert| alert.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        prop_assert_eq!(rules.len(), active.len(), "more than one active alert of a rule");
        let rises = highest_severity(&rules) > highest_severity(before.iter().map(|alert| &alert.rule));
        for alert in &active {
            let ends_by_change = |handling: &Handling| handling.is_over(at, true) && !handling.is_over(at, false);
            let is_still_handled = alert.handling.as_ref().is_some_and(ends_by_change);
            prop_assert!(!has_changed || !is_still_handled, "{:?} is still handled after a change", alert);
            let was_handled = before.iter().any(|old| old.id == alert.id && old.state(at) != AlertState::Firing);
            let is_handled = alert.state(at) != AlertState::Firing;
            prop_assert!(
                is_handled || !was_handled || has_changed || rises,
                "{:?} was unhandled without a cause",
                alert
            );
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn life_cycle_keeps_its_invariants(events in prop::collection::vec((1_i64..1_200, event()), 1..40)) {
        let mut model = AlertModel { tx: fixtures::transaction(1), alerts: Vec::new() };
        let mut second = 0;
        for (pause, event) in events {
            second += pause;
            let (at, before, status) = (moment(second), model.active(), model.tx.state.status.clone());
            let observation = match event {
                ModelEvent::Handled(until) => {
                    model.handle_active(until, at);
                    continue;
                }
                ModelEvent::Answered(status) => fixtures::says(status),
                ModelEvent::Failed => fixtures::fails(RequestFailure::Transport("reset".into())),
            };
            model.observe(&observation, at);
            model.check(&before, model.tx.state.status != status, at)?;
        }
    }
}
