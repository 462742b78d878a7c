//! Tests of the drawn screens: a fixed set of transactions at common sizes, and a check that no size panics.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use ratatui::{
    Terminal,
    backend::TestBackend,
    buffer::{Buffer, Cell},
    style::{Color, Modifier, Style},
};

use super::*;
use crate::{
    domain::{
        alert::{Alert, Rule, Severity},
        change::{Change, ChangeKind},
        duration_stats::RouteDurations,
        fixtures as tx,
        ids::{ChainId, RowId, TxHash},
        observation::{RequestFailure, StatusOutcome},
        poller::PollerHealth,
        record::{ChainSide, RouteStep, StatusRecord},
        reply::{self, Audience},
        status::RouterStatus,
        text::clean,
        transaction::Transaction,
    },
    presentation::width,
    store::{HistoryLine, StoredObservation},
    tui::{
        command::{COMMANDS, KeyContext},
        draw::put_text,
        fixtures::{TestDashboard, alert, blank, change_store, everything, live_report, moment, press, type_in},
        message::Msg,
        model::geometry::ClickTarget,
        screens::alerts::state::AlertTab,
        screens::detail::history::TransactionHistory,
        step::step,
    },
};

proptest::proptest! {
    #[test]
    fn put_text_draws_like_ratatui(text in "[ -~]{0,12}|\\PC{0,12}|[ -~\t\u{7f}]{0,12}", x in 0_u16..10, room in 0_usize..12) {
        let room = room.min(usize::from(10 - x));
        let style = Style::new().fg(Color::Red);
        let [mut ours, mut theirs] = [(); 2].map(|()| Buffer::filled(Rect::new(0, 0, 10, 1), Cell::new("#")));
        let end = put_text(&mut ours, (x, 0), &text, room, style);
        // Behind the end of the row there are no cells to draw on.
        let theirs_end = if x < 10 { theirs.set_stringn(x, 0, &text, room, style).0 } else { x };
        proptest::prop_assert_eq!((ours, end), (theirs, theirs_end));
    }
}

/// Returns the storyboard's time, 14:26:07.
pub(crate) fn now() -> Now {
    moment(DateTime::from_timestamp(1_795_184_767, 0).unwrap())
}

pub(crate) fn ago(minutes: i64, seconds: i64) -> DateTime<Utc> {
    now().wall - TimeDelta::minutes(minutes) - TimeDelta::seconds(seconds)
}

/// Returns a transaction with this hash between two chains, submitted `minutes` ago.
pub(crate) fn sent(number: i64, hash: &str, [from, to]: [&str; 2], minutes: i64) -> Transaction {
    let mut sent = tx::transaction(number);
    let middle = "0".repeat(64 - hash.len());
    let (head, tail) = hash.split_at(5);
    sent.params.transaction_id = TxHash::new(format!("0x{head}{middle}{tail}"));
    (sent.params.from_chain, sent.params.to_chain) = (ChainId::new(from), ChainId::new(to));
    sent.params.submitted_at = Some(ago(minutes, 0));
    sent.first_seen_at = ago(minutes, 0);
    sent
}

pub(crate) fn answered(mut sent: Transaction, status: RouterStatus, minutes: i64, seconds: i64) -> Transaction {
    sent.apply(&tx::says(status), ago(minutes, seconds));
    sent
}

/// Returns the transaction, seen under way until it ended this many minutes ago.
fn ended(sent: Transaction, status: RouterStatus, minutes: i64) -> Transaction {
    answered(answered(sent, RouterStatus::Ongoing, minutes, 5), status, minutes, 0)
}

