//! The keys of the filter line. Typed text filters at once; Enter keeps the filter, Esc restores the previous one.

use crossterm::event::KeyCode;

use super::state::FilterLine;
use crate::{
    clock::Now,
    domain::filter::Filter,
    presentation::filter_completion::NameMatches,
    tui::{
        dialogs::Dialog,
        effect::Effect,
        model::{MessageTone, Model},
        text_input::Typed,
        update::actions,
    },
};

pub(crate) fn open(model: &mut Model) {
    let line = FilterLine::new(model.list.filter_text.clone(), model.list.selected, &model.view_state.used);
    let is_filtered = !line.before.is_empty();
    model.dialog = Dialog::Filter(Box::new(line));
    if is_filtered {
        apply_change(model);
    }
}

/// Filters the list by a text. While the filter line is open, the transaction that was selected before stays wanted.
pub(crate) fn set(model: &mut Model, text: &str) {
    match &model.dialog {
        Dialog::Filter(line) => {
            model.list.set_filter(text, &line.before);
            model.list.pending_selection = line.selected;
        }
        _ => model.list.set_filter(text, ""),
    }
    model.effects.push(Effect::Count)
}

/// Sets the filter of the command palette, if it is valid.
pub(crate) fn set_typed(model: &mut Model, text: &str, now: Now) {
    match Filter::parse_for_person(text, model.setting.author.as_deref()) {
        Ok(_) => {
            model.temporary_view = None;
            model.view_state.record_filter(text);
            set(model, text);
            warn_of_unknown_chain(model, now);
        }
        Err(error) => actions::refuse(model, error.message, now.mono),
    }
}

/// Shows a message if the filter names an unknown chain: the empty list alone would not say why.
fn warn_of_unknown_chain(model: &mut Model, now: Now) {
    if let Some(complaint) = model.unknown_chain() {
        model.show_message(MessageTone::Bad, complaint, now.mono);
    }
}

pub(crate) fn on_input(model: &mut Model, typed: Typed<'_>, now: Now) {
    let Dialog::Filter(line) = &mut model.dialog else { return };
    match typed.code() {
        KeyCode::Esc => {
            let before = std::mem::take(&mut line.before);
            // The previous selection is wanted until the list shows it again.
            set(model, &before);
            model.dialog = Dialog::None;
        }
        // An invalid filter stays open, with the error beside it.
        KeyCode::Enter if model.list.filter_error.is_none() => {
            // A new filter ends the temporary view, which showed something else.
            (model.dialog, model.temporary_view) = (Dialog::None, None);
            if !model.list.part.rows.is_empty() {
                model.list.pending_selection = None;
            }
            model.list.filter_text.truncate(model.list.filter_text.trim_end().len());
            model.view_state.record_filter(&model.list.filter_text);
            warn_of_unknown_chain(model, now);
        }
        KeyCode::Enter => {}
        KeyCode::Tab => {
            if let Some(text) = line.completed() {
                line.set_text(text);
                apply_change(model);
            }
        }
        KeyCode::Up if line.recall(1) => apply_change(model),
        KeyCode::Down if line.recall(-1) => apply_change(model),
        KeyCode::Up | KeyCode::Down => {}
        _ if line.edit(typed) => apply_change(model),
        _ => {}
    }
}

/// Filters by the changed text, and reads names from the store if the completion needs them.
fn apply_change(model: &mut Model) {
    let Dialog::Filter(line) = &mut model.dialog else { return };
    let names_to_read = line.names_to_read().map(|(of, beginning)| Effect::FindNames(of, beginning));
    let text = line.filter_text();
    set(model, &text);
    model.effects.extend(names_to_read);
}

/// Applies names from the store.
pub(crate) fn on_names(model: &mut Model, names: NameMatches) {
    if let Dialog::Filter(line) = &mut model.dialog {
        line.apply_names(names);
    }
}
