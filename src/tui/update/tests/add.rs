//! The add dialog by its keys: findings, filled-in values, marks, values for all transactions, and the reply that asks
//! for more.

use std::collections::HashMap;

use super::*;
use crate::tui::dialogs::add::state::KnownTransactions;
use crate::{
    intake::{Field, PastedContent},
    store::ImportReport,
    tui::dialogs::{
        Dialog,
        add::state::{AddForm, ExtraField, Finding, FormStage, LineState},
    },
};

fn form(model: &Model) -> &AddForm {
    match &model.dialog {
        Dialog::Add(form) => form,
        other => panic!("no dialog: {other:?}"),
    }
}

fn pasted(text: &str) -> TestDashboard {
    let mut model = dashboard("5");
    model.apply(Msg::Paste(text.into()), now());
    model
}

/// Sends the result of the import, as if the dialog had sent one.
fn tracked(model: &mut TestDashboard, report: ImportReport) -> Vec<Effect> {
    if let Dialog::Add(form) = &mut model.dialog {
        form.stage = FormStage::Sent;
    }
    model.apply(Msg::Imported(Ok(report)), now())
}

fn link(number: i64) -> String {
    format!("https://arbiscan.io/tx/0x{number:064x}")
}

#[test]
fn missing_values_are_filled_in_place_and_then_tracked() {
    let mut model = pasted(&link(99));
    press(&mut model, &["Enter"], now());
    // The link names the source chain, so the first missing value is the destination chain.
    assert_eq!(form(&model).focus, FormFocus::Cell(1));
    type_in(&mut model, "base", now());
    press(&mut model, &["Enter"], now());
    assert_eq!(form(&model).focus, FormFocus::Cell(2));
    model.apply(Msg::Paste(" quote-99\n".into()), now());
    press(&mut model, &["Enter"], now());
    assert_eq!((form(&model).focus, form(&model).counts().ready), (FormFocus::Results, 1));
    let effects = press(&mut model, &["Enter"], now());
    assert_eq!(imported(&effects), [tx::new(99)]);
}

#[test]
fn ticket_is_guessed_from_the_text_until_a_person_types_one() {
    let ticket = |model: &TestDashboard| form(model).extras[ExtraField::Ticket as usize].value().to_owned();
    let mut model = pasted(&format!("[SUP-4412] my swap is stuck\n{}\n", link(99)));
    assert_eq!(ticket(&model), "SUP-4412");
    // Two different tickets give no guess.
    model.apply(Msg::Paste("see SUP-4413".into()), now());
    assert_eq!(ticket(&model), "");
    let go_to = |model: &mut TestDashboard, focus| {
        while form(model).focus != focus {
            press(model, &["Tab"], now());
        }
    };
    go_to(&mut model, FormFocus::Extra(ExtraField::Ticket));
    type_in(&mut model, "OPS-7", now());
    go_to(&mut model, FormFocus::Text);
    model.apply(Msg::Paste("SUP-4415".into()), now());
    assert_eq!(ticket(&model), "OPS-7");
    // A known transaction gets no guessed ticket, but a typed ticket is set.
    let known = format!("0x{:064x}", 98);
    let mut model = pasted(&format!("SUP-4412: {known}\n"));
    assert_eq!(ticket(&model), "SUP-4412");
    press(&mut model, &["Tab"], now());
    model.apply(
        Msg::Known(KnownTransactions {
            rows: HashMap::from([(known, Some(RowId(21)))]),
            ..KnownTransactions::default()
        }),
        now(),
    );
    assert_eq!(ticket(&model), "");
    go_to(&mut model, FormFocus::Extra(ExtraField::Ticket));
    type_in(&mut model, "OPS-7", now());
    let edit = ScreenEdit::SetTicket { transactions: vec![RowId(21)], ticket: Some("OPS-7".into()) };
    go_to(&mut model, FormFocus::Extra(ExtraField::Labels));
    type_in(&mut model, "vip", now());
    let labels =
        ScreenEdit::ChangeLabels { transactions: vec![RowId(21)], add: vec!["vip".into()], remove: Vec::new() };
    let effects = press(&mut model, &["Enter"], now());
    assert!([edit, labels].into_iter().all(|edit| effects.contains(&Effect::Write(Write::Edit(edit)))), "{effects:?}");
    assert_eq!(model.screen, Screen::Detail);
    // A row carries its own ticket.
    let row = "0x".to_owned() + &"9".repeat(64) + ",42161,8453,quote-12";
    assert_eq!(ticket(&pasted(&format!("{row}\nSUP-4412"))), "");
}