/// Returns an overdue transaction whose record has every field.
pub(crate) fn overdue() -> Transaction {
    let mut sent = sent(1, "9f3c41b7e21b", ["42161", "8453"], 38);
    sent.params.estimate = Some(Duration::from_secs(15 * 60));
    sent.params.ticket = Some("SUP-4412".into());
    sent.params.request_id = Some("9c1e-77".into());
    sent.labels = vec!["batch-17".into(), "vip".into()];
    sent.notes = vec!["user asked, told to wait until 14:18".into()];
    sent.apply(&tx::answer(StatusOutcome::NotFound(Some("Transaction not found".into()))), ago(38, 0));
    let side = |chain: &str, name: &str| ChainSide {
        chain_id: Some(ChainId::new(chain)),
        chain_name: Some(name.into()),
        ..ChainSide::default()
    };
    let hash = sent.params.transaction_id.clone();
    let step = |chain: &str, action: &str, hash: Option<TxHash>, status: &str| RouteStep {
        chain_id: Some(ChainId::new(chain)),
        transaction_id: hash,
        status: Some(status.into()),
        action: Some(action.into()),
    };
    let record = StatusRecord {
        bridge_status: Some("source_gateway_called".into()),
        is_gmp: Some(true),
        bridge_url: Some("https://bridge-explorer.example/gmp/0x9f3c41".into()),
        from: ChainSide {
            transaction_id: Some(hash.clone()),
            block_number: Some(251_884_012),
            url: Some("https://explorer.example/tx/0x9f3c41".into()),
            ..side("42161", "Arbitrum")
        },
        to: side("8453", "Base"),
        steps: vec![
            step("42161", "send", Some(hash.clone()), "success"),
            step("42161", "call", Some(hash), "success"),
            step("8453", "call", None, "ongoing"),
        ],
        time_spent: [("total".to_owned(), 2_281.into())].into(),
        ..StatusRecord::bare(RouterStatus::Ongoing)
    };
    sent.apply(&tx::answer(StatusOutcome::Record(Box::new(record.clone()))), ago(37, 51));
    sent.apply(&tx::answer(StatusOutcome::Record(Box::new(record))), ago(0, 12));
    sent
}

/// Returns a transaction in every status, one in an undocumented status, one without an answer, one that is parked.
fn transactions() -> Vec<Transaction> {
    use RouterStatus::*;
    let with_ticket = |mut sent: Transaction, ticket: &str| {
        sent.params.ticket = Some(ticket.into());
        sent
    };
    let not_found = sent(4, "7be1055c0a4", ["solana-mainnet-beta", "42161"], 6);
    let mut labelled = answered(sent(7, "1f00aaaa12", ["42161", "8453"], 3), Ongoing, 0, 44);
    labelled.labels = vec!["batch-17".into()];
    let mut parked = sent(11, "5a5a017c3ff", ["137", "56"], 2);
    parked.apply(&tx::fails(RequestFailure::Rejected("quoteId is missing".into())), ago(1, 30));
    vec![
        overdue(),
        with_ticket(ended(sent(2, "41aa090fe11", ["1", "137"], 12), PartialSuccess, 11), "SUP-4409"),
        answered(sent(3, "c00d01a2b33", ["8453", "1"], 9), NeedsGas, 6, 22),
        with_ticket(answered(not_found, NotFound, 0, 4), "SUP-4415"),
        with_ticket(answered(sent(5, "0d9e07f11cc", ["10", "42161"], 21), Refund, 16, 51), "SUP-4401"),
        answered(sent(6, "88f2003ad00", ["42161", "10"], 4), Refund, 0, 18),
        labelled,
        answered(sent(8, "2c9b0d0e4ab", ["42161", "8453"], 8), Unknown("settling".into()), 0, 31),
        sent(9, "e3d104b9f77", ["42161", "8453"], 0),
        ended(sent(10, "7a7a0beef01", ["8453", "10"], 65), Success, 60),
        parked,
    ]
}

fn alerts() -> Vec<Alert> {
    let of = |row, rule, message: &str| alert(rule, Some(RowId(row)), message);
    vec![
        of(1, Rule::Overdue, "past its limit of 30m = 2 x est. 15m"),
        of(2, Rule::PartialSuccess, "the destination transaction reverted"),
        of(3, Rule::NeedsGas, "execution is paused on the destination chain"),
        of(4, Rule::NotFoundLong, "no on-chain record yet"),
        of(5, Rule::RefundSlow, "funds return on the source chain"),
        of(5, Rule::Refund, "funds return on the source chain"),
        of(6, Rule::Refund, "funds return on the source chain"),
        of(8, Rule::Regressed, "the service says `settling`, which isn't documented"),
        of(11, Rule::Rejected, "the service rejected the request: quoteId is missing"),
    ]
}

