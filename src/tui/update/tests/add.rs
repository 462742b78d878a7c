//! The add dialog by its keys: what is found, filled in, marked, told of all, asked for.

use super::*;
use crate::{
    intake::Content,
    tui::model::add::{AddForm, Extra, Found, Verdict},
};

fn form(model: &Model) -> &AddForm {
    match &model.overlay {
        Overlay::Add(form) => form,
        other => panic!("no dialog: {other:?}"),
    }
}

fn pasted(text: &str) -> TestDashboard {
    let mut model = dashboard("5");
    model.take(Msg::Paste(text.into()), now());
    model
}

/// What the dialog sent was tracked so.
fn tracked(model: &mut TestDashboard, report: ImportReport) {
    if let Overlay::Add(form) = &mut model.overlay {
        form.is_sent = true;
    }
    model.take(Msg::Imported(Ok(report)), now());
}

fn link(number: i64) -> String {
    format!("https://arbiscan.io/tx/0x{number:064x}")
}

#[test]
fn what_is_missing_is_filled_in_place_by_name_or_id_and_then_tracked() {
    let mut model = pasted(&link(99));
    press(&mut model, &["Enter"], now());
    // The link speaks for the source chain, so the destination is asked for first.
    assert_eq!(form(&model).focus, Focus::Cell(1));
    type_in(&mut model, "base", now());
    press(&mut model, &["Enter"], now());
    assert_eq!(form(&model).focus, Focus::Cell(2));
    model.take(Msg::Paste(" quote-99\n".into()), now());
    press(&mut model, &["Enter"], now());
    assert_eq!((form(&model).focus, form(&model).counts().ready), (Focus::Results, 1));
    let effects = press(&mut model, &["Enter"], now());
    assert_eq!(imported(&effects), [tx::new(99)]);
}

#[test]
fn a_ticket_s_text_names_its_ticket_until_a_person_says_another() {
    let ticket = |model: &TestDashboard| form(model).extras[Extra::Ticket as usize].value().to_owned();
    let mut model = pasted(&format!("[SUP-4412] my swap is stuck\n{}\n", link(99)));
    assert_eq!(ticket(&model), "SUP-4412");
    // Two are none, and what the field says else stays.
    model.take(Msg::Paste("see SUP-4413".into()), now());
    assert_eq!(ticket(&model), "");
    let go_to = |model: &mut TestDashboard, focus| {
        while form(model).focus != focus {
            press(model, &["Tab"], now());
        }
    };
    go_to(&mut model, Focus::Extra(Extra::Ticket));
    type_in(&mut model, "OPS-7", now());
    go_to(&mut model, Focus::Text);
    model.take(Msg::Paste("SUP-4415".into()), now());
    assert_eq!(ticket(&model), "OPS-7");
    // Of what is known nothing would come of a guess, but what a person wrote is done.
    let known = format!("0x{:064x}", 98);
    let mut model = pasted(&format!("SUP-4412: {known}\n"));
    assert_eq!(ticket(&model), "SUP-4412");
    press(&mut model, &["Tab"], now());
    model.take(Msg::Known(HashMap::from([(known, Some(RowId(21)))])), now());
    assert_eq!(ticket(&model), "");
    go_to(&mut model, Focus::Extra(Extra::Ticket));
    type_in(&mut model, "OPS-7", now());
    let edit = LocalEdit::SetTicket { transactions: vec![RowId(21)], ticket: Some("OPS-7".into()) };
    assert!(press(&mut model, &["Enter"], now()).contains(&Effect::Work(Work::Edit(edit))));
    assert_eq!(model.screen, Screen::Detail);
    // A row says itself which ticket is its own.
    let row = "0x".to_owned() + &"9".repeat(64) + ",42161,8453,quote-12";
    assert_eq!(ticket(&pasted(&format!("{row}\nSUP-4412"))), "");
}

