//! Adding and finding: parsed as typed; Enter tracks what is complete and opens what is known.

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::Effect;
use crate::{
    clock::Now,
    domain::ids::{RowId, TxHash},
    intake::Pasted,
    store::ImportReport,
    tui::model::{Model, Overlay, Screen, Tone, list::Tab},
};

/// More of a paste isn't taken: it is read anew on every key press, and what is longer is a file for `hoptop import`.
const PASTE_LIMIT: usize = 128 * 1024;

pub(super) fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    match key.code {
        KeyCode::Esc => model.overlay = Overlay::None,
        KeyCode::Enter => return submit(model, now),
        KeyCode::Backspace if form.input.value().is_empty() => {
            form.input = Input::new(form.lines.pop().unwrap_or_default());
            read(model);
        }
        _ => {
            if form.input.handle_event(&Event::Key(key)).is_some_and(|change| change.value) {
                read(model);
            }
        }
    }
    Vec::new()
}

pub(super) fn on_paste(model: &mut Model, text: &str) -> Vec<Effect> {
    let Overlay::Add(form) = &mut model.overlay else { return Vec::new() };
    let room = PASTE_LIMIT.saturating_sub(form.text().len());
    form.paste(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
    read(model);
    Vec::new()
}

fn read(model: &mut Model) {
    let known: std::collections::HashMap<String, RowId> =
        model.transactions.values().map(|tx| (tx.told.transaction_id.key(), tx.id)).collect();
    let find = |hash: &TxHash| {
        known.get(&hash.key()).copied().or_else(|| {
            // A part of a hash, as people copy it from a table.
            let part = hash.as_str().to_lowercase();
            let mut found = known.iter().filter(|(key, _)| part.len() >= 6 && key.to_lowercase().contains(&part));
            found.next().filter(|_| found.next().is_none()).map(|(_, row)| *row)
        })
    };
    if let Overlay::Add(form) = &mut model.overlay {
        form.read(model.setting.any_chain, find);
    }
}

fn submit(model: &mut Model, now: Now) -> Vec<Effect> {
    let Overlay::Add(form) = &model.overlay else { return Vec::new() };
    let complete = form.found.iter().filter_map(|found| match &found.pasted {
        Pasted::Complete(new) => Some(new.clone()),
        _ => None,
    });
    let complete: Vec<_> = complete.collect();
    if !complete.is_empty() {
        return vec![Effect::Import(complete)];
    }
    if let Some(row) = form.found.iter().find_map(|found| found.known) {
        model.overlay = Overlay::None;
        reveal(model, row, now);
        model.screen = Screen::Detail { scroll: 0 };
    }
    Vec::new()
}

/// Shows a transaction, whatever view and filter hide it; one that the store hasn't told us of yet as soon as it does.
fn reveal(model: &mut Model, row: RowId, now: Now) {
    if !model.list.rows.contains(&row) {
        model.list.tab = Tab::All;
        model.list.set_filter("", "");
    }
    model.list.wanted = Some(row);
    model.arrange(now.wall);
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
            if let (Overlay::Add(_), Some(row)) = (&model.overlay, report.first()) {
                model.overlay = Overlay::None;
                reveal(model, row, now);
            }
        }
        Err(error) => model.tell(Tone::Bad, format!("Nothing was tracked: {error}"), now.mono),
    }
    Vec::new()
}
