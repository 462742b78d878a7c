//! The effects of keys and messages on the model: each command of the table, text fields, and changes of the store.

use chrono::{DateTime, TimeDelta, Utc};
use crossterm::event::{KeyEvent, KeyEventKind};

use super::*;
use crate::{
    domain::{
        alert::Rule,
        change::ChangeKind,
        duration_stats::RouteKey,
        filter::NameKind,
        fixtures as tx,
        ids::{ChainId, TxHash},
        observation::StatusOutcome,
        on_chain::{ChainReading, ChainVerdict, OnChainState},
        operation::Edit,
        poller::{PollerHealth, PollerReport},
        polling::PollingState,
        record::{RouteStep, StatusRecord},
        status::RouterStatus,
        transaction::{NewTransaction, Transaction},
    },
    intake::Field,
    presentation::{filter_completion::NameMatches, json_tree::JsonTree},
    store::{Changes, ImportReport, ImportToUndo},
    tui::{
        command::{COMMANDS, KeyCommand, KeyContext},
        dialogs::{
            Dialog,
            add::state::FormFocus,
            copy,
            help::state::HelpPage,
            prompt::state::{Prompt, PromptKind},
        },
        effect::{AlertTarget, ScreenEdit, TextUse, Write},
        fixtures::{
            TestDashboard, alert, blank, change_store, changed, everything, live_report, moment, now, press, type_in,
        },
        message::StoreUpdate,
        model::view_state,
        screens::{
            alerts::state::AlertTab,
            detail::{
                history::{EntryKind, EntrySubject, HistoryEntry, TransactionHistory},
                raw::ResponseBody,
                state::DetailTab,
            },
            list::tab::Tab,
            stats::state::{ChartRange, RouteOrder},
        },
    },
};

/// Returns transaction `number` with this status.
fn in_status(number: i64, status: RouterStatus) -> Transaction {
    let mut transaction = tx::transaction(number);
    let step = |index| RouteStep { transaction_id: Some(TxHash::new(format!("0x{index:x}"))), ..RouteStep::default() };
    let mut record = StatusRecord::bare(status);
    record.from.url = Some(LINK.into());
    if number == 21 {
        transaction.labels = (0..200).map(|label| format!("label-{label}")).collect();
        record.steps = (0..40).map(step).collect();
    }
    transaction.apply(&tx::answer(StatusOutcome::Record(Box::new(record))), now().wall);
    transaction
}

const LINK: &str = "https://explorer.example/tx/1";

/// Returns a dashboard with forty transactions: 1 to 10 completed, 11 to 20 refunds, the others ongoing; 5, 15 and 30
/// have alerts. A filter sorts them by number. Transaction 21 is selected, if the saved view shows it.
fn dashboard(tab: &str) -> TestDashboard {
    let status = |number| match number {
        1..=10 => RouterStatus::Success,
        11..=20 => RouterStatus::Refund,
        _ => RouterStatus::Ongoing,
    };
    let transactions = (1..=40).map(|number| in_status(number, status(number))).collect();
    let alerts = [5, 15, 30].map(|number| alert(Rule::Regressed, Some(RowId(number)), "")).to_vec();
    let mut model = blank((80, 23));
    model.list.pending_selection = Some(RowId(21));
    change_store(&mut model, everything(transactions, alerts), Some(live_report(now().wall)), now());
    press(&mut model, &[tab, "/"], now());
    model.apply(Msg::Paste("sort:hash".into()), now());
    press(&mut model, &["Enter"], now());
    model
}

/// Returns a dashboard in this context, with enough content to scroll, and scrolled down a little.
fn dashboard_in(context: KeyContext, tab: &str) -> TestDashboard {
    let mut model = dashboard(tab);
    match context {
        KeyContext::List => {}
        KeyContext::Detail => {
            press(&mut model, &["Enter"], now());
            press(&mut model, &["j"; 9], now());
        }
        KeyContext::Steps => {
            press(&mut model, &["Enter", "]"], now());
            press(&mut model, &["j"; 12], now());
        }
        KeyContext::History => {
            press(&mut model, &["Enter", "]", "]", "]"], now());
            let entry = HistoryEntry {
                at: now().wall,
                kind: EntryKind::Poll,
                subject: EntrySubject::Text,
                text: "answer: ongoing".into(),
            };
            let history = TransactionHistory { entries: vec![entry; 40], ..TransactionHistory::default() };
            model.show_history(RowId(21), history, now());
            press(&mut model, &["j"; 12], now());
        }
        KeyContext::Raw => {
            press(&mut model, &["Enter", "[", "["], now());
            model.apply(Msg::Body(RowId(21), Box::new(Some(body()))), now());
            press(&mut model, &["/"], now());
            type_in(&mut model, "status", now());
            press(&mut model, &["Enter"], now());
        }
        KeyContext::Alerts => {
            let alerts = (1..=25).map(|number| alert(Rule::Regressed, Some(RowId(number)), "")).collect();
            change_store(&mut model, everything(Vec::new(), alerts), Some(live_report(now().wall)), now());
            press(&mut model, &["A"], now());
            press(&mut model, &["j"; 12], now());
        }
        KeyContext::Page => {
            let [title, warning] = [const { String::new() }; 2];
            model.dialog = Dialog::Reply { title, warning, text: "a line\n".repeat(60), scroll: 0 };
            press(&mut model, &["j"; 12], now());
        }
        KeyContext::Stats => {
            press(&mut model, &["%"], now());
            let read = Ok(charts_and_log::statistics(40));
            model.apply(Msg::Statistics(Box::new((ChartRange::All, read, Duration::ZERO))), now());
            press(&mut model, &["j"; 12], now());
        }
        KeyContext::Log => {
            press(&mut model, &["@"], now());
            model.apply(Msg::Log(Ok(Some(charts_and_log::tail(60)))), now());
            press(&mut model, &["j"; 12], now());
        }
    }
    model
}

/// Returns a body with four matches of `status`. A search puts the cursor on the first.
fn body() -> ResponseBody {
    let text = r#"{"id":"x","status":"success","to":{"statuses":[{"status":1},2]},"routeStatus":[]}"#;
    let json_tree = JsonTree::new(text, None);
    ResponseBody { at: now().wall, http_status: Some(200), bytes: text.len(), before: None, json_tree }
}

fn position(model: &Model) -> usize {
    match (&model.dialog, &model.screen) {
        (Dialog::Help(HelpPage { scroll, .. }) | Dialog::Reply { scroll, .. }, _) => *scroll,
        (_, Screen::Detail) => model.detail.position(),
        (_, Screen::Alerts) => model.alert_list.position().unwrap_or(0),
        (_, Screen::List) => model.list.position().unwrap_or(0),
        (_, Screen::Stats) => model.stats.position(),
        (_, Screen::Log) => model.log.cursor,
    }
}

