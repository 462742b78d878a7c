//! The filter's line: what is typed filters at once; Enter keeps it, Esc brings back what held before.

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::Effect;
use crate::{
    domain::{
        filter::{Names, asked},
        text,
    },
    tui::model::{FilterLine, Model, Overlay},
};

pub(super) fn open(model: &mut Model) {
    let line = FilterLine::new(model.list.filter_text.clone(), model.list.selected);
    model.overlay = Overlay::Filter(Box::new(line));
}

pub(super) fn set(model: &mut Model, text: &str) -> Vec<Effect> {
    match &model.overlay {
        Overlay::Filter(line) => {
            model.list.set_filter(text, &line.before);
            model.list.wanted = line.selected;
        }
        _ => model.list.set_filter(text, ""),
    }
    vec![Effect::Count]
}

pub(super) fn on_key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let Overlay::Filter(line) = &mut model.overlay else { return Vec::new() };
    match key.code {
        KeyCode::Esc => {
            let before = std::mem::take(&mut line.before);
            // What was selected is wanted until it is shown again.
            let effects = set(model, &before);
            model.overlay = Overlay::None;
            return effects;
        }
        // A filter that can't be read stays open, with what is wrong beside it.
        KeyCode::Enter if model.list.filter_error.is_none() => {
            // Who filters wants to see that, and no more what was looked for before.
            (model.overlay, model.detour) = (Overlay::None, None);
            if !model.list.part.rows.is_empty() {
                model.list.wanted = None;
            }
            model.list.filter_text.truncate(model.list.filter_text.trim_end().len());
            model.memory.use_filter(&model.list.filter_text);
        }
        KeyCode::Enter => {}
        KeyCode::Tab | KeyCode::Up | KeyCode::Down => {
            let text = match key.code {
                KeyCode::Tab => line.completed(),
                KeyCode::Up => line.fetch(1, &model.memory.used),
                _ => line.fetch(-1, &model.memory.used),
            };
            return text.map_or_else(Vec::new, |text| write(model, text));
        }
        _ => {
            if line.input.handle_event(&Event::Key(key)).is_some_and(|change| change.value) {
                let text = line.input.value().to_owned();
                return set(model, &text).into_iter().chain(ask(&text)).collect();
            }
        }
    }
    Vec::new()
}

/// Asks for what the value that is being typed may be, if only the store knows that.
fn ask(text: &str) -> Option<Effect> {
    asked(text).map(|(of, beginning)| Effect::FindNames(of, beginning.to_owned()))
}

/// Takes in what the store names. What has been typed since asks anew.
pub(super) fn on_names(model: &mut Model, names: Names) {
    if let Overlay::Filter(line) = &mut model.overlay {
        line.names = Some(names);
    }
}

pub(super) fn on_paste(model: &mut Model, pasted: &str) -> Vec<Effect> {
    let Overlay::Filter(line) = &model.overlay else { return Vec::new() };
    let typed = line.input.value();
    // The blank that sets it apart from what stands there already would be trimmed.
    let gap = if pasted.starts_with(char::is_whitespace) && !typed.is_empty() { " " } else { "" };
    let text = format!("{typed}{gap}{}", text::clean(pasted));
    write(model, text)
}

/// Puts a text into the line.
fn write(model: &mut Model, text: String) -> Vec<Effect> {
    if let Overlay::Filter(line) = &mut model.overlay {
        line.input = Input::new(text.clone());
    }
    set(model, &text)
}
