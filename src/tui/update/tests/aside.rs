//! The charts and the log: opened, read, left; and what a report holds.

use std::collections::BTreeMap;

use super::*;
use crate::{
    domain::{
        duration_stats::{RouteDurations, RouteKey},
        ids::ChainId,
    },
    store::RouteStats,
    tui::model::{
        log::{LogLine, LogTail},
        stats::Statistics,
    },
};

/// So many routes; of the first one transfer is timed, of the second two, and so on.
pub(super) fn statistics(routes: usize) -> Statistics {
    let route = |number: usize| RouteStats {
        route: RouteKey { from: ChainId::new("10"), to: ChainId::new(format!("{number}")), gmp: false },
        outcomes: BTreeMap::from([("success".to_owned(), number as u64)]),
        settled: number as u64,
        past: RouteDurations { took: vec![Duration::from_secs(60); number], ..RouteDurations::default() },
    };
    Statistics::new((1..=routes).map(route).collect(), Vec::new())
}

/// So many lines, one second after the other; each second one says less.
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

fn read(model: &mut TestDashboard, took: Duration) {
    model.take(Msg::Statistics(Box::new((Ok(statistics(3)), took))), now());
}

fn after(seconds: u64) -> Now {
    moment(now().wall + TimeDelta::seconds(i64::try_from(seconds).unwrap()))
}

#[test]
fn the_busiest_route_comes_first_behind_all_together() {
    let read = statistics(3);
    let shown: Vec<_> = read.spreads.iter().map(|spread| (spread.tracked, spread.timed(), spread.settled)).collect();
    assert_eq!(shown, [(6, 6, 6), (3, 3, 3), (2, 2, 2), (1, 1, 1)]);
    let nothing = Statistics::new(Vec::new(), Vec::new());
    assert_eq!((nothing.spreads[0].tracked, nothing.spreads[0].median), (0, None));
}

#[test]
fn the_charts_are_read_again_when_something_changed_and_they_have_rested() {
    let mut model = dashboard("5");
    assert_eq!(press(&mut model, &["%"], now()), [Effect::LoadStatistics]);
    assert_eq!(model.take(Msg::Tick, after(60)), [], "one reading at a time");
    read(&mut model, Duration::from_secs(2));
    assert_eq!(model.take(Msg::Tick, after(200)), [], "nothing changed");
    hear(&mut model, changed(vec![in_status(30, RouterStatus::Success)]), Some(at_work(now().wall)), now());
    assert_eq!(model.take(Msg::Tick, after(99)), [], "it rests fifty times as long as it took");
    assert_eq!(model.take(Msg::Tick, after(100)), [Effect::LoadStatistics]);
    model.take(Msg::Statistics(Box::new((Err("the disk is full".into()), Duration::ZERO))), after(101));
    assert!(model.notice.as_ref().is_some_and(|notice| notice.text == "the disk is full"));
    assert_eq!(model.take(Msg::Tick, after(106)), [Effect::LoadStatistics], "what failed is tried again");
}

#[test]
fn the_choice_follows_the_route() {
    let mut model = placed(Context::Stats, "5");
    let chosen = model.charts.chosen.clone();
    let mut other = statistics(40);
    other.spreads.remove(1);
    model.take(Msg::Statistics(Box::new((Ok(other), Duration::ZERO))), now());
    assert_eq!((model.charts.chosen.clone(), model.charts.place()), (chosen, 11));
    read(&mut model, Duration::ZERO);
    assert_eq!(model.charts.chosen, None, "it is gone");
}

#[test]
fn the_log_is_looked_at_once_a_second() {
    let mut model = dashboard("5");
    assert_eq!(press(&mut model, &["@"], now()), [Effect::LoadLog(None)]);
    model.take(Msg::Log(Ok(Some(tail(5)))), now());
    assert_eq!(model.take(Msg::Tick, after(1)), [Effect::LoadLog(Some(5))]);
    model.take(Msg::Log(Ok(None)), after(1));
    assert_eq!(model.log.all().len(), 5, "nothing new leaves what there is");
}

#[test]
fn esc_leads_back_to_where_they_were_opened() {
    for (way, screen) in [(&[][..], Screen::List), (&["Enter"], Screen::Detail), (&["A"], Screen::Alerts)] {
        let mut model = dashboard("5");
        press(&mut model, way, now());
        press(&mut model, &["%", "@", "%", "@"], now());
        assert_eq!(model.screen, Screen::Log);
        press(&mut model, &["Esc"], now());
        assert_eq!(model.screen, screen);
    }
}

#[test]
fn what_is_open_behind_them_stays_open_until_it_is_removed() {
    let mut model = dashboard("5");
    press(&mut model, &["Enter", "@"], now());
    hear(&mut model, changed(vec![in_status(21, RouterStatus::Success)]), None, now());
    assert!(model.is_open() && model.selected().is_some());
    let what = What::Deleted { row: 21 };
    let gone = crate::domain::change::Change {
        seq: 999,
        at: now().wall,
        profile: "default".into(),
        transaction: None,
        what,
        observation: None,
    };
    let news = Changes { changes: vec![gone], ..Changes::default() };
    model.take(Msg::News(Box::new(StoreNews { news, ..StoreNews::default() })), now());
    assert_eq!((model.screen, model.behind), (Screen::Log, Screen::List));
}

#[test]
fn a_text_is_looked_for_in_the_log() {
    let mut model = placed(Context::Log, "5");
    press(&mut model, &["/"], now());
    type_in(&mut model, "line 5", now());
    assert_eq!(model.log.lines().count(), 11);
    press(&mut model, &["Enter"], now());
    assert_eq!(model.log.wanted, "line 5");
    press(&mut model, &["/"], now());
    type_in(&mut model, "9", now());
    press(&mut model, &["Esc"], now());
    assert_eq!((model.log.wanted.as_str(), model.detail.filter.as_str()), ("line 5", ""));
    // Esc that doesn't leave a field leaves the log.
    press(&mut model, &["Esc"], now());
    assert_eq!(model.screen, Screen::List);
}

#[test]
fn a_report_holds_no_body_and_no_more_of_the_id_than_its_end() {
    let mut model = placed(Context::Log, "5");
    let effects = press(&mut model, &["y"], now());
    let [Effect::Copy(report)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(model.log.all().iter().all(|line| line.body.contains(CANARY)));
    assert!(!report.contains("canary") && !report.contains("c0ffee"), "{report}");
    let (_, rest) = report.split_once(", terminal ").unwrap();
    assert_eq!(rest.matches(" (a body came)").count(), 50);
    insta::assert_snapshot!(rest.lines().take(9).collect::<Vec<_>>().join("\n"));
}
