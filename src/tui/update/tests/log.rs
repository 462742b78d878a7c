//! The log's cursor: it moves over the lines and goes to the transaction of a line.

use std::collections::HashMap;

use super::*;
use crate::tui::dialogs::add::state::KnownTransactions;
use crate::tui::screens::log::state::LogTail;

fn log(text: &str) -> TestDashboard {
    let mut model = dashboard("5");
    press(&mut model, &["@"], now());
    let tail = LogTail { lines: LogTail::parse(text, ""), length: 1, is_cut: false };
    model.apply(Msg::Log(Ok(Some(tail))), now());
    model
}

const LOG: &str = "2026-11-20T14:03:09Z  WARN throttled\n2026-11-20T14:03:10Z  WARN refused about=\"0x0b\"\n";

#[test]
fn enter_goes_to_the_transaction_of_the_line_at_the_cursor() {
    let hash = in_status(11, RouterStatus::Refund).params.transaction_id;
    let mut model = log(&LOG.replace("0x0b", hash.as_str()));
    press(&mut model, &["Enter"], now());
    assert_eq!((model.screen, model.list.selected), (Screen::List, Some(RowId(11))));
}

#[test]
fn log_that_was_left_is_not_left_again_by_its_late_transaction() {
    let hash = in_status(11, RouterStatus::Refund).params.transaction_id;
    let mut model = log(&LOG.replace("0x0b", hash.as_str()));
    press(&mut model, &["Esc"], now());
    let before = (model.screen, model.list.selected);
    model.apply(Msg::FoundLogged(Some(RowId(11))), now());
    assert_eq!((model.screen, model.list.selected), before);
    // And a late answer to the dialog that adds transactions doesn't leave the log.
    press(&mut model, &["@"], now());
    model.apply(
        Msg::Known(KnownTransactions {
            rows: HashMap::from([(hash.as_str().to_owned(), Some(RowId(11)))]),
            ..KnownTransactions::default()
        }),
        now(),
    );
    assert_eq!(model.screen, Screen::Log);
}

#[test]
fn line_without_a_transaction_and_a_deleted_transaction_are_reported() {
    let mut model = log(LOG);
    press(&mut model, &["Enter"], now());
    let message_text = |model: &TestDashboard| model.status_message.as_ref().unwrap().text.clone();
    assert_eq!(
        (model.screen, message_text(&model).as_str()),
        (Screen::Log, "The transaction of this line is no longer tracked.")
    );
    assert_eq!(press(&mut model, &["j", "Enter"], now()), []);
    assert_eq!(message_text(&model), "This line is about no single transaction.");
    let mut empty = log("");
    assert_eq!(press(&mut empty, &["j", "Enter"], now()), []);
}