#[test]
fn a_part_of_a_tracked_hash_opens_it() {
    let hash = tx::transaction(21).params.transaction_id;
    let part = &hash.as_str()[hash.as_str().len() - 8..];
    let mut model = pasted(part);
    assert_eq!(form(&model).found[0].hash(), Some(&TxHash::new(part)), "it is asked about");
    model.take(Msg::Known(HashMap::from([(part.to_owned(), Some(RowId(21)))])), now());
    assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(21))));
    // Of what isn't known it is said what it lacks.
    let model = pasted("0xabcdef0123");
    let Content::Nothing { reason, .. } = &form(&model).found[0].pasted.content else { panic!() };
    assert!(reason.starts_with("`0xabcdef0123` has 10 hexadecimal digits, a whole hash has 64"), "{reason}");
    // And a word is no part of a hash.
    assert_eq!(form(&pasted("please")).found[0].hash(), None);
}

#[test]
fn what_was_looked_for_is_left_to_where_it_was_looked_for_from() {
    let hash = |row| tx::transaction(row).params.transaction_id.to_string();
    let mut model = dashboard("4");
    let settled = model.list.part.rows[0];
    press(&mut model, &["2", "/"], now());
    type_in(&mut model, "sort:hash", now());
    press(&mut model, &["Enter", "j"], now());
    let before = (model.list.tab, model.list.selected, model.to_remember());
    // One that this view doesn't hold, and then another.
    for row in [settled, RowId(21)] {
        model.take(Msg::Paste(hash(row.0)), now());
        press(&mut model, &["Enter"], now());
        assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(row)));
        assert_eq!(model.to_remember(), before.2, "a detour isn't remembered");
    }
    press(&mut model, &["Esc"], now());
    assert_eq!((model.screen, &(model.list.tab, model.list.selected, model.to_remember())), (Screen::List, &before));
    // From among the alerts it leads back to these.
    press(&mut model, &["A"], now());
    model.take(Msg::Paste(hash(settled.0)), now());
    press(&mut model, &["Enter", "c", "Esc", "Esc"], now());
    assert_eq!(model.screen, Screen::Alerts);
    press(&mut model, &["Esc"], now());
    assert_eq!((model.screen, model.list.tab), (Screen::List, Tab::Active));
    // Who chooses another view meanwhile stays there.
    model.take(Msg::Paste(hash(settled.0)), now());
    press(&mut model, &["Enter", "4", "Esc"], now());
    assert_eq!((model.screen, model.list.tab), (Screen::List, Tab::Done));
    assert_eq!(model.memory.filter_of(Tab::Active), "sort:hash");
}

#[test]
fn where_nothing_was_hidden_nothing_is_led_back_from() {
    let mut model = dashboard("5");
    press(&mut model, &["Esc"], now());
    assert_eq!((model.list.tab, model.list.filter_text.as_str()), (Tab::All, ""));
    model.take(Msg::Paste(link(99)), now());
    tracked(&mut model, ImportReport { added: [RowId(99)].into_iter().collect(), ..ImportReport::default() });
    assert!(model.temporary_view.is_none());
    press(&mut model, &["j", "j", "Enter"], now());
    let open = model.list.selected;
    press(&mut model, &["Esc"], now());
    assert_eq!((model.screen, model.list.selected), (Screen::List, open));
}

#[test]
fn on_a_detour_everything_can_be_looked_at_and_only_what_a_person_chooses_ends_it() {
    let mut model = dashboard("4");
    let settled = model.list.part.rows[0];
    press(&mut model, &["2"], now());
    model.take(Msg::Paste(tx::transaction(settled.0).params.transaction_id.to_string()), now());
    press(&mut model, &["Enter"], now());
    assert!(model.is_at_detour());
    // Another one of all that is shown, and back to these.
    model.screen = Screen::List;
    press(&mut model, &["j", "Enter", "Esc"], now());
    assert_eq!((model.screen, model.list.tab, model.temporary_view.is_some()), (Screen::List, Tab::All, true));
    assert_ne!(model.list.selected, Some(settled));
    // A filter that isn't kept.
    press(&mut model, &["/"], now());
    type_in(&mut model, "is:ov", now());
    press(&mut model, &["Esc"], now());
    assert!(model.temporary_view.is_some());
    // And back, with the marks first.
    press(&mut model, &["Space", "Esc"], now());
    assert!(model.temporary_view.is_some() && model.marks.is_empty());
    press(&mut model, &["Esc"], now());
    assert_eq!((model.list.tab, model.temporary_view.is_some()), (Tab::Active, false));
}

