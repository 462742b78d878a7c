//! The alert list by keys: its rows, the way to a transaction and back, and its refresh.

use super::*;
use crate::{
    domain::alert::{Alert, Handling, HandlingKind, Severity, SnoozeEnd},
    tui::{
        dialogs::Dialog,
        effect::SnoozeLength,
        model::geometry::ClickTarget,
        screens::alerts::{
            state::{AlertPage, AlertTab},
            update as list_update,
        },
    },
};

fn of(row: i64, rule: Rule) -> Alert {
    alert(rule, Some(RowId(row)), "")
}

fn acknowledged(mut alert: Alert) -> Alert {
    alert.handling = Some(Handling { at: now().wall, author: None, kind: HandlingKind::Acknowledged(None) });
    alert
}

/// Returns a dashboard with the alert list open: two regressed, an acknowledged overdue one, and one of the profile.
fn opened() -> TestDashboard {
    let mut model = dashboard("5");
    change_store(&mut model, everything(Vec::new(), alerts()), Some(live_report(now().wall)), now());
    press(&mut model, &["A"], now());
    model
}

fn alerts() -> Vec<Alert> {
    let profile = alert(Rule::BudgetShort, None, "the need stays over the budget");
    vec![of(5, Rule::Regressed), acknowledged(of(15, Rule::Overdue)), of(30, Rule::Regressed), profile]
}

fn shown(model: &Model) -> Vec<i64> {
    model.alert_list.rows().iter().map(|row| row.alert.id).collect()
}

fn id(row: i64, rule: Rule) -> i64 {
    of(row, rule).id
}

#[test]
fn most_severe_alert_comes_first_and_acknowledged_ones_last() {
    let model = opened();
    let profile = alerts()[3].id;
    let expected = [id(5, Rule::Regressed), id(30, Rule::Regressed), profile, id(15, Rule::Overdue)];
    assert_eq!((shown(&model), model.alert_list.selected), (expected.to_vec(), Some(expected[0])));
}

#[test]
fn alerts_are_loaded_once_more_after_a_load_during_which_the_store_changed() {
    let mut model = opened();
    let later = |seconds| moment(now().wall + TimeDelta::seconds(seconds)).mono;
    let loads = [2, 4, 6].map(|seconds| {
        list_update::mark_stale(&mut model, later(seconds));
        std::mem::take(&mut model.effects)
    });
    assert_eq!(loads, [vec![Effect::LoadAlerts], vec![], vec![]]);
    let page = model.alert_list.page.clone().unwrap();
    list_update::on_loaded(&mut model, Ok(page), later(7));
    list_update::load_if_due(&mut model, later(8));
    assert_eq!(model.effects, [Effect::LoadAlerts]);
}

#[test]
fn tabs_filter_firing_and_acknowledged_alerts() {
    let mut model = opened();
    let counts = AlertTab::ALL.map(|tab| model.alert_list.count(tab));
    assert_eq!(counts, [4, 3, 1, 0, 0]);
    press(&mut model, &["[", "[", "["], now());
    assert_eq!((model.alert_list.tab, shown(&model)), (AlertTab::Acknowledged, vec![id(15, Rule::Overdue)]));
    press(&mut model, &["[", "]", "[", "["], now());
    assert_eq!(model.alert_list.tab, AlertTab::All);
    press(&mut model, &["]"], now());
    assert_eq!((model.alert_list.tab, shown(&model).len()), (AlertTab::Firing, 3));
}

#[test]
fn enter_opens_the_transaction_and_esc_returns_to_the_alerts_and_then_to_the_list() {
    let mut model = opened();
    let effects = press(&mut model, &["j", "Enter"], now());
    assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(30))));
    assert_eq!(effects, [Effect::LoadHistory(RowId(30)), Effect::MarkOpen(Some(RowId(30)))]);
    change_store(&mut model, changed(vec![in_status(30, RouterStatus::Ongoing)]), None, now());
    assert_eq!(model.selected().map(|tx| tx.id), Some(RowId(30)), "the transaction stays open");
    press(&mut model, &["Esc"], now());
    assert_eq!((model.screen, model.alert_list.selected), (Screen::Alerts, Some(id(30, Rule::Regressed))));
    press(&mut model, &["Esc"], now());
    assert_eq!(model.screen, Screen::List);
}

