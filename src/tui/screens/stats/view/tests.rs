//! Tests of the drawn charts: full, empty, with one transfer, in ASCII, without colours, with hostile text.

use std::{collections::BTreeMap, time::Duration};

use chrono::TimeDelta;

use crate::{
    domain::{
        duration_stats::{RouteDurations, RouteKey},
        ids::ChainId,
    },
    store::RouteStats,
    tui::{
        effect::Effect,
        fixtures::{TestDashboard, press},
        message::Msg,
        model::Screen,
        screens::stats::state::{ChartRange, MinuteStats, Statistics},
        theme::Theme,
        view::tests::{SMALL, dashboard, drawn, now, screen},
    },
};

const WIDE: (u16, u16) = (120, 36);

/// Returns a route with `timed` durations. The shortest is `quickest` seconds, and each is longer than the one before.
fn route([from, to]: [&str; 2], timed: u64, quickest: u64, others: &[(&str, u64)]) -> RouteStats {
    let durations: Vec<_> =
        (0..timed).map(|number| Duration::from_secs(quickest + number * number * quickest / 400)).collect();
    let mut outcomes: BTreeMap<String, u64> = others.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    if timed > 0 {
        outcomes.insert("success".into(), timed);
    }
    let partial = outcomes.get("partial_success").copied().unwrap_or(0);
    RouteStats {
        route: RouteKey { from: ChainId::new(from), to: ChainId::new(to), is_gmp: from == "1" },
        outcomes,
        settled: timed + partial,
        open: others
            .iter()
            .filter(|(name, _)| matches!(*name, "ongoing" | "not_found" | ""))
            .map(|(_, count)| count)
            .sum(),
        oldest_open: others.iter().any(|(name, _)| *name == "ongoing").then(|| now().wall - TimeDelta::minutes(46)),
        past: RouteDurations { durations, ..RouteDurations::default() },
    }
}

fn routes() -> Vec<RouteStats> {
    vec![
        route(["42161", "8453"], 96, 95, &[("ongoing", 14), ("not_found", 3), ("partial_success", 4), ("", 2)]),
        route(["1", "137"], 41, 700, &[("ongoing", 8), ("needs_gas", 2), ("settling", 1)]),
        route(["8453", "10"], 25, 20, &[("refund", 5)]),
        route(["solana-mainnet-beta", "42161"], 1, 61, &[]),
        route(["137", "56"], 0, 0, &[("ongoing", 1)]),
    ]
}

/// Returns an hour of polling with a pause, some minutes with 429s, and some with failures.
fn minutes() -> Vec<MinuteStats> {
    let minute = |ago: i64| MinuteStats {
        at: now().wall - TimeDelta::minutes(ago) - TimeDelta::seconds(7),
        requests: u64::try_from(60 + (ago * 37) % 410).unwrap(),
        throttled: if (20..24).contains(&ago) { 3 } else { 0 },
        failed: if (8..10).contains(&ago) { 12 } else { 0 },
        polled_for: Duration::from_secs(60),
        limit: 10.0,
        oldest: Some(Duration::from_secs(u64::try_from(20 + (60 - ago) * 3).unwrap())),
    };
    (0..60).rev().filter(|ago| !(40..46).contains(ago)).map(minute).collect()
}

fn charts(size: (u16, u16), routes: Vec<RouteStats>, minutes: Vec<MinuteStats>) -> TestDashboard {
    let mut model = dashboard(size);
    press(&mut model, &["%"], now());
    let read = Statistics::new(routes, minutes, now().wall);
    model.apply(Msg::Statistics(Box::new((ChartRange::All, Ok(read), Duration::ZERO))), now());
    model
}

pub(crate) fn full(size: (u16, u16)) -> TestDashboard {
    charts(size, routes(), minutes())
}

#[test]
fn all_routes() {
    insta::assert_snapshot!(screen(&full(WIDE)));
}

#[test]
fn all_routes_on_a_small_screen() {
    insta::assert_snapshot!(screen(&full(SMALL)));
}

#[test]
fn all_routes_on_a_large_screen() {
    insta::assert_snapshot!(screen(&full((200, 60))));
}

