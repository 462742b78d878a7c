//! The command line: typing looks for commands, Enter runs the chosen one with what stands behind it.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::{Effect, act, columns, dispatch, filter, order, theme};
use crate::{
    clock::Now,
    domain::{filter::Filter, text},
    tui::{
        command::Id,
        model::{
            Model, Overlay, Tone,
            palette::{Offer, Palette},
        },
    },
};

/// Opens it where the person is, with this typed already.
pub(super) fn open(model: &mut Model, text: &str) {
    model.overlay = Overlay::Palette(Palette::new(model.contexts(), text));
}

pub(super) fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    let Overlay::Palette(palette) = &mut model.overlay else { return Vec::new() };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => model.overlay = Overlay::None,
        KeyCode::Enter => return run(model, now),
        KeyCode::Tab => palette.complete(),
        KeyCode::Down => palette.move_by(1),
        KeyCode::Up => palette.move_by(-1),
        KeyCode::Char('n') if control => palette.move_by(1),
        KeyCode::Char('p') if control => palette.move_by(-1),
        // As in every shell: what is gone leaves.
        KeyCode::Backspace if palette.input.value().is_empty() => model.overlay = Overlay::None,
        _ => {
            if palette.input.handle_event(&Event::Key(key)).is_some_and(|change| change.value) {
                palette.update_matches();
            }
        }
    }
    Vec::new()
}

pub(super) fn on_paste(model: &mut Model, pasted: &str) -> Vec<Effect> {
    if let Overlay::Palette(palette) = &mut model.overlay {
        palette.input = Input::new(format!("{}{}", palette.input.value(), text::clean(pasted)));
        palette.update_matches();
    }
    Vec::new()
}

fn run(model: &mut Model, now: Now) -> Vec<Effect> {
    let Overlay::Palette(palette) = &mut model.overlay else { return Vec::new() };
    if palette.is_daring() {
        // Written out first: the next Enter runs what was meant, or what wasn't is seen.
        palette.complete();
        return Vec::new();
    }
    let Some(Offer { command, argument }) = palette.offers.get(palette.chosen).cloned() else {
        let typed = text::clean(palette.input.value());
        model.notify(Tone::Bad, format!("No command `{typed}` here; Esc closes."), now.mono);
        return Vec::new();
    };
    model.overlay = Overlay::None;
    match command.id {
        Id::Filter if !argument.is_empty() => set_filter(model, &argument, now),
        Id::Sort if !argument.is_empty() => order::typed(model, &argument, now),
        Id::Columns if !argument.is_empty() => {
            columns::set(model, &argument, now.mono);
            Vec::new()
        }
        Id::Delete => delete(model, &argument, now),
        Id::Theme if !argument.is_empty() => theme::choose(model, &argument, now),
        id => dispatch(model, id, now),
    }
}

/// Filters by this, if it can be understood.
pub(super) fn set_filter(model: &mut Model, text: &str, now: Now) -> Vec<Effect> {
    match Filter::parse(text) {
        Ok(_) => {
            model.temporary_view = None;
            model.memory.use_filter(text);
            filter::set(model, text)
        }
        Err(error) => {
            model.notify(Tone::Bad, error.message, now.mono);
            Vec::new()
        }
    }
}

/// Removes for good, if that was said.
fn delete(model: &mut Model, said: &str, now: Now) -> Vec<Effect> {
    let rows = act::targets(model, now.mono);
    let what = match rows.as_slice() {
        [] => return Vec::new(),
        [row] => model.transactions.get(row).map(|tx| tx.params.transaction_id.short("…")),
        rows => Some(format!("the {} marked ones", rows.len())),
    };
    let what = what.unwrap_or_else(|| "the marked one".into());
    if said == "yes" {
        return vec![Effect::Delete(rows)];
    }
    let [colon, untrack] = [Id::CommandLine, Id::Untrack].map(|id| model.setting.keys.shown(id));
    let ask = format!(
        "This deletes {what} permanently, with all history: type {colon}delete yes to confirm. {untrack} only stops polling."
    );
    model.notify(Tone::Bad, ask, now.mono);
    Vec::new()
}
