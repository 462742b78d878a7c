//! A menu's keys: its entries' own come first, then those that move and choose.

use crossterm::event::{KeyCode, KeyEvent};

use super::{Effect, columns, dispatch, order, poll, theme};
use crate::{
    clock::Now,
    tui::{
        keymap,
        model::{Model, Overlay, menu::Choice},
    },
};

pub(super) fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    let Overlay::Menu(menu) = &mut model.overlay else { return Vec::new() };
    let by_key = keymap::name(key).and_then(|name| menu.with_key(&name).cloned());
    let choice = match (by_key, key.code) {
        (Some(choice), _) => Some(choice),
        (None, KeyCode::Enter | KeyCode::Char(' ')) => menu.chosen().cloned(),
        (None, KeyCode::Esc | KeyCode::Char('q')) => Some(Choice::Leave),
        (None, KeyCode::Down | KeyCode::Char('j')) => return moved(model, 1),
        (None, KeyCode::Up | KeyCode::Char('k')) => return moved(model, -1),
        (None, _) => None,
    };
    choice.map_or_else(Vec::new, |choice| choose(model, choice, now))
}

fn moved(model: &mut Model, entries: isize) -> Vec<Effect> {
    if let Overlay::Menu(menu) = &mut model.overlay {
        menu.move_by(entries);
    }
    Vec::new()
}

fn choose(model: &mut Model, choice: Choice, now: Now) -> Vec<Effect> {
    model.overlay = Overlay::None;
    match choice {
        Choice::Command(id) => dispatch(model, id, now),
        Choice::Work(work) => vec![Effect::Work(work)],
        Choice::PollNow(rows) => poll::ask(model, rows, now),
        Choice::Column(column) => {
            columns::turn(model, column);
            Vec::new()
        }
        Choice::Order(by) => order::choose(model, by, now),
        Choice::Theme(name) => theme::choose(model, name, now),
        Choice::Pause(minutes) => vec![Effect::Pause(Some(minutes))],
        Choice::Leave => Vec::new(),
    }
}
