//! The help's keys: letters look for something, the others scroll. Esc takes back what was typed, and then leaves.

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::{Effect, dispatch};
use crate::{
    clock::Now,
    domain::text,
    tui::{
        command::{Context, Id},
        keymap,
        keys::Keys,
        model::{Model, Overlay, help::HelpPage},
    },
};

pub(super) fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    if let Some(id) = scrolls(model, key) {
        return dispatch(model, id, now);
    }
    let Overlay::Help(page) = &mut model.overlay else { return Vec::new() };
    let is_erasing = key.code == KeyCode::Backspace && page.input.value().is_empty();
    if key.code == KeyCode::Esc && !page.clear() || is_erasing {
        model.overlay = Overlay::None;
    } else if page.input.handle_event(&Event::Key(key)).is_some_and(|change| change.value) {
        page.search(&model.setting.keys);
    }
    Vec::new()
}

/// Whether a paste is meant for the search: a word or two, as fast fingers bring them too. What is longer is to be added.
pub(super) fn is_sought(pasted: &str) -> bool {
    const LONGEST: usize = 24;
    pasted.chars().count() <= LONGEST && !pasted.contains(char::is_control)
}

pub(super) fn on_paste(page: &mut HelpPage, pasted: &str, keys: &Keys) {
    page.input = Input::new(format!("{}{}", page.input.value(), text::clean(pasted)));
    page.search(keys);
}

/// What a key that types nothing does on every page of text; the arrows scroll whatever they were given to.
fn scrolls(model: &Model, key: KeyEvent) -> Option<Id> {
    match key.code {
        KeyCode::Down => return Some(Id::Down),
        KeyCode::Up => return Some(Id::Up),
        KeyCode::PageDown => return Some(Id::HalfDown),
        KeyCode::PageUp => return Some(Id::HalfUp),
        _ => {}
    }
    let name = keymap::name(key).filter(|name| name.chars().count() > 1 && name != "Space")?;
    let id = model.setting.keys.lookup(&[Context::Page], &name)?;
    let is_fine = matches!(id, Id::Down | Id::Up | Id::HalfDown | Id::HalfUp | Id::Top | Id::Bottom | Id::Redraw);
    is_fine.then_some(id)
}
