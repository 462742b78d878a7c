//! Actions by the keys: on the selected one, on the marked ones, with words and with a question first.

use crossterm::event::KeyCode;

use super::*;
use crate::tui::model::{menu::Menu, prompt::Prompt};

fn rows(ids: impl IntoIterator<Item = i64>) -> Vec<RowId> {
    ids.into_iter().map(RowId).collect()
}

fn prompt(model: &Model) -> &Prompt {
    match &model.overlay {
        Overlay::Prompt(prompt) => prompt,
        other => panic!("no prompt: {other:?}"),
    }
}

fn menu(model: &Model) -> &Menu {
    match &model.overlay {
        Overlay::Menu(menu) => menu,
        other => panic!("no menu: {other:?}"),
    }
}

fn told(model: &Model) -> &str {
    &model.notice.as_ref().unwrap().text
}

/// Presses a key, types a text and sends it off.
fn answer(model: &mut TestDashboard, key: &str, text: &str) -> Vec<Effect> {
    press(model, &[key], now());
    type_in(model, text, now());
    press(model, &["Enter"], now())
}

/// What was sent ends like this.
fn ends(model: &mut TestDashboard, sent: &[Effect], outcome: Result<&str, &str>) {
    let [Effect::Work(work)] = sent else { panic!("{sent:?}") };
    model.take(Msg::Worked(work.clone(), outcome.map(str::to_owned).map_err(str::to_owned)), now());
}

fn edit(edit: LocalEdit) -> Vec<Effect> {
    vec![Effect::Work(Work::Edit(edit))]
}

#[test]
fn the_marked_ones_are_meant_and_in_the_detail_what_is_open() {
    let mut model = dashboard("5");
    press(&mut model, &["Space", "Space"], now());
    assert_eq!(press(&mut model, &["x"], now()), edit(LocalEdit::Untrack { transactions: rows([21, 22]) }));
    press(&mut model, &["Enter"], now());
    assert_eq!(press(&mut model, &["x"], now()), edit(LocalEdit::Untrack { transactions: rows([23]) }));
}

#[test]
fn an_action_ends_a_range_and_works_on_it() {
    let mut model = dashboard("5");
    press(&mut model, &["v", "j"], now());
    assert_eq!(press(&mut model, &["x"], now()), edit(LocalEdit::Untrack { transactions: rows([21, 22]) }));
    assert_eq!((model.marks.count(), model.marks.range), (2, None));
}

#[test]
fn an_action_waits_for_a_range_that_reaches_beyond_what_was_read() {
    let mut model = dashboard("5");
    model.marks.range = Some(RowId(4_000));
    for key in ["x", "e", "t", "L", "a", "z", "R", "E"] {
        assert_eq!(press(&mut model, &[key], now()), [], "{key}");
        assert!(matches!(model.overlay, Overlay::None), "{key}");
    }
    assert!(told(&model).starts_with("The range is long"), "{}", told(&model));
}

#[test]
fn what_was_typed_stays_until_it_is_done() {
    let mut model = dashboard("5");
    let text = "asked the provider".to_owned();
    let sent = answer(&mut model, "e", &text);
    assert_eq!(sent, edit(LocalEdit::AddNote { transactions: rows([21]), text }));
    type_in(&mut model, "more", now());
    assert_eq!(press(&mut model, &["Enter"], now()), [], "once is enough");
    ends(&mut model, &sent, Err("the disk is full"));
    let failed = prompt(&model);
    assert_eq!((failed.input.value(), failed.wrong.as_deref()), ("asked the provider", Some("the disk is full")));
    type_in(&mut model, "!", now());
    assert_eq!(prompt(&model).wrong, None);
    let sent = press(&mut model, &["Enter"], now());
    ends(&mut model, &sent, Ok("1 note added"));
    assert!(matches!(model.overlay, Overlay::None));
    assert_eq!(told(&model), "1 note added");
}

#[test]
fn what_comes_of_something_else_leaves_a_prompt_open() {
    let mut model = dashboard("5");
    let earlier = press(&mut model, &["x"], now());
    answer(&mut model, "e", "asked");
    model.take(Msg::Done("Taken back".into()), now());
    model.take(Msg::Fault("the store is gone".into()), now());
    for outcome in [Ok("It is polled no more"), Err("the disk is full")] {
        ends(&mut model, &earlier, outcome);
        assert_eq!(prompt(&model).wrong, None);
        assert!(prompt(&model).sent.is_some());
    }
    press(&mut model, &["Esc"], now());
    assert!(matches!(model.overlay, Overlay::None));
}

