//! Marks by keys: single transactions, ranges within and beyond the loaded rows, and all shown ones.

use super::*;
use crate::{
    domain::change::Change,
    store::Changes,
    tui::{message::StoreUpdate, screens::list::marks::Marks},
};

/// Returns a dashboard with this many ongoing transactions, sorted by number, the first one selected.
fn long(count: i64) -> TestDashboard {
    let mut model = blank((80, 24));
    let transactions = (1..=count).map(|number| in_status(number, RouterStatus::Ongoing)).collect();
    change_store(&mut model, everything(transactions, Vec::new()), Some(live_report(now().wall)), now());
    press(&mut model, &["/"], now());
    model.apply(Msg::Paste("sort:hash".into()), now());
    press(&mut model, &["Enter", "g"], now());
    model
}

#[test]
fn space_marks_and_unmarks_and_moves_down() {
    let mut model = dashboard("5");
    press(&mut model, &["Space", "j", "Space"], now());
    assert_eq!((model.marks.rows(), model.list.selected), (rows([21, 23]), Some(RowId(24))));
    press(&mut model, &["k", "Space"], now());
    assert_eq!(model.marks.rows(), rows([21]));
}

#[test]
fn range_is_marked_from_its_start_to_the_cursor() {
    let mut model = dashboard("5");
    press(&mut model, &["v", "k", "k"], now());
    assert_eq!((model.range(), model.marks.count()), (&rows(19..=21)[..], 0));
    press(&mut model, &["v"], now());
    assert_eq!((model.marks.rows(), model.marks.range), (rows(19..=21), None));
}

#[test]
fn range_beyond_the_loaded_rows_is_read_from_the_store() {
    let mut model = long(500);
    press(&mut model, &["v", "G"], now());
    assert_eq!(model.range(), []);
    press(&mut model, &["v"], now());
    assert_eq!((model.marks.rows(), model.marks.range), (rows(1..=500), None));
}

#[test]
fn more_than_ten_thousand_marks_are_refused() {
    let mut model = dashboard("5");
    model.apply(Msg::FoundMarks(None), now());
    assert_eq!(
        model.status_message.as_ref().unwrap().text,
        "Nothing was marked: at most 10000 can be marked at once. Press / to filter the list."
    );
    model.apply(Msg::FoundMarks(Some(rows(1..=9_999))), now());
    model.apply(Msg::FoundMarks(Some(rows(20_001..=20_002))), now());
    assert_eq!((model.marks.count(), model.status_message.as_ref().unwrap().tone), (9_999, MessageTone::Bad));
    assert_eq!(Marks::MAX_MARKS, 10_000);
}

#[test]
fn marks_stay_through_filters_views_and_new_orders() {
    let mut model = dashboard("5");
    press(&mut model, &["Space", "3", "g", "Space", "/"], now());
    type_in(&mut model, "chain:nowhere", now());
    press(&mut model, &["Enter", "5"], now());
    change_store(&mut model, changed(vec![in_status(21, RouterStatus::Success)]), None, now());
    assert_eq!(model.marks.rows(), rows([15, 21]));
}

#[test]
fn esc_clears_the_marks_before_the_filter() {
    let mut model = dashboard("5");
    press(&mut model, &["v", "Esc"], now());
    assert!(model.marks.is_empty());
    press(&mut model, &["Space", "Esc"], now());
    assert_eq!((model.marks.count(), model.list.filter_text.as_str()), (0, "sort:hash"));
    press(&mut model, &["Esc"], now());
    assert_eq!(model.list.filter_text, "");
}

#[test]
fn deleted_transactions_lose_their_marks() {
    let mut model = dashboard("5");
    press(&mut model, &["Space", "Space"], now());
    let kind = ChangeKind::Deleted { row: 21 };
    let change = Change {
        seq: 99,
        at: now().wall,
        profile: "default".into(),
        transaction: None,
        kind,
        observation: None,
        author: None,
    };
    let feed = Changes { changes: vec![change], ..Changes::default() };
    model.apply(Msg::StoreChanged(Box::new(StoreUpdate { feed, ..StoreUpdate::default() })), now());
    assert_eq!(model.marks.rows(), rows([22]));
}

#[test]
fn message_about_marks_ends_with_the_marks() {
    let mut model = dashboard("5");
    press(&mut model, &["*"], now());
    assert!(model.status_message.as_ref().is_some_and(|message| message.text.starts_with("40 marked")));
    press(&mut model, &["Esc"], now());
    assert_eq!((model.marks.count(), model.status_message.as_ref()), (0, None));
    press(&mut model, &["*", "Space"], now());
    assert_eq!((model.marks.count(), model.status_message.as_ref()), (39, None));
}