fn rows(ids: impl IntoIterator<Item = i64>) -> Vec<RowId> {
    ids.into_iter().map(RowId).collect()
}

fn is_prompt_for(model: &Model, title: &str, rows: Option<&[RowId]>) -> bool {
    matches!(&model.dialog, Dialog::Prompt(prompt) if prompt.texts()[0] == title && prompt_rows(prompt).as_deref() == rows)
}

/// Returns the transactions that a prompt's write applies to; `None` for all shown ones and for single alerts.
fn prompt_rows(prompt: &Prompt) -> Option<Vec<RowId>> {
    match &prompt.kind {
        PromptKind::Note(rows) | PromptKind::Ticket(rows) | PromptKind::Labels(rows) => Some(rows.clone()),
        PromptKind::Export(rows) => rows.clone(),
        PromptKind::Acknowledgement(alerts) => alerts.iter().map(|alert| alert.transaction()).collect(),
    }
}

/// Whether the key had the effect that the help promises. `before` is the position before the key.
#[allow(clippy::too_many_lines, reason = "a line for each command")]
fn did_as_promised(id: CommandId, before: usize, model: &Model, effects: &[Effect]) -> bool {
    let end = match (&model.dialog, model.screen) {
        (Dialog::None, Screen::List) => model.list.part.rows.len().saturating_sub(1),
        (Dialog::None, Screen::Alerts) => model.alert_list.rows().len().saturating_sub(1),
        (Dialog::None, Screen::Log) => model.log.lines().count().saturating_sub(1),
        (Dialog::None, Screen::Stats) => model.stats.summaries().len().saturating_sub(1),
        _ => model.geometry.scroll_end,
    };
    let after = position(model);
    let shows = |tab: Tab| {
        let held = usize::try_from(model.list.counts[tab.number() - 1]).unwrap();
        (model.screen, model.list.tab, model.list.part.rows.len()) == (Screen::List, tab, held)
    };
    let current = |model: &Model| model.current_transaction().unwrap().id;
    match id {
        CommandId::Help => matches!(&model.dialog, Dialog::Help(page) if page.scroll == 0 && page.found.is_none()),
        CommandId::Alerts => model.screen == Screen::Alerts && model.alert_list.page.is_some(),
        CommandId::FoldRule | CommandId::FoldAll => model.alert_list.rows().len() == 1,
        CommandId::NextState => model.alert_list.tab == AlertTab::Firing,
        CommandId::PrevState => model.alert_list.tab == AlertTab::Resolved,
        CommandId::Acknowledge if model.screen == Screen::Alerts => is_prompt_for(model, "Acknowledge", None),
        CommandId::Open => model.screen == Screen::Detail,
        CommandId::Back => model.screen == Screen::List && matches!(model.dialog, Dialog::None),
        CommandId::Clear => model.list.filter_text.is_empty() && model.list.part.rows.first() == Some(&RowId(30)),
        CommandId::Filter => {
            matches!(&model.dialog, Dialog::Filter(line) if line.input.value().is_empty() && line.before == "sort:hash")
        }
        CommandId::CommandLine => matches!(&model.dialog, Dialog::Palette(palette) if palette.input.value().is_empty()),
        CommandId::Sort => matches!(&model.dialog, Dialog::Menu(menu) if menu.title == "Order" && menu.cursor == 8),
        CommandId::Columns => matches!(&model.dialog, Dialog::Menu(menu) if menu.title == "Columns of All"),
        // From the list to the detail, and back.
        CommandId::FullScreen => (model.screen == Screen::Detail) == (before == 20),
        CommandId::Pane => model.view_state.pane == view_state::Pane::Below,
        CommandId::Delete => matches!(&model.dialog, Dialog::Palette(palette) if palette.input.value() == "delete "),
        CommandId::Theme => matches!(&model.dialog, Dialog::Menu(menu) if menu.title == "Theme"),
        CommandId::Reverse => model.list.filter_text == "sort:-hash",
        // In the list the selected transaction has no alert.
        CommandId::Snooze if model.screen == Screen::Alerts => matches!(model.dialog, Dialog::Menu(_)),
        CommandId::Snooze => {
            model.status_message.as_ref().is_some_and(|notice| notice.text.starts_with("No alert to snooze"))
        }
        CommandId::Mark => model.marks.rows() == [RowId(21)] && after == before + 1,
        CommandId::MarkRange => model.marks.range == Some(RowId(21)),
        CommandId::MarkAll => model.marks.count() == 40,
        CommandId::Add => matches!(&model.dialog, Dialog::Add(form) if form.text().is_empty()),
        CommandId::Quote => matches!(&model.dialog, Dialog::Quote(form) if form.cursor == 0),
        CommandId::Answer => {
            let shown = matches!(&model.dialog, Dialog::Reply { text, scroll: 0, .. } if text.contains("Last checked"));
            shown && matches!(effects, [Effect::Copy(text)] if text.starts_with("Hello"))
        }
        CommandId::AnswerFor => matches!(&model.dialog, Dialog::Menu(menu) if menu.entries.len() == 3),
        CommandId::Copy => {
            matches!(&model.dialog, Dialog::CopyMenu(menu) if menu.purpose == copy::state::LinkAction::Copy)
        }
        CommandId::Browser => effects == [Effect::Open(LINK.into())],
        CommandId::Links => {
            matches!(&model.dialog, Dialog::CopyMenu(menu) if menu.purpose == copy::state::LinkAction::Open)
        }
        CommandId::Suspend => effects == [Effect::Suspend],
        CommandId::PollNow => effects == [Effect::PollNow(vec![current(model)])],
        CommandId::AskChain => effects == [Effect::AskChain(vec![RowId(21)])],
        CommandId::WrongChain => {
            let edit = Edit::CorrectSource { transactions: vec![RowId(21)], chain: ChainId::new("8453") };
            effects == [Effect::Write(Write::Edit(edit))]
        }
        CommandId::PollMarked => {
            model.status_message.as_ref().is_some_and(|notice| notice.text.starts_with("No transaction is marked"))
        }
        CommandId::Acknowledge => {
            model.status_message.as_ref().is_some_and(|notice| notice.text.starts_with("No alert to acknowledge"))
        }
        CommandId::Pause => matches!(&model.dialog, Dialog::Menu(menu) if menu.title == "Pause polling for"),
        CommandId::Note => is_prompt_for(model, "Note on", Some(&[current(model)])),
        CommandId::Ticket => is_prompt_for(model, "Ticket of", Some(&[current(model)])),
        CommandId::Labels => is_prompt_for(model, "Labels of", Some(&[current(model)])),
        CommandId::Export if model.screen == Screen::Detail => is_prompt_for(model, "Export", Some(&[RowId(21)])),
        CommandId::Export => is_prompt_for(model, "Export", None),
        CommandId::Untrack => {
            effects == [Effect::Write(Write::Edit(ScreenEdit::Untrack { transactions: vec![RowId(21)] }))]
        }
        CommandId::Unacknowledge if model.screen == Screen::Alerts => {
            effects
                == [Effect::Write(Write::Edit(ScreenEdit::Unacknowledge { alerts: vec![AlertTarget::Alert(1_310)] }))]
        }
        CommandId::Unacknowledge => {
            effects == [Effect::Write(Write::Edit(ScreenEdit::Unacknowledge { alerts: AlertTarget::of(&[RowId(21)]) }))]
        }
        CommandId::Undo => effects == [Effect::Undo { confirmed: None }],
        CommandId::Redo => effects == [Effect::Redo],
        CommandId::Down => after == before + 1,
        CommandId::Up => after + 1 == before,
        CommandId::HalfDown => after > before && after < end,
        CommandId::HalfUp => after < before && after > 0,
        CommandId::Top => after == 0,
        CommandId::Bottom => after == end && end > before,
        CommandId::NextTab => model.detail.tab == DetailTab::Steps,
        CommandId::PrevTab => model.detail.tab == DetailTab::Notes,
        // The part around the cursor is folded.
        CommandId::Fold => after == 0 && model.detail.raw.count() == 1,
        CommandId::Find => matches!(&model.dialog, Dialog::Find { input, before, .. } if input.value() == *before),
        CommandId::NextMatch => after > before && model.detail.raw.match_position() == (Some(2), 4),
        CommandId::PrevMatch => model.detail.raw.match_position() == (Some(4), 4),
        // This screen has no room for the detail: `the_detail_beside_the_list_scrolls` has.
        CommandId::DetailDown | CommandId::DetailUp => model.screen == Screen::List && after == before,
        CommandId::NextRow => model.screen == Screen::Detail && model.list.selected == Some(RowId(22)),
        CommandId::PrevRow => model.screen == Screen::Detail && model.list.selected == Some(RowId(20)),
        CommandId::Recent => model.status_message.as_ref().is_some_and(|notice| notice.text == "No change yet."),
        CommandId::RouteOrder => model.stats.order == RouteOrder::Slowest,
        CommandId::Changes => model.detail.shows_changes_only && after == 0,
        CommandId::Wrap if model.screen == Screen::Log => model.log.is_wrapped,
        CommandId::Wrap => model.detail.raw.is_wrapped,
        CommandId::Stats => {
            model.screen == Screen::Stats && effects.first() == Some(&Effect::LoadStatistics(ChartRange::All))
        }
        CommandId::Range => effects == [Effect::LoadStatistics(ChartRange::Week)],
        CommandId::OpenRoute => model.screen == Screen::List && model.list.filter_text.starts_with("from:10 to:"),
        CommandId::Log => model.screen == Screen::Log && effects.first() == Some(&Effect::LoadLog(None)),
        // The line is about a transaction that isn't tracked.
        CommandId::OpenAbout => {
            model.status_message.as_ref().is_some_and(|notice| notice.text.ends_with("no longer tracked."))
        }
        CommandId::Level => model.log.lines().count() == 30 && after == 0,
        CommandId::Report => matches!(effects, [Effect::Copy(text)] if text.starts_with("hoptop ")),
        CommandId::CopyPart => matches!(effects, [Effect::Copy(text)] if text == "0xc" || text == "success"),
        CommandId::NextAlert => model.list.selected == Some(RowId(30)),
        CommandId::PrevAlert => model.list.selected == Some(RowId(15)),
        CommandId::Attention => shows(Tab::Attention),
        CommandId::View6 | CommandId::View7 | CommandId::View8 | CommandId::View9 => {
            model.status_message.as_ref().is_some_and(|notice| notice.text.contains("type :save NAME"))
        }
        CommandId::SaveView => matches!(&model.dialog, Dialog::Palette(palette) if palette.input.value() == "save "),
        CommandId::ForgetView => {
            matches!(&model.dialog, Dialog::Palette(palette) if palette.input.value() == "forget ")
        }
        CommandId::Active => shows(Tab::Active),
        CommandId::Refunds => shows(Tab::Refunds),
        CommandId::Done => shows(Tab::Done),
        CommandId::All => shows(Tab::All),
        CommandId::Redraw => effects == [Effect::Redraw],
        CommandId::Quit | CommandId::QuitRoot => effects == [Effect::Quit],
    }
}