#[test]
fn part_of_a_tracked_hash_opens_the_transaction() {
    let hash = tx::transaction(21).params.transaction_id;
    let part = &hash.as_str()[hash.as_str().len() - 8..];
    let mut model = pasted(part);
    assert_eq!(form(&model).findings[0].hash(), Some(&TxHash::new(part)), "the part is looked up");
    model.apply(
        Msg::Known(KnownTransactions {
            rows: HashMap::from([(part.to_owned(), Some(RowId(21)))]),
            ..KnownTransactions::default()
        }),
        now(),
    );
    assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(21))));
    // An unknown part of a hash is reported as incomplete.
    let model = pasted("0xabcdef0123");
    let PastedContent::Nothing { reason, .. } = &form(&model).findings[0].pasted.content else { panic!() };
    assert!(reason.starts_with("`0xabcdef0123` has 10 hexadecimal digits; a complete hash has 64"), "{reason}");
    // A word is not a part of a hash.
    assert_eq!(form(&pasted("please")).findings[0].hash(), None);
}

#[test]
fn esc_returns_from_a_found_transaction_to_the_previous_view() {
    let hash = |row| tx::transaction(row).params.transaction_id.to_string();
    let mut model = dashboard("4");
    let settled = model.list.part.rows[0];
    press(&mut model, &["2", "/"], now());
    type_in(&mut model, "sort:hash", now());
    press(&mut model, &["Enter", "j"], now());
    let before = (model.list.tab, model.list.selected, model.view_state_to_save());
    // A transaction that this view hides, and then another one.
    for row in [settled, RowId(21)] {
        model.apply(Msg::Paste(hash(row.0)), now());
        press(&mut model, &["Enter"], now());
        assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(row)));
        assert_eq!(model.view_state_to_save(), before.2, "the temporary view isn't remembered");
    }
    press(&mut model, &["Esc"], now());
    assert_eq!(
        (model.screen, &(model.list.tab, model.list.selected, model.view_state_to_save())),
        (Screen::List, &before)
    );
    // Opened from the alerts, Esc returns to the alerts.
    press(&mut model, &["A"], now());
    model.apply(Msg::Paste(hash(settled.0)), now());
    press(&mut model, &["Enter", "c", "Esc", "Esc"], now());
    assert_eq!(model.screen, Screen::Alerts);
    press(&mut model, &["Esc"], now());
    assert_eq!((model.screen, model.list.tab), (Screen::List, Tab::Active));
    // A view that is chosen meanwhile stays.
    model.apply(Msg::Paste(hash(settled.0)), now());
    press(&mut model, &["Enter", "4", "Esc"], now());
    assert_eq!((model.screen, model.list.tab), (Screen::List, Tab::Done));
    assert_eq!(model.view_state.filter_of(Tab::Active), "sort:hash");
}

#[test]
fn no_temporary_view_begins_if_nothing_was_hidden() {
    let mut model = dashboard("5");
    press(&mut model, &["Esc"], now());
    assert_eq!((model.list.tab, model.list.filter_text.as_str()), (Tab::All, ""));
    model.apply(Msg::Paste(row(99)), now());
    tracked(&mut model, ImportReport { added: [RowId(99)].into_iter().collect(), ..ImportReport::default() });
    assert!(model.temporary_view.is_none());
    press(&mut model, &["j", "j", "Enter"], now());
    let open = model.list.selected;
    press(&mut model, &["Esc"], now());
    assert_eq!((model.screen, model.list.selected), (Screen::List, open));
}

#[test]
fn temporary_view_ends_only_by_a_choice_of_the_person() {
    let mut model = dashboard("4");
    let settled = model.list.part.rows[0];
    press(&mut model, &["2"], now());
    model.apply(Msg::Paste(tx::transaction(settled.0).params.transaction_id.to_string()), now());
    press(&mut model, &["Enter"], now());
    assert!(model.is_at_temporary_target());
    // Another transaction of the temporary view, and back to that view.
    model.screen = Screen::List;
    press(&mut model, &["j", "Enter", "Esc"], now());
    assert_eq!((model.screen, model.list.tab, model.temporary_view.is_some()), (Screen::List, Tab::All, true));
    assert_ne!(model.list.selected, Some(settled));
    // A cancelled filter.
    press(&mut model, &["/"], now());
    type_in(&mut model, "is:ov", now());
    press(&mut model, &["Esc"], now());
    assert!(model.temporary_view.is_some());
    // Esc clears the marks first, and then ends the temporary view.
    press(&mut model, &["Space", "Esc"], now());
    assert!(model.temporary_view.is_some() && model.marks.is_empty());
    press(&mut model, &["Esc"], now());
    assert_eq!((model.list.tab, model.temporary_view.is_some()), (Tab::Active, false));
}

