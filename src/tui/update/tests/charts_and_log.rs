//! The charts and the log: opening, reading, leaving, and the error report.

use std::collections::BTreeMap;

use super::*;
use crate::{
    domain::{
        duration_stats::{RouteDurations, RouteKey},
        ids::ChainId,
    },
    store::{Changes, RouteStats},
    tui::{
        message::StoreUpdate,
        screens::{
            log::state::{LogLine, LogTail},
            stats::state::{ChartRange, Statistics},
        },
    },
};

/// Returns statistics of this many routes: the first has one timed transfer, the second has two, and so on.
pub(super) fn statistics(routes: usize) -> Statistics {
    let route = |number: usize| RouteStats {
        route: RouteKey { from: ChainId::new("10"), to: ChainId::new(format!("{number}")), is_gmp: false },
        outcomes: BTreeMap::from([("success".to_owned(), number as u64)]),
        settled: number as u64,
        open: 0,
        oldest_open: None,
        past: RouteDurations { durations: vec![Duration::from_secs(60); number], ..RouteDurations::default() },
    };
    Statistics::new((1..=routes).map(route).collect(), Vec::new(), now().wall)
}

/// Returns a log of this many lines, one per second. Every second line is a warning, the others are information.
pub(super) fn tail(lines: u32) -> LogTail {
    let line = |number: u32| {
        let level = if number.is_multiple_of(2) { " WARN" } else { " INFO" };
        format!(
            "2026-11-20T14:{:02}:{:02}Z {level} line {number} about=\"0xab\" body=\"{CANARY}\"",
            number / 60,
            number % 60
        )
    };
    let lines: Vec<LogLine> = (0..lines).filter_map(|number| LogLine::parse(&line(number))).rev().collect();
    LogTail { length: lines.len() as u64, lines, is_cut: false }
}

const CANARY: &str = "canary-c0ffee-integrator-5e2d";

fn read(model: &mut TestDashboard, read_time: Duration) {
    model.apply(Msg::Statistics(Box::new((ChartRange::All, Ok(statistics(3)), read_time))), now());
}

fn after(seconds: u64) -> Now {
    moment(now().wall + TimeDelta::seconds(i64::try_from(seconds).unwrap()))
}

#[test]
fn busiest_route_comes_first_after_the_total() {
    let read = statistics(3);
    let shown: Vec<_> =
        read.summaries.iter().map(|summary| (summary.tracked, summary.timed(), summary.settled)).collect();
    assert_eq!(shown, [(6, 6, 6), (3, 3, 3), (2, 2, 2), (1, 1, 1)]);
    let nothing = Statistics::new(Vec::new(), Vec::new(), now().wall);
    assert_eq!((nothing.summaries[0].tracked, nothing.summaries[0].median), (0, None));
}

#[test]
fn charts_are_read_again_after_a_change_and_a_pause() {
    let mut model = dashboard("5");
    assert_eq!(press(&mut model, &["%"], now()), [Effect::LoadStatistics(ChartRange::All)]);
    assert_eq!(model.apply(Msg::Tick, after(60)), [], "one read at a time");
    read(&mut model, Duration::from_secs(2));
    assert_eq!(model.apply(Msg::Tick, after(200)), [], "nothing changed");
    change_store(&mut model, changed(vec![in_status(30, RouterStatus::Success)]), Some(live_report(now().wall)), now());
    assert_eq!(model.apply(Msg::Tick, after(99)), [], "the pause is fifty times the duration of the read");
    assert_eq!(model.apply(Msg::Tick, after(100)), [Effect::LoadStatistics(ChartRange::All)]);
    model.apply(
        Msg::Statistics(Box::new((ChartRange::All, Err("the disk is full".into()), Duration::ZERO))),
        after(101),
    );
    assert!(model.status_message.as_ref().is_some_and(|notice| notice.text == "the disk is full"));
    assert_eq!(
        model.apply(Msg::Tick, after(106)),
        [Effect::LoadStatistics(ChartRange::All)],
        "a failed read is repeated"
    );
}

#[test]
fn statistics_for_another_range_are_ignored() {
    let mut model = dashboard("5");
    press(&mut model, &["%"], now());
    assert_eq!(press(&mut model, &["t"], now()), [Effect::LoadStatistics(ChartRange::Week)]);
    read(&mut model, Duration::ZERO);
    assert!(model.stats.statistics.is_none() && model.stats.is_loading);
    model.apply(Msg::Statistics(Box::new((ChartRange::Week, Ok(statistics(3)), Duration::ZERO))), now());
    assert!(model.stats.statistics.is_some() && !model.stats.is_loading);
}