#[test]
fn selection_that_leaves_the_view_is_reported() {
    let mut model = dashboard("2");
    press(&mut model, &["j"], now());
    let before = model.list.selected.unwrap();
    change_store(&mut model, changed(vec![in_status(before.0, RouterStatus::Success)]), None, now());
    assert_ne!(model.list.selected, Some(before));
    let notice = &model.status_message.as_ref().unwrap().text;
    assert!(notice.contains("left this view") && notice.ends_with("is selected now."), "{notice}");
    // After a person's own change, and after another filter, the person expects it.
    model.status_message = None;
    press(&mut model, &["j"], now());
    let before = model.list.selected.unwrap();
    let write = Write::Edit(ScreenEdit::AddNote { transactions: vec![before], text: "x".into() });
    model.apply(Msg::Written(write, Ok("1 note added".into())), now());
    change_store(&mut model, changed(vec![in_status(before.0, RouterStatus::Success)]), None, now());
    assert!(model.list.selected != Some(before) && model.status_message.as_ref().unwrap().text == "1 note added");
    model.status_message = None;
    press(&mut model, &["j", "4"], now());
    assert_eq!(model.status_message, None);
}

#[test]
fn selection_that_leaves_the_view_later_or_unseen_is_reported_too() {
    let settle = |model: &mut TestDashboard, row: RowId| {
        change_store(model, changed(vec![in_status(row.0, RouterStatus::Success)]), None, now());
    };
    let reports =
        |model: &Model| model.status_message.as_ref().is_some_and(|message| message.text.contains("left this view"));
    // The own change was long before.
    let mut model = dashboard("2");
    press(&mut model, &["j"], now());
    let row = model.list.selected.unwrap();
    let write = Write::Edit(ScreenEdit::AddNote { transactions: vec![row], text: "x".into() });
    model.apply(Msg::Written(write, Ok("1 note added".into())), now());
    change_store(&mut model, changed(vec![in_status(row.0, RouterStatus::Ongoing)]), None, now());
    settle(&mut model, row);
    assert!(reports(&model));
    // It settled while it was open, or while another screen was shown.
    for [key, back] in [["Enter", "Esc"], ["A", "Esc"], ["%", "Esc"]] {
        let mut model = dashboard("2");
        press(&mut model, &["j"], now());
        let row = model.list.selected.unwrap();
        press(&mut model, &[key], now());
        settle(&mut model, row);
        assert!(!reports(&model), "{key}");
        press(&mut model, &[back], now());
        assert!(reports(&model), "{key}: {:?}", model.status_message);
    }
}

