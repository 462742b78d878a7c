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

pub(crate) fn on_key(model: &mut Model, key: KeyEvent, now: Now) {
    let Dialog::Menu(menu) = &mut model.dialog else { return };
    let by_key = key_text::name(key).and_then(|name| menu.with_key(&name).cloned());
    let choice = match (by_key, key.code) {
        (Some(choice), _) => Some(choice),
        (None, KeyCode::Enter | KeyCode::Char(' ')) => menu.chosen().cloned(),
        (None, KeyCode::Esc | KeyCode::Char('q')) => Some(MenuChoice::Close),
        (None, KeyCode::Down | KeyCode::Char('j')) => return menu.move_by(1),
        (None, KeyCode::Up | KeyCode::Char('k')) => return menu.move_by(-1),
        (None, _) => None,
    };
    choice.into_iter().for_each(|choice| choose(model, choice, now));
}

fn choose(model: &mut Model, choice: MenuChoice, now: Now) {
    model.dialog = Dialog::None;
    match choice {
        MenuChoice::Snooze(alerts, length) => {
            model.effects.push(Effect::Write(Write::Edit(Edit::Snooze { alerts, until: length.from(now.wall) })))
        }
        MenuChoice::ReplyFor(audience) => reply::update::open(model, audience, now),
        MenuChoice::PollNow(rows) => poll::request_polls(model, rows, now),
        MenuChoice::Column(column) => arrangement::toggle_column(model, column),
        MenuChoice::Order(by) => arrangement::choose_order(model, by, now),
        MenuChoice::Theme(name) => theme::choose(model, name, now),
        MenuChoice::GoTo(row) => model.go_to_row(row),
        MenuChoice::Do(effect) => model.effects.push(effect),
        MenuChoice::Close => {}
    }
}