/// Returns a dashboard of this size with the fixed transactions and alerts.
pub(crate) fn dashboard(size: (u16, u16)) -> TestDashboard {
    let mut model = blank(size);
    change_store(&mut model, everything(transactions(), alerts()), Some(live_report(ago(0, 1))), now());
    model
}

pub(crate) fn history() -> TransactionHistory {
    let change = |at, kind| {
        HistoryLine::Change(Change {
            seq: 1,
            at,
            profile: "default".into(),
            transaction: Some(RowId(1)),
            kind,
            observation: None,
            author: None,
        })
    };
    let answer = |first_at, last_at, times, summary: &str, http_status| {
        let latency = Duration::from_millis(212);
        let summary = summary.to_owned();
        let http_status = Some(http_status);
        HistoryLine::Observation(
            StoredObservation { id: 1, first_at, last_at, times, summary, http_status, latency },
            Vec::new(),
        )
    };
    let severity = Severity::Critical;
    let lines = [
        change(ago(38, 0), ChangeKind::Imported),
        answer(ago(38, 0), ago(38, 0), 1, "not found", 404),
        change(ago(38, 0), ChangeKind::StatusChanged { previous: None, current: "not_found".into() }),
        answer(ago(37, 51), ago(0, 12), 460, "ongoing", 200),
        change(
            ago(37, 51),
            ChangeKind::StatusChanged { previous: Some("not_found".into()), current: "ongoing".into() },
        ),
        change(ago(8, 0), ChangeKind::AlertRaised { rule: Rule::Overdue, severity }),
    ];
    TransactionHistory::new(&lines, RouteDurations::default())
}

pub(crate) fn detail(size: (u16, u16)) -> TestDashboard {
    let mut model = dashboard(size);
    press(&mut model, &["Enter"], now());
    model.show_history(RowId(1), history(), now());
    model
}

fn filter_error(size: (u16, u16)) -> TestDashboard {
    let mut model = dashboard(size);
    press(&mut model, &["/"], now());
    model.apply(Msg::Paste("chain:base is:refunded age>30m".into()), now());
    model
}

const PASTE: &str = "0x9f3c40000000000000000000000000000000000000000000000000000001b7e21b
https://explorer.example/tx/0x41aa1111111111111111111111111111111111111111111111111111111190fe
0x7be12222222222222222222222222222222222222222222222222222222255c0,42161,8453,q_8d1
my swap is stuck";

fn add_dialog(size: (u16, u16)) -> TestDashboard {
    let mut model = dashboard(size);
    let known = model.transactions[&RowId(1)].params.transaction_id.to_string();
    let text = PASTE.replace(PASTE.lines().next().unwrap(), &known);
    model.apply(Msg::Paste(text), now());
    model
}

fn unauthorized(size: (u16, u16)) -> TestDashboard {
    let mut model = dashboard(size);
    let mut alerts = alerts();
    let message = "the service refused the integrator ID: integrator ID is invalid";
    alerts.push(alert(Rule::Unauthorized, None, message));
    let mut report = live_report(ago(0, 1));
    report.health = PollerHealth::Unauthorized;
    report.resting_until = Some(now().wall + TimeDelta::seconds(48));
    report.last_error = Some(message.into());
    change_store(&mut model, everything(transactions(), alerts), Some(report), now());
    model
}

fn empty(size: (u16, u16)) -> TestDashboard {
    let mut model = blank(size);
    change_store(&mut model, everything(Vec::new(), Vec::new()), None, now());
    model
}

