//! Views of the person's own: saved under a name, shown by a key, changed, forgotten, and restored at the next start.

use super::*;
use crate::tui::{
    model::view_state::{OwnView, ViewState},
    screens::list::tab::OwnTab,
};

fn message_text(model: &TestDashboard) -> &str {
    model.status_message.as_ref().map_or("", |message| &message.text)
}

/// Types a command into the palette and runs it.
fn run(model: &mut TestDashboard, line: &str) {
    press(model, &[":"], now());
    type_in(model, line, now());
    press(model, &["Enter"], now());
}

fn filter_by(model: &mut TestDashboard, text: &str) {
    press(model, &["/"], now());
    type_in(model, text, now());
    press(model, &["Enter"], now());
}

#[test]
fn saved_view_is_shown_by_its_key_and_typing_narrows_it_only_on_top() {
    let mut model = dashboard("5");
    filter_by(&mut model, "status:refund or status:success");
    run(&mut model, "save Ended");
    assert_eq!((model.list.tab, model.list.part.rows.len()), (Tab::Own(OwnTab::Six), 20));
    assert_eq!((model.list.filter_text.as_str(), message_text(&model)), ("", "Saved as view 6: press 6 to show it."));
    filter_by(&mut model, "status:refund");
    assert_eq!(model.list.part.rows.len(), 10);
    press(&mut model, &["2", "6"], now());
    assert_eq!(model.list.filter_text, "status:refund", "what was typed is remembered, as in every view");
    press(&mut model, &["Esc"], now());
    assert_eq!((model.list.tab, model.list.part.rows.len()), (Tab::Own(OwnTab::Six), 20));
    press(&mut model, &["5"], now());
    assert_eq!(model.list.filter_text, "sort:hash", "the view that was left shows everything again");
}

#[test]
fn view_keeps_its_place_unless_a_transaction_is_chosen_elsewhere() {
    let mut model = dashboard("5");
    press(&mut model, &["G"], now());
    let last = model.list.selected;
    press(&mut model, &["3"], now());
    assert_ne!(model.list.selected, last, "the view of refunds doesn't have the last transaction");
    press(&mut model, &["5"], now());
    assert_eq!(model.list.selected, last);
    // Looking only, also into several views, loses no place.
    press(&mut model, &["3", "4", "5"], now());
    assert_eq!(model.list.selected, last);
    // A transaction that is chosen in the other view stays selected.
    press(&mut model, &["3", "j"], now());
    let refund = model.list.selected;
    press(&mut model, &["5"], now());
    assert_eq!(model.list.selected, refund);
}

#[test]
fn view_that_is_saved_again_while_it_is_shown_has_its_new_filter_at_once() {
    let mut model = dashboard("5");
    filter_by(&mut model, "status:refund or status:success");
    run(&mut model, "save Ended");
    filter_by(&mut model, "status:refund");
    run(&mut model, "save Ended");
    assert_eq!((model.list.part.rows.len(), model.list.filter_text.as_str()), (10, ""));
}

#[test]
fn view_of_a_view_requires_both_filters_and_keeps_the_order() {
    let mut model = dashboard("3");
    filter_by(&mut model, "0x0b or 0x0c sort:-hash");
    run(&mut model, "save some refunds");
    let saved = model.view_state.own_view(OwnTab::Six).unwrap();
    assert_eq!(saved.filter, "status:refund (0x0b or 0x0c) sort:-hash");
    filter_by(&mut model, "0x0c");
    run(&mut model, "save SOME REFUNDS");
    let saved: Vec<_> = model.view_state.own_views().map(|(_, view)| view.filter.as_str()).collect();
    assert_eq!(saved, ["status:refund (0x0b or 0x0c) 0x0c sort:-hash"], "the same name replaces the view");
}

#[test]
fn forgetting_the_view_behind_a_temporary_view_shows_all_transactions() {
    let mut model = dashboard("5");
    filter_by(&mut model, "status:refund");
    run(&mut model, "save refunds");
    model.begin_temporary_view(RowId(21));
    run(&mut model, "forget refunds");
    assert_eq!(
        (model.list.tab, model.temporary_view.is_some(), message_text(&model)),
        (Tab::All, false, "View refunds is forgotten.")
    );
}

