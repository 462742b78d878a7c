//! The keys of the help: letters search, other keys scroll. Esc clears the search, a second Esc closes the help, and so
//! does `?` without a search.

use crossterm::event::{KeyCode, KeyEvent};

use crate::{
    clock::Now,
    tui::{
        command::{CommandId, KeyContext},
        dialogs::Dialog,
        key_text,
        model::Model,
        text_input::{self, Typed},
        update::dispatch,
    },
};

pub(crate) fn on_input(model: &mut Model, typed: Typed<'_>, now: Now) {
    if let Typed::Key(key) = typed
        && let Some(id) = scroll_command(model, key)
    {
        return dispatch(model, id, now);
    }
    let Dialog::Help(page) = &mut model.dialog else { return };
    let is_end = matches!(typed.code(), KeyCode::Backspace | KeyCode::Char('?')) && page.input.value().is_empty();
    if typed.code() == KeyCode::Esc && !page.clear() || is_end {
        model.dialog = Dialog::None;
    } else if text_input::edit(&mut page.input, typed) {
        page.search(&model.setting.keys);
    }
}

/// Whether a paste belongs to the search. A short line does, since fast typing also arrives as a paste; other pastes
/// open the add dialog.
pub(crate) fn is_search_text(pasted: &str) -> bool {
    const MAX_LENGTH: usize = 24;
    pasted.chars().count() <= MAX_LENGTH && !pasted.contains(char::is_control)
}

/// Returns the scroll command of a key that types no letter. Arrow and page keys always scroll, whatever the
/// settings bind them to.
fn scroll_command(model: &Model, key: KeyEvent) -> Option<CommandId> {
    match key.code {
        KeyCode::Down => return Some(CommandId::Down),
        KeyCode::Up => return Some(CommandId::Up),
        KeyCode::PageDown => return Some(CommandId::HalfDown),
        KeyCode::PageUp => return Some(CommandId::HalfUp),
        _ => {}
    }
    let name = key_text::name(key).filter(|name| name.chars().count() > 1 && name != "Space")?;
    let id = model.setting.keys.lookup(&[KeyContext::Page], &name)?;
    let is_allowed = matches!(
        id,
        CommandId::Down
            | CommandId::Up
            | CommandId::HalfDown
            | CommandId::HalfUp
            | CommandId::Top
            | CommandId::Bottom
            | CommandId::Redraw
    );
    is_allowed.then_some(id)
}