#[test]
fn a_hash_with_its_chain_is_asked_about_with_it() {
    let tx = tx::transaction(21);
    let name = |from: &str| format!("{from}:{}", tx.params.transaction_id);
    let model = pasted(&name(tx.params.from_chain.as_str()));
    assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(21))));
    let model = pasted(&name("10"));
    assert_eq!(form(&model).found[0].verdict(), Verdict::NeedsInput);
    assert_eq!(form(&model).found[0].missing(), ["toChainId", "quoteId"]);
}

#[test]
fn what_is_tracked_anew_is_shown_among_all_until_esc() {
    let mut model = dashboard("2");
    let filter = model.list.filter_text.clone();
    model.take(Msg::Paste(link(99)), now());
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
    assert_eq!(form(&model).found[0].verdict(), Verdict::Known);
    let model = pasted(&row("10"));
    assert_eq!(form(&model).found[0].verdict(), Verdict::Ready);
}

#[test]
fn a_second_paste_is_another_line() {
    let mut model = pasted(&link(98));
    model.take(Msg::Paste(format!("0x{:064x}", 99)), now());
    let hashes: Vec<_> = form(&model).found.iter().filter_map(Found::hash).cloned().collect();
    assert_eq!(hashes, [98, 99].map(|number| TxHash::new(format!("0x{number:064x}"))));
    // What comes in parts stays together.
    let mut model = pasted("0x00000000000000000000000000000000");
    model.take(Msg::Paste("00000000000000000000000000000099".into()), now());
    assert_eq!(form(&model).found[0].hash(), Some(&TxHash::new(format!("0x{:064}", 99))));
}

#[test]
fn one_that_is_known_just_so_is_opened() {
    let mut model = pasted(&link(21));
    tracked(&mut model, ImportReport { unchanged: [RowId(21)].into_iter().collect(), ..ImportReport::default() });
    assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(21))));
}

#[test]
fn what_was_filled_in_stays_when_the_text_goes_on() {
    let mut model = pasted(&link(99));
    press(&mut model, &["Enter"], now());
    type_in(&mut model, "8453", now());
    press(&mut model, &["Up", "Up"], now());
    model.take(Msg::Paste(format!("\n{}", row(98))), now());
    assert_eq!((form(&model).found.len(), form(&model).found[0].cells[1].input.value()), (2, "8453"));
}

#[test]
fn space_takes_the_mark_off_and_enter_tracks_the_others() {
    let mut model = pasted(&format!("{}\n{}", row(98), row(99)));
    press(&mut model, &["Tab", "Space"], now());
    assert_eq!(form(&model).place, 1);
    let effects = press(&mut model, &["Enter"], now());
    assert_eq!(imported(&effects), [tx::new(99)]);
    press(&mut model, &["k", "Space", "Enter"], now());
    assert_eq!(form(&model).counts().ready, 2);
}

#[test]
fn ticket_labels_and_estimate_are_told_of_all_but_what_a_line_says_itself_stays() {
    let own = format!("{},,1200,,SUP-OWN", row(98));
    let mut model = pasted(&format!("{own}\n{}", row(99)));
    press(&mut model, &["Tab", "Tab"], now());
    assert_eq!(form(&model).focus, Focus::Extra(Extra::Ticket));
    type_in(&mut model, "SUP-1", now());
    press(&mut model, &["Tab"], now());
    type_in(&mut model, "vip, late", now());
    press(&mut model, &["Tab"], now());
    type_in(&mut model, "soon", now());
    assert_eq!(press(&mut model, &["Enter"], now()), []);
    assert!(form(&model).wrong.is_some());
    press(&mut model, &["^U"], now());
    type_in(&mut model, "15m", now());
    let effects = press(&mut model, &["Enter"], now());
    let [first, second] = imported(&effects) else { panic!("{effects:?}") };
    let params = |new: &NewTransaction| (new.params.ticket.clone().unwrap(), new.params.estimate.unwrap().as_secs());
    assert_eq!((params(first), params(second)), (("SUP-OWN".into(), 1200), ("SUP-1".into(), 900)));
    assert_eq!((&first.labels, &second.labels), (&vec!["vip".to_owned(), "late".into()], &first.labels));
}