#[test]
fn a_chosen_route() {
    let mut model = full(WIDE);
    press(&mut model, &["j", "j"], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn enter_shows_the_transfers_of_the_route_and_esc_the_list_as_it_was() {
    let mut model = full(WIDE);
    press(&mut model, &["j", "Enter"], now());
    assert_eq!((model.screen, model.list.filter_text.as_str()), (Screen::List, "from:42161 to:8453"));
    press(&mut model, &["Esc"], now());
    assert_eq!((model.screen, model.list.filter_text.as_str()), (Screen::List, ""));
}

#[test]
fn slow_routes_are_sorted_by_their_median_and_routes_without_a_median_come_last() {
    let mut all = routes();
    all.push(route(["56", "1"], 0, 0, &[("not_found", 4)]));
    let mut model = charts(WIDE, all, minutes());
    press(&mut model, &["s"], now());
    let shown = model.stats.summaries().iter().skip(1);
    let medians: Vec<_> = shown.clone().map(|summary| summary.median.map(|median| median.as_secs())).collect();
    assert_eq!(medians, [Some(1_400), Some(619), Some(61), Some(27), None, None]);
    // Both routes have no settled transfer. The transfer from 137 is in progress for 46 minutes.
    let sources: Vec<_> = shown.filter_map(|summary| summary.route.as_ref()).map(|route| route.from.as_str()).collect();
    assert_eq!(sources[4..], ["137", "56"]);
}

#[test]
fn an_arrow_marks_the_column_that_sorts_the_routes() {
    for (size, all, worst) in [(WIDE, " ALL▼ OPEN", " OK▲ MEDIAN"), (SMALL, "  ALL▼  OK", " OK▲ MEDIAN")] {
        let mut model = full(size);
        assert!(screen(&model).contains(all), "{size:?}");
        press(&mut model, &["s"], now());
        assert!(screen(&model).contains("MEDIAN▼   P90"), "{size:?}");
        press(&mut model, &["s"], now());
        assert!(screen(&model).contains(worst), "{size:?}");
    }
}

#[test]
fn the_time_of_the_charts_is_read_and_named() {
    let mut model = full(WIDE);
    assert_eq!(press(&mut model, &["t", "t"], now()), [Effect::LoadStatistics(ChartRange::Day)]);
    assert!(screen(&model).contains("in progress, or settled in 24 hours"));
}

#[test]
fn one_transfer_says_one() {
    let mut model = full(SMALL);
    press(&mut model, &["G", "k"], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn nothing_yet() {
    insta::assert_snapshot!(screen(&charts(WIDE, Vec::new(), Vec::new())));
}

#[test]
fn nothing_yet_on_a_small_screen() {
    insta::assert_snapshot!(screen(&charts(SMALL, Vec::new(), Vec::new())));
}

#[test]
fn by_ascii() {
    let drawn = drawn(&full(SMALL), &Theme::new(false, true)).backend().to_string();
    assert!(drawn.is_ascii(), "{drawn}");
    insta::assert_snapshot!(drawn);
}

#[test]
fn without_colours() {
    let model = full(SMALL);
    insta::assert_debug_snapshot!(drawn(&model, &Theme::new(false, false)).backend().buffer());
}

#[test]
fn a_very_small_screen_has_the_numbers() {
    insta::assert_snapshot!(screen(&full((40, 9))));
}

#[test]
fn hostile_names_and_numbers_at_any_size() {
    let mut routes = routes();
    routes.push(route(
        ["鎖鎖鎖鎖鎖鎖\u{202e}", "\u{1b}[31m"],
        u64::from(u16::MAX),
        u64::from(u32::MAX),
        &[("状態不明の状態\u{1b}[2J", u64::from(u32::MAX))],
    ));
    routes
        .extend((0..40).map(|number| route([&format!("a{number}"), "b"], 1, number, &[(&format!("odd {number}"), 1)])));
    let mut minutes = minutes();
    for minute in &mut minutes {
        (minute.requests, minute.limit, minute.polled_for) = (u64::MAX, f64::INFINITY, Duration::ZERO);
    }
    for size in [(200, 60), WIDE, SMALL, (61, 13), (40, 9), (10, 40), (1, 1)] {
        let mut model = charts(size, routes.clone(), minutes.clone());
        press(&mut model, &["j"], now());
        let drawn = screen(&model);
        assert!(!drawn.contains(['\u{1b}', '\u{202e}']), "{size:?}");
    }
    insta::assert_snapshot!(screen(&charts(SMALL, routes, minutes)));
}