#[test]
fn every_key_has_the_effect_that_the_help_promises() {
    for KeyCommand { id, name, help, keys, contexts, .. } in COMMANDS {
        // A command without a key is called as the command palette calls it.
        let by_key = keys.iter().copied().map(Some).chain(keys.is_empty().then_some(None));
        for (context, key) in contexts.iter().flat_map(|context| by_key.clone().map(move |key| (*context, key))) {
            let tab = if *id == CommandId::All { "2" } else { "5" };
            let mut model = dashboard_in(context, tab);
            if *id == CommandId::WrongChain {
                let base = ChainReading::without_node(ChainVerdict::Elsewhere(ChainId::new("8453")));
                let tx = model.transactions.get_mut(&RowId(21)).unwrap();
                tx.on_chain = Some(OnChainState::after(None, base, None, now().wall));
            }
            let before = position(&model);
            let effects = match key {
                Some(key) => press(&mut model, &[key], now()),
                None => {
                    dispatch(&mut model, *id, now());
                    std::mem::take(&mut model.effects)
                }
            };
            let did = did_as_promised(*id, before, &model, &effects);
            assert!(
                did,
                "{key:?} in {context:?} should {name}: {help}; {before} became {}, {effects:?}",
                position(&model)
            );
        }
    }
}

#[test]
fn half_a_page_in_the_list_is_half_of_its_rows() {
    let mut model = dashboard("5");
    let before = position(&model);
    press(&mut model, &["PgDn"], now());
    assert_eq!((model.list.height, position(&model) - before), (11, 5));
}

#[test]
fn unbound_keys_and_released_keys_do_nothing() {
    let mut model = dashboard("5");
    assert_eq!(press(&mut model, &["w", "Tab", "^W"], now()), []);
    let key = key_text::parse("q").unwrap();
    let release = KeyEvent { kind: KeyEventKind::Release, ..key };
    assert_eq!(model.apply(Msg::Key(release), now()), []);
    let repeat = KeyEvent { kind: KeyEventKind::Repeat, ..key };
    assert_eq!(model.apply(Msg::Key(repeat), now()), [Effect::Quit]);
}

#[test]
fn quitting_is_possible_from_anywhere() {
    for keys in [&[][..], &["Enter"], &["?"], &["/"], &["n"]] {
        let mut model = dashboard("5");
        press(&mut model, keys, now());
        assert_eq!(press(&mut model, &["^C"], now()), [Effect::Quit], "after {keys:?}");
    }
}

#[test]
fn command_line_runs_a_command_with_its_argument() {
    let mut model = dashboard("5");
    let run = |model: &mut TestDashboard, text: &str| {
        press(model, &[":"], now());
        type_in(model, text, now());
        press(model, &["Enter"], now())
    };
    assert_eq!(run(&mut model, "poll_n"), [Effect::PollNow(vec![RowId(21)])]);
    run(&mut model, "filter status:ongoing");
    assert_eq!((model.list.filter_text.as_str(), model.list.part.rows.len()), ("status:ongoing", 20));
    run(&mut model, "sort tick");
    assert_eq!(model.list.filter_text, "status:ongoing sort:ticket");
    press(&mut model, &["S"], now());
    assert_eq!(model.list.filter_text, "status:ongoing sort:-ticket");
    run(&mut model, "sort nonsense:");
    assert!(
        model.status_message.as_ref().is_some_and(|notice| notice.tone == MessageTone::Bad),
        "{:?}",
        model.status_message
    );
    // An unknown command keeps the typed text.
    run(&mut model, "xyzzy");
    assert!(model.status_message.as_ref().is_some_and(|notice| notice.text.contains("No command `xyzzy`")));
    assert!(matches!(model.dialog, Dialog::Palette(_)));
    press(&mut model, &["Esc"], now());
    assert!(matches!(model.dialog, Dialog::None));
}

#[test]
fn choosing_the_present_order_again_reverses_it() {
    let mut model = dashboard("5");
    let labels = |model: &TestDashboard| match &model.dialog {
        Dialog::Menu(menu) => menu.entries.iter().map(|entry| entry.label.clone()).collect(),
        _ => Vec::new(),
    };
    press(&mut model, &["s"], now());
    assert!(labels(&model)[8].starts_with("[x] hash "), "{:?}", labels(&model));
    press(&mut model, &["Enter"], now());
    assert_eq!(model.list.filter_text, "sort:-hash");
    press(&mut model, &["s"], now());
    assert!(labels(&model)[8].starts_with("[-] hash "), "{:?}", labels(&model));
    press(&mut model, &["3", "S"], now());
    assert_eq!(model.list.filter_text, "sort:-age");
    // The default order isn't written into the filter.
    press(&mut model, &["s", "1"], now());
    assert_eq!(model.list.filter_text, "");
    press(&mut model, &["s", "1"], now());
    assert_eq!(model.list.filter_text, "sort:-sev,-due");
}

#[test]
fn quoted_text_that_looks_like_a_sort_term_stays() {
    let mut model = dashboard("5");
    press(&mut model, &["Esc", "/"], now());
    model.apply(Msg::Paste("\"a sort:age b\" -base".into()), now());
    press(&mut model, &["Enter", "s", "3"], now());
    assert_eq!(model.list.filter_text, "\"a sort:age b\" -base sort:age");
    press(&mut model, &[":"], now());
    type_in(&mut model, "sort ticket, -due", now());
    press(&mut model, &["Enter"], now());
    assert_eq!(model.list.filter_text, "\"a sort:age b\" -base sort:ticket,-due");
}

#[test]
fn search_on_the_summary_tab_searches_the_raw_body() {
    let mut model = dashboard("5");
    press(&mut model, &["Enter", "/"], now());
    assert_eq!(model.detail.tab, DetailTab::Raw);
    assert!(matches!(model.dialog, Dialog::Find { .. }));
    type_in(&mut model, "zzz", now());
    assert_eq!(model.detail.search_text(), "zzz");
    press(&mut model, &["Esc"], now());
    assert_eq!((model.detail.tab, model.detail.search_text()), (DetailTab::Summary, ""));
}

#[test]
fn the_key_of_the_help_closes_it_unless_it_is_searched_for() {
    let mut model = dashboard("5");
    press(&mut model, &["?", "?"], now());
    assert!(matches!(model.dialog, Dialog::None));
    press(&mut model, &["?", "a", "?"], now());
    assert!(matches!(model.dialog, Dialog::Help(_)));
}

