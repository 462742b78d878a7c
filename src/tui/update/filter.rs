//! The filter's line: what is typed filters at once; Enter keeps it, Esc brings back what held before.

use crossterm::event::{KeyCode, KeyEvent};

use super::Effect;
use crate::{
    domain::{filter::Names, text},
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
            (model.overlay, model.temporary_view) = (Overlay::None, None);
            if !model.list.part.rows.is_empty() {
                model.list.wanted = None;
            }
            model.list.filter_text.truncate(model.list.filter_text.trim_end().len());
            model.memory.use_filter(&model.list.filter_text);
        }
        KeyCode::Enter => {}
        KeyCode::Tab => {
            if let Some(text) = line.completed() {
                line.write(text);
                return changed(model);
            }
        }
        KeyCode::Up if line.fetch(1, &model.memory.used) => return changed(model),
        KeyCode::Down if line.fetch(-1, &model.memory.used) => return changed(model),
        KeyCode::Up | KeyCode::Down => {}
        _ if line.edit(key) => return changed(model),
        _ => {}
    }
    Vec::new()
}

/// What stands in the line is another text: filters by it, and asks what it may go on with, if only the store knows that.
fn changed(model: &mut Model) -> Vec<Effect> {
    let Overlay::Filter(line) = &mut model.overlay else { return Vec::new() };
    let asks = line.asks().map(|(of, beginning)| Effect::FindNames(of, beginning));
    let text = line.input.value().to_owned();
    set(model, &text).into_iter().chain(asks).collect()
}

/// Takes in what the store names.
pub(super) fn on_names(model: &mut Model, names: Names) {
    if let Overlay::Filter(line) = &mut model.overlay {
        line.take(names);
    }
}

pub(super) fn on_paste(model: &mut Model, pasted: &str) -> Vec<Effect> {
    let Overlay::Filter(line) = &mut model.overlay else { return Vec::new() };
    let typed = line.input.value();
    // The blank that sets it apart from what stands there already would be trimmed.
    let gap = if pasted.starts_with(char::is_whitespace) && !typed.is_empty() { " " } else { "" };
    line.write(format!("{typed}{gap}{}", text::clean(pasted)));
    changed(model)
}
