//! Tests of the drawn tabs: full, empty, with hostile text, at every size.

use std::time::Duration;

use ratatui::style::Modifier;

use super::*;
use crate::{
    domain::{
        alert::{Handling, HandlingKind, Rule, Severity},
        change::{Change, ChangeKind},
        ids::{RowId, TxHash},
        record::RouteStep,
        status::RouterStatus,
        text::clean,
    },
    presentation::json_tree::JsonTree,
    store::{HistoryLine, Note},
    tui::{
        fixtures::{TestDashboard, blank, change_store, changed, everything, press, type_in},
        message::Msg,
        screens::detail::{history::TransactionHistory, raw::ResponseBody},
        theme::Theme,
        view::tests::{
            MakeDashboard, SMALL, ago, answered, detail, drawn, history, hostile, now, overdue, screen, sent,
        },
    },
};

const WIDE: (u16, u16) = (120, 36);

/// Returns the overdue transaction with all that its tabs can show.
fn full(size: (u16, u16)) -> TestDashboard {
    let mut dashboard = detail(size);
    let mut history = history();
    for index in 0..3 {
        let (first_seen_at, state_since) = (ago(37, 51), ago(if index == 2 { 34 } else { 37 }, 3));
        history.steps.insert(index, crate::tui::screens::detail::history::StepTimes { first_seen_at, state_since });
    }
    let note = |minutes, text: &str| Note { at: ago(minutes, 36), text: text.into(), author: None };
    let history = history.with_notes(vec![
        note(3_000, "opened by the customer's own support; they have the hash and nothing else"),
        note(20, "user asked, told to wait until 14:18"),
    ]);
    dashboard.show_history(RowId(1), history, now());
    dashboard.apply(body(AFTER, Some(BEFORE)), now());
    dashboard
}

const BEFORE: &str = r#"{"id":"0x9f3c41","status":"source_gateway_called","gasStatus":"","isGMPTransaction":true,"routerTransactionStatus":"not_found","fromChain":{"transactionId":"0x9f3c41","blockNumber":251884012,"chainData":{"chainId":"42161","chainName":"Arbitrum","nativeCurrency":{"symbol":"ETH"}}},"toChain":null,"requestId":"9c1e-77"}"#;
const AFTER: &str = r#"{"id":"0x9f3c41","status":"destination_executing","gasStatus":"","isGMPTransaction":true,"routerTransactionStatus":"ongoing","fromChain":{"transactionId":"0x9f3c41","blockNumber":"251884012","chainData":{"chainId":"42161","chainName":"Arbitrum","nativeCurrency":{"symbol":"ETH"}}},"toChain":{"transactionId":"","chainData":{"chainId":"8453","chainName":"Base"}},"timeSpent":{"total":2281}}"#;

fn body(text: &str, before: Option<&str>) -> Msg {
    let json_tree = JsonTree::new(text, before);
    let before = before.map(|_| ago(8, 0));
    let body = ResponseBody { at: ago(0, 12), http_status: Some(200), bytes: text.len(), before, json_tree };
    Msg::Body(RowId(1), Box::new(Some(body)))
}

/// Returns a transaction without an answer, with only the required parameters.
fn bare(size: (u16, u16)) -> TestDashboard {
    let mut dashboard = blank(size);
    change_store(
        &mut dashboard,
        everything(vec![sent(1, "e3d104b9f77", ["42161", "8453"], 0)], Vec::new()),
        None,
        now(),
    );
    press(&mut dashboard, &["Enter"], now());
    dashboard.show_history(RowId(1), TransactionHistory::default(), now());
    dashboard.apply(Msg::Body(RowId(1), Box::new(None)), now());
    dashboard
}

