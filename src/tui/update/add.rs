//! Adding and finding: parsed as typed; Enter tracks what is complete and opens what is known.

use std::collections::HashMap;

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::{Effect, quote};
use crate::{
    clock::Now,
    domain::ids::RowId,
    intake::Pasted,
    store::ImportReport,
    tui::model::{Model, Overlay, Tone, list::Tab},
};

/// More of a paste isn't taken: it is read anew on every key press, and what is longer is a file for `hoptop import`.
const PASTE_LIMIT: usize = 128 * 1024;

pub(super) fn on_key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    match key.code {
        KeyCode::Esc => model.overlay = Overlay::None,
        KeyCode::Enter => return submit(model),
        KeyCode::Backspace if form.input.value().is_empty() => {
            form.input = Input::new(form.lines.pop().unwrap_or_default());
            return read(model);
        }
        _ => {
            if form.input.handle_event(&Event::Key(key)).is_some_and(|change| change.value) {
                return read(model);
            }
        }
    }
    Vec::new()
}

pub(super) fn on_paste(model: &mut Model, text: &str) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    let room = PASTE_LIMIT.saturating_sub(form.text().len());
    form.overflows |= text.len() > room;
    if room == 0 {
        // Megabytes that come without brackets come in many parts.
        return Vec::new();
    }
    form.paste(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
    read(model)
}

/// Reads the text anew, and asks which of its hashes are tracked.
fn read(model: &mut Model) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    form.read(model.setting.any_chain);
    let unknown = form.ask();
    if unknown.is_empty() { Vec::new() } else { vec![Effect::FindKnown(unknown)] }
}

/// Takes in which hashes are tracked.
pub(super) fn on_known(model: &mut Model, known: &HashMap<String, RowId>) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    if form.take_in(known) { submit(model) } else { Vec::new() }
}

fn submit(model: &mut Model) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    let complete = form.found.iter().filter_map(|found| match &found.pasted {
        Pasted::Complete(new) => Some(new.clone()),
        _ => None,
    });
    let complete: Vec<_> = complete.collect();
    if !complete.is_empty() {
        return vec![Effect::Import(complete)];
    }
    if form.wait_for_known() {
        return Vec::new();
    }
    if let Some(row) = form.found.iter().find_map(|found| found.known) {
        model.overlay = Overlay::None;
        model.open_detail();
        return reveal(model, row);
    }
    Vec::new()
}

/// Shows a transaction, whatever view and filter hide it; one that the store hasn't told us of yet as soon as it does.
fn reveal(model: &mut Model, row: RowId) -> Vec<Effect> {
    let hidden = !model.list.part.rows.contains(&row);
    // From here Esc leads to the list.
    model.alert_list.is_behind = false;
    if hidden {
        model.show(Tab::All);
        model.list.set_filter("", "");
    }
    model.list.want(row);
    if hidden { vec![Effect::Count] } else { Vec::new() }
}

pub(super) fn on_imported(model: &mut Model, outcome: Result<ImportReport, String>, now: Now) -> Vec<Effect> {
    match outcome {
        Ok(report) => {
            let ImportReport { added, updated, unchanged, .. } = &report;
            let left_out = match &model.overlay {
                Overlay::Add(form) if form.left_out() > 0 => format!("; {} left out", form.left_out()),
                _ => String::new(),
            };
            let [new, changed, known] = [added.count, updated.count, unchanged.count];
            let text = format!("{new} tracked, {changed} updated, {known} known already{left_out}");
            let tone = if left_out.is_empty() { Tone::Good } else { Tone::Bad };
            model.tell(tone, text, now.mono);
            let is_done = quote::on_tracked(model) || matches!(model.overlay, Overlay::Add(_));
            if let (true, Some(row)) = (is_done, report.first()) {
                model.overlay = Overlay::None;
                return reveal(model, row);
            }
        }
        Err(error) if quote::on_not_tracked(model, &error) => {}
        Err(error) => model.tell(Tone::Bad, format!("Nothing was tracked: {error}"), now.mono),
    }
    Vec::new()
}
