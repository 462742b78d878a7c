//! Marking: one by one, from here to there, all that are shown.
//!
//! What lies beyond the part of the list that was read is the store's to say.

use super::Effect;
use crate::{
    clock::Mono,
    domain::ids::RowId,
    tui::{
        command::Id,
        effect::Markable,
        model::{Model, Tone, marks::Marks},
    },
};

/// Marks the selected one, or takes its mark away, and goes on to the next.
pub(super) fn toggle(model: &mut Model) {
    if let Some(row) = model.list.selected {
        model.marks.toggle(row);
        model.list.chosen = true;
        model.list.move_by(1);
    }
}

/// Begins a range at the selected one, or marks from where it began to here.
pub(super) fn range(model: &mut Model, now: Mono) -> Vec<Effect> {
    let Some(here) = model.list.selected else { return Vec::new() };
    model.list.chosen = true;
    if model.marks.range.is_none() {
        model.marks.range = Some(here);
        return Vec::new();
    }
    let rows = model.range().to_vec();
    let begin = model.marks.range.take();
    if !rows.is_empty() {
        add(model, &rows, now);
        return Vec::new();
    }
    begin.map(|begin| Effect::FindMarks(Markable::Between(begin, here))).into_iter().collect()
}

/// Marks a range that was begun, as far as what is selected; whether none is left open. One that reaches beyond what was read
/// is, which is said.
pub(super) fn end_range(model: &mut Model, now: Mono) -> bool {
    if model.marks.range.is_none() {
        return true;
    }
    let rows = model.range().to_vec();
    if !rows.is_empty() {
        model.marks.range = None;
        add(model, &rows, now);
    }
    let is_open = model.marks.range.is_some();
    if is_open {
        let [mark, leave] = [Id::MarkRange, Id::Clear].map(|id| model.setting.keys.shown(id));
        let text = format!("The range is long: press {mark} to mark it, or {leave} and then the key again.");
        model.notify(Tone::Bad, text, now);
    }
    !is_open
}

/// Marks what the store found; nothing if that was too much.
pub(super) fn on_found(model: &mut Model, found: Option<Vec<RowId>>, now: Mono) {
    match found {
        Some(rows) => add(model, &rows, now),
        None => too_many(model, now),
    }
}

fn add(model: &mut Model, rows: &[RowId], now: Mono) {
    match model.marks.add(rows) {
        true if model.marks.is_empty() => model.notify(Tone::Bad, "No transaction to mark.", now),
        true => {
            let clear = model.setting.keys.shown(Id::Clear);
            let text = format!("{} marked (x): actions work on these; {clear} unmarks.", model.marks.count());
            model.notify(Tone::Good, text, now);
        }
        false => too_many(model, now),
    }
}

fn too_many(model: &mut Model, now: Mono) {
    let filter = model.setting.keys.shown(Id::Filter);
    let text = format!("Nothing was marked: at most {} can be marked at once. {filter} shows fewer.", Marks::MOST);
    model.notify(Tone::Bad, text, now);
}