#[test]
fn marks_go_with_those_that_are_polled_no_more() {
    let mut model = dashboard("5");
    press(&mut model, &["Space", "Space"], now());
    let sent = press(&mut model, &["x"], now());
    ends(&mut model, &sent, Err("the disk is full"));
    assert_eq!(model.marks.count(), 2, "to try again");
    ends(&mut model, &sent, Ok("2 are polled no more"));
    assert!(model.marks.is_empty());
    let sent = press(&mut model, &["Space", "Space", "x"], now());
    press(&mut model, &["Space"], now());
    ends(&mut model, &sent, Ok("2 are polled no more"));
    assert_eq!(model.marks.count(), 3, "they are others by now");
}

#[test]
fn marks_stay_for_the_next_word_on_the_same_ones() {
    let mut model = dashboard("5");
    press(&mut model, &["Space", "Space"], now());
    for (key, text) in [("L", "+vip"), ("t", "SUP-2"), ("e", "asked")] {
        let sent = answer(&mut model, key, text);
        ends(&mut model, &sent, Ok("Done"));
        assert_eq!((model.marks.count(), told(&model)), (2, "Done. 2 still marked (Esc to clear)."), "{key}");
    }
    let sent = answer(&mut model, "a", "mine");
    ends(&mut model, &sent, Ok("2 are acknowledged"));
    assert_eq!((model.marks.count(), told(&model)), (2, "2 are acknowledged. 2 still marked (Esc to clear)."));
}

#[test]
fn a_note_needs_words() {
    let mut model = dashboard("5");
    assert_eq!(answer(&mut model, "e", "  "), []);
    assert_eq!(prompt(&model).wrong.as_deref(), Some("Type a note, or press Esc to cancel."));
}

#[test]
fn a_paste_into_a_prompt_is_one_clean_line() {
    let mut model = dashboard("5");
    press(&mut model, &["e"], now());
    model.take(Msg::Paste("told \u{202e}them\r\nto wait".into()), now());
    assert_eq!(prompt(&model).input.value(), "told them to wait");
}

#[test]
fn a_ticket_begins_with_the_one_it_has_and_nothing_takes_it_off() {
    let mut model = dashboard("5");
    let mut with_ticket = in_status(21, RouterStatus::Ongoing);
    with_ticket.params.ticket = Some("SUP-1".into());
    hear(&mut model, changed(vec![with_ticket]), None, now());
    let ticket =
        |ticket: Option<&str>| LocalEdit::SetTicket { transactions: rows([21]), ticket: ticket.map(str::to_owned) };
    assert_eq!(
        answer(&mut model, "t", "SUP-2"),
        edit(ticket(Some("SUP-2"))),
        "it is selected: what is typed replaces it"
    );
    press(&mut model, &["Esc", "t", "End", "2"], now());
    assert_eq!(press(&mut model, &["Enter"], now()), edit(ticket(Some("SUP-12"))), "the cursor moved: it goes on");
    press(&mut model, &["Esc", "t"], now());
    model.take(Msg::Key(KeyCode::Backspace.into()), now());
    assert_eq!(press(&mut model, &["Enter"], now()), edit(ticket(None)));
    press(&mut model, &["Esc", "t"], now());
    model.take(Msg::Paste("SUP-3".into()), now());
    assert_eq!(press(&mut model, &["Enter"], now()), edit(ticket(Some("SUP-3"))));
}

#[test]
fn labels_are_put_on_and_taken_off_all_that_are_marked() {
    let mut model = dashboard("5");
    press(&mut model, &["*"], now());
    let expected = LocalEdit::ChangeLabels {
        transactions: rows(1..=40),
        add: vec!["vip".into()],
        remove: vec!["batch-17".into()],
    };
    assert_eq!(answer(&mut model, "L", "+vip -batch-17"), edit(expected));
    press(&mut model, &["Esc"], now());
    assert_eq!(answer(&mut model, "L", "+"), []);
    assert!(prompt(&model).wrong.as_deref().unwrap().starts_with("A sign needs a label"));
}

#[test]
fn an_acknowledgement_takes_a_note_or_none() {
    let mut model = dashboard("5");
    press(&mut model, &["}"], now());
    let acknowledge = |note: Option<&str>, ids: &[i64]| {
        let note = note.map(str::to_owned);
        vec![Effect::Work(Work::Acknowledge { rows: rows(ids.iter().copied()), note })]
    };
    assert_eq!(answer(&mut model, "a", ""), acknowledge(None, &[30]));
    press(&mut model, &["Esc", "Space", "Space"], now());
    assert_eq!(answer(&mut model, "a", "mine"), acknowledge(Some("mine"), &[30, 31]));
}

