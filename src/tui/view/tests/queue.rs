//! Tests of the drawn marks, prompts, menus and alerts.

use super::*;
use crate::{
    domain::{
        alert::{Alert, Handling, HandlingKind, SnoozeEnd},
        span,
    },
    tui::effect::Effect,
};

const WIDE: (u16, u16) = (120, 36);

/// Returns the fixed dashboard with three marked transactions, and another one selected.
fn marked(size: (u16, u16)) -> TestDashboard {
    let mut model = dashboard(size);
    press(&mut model, &["j", "Space", "Space", "j", "Space", "k", "k"], now());
    model
}

fn after(size: (u16, u16), keys: &[&str], text: &str) -> TestDashboard {
    let mut model = marked(size);
    press(&mut model, keys, now());
    type_in(&mut model, text, now());
    model
}

#[test]
fn marks_on_a_small_screen() {
    insta::assert_snapshot!(screen(&marked(SMALL)));
}

#[test]
fn marks_beside_the_detail() {
    insta::assert_snapshot!(screen(&marked(WIDE)));
}

#[test]
fn a_handled_alert_keeps_its_severity_in_the_list_and_the_advice_says_who_handles_it() {
    // Beside the list, and in the preview below it.
    for size in [WIDE, SMALL] {
        let mut model = dashboard(size);
        let author = Some("Ana".into());
        let selected = model.list.selected.unwrap();
        let kind = HandlingKind::Acknowledged(Some("mine".into()));
        let handling = Some(Handling { at: now().wall, author, kind });
        let handled = Alert { handling, ..alert(Rule::Overdue, Some(selected), "") };
        change_store(&mut model, everything(Vec::new(), vec![handled]), None, now());
        let drawn = screen(&model);
        assert!(drawn.lines().any(|line| line.contains("▌a!! ")), "{drawn}");
        assert!(drawn.contains("DO    Ana acknowledged this 0s ago: \"mine\". "), "{drawn}");
        // The search finds the note.
        press(&mut model, &["/"], now());
        type_in(&mut model, "MINE", now());
        assert_eq!(model.list.part.rows, [selected]);
    }
}

#[test]
fn alerts_with_a_folded_rule() {
    let mut alerts: Vec<Alert> = (1..=3).map(|row| alert(Rule::NotFoundLong, Some(RowId(row)), "")).collect();
    alerts.extend([alert(Rule::Overdue, Some(RowId(4)), ""), alert(Rule::Overdue, Some(RowId(5)), "")]);
    let mut model = dashboard(WIDE);
    change_store(&mut model, everything(Vec::new(), alerts), None, now());
    press(&mut model, &["A", "j", "j", "f"], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn a_range_that_is_open() {
    insta::assert_snapshot!(screen(&after(SMALL, &["Esc", "v", "j"], "")));
}

#[test]
fn acknowledging_several_on_a_small_screen() {
    insta::assert_snapshot!(screen(&after(SMALL, &["a"], "asked the provider")));
}

#[test]
fn a_note_on_one() {
    insta::assert_snapshot!(screen(&after(WIDE, &["Esc", "g", "e"], "user asked again")));
}

#[test]
fn labels_of_one_that_has_some() {
    insta::assert_snapshot!(screen(&after(SMALL, &["Esc", "g", "L"], "")));
}

#[test]
fn an_export_that_failed() {
    let mut model = after(SMALL, &["E"], "");
    let sent = press(&mut model, &["Enter"], now());
    let [Effect::Write(write)] = sent.as_slice() else { panic!("{sent:?}") };
    let reason = "Nothing was written: the file already exists; choose another name";
    model.apply(Msg::Written(write.clone(), Err(reason.into())), now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn what_polling_many_costs() {
    insta::assert_snapshot!(screen(&after(SMALL, &["*", "R"], "")));
}

/// Returns a dashboard with the alerts open, the third alert acknowledged.
fn alert_list(size: (u16, u16)) -> TestDashboard {
    let mut model = dashboard(size);
    let mut alerts = alerts();
    alerts.push(alert(Rule::BudgetShort, None, "the need stays over nine tenths of the budget"));
    alerts.iter_mut().for_each(|alert| alert.raised_at = ago(8, alert.id % 60));
    let kind = HandlingKind::Acknowledged(Some("told the user".into()));
    alerts[2].handling = Some(Handling { at: ago(2, 0), author: None, kind });
    change_store(&mut model, everything(Vec::new(), alerts), Some(live_report(ago(0, 1))), now());
    press(&mut model, &["A"], now());
    model
}

#[test]
fn alerts_on_a_small_screen() {
    insta::assert_snapshot!(screen(&alert_list(SMALL)));
}

#[test]
fn alerts_on_a_wide_screen() {
    let mut model = alert_list(WIDE);
    press(&mut model, &["G"], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn what_is_resolved_says_what_was_and_for_how_long() {
    let mut model = dashboard(SMALL);
    let resolved = Alert { raised_at: ago(20, 0), cleared_at: Some(ago(3, 0)), ..alerts().remove(0) };
    change_store(&mut model, everything(Vec::new(), vec![resolved]), Some(live_report(ago(0, 1))), now());
    press(&mut model, &["A", "["], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn the_end_of_a_snooze_is_shown_for_today_and_for_another_day() {
    let mut model = dashboard(WIDE);
    let snoozed = |moment| HandlingKind::Snoozed(SnoozeEnd::Until(moment));
    let until = |moment| Some(Handling { at: now().wall, author: None, kind: snoozed(moment) });
    let active = |handling| everything(Vec::new(), vec![Alert { handling, ..alerts().remove(0) }]);
    for (moment, short) in [(now().wall + TimeDelta::minutes(15), ":"), (now().wall + TimeDelta::days(2), "-")] {
        change_store(&mut model, active(until(moment)), Some(live_report(ago(0, 1))), now());
        press(&mut model, &["A"], now());
        let screen = screen(&model);
        let row = screen.lines().find(|line| line.contains("snoozed ")).unwrap();
        let when = row.split("snoozed").nth(1).unwrap().split_whitespace().next().unwrap();
        assert!(when.len() == 5 && when.contains(short), "{row}");
        let full = span::clock_time(moment, now().wall, model.setting.zone);
        assert!(screen.contains(&format!("snoozed until {full}")), "{screen}");
        press(&mut model, &["Esc"], now());
    }
}

#[test]
fn alerts_where_nothing_stands() {
    let mut model = empty(SMALL);
    press(&mut model, &["A"], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn the_cursor_of_a_prompt_is_behind_the_typed_text() {
    let model = after(SMALL, &["e"], "ab票");
    drawn(&model, &Theme::new(true, false)).backend_mut().assert_cursor_position((6, 19));
}

#[test]
fn every_small_size_shows_a_prompt_and_a_menu() {
    let theme = Theme::new(true, false);
    let mut models = [
        after(SMALL, &["e"], "a note that is longer than a narrow screen"),
        after(SMALL, &["*", "R", "j"], ""),
        alert_list(SMALL),
    ];
    for size in (0..=44).step_by(4).flat_map(|columns| (0..=20).map(move |rows| (columns, rows))) {
        for model in &mut models {
            step(model, Msg::Resize(size.0, size.1), now());
            drawn(model, &theme);
        }
    }
}
