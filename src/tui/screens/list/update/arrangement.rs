//! The commands for the order and the columns of the list, which are chosen from a menu or typed.
//!
//! The order is stored as a term of the view's filter, the columns with the saved view.

use crate::{
    clock::{MonotonicTime, Now},
    domain::filter::{self, Filter, SortBy, SortKey},
    tui::{
        dialogs::{
            Dialog,
            filter::update as filter_line,
            menu::state::{Menu, MenuChoice},
        },
        model::{MessageTone, Model},
        screens::list::columns::{ListColumn, ListColumns},
        update::actions,
    },
};

/// Opens the menu of orders, with a mark at the current order.
pub(crate) fn open_orders(model: &mut Model) {
    let current = first_key(model);
    let entry = |by: &SortBy| {
        let mark = match current {
            SortKey { by: own, .. } if own != *by => ' ',
            SortKey { is_reversed: true, .. } => '-',
            SortKey { is_reversed: false, .. } => 'x',
        };
        (format!("[{mark}] {:<8} {}", by.name(), by.description()), MenuChoice::Order(*by))
    };
    let remark = "Choose the current order again to reverse it. To sort by several: :sort ticket,age";
    let cursor = SortBy::ALL.iter().position(|by| *by == current.by).unwrap_or_default();
    let menu = Menu { cursor, ..Menu::numbered("Order", remark, SortBy::ALL.iter().map(entry)) };
    model.dialog = Dialog::Menu(menu);
}

/// Sorts the list by this key; reverses the order if the list is sorted by this key already.
pub(crate) fn choose_order(model: &mut Model, by: SortBy, now: Now) {
    if first_key(model).by == by {
        return reverse_order(model, now);
    }
    // Equally severe transactions are sorted by deadline, as in the default order.
    let keys =
        if by == SortBy::Severity { SortKey::DEFAULT.to_vec() } else { vec![SortKey { by, is_reversed: false }] };
    set_order(model, &keys, now)
}

/// Sorts the list by the typed keys, which are separated by commas or blanks.
pub(crate) fn set_typed_order(model: &mut Model, keys: &str, now: Now) {
    let keys: Vec<_> = keys.split([',', ' ']).filter(|key| !key.is_empty()).collect();
    match Filter::parse(&format!("sort:{}", keys.join(","))) {
        Ok(order) => set_order(model, order.sort(), now),
        Err(error) => actions::refuse(model, error.message, now.mono),
    }
}

/// Reverses the order of the list.
pub(crate) fn reverse_order(model: &mut Model, now: Now) {
    let reversed: Vec<_> = model.list.combined_filter().sort().iter().map(|key| key.reversed()).collect();
    set_order(model, &reversed, now)
}

fn first_key(model: &Model) -> SortKey {
    model.list.combined_filter().sort().first().copied().unwrap_or(SortKey { by: SortBy::Severity, is_reversed: false })
}

fn set_order(model: &mut Model, keys: &[SortKey], now: Now) {
    let base = model.view_state.base_filter(model.list.tab);
    if let Some(error) = &model.list.filter_error {
        return actions::refuse(model, error.message.clone(), now.mono);
    }
    match filter::with_order(&model.list.filter_text, keys, base) {
        Ok(text) => {
            // A temporary view stays: it has the same transactions in another order. Its filter is nobody's own.
            if model.temporary_view.is_none() {
                model.view_state.record_filter(&text);
            }
            filter_line::set(model, &text)
        }
        Err(error) => actions::refuse(model, error.message, now.mono),
    }
}

/// Opens the menu that shows or hides columns.
pub(crate) fn open_columns(model: &mut Model, cursor: usize) {
    let columns = &model.list.columns;
    let entry = |column: &ListColumn| {
        let mark = if columns.contains(*column) { 'x' } else { ' ' };
        (format!("[{mark}] {}", column.spec().name), MenuChoice::Column(*column))
    };
    let title = format!("Columns of {}", model.view_state.titles(model.list.tab).0);
    let remark = "Each key shows or hides a column. A narrow screen hides the least important ones. To reorder: :columns tx,sev,age";
    let menu = Menu { cursor, ..Menu::numbered(title, remark, ListColumn::ALL.iter().map(entry)) };
    model.dialog = Dialog::Menu(menu);
}

/// Shows or hides a column, and leaves the menu open.
pub(crate) fn toggle_column(model: &mut Model, column: ListColumn) {
    model.list.columns.toggle(column);
    open_columns(model, column as usize);
}

/// Shows the typed columns in this order; `default` means the default columns.
pub(crate) fn set_columns(model: &mut Model, typed: &str, now: MonotonicTime) {
    let wanted = if typed == "default" { Ok(ListColumns::default()) } else { ListColumns::parse(typed) };
    match wanted {
        Ok(columns) => model.list.columns = columns,
        Err(error) => model.show_message(MessageTone::Bad, error, now),
    }
}