#[test]
fn what_is_acknowledged_already_is_said() {
    let mut model = dashboard("5");
    let mut taken = alert(Rule::Regressed, Some(RowId(21)), "");
    taken.handling = Some(crate::domain::alert::Handling::Acknowledged(crate::domain::alert::Acknowledgement {
        at: now().wall,
        note: Some("asked".into()),
    }));
    let other = Alert { id: taken.id + 1, ..taken.clone() };
    let alert = taken.id;
    hear(&mut model, everything(Vec::new(), vec![taken.clone()]), None, now());
    // One can be told more of; of several it isn't known which is meant.
    let more =
        Effect::Work(Work::Edit(LocalEdit::Acknowledge { alerts: vec![alert], note: Some("asked twice".into()) }));
    assert_eq!(answer(&mut model, "a", " twice"), [more]);
    press(&mut model, &["Esc"], now());
    hear(&mut model, everything(Vec::new(), vec![taken, other]), None, now());
    press(&mut model, &["a"], now());
    assert_eq!(told(&model), "Already acknowledged, until its status changes.");
}

#[test]
fn an_export_is_of_the_marked_ones_or_of_all_that_are_shown() {
    let mut model = dashboard("5");
    let file = "hoptop-1970-01-01-010000.csv".to_owned();
    press(&mut model, &["E"], now());
    let shown = Work::Export { file: file.clone(), rows: None };
    assert_eq!(press(&mut model, &["Enter"], now()), [Effect::Work(shown)]);
    press(&mut model, &["Esc", "Space", "E"], now());
    let marked = Work::Export { file, rows: Some(rows([21])) };
    assert_eq!(press(&mut model, &["Enter"], now()), [Effect::Work(marked)]);
    press(&mut model, &["Esc", "E", "^U"], now());
    assert_eq!(press(&mut model, &["Enter"], now()), []);
    assert!(prompt(&model).wrong.is_some());
}

#[test]
fn nothing_shown_is_nothing_to_export() {
    let mut model = dashboard("5");
    press(&mut model, &["/"], now());
    type_in(&mut model, "chain:nowhere", now());
    press(&mut model, &["Enter", "E"], now());
    assert!(told(&model).starts_with("Nothing to export"));
}

#[test]
fn a_few_marked_ones_are_polled_at_once_and_many_after_a_yes() {
    let mut model = dashboard("5");
    press(&mut model, &["g", "Space", "Space"], now());
    assert_eq!(press(&mut model, &["R"], now()), [Effect::PollNow(rows([1, 2]))]);
    assert_eq!(told(&model), "2 asked to be polled next (2 requests).");
    press(&mut model, &["*", "R"], now());
    let asked = menu(&model);
    assert_eq!(asked.title, "Poll 40 now?");
    let cost = "40 requests, about 4s of the budget at 8.33 rps. They get half of it: done in about 9s.";
    assert_eq!(asked.remark, cost);
    assert_eq!(press(&mut model, &["n"], now()), []);
    assert!(matches!(model.overlay, Overlay::None));
    press(&mut model, &["R"], now());
    assert_eq!(press(&mut model, &["y"], now()), [Effect::PollNow(rows(1..=40))]);
    assert_eq!(told(&model), "40 asked to be polled next (40 requests).");
}

#[test]
fn without_a_poller_the_cost_is_a_number_of_requests() {
    let mut model = dashboard("5");
    hear(&mut model, changed(Vec::new()), None, now());
    press(&mut model, &["*", "R"], now());
    assert_eq!(menu(&model).remark, "40 requests, as soon as somebody polls.");
}

#[test]
fn a_menu_is_gone_through_with_keys_and_left_with_esc() {
    let mut model = dashboard("5");
    press(&mut model, &["*", "R", "j", "j"], now());
    assert_eq!(menu(&model).cursor, 1);
    assert_eq!(press(&mut model, &["Enter"], now()), [], "that was `no`");
    for leave in ["Esc", "q"] {
        press(&mut model, &["R", leave], now());
        assert!(matches!(model.overlay, Overlay::None), "{leave}");
    }
    press(&mut model, &["R", "k"], now());
    assert_eq!(press(&mut model, &["Enter"], now()), [Effect::PollNow(rows(1..=40))]);
}
