//! The commands that mark transactions: one, a range, all shown ones.
//!
//! Rows beyond the loaded part of the list are looked up in the store.

use crate::{
    clock::MonotonicTime,
    domain::ids::RowId,
    tui::{
        command::CommandId,
        effect::{Effect, MarkRequest},
        model::{MessageTone, Model},
        screens::list::marks::Marks,
    },
};

/// Marks the selected transaction or removes its mark, and selects the next one.
pub(crate) fn toggle(model: &mut Model) {
    if let Some(row) = model.list.selected {
        model.marks.toggle(row);
        model.list.move_by(1);
    }
}

/// Opens a range at the selected transaction, or marks the open range up to the selected transaction.
pub(crate) fn range(model: &mut Model, now: MonotonicTime) {
    let Some(here) = model.list.selected else { return };
    if model.marks.range.is_none() {
        model.marks.range = Some(here);
        return;
    }
    let rows = model.range().to_vec();
    let begin = model.marks.range.take();
    if rows.is_empty() {
        model.effects.extend(begin.map(|begin| Effect::FindMarks(MarkRequest::Between(begin, here))));
    } else {
        add(model, &rows, now);
    }
}

/// Marks the open range up to the selected transaction. Returns `false`, with a message, if an action must not use the
/// marks: the range reaches beyond the loaded part and stays open, or has too many transactions.
pub(crate) fn end_range(model: &mut Model, now: MonotonicTime) -> bool {
    if model.marks.range.is_none() {
        return true;
    }
    let rows = model.range().to_vec();
    if rows.is_empty() {
        let [mark, leave] = [CommandId::MarkRange, CommandId::Clear].map(|id| model.setting.keys.shown(id));
        let text = format!("The range is long: press {mark} to mark it, or {leave} to cancel it, then try again.");
        model.show_message(MessageTone::Bad, text, now);
        return false;
    }
    model.marks.range = None;
    add(model, &rows, now)
}

/// Marks the transactions that the store found; `None` if there were too many.
pub(crate) fn on_found(model: &mut Model, found: Option<Vec<RowId>>, now: MonotonicTime) {
    match found {
        Some(rows) => {
            add(model, &rows, now);
        }
        None => refuse_too_many(model, now),
    }
}

/// Marks these transactions, and shows how many are marked. Returns `false` if that would be too many.
fn add(model: &mut Model, rows: &[RowId], now: MonotonicTime) -> bool {
    let has_room = model.marks.add(rows);
    match has_room {
        true if model.marks.is_empty() => model.show_message(MessageTone::Bad, "No transaction to mark.", now),
        true => {
            let clear = model.setting.keys.shown(CommandId::Clear);
            let text = format!("{} marked (*): actions work on these ({clear} to clear).", model.marks.count());
            model.show_marks_message(MessageTone::Good, text, now);
        }
        false => refuse_too_many(model, now),
    }
    has_room
}

fn refuse_too_many(model: &mut Model, now: MonotonicTime) {
    let filter = model.setting.keys.shown(CommandId::Filter);
    let text = format!(
        "Nothing was marked: at most {} can be marked at once. Press {filter} to filter the list.",
        Marks::MAX_MARKS
    );
    model.show_message(MessageTone::Bad, text, now);
}