#[test]
fn t_copies_a_reply_that_asks_for_what_is_missing() {
    let mut model = pasted(&format!("{}\nmy swap is stuck\n{}", link(99), row(98)));
    let effects = press(&mut model, &["Tab", "t"], now());
    let [Effect::Copy(text)] = &effects[..] else { panic!("{effects:?}") };
    assert!(text.contains("toChainId") && text.contains("quoteId") && !text.contains("fromChainId"), "{text}");
    let effects = press(&mut model, &["j", "t"], now());
    assert!(matches!(&effects[..], [Effect::Copy(text)] if text.contains("transactionId")), "{effects:?}");
    // Of what lacks nothing, it is the first that does.
    let effects = press(&mut model, &["j", "t"], now());
    assert_eq!(form(&model).place, 0);
    assert!(matches!(&effects[..], [Effect::Copy(text)] if text.contains("toChainId")), "{effects:?}");
    assert_eq!(press(&mut pasted(&row(98)), &["Tab", "t"], now()), []);
}

#[test]
fn what_is_no_hash_is_looked_for_among_all_that_is_tracked() {
    for (pasted_text, filter) in [
        ("0x8376", "0x8376"),
        ("SUP-4231\n", "SUP-4231"),
        (" my swap ", "\"my swap\""),
        ("-vip", "\"-vip\""),
        ("a\"b:c", "\"a b:c\""),
    ] {
        let mut model = dashboard("2");
        let before = model.to_remember();
        model.take(Msg::Paste(pasted_text.into()), now());
        assert!(form(&model).hints().contains(&("Enter", "look for it in the list")), "{pasted_text}");
        press(&mut model, &["Enter"], now());
        assert!(matches!(model.overlay, Overlay::None));
        assert_eq!((model.list.tab, model.list.filter_text.as_str()), (Tab::All, filter));
        assert_eq!((&model.list.filter_error, model.to_remember()), (&None, before.clone()), "it may be anything");
        press(&mut model, &["Esc"], now());
        assert_eq!((model.list.tab, model.to_remember()), (Tab::Active, before));
    }
    // A text of several lines, or a long one, is none that anybody looks for; nor are quotes alone.
    for nothing in ["my swap\nis stuck", &"word ".repeat(20), "\"\""] {
        let mut model = pasted(nothing);
        assert!(form(&model).hints().iter().all(|(key, _)| *key != "Enter"), "{nothing}");
        assert_eq!(press(&mut model, &["Enter"], now()), []);
        assert!(matches!(model.overlay, Overlay::Add(_)));
    }
}

#[test]
fn of_a_known_hash_that_is_pasted_nobody_wants_more_than_to_see_it() {
    let known = format!("0x{:064x}", 33);
    for alone in
        [known.clone(), format!("SUP-4412: my swap is stuck\n{known}\nplease help\n"), format!("{known} {known}\n")]
    {
        let model = pasted(&alone);
        assert_eq!((model.screen, model.list.selected), (Screen::Detail, Some(RowId(33))), "{alone}");
        let said = &model.notice.as_ref().unwrap().text;
        assert!(said.starts_with("Already tracked"), "{said}");
        assert_eq!(said.contains("the text names SUP-4412, t sets its ticket"), alone.contains("SUP"), "{said}");
    }
    // Beside another one, with what an import would change, or typed by hand it waits for Enter.
    for more in [format!("{known}\n{}", link(99)), format!("{known}\n0x{:064x}", 21), row(21)] {
        assert!(!form(&pasted(&more)).found.is_empty(), "{more}");
    }
    let mut model = dashboard("5");
    press(&mut model, &["n"], now());
    type_in(&mut model, &known, now());
    assert_eq!(form(&model).found[0].verdict(), Verdict::Known);
    // A part of a paste may be followed by another, and what was written for it waits for Enter too.
    let mut model = dashboard("5");
    model.take(Msg::Burst(known.clone()), now());
    assert_eq!(form(&model).found[0].verdict(), Verdict::Known);
    let mut model = dashboard("5");
    press(&mut model, &["n", "Tab"], now());
    type_in(&mut model, "SUP9", now());
    press(&mut model, &["Shift-Tab"], now());
    model.take(Msg::Paste(known.clone()), now());
    assert_eq!(form(&model).found[0].verdict(), Verdict::Known);
    // A second paste adds to what the first left.
    let mut model = pasted(&link(99));
    model.take(Msg::Paste(format!("\n{known}")), now());
    assert_eq!(form(&model).found.len(), 2);
}

