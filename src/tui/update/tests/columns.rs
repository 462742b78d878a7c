//! Columns and the placement of the detail by keys, and their restoration at the next start.

use super::*;
use crate::tui::{
    dialogs::Dialog,
    model::view_state::{Pane, ViewState},
    screens::list::columns::ListColumns,
};

fn columns(model: &TestDashboard) -> String {
    model.list.columns.written()
}

#[test]
fn column_is_hidden_and_shown_in_this_view_only() {
    let mut model = dashboard("5");
    press(&mut model, &["H", "5"], now());
    assert_eq!(columns(&model), "sev,status,tx,route,age,due,profile,ticket,checked,labels,notes,changed");
    assert!(
        matches!(&model.dialog, Dialog::Menu(menu) if menu.cursor == 4),
        "the menu stays open, with the cursor in place"
    );
    press(&mut model, &["j", "Enter", "Esc"], now());
    assert_eq!(columns(&model), "sev,status,tx,route,due,profile,ticket,checked,labels,notes,changed");
    press(&mut model, &["2"], now());
    assert_eq!(columns(&model), ListColumns::default().written());
    press(&mut model, &["5", "H", "5"], now());
    assert_eq!(columns(&model), "sev,status,tx,route,progress,due,profile,ticket,checked,labels,notes,changed");
}

#[test]
fn columns_are_typed_in_any_order_and_an_unknown_column_is_named() {
    let mut model = dashboard("5");
    for (typed, expected) in [("tx,sev,age", "tx,sev,age"), ("tx,wat", "tx,sev,age")] {
        press(&mut model, &[":"], now());
        type_in(&mut model, &format!("columns {typed}"), now());
        press(&mut model, &["Enter"], now());
        assert_eq!(columns(&model), expected);
    }
    assert!(model.status_message.as_ref().unwrap().text.starts_with("No column `wat`"));
    let kept = ViewState::parse(&serde_json::to_string(&model.view_state_to_save()).unwrap());
    let mut again = blank((80, 24));
    again.restore_view_state(kept);
    assert_eq!(columns(&again), "tx,sev,age");
    press(&mut model, &[":"], now());
    type_in(&mut model, "columns default", now());
    press(&mut model, &["Enter"], now());
    assert_eq!(
        (columns(&model), model.view_state_to_save().columns),
        (ListColumns::default().written(), Default::default())
    );
}

#[test]
fn detail_placement_cycles_and_is_remembered() {
    let mut model = dashboard("5");
    press(&mut model, &["P"], now());
    let kept = ViewState::parse(&serde_json::to_string(&model.view_state_to_save()).unwrap());
    assert_eq!(kept.pane, Pane::Below);
    press(&mut model, &["P", "P"], now());
    assert_eq!(model.view_state.pane, Pane::Side);
}

#[test]
fn full_screen_keeps_the_open_tab() {
    let mut model = dashboard("5");
    press(&mut model, &["f", "]", "f"], now());
    assert_eq!((model.screen, model.list.selected), (Screen::List, Some(RowId(21))));
    press(&mut model, &["f"], now());
    assert_eq!((model.screen, model.detail.tab), (Screen::Detail, DetailTab::Steps));
}
