//! The prompt's keys: what is typed is checked by Enter, carried out, and gone only when that has worked.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::Effect;
use crate::{
    domain::{operation::Edit, text},
    tui::{
        effect::Work,
        model::{
            Model, Overlay,
            prompt::{LabelChange, Prompt, Purpose},
        },
    },
};

pub(super) fn on_key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let Overlay::Prompt(prompt) = &mut model.overlay else { return Vec::new() };
    match key.code {
        KeyCode::Esc => model.overlay = Overlay::None,
        // What was sent is waited for.
        _ if prompt.sent.is_some() => {}
        KeyCode::Enter => return submit(prompt),
        _ => {
            let types = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
            let is_letter = matches!(key.code, KeyCode::Char(_)) && types;
            prompt.begin(is_letter || matches!(key.code, KeyCode::Backspace | KeyCode::Delete));
            if prompt.input.handle_event(&Event::Key(key)).is_some_and(|change| change.value) {
                prompt.wrong = None;
            }
        }
    }
    Vec::new()
}

pub(super) fn on_paste(model: &mut Model, pasted: &str) {
    let Overlay::Prompt(prompt) = &mut model.overlay else { return };
    if prompt.sent.is_none() {
        prompt.begin(true);
        prompt.input = Input::new(format!("{}{}", prompt.input.value(), text::clean(pasted)));
        prompt.wrong = None;
    }
}

fn submit(prompt: &mut Prompt) -> Vec<Effect> {
    match work(prompt) {
        Ok(work) => {
            prompt.sent = Some(work.clone());
            vec![Effect::Work(work)]
        }
        Err(wrong) => {
            prompt.wrong = Some(wrong.to_owned());
            Vec::new()
        }
    }
}

/// What is to be done, or what is wrong with what was typed.
fn work(prompt: &Prompt) -> Result<Work, &'static str> {
    let typed = prompt.typed();
    let file = || typed.clone().ok_or("Type a file name, or press Esc to cancel.");
    Ok(match &prompt.purpose {
        Purpose::Acknowledge(rows) => Work::Acknowledge { rows: rows.clone(), note: typed },
        Purpose::AcknowledgeAlerts(alerts) => Work::Edit(Edit::Acknowledge { alerts: alerts.clone(), note: typed }),
        Purpose::Note(rows) => {
            let text = typed.ok_or("Type a note, or press Esc to cancel.")?;
            Work::Edit(Edit::AddNote { transactions: rows.clone(), text })
        }
        Purpose::Ticket(rows) => Work::Edit(Edit::SetTicket { transactions: rows.clone(), ticket: typed }),
        Purpose::Labels(rows) => {
            let LabelChange { add, remove } = LabelChange::parse(prompt.input.value())?;
            Work::Edit(Edit::ChangeLabels { transactions: rows.clone(), add, remove })
        }
        Purpose::Export(rows) => Work::Export { file: file()?, rows: Some(rows.clone()) },
        Purpose::ExportShown(_) => Work::Export { file: file()?, rows: None },
    })
}

/// What was sent is done, and its prompt goes; or it failed, and the prompt stays and says why. Whether a prompt says it.
pub(super) fn on_worked(model: &mut Model, work: &Work, fault: Option<&String>) -> bool {
    let Overlay::Prompt(prompt) = &mut model.overlay else { return false };
    if prompt.sent.as_ref() != Some(work) {
        return false;
    }
    (prompt.sent, prompt.wrong) = (None, fault.cloned());
    if fault.is_none() {
        model.overlay = Overlay::None;
    }
    fault.is_some()
}