#[test]
fn refused_view_names_the_reason() {
    let mut model = blank((80, 24));
    run(&mut model, "save everything");
    assert!(message_text(&model).starts_with("This view shows everything"), "{}", message_text(&model));
    filter_by(&mut model, "vip");
    run(&mut model, &format!("save {}", "x".repeat(17)));
    assert!(message_text(&model).contains("at most 16"), "{}", message_text(&model));
    for name in ["a", "b", "c", "d", "e"] {
        run(&mut model, &format!("save {name}"));
        filter_by(&mut model, "vip");
    }
    assert_eq!(message_text(&model), "The keys 6 to 9 are taken (a, b, c, d): free one with :forget NAME.");
    run(&mut model, "forget x");
    assert_eq!(message_text(&model), "No saved view is called x: saved views: a, b, c, d.");
    run(&mut model, "forget B");
    run(&mut model, "save e");
    assert_eq!(model.list.tab, Tab::Own(OwnTab::Seven));
    run(&mut model, "forget e");
    assert_eq!((model.list.tab, message_text(&model)), (Tab::All, "View e is forgotten."));
    press(&mut model, &["7"], now());
    assert!(message_text(&model).starts_with("No view 7 yet"), "{}", message_text(&model));
}

#[test]
fn a_prompt_takes_its_text_from_the_command_line() {
    let mut model = dashboard("5");
    let row = model.list.selected.unwrap();
    let typed = |model: &mut TestDashboard, line: &str| {
        press(model, &["Esc", ":"], now());
        type_in(model, line, now());
        press(model, &["Enter"], now())
    };
    let note = ScreenEdit::AddNote { transactions: vec![row], text: "paid twice".into() };
    assert_eq!(typed(&mut model, "note paid twice"), [Effect::Write(Write::Edit(note))]);
    let ticket = ScreenEdit::SetTicket { transactions: vec![row], ticket: Some("SUP-7".into()) };
    assert_eq!(typed(&mut model, "ticket SUP-7"), [Effect::Write(Write::Edit(ticket))]);
    // A mistake stays in the prompt, with the reason.
    assert_eq!(typed(&mut model, "labels +"), []);
    let Dialog::Prompt(prompt) = &model.dialog else { panic!("{:?}", model.dialog) };
    assert!(prompt.error.as_ref().is_some_and(|error| error.starts_with("A label is missing")), "{:?}", prompt.error);
    assert_eq!(typed(&mut model, "export list.csv").len(), 1);
    assert_eq!(typed(&mut model, "snooze 3h"), []);
    assert_eq!(message_text(&model), "`snooze` takes no argument: type the name alone.");
    // What was typed isn't lost if the command is refused.
    assert_eq!(typed(&mut model, "acknowledge told the user"), []);
    assert_eq!(message_text(&model), "No alert to acknowledge.");
    let Dialog::Palette(palette) = &model.dialog else { panic!("{:?}", model.dialog) };
    assert_eq!(palette.input.value(), "acknowledge told the user");
}

#[test]
fn saved_views_return_at_the_next_start_and_damaged_ones_are_dropped() {
    let mut model = dashboard("5");
    filter_by(&mut model, "status:refund");
    run(&mut model, "save Refunds");
    run(&mut model, "columns tx,sev");
    let written = serde_json::to_string(&model.view_state_to_save()).unwrap();
    let mut later = blank((80, 24));
    later.restore_view_state(ViewState::parse(&written));
    assert_eq!((later.list.tab, later.list.columns.written().as_str()), (Tab::Own(OwnTab::Six), "tx,sev"));
    let view = |filter: &str, typed: &str| OwnView {
        name: "v".into(),
        filter: filter.into(),
        typed: typed.into(),
        columns: String::new(),
    };
    let own = [Some(view("is:nonsense", "")), Some(view("vip", "is:nonsense")), None, None];
    let damaged = ViewState { view: 6, own, ..ViewState::default() };
    let read = ViewState::parse(&serde_json::to_string(&damaged).unwrap());
    assert_eq!((read.tab(), read.own_views().count()), (Tab::All, 1));
    assert_eq!(read.filter_of(Tab::Own(OwnTab::Seven)), "");
}
