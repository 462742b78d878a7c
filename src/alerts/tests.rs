//! The rules on tables, and the life cycle against a model.

use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;
use crate::domain::{
    alert::{Acknowledgement, AlertState, Handling, Snooze, Snoozed},
    fixtures,
    observation::{Failure, Observation},
    status::RouterStatus,
};

fn alert(id: i64, rule: Rule, subject: Subject, clean: u32) -> Alert {
    let raised_at = DateTime::UNIX_EPOCH;
    Alert {
        id,
        rule,
        subject,
        profile: "default".into(),
        raised_at,
        clean,
        flapping: false,
        message: String::new(),
        handling: None,
        cleared_at: None,
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
        assert_eq!(raised(&judge(&tx, &[], at)), rules, "{:?}", tx.state.status);
        let standing: Vec<_> = rules.iter().map(|rule| alert(1, *rule, Subject::Transaction(tx.id), 0)).collect();
        assert_eq!(judge(&tx, &standing, at), [], "{:?}", tx.state.status);
    }
}

#[test]
fn a_failure_is_no_evidence_that_something_takes_long() {
    for (status, rule) in [(RouterStatus::NotFound, Rule::NotFoundLong), (RouterStatus::Refund, Rule::RefundSlow)] {
        let (mut tx, at) = after(status.clone(), 1);
        let known = alert(1, Rule::Refund, Subject::Transaction(tx.id), 0);
        let later = at + TimeDelta::minutes(20);
        tx.apply(&fixtures::fails(Failure::Transport("refused".into())), later);
        assert_eq!(raised(&judge(&tx, std::slice::from_ref(&known), later)), []);
        tx.apply(&fixtures::says(status), later);
        assert!(raised(&judge(&tx, &[known], later)).contains(&rule));
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
        judge_profile(&ProfileEvent::Unauthorized("no".into()), &throttled),
        [
            AlertStep::Clear { id: 1, rule: Rule::Throttled },
            AlertStep::Raise { rule: Rule::Unauthorized, message: "no".into() }
        ]
    );
    assert_eq!(judge_profile(&ProfileEvent::Throttled("again".into()), &throttled), []);
    assert_eq!(
        judge_profile(&ProfileEvent::Recovered, &throttled),
        [AlertStep::Clear { id: 1, rule: Rule::Throttled }]
    );
}

fn taken() -> Option<Handling> {
    Some(Handling::Acknowledged(Acknowledgement { at: DateTime::UNIX_EPOCH, note: None }))
}

fn snoozed(until: Snooze) -> Option<Handling> {
    Some(Handling::Snoozed(Snoozed { at: DateTime::UNIX_EPOCH, until }))
}

#[test]
fn what_sets_an_alert_aside_ends_by_a_change_or_by_its_moment() {
    let (mut tx, first) = after(RouterStatus::NeedsGas, 5);
    let at = first + TimeDelta::minutes(1);
    tx.apply(&fixtures::says(RouterStatus::NeedsGas), at);
    let standing = |said| [Alert { handling: said, ..alert(7, Rule::NeedsGas, Subject::Transaction(tx.id), 0) }];
    let back = [AlertStep::EndHandling { id: 7 }];
    // What was said, and what becomes of it at the same status and at a new one.
    let table = [
        (taken(), &[][..], &back[..]),
        (snoozed(Snooze::Change), &[], &back),
        (snoozed(Snooze::Until(at + TimeDelta::seconds(1))), &[], &[]),
        (snoozed(Snooze::Until(at)), &back, &back),
        (None, &[], &[]),
    ];
    for (said, same, other) in table {
        assert_eq!(judge(&tx, &standing(said.clone()), at), same, "{said:?}");
        let mut changed = tx.clone();
        changed.state.status_since = Some(at);
        assert_eq!(judge(&changed, &standing(said.clone()), at), other, "{said:?}");
    }
}

#[test]
fn graver_things_bring_back_what_was_set_aside_and_lesser_ones_do_not() {
    let (mut tx, first) = after(RouterStatus::Refund, 1);
    let own = Subject::Transaction(tx.id);
    let said = |rule, said| Alert { handling: said, ..alert(7, rule, own, 0) };
    let at = first + TimeDelta::minutes(20);
    tx.apply(&fixtures::says(RouterStatus::Refund), at);
    let steps = judge(&tx, &[said(Rule::Refund, taken())], at);
    assert_eq!((&steps[0], raised(&steps)), (&AlertStep::EndHandling { id: 7 }, vec![Rule::RefundSlow]));
    let steps = judge(&tx, &[said(Rule::Refund, taken()), said(Rule::RefundSlow, taken())], at);
    assert_eq!(steps, []);
    // As grave as what stands already.
    let steps = judge(&tx, &[said(Rule::Refund, taken()), said(Rule::Regressed, taken())], at);
    assert!(!steps.contains(&AlertStep::EndHandling { id: 7 }) && raised(&steps) == [Rule::RefundSlow], "{steps:?}");
}

