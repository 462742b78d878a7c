//! Actions by keys: on the selected transaction, on the marked ones, with a prompt, and after a confirmation.

use crossterm::event::KeyCode;

use super::*;
use crate::{
    domain::alert::{Alert, Handling, HandlingKind, Rule},
    tui::dialogs::{Dialog, menu::state::Menu, prompt::state::Prompt},
};

fn prompt(model: &Model) -> &Prompt {
    match &model.dialog {
        Dialog::Prompt(prompt) => prompt,
        other => panic!("no prompt: {other:?}"),
    }
}

fn menu(model: &Model) -> &Menu {
    match &model.dialog {
        Dialog::Menu(menu) => menu,
        other => panic!("no menu: {other:?}"),
    }
}

fn notice_text(model: &Model) -> &str {
    &model.status_message.as_ref().unwrap().text
}

/// Presses a key, types a text and presses Enter.
fn answer(model: &mut TestDashboard, key: &str, text: &str) -> Vec<Effect> {
    press(model, &[key], now());
    type_in(model, text, now());
    press(model, &["Enter"], now())
}

/// Sends the result of the write that was sent.
fn finish_write(model: &mut TestDashboard, sent: &[Effect], outcome: Result<&str, &str>) {
    let [Effect::Write(write)] = sent else { panic!("{sent:?}") };
    model.apply(Msg::Written(write.clone(), outcome.map(str::to_owned).map_err(str::to_owned)), now());
}

fn edit(edit: ScreenEdit) -> Vec<Effect> {
    vec![Effect::Write(Write::Edit(edit))]
}

#[test]
fn commands_apply_to_the_marked_transactions_and_in_the_detail_to_the_open_one() {
    let mut model = dashboard("5");
    press(&mut model, &["Space", "Space"], now());
    assert_eq!(press(&mut model, &["x", "y"], now()), edit(ScreenEdit::Untrack { transactions: rows([21, 22]) }));
    press(&mut model, &["Enter"], now());
    assert_eq!(press(&mut model, &["x"], now()), edit(ScreenEdit::Untrack { transactions: rows([23]) }));
}

#[test]
fn command_ends_a_range_and_applies_to_it() {
    let mut model = dashboard("5");
    press(&mut model, &["v", "j"], now());
    assert_eq!(press(&mut model, &["x", "y"], now()), edit(ScreenEdit::Untrack { transactions: rows([21, 22]) }));
    assert_eq!((model.marks.count(), model.marks.range), (2, None));
}

#[test]
fn command_waits_for_a_range_beyond_the_loaded_rows() {
    let mut model = dashboard("5");
    model.marks.range = Some(RowId(4_000));
    for key in ["x", "e", "t", "L", "a", "z", "R", "E"] {
        assert_eq!(press(&mut model, &[key], now()), [], "{key}");
        assert!(matches!(model.dialog, Dialog::None), "{key}");
    }
    assert!(notice_text(&model).starts_with("The range is long"), "{}", notice_text(&model));
}

#[test]
fn prompt_keeps_its_text_until_the_write_succeeds() {
    let mut model = dashboard("5");
    let text = "asked the provider".to_owned();
    let sent = answer(&mut model, "e", &text);
    assert_eq!(sent, edit(ScreenEdit::AddNote { transactions: rows([21]), text }));
    type_in(&mut model, "more", now());
    assert_eq!(press(&mut model, &["Enter"], now()), [], "a second Enter sends nothing");
    finish_write(&mut model, &sent, Err("the disk is full"));
    let failed = prompt(&model);
    assert_eq!((failed.input.value(), failed.error.as_deref()), ("asked the provider", Some("the disk is full")));
    type_in(&mut model, "!", now());
    assert_eq!(prompt(&model).error, None);
    let sent = press(&mut model, &["Enter"], now());
    finish_write(&mut model, &sent, Ok("1 note added"));
    assert!(matches!(model.dialog, Dialog::None));
    assert_eq!(notice_text(&model), "1 note added");
}

