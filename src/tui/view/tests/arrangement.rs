//! Tests of the list in other arrangements: other columns, the detail below the list, the verdict alone.

use ratatui::text::Line;

use super::*;
use crate::{
    domain::poller::{PollerHealth, PollerReport},
    tui::model::MessageTone,
};

fn after(size: (u16, u16), keys: &[&str]) -> String {
    let mut model = dashboard(size);
    press(&mut model, keys, now());
    // The notice would cover the line below.
    model.status_message = None;
    screen(&model)
}

#[test]
fn the_detail_below_on_a_wide_screen() {
    insta::assert_snapshot!(after((120, 36), &["P"]));
}

#[test]
fn the_detail_below_on_a_small_screen() {
    insta::assert_snapshot!(after(SMALL, &["P"]));
}

#[test]
fn the_detail_in_brief_on_a_wide_screen() {
    insta::assert_snapshot!(after((120, 36), &["P", "P"]));
}

#[test]
fn choosing_columns_on_a_small_screen() {
    insta::assert_snapshot!(after(SMALL, &["C", "4", "3"]));
}

#[test]
fn no_arrangement_panics_at_any_size() {
    for keys in [&["P"][..], &["P", "P"], &["H"], &["f"]] {
        for size in [(1, 1), (3, 30), (40, 9), (99, 23), (100, 14), (200, 60)] {
            after(size, keys);
        }
    }
}

#[test]
fn a_notice_is_whole_on_the_narrowest_screen_and_never_covers_the_keys() {
    let text = "Nothing to export: nothing is marked, and nothing shown; and this goes on for three lines.";
    let mut model = dashboard((40, 9));
    model.show_message(MessageTone::Bad, text, now().mono);
    let shown: Vec<_> = screen(&model).lines().map(|line| line.trim_matches(['"', ' ']).to_owned()).collect();
    assert_eq!(shown[6..].join(" "), text);
    let mut model = dashboard(SMALL);
    model.show_message(MessageTone::Good, "Done.", now().mono);
    assert!(screen(&model).contains("? help") && screen(&model).contains(" Done. "));
}

#[test]
fn a_line_ends_before_a_wide_letter_that_does_not_fit() {
    let drawn = |columns: u16| {
        let mut terminal = Terminal::new(TestBackend::new(columns, 1)).unwrap();
        let line = Line::from(vec!["a".into(), "重".into(), "x".into()]);
        terminal.draw(|frame| put_lines([line], frame.area(), frame)).unwrap();
        terminal.backend().to_string()
    };
    assert_eq!(drawn(2), "\"a \"\n");
    assert!(drawn(3).starts_with("\"a重\""), "{}", drawn(3));
}

#[test]
fn a_very_long_notice_covers_neither_the_list_nor_a_menu() {
    let mut model = dashboard((40, 9));
    model.show_message(MessageTone::Bad, "no end ".repeat(100), now().mono);
    let shown = screen(&model);
    assert!(shown.lines().take(6).all(|line| !line.contains("no end")) && shown.contains('…'), "{shown}");
    press(&mut model, &["z"], now());
    model.show_message(MessageTone::Bad, "no end ".repeat(100), now().mono);
    let shown = screen(&model);
    assert!(shown.contains("until the status changes") && shown.contains(" no end no end"), "{shown}");
}

/// Returns the fixed dashboard with two more profiles: the service refuses one, and no poller polls the other.
fn side_by_side(size: (u16, u16)) -> TestDashboard {
    use crate::domain::{need::Need, polling::PollingState};
    let mut model = dashboard(size);
    let need = Some(Need { polls: 0.9, allowed: 0.83, unsettled: 31 });
    let refused = PollerReport {
        id: "…c0de".into(),
        rps: 1.0,
        health: PollerHealth::Unauthorized,
        need,
        ..live_report(now().wall)
    };
    let oldest_answer = Some(now().wall - TimeDelta::seconds(125));
    model.setting.other_profiles = ["partner", "a-test-with-a-long-name"].map(String::from).into();
    let partner = PollingState { poller: Some(refused), oldest_answer, ..PollingState::default() };
    model.other_profiles = vec![partner, PollingState::default()];
    let refused = Alert { profile: "partner".into(), ..alert(Rule::Unauthorized, None, "invalid integrator ID") };
    model.profile_alerts = vec![refused];
    model
}

#[test]
fn filter_in_place_of_the_header_of_a_low_screen_has_no_tabs_to_click() {
    let mut model = dashboard((80, 10));
    let tabs = |model: &Model| (0..80).filter(|column| target(model, now(), (*column, 0)).is_some()).count();
    assert!(tabs(&model) > 20);
    model.list.set_filter("status:ongoing", "");
    assert!(screen(&model).contains("status:ongoing"));
    assert_eq!(tabs(&model), 0);
}

#[test]
fn a_short_message_stands_beside_the_polling_and_a_long_one_covers_it() {
    let polling_row = |model: &Model| {
        let drawn = screen(model);
        drawn.lines().rev().nth(1).unwrap_or_default().to_owned()
    };
    let mut model = dashboard((120, 36));
    model.show_message(MessageTone::Good, "Done.", now().mono);
    let line = polling_row(&model);
    assert!(line.contains(" Polling ") && line.contains("answers ") && line.ends_with(" Done. \""), "{line}");
    model.show_message(MessageTone::Good, "Done with it. ".repeat(5), now().mono);
    let line = polling_row(&model);
    assert!(!line.contains("Polling") && line.contains(" Done with it. Done"), "{line}");
}

#[test]
fn several_ids_side_by_side() {
    insta::assert_snapshot!(screen(&side_by_side((120, 36))));
}

#[test]
fn several_ids_on_a_small_screen() {
    insta::assert_snapshot!(screen(&side_by_side(SMALL)));
}

#[test]
fn a_tiny_screen_with_several_ids_shows_only_the_alert() {
    let drawn = screen(&side_by_side((40, 9)));
    assert!(drawn.contains("partner: ID REFUSED") && !drawn.contains("a-test"), "{drawn}");
}