#[test]
fn hash_with_a_chain_is_looked_up_with_the_chain() {
    let tx = tx::transaction(21);
    let name = |from: &str| format!("{from}:{}", tx.params.transaction_id);
    let model = pasted(&name(tx.params.from_chain.as_str()));
    assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(21))));
    let model = pasted(&name("10"));
    assert_eq!(form(&model).findings[0].verdict(), LineState::NeedsInput);
    assert_eq!(form(&model).findings[0].missing(), [Field::ToChainId, Field::QuoteId]);
}

#[test]
fn newly_tracked_transaction_is_shown_among_all_until_esc() {
    let mut model = dashboard("2");
    let filter = model.list.filter_text.clone();
    model.apply(Msg::Paste(row(99)), now());
    tracked(&mut model, ImportReport { added: [RowId(99)].into_iter().collect(), ..ImportReport::default() });
    assert_eq!((model.screen, model.list.tab), (Screen::List, Tab::All));
    press(&mut model, &["Esc"], now());
    assert_eq!((model.list.tab, &model.list.filter_text), (Tab::Active, &filter));
}

#[test]
fn the_same_hash_on_another_chain_is_another_transaction() {
    let tx = tx::transaction(21);
    let row = |from: &str| format!("{},{from},8453,q-1", tx.params.transaction_id);
    let model = pasted(&row(tx.params.from_chain.as_str()));
    assert_eq!(form(&model).findings[0].verdict(), LineState::Known);
    let model = pasted(&row("10"));
    assert_eq!(form(&model).findings[0].verdict(), LineState::Ready);
}

#[test]
fn a_second_paste_is_another_line() {
    let mut model = pasted(&link(98));
    model.apply(Msg::Paste(format!("0x{:064x}", 99)), now());
    let hashes: Vec<_> = form(&model).findings.iter().filter_map(Finding::hash).cloned().collect();
    assert_eq!(hashes, [98, 99].map(|number| TxHash::new(format!("0x{number:064x}"))));
    // The parts of one paste stay together.
    let mut model = pasted("0x00000000000000000000000000000000");
    model.apply(Msg::Paste("00000000000000000000000000000099".into()), now());
    assert_eq!(form(&model).findings[0].hash(), Some(&TxHash::new(format!("0x{:064}", 99))));
}

#[test]
fn unchanged_known_transaction_is_opened() {
    let mut model = pasted(&link(21));
    tracked(&mut model, ImportReport { unchanged: [RowId(21)].into_iter().collect(), ..ImportReport::default() });
    assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(21))));
}

#[test]
fn filled_in_values_stay_when_the_text_grows() {
    let mut model = pasted(&link(99));
    press(&mut model, &["Enter"], now());
    type_in(&mut model, "8453", now());
    press(&mut model, &["Up", "Up"], now());
    model.apply(Msg::Paste(format!("\n{}", row(98))), now());
    assert_eq!((form(&model).findings.len(), form(&model).findings[0].cells[1].input.value()), (2, "8453"));
}

#[test]
fn space_removes_the_mark_and_enter_tracks_the_others() {
    let mut model = pasted(&format!("{}\n{}", row(98), row(99)));
    press(&mut model, &["Tab", "Space"], now());
    assert_eq!(form(&model).cursor, 1);
    let effects = press(&mut model, &["Enter"], now());
    assert_eq!(imported(&effects), [tx::new(99)]);
    press(&mut model, &["k", "Space", "Enter"], now());
    assert_eq!(form(&model).counts().ready, 2);
}