/// Returns a transaction with wide letters, stacked marks and escape sequences in every text.
fn strange(size: (u16, u16)) -> TestDashboard {
    let mut dashboard = hostile(size);
    press(&mut dashboard, &["Enter"], now());
    let text = clean("\u{1b}[31m注意：資金が届かない\u{7} \u{202e}txt");
    let mut sent = dashboard.transactions[&RowId(1)].clone();
    if let Some(record) = &mut sent.record {
        let (status, action) = (Some(text.clone()), Some(text.clone()));
        record.steps =
            vec![RouteStep { chain_id: None, transaction_id: Some(TxHash::new(text.clone())), status, action }];
        record.time_spent = [(text.clone(), 7.into()), ("x".into(), text.clone().into())].into();
    }
    change_store(&mut dashboard, changed(vec![sent]), None, now());
    let note = Note { at: ago(1, 0), text: text.clone(), author: None };
    let kind = ChangeKind::StatusChanged { previous: None, current: text };
    let (profile, transaction) = ("default".into(), Some(RowId(1)));
    let change = Change { seq: 1, at: ago(9, 0), profile, transaction, kind, observation: None, author: None };
    let history = TransactionHistory::new(&[HistoryLine::Change(change)], Default::default()).with_notes(vec![note]);
    dashboard.show_history(RowId(1), history, now());
    let raw = "{\"注意\u{9b}[31m\u{202e}\":\"e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306} 資金が届かない\",\"deep\":[[[[[[1]]]]]]}";
    dashboard.apply(body(raw, None), now());
    dashboard
}

fn at_tab(make: MakeDashboard, size: (u16, u16), tab: DetailTab) -> TestDashboard {
    let mut dashboard = make(size);
    let index = DetailTab::ALL.iter().position(|own| *own == tab).unwrap();
    press(&mut dashboard, &vec!["]"; index], now());
    dashboard
}

/// Checks the snapshots of every tab, at two common sizes.
fn snapshots(name: &str, make: MakeDashboard) {
    for tab in DetailTab::ALL {
        for (size, of_size) in [(SMALL, "small"), (WIDE, "wide")] {
            let name = format!("{name}_{}_{of_size}", tab.title().to_lowercase());
            insta::assert_snapshot!(name, screen(&at_tab(make, size, tab)));
        }
    }
}

#[test]
fn every_tab_with_all_that_it_can_show() {
    snapshots("full", full);
}

#[test]
fn every_tab_with_nothing_to_show() {
    snapshots("bare", bare);
}

/// Returns a transaction that several people edited.
fn named(size: (u16, u16)) -> TestDashboard {
    let mut dashboard = full(size);
    let (ana, bob) = (Some("Ana".to_owned()), Some("Bob\u{1b}[31m".to_owned()));
    let mut edited = overdue();
    edited.notes = vec!["user asked".into(), "told to wait".into()];
    edited.authors.tracked = ana.clone();
    edited.authors.notes = vec![None, bob.clone()];
    change_store(&mut dashboard, changed(vec![edited]), None, now());
    let change = |minutes, kind, author: &Option<String>| {
        let (profile, transaction, author) = ("default".into(), Some(RowId(1)), author.clone());
        HistoryLine::Change(Change {
            seq: 1,
            at: ago(minutes, 0),
            profile,
            transaction,
            kind,
            observation: None,
            author,
        })
    };
    let ticket = |ticket: &str| ChangeKind::edited(vec![format!("ticket {ticket}")]);
    let acknowledged = ChangeKind::AlertAcknowledged { rule: Rule::Overdue, note: None };
    let lines = [
        change(38, ChangeKind::Imported, &ana),
        change(9, ticket("SUP-1"), &ana),
        change(8, ticket("SUP-2"), &bob),
        change(7, ChangeKind::edited(vec!["note".into()]), &bob),
        change(6, acknowledged, &bob),
    ];
    let note = |minutes, text: &str, author| Note { at: ago(minutes, 0), text: text.into(), author };
    let notes = vec![note(20, "user asked", None), note(7, "told to wait", bob)];
    let history = TransactionHistory::new(&lines, Default::default()).with_notes(notes);
    dashboard.show_history(RowId(1), history, now());
    dashboard
}

#[test]
fn edits_notes_and_the_import_name_their_authors() {
    for tab in [DetailTab::Summary, DetailTab::History, DetailTab::Notes] {
        let dashboard = at_tab(named, (120, 44), tab);
        insta::assert_snapshot!(format!("named_{}", tab.title().to_lowercase()), screen(&dashboard));
    }
}

