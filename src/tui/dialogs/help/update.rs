//! The keys of the help: letters search, other keys scroll. Esc clears the search, a second Esc closes the help, and so
//! does `?` without a search.

use crossterm::event::{KeyCode, KeyEvent};

use super::state::HelpPage;
use crate::{
    clock::Now,
    tui::{
        command::{CommandId, KeyContext},
        dialogs::Dialog,
        effect::Effect,
        key_text,
        keys::Keys,
        model::Model,
        text_input,
        update::dispatch,
    },
};

pub(crate) fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    if let Some(id) = scroll_command(model, key) {
        return dispatch(model, id, now);
    }
    let Dialog::Help(page) = &mut model.dialog else { return Vec::new() };
    let is_end = matches!(key.code, KeyCode::Backspace | KeyCode::Char('?')) && page.input.value().is_empty();
    if key.code == KeyCode::Esc && !page.clear() || is_end {
        model.dialog = Dialog::None;
    } else if text_input::edit(&mut page.input, key) {
        page.search(&model.setting.keys);
    }
    Vec::new()
}

/// Whether a paste belongs to the search. A short line does, since fast typing also arrives as a paste; other pastes
/// open the add dialog.
pub(crate) fn is_search_text(pasted: &str) -> bool {
    const MAX_LENGTH: usize = 24;
    pasted.chars().count() <= MAX_LENGTH && !pasted.contains(char::is_control)
}

pub(crate) fn on_paste(page: &mut HelpPage, pasted: &str, keys: &Keys) {
    text_input::insert(&mut page.input, pasted);
    page.search(keys);
}

/// Returns the scroll command of a key that types no letter. Arrow and page keys always scroll, also if the settings
/// bind them to.
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
