//! The keys of the command line: typing matches commands, Enter runs the chosen one with its argument.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::state::{CommandPalette, Suggestion};
use crate::{
    clock::Now,
    domain::text,
    tui::{
        command::{Argument, ArgumentOf, Id},
        dialogs::{Dialog, filter},
        effect::{Effect, KeyOutcome},
        model::{Model, Tone},
        screens::list::update::{arrangement, views},
        update::{actions, poll, theme},
    },
};

/// Opens the command line in the present contexts, with this text.
pub(crate) fn open(model: &mut Model, text: &str) {
    model.dialog = Dialog::Palette(CommandPalette::new(model.contexts(), text));
}

pub(crate) fn on_key(model: &mut Model, key: KeyEvent, now: Now) -> KeyOutcome {
    let Dialog::Palette(palette) = &mut model.dialog else { return KeyOutcome::NONE };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => model.dialog = Dialog::None,
        KeyCode::Enter => return run(model, now),
        KeyCode::Tab => palette.complete(),
        KeyCode::Down => palette.move_by(1),
        KeyCode::Up => palette.move_by(-1),
        KeyCode::Char('n') if control => palette.move_by(1),
        KeyCode::Char('p') if control => palette.move_by(-1),
        // Backspace on an empty line closes the command line, as in vi.
        KeyCode::Backspace if palette.input.value().is_empty() => model.dialog = Dialog::None,
        _ => {
            if palette.input.handle_event(&Event::Key(key)).is_some_and(|change| change.value) {
                palette.update_matches();
            }
        }
    }
    KeyOutcome::NONE
}

pub(crate) fn on_paste(model: &mut Model, pasted: &str) -> Vec<Effect> {
    if let Dialog::Palette(palette) = &mut model.dialog {
        palette.input = Input::new(format!("{}{}", palette.input.value(), text::clean(pasted)));
        palette.update_matches();
    }
    Vec::new()
}

fn run(model: &mut Model, now: Now) -> KeyOutcome {
    let Dialog::Palette(palette) = &mut model.dialog else { return KeyOutcome::NONE };
    if palette.is_risky_guess() {
        // The first Enter only shows the full name. The second Enter runs the command.
        palette.complete();
        return KeyOutcome::NONE;
    }
    let Some(Suggestion { command, argument }) = palette.suggestions.get(palette.chosen).cloned() else {
        let typed = text::clean(palette.input.value());
        model.show_message(Tone::Bad, format!("No command `{typed}` here; Esc closes."), now.mono);
        return KeyOutcome::NONE;
    };
    model.dialog = Dialog::None;
    match command.argument {
        // Without its argument, `delete` asks for confirmation.
        Some(Argument { of, .. }) if !argument.is_empty() || of == ArgumentOf::Delete => {
            KeyOutcome::Effects(run_with_argument(model, of, &argument, now))
        }
        Some(_) | None => KeyOutcome::Command(command.id),
    }
}

/// Runs a command with its argument.
fn run_with_argument(model: &mut Model, of: ArgumentOf, argument: &str, now: Now) -> Vec<Effect> {
    match of {
        ArgumentOf::Filter => filter::update::set_typed(model, argument, now),
        ArgumentOf::Sort => arrangement::set_typed_order(model, argument, now),
        ArgumentOf::Columns => {
            arrangement::set_columns(model, argument, now.mono);
            Vec::new()
        }
        ArgumentOf::Delete => delete(model, argument, now),
        ArgumentOf::Pause => poll::pause_for(model, argument, now),
        ArgumentOf::SaveView => views::save(model, argument, now),
        ArgumentOf::ForgetView => views::forget(model, argument, now),
        ArgumentOf::Theme => theme::choose(model, argument, now),
    }
}

/// Deletes the targets permanently if the argument is `yes`; otherwise asks for this confirmation.
fn delete(model: &mut Model, said: &str, now: Now) -> Vec<Effect> {
    let rows = actions::targets(model, now.mono);
    let what = match rows.as_slice() {
        [] => return Vec::new(),
        [row] => model.transactions.get(row).map(|tx| tx.params.transaction_id.short("…")),
        rows => Some(format!("the {} marked transactions", rows.len())),
    };
    let what = what.unwrap_or_else(|| "the marked transaction".into());
    if said == "yes" {
        return vec![Effect::Delete(rows)];
    }
    let [colon, untrack] = [Id::CommandLine, Id::Untrack].map(|id| model.setting.keys.shown(id));
    let ask = format!(
        "This deletes {what} permanently, with all history: type {colon}delete yes to confirm. {untrack} only stops polling."
    );
    model.show_message(Tone::Bad, ask, now.mono);
    Vec::new()
}