#[test]
fn chart_selection_follows_the_route() {
    let mut model = dashboard_in(KeyContext::Stats, "5");
    let chosen = model.stats.chosen.clone();
    let mut other = statistics(40);
    other.summaries.remove(1);
    model.apply(Msg::Statistics(Box::new((ChartRange::All, Ok(other), Duration::ZERO))), now());
    assert_eq!((model.stats.chosen.clone(), model.stats.position()), (chosen, 11));
    read(&mut model, Duration::ZERO);
    assert_eq!(model.stats.chosen, None, "the selected route is gone");
}

#[test]
fn log_is_read_once_a_second() {
    let mut model = dashboard("5");
    assert_eq!(press(&mut model, &["@"], now()), [Effect::LoadLog(None)]);
    model.apply(Msg::Log(Ok(Some(tail(5)))), now());
    assert_eq!(model.apply(Msg::Tick, after(1)), [Effect::LoadLog(Some(5))]);
    model.apply(Msg::Log(Ok(None)), after(1));
    assert_eq!(model.log.all().len(), 5, "the log keeps its lines");
}

#[test]
fn esc_returns_from_charts_and_log_to_the_previous_screen() {
    for (keys, screen) in [(&[][..], Screen::List), (&["Enter"], Screen::Detail), (&["A"], Screen::Alerts)] {
        let mut model = dashboard("5");
        press(&mut model, keys, now());
        press(&mut model, &["%", "@", "%", "@"], now());
        assert_eq!(model.screen, Screen::Log);
        press(&mut model, &["Esc"], now());
        assert_eq!(model.screen, screen);
    }
}

#[test]
fn open_transaction_behind_the_log_stays_open_until_it_is_deleted() {
    let mut model = dashboard("5");
    press(&mut model, &["Enter", "@"], now());
    change_store(&mut model, changed(vec![in_status(21, RouterStatus::Success)]), None, now());
    assert!(model.is_open() && model.selected().is_some());
    let kind = ChangeKind::Deleted { row: 21 };
    let gone = crate::domain::change::Change {
        seq: 999,
        at: now().wall,
        profile: "default".into(),
        transaction: None,
        kind,
        observation: None,
        author: None,
    };
    let feed = Changes { changes: vec![gone], ..Changes::default() };
    model.apply(Msg::StoreChanged(Box::new(StoreUpdate { feed, ..StoreUpdate::default() })), now());
    assert_eq!((model.screen, model.previous_screen), (Screen::Log, Screen::List));
}

#[test]
fn log_is_searched_for_a_text() {
    let mut model = dashboard_in(KeyContext::Log, "5");
    press(&mut model, &["/"], now());
    type_in(&mut model, "line 5", now());
    assert_eq!(model.log.lines().count(), 11);
    press(&mut model, &["Enter"], now());
    assert_eq!(model.log.search_text, "line 5");
    press(&mut model, &["/"], now());
    type_in(&mut model, "9", now());
    press(&mut model, &["Esc"], now());
    assert_eq!((model.log.search_text.as_str(), model.detail.filter.as_str()), ("line 5", ""));
    // Esc ends the search, and without a search leaves the log.
    press(&mut model, &["Esc"], now());
    assert_eq!((model.log.search_text.as_str(), model.screen), ("", Screen::Log));
    press(&mut model, &["Esc"], now());
    assert_eq!(model.screen, Screen::List);
}

#[test]
fn a_report_holds_no_body_and_no_more_of_the_id_than_its_end() {
    let mut model = dashboard_in(KeyContext::Log, "5");
    let effects = press(&mut model, &["y"], now());
    let [Effect::Copy(report)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(model.log.all().iter().all(|line| line.body.contains(CANARY)));
    assert!(!report.contains("canary") && !report.contains("c0ffee"), "{report}");
    let (_, rest) = report.split_once(", terminal ").unwrap();
    assert_eq!(rest.matches(" (with a response body)").count(), 50);
    insta::assert_snapshot!(rest.lines().take(9).collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_command_line_pauses_for_a_typed_duration() {
    for (typed, effects, message) in [
        ("pause 15m", vec![Effect::Pause(Some(15))], None),
        ("pause 90s", vec![Effect::Pause(Some(2))], None),
        ("pause 0s", vec![], Some("A pause lasts at least 1m and at most 24h.")),
        ("pause 2d", vec![], Some("A pause lasts at least 1m and at most 24h.")),
        ("pause soon", vec![], Some("`soon` is not a duration; write it as 90s, 30m or 2h")),
    ] {
        let mut model = dashboard("5");
        press(&mut model, &[":"], now());
        type_in(&mut model, typed, now());
        assert_eq!(press(&mut model, &["Enter"], now()), effects, "{typed}");
        assert_eq!(model.status_message.as_ref().map(|message| message.text.as_str()), message, "{typed}");
    }
}