#[test]
fn esc_and_a_key_that_arrive_as_one_have_both_effects() {
    let mut model = dashboard("5");
    press(&mut model, &["?"], now());
    model.apply(Msg::Key(KeyEvent::new(KeyCode::Char(':'), KeyModifiers::ALT)), now());
    assert!(matches!(model.dialog, Dialog::Palette(_)), "{:?}", model.dialog);
    // A typed text isn't lost.
    let mut model = dashboard("5");
    press(&mut model, &["e"], now());
    type_in(&mut model, "half a note", now());
    model.apply(Msg::Key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::ALT)), now());
    assert!(matches!(&model.dialog, Dialog::Prompt(prompt) if prompt.input.value() == "half a note"));
}

#[test]
fn charts_open_on_the_route_of_the_open_transaction() {
    let mut model = dashboard("5");
    press(&mut model, &["%"], now());
    assert_eq!(model.stats.chosen, None);
    press(&mut model, &["Esc", "Enter", "%"], now());
    assert_eq!(model.stats.chosen, model.selected().map(RouteKey::of));
}

#[test]
fn a_theme_is_chosen_from_a_menu() {
    let mut model = dashboard("5");
    press(&mut model, &[":"], now());
    type_in(&mut model, "theme", now());
    press(&mut model, &["Enter"], now());
    let Dialog::Menu(menu) = &model.dialog else { panic!("{:?}", model.dialog) };
    assert_eq!(menu.entries.len(), 6);
    assert!(menu.entries[5].label.starts_with("[x] configured"), "{:?}", menu.entries[5]);
    model.configured_theme = Some("default".into());
    press(&mut model, &["3"], now());
    assert_eq!(model.view_state.theme.as_ref().unwrap().name, "dark");
}

#[test]
fn selection_returns_after_a_filter_that_hides_everything() {
    let mut model = dashboard("5");
    press(&mut model, &["Esc", "j", "j"], now());
    let selected = model.list.selected;
    press(&mut model, &["/"], now());
    type_in(&mut model, "zzzz", now());
    press(&mut model, &["Enter"], now());
    assert_eq!(model.list.selected, None);
    press(&mut model, &["t"], now());
    assert!(model.status_message.as_ref().is_some_and(|notice| notice.text == "No transaction is selected."));
    press(&mut model, &["Esc"], now());
    assert_eq!(model.list.selected, selected);
}

#[test]
fn tab_completes_the_filter_and_up_recalls_earlier_filters() {
    let mut model = dashboard("5");
    press(&mut model, &["Esc", "/"], now());
    type_in(&mut model, "st", now());
    press(&mut model, &["Tab"], now());
    type_in(&mut model, "ong", now());
    press(&mut model, &["Tab", "Enter"], now());
    assert_eq!((model.list.filter_text.as_str(), model.list.part.rows.len()), ("status:ongoing", 20));
    press(&mut model, &["Esc", "/"], now());
    type_in(&mut model, "is:", now());
    press(&mut model, &["Tab", "Tab"], now());
    assert_eq!(model.list.filter_text, "is:overdue", "the first of several completions, and then the next one");
    press(&mut model, &["Up"], now());
    assert_eq!(model.list.filter_text, "status:ongoing");
    press(&mut model, &["Up", "Up", "Up"], now());
    assert_eq!(model.list.filter_text, "sort:hash");
    press(&mut model, &["Down", "Down", "Down"], now());
    assert_eq!(model.list.filter_text, "is:overdue", "the typed filter returns");
    press(&mut model, &["Up", "Esc"], now());
    assert_eq!(model.list.filter_text, "");
}

#[test]
fn ticket_names_are_read_after_typing_tab_and_paste() {
    let asked = |effects: Vec<Effect>| {
        let names = effects.into_iter().filter_map(|effect| match effect {
            Effect::FindNames(of, beginning) => Some((of, beginning)),
            _ => None,
        });
        names.collect::<Vec<_>>()
    };
    let all = |text: &str| vec![(NameKind::Ticket, text.to_owned())];
    let mut model = dashboard("5");
    press(&mut model, &["Esc", "/"], now());
    assert_eq!(asked(type_in(&mut model, "vip tick", now())), []);
    assert_eq!(asked(press(&mut model, &["Tab"], now())), all(""), "after Tab");
    let names = |prefix: &str, words: &[&str], has_all| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Msg::Names(NameMatches { kind: NameKind::Ticket, prefix: prefix.into(), words, has_all })
    };
    model.apply(names("", &["OPS-1", "OPS-2"], false), now());
    assert_eq!(asked(model.apply(Msg::Paste("SU".into()), now())), all("SU"), "after a paste, beyond the known names");
    model.apply(names("SU", &["SUP-4412"], true), now());
    assert_eq!(asked(press(&mut model, &["Tab"], now())), []);
    press(&mut model, &["Enter"], now());
    assert_eq!(model.list.filter_text, "vip ticket:SUP-4412");
    // An answer that arrives too late has no effect.
    model.apply(names("SU", &[], true), now());
}

#[test]
fn each_saved_view_remembers_its_filter() {
    let mut model = dashboard("5");
    press(&mut model, &["2"], now());
    assert_eq!(model.list.filter_text, "");
    press(&mut model, &["/"], now());
    type_in(&mut model, "ticket:none", now());
    press(&mut model, &["Enter", "5"], now());
    assert_eq!(model.list.filter_text, "sort:hash");
    let view_state = model.view_state_to_save();
    assert_eq!(
        (view_state.view, view_state.filters[1].as_str(), view_state.filters[4].as_str()),
        (5, "ticket:none", "sort:hash")
    );
    let mut later = blank((80, 24));
    later.restore_view_state(view_state);
    press(&mut later, &["2"], now());
    assert_eq!((later.list.tab, later.list.filter_text.as_str()), (Tab::Active, "ticket:none"));
}

#[test]
fn delete_needs_the_argument_yes() {
    let mut model = dashboard("5");
    for (text, effects) in
        [("delete", vec![]), ("delete y", vec![]), ("delete yes", vec![Effect::Delete(vec![RowId(21)])])]
    {
        press(&mut model, &[":"], now());
        type_in(&mut model, text, now());
        assert_eq!(press(&mut model, &["Enter"], now()), effects, "{text}");
    }
}

#[test]
fn deletion_is_confirmed_for_the_transactions_that_the_question_named() {
    let mut model = dashboard("5");
    let run = |model: &mut TestDashboard, text: &str| {
        press(model, &[":"], now());
        type_in(model, text, now());
        press(model, &["Enter"], now())
    };
    assert_eq!(run(&mut model, "delete"), []);
    press(&mut model, &["j"], now());
    assert_eq!(run(&mut model, "delete yes"), [], "another transaction is selected since");
    assert_eq!(run(&mut model, "delete yes"), [Effect::Delete(vec![RowId(22)])]);
}