#[test]
fn values_for_all_transactions_do_not_replace_the_values_of_a_line() {
    let own = format!("{},,1200,,,SUP-OWN", row(98));
    let mut model = pasted(&format!("{own}\n{}", row(99)));
    press(&mut model, &["Tab", "Tab"], now());
    assert_eq!(form(&model).focus, FormFocus::Extra(ExtraField::Ticket));
    type_in(&mut model, "SUP-1", now());
    press(&mut model, &["Tab"], now());
    type_in(&mut model, "late", now());
    press(&mut model, &["Home"], now());
    model.apply(Msg::Burst("vip, ".into()), now());
    press(&mut model, &["Tab"], now());
    type_in(&mut model, "soon", now());
    assert_eq!(press(&mut model, &["Enter"], now()), []);
    assert!(form(&model).estimate_error.is_some());
    press(&mut model, &["^U"], now());
    type_in(&mut model, "15m", now());
    let effects = press(&mut model, &["Enter"], now());
    let [first, second] = imported(&effects) else { panic!("{effects:?}") };
    let params = |new: &NewTransaction| (new.params.ticket.clone().unwrap(), new.params.estimate.unwrap().as_secs());
    assert_eq!((params(first), params(second)), (("SUP-OWN".into(), 1200), ("SUP-1".into(), 900)));
    assert_eq!((&first.labels, &second.labels), (&vec!["vip".to_owned(), "late".into()], &first.labels));
}

#[test]
fn t_copies_a_reply_that_asks_for_the_missing_fields() {
    let mut model = pasted(&format!("{}\nmy swap is stuck\n{}", link(99), row(98)));
    let effects = press(&mut model, &["Tab", "t"], now());
    let [Effect::Copy(text)] = &effects[..] else { panic!("{effects:?}") };
    assert!(text.contains("toChainId") && text.contains("quoteId") && !text.contains("fromChainId"), "{text}");
    let effects = press(&mut model, &["j", "t"], now());
    assert!(matches!(&effects[..], [Effect::Copy(text)] if text.contains("transactionId")), "{effects:?}");
    // On a complete finding, `t` goes to the first incomplete one.
    let effects = press(&mut model, &["j", "t"], now());
    assert_eq!(form(&model).cursor, 0);
    assert!(matches!(&effects[..], [Effect::Copy(text)] if text.contains("toChainId")), "{effects:?}");
    assert_eq!(press(&mut pasted(&row(98)), &["Tab", "t"], now()), []);
}

#[test]
fn text_without_a_hash_searches_all_tracked_transactions() {
    for (pasted_text, filter) in [
        ("0x8376", "0x8376"),
        ("SUP-4231\n", "SUP-4231"),
        ("Hi, it is about SUP-4231: where is the money of my customer, and why is it so late?", "SUP-4231"),
        (" my swap ", "\"my swap\""),
        ("-vip", "\"-vip\""),
        ("a\"b:c", "\"a b:c\""),
    ] {
        let mut model = dashboard("2");
        let before = model.view_state_to_save();
        model.apply(Msg::Paste(pasted_text.into()), now());
        assert!(form(&model).hints().contains(&("Enter", "search the list")), "{pasted_text}");
        press(&mut model, &["Enter"], now());
        assert!(matches!(model.dialog, Dialog::None));
        assert_eq!((model.list.tab, model.list.filter_text.as_str()), (Tab::All, filter));
        assert_eq!(
            (&model.list.filter_error, model.view_state_to_save()),
            (&None, before.clone()),
            "any text is a valid filter"
        );
        press(&mut model, &["Esc"], now());
        assert_eq!((model.list.tab, model.view_state_to_save()), (Tab::Active, before));
    }
    // Several lines, a long text, quotes alone, or a row with an incomplete hash are no search.
    for nothing in ["my swap\nis stuck", &"word ".repeat(20), "\"\"", "0x9f3c41b7e21b,42161,845x,5f2a90"] {
        let mut model = pasted(nothing);
        assert!(form(&model).hints().iter().all(|(key, _)| *key != "Enter"), "{nothing}");
        assert_eq!(press(&mut model, &["Enter"], now()), []);
        assert!(matches!(model.dialog, Dialog::Add(_)));
    }
}