#[test]
fn esc_returns_to_the_list_after_a_way_through_the_list() {
    let mut model = opened();
    press(&mut model, &["j", "Enter"], now());
    model.go_to_row(RowId(5));
    for _ in 0..2 {
        update(&mut model, Msg::Click(ClickTarget::Row(0)), now());
    }
    assert_eq!(model.screen, Screen::Detail, "a second click opens the row");
    press(&mut model, &["Esc"], now());
    assert_eq!(model.screen, Screen::List);
}

#[test]
fn filter_and_view_of_the_list_stay_unchanged() {
    let mut model = opened();
    press(&mut model, &["Esc", "4", "A", "j", "Enter", "Esc", "Esc"], now());
    assert_eq!((model.list.tab, model.list.filter_text.as_str()), (Tab::Done, ""));
    assert!(model.list.position().is_some());
}

#[test]
fn alert_of_the_profile_shows_the_action() {
    let mut model = opened();
    press(&mut model, &["j", "j", "Enter"], now());
    assert_eq!(model.screen, Screen::Alerts);
    assert!(model.status_message.as_ref().unwrap().text.starts_with("This alert concerns the whole profile"));
}

#[test]
fn folded_rule_is_one_row_whose_actions_apply_to_all_its_alerts() {
    let mut model = opened();
    let [five, thirty] = [id(5, Rule::Regressed), id(30, Rule::Regressed)];
    press(&mut model, &["j", "f"], now());
    assert_eq!((shown(&model).len(), model.alert_list.selected), (3, Some(five)));
    let effects = press(&mut model, &["c"], now());
    let [Effect::Copy(text)] = &effects[..] else { panic!("{effects:?}") };
    assert!(text.contains("your 2 transfers"), "{text}");
    press(&mut model, &["Esc", "a"], now());
    let acknowledge = ScreenEdit::Acknowledge { alerts: [five, thirty].map(AlertTarget::Alert).to_vec(), note: None };
    assert_eq!(press(&mut model, &["Enter"], now()), [Effect::Write(Write::Edit(acknowledge))]);
    press(&mut model, &["Esc", "z"], now());
    let Dialog::Menu(menu) = &model.dialog else { panic!("{:?}", model.dialog) };
    assert_eq!(menu.title, "Snooze these 2 alerts for");
    press(&mut model, &["Esc", "Enter"], now());
    assert_eq!((model.screen, shown(&model).len()), (Screen::Alerts, 4), "Enter unfolds");
    press(&mut model, &["F", "j"], now());
    assert_eq!((shown(&model).len(), model.alert_list.selected), (3, Some(alerts()[3].id)));
    press(&mut model, &["F"], now());
    assert_eq!(shown(&model).len(), 4);
}

#[test]
fn keys_act_on_the_alert_s_transaction_or_name_where_they_work() {
    let mut model = opened();
    press(&mut model, &["t"], now());
    let Dialog::Prompt(prompt) = &model.dialog else { panic!("{:?}", model.dialog) };
    assert_eq!(prompt_rows(prompt), Some(vec![RowId(5)]));
    press(&mut model, &["Esc", "x"], now());
    let notice = |model: &Model| model.status_message.as_ref().unwrap().text.clone();
    assert_eq!(notice(&model), "x works only in the list and in the detail view (untrack).");
    model.status_message = None;
    press(&mut model, &["A", "v"], now());
    assert!(notice(&model).starts_with("v works only in the list (mark_range); "), "{}", notice(&model));
    model.status_message = None;
    press(&mut model, &["A", "}"], now());
    assert_eq!(model.status_message, None, "the alerts are open, and the other key moves");
    press(&mut model, &["f", "r"], now());
    assert_eq!(notice(&model), "This row stands for 2 alerts: f shows them one by one.");
    press(&mut model, &["f"], now());
    press(&mut model, &["j", "j", "e"], now());
    assert!(matches!(model.dialog, Dialog::None) && notice(&model).contains("concerns the whole profile"));
}