#[test]
fn marks_and_the_open_transaction_end_with_a_snapshot() {
    let mut model = dashboard("5");
    press(&mut model, &["Space", "Enter"], now());
    assert!(model.is_open() && model.marks.count() == 1);
    load_snapshot(&mut model);
    assert!(model.marks.is_empty() && !model.is_open());
    assert!(model.status_message.as_ref().unwrap().text.contains("select the transaction again"));
}

fn load_snapshot(model: &mut TestDashboard) {
    let feed = Changes { needs_resync: true, ..Changes::default() };
    model.apply(Msg::StoreChanged(Box::new(StoreUpdate { feed, ..StoreUpdate::default() })), now());
}

#[test]
fn row_numbers_mean_other_transactions_after_a_snapshot() {
    let mut model = dashboard("5");
    press(&mut model, &["j", "e"], now());
    load_snapshot(&mut model);
    assert!(matches!(model.dialog, Dialog::None) && !model.list.is_chosen);
    assert!(model.status_message.as_ref().unwrap().text.contains("select the transaction again"));
}

#[test]
fn transaction_whose_detail_is_read_beside_the_list_counts_as_chosen() {
    for key in ["]", "[", "^E", "^Y", "v", ":"] {
        let mut model = dashboard("5");
        model.list.is_chosen = false;
        press(&mut model, &[key], now());
        assert!(model.list.is_chosen, "{key}");
    }
}

#[test]
fn late_results_leave_an_open_dialog_alone() {
    let mut model = dashboard("5");
    press(&mut model, &["e"], now());
    type_in(&mut model, "asked", now());
    model.apply(Msg::UndoesImport(ImportToUndo { edit: 7, transactions: 60 }), now());
    let read = vec![tx::transaction(21), tx::transaction(22)];
    assert_eq!(model.apply(Msg::ForTexts(read, TextUse::Menu), now()), []);
    let Dialog::Prompt(prompt) = &model.dialog else { panic!("{:?}", model.dialog) };
    assert_eq!(prompt.input.value(), "asked");
}

#[test]
fn delete_confirmation_names_its_target() {
    let mut model = dashboard("5");
    // Transaction 21 is marked, and the next one is selected.
    press(&mut model, &["Space", ":"], now());
    type_in(&mut model, "delete", now());
    press(&mut model, &["Enter"], now());
    let hash = tx::transaction(21).params.transaction_id.short("…");
    assert!(
        model.status_message.as_ref().is_some_and(|notice| notice.text.contains(&hash)),
        "{:?}",
        model.status_message
    );
}

#[test]
fn letters_type_in_text_fields() {
    let mut model = dashboard("5");
    press(&mut model, &["/"], now());
    type_in(&mut model, "q", now());
    assert_eq!(model.list.filter_text, "q sort:hash");
    press(&mut model, &["Esc", "n"], now());
    type_in(&mut model, "q?", now());
    assert!(matches!(&model.dialog, Dialog::Add(form) if form.text() == "q?"));
}

#[test]
fn tabs_count_their_transactions() {
    let model = dashboard("5");
    assert_eq!(model.list.counts, [3, 30, 10, 10, 40]);
}

#[test]
fn filter_applies_while_typing_and_enter_keeps_it() {
    let mut model = dashboard("5");
    press(&mut model, &["/"], now());
    type_in(&mut model, "status:refund", now());
    assert_eq!((model.list.part.rows.len(), model.list.hidden().unwrap()), (10, 30));
    press(&mut model, &["Enter"], now());
    assert!(matches!(model.dialog, Dialog::None));
    assert_eq!((model.list.part.rows.len(), model.list.filter_text.as_str()), (10, "status:refund sort:hash"));
    press(&mut model, &["Esc"], now());
    assert_eq!((model.list.part.rows.len(), model.list.hidden().unwrap()), (40, 0));
}

#[test]
fn esc_restores_the_previous_filter() {
    let mut model = dashboard("5");
    press(&mut model, &["/"], now());
    type_in(&mut model, "status:refund", now());
    press(&mut model, &["Esc"], now());
    assert!(matches!(model.dialog, Dialog::None));
    assert_eq!((model.list.part.rows.len(), model.list.filter_text.as_str()), (40, "sort:hash"));
}

#[test]
fn invalid_filter_stays_open() {
    let mut model = dashboard("5");
    press(&mut model, &["/"], now());
    model.apply(Msg::Paste("is:refunded".into()), now());
    press(&mut model, &["Enter"], now());
    assert!(matches!(model.dialog, Dialog::Filter(_)));
    let error = model.list.filter_error.as_ref().unwrap();
    assert_eq!(&model.list.filter_text[error.at.clone()], "refunded");
    assert_eq!(model.list.part.rows.len(), 40);
    press(&mut model, &["Esc"], now());
    assert_eq!(model.list.filter_error, None);
    assert!(matches!(model.dialog, Dialog::None));
}

#[test]
fn a_paste_into_the_filter_is_one_clean_line() {
    let mut model = dashboard("5");
    press(&mut model, &["/"], now());
    model.apply(Msg::Paste("\u{1b}is:\u{202e}settled\n".into()), now());
    assert_eq!((model.list.filter_text.as_str(), model.list.part.rows.len()), ("is:settled sort:hash", 10));
}

fn row(number: i64) -> String {
    format!("0x{number:064x},42161,8453,quote-{number}")
}

mod act;
mod add;
mod alerts;
mod charts_and_log;
mod columns;
mod log;
mod marks;
mod quote;
mod views;

fn imported(effects: &[Effect]) -> &[NewTransaction] {
    match effects {
        [Effect::Import(batch)] => batch,
        other => panic!("no import: {other:?}"),
    }
}

#[test]
fn typed_row_is_imported_by_enter() {
    let mut model = dashboard("5");
    press(&mut model, &["n"], now());
    type_in(&mut model, &row(99), now());
    let effects = press(&mut model, &["Enter"], now());
    assert_eq!(imported(&effects), [tx::new(99)]);
    assert!(matches!(model.dialog, Dialog::Add(_)), "the dialog stays open until the import is done");
}

#[test]
fn pasted_rows_continue_the_typed_text() {
    let mut model = dashboard("5");
    press(&mut model, &["n"], now());
    let (first, second) = (row(98), row(99));
    let (typed, pasted) = first.split_at(10);
    type_in(&mut model, typed, now());
    model.apply(Msg::Paste(format!("{pasted}\r\n{second}")), now());
    press(&mut model, &["9"], now());
    let Dialog::Add(form) = &model.dialog else { panic!("{:?}", model.dialog) };
    assert_eq!(form.text(), format!("{first}\n{second}9"));
    let effects = press(&mut model, &["Enter"], now());
    assert_eq!(imported(&effects).len(), 2);
}

