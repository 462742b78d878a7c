//! The keys of a prompt. Enter checks the text and sends the write; the prompt closes only when the write has
//! succeeded.

use crossterm::event::{KeyCode, KeyModifiers};
use tui_input::Input;

use super::state::Prompt;
use crate::tui::{
    dialogs::Dialog,
    effect::{Effect, Write},
    model::Model,
    text_input::{self, Typed},
};

pub(crate) fn on_input(model: &mut Model, typed: Typed<'_>) {
    let Dialog::Prompt(prompt) = &mut model.dialog else { return };
    match typed.code() {
        KeyCode::Esc => model.dialog = Dialog::None,
        // The prompt waits for the result of the write.
        _ if prompt.sent.is_some() => {}
        KeyCode::Enter => model.effects.extend(submit(prompt)),
        _ => {
            prompt.end_selection(match typed {
                Typed::Pasted(_) => true,
                Typed::Key(key) => match key.code {
                    KeyCode::Char(_) => !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT),
                    code => matches!(code, KeyCode::Backspace | KeyCode::Delete),
                },
            });
            if text_input::edit(&mut prompt.input, typed) {
                prompt.error = None;
            }
        }
    }
}

/// Replaces the text of the open prompt, if one is open, and submits it.
pub(crate) fn submit_text(model: &mut Model, text: &str) {
    let Dialog::Prompt(prompt) = &mut model.dialog else { return };
    prompt.input = Input::new(text.to_owned());
    prompt.is_selected = false;
    model.effects.extend(submit(prompt));
}

fn submit(prompt: &mut Prompt) -> Option<Effect> {
    match prompt.completed() {
        Ok(write) => {
            prompt.sent = Some(write.clone());
            Some(Effect::Write(write))
        }
        Err(wrong) => {
            prompt.error = Some(wrong.to_owned());
            None
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
