//! The keys of a prompt. Enter checks the text and sends the write; the prompt closes only when the write has
//! succeeded.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tui_input::Input;

use super::state::Prompt;
use crate::tui::{
    dialogs::Dialog,
    effect::{Effect, Write},
    model::Model,
    text_input,
};

pub(crate) fn on_key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let Dialog::Prompt(prompt) = &mut model.dialog else { return Vec::new() };
    match key.code {
        KeyCode::Esc => model.dialog = Dialog::None,
        // The prompt waits for the result of the write.
        _ if prompt.sent.is_some() => {}
        KeyCode::Enter => return submit(prompt),
        _ => {
            let types = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
            let is_letter = matches!(key.code, KeyCode::Char(_)) && types;
            prompt.end_selection(is_letter || matches!(key.code, KeyCode::Backspace | KeyCode::Delete));
            if text_input::edit(&mut prompt.input, key) {
                prompt.error = None;
            }
        }
    }
    Vec::new()
}

pub(crate) fn on_paste(model: &mut Model, pasted: &str) {
    let Dialog::Prompt(prompt) = &mut model.dialog else { return };
    if prompt.sent.is_none() {
        prompt.end_selection(true);
        text_input::insert(&mut prompt.input, pasted);
        prompt.error = None;
    }
}

/// Replaces the text of the open prompt, if one is open, and submits it.
pub(crate) fn submit_text(model: &mut Model, text: &str) -> Vec<Effect> {
    let Dialog::Prompt(prompt) = &mut model.dialog else { return Vec::new() };
    prompt.input = Input::new(text.to_owned());
    prompt.is_selected = false;
    submit(prompt)
}

fn submit(prompt: &mut Prompt) -> Vec<Effect> {
    match prompt.completed() {
        Ok(write) => {
            prompt.sent = Some(write.clone());
            vec![Effect::Write(write)]
        }
        Err(wrong) => {
            prompt.error = Some(wrong.to_owned());
            Vec::new()
        }
    }
}

/// Closes the prompt after its write has succeeded; after a failure the prompt stays and shows the reason. Returns
/// whether the prompt shows a failure.
pub(crate) fn on_written(model: &mut Model, write: &Write, fault: Option<&String>) -> bool {
    let Dialog::Prompt(prompt) = &mut model.dialog else { return false };
    if prompt.sent.as_ref() != Some(write) {
        return false;
    }
    (prompt.sent, prompt.error) = (None, fault.cloned());
    if fault.is_none() {
        model.dialog = Dialog::None;
    }
    fault.is_some()
}
