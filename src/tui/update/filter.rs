//! The filter's line: what is typed filters at once; Enter keeps it, Esc brings back what held before.

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::Effect;
use crate::{
    domain::text,
    tui::model::{Model, Overlay},
};

pub(super) fn open(model: &mut Model) {
    let before = model.list.filter_text.clone();
    model.overlay = Overlay::Filter { input: Input::new(before.clone()), before, selected: model.list.selected };
}

pub(super) fn set(model: &mut Model, text: &str) -> Vec<Effect> {
    match &model.overlay {
        Overlay::Filter { selected, before, .. } => {
            model.list.set_filter(text, before);
            model.list.wanted = *selected;
        }
        _ => model.list.set_filter(text, ""),
    }
    vec![Effect::Count]
}

pub(super) fn on_key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let Overlay::Filter { input, before, .. } = &mut model.overlay else { return Vec::new() };
    match key.code {
        KeyCode::Esc => {
            let before = std::mem::take(before);
            // What was selected is wanted until it is shown again.
            let effects = set(model, &before);
            model.overlay = Overlay::None;
            return effects;
        }
        // A filter that can't be read stays open, with what is wrong beside it.
        KeyCode::Enter if model.list.filter_error.is_none() => {
            (model.overlay, model.list.wanted) = (Overlay::None, None);
        }
        KeyCode::Enter => {}
        _ => {
            if input.handle_event(&Event::Key(key)).is_some_and(|change| change.value) {
                let text = input.value().to_owned();
                return set(model, &text);
            }
        }
    }
    Vec::new()
}

pub(super) fn on_paste(model: &mut Model, pasted: &str) -> Vec<Effect> {
    let Overlay::Filter { input, .. } = &mut model.overlay else { return Vec::new() };
    // The blank that sets it apart from what stands there already would be trimmed.
    let gap = if pasted.starts_with(char::is_whitespace) && !input.value().is_empty() { " " } else { "" };
    let text = format!("{}{gap}{}", input.value(), text::clean(pasted));
    *input = Input::new(text.clone());
    set(model, &text)
}