#[test]
fn the_history_names_the_step_and_shows_a_raised_alert_in_the_colour_of_its_severity() {
    let change = |minutes, kind| {
        let (profile, transaction) = ("default".to_owned(), Some(RowId(1)));
        let at = ago(minutes, 0);
        HistoryLine::Change(Change { seq: 1, at, profile, transaction, kind, observation: None, author: None })
    };
    let lines = [
        change(9, ChangeKind::StatusChanged { previous: Some("not_found".into()), current: "ongoing".into() }),
        change(8, ChangeKind::StepAdded { index: 2 }),
        change(7, ChangeKind::AlertRaised { rule: Rule::Overdue, severity: Severity::Critical }),
        change(6, ChangeKind::AlertRaised { rule: Rule::NotFoundLong, severity: Severity::Warning }),
    ];
    let history = TransactionHistory::new(&lines, Default::default());
    let mut dashboard = at_tab(detail, WIDE, DetailTab::History);
    dashboard.show_history(RowId(1), history, now());
    let shown = screen(&dashboard);
    assert!(shown.contains("step 3 added: ongoing on Base") && shown.contains("not found → ongoing"), "{shown}");
    let theme = Theme::new(true, false);
    let drawn = drawn(&dashboard, &theme);
    let buffer = drawn.backend().buffer();
    let color_of = |text: &str| {
        let row = |row: u16| (0..120).map(|column| buffer[(column, row)].symbol()).collect::<String>();
        let found = (0..36).find(|y| row(*y).contains(text)).unwrap();
        buffer[(20, found)].fg
    };
    assert_eq!(Some(color_of("raised: overdue")), theme.critical().fg);
    assert_eq!(Some(color_of("raised: still not found")), theme.warning().fg);
}

#[test]
fn beside_the_summary_no_part_of_it_is_repeated_and_the_summary_has_the_timing_beside_it() {
    for tab in DetailTab::ALL {
        let drawn = screen(&at_tab(full, (200, 60), tab));
        for part in ["SOURCE", "now 38m", "forecast ", "OBSERVED"] {
            assert!(drawn.matches(part).count() < 2, "{tab:?}: {part}\n{drawn}");
        }
        let is_timed = matches!(tab, DetailTab::Summary | DetailTab::Steps | DetailTab::Timing);
        assert_eq!((drawn.contains("SOURCE"), drawn.contains("OBSERVED")), (true, is_timed), "{tab:?}");
    }
    let summary = screen(&at_tab(full, (200, 60), DetailTab::Summary));
    assert!(summary.contains("REPORTED") && summary.contains("HISTORY"), "{summary}");
}

#[test]
fn the_limit_has_one_column_in_the_timeline_and_in_the_chart_of_the_statuses() {
    for size in [SMALL, WIDE] {
        let drawn = screen(&at_tab(full, size, DetailTab::Timing));
        let columns = drawn.lines().filter(|line| line.contains('┃'));
        let mut columns: Vec<_> = columns.map(|line| line.chars().position(|letter| letter == '┃')).collect();
        assert!(columns.len() > 3, "{drawn}");
        columns.dedup();
        assert_eq!(columns.len(), 1, "{drawn}");
    }
}

#[test]
fn steps_have_the_symbols_of_the_list_and_the_whole_hash_is_in_the_title() {
    let drawn = screen(&at_tab(full, WIDE, DetailTab::Steps));
    assert!(drawn.contains("✓ success") && drawn.contains("● ongoing") && !drawn.contains("~ ongoing"), "{drawn}");
    assert!(drawn.lines().nth(1).unwrap().contains("0x9f3c40000"), "{drawn}");
    assert!(!drawn.lines().nth(1).unwrap().contains('…'), "{drawn}");
}