#[test]
fn next_firing_alert_after_a_folded_group_is_selected() {
    let mut model = opened();
    press(&mut model, &["f", "a", "Enter", "Esc"], now());
    let [five, thirty] = [5, 30].map(|row| acknowledged(of(row, Rule::Regressed)));
    change_store(&mut model, everything(Vec::new(), vec![five, thirty, alerts()[3].clone()]), None, now());
    model.apply(Msg::Tick, moment(now().wall + TimeDelta::seconds(1)));
    assert_eq!(model.alert_list.selected, Some(alerts()[3].id));
}

#[test]
fn only_the_selected_alert_is_acknowledged() {
    let mut model = opened();
    press(&mut model, &["j", "a"], now());
    type_in(&mut model, "mine", now());
    let alerts = vec![AlertTarget::Alert(id(30, Rule::Regressed))];
    let expected = ScreenEdit::Acknowledge { alerts, note: Some("mine".into()) };
    assert_eq!(press(&mut model, &["Enter"], now()), [Effect::Write(Write::Edit(expected))]);
    press(&mut model, &["Esc", "G", "a"], now());
    let Dialog::Prompt(prompt) = &model.dialog else { panic!("{:?}", model.dialog) };
    assert!(prompt_rows(prompt).is_none(), "the note of an acknowledged alert can be edited");
}

#[test]
fn resolved_alert_is_neither_acknowledged_nor_snoozed() {
    let mut model = dashboard("5");
    let resolved = Alert { cleared_at: Some(now().wall), ..of(30, Rule::Regressed) };
    change_store(&mut model, everything(Vec::new(), vec![resolved]), None, now());
    press(&mut model, &["A", "["], now());
    assert_eq!((model.alert_list.tab, shown(&model)), (AlertTab::Resolved, vec![id(30, Rule::Regressed)]));
    for (key, message) in [
        ("a", "This alert is resolved, so it can't be acknowledged."),
        ("z", "This alert is resolved, so it can't be snoozed."),
    ] {
        press(&mut model, &[key], now());
        let notice = model.status_message.as_ref().unwrap();
        assert!(matches!(model.dialog, Dialog::None) && notice.text == message, "{}", notice.text);
    }
}

#[test]
fn the_answer_is_about_the_alert_s_transaction() {
    let mut model = opened();
    press(&mut model, &["j", "c"], now());
    let hash = format!("{:064x}", 30);
    assert!(matches!(&model.dialog, Dialog::Reply { text, .. } if text.contains(&hash)));
    press(&mut model, &["Esc"], now());
    assert_eq!(model.screen, Screen::Alerts);
}

#[test]
fn alerts_are_read_again_at_most_once_a_second() {
    let mut model = opened();
    press(&mut model, &["j"], now());
    let later = |seconds| moment(now().wall + TimeDelta::seconds(seconds));
    change_store(&mut model, everything(Vec::new(), vec![of(30, Rule::Regressed), of(40, Rule::Overdue)]), None, now());
    assert_eq!(shown(&model).len(), 4, "the list was read less than a second ago");
    model.apply(Msg::Tick, later(1));
    assert_eq!(shown(&model), [id(40, Rule::Overdue), id(30, Rule::Regressed)]);
    assert_eq!(model.alert_list.selected, Some(id(30, Rule::Regressed)), "the selection follows the alert");
    change_store(&mut model, everything(Vec::new(), vec![of(40, Rule::Overdue)]), None, later(3));
    assert_eq!((shown(&model).len(), model.alert_list.selected), (1, Some(id(40, Rule::Overdue))));
}

#[test]
fn failed_read_is_shown_and_repeated() {
    let mut model = opened();
    model.apply(Msg::Alerts(Err("the store is gone".into())), now());
    assert_eq!(model.status_message.as_ref().unwrap().text, "the store is gone");
    let later = moment(now().wall + TimeDelta::seconds(1));
    model.apply(Msg::Tick, later);
    assert_eq!(model.alert_list.load_requested_at, Some(later.mono));
}