#[test]
fn what_is_cleared_keeps_what_was_said_of_it() {
    let (tx, at) = after(RouterStatus::Success, 20);
    let overdue = Alert { handling: taken(), ..alert(7, Rule::Overdue, Subject::Transaction(tx.id), 0) };
    assert_eq!(judge(&tx, &[overdue], at), [AlertStep::Clear { id: 7, rule: Rule::Overdue }]);
}

/// A transaction with its alerts, as the store keeps them.
struct World {
    tx: Transaction,
    alerts: Vec<Alert>,
}

/// Something that happens.
#[derive(Clone, Debug)]
enum Event {
    Says(RouterStatus),
    Fails,
    Said(Option<Snooze>),
}

fn event() -> impl Strategy<Value = Event> {
    let mut statuses = RouterStatus::DOCUMENTED.to_vec();
    statuses.push(RouterStatus::Unknown("settling".into()));
    prop_oneof![
        6 => prop::sample::select(statuses).prop_map(Event::Says),
        2 => Just(Event::Fails),
        1 => Just(Event::Said(None)),
        1 => Just(Event::Said(Some(Snooze::Change))),
        1 => (0_i64..8_000).prop_map(|second| Event::Said(Some(Snooze::Until(moment(second))))),
    ]
}

fn moment(second: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
}

impl World {
    fn standing(&self) -> Vec<Alert> {
        self.alerts.iter().filter(|alert| alert.cleared_at.is_none()).cloned().collect()
    }

    fn say(&mut self, until: Option<Snooze>, at: DateTime<Utc>) {
        let said = match until {
            None => Handling::Acknowledged(Acknowledgement { at, note: None }),
            Some(until) => Handling::Snoozed(Snoozed { at, until }),
        };
        let standing = self.alerts.iter_mut().filter(|alert| alert.cleared_at.is_none());
        standing.for_each(|alert| alert.handling = Some(said.clone()));
    }

    fn hear(&mut self, observation: &Observation, at: DateTime<Utc>) {
        self.tx.apply(observation, at);
        for step in judge(&self.tx, &self.standing(), at) {
            let number = i64::try_from(self.alerts.len()).unwrap();
            let place = |id: i64| usize::try_from(id).unwrap();
            match step {
                AlertStep::Count { id, clean } => self.alerts[place(id)].clean = clean,
                AlertStep::Clear { id, .. } => self.alerts[place(id)].cleared_at = Some(at),
                AlertStep::EndHandling { id } => self.alerts[place(id)].handling = None,
                AlertStep::Raise { rule, .. } => {
                    self.alerts.push(alert(number, rule, Subject::Transaction(self.tx.id), 0));
                }
            }
        }
    }

    /// What holds after each answer, given what stood before it and whether it brought another status.
    fn check(&self, before: &[Alert], change: bool, at: DateTime<Utc>) -> Result<(), TestCaseError> {
        let standing = self.standing();
        let mut rules: Vec<_> = standing.iter().map(|alert| alert.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        prop_assert_eq!(rules.len(), standing.len(), "one alert a rule");
        let rises = gravest(&rules) > gravest(before.iter().map(|alert| &alert.rule));
        for alert in &standing {
            let ends_by_change = |said: &Handling| said.is_over(at, true) && !said.is_over(at, false);
            let is_left = alert.handling.as_ref().is_some_and(ends_by_change);
            prop_assert!(!change || !is_left, "{:?} is left after a change", alert);
            let was_aside = before.iter().any(|old| old.id == alert.id && old.state(at) != AlertState::Firing);
            let is_aside = alert.state(at) != AlertState::Firing;
            prop_assert!(is_aside || !was_aside || change || rises, "{:?} was brought back by nothing", alert);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_life_cycle_holds_whatever_happens(events in prop::collection::vec((1_i64..1_200, event()), 1..40)) {
        let mut world = World { tx: fixtures::transaction(1), alerts: Vec::new() };
        let mut second = 0;
        for (pause, event) in events {
            second += pause;
            let (at, before, status) = (moment(second), world.standing(), world.tx.state.status.clone());
            let observation = match event {
                Event::Said(until) => {
                    world.say(until, at);
                    continue;
                }
                Event::Says(status) => fixtures::says(status),
                Event::Fails => fixtures::fails(Failure::Transport("reset".into())),
            };
            world.hear(&observation, at);
            world.check(&before, world.tx.state.status != status, at)?;
        }
    }
}