#[test]
fn known_hash_that_is_pasted_alone_opens_at_once() {
    let known = format!("0x{:064x}", 33);
    for alone in
        [known.clone(), format!("SUP-4412: my swap is stuck\n{known}\nplease help\n"), format!("{known} {known}\n")]
    {
        let mut model = pasted(&alone);
        assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(33))), "{alone}");
        let message = &model.status_message.as_ref().unwrap().text;
        assert!(message.starts_with("Already tracked"), "{message}");
        assert_eq!(message.contains("the text names SUP-4412 (t sets the ticket)"), alone.contains("SUP"), "{message}");
        if alone.contains("SUP") {
            press(&mut model, &["t"], now());
            let Dialog::Prompt(prompt) = &model.dialog else { panic!("{:?}", model.dialog) };
            assert_eq!(prompt.input.value(), "SUP-4412", "the prompt begins with the named ticket");
            press(&mut model, &["Esc", "t"], now());
            let Dialog::Prompt(prompt) = &model.dialog else { panic!("{:?}", model.dialog) };
            assert_ne!(prompt.input.value(), "SUP-4412", "the named ticket is offered once");
        }
    }
    // On each screen.
    let mut model = dashboard("5");
    press(&mut model, &["@"], now());
    model.apply(Msg::Paste(known.clone()), now());
    assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(33))));
    // A known hash waits for Enter if it is typed, if another one is beside it, or if an import would change it.
    let changed = row(21).replace("quote-21", "other");
    for more in [format!("{known}\n{}", link(99)), format!("{known}\n0x{:064x}", 21), changed] {
        assert!(!form(&pasted(&more)).findings.is_empty(), "{more}");
    }
    let mut model = dashboard("5");
    press(&mut model, &["n"], now());
    type_in(&mut model, &known, now());
    assert_eq!(form(&model).findings[0].verdict(), LineState::Known);
    // A part of a paste, and a paste after a typed ticket, wait for Enter too.
    let mut model = dashboard("5");
    model.apply(Msg::Burst(known.clone()), now());
    assert_eq!(form(&model).findings[0].verdict(), LineState::Known);
    let mut model = dashboard("5");
    press(&mut model, &["n", "Tab"], now());
    type_in(&mut model, "SUP9", now());
    press(&mut model, &["Shift-Tab"], now());
    model.apply(Msg::Paste(known.clone()), now());
    assert_eq!(form(&model).findings[0].verdict(), LineState::Known);
    // A second paste is added to the first.
    let mut model = pasted(&link(99));
    model.apply(Msg::Paste(format!("\n{known}")), now());
    assert_eq!(form(&model).findings.len(), 2);
}

#[test]
fn complete_line_about_a_known_transaction_names_what_it_changes_and_sentences_change_nothing() {
    let stored = dashboard("5").transactions[&RowId(21)].params.clone();
    let line = |quote: &str| {
        format!("{},{},{},{quote}", stored.transaction_id, stored.from_chain.as_str(), stored.to_chain.as_str())
    };
    // Nothing changes: the transaction opens.
    let model = pasted(&line(&stored.quote_id));
    assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(21))));
    let mut model = pasted(&line("other"));
    let found = &form(&model).findings[0];
    assert_eq!(found.changes(), [format!("QUOTE ID {} to other", stored.quote_id)]);
    assert_eq!((found.row_to_open(), found.changes_value(Field::QuoteId)), (None, true));
    assert!(form(&model).hints().contains(&("Enter", "update")));
    let effects = press(&mut model, &["Enter"], now());
    assert_eq!(imported(&effects)[0].params.quote_id, "other");
    // A complete line about a transaction that isn't polled has it polled again.
    let mut model = dashboard("5");
    let mut stopped = model.transactions[&RowId(21)].clone();
    stopped.tracking = crate::domain::transaction::Tracking::Untracked;
    change_store(&mut model, changed(vec![stopped]), None, now());
    model.apply(Msg::Paste(line(&stored.quote_id)), now());
    assert_eq!(form(&model).findings[0].changes(), ["polling (it was stopped)"]);
    // Sentences around a hash hold guesses.
    let text = format!("my hash {} from Base to Polygon, quoteId: other, is stuck", stored.transaction_id);
    let model = pasted(&text);
    assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(21))));
}

#[test]
fn enter_opens_the_known_transaction_at_the_cursor() {
    let mut model = pasted(&format!("{}\n0x{:064x}", row(98), 33));
    press(&mut model, &["Tab", "j", "Enter"], now());
    assert_eq!((model.list.selected, model.screen), (Some(RowId(33)), Screen::Detail));
}

#[test]
fn enter_goes_to_a_known_transaction_among_incomplete_ones_before_it_opens() {
    let mut model = pasted(&format!("stuck: 0x{:064x} and 0x{:064x}", 98, 33));
    assert!(form(&model).hints().contains(&("Enter", "go to the tracked one")));
    assert_eq!(press(&mut model, &["Enter"], now()), []);
    assert_eq!((form(&model).focus, form(&model).cursor), (FormFocus::Results, 1));
    press(&mut model, &["Enter"], now());
    assert_eq!((model.list.selected, model.screen), (Some(RowId(33)), Screen::Detail));
    // Tab goes to the missing values of the other finding, above or below.
    for (hashes, cursor) in [([33, 98], 1), ([98, 33], 0)] {
        let mut model = pasted(&format!("stuck: 0x{:064x} and 0x{:064x}", hashes[0], hashes[1]));
        press(&mut model, &["Enter", "Tab"], now());
        assert_eq!((form(&model).focus, form(&model).cursor), (FormFocus::Cell(0), cursor));
    }
}