#[test]
fn backspace_goes_back_to_the_previous_line() {
    let mut model = dashboard("5");
    model.apply(Msg::Paste("one\ntwo\n".into()), now());
    model.apply(Msg::Key(KeyCode::Backspace.into()), now());
    assert!(matches!(&model.dialog, Dialog::Add(form) if form.text() == "one\ntwo"));
}

#[test]
fn paste_in_list_detail_or_help_opens_the_add_dialog() {
    for keys in [&[][..], &["Enter"], &["?"]] {
        let mut model = dashboard("5");
        press(&mut model, keys, now());
        model.apply(Msg::Paste(row(99)), now());
        let Dialog::Add(form) = &model.dialog else { panic!("after {keys:?}: {:?}", model.dialog) };
        assert_eq!((form.text(), form.findings.len()), (row(99), 1));
    }
}

#[test]
fn a_huge_paste_is_bounded() {
    let mut model = dashboard("5");
    model.apply(Msg::Paste("é".repeat(1 << 20)), now());
    let Dialog::Add(form) = &model.dialog else { panic!("{:?}", model.dialog) };
    assert!((1..=128 * 1024).contains(&form.text().len()), "{}", form.text().len());
}

#[test]
fn pasted_known_hash_opens_although_the_view_hides_it() {
    let mut model = dashboard("4");
    let effects = model.apply(Msg::Paste(format!("please look at 0x{:064X}", 33)), now());
    assert_eq!((model.list.selected, model.screen), (Some(RowId(33)), Screen::Detail));
    assert_eq!(effects, [Effect::LoadHistory(RowId(33)), Effect::MarkOpen(Some(RowId(33)))]);
    assert!(matches!(model.dialog, Dialog::None));
}

#[test]
fn enter_on_an_incomplete_hash_focuses_the_first_missing_value() {
    let mut model = dashboard("5");
    model.apply(Msg::Paste(format!("0x{:064x}", 99)), now());
    assert_eq!(press(&mut model, &["Enter"], now()), []);
    let Dialog::Add(form) = &model.dialog else { panic!("{:?}", model.dialog) };
    let [found] = &form.findings[..] else { panic!("{:?}", form.findings) };
    assert_eq!(
        (&found.missing()[..], found.known),
        (&[Field::FromChainId, Field::ToChainId, Field::QuoteId][..], None)
    );
    assert_eq!(form.focus, FormFocus::Cell(0));
}

#[test]
fn esc_leaves_the_dialog_without_an_import() {
    let mut model = dashboard("5");
    model.apply(Msg::Paste(row(99)), now());
    assert_eq!(press(&mut model, &["Esc"], now()), []);
    assert!(matches!(model.dialog, Dialog::None));
}

#[test]
fn imported_transaction_is_selected_when_it_is_read() {
    let mut model = dashboard("4");
    model.apply(Msg::Paste(row(99)), now());
    assert!(matches!(&press(&mut model, &["Enter"], now())[..], [Effect::Import(_)]));
    assert_eq!(press(&mut model, &["Enter"], now()), [], "a second Enter sends nothing");
    let report = ImportReport { added: [RowId(99)].into_iter().collect(), ..ImportReport::default() };
    let effects = model.apply(Msg::Imported(Ok(report)), now());
    assert_eq!(effects.first(), Some(&Effect::PollNow(vec![RowId(99)])), "a person waits for the first answer");
    assert!(matches!(model.dialog, Dialog::None));
    assert_eq!(model.status_message.as_ref().unwrap().text, "1 tracked, 0 updated, 0 already tracked");
    let effects = change_store(&mut model, changed(vec![tx::transaction(99)]), None, now());
    assert_eq!((model.list.selected, effects.first()), (Some(RowId(99)), Some(&Effect::LoadHistory(RowId(99)))));
}

#[test]
fn failed_import_keeps_the_dialog_and_shows_the_reason() {
    let mut model = dashboard("5");
    model.apply(Msg::Paste(row(99)), now());
    model.apply(Msg::Imported(Err("the disk is full".into())), now());
    assert!(matches!(&model.dialog, Dialog::Add(form) if form.text() == row(99)));
    let notice = model.status_message.as_ref().unwrap();
    assert_eq!((notice.text.as_str(), notice.tone), ("Nothing was tracked: the disk is full", MessageTone::Bad));
}

fn on_screen(model: &Model) -> usize {
    model.list.position().unwrap() - model.list.top
}

#[test]
fn changes_keep_the_selection_on_its_transaction_and_screen_row() {
    let mut model = dashboard("2");
    let (before, top) = (on_screen(&model), model.list.top);
    let back_on_its_way = (1..=3).map(|number| in_status(number, RouterStatus::Ongoing)).collect();
    let effects = change_store(&mut model, changed(back_on_its_way), None, now());
    assert_eq!((model.list.selected, on_screen(&model)), (Some(RowId(21)), before));
    assert_eq!((model.list.top, effects), (top + 3, Vec::new()));
}

#[test]
fn change_of_the_selected_transaction_reloads_its_history() {
    let mut model = dashboard("5");
    let effects = change_store(&mut model, changed(vec![in_status(21, RouterStatus::Success)]), None, now());
    assert_eq!(effects, [Effect::LoadHistory(RowId(21))]);
}

#[test]
fn new_selection_loads_its_own_history() {
    let mut model = dashboard("5");
    model.show_history(RowId(21), TransactionHistory::default(), now());
    assert_eq!(press(&mut model, &["j"], now()), [Effect::LoadHistory(RowId(22))]);
    assert_eq!(model.history, None);
}

#[test]
fn first_page_selects_the_most_urgent_transaction() {
    let mut model = blank((80, 24));
    let alerts = vec![alert(Rule::Overdue, Some(RowId(2)), "")];
    let transactions = (1..=3).map(tx::transaction).collect();
    let effects = change_store(&mut model, everything(transactions, alerts), None, now());
    assert_eq!((model.list.selected, effects), (Some(RowId(2)), vec![Effect::LoadHistory(RowId(2))]));
}

#[test]
fn notice_disappears_after_its_time() {
    let mut model = dashboard("5");
    press(&mut model, &["r"], now());
    let later = |seconds| moment(now().wall + TimeDelta::seconds(seconds));
    model.apply(Msg::Tick, later(7));
    assert_eq!(model.status_message.as_ref().unwrap().tone, MessageTone::Good);
    model.apply(Msg::Tick, later(8));
    assert_eq!(model.status_message, None);
}