/// Returns a dashboard with texts of wide letters and stacked marks, as far as the sanitiser passes these.
pub(crate) fn hostile(size: (u16, u16)) -> TestDashboard {
    let zalgo = clean(&format!("Z{0}a{0}l{0}", "\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}".repeat(3)));
    let mut first = answered(sent(1, "9f3c41b7e21b", ["42161", "8453"], 20), RouterStatus::Ongoing, 0, 1);
    first.params.ticket = Some(clean("票据号码非常长的票据"));
    first.labels = vec![clean("\u{202e}標籤\u{200b}一"), zalgo.clone()];
    first.notes = vec![clean("\u{1b}[31m注意：資金が届かない\u{7}")];
    first.state.message = Some(clean("ノート".repeat(30).as_str()));
    let unknown = RouterStatus::Unknown(clean("状態不明の状態"));
    let mut second = answered(sent(2, "41aa090fe11", ["1", "137"], 3), unknown, 0, 2);
    second.params.ticket = Some(zalgo);
    let mut third = tx::transaction(3);
    third.params.transaction_id = TxHash::new(clean("ハッシュではない何か別のもの"));
    third.params.from_chain = ChainId::new(clean("鎖鎖鎖鎖鎖鎖"));
    third.params.ticket = Some(clean("👩‍👩‍👧‍👦 家族"));
    third.first_seen_at = ago(5, 0);
    let raised = vec![
        alert(Rule::Overdue, Some(RowId(1)), &clean("期限を過ぎました")),
        alert(Rule::Regressed, Some(RowId(2)), &clean("the service says `状態不明の状態`")),
    ];
    let mut model = blank(size);
    change_store(&mut model, everything(vec![first, second, third], raised), Some(live_report(ago(0, 1))), now());
    model
}

pub(crate) fn drawn(model: &Model, theme: &Theme) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(model.size.0, model.size.1)).unwrap();
    terminal.draw(|frame| view(model, theme, now(), frame)).unwrap();
    terminal
}

pub(crate) fn screen(model: &Model) -> String {
    drawn(model, &Theme::new(true, false)).backend().to_string()
}

pub(crate) const SMALL: (u16, u16) = (80, 24);