#[test]
fn no_title_of_a_tab_moves_when_another_tab_opens() {
    for size in [SMALL, WIDE, (200, 60)] {
        let titles = |tab| {
            let drawn = drawn(&at_tab(full, size, tab), &Theme::new(false, true)).backend().to_string();
            let line = drawn.lines().find(|line| line.contains("Timing") && line.contains("Raw")).unwrap().to_owned();
            let end = line.find("Notes").unwrap() + "Notes]".len();
            line[..end].replace(['[', ']'], " ")
        };
        for tab in DetailTab::ALL {
            assert_eq!(titles(tab), titles(DetailTab::Summary), "{size:?}");
        }
    }
    // The mark of the open tab doesn't touch the next title beside the list either.
    let mut beside = at_tab(full, WIDE, DetailTab::Steps);
    press(&mut beside, &["Esc"], now());
    assert!(screen(&beside).contains(" Summary Steps Timing History Raw Notes "), "{}", screen(&beside));
    let drawn = drawn(&beside, &Theme::new(true, false));
    let buffer = drawn.backend().buffer();
    let is_reversed = |at: &(u16, u16)| buffer[*at].modifier.contains(Modifier::REVERSED);
    let text = |row: u16| (70..118).map(|column| buffer[(column, row)].symbol()).collect::<String>();
    let row = (0..36).find(|row| text(*row).contains(" Timing History ")).unwrap();
    let reversed = (70..118).map(|column| (column, row)).filter(is_reversed);
    assert_eq!(reversed.map(|at| buffer[at].symbol()).collect::<String>(), "Steps");
}

#[test]
fn wide_screen_shows_the_summary_beside_each_other_tab() {
    for tab in [DetailTab::Steps, DetailTab::Timing, DetailTab::History, DetailTab::Raw, DetailTab::Notes] {
        let narrow = screen(&at_tab(full, (149, 60), tab));
        let wide = screen(&at_tab(full, (200, 60), tab));
        assert!(!narrow.contains("quoteId ") && wide.contains("quoteId "), "{wide}");
    }
    let summary = screen(&at_tab(full, (200, 60), DetailTab::Summary));
    assert_eq!(summary.matches("quoteId ").count(), 1, "{summary}");
}

#[test]
fn the_note_of_an_acknowledgement_stands_with_the_notes() {
    let mut dashboard = at_tab(full, WIDE, DetailTab::Notes);
    let mut alerts = dashboard.alerts_of(RowId(1)).to_vec();
    let kind = HandlingKind::Acknowledged(Some("asked the bridge".into()));
    let handling = Handling { at: ago(5, 0), author: Some("Bob".into()), kind };
    alerts.iter_mut().for_each(|alert| alert.handling = Some(handling.clone()));
    change_store(&mut dashboard, everything(Vec::new(), alerts), None, now());
    assert!(screen(&dashboard).contains("overdue acknowledged by Bob: asked the bridge"), "{}", screen(&dashboard));
}

#[test]
fn every_tab_in_wide_letters_and_with_hostile_text() {
    snapshots("strange", strange);
}

#[test]
fn a_body_that_is_no_json_is_shown_by_the_line_and_wrapped() {
    let mut dashboard = at_tab(full, SMALL, DetailTab::Raw);
    let page = format!("<html>\n<body>{}</body>\n</html>\n", "Bad gateway. ".repeat(30));
    dashboard.apply(body(&page, Some(AFTER)), now());
    press(&mut dashboard, &["w"], now());
    insta::assert_snapshot!(screen(&dashboard));
}

#[test]
fn the_search_in_the_body_is_typed_beside_the_tabs() {
    let mut dashboard = at_tab(full, SMALL, DetailTab::Raw);
    press(&mut dashboard, &["/"], now());
    type_in(&mut dashboard, "symbol", now());
    insta::assert_snapshot!("raw_search_while_typing", screen(&dashboard));
    drawn(&dashboard, &Theme::new(true, false)).backend_mut().assert_cursor_position((56, 9));
    press(&mut dashboard, &["Enter"], now());
    insta::assert_snapshot!("raw_search", screen(&dashboard));
}

#[test]
fn the_history_shows_what_is_looked_for_and_changes_only() {
    let mut dashboard = at_tab(full, SMALL, DetailTab::History);
    press(&mut dashboard, &["/"], now());
    type_in(&mut dashboard, "o", now());
    press(&mut dashboard, &["Enter", "v"], now());
    insta::assert_snapshot!(screen(&dashboard));
}