#[test]
fn result_of_another_write_leaves_the_prompt_open() {
    let mut model = dashboard("5");
    let earlier = press(&mut model, &["x"], now());
    answer(&mut model, "e", "asked");
    model.apply(Msg::Done("Undone".into()), now());
    model.apply(Msg::Failed("the store is gone".into()), now());
    for outcome in [Ok("Polling stopped"), Err("the disk is full")] {
        finish_write(&mut model, &earlier, outcome);
        assert_eq!(prompt(&model).error, None);
        assert!(prompt(&model).sent.is_some());
    }
    press(&mut model, &["Esc"], now());
    assert!(matches!(model.dialog, Dialog::None));
}

#[test]
fn untracked_transactions_lose_their_marks() {
    let mut model = dashboard("5");
    press(&mut model, &["Space", "Space"], now());
    let sent = press(&mut model, &["x", "y"], now());
    finish_write(&mut model, &sent, Err("the disk is full"));
    assert_eq!(model.marks.count(), 2, "the marks stay for another attempt");
    finish_write(&mut model, &sent, Ok("Polling stopped for 2 transactions"));
    assert!(model.marks.is_empty());
    let sent = press(&mut model, &["Space", "Space", "x", "y"], now());
    press(&mut model, &["Space"], now());
    finish_write(&mut model, &sent, Ok("Polling stopped for 2 transactions"));
    assert_eq!(model.marks.count(), 3, "the marks have changed since, so all stay");
}

#[test]
fn marks_stay_for_the_next_command() {
    let mut model = dashboard("5");
    press(&mut model, &["Space", "Space"], now());
    for (key, text) in [("L", "+vip"), ("t", "SUP-2"), ("e", "asked")] {
        let sent = answer(&mut model, key, text);
        finish_write(&mut model, &sent, Ok("Done"));
        assert_eq!((model.marks.count(), notice_text(&model)), (2, "Done. 2 still marked (Esc to clear)."), "{key}");
    }
    let sent = answer(&mut model, "a", "mine");
    finish_write(&mut model, &sent, Ok("2 alerts acknowledged"));
    assert_eq!(
        (model.marks.count(), notice_text(&model)),
        (2, "2 alerts acknowledged. 2 still marked (Esc to clear).")
    );
}

#[test]
fn empty_note_is_refused() {
    let mut model = dashboard("5");
    assert_eq!(answer(&mut model, "e", "  "), []);
    assert_eq!(prompt(&model).error.as_deref(), Some("Type a note, or press Esc to cancel."));
}

#[test]
fn a_paste_into_a_prompt_is_one_clean_line() {
    let mut model = dashboard("5");
    press(&mut model, &["e"], now());
    model.apply(Msg::Paste("told \u{202e}them\r\nto wait".into()), now());
    assert_eq!(prompt(&model).input.value(), "told them to wait");
}

#[test]
fn ticket_prompt_begins_with_the_present_ticket_and_empty_text_removes_it() {
    let mut model = dashboard("5");
    let mut with_ticket = in_status(21, RouterStatus::Ongoing);
    with_ticket.params.ticket = Some("SUP-1".into());
    change_store(&mut model, changed(vec![with_ticket]), None, now());
    let ticket =
        |ticket: Option<&str>| ScreenEdit::SetTicket { transactions: rows([21]), ticket: ticket.map(str::to_owned) };
    assert_eq!(
        answer(&mut model, "t", "SUP-2"),
        edit(ticket(Some("SUP-2"))),
        "the text is selected, so typing replaces it"
    );
    press(&mut model, &["Esc", "t", "End", "2"], now());
    assert_eq!(
        press(&mut model, &["Enter"], now()),
        edit(ticket(Some("SUP-12"))),
        "the cursor has moved, so typing continues the text"
    );
    press(&mut model, &["Esc", "t"], now());
    model.apply(Msg::Key(KeyCode::Backspace.into()), now());
    assert_eq!(press(&mut model, &["Enter"], now()), edit(ticket(None)));
    press(&mut model, &["Esc", "t"], now());
    model.apply(Msg::Paste("SUP-3".into()), now());
    assert_eq!(press(&mut model, &["Enter"], now()), edit(ticket(Some("SUP-3"))));
}