#[test]
fn poll_request_without_a_poller_is_written_and_reported() {
    for silent_since in [None, Some(16), Some(3_600)] {
        let mut model = dashboard("5");
        let report = silent_since.map(|seconds| live_report(now().wall - TimeDelta::seconds(seconds)));
        change_store(&mut model, changed(Vec::new()), report, now());
        assert_eq!(press(&mut model, &["r"], now()), [Effect::PollNow(vec![RowId(21)])]);
        let notice = model.status_message.as_ref().unwrap();
        assert_eq!(notice.tone, MessageTone::Bad);
        assert!(notice.text.starts_with("No process is polling"), "{}", notice.text);
    }
}

#[test]
fn command_that_is_being_typed_is_about_the_transaction_that_was_selected() {
    let mut model = dashboard("2");
    (model.list.is_chosen, model.list.pending_selection) = (false, None);
    let row = model.list.selected.unwrap();
    press(&mut model, &[":"], now());
    type_in(&mut model, "untrack", now());
    // Meanwhile it leaves the view.
    model.transactions.get_mut(&row).unwrap().state.settled_at = Some(now().wall);
    let settled: Vec<Transaction> = model.transactions.values().cloned().collect();
    let changes = everything(settled, Vec::new());
    change_store(&mut model, changes, Some(live_report(now().wall)), now());
    let untrack = Effect::Write(Write::Edit(Edit::Untrack { transactions: vec![row] }));
    assert!(press(&mut model, &["Enter"], now()).contains(&untrack));
}

#[test]
fn poll_request_speaks_of_the_poller_of_its_profile() {
    let mut model = dashboard("5");
    change_store(&mut model, changed(Vec::new()), Some(live_report(now().wall)), now());
    model.setting.other_profiles = vec!["partner".to_owned()];
    let refused = PollerReport { health: PollerHealth::Unauthorized, ..live_report(now().wall) };
    model.other_profiles = vec![PollingState { poller: Some(refused), ..PollingState::default() }];
    for (profile, tone) in [("default", MessageTone::Good), ("partner", MessageTone::Bad)] {
        model.transactions.get_mut(&RowId(21)).unwrap().profile = profile.to_owned();
        press(&mut model, &["r"], now());
        assert_eq!(model.status_message.as_ref().unwrap().tone, tone, "{profile}");
    }
}

#[test]
fn poll_request_reports_the_obstacle() {
    for (health, rest, tone, text) in [
        (
            PollerHealth::Unreachable,
            0,
            MessageTone::Bad,
            "The service can't be reached. The transaction will be polled when polling works again.",
        ),
        (
            PollerHealth::Unauthorized,
            0,
            MessageTone::Bad,
            "The service refuses the integrator ID. The transaction will be polled",
        ),
        (PollerHealth::Throttled, 2, MessageTone::Good, "This transaction is polled next"),
        (PollerHealth::Throttled, 60, MessageTone::Bad, "The service throttles the integrator ID. The transaction"),
    ] {
        let mut model = dashboard("5");
        let resting_until = Some(now().wall + TimeDelta::seconds(rest));
        let report = PollerReport { health, resting_until, ..live_report(now().wall) };
        change_store(&mut model, changed(Vec::new()), Some(report), now());
        assert_eq!(press(&mut model, &["r"], now()), [Effect::PollNow(vec![RowId(21)])]);
        let notice = model.status_message.as_ref().unwrap();
        assert!(notice.tone == tone && notice.text.starts_with(text), "{}", notice.text);
    }
}

#[test]
fn every_key_works_on_an_empty_store() {
    for key in COMMANDS.iter().flat_map(|command| command.keys) {
        let mut model = blank((80, 24));
        change_store(&mut model, everything(Vec::new(), Vec::new()), None, now());
        press(&mut model, &[key], now());
        let there = match *key {
            "A" => Screen::Alerts,
            "%" => Screen::Stats,
            "@" => Screen::Log,
            _ => Screen::List,
        };
        assert_eq!((model.screen, model.list.selected), (there, None), "{key}");
    }
}

#[test]
fn fault_is_shown() {
    let mut model = dashboard("5");
    model.apply(Msg::Failed("the store is gone".into()), now());
    assert_eq!(model.status_message.as_ref().map(|notice| notice.text.as_str()), Some("the store is gone"));
}

#[test]
fn smaller_window_keeps_the_selection_visible() {
    let mut model = dashboard("5");
    for size in [(80, 24), (40, 9), (20, 3), (0, 0), (200, 60)] {
        model.apply(Msg::Resize(size.0, size.1), now());
        assert_eq!(model.list.selected, Some(RowId(21)));
        assert!(on_screen(&model) < model.list.height.max(1), "{size:?}");
    }
}

#[test]
fn half_a_page_in_the_detail_is_half_of_its_lines() {
    let mut model = dashboard_in(KeyContext::Detail, "5");
    let before = position(&model);
    press(&mut model, &["PgDn"], now());
    assert_eq!(position(&model) - before, model.geometry.page / 2);
    assert!(position(&model) - before >= 5, "{before} became {}", position(&model));
}

#[test]
fn changes_behind_the_detail_keep_the_selection_on_its_screen_row() {
    let mut model = dashboard("5");
    let before = on_screen(&model);
    press(&mut model, &["Enter"], now());
    change_store(&mut model, changed(vec![in_status(40, RouterStatus::Success)]), None, now());
    press(&mut model, &["Esc"], now());
    assert_eq!((model.list.selected, on_screen(&model)), (Some(RowId(21)), before));
}

#[test]
fn open_transaction_stays_open_when_it_leaves_the_view() {
    let mut model = dashboard("2");
    press(&mut model, &["Enter"], now());
    change_store(&mut model, changed(vec![in_status(21, RouterStatus::Success)]), None, now());
    assert_eq!((model.list.selected, model.list.position()), (Some(RowId(21)), None));
    press(&mut model, &["Esc"], now());
    assert!(model.list.position().is_some());
}

#[test]
fn cancelled_filter_keeps_the_selection() {
    let mut model = dashboard("5");
    press(&mut model, &["/"], now());
    type_in(&mut model, "is:settled", now());
    press(&mut model, &["Esc"], now());
    assert_eq!(model.list.selected, Some(RowId(21)));
}

#[test]
fn open_transaction_is_reported_to_the_poller() {
    let mut model = dashboard("2");
    let at = |seconds| Now { mono: now().mono + Duration::from_secs(seconds), ..now() };
    let row = model.list.selected.unwrap();
    assert_eq!(press(&mut model, &["Enter"], at(0)), [Effect::MarkOpen(Some(row))]);
    assert_eq!(model.apply(Msg::Tick, at(19)), []);
    assert_eq!(model.apply(Msg::Tick, at(20)), [Effect::MarkOpen(Some(row))]);
    assert_eq!(press(&mut model, &["Esc"], at(21)), [Effect::MarkOpen(None)]);
    assert_eq!(model.apply(Msg::Tick, at(60)), []);
}
