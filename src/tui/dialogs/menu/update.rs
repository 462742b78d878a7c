//! The keys of a menu. The keys of the entries take precedence over the keys that move the cursor and choose.

use crossterm::event::{KeyCode, KeyEvent};

use super::state::MenuChoice;
use crate::{
    clock::Now,
    domain::operation::Edit,
    tui::{
        dialogs::{Dialog, reply},
        effect::{Effect, Write},
        key_text,
        model::Model,
        screens::list::update::arrangement,
        update::{poll, theme},
    },
};

pub(crate) fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    let Dialog::Menu(menu) = &mut model.dialog else { return Vec::new() };
    let by_key = key_text::name(key).and_then(|name| menu.with_key(&name).cloned());
    let choice = match (by_key, key.code) {
        (Some(choice), _) => Some(choice),
        (None, KeyCode::Enter | KeyCode::Char(' ')) => menu.chosen().cloned(),
        (None, KeyCode::Esc | KeyCode::Char('q')) => Some(MenuChoice::Close),
        (None, KeyCode::Down | KeyCode::Char('j')) => return move_cursor(model, 1),
        (None, KeyCode::Up | KeyCode::Char('k')) => return move_cursor(model, -1),
        (None, _) => None,
    };
    choice.map_or_else(Vec::new, |choice| choose(model, choice, now))
}

fn move_cursor(model: &mut Model, entries: isize) -> Vec<Effect> {
    if let Dialog::Menu(menu) = &mut model.dialog {
        menu.move_by(entries);
    }
    Vec::new()
}

fn choose(model: &mut Model, choice: MenuChoice, now: Now) -> Vec<Effect> {
    model.dialog = Dialog::None;
    match choice {
        MenuChoice::Snooze(alerts, length) => {
            vec![Effect::Write(Write::Edit(Edit::Snooze { alerts, until: length.from(now.wall) }))]
        }
        MenuChoice::ReplyFor(audience) => reply::update::open(model, audience, now),
        MenuChoice::PollNow(rows) => poll::request_polls(model, rows, now),
        MenuChoice::Column(column) => {
            arrangement::toggle_column(model, column);
            Vec::new()
        }
        MenuChoice::Order(by) => arrangement::choose_order(model, by, now),
        MenuChoice::Theme(name) => theme::choose(model, name, now),
        MenuChoice::GoTo(row) => {
            model.go_to_row(row);
            Vec::new()
        }
        MenuChoice::Do(effect) => vec![effect],
        MenuChoice::Close => Vec::new(),
    }
}