#[test]
fn labels_are_added_to_and_removed_from_all_marked_transactions() {
    let mut model = dashboard("5");
    press(&mut model, &["*"], now());
    let expected = ScreenEdit::ChangeLabels {
        transactions: rows(1..=40),
        add: vec!["vip".into()],
        remove: vec!["batch-17".into()],
    };
    assert_eq!(answer(&mut model, "L", "+vip -batch-17"), edit(expected));
    press(&mut model, &["Esc"], now());
    assert_eq!(answer(&mut model, "L", "+"), []);
    assert!(prompt(&model).error.as_deref().unwrap().starts_with("A label is missing"));
}

#[test]
fn acknowledgement_has_an_optional_note() {
    let mut model = dashboard("5");
    press(&mut model, &["}"], now());
    let acknowledge = |note: Option<&str>, ids: &[i64]| {
        let note = note.map(str::to_owned);
        edit(ScreenEdit::Acknowledge { alerts: AlertTarget::of(&rows(ids.iter().copied())), note })
    };
    assert_eq!(answer(&mut model, "a", ""), acknowledge(None, &[30]));
    press(&mut model, &["Esc", "Space", "Space"], now());
    assert_eq!(answer(&mut model, "a", "mine"), acknowledge(Some("mine"), &[30, 31]));
}

#[test]
fn acknowledged_alert_can_be_edited_but_several_are_reported() {
    let mut model = dashboard("5");
    let mut acknowledged = alert(Rule::Regressed, Some(RowId(21)), "");
    let kind = HandlingKind::Acknowledged(Some("asked".into()));
    acknowledged.handling = Some(Handling { at: now().wall, author: None, kind });
    let other = Alert { id: acknowledged.id + 1, ..acknowledged.clone() };
    let alert = acknowledged.id;
    change_store(&mut model, everything(Vec::new(), vec![acknowledged.clone()]), None, now());
    // The note of a single alert can be edited. With several alerts the target is ambiguous.
    let more = Effect::Write(Write::Edit(ScreenEdit::Acknowledge {
        alerts: vec![AlertTarget::Alert(alert)],
        note: Some("asked twice".into()),
    }));
    assert_eq!(answer(&mut model, "a", " twice"), [more]);
    press(&mut model, &["Esc"], now());
    change_store(&mut model, everything(Vec::new(), vec![acknowledged, other]), None, now());
    press(&mut model, &["a"], now());
    assert_eq!(notice_text(&model), "Already acknowledged, until the status changes or the severity rises.");
}

#[test]
fn export_has_the_marked_transactions_or_all_shown_ones() {
    let mut model = dashboard("5");
    let file = "hoptop-1970-01-01-010000.csv".to_owned();
    press(&mut model, &["E"], now());
    let shown = Write::Export { file: file.clone(), rows: None };
    assert_eq!(press(&mut model, &["Enter"], now()), [Effect::Write(shown)]);
    press(&mut model, &["Esc", "Space", "E"], now());
    let marked = Write::Export { file, rows: Some(rows([21])) };
    assert_eq!(press(&mut model, &["Enter"], now()), [Effect::Write(marked)]);
    press(&mut model, &["Esc", "E", "^U"], now());
    assert_eq!(press(&mut model, &["Enter"], now()), []);
    assert!(prompt(&model).error.is_some());
}

#[test]
fn export_of_an_empty_list_is_refused() {
    let mut model = dashboard("5");
    press(&mut model, &["/"], now());
    type_in(&mut model, "chain:nowhere", now());
    press(&mut model, &["Enter", "E"], now());
    assert!(notice_text(&model).starts_with("Nothing to export"));
}

#[test]
fn few_marked_transactions_are_polled_at_once_and_many_after_a_confirmation() {
    let mut model = dashboard("5");
    press(&mut model, &["g", "Space", "Space"], now());
    assert_eq!(press(&mut model, &["R"], now()), [Effect::PollNow(rows([1, 2]))]);
    assert_eq!(notice_text(&model), "2 transactions are polled next (2 requests).");
    press(&mut model, &["*", "R"], now());
    let asked = menu(&model);
    assert_eq!(asked.title, "Poll 40 transactions now?");
    let cost =
        "40 requests, about 4s of the whole budget (8.33 requests/s). They get half of it, so they take about 9s.";
    assert_eq!(asked.remark, cost);
    assert_eq!(press(&mut model, &["n"], now()), []);
    assert!(matches!(model.dialog, Dialog::None));
    press(&mut model, &["R"], now());
    assert_eq!(press(&mut model, &["y"], now()), [Effect::PollNow(rows(1..=40))]);
    assert_eq!(notice_text(&model), "40 transactions are polled next (40 requests).");
}