#[test]
fn snooze_applies_to_the_selected_alert_or_the_alerts_of_the_transaction() {
    for (key, minutes) in [("m", 15), ("h", 60)] {
        let mut model = opened();
        assert_eq!(press(&mut model, &["z"], now()), []);
        let alerts = vec![AlertTarget::Alert(model.alert_list.selected.unwrap())];
        let until = SnoozeLength::Minutes(minutes).from(now().wall);
        let expected = Effect::Write(Write::Edit(ScreenEdit::Snooze { alerts, until }));
        assert_eq!(press(&mut model, &[key], now()), [expected]);
    }
    let mut model = dashboard("1");
    press(&mut model, &["z"], now());
    let row = model.list.selected.unwrap();
    let edit = ScreenEdit::Snooze { alerts: AlertTarget::of(&[row]), until: SnoozeEnd::Change };
    assert_eq!(press(&mut model, &["c"], now()), [Effect::Write(Write::Edit(edit))]);
    // The selected transaction has no alert.
    let mut model = dashboard("5");
    press(&mut model, &["z"], now());
    assert!(matches!(model.dialog, Dialog::None));
}

#[test]
fn snooze_ends_on_time_without_a_poller() {
    let mut model = dashboard("5");
    let until = now().wall + TimeDelta::minutes(15);
    let mut snoozed = of(21, Rule::Overdue);
    let kind = HandlingKind::Snoozed(SnoozeEnd::Until(until));
    snoozed.handling = Some(Handling { at: now().wall, author: None, kind });
    change_store(&mut model, everything(Vec::new(), vec![snoozed]), None, now());
    press(&mut model, &["A"], now());
    let counts = |model: &TestDashboard| [AlertTab::Firing, AlertTab::Snoozed].map(|tab| model.alert_list.count(tab));
    assert_eq!((counts(&model), model.severity(RowId(21))), ([0, 1], None));
    model.apply(Msg::Tick, moment(until));
    assert_eq!((counts(&model), model.severity(RowId(21))), ([1, 0], Some(Severity::Critical)));
}

/// Returns the page of alerts with the first one acknowledged.
fn with_first_acknowledged(model: &Model) -> Msg {
    let mut rows = model.alert_list.page.clone().unwrap().rows;
    rows[0].alert = acknowledged(rows[0].alert.clone());
    Msg::Alerts(Ok(AlertPage { rows, ..AlertPage::default() }))
}

#[test]
fn selection_moves_on_after_an_own_acknowledgement_and_follows_a_colleague_s() {
    let mut model = opened();
    let read = with_first_acknowledged(&model);
    model.apply(read, now());
    assert_eq!(model.alert_list.selected, Some(id(5, Rule::Regressed)));
    assert_eq!(
        shown(&model)[2..],
        [id(15, Rule::Overdue), id(5, Rule::Regressed)],
        "handled alerts are grouped by rule, too"
    );
    let mut model = opened();
    press(&mut model, &["a", "Enter"], now());
    let read = with_first_acknowledged(&model);
    model.apply(read, now());
    assert_eq!(model.alert_list.selected, Some(id(30, Rule::Regressed)));
}

#[test]
fn alerts_open_with_all_states_and_esc_returns_to_the_chosen_state() {
    let mut model = opened();
    press(&mut model, &["]", "Enter", "Esc"], now());
    assert_eq!(model.alert_list.tab, AlertTab::Firing);
    press(&mut model, &["Esc", "A"], now());
    assert_eq!((model.screen, model.alert_list.tab), (Screen::Alerts, AlertTab::All));
}

#[test]
fn notice_disappears_when_the_next_dialog_opens() {
    let mut model = opened();
    model.apply(Msg::Done("Undone: a note".into()), now());
    press(&mut model, &["?"], now());
    assert!(model.status_message.is_some(), "the notice is too new to have been read");
    press(&mut model, &["Esc"], now());
    let later = Now { mono: now().mono + Duration::from_secs(3), ..now() };
    press(&mut model, &["j"], later);
    assert!(model.status_message.is_some());
    press(&mut model, &["?"], later);
    assert_eq!(model.status_message, None);
}