#[test]
fn a_step_far_below_and_its_hash_in_full_are_on_the_screen() {
    let mut dashboard = at_tab(full, SMALL, DetailTab::Steps);
    let mut long = overdue();
    let step = long.record.as_ref().unwrap().steps[0].clone();
    let status = Some("reverted".to_owned());
    long.record.as_mut().unwrap().steps = vec![RouteStep { status, ..step }; 40];
    change_store(&mut dashboard, changed(vec![long]), None, now());
    press(&mut dashboard, &["G"], now());
    insta::assert_snapshot!(screen(&dashboard));
}

#[test]
fn timing_of_one_that_settled_long_ago() {
    let mut settled = answered(sent(1, "7a7a0beef01", ["8453", "10"], 3_000), RouterStatus::Ongoing, 2_990, 0);
    settled.params.estimate = Some(Duration::from_secs(1_200));
    for (status, minutes) in [(RouterStatus::Ongoing, 2_976), (RouterStatus::Success, 2_975)] {
        settled.apply(&crate::domain::fixtures::says(status), ago(minutes, 0));
    }
    let mut dashboard = blank(SMALL);
    change_store(&mut dashboard, everything(vec![settled], Vec::new()), None, now());
    press(&mut dashboard, &["5", "Enter", "]", "]"], now());
    let phase = |status: &str, minutes| (status.to_owned(), ago(minutes, 0));
    let phases = vec![phase("ongoing", 2_990), phase("success", 2_975)];
    dashboard.show_history(RowId(1), TransactionHistory { phases, ..TransactionHistory::default() }, now());
    insta::assert_snapshot!(screen(&dashboard));
}

#[test]
fn every_tab_is_drawn_at_every_size() {
    let theme = Theme::new(true, false);
    let sizes = [(1, 1), (7, 3), (20, 6), (40, 9), (44, 13), (60, 16), (99, 20), (100, 14), (101, 22), (200, 60)];
    for make in [full as MakeDashboard, bare, strange] {
        for tab in DetailTab::ALL {
            let mut dashboard = at_tab(make, SMALL, tab);
            for size in sizes {
                dashboard.apply(Msg::Resize(size.0, size.1), now());
                press(&mut dashboard, &["G", "PgUp", "j"], now());
                drawn(&dashboard, &theme);
            }
        }
    }
}

#[test]
fn nothing_but_ascii_where_that_is_asked_for() {
    let theme = Theme::new(true, true);
    for (tab, size) in DetailTab::ALL.into_iter().flat_map(|tab| [(tab, SMALL), (tab, WIDE)]) {
        let terminal = drawn(&at_tab(full, size, tab), &theme);
        let strange = terminal.backend().buffer().content.iter().find(|cell| !cell.symbol().is_ascii());
        assert_eq!(strange, None, "{tab:?}");
    }
}

#[test]
fn a_large_body_costs_no_more_lines_than_a_small_one() {
    let mut dashboard = at_tab(full, (200, 60), DetailTab::Raw);
    let huge = format!("[{}\"{}\"]", "{\"key\":[0]},".repeat(40_000), "x".repeat(1 << 19));
    dashboard.apply(body(&huge, Some("[]")), now());
    for keys in [&["G"][..], &["w"], &["g"]] {
        press(&mut dashboard, keys, now());
        let (theme, now) = (Theme::new(true, false), now());
        let context = DrawContext { model: &dashboard, theme: &theme, now };
        let (lines, _) = raw::shown(&context, 196, 40);
        assert!(lines.len() <= 40, "{}", lines.len());
        let columns = lines.iter().map(Line::width).max();
        assert!(columns <= Some(196), "{columns:?}");
    }
}

#[test]
fn the_open_tab_stays_open_beside_the_list() {
    let mut dashboard = at_tab(full, WIDE, DetailTab::Notes);
    press(&mut dashboard, &["Esc"], now());
    assert!(dashboard.detail.tab == DetailTab::Notes && screen(&dashboard).contains(" Notes "));
    press(&mut dashboard, &["]"], now());
    assert_eq!((dashboard.screen, dashboard.detail.tab), (Screen::List, DetailTab::Summary));
}