#[test]
fn cost_without_a_poller_is_a_number_of_requests() {
    let mut model = dashboard("5");
    change_store(&mut model, changed(Vec::new()), None, now());
    press(&mut model, &["*", "R"], now());
    assert_eq!(menu(&model).remark, "40 requests, sent when a process polls again.");
}

#[test]
fn menu_moves_with_keys_and_closes_with_esc() {
    let mut model = dashboard("5");
    press(&mut model, &["*", "R", "j", "j"], now());
    assert_eq!(menu(&model).cursor, 1);
    assert_eq!(press(&mut model, &["Enter"], now()), [], "the entry at the cursor was `no`");
    for leave in ["Esc", "q"] {
        press(&mut model, &["R", leave], now());
        assert!(matches!(model.dialog, Dialog::None), "{leave}");
    }
    press(&mut model, &["R", "k"], now());
    assert_eq!(press(&mut model, &["Enter"], now()), [Effect::PollNow(rows(1..=40))]);
}

#[test]
fn stopping_several_and_undoing_an_import_ask_first_with_the_number() {
    let mut model = dashboard("5");
    assert_eq!(press(&mut model, &["Space", "Space", "x"], now()), []);
    assert_eq!(menu(&model).title, "Stop polling 2 transactions?");
    assert_eq!(press(&mut model, &["n"], now()), []);
    assert_eq!(press(&mut model, &["u"], now()), [Effect::Undo { confirmed: None }]);
    let import = ImportToUndo { edit: 7, transactions: 60 };
    model.apply(Msg::UndoesImport(import), now());
    assert_eq!(menu(&model).title, "Undo the import of 60 transactions?");
    assert_eq!(press(&mut model, &["y"], now()), [Effect::Undo { confirmed: Some(import) }]);
    assert!(matches!(model.dialog, Dialog::None));
}

/// Returns a dashboard of five transactions, of which the first, the third and the fourth have an alert.
fn triage() -> TestDashboard {
    let model = dashboard("5");
    let transactions = model.list.part.rows.iter().filter_map(|row| model.transactions.get(row)).take(5).cloned();
    let transactions: Vec<_> = transactions.collect();
    let of = |index: usize| Some(transactions[index].id);
    let alerts = [0, 2, 3].map(|index| alert(Rule::Overdue, of(index), "late")).to_vec();
    let mut model = blank((80, 24));
    let change = everything(transactions, alerts);
    change_store(&mut model, change, None, now());
    model
}

#[test]
fn the_cursor_stays_after_untracking_a_row_that_needs_nobody() {
    let mut model = triage();
    press(&mut model, &["G"], now());
    let quiet = model.list.selected;
    let sent = press(&mut model, &["x"], now());
    finish_write(&mut model, &sent, Ok("Done."));
    assert_eq!(model.list.selected, quiet);
}

#[test]
fn after_handling_the_selection_goes_to_the_next_row_that_needs_somebody() {
    for keys in [&["a", "Enter"][..], &["z", "h"], &["x"]] {
        let mut model = triage();
        let rows = model.list.part.rows.clone();
        assert!(model.severity(rows[1]).is_some() && model.severity(rows[3]).is_none(), "the alerts come first");
        press(&mut model, &["j"], now());
        let sent = press(&mut model, keys, now());
        assert_eq!(model.list.selected, Some(rows[1]), "{keys:?}: nothing moves before the write has succeeded");
        finish_write(&mut model, &sent, Ok("Done."));
        assert_eq!(model.list.selected, Some(rows[2]), "{keys:?}");
        // From the last one the search goes on at the first one.
        let sent = press(&mut model, keys, now());
        finish_write(&mut model, &sent, Ok("Done."));
        assert_eq!(model.list.selected, Some(rows[0]), "{keys:?}");
        // The prompt of an acknowledgement stays open until the write ends.
        let sent = press(&mut model, keys, now());
        model.dialog = Dialog::None;
        press(&mut model, &["G"], now());
        finish_write(&mut model, &sent, Ok("Done."));
        assert_eq!(model.list.selected, rows.last().copied(), "{keys:?}: a person moved meanwhile");
    }
}