#[test]
fn the_known_one_at_the_cursor_opens() {
    let mut model = pasted(&format!("{}\n0x{:064x}", row(98), 33));
    press(&mut model, &["Tab", "j", "Enter"], now());
    assert_eq!((model.list.selected, model.screen), (Some(RowId(33)), Screen::Detail));
}

#[test]
fn a_known_one_among_others_is_gone_to_before_it_opens_and_what_lacks_something_is_not_lost() {
    let mut model = pasted(&format!("stuck: 0x{:064x} and 0x{:064x}", 98, 33));
    assert!(form(&model).hints().contains(&("Enter", "to the known one")));
    assert_eq!(press(&mut model, &["Enter"], now()), []);
    assert_eq!((form(&model).focus, form(&model).place), (Focus::Results, 1));
    press(&mut model, &["Enter"], now());
    assert_eq!((model.list.selected, model.screen), (Some(RowId(33)), Screen::Detail));
    // Tab goes on to what the other lacks, wherever that stands.
    for (hashes, place) in [([33, 98], 1), ([98, 33], 0)] {
        let mut model = pasted(&format!("stuck: 0x{:064x} and 0x{:064x}", hashes[0], hashes[1]));
        press(&mut model, &["Enter", "Tab"], now());
        assert_eq!((form(&model).focus, form(&model).place), (Focus::Cell(0), place));
    }
}

#[test]
fn what_is_odd_about_a_row_is_said_and_it_can_be_tracked_all_the_same() {
    let doubt = |row: &str| form(&pasted(row)).found[0].doubt(false);
    assert_eq!(doubt(&row(98)), None);
    assert_eq!(doubt("0x12345678,42161,8453,q-1").unwrap(), "its hash has 8 digits, a whole one has 64");
    assert_eq!(doubt(&format!("0x{:064x},42161,845399,q-1", 7)).unwrap(), "is there a chain 845399?");
    assert_eq!(form(&pasted("0x12345678,42161,8453,q-1")).counts().ready, 1);
}

#[test]
fn what_was_typed_by_hand_is_not_lost_by_one_esc() {
    let mut model = dashboard("5");
    press(&mut model, &["n", "Esc"], now());
    assert!(matches!(model.overlay, Overlay::None), "nothing is asked if nothing was typed");
    press(&mut model, &["n"], now());
    type_in(&mut model, "0x", now());
    press(&mut model, &["Esc"], now());
    assert!(form(&model).is_leaving);
    type_in(&mut model, "1", now());
    press(&mut model, &["Esc", "Esc"], now());
    assert!(matches!(model.overlay, Overlay::None));
}

#[test]
fn an_integrator_id_is_hidden_as_it_is_pasted_even_in_parts() {
    let mut model = dashboard("5");
    for part in
        ["curl -H 'x-integrator", "-id: very-", "secret' 'https://api.example/v2/status?transactionId=0xabcdef'"]
    {
        model.take(Msg::Paste(part.into()), now());
    }
    let text = form(&model).text();
    assert!(text.contains("x-integrator-id: (hidden)'") && !text.contains("secret"), "{text}");
    assert_eq!(form(&model).found[0].missing(), ["fromChainId", "toChainId", "quoteId"]);
}

#[test]
fn tab_goes_round_and_back_through_everything() {
    let mut model = pasted(&format!("0x{:064x}", 99));
    let stops = 1 + 1 + 3 + 3;
    for keys in [["Tab"], ["Shift-Tab"]] {
        for _ in 0..stops {
            press(&mut model, &keys, now());
        }
        assert_eq!(form(&model).focus, Focus::Text, "{keys:?}");
    }
    press(&mut model, &["Down", "Down", "Up", "Up", "Up"], now());
    assert_eq!(form(&model).focus, Focus::Text);
}