#[test]
fn list_and_detail_side_by_side() {
    let mut model = dashboard((120, 36));
    model.show_history(RowId(1), history(), now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn list_on_a_small_screen() {
    insta::assert_snapshot!(screen(&dashboard(SMALL)));
}

#[test]
fn detail_on_a_small_screen() {
    insta::assert_snapshot!(screen(&detail(SMALL)));
}

#[test]
fn detail_scrolled_to_its_end() {
    let mut model = detail(SMALL);
    press(&mut model, &["G"], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn the_reply_for_a_ticket() {
    let mut model = dashboard(SMALL);
    press(&mut model, &["c"], now());
    let outcome = Ok("Copied to tmux's buffer; tmux forwards it to the terminal.".into());
    model.apply(Msg::Copied { text: String::new(), outcome }, now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn a_text_that_no_clipboard_took() {
    let mut model = dashboard(SMALL);
    press(&mut model, &["y", "p"], now());
    let setting = &model.setting;
    let selected = model.selected().unwrap();
    let text = reply::write_reply(&[selected], Audience::Provider, now().wall, setting.zone, &setting.templates);
    let outcome = Err("Not copied (xclip: exit status: 1): select the text with the mouse.".into());
    model.apply(Msg::Copied { text, outcome }, now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn what_can_be_copied() {
    let mut model = detail(SMALL);
    press(&mut model, &["y"], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn what_can_be_opened() {
    let mut model = detail((120, 36));
    press(&mut model, &["O", "j"], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn add_dialog_with_every_result() {
    insta::assert_snapshot!(screen(&add_dialog(SMALL)));
}

#[test]
fn add_dialog_with_nothing_typed() {
    let mut model = dashboard(SMALL);
    press(&mut model, &["n"], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn filter_with_an_error() {
    insta::assert_snapshot!(screen(&filter_error(SMALL)));
}

#[test]
fn end_of_a_long_filter_is_visible_while_it_is_typed() {
    let mut model = dashboard(SMALL);
    press(&mut model, &["/"], now());
    let filter = "is:firing or (is:overdue -label:test) status:ongoing,not_found chain:base age>30m";
    model.apply(Msg::Paste(filter.into()), now());
    assert!(screen(&model).contains("chain:base age>30m"), "{}", screen(&model));
    press(&mut model, &["Home"], now());
    assert!(screen(&model).contains("/ is:firing or ("), "{}", screen(&model));
}

#[test]
fn a_long_filter_leaves_room_for_the_number_of_rows() {
    let mut model = dashboard(SMALL);
    press(&mut model, &["/"], now());
    let filter = "status:ongoing,not_found -label:test or is:firing or (chain:base age>30m ticket:SUP-1)";
    model.apply(Msg::Paste(filter.into()), now());
    press(&mut model, &["Enter"], now());
    let row = screen(&model).lines().nth(1).unwrap().to_owned();
    assert!(row.contains("-label:test") && row.contains("… ") && row.contains("shown"), "{row}");
}

#[test]
fn a_list_of_commands_that_does_not_fit_says_so() {
    let mut model = dashboard(SMALL);
    press(&mut model, &[":"], now());
    let all = COMMANDS.iter().filter(|command| command.contexts.contains(&KeyContext::List)).count() - 1;
    assert!(screen(&model).contains(&format!(" 1-17 of {all} ")), "{}", screen(&model));
}

#[test]
fn a_click_on_a_tab_of_the_alerts_opens_it() {
    let mut model = dashboard((120, 36));
    press(&mut model, &["A"], now());
    let tabs = screen(&model).lines().nth(1).unwrap().to_owned();
    // The lines of the picture are quoted.
    let column = width::display_width(&tabs[..tabs.find("Firing").unwrap()]) as u16 - 1;
    let target = target(&model, now(), (column, 1));
    assert_eq!(target, Some(ClickTarget::AlertTab(AlertTab::Firing)));
    model.apply(Msg::Click(target.unwrap()), now());
    assert_eq!(model.alert_list.tab, AlertTab::Firing);
}

#[test]
fn filter_that_hides_some() {
    let mut model = dashboard(SMALL);
    press(&mut model, &["/"], now());
    model.apply(Msg::Paste("chain:base".into()), now());
    press(&mut model, &["Enter"], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn filter_that_hides_all() {
    let mut model = dashboard(SMALL);
    press(&mut model, &["/"], now());
    type_in(&mut model, "nothing-like-it", now());
    insta::assert_snapshot!(screen(&model));
}

mod add;
mod arrangement;
mod help;
mod hyperlinks;
mod log;
mod queue;
mod quote;
mod side_screens;
mod team;
mod themes;

#[test]
fn narrow_and_low() {
    insta::assert_snapshot!(screen(&dashboard((40, 9))));
}

#[test]
fn a_filter_where_it_has_no_row_of_its_own() {
    insta::assert_snapshot!(screen(&filter_error((40, 9))));
    let mut model = dashboard((40, 9));
    press(&mut model, &["/"], now());
    model.apply(Msg::Paste("chain:base".into()), now());
    press(&mut model, &["Enter"], now());
    insta::assert_snapshot!("a_filter_in_force_where_it_has_no_row_of_its_own", screen(&model));
}

#[test]
fn empty_store() {
    insta::assert_snapshot!(screen(&empty(SMALL)));
}

#[test]
fn banner_of_a_refused_id() {
    insta::assert_snapshot!(screen(&unauthorized(SMALL)));
}

#[test]
fn poller_s_line_while_it_rests() {
    insta::assert_snapshot!(screen(&unauthorized((120, 36))));
}

#[test]
fn last_error_has_an_age_and_leaves_after_ten_minutes() {
    let shown = |minutes| {
        let mut model = dashboard((160, 36));
        let mut report = live_report(ago(0, 1));
        (report.last_error, report.last_error_at) = (Some("refused".into()), Some(ago(minutes, 0)));
        change_store(&mut model, everything(transactions(), alerts()), Some(report), now());
        screen(&model)
    };
    assert!(shown(9).contains("last error 9m ago: refused"), "{}", shown(9));
    let later = shown(10);
    assert!(!later.contains("last error") && !later.contains("no errors"), "{later}");
}

#[test]
fn text_in_wide_letters_and_with_stacked_marks() {
    insta::assert_snapshot!(screen(&hostile(SMALL)));
}

#[test]
fn detail_in_wide_letters() {
    let mut model = hostile(SMALL);
    press(&mut model, &["Enter"], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn nothing_but_ascii_where_that_is_asked_for() {
    let theme = Theme::new(true, true);
    insta::assert_snapshot!(drawn(&dashboard(SMALL), &theme).backend());
    for screen in SCREENS.iter().filter(|(name, _)| !name.starts_with("hostile")) {
        for size in [SMALL, (120, 36)] {
            let terminal = drawn(&screen.1(size), &theme);
            let strange = terminal.backend().buffer().content.iter().find(|cell| !cell.symbol().is_ascii());
            assert_eq!(strange, None, "{}", screen.0);
        }
    }
}

/// A function that makes a dashboard of a size.
pub(crate) type MakeDashboard = fn((u16, u16)) -> TestDashboard;

/// Every screen and the dialogs over the screens.
const SCREENS: &[(&str, MakeDashboard)] = &[
    ("unread", blank),
    ("empty", empty),
    ("list", dashboard),
    ("detail", detail),
    ("help", |size| {
        let mut model = dashboard(size);
        press(&mut model, &["?", "End"], now());
        model
    }),
    ("filter", |size| {
        let mut model = dashboard(size);
        press(&mut model, &["/"], now());
        model.apply(Msg::Paste("a filter that is longer than a narrow screen".into()), now());
        model
    }),
    ("filter error", filter_error),
    ("add", add_dialog),
    ("add filling in", add::filling_in),
    ("hostile add", add::hostile),
    ("copy", |size| {
        let mut model = detail(size);
        press(&mut model, &["y", "j", "j", "j", "j"], now());
        model
    }),
    ("links", |size| {
        let mut model = dashboard(size);
        press(&mut model, &["O"], now());
        model
    }),
    ("quote", |size| quote::with_answer(size, quote::route())),
    ("quote refused", |size| quote::with_answer(size, quote::refusal("No route found"))),
    ("hostile quote", |size| quote::with_answer(size, quote::refusal(quote::HOSTILE))),
    ("quote tracking", quote::tracking),
    ("unauthorized", unauthorized),
    ("hostile", hostile),
    ("hostile detail", |size| {
        let mut model = hostile(size);
        press(&mut model, &["Enter", "G"], now());
        model
    }),
];

fn draw_all_screens(sizes: impl Iterator<Item = (u16, u16)>) {
    let theme = Theme::new(true, false);
    let mut models: Vec<_> = SCREENS.iter().map(|(_, make)| make(SMALL)).collect();
    // The outer loop is over sizes: the geometry of a size is computed once for all screens, which is most of the work.
    for size in sizes {
        for model in &mut models {
            step(model, Msg::Resize(size.0, size.1), now());
            let terminal = drawn(model, &theme);
            assert_eq!(terminal.backend().buffer().content.len(), usize::from(size.0) * usize::from(size.1));
        }
    }
}

#[test]
fn every_small_size_is_drawn() {
    draw_all_screens((0..=45).flat_map(|columns| (0..=20).map(move |rows| (columns, rows))));
}

#[test]
fn many_resizes_in_a_row_are_drawn() {
    let sizes = [(1, 1), (300, 100), (0, 50), (300, 0), (99, 13), (100, 14), (101, 15), (1, 100), (80, 24)];
    draw_all_screens(sizes.into_iter().cycle().take(4 * sizes.len()));
}

fn row_of<'a>(buffer: &'a Buffer, text: &str) -> &'a [Cell] {
    let line = |row: &&[Cell]| row.iter().map(Cell::symbol).collect::<String>().contains(text);
    buffer.content.chunks(usize::from(buffer.area.width)).find(line).unwrap_or_else(|| panic!("no row with {text}"))
}

#[test]
fn without_colours_the_selected_row_is_reversed_and_bold() {
    let theme = Theme::new(false, false);
    for (name, make) in SCREENS {
        let terminal = drawn(&make(SMALL), &theme);
        let painted = |cell: &&Cell| cell.fg != Color::Reset || cell.bg != Color::Reset;
        assert_eq!(terminal.backend().buffer().content.iter().find(painted), None, "{name}");
    }
    let terminal = drawn(&dashboard(SMALL), &theme);
    let buffer = terminal.backend().buffer();
    let both = Modifier::REVERSED | Modifier::BOLD;
    assert!(row_of(buffer, "▌!!  ● ongoing").iter().all(|cell| cell.modifier.contains(both)));
    assert!(row_of(buffer, "▌!!  ◐ partial").iter().all(|cell| !cell.modifier.contains(Modifier::REVERSED)));
}

#[test]
fn the_selected_row_has_no_holes_where_values_are_absent() {
    let mut model = dashboard(SMALL);
    // The row after the overdue one has neither a time until support nor a ticket.
    press(&mut model, &["j"], now());
    let terminal = drawn(&model, &Theme::new(true, false));
    let row = row_of(terminal.backend().buffer(), "▌!!  ◐ partial");
    let absent: Vec<_> = row.iter().filter(|cell| cell.symbol() == "-").collect();
    assert!(!absent.is_empty(), "the test needs a row without a value");
    assert!(absent.iter().all(|cell| cell.modifier.contains(Modifier::REVERSED)));
}

#[test]
fn of_an_overdue_row_the_edge_the_severity_the_time_past_the_limit_and_the_countdown_are_red_and_bold() {
    let mut model = dashboard(SMALL);
    press(&mut model, &["j"], now());
    let terminal = drawn(&model, &Theme::new(true, false));
    let row = row_of(terminal.backend().buffer(), "▌!!  ● ongoing");
    let red = |cell: &&Cell| cell.fg == Color::Red && cell.modifier.contains(Modifier::BOLD);
    let shown: String = row.iter().filter(red).map(Cell::symbol).collect();
    let parts: Vec<_> = shown.split_whitespace().collect();
    let [edge, bar, due] = parts[..] else { panic!("{parts:?}") };
    assert_eq!((edge, due), ("▌!!", "-8m"));
    assert!(bar.starts_with('█') && bar.contains('│'), "the mark is inside the bar: {bar}");
}

#[test]
fn the_wrong_part_of_a_filter_is_underlined() {
    let terminal = drawn(&filter_error(SMALL), &Theme::new(false, false));
    let row = row_of(terminal.backend().buffer(), "is:refunded");
    let underlined = |cell: &&Cell| cell.modifier.contains(Modifier::UNDERLINED);
    assert_eq!(row.iter().filter(underlined).map(Cell::symbol).collect::<String>(), "refunded");
}

#[test]
fn the_cursor_is_behind_the_typed_text() {
    let mut model = dashboard(SMALL);
    press(&mut model, &["/"], now());
    type_in(&mut model, "ab票", now());
    drawn(&model, &Theme::new(true, false)).backend_mut().assert_cursor_position((7, 1));
    press(&mut model, &["Esc", "n"], now());
    type_in(&mut model, "ab票", now());
    drawn(&model, &Theme::new(true, false)).backend_mut().assert_cursor_position((5, 3));
}

#[test]
fn command_line() {
    for (size, name) in [(SMALL, "command_line_on_a_small_screen"), ((120, 36), "command_line")] {
        let mut model = dashboard(size);
        press(&mut model, &[":"], now());
        type_in(&mut model, "poll", now());
        insta::assert_snapshot!(name, screen(&model));
    }
}