#[test]
fn lines_that_need_values_stay_after_the_complete_ones_are_tracked() {
    let mut model = pasted(&format!("0x{:064x}\n{}", 98, row(97)));
    let report = ImportReport { added: [RowId(70)].into_iter().collect(), ..ImportReport::default() };
    tracked(&mut model, report);
    assert_eq!((form(&model).cursor, form(&model).focus), (0, FormFocus::Cell(0)));
    let message = &model.status_message.as_ref().unwrap().text;
    assert!(message.ends_with("1 line still needs values"), "{message}");
    assert_eq!(form(&model).counts().ready, 0, "nothing is tracked twice");
}

#[test]
fn enter_lists_several_known_transactions() {
    // In capitals and without the prefix, as an explorer may show them.
    let mut model = pasted(&format!("stuck: 0x{:064x}, {:064X} and 0x{:064x}", 33, 21, 33));
    assert!(form(&model).hints().contains(&("Enter", "show the tracked ones")));
    press(&mut model, &["Tab", "Tab"], now());
    type_in(&mut model, "SUP9", now());
    let effects = press(&mut model, &["Enter"], now());
    assert_eq!(model.list.filter_text, format!("/(?i:{:012x}|{:012x})/", 33, 21));
    assert!(model.list.filter_error.is_none() && matches!(model.dialog, Dialog::None));
    let ticket = Edit::SetTicket { transactions: vec![RowId(33), RowId(21)], ticket: Some("SUP9".into()) };
    assert!(effects.contains(&Effect::Write(Write::Edit(ticket))), "{effects:?}");
    press(&mut model, &["Esc"], now());
    assert_eq!(model.list.filter_text, "sort:hash", "the view before the search is back");
}

#[test]
fn unusual_row_has_a_warning_and_can_be_tracked() {
    let warning = |row: &str| form(&pasted(row)).findings[0].warning();
    assert_eq!(warning(&row(98)), None);
    assert_eq!(
        warning("0x12345678,42161,8453,q-1").unwrap(),
        "the hash has 8 hexadecimal digits; a complete hash has 64"
    );
    assert_eq!(warning(&format!("0x{:064x},42161,845399,q-1", 7)).unwrap(), "chain 845399 is not in the built-in list");
    assert_eq!(form(&pasted("0x12345678,42161,8453,q-1")).counts().ready, 1);
}

#[test]
fn typed_text_needs_a_second_esc() {
    let mut model = dashboard("5");
    press(&mut model, &["n", "Esc"], now());
    assert!(matches!(model.dialog, Dialog::None), "an empty dialog closes at once");
    press(&mut model, &["n"], now());
    type_in(&mut model, "0x", now());
    press(&mut model, &["Esc"], now());
    assert_eq!(form(&model).stage, FormStage::ConfirmLeave);
    type_in(&mut model, "1", now());
    press(&mut model, &["Esc", "Esc"], now());
    assert!(matches!(model.dialog, Dialog::None));
}

#[test]
fn an_integrator_id_is_hidden_as_it_is_pasted_even_in_parts() {
    let mut model = dashboard("5");
    for part in
        ["curl -H 'x-integrator", "-id: very-", "secret' 'https://api.example/v2/status?transactionId=0xabcdef'"]
    {
        model.apply(Msg::Paste(part.into()), now());
    }
    let text = form(&model).text();
    assert!(text.contains("x-integrator-id: (hidden)'") && !text.contains("secret"), "{text}");
    assert_eq!(form(&model).findings[0].missing(), [Field::FromChainId, Field::ToChainId, Field::QuoteId]);
}

#[test]
fn tab_cycles_through_all_parts_of_the_form() {
    let mut model = pasted(&format!("0x{:064x}", 99));
    let stops = 1 + 1 + 3 + 3;
    for keys in [["Tab"], ["Shift-Tab"]] {
        for _ in 0..stops {
            press(&mut model, &keys, now());
        }
        assert_eq!(form(&model).focus, FormFocus::Text, "{keys:?}");
    }
    press(&mut model, &["Down", "Down", "Up", "Up", "Up"], now());
    assert_eq!(form(&model).focus, FormFocus::Text);
}
