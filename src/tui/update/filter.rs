//! The filter's line: what is typed filters at once; Enter keeps it, Esc brings back what held before.

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::Effect;
use crate::{
    clock::Now,
    domain::text,
    tui::model::{Model, Overlay},
};

pub(super) fn open(model: &mut Model) {
    let before = model.list.filter_text.clone();
    model.overlay = Overlay::Filter { input: Input::new(before.clone()), before };
}

pub(super) fn set(model: &mut Model, text: &str, now: Now) {
    model.list.set_filter(text);
    model.arrange(now.wall);
}

pub(super) fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> Vec<Effect> {
    let Overlay::Filter { input, before } = &mut model.overlay else { return Vec::new() };
    match key.code {
        KeyCode::Esc => {
            let before = std::mem::take(before);
            model.overlay = Overlay::None;
            set(model, &before, now);
        }
        // A filter that can't be read stays open, with what is wrong beside it.
        KeyCode::Enter if model.list.filter_error.is_none() => model.overlay = Overlay::None,
        KeyCode::Enter => {}
        _ => {
            if input.handle_event(&Event::Key(key)).is_some_and(|change| change.value) {
                let text = input.value().to_owned();
                set(model, &text, now);
            }
        }
    }
    Vec::new()
}

pub(super) fn on_paste(model: &mut Model, pasted: &str, now: Now) -> Vec<Effect> {
    let Overlay::Filter { input, .. } = &mut model.overlay else { return Vec::new() };
    let text = format!("{}{}", input.value(), text::clean(pasted));
    *input = Input::new(text.clone());
    set(model, &text, now);
    Vec::new()
}
