//! The columns of the saved view that is shown: switched on and off in place, or typed in an order of one's own.

use crate::{
    clock::Mono,
    tui::model::{
        Model, Overlay, Tone,
        columns::{Column, Columns},
        menu::{Choice, Menu},
    },
};

/// Offers each column to be switched on or off.
pub(super) fn open(model: &mut Model, cursor: usize) {
    let columns = &model.list.columns;
    let entry = |column: &Column| {
        let mark = if columns.contains(*column) { 'x' } else { ' ' };
        (format!("[{mark}] {}", column.name()), Choice::Column(*column))
    };
    let title = format!("Columns of {}", model.list.tab.titles().0);
    let remark = "Each key shows or hides a column; on a narrow screen the last ones are hidden. To order them: :columns tx,sev,age";
    let mut menu = Menu::numbered(title, remark, Column::ALL.iter().map(entry));
    menu.cursor = cursor;
    model.overlay = Overlay::Menu(menu);
}

/// Shows a column, or hides it, and goes on offering.
pub(super) fn turn(model: &mut Model, column: Column) {
    model.list.columns.toggle(column);
    open(model, Column::ALL.iter().position(|own| *own == column).unwrap_or(0));
}

/// Shows these columns in this order; `default` brings back what was there at first.
pub(super) fn set(model: &mut Model, typed: &str, now: Mono) {
    let wanted = if typed == "default" { Ok(Columns::default()) } else { Columns::parse(typed) };
    match wanted {
        Ok(columns) => model.list.columns = columns,
        Err(wrong) => model.notify(Tone::Bad, wrong, now),
    }
}
