//! The keys of the command palette: typing matches commands, Enter runs the chosen one with its argument.

use crossterm::event::{KeyCode, KeyModifiers};

use super::state::{CommandPalette, Suggestion};
use crate::{
    clock::Now,
    domain::text,
    tui::{
        command::{CommandArgument, CommandId, CommandWithArgument, KeyCommand},
        dialogs::{Dialog, filter, prompt},
        effect::Effect,
        model::{MessageTone, Model},
        screens::list::update::{arrangement, views},
        text_input::{self, Typed},
        update::{actions, dispatch, poll, theme},
    },
};

pub(crate) fn on_input(model: &mut Model, typed: Typed<'_>, now: Now) {
    let Dialog::Palette(palette) = &mut model.dialog else { return };
    let control = matches!(typed, Typed::Key(key) if key.modifiers.contains(KeyModifiers::CONTROL));
    match typed.code() {
        KeyCode::Esc => model.dialog = Dialog::None,
        KeyCode::Enter => run(model, now),
        KeyCode::Tab => palette.complete(),
        KeyCode::Down => palette.move_by(1),
        KeyCode::Up => palette.move_by(-1),
        KeyCode::Char('n') if control => palette.move_by(1),
        KeyCode::Char('p') if control => palette.move_by(-1),
        // Backspace on an empty line closes the command palette, as in vi.
        KeyCode::Backspace if palette.input.value().is_empty() => model.dialog = Dialog::None,
        _ => {
            if text_input::edit(&mut palette.input, typed) {
                palette.update_suggestions();
                // The message is about the text before the edit.
                model.status_message = None;
            }
        }
    }
}

fn run(model: &mut Model, now: Now) {
    let Dialog::Palette(palette) = &mut model.dialog else { return };
    if palette.is_risky_guess() {
        // The first Enter only shows the full name. The second Enter runs the command.
        palette.complete();
        let text = format!("Press Enter again to run: {}", text::clean(palette.input.value()));
        return model.show_message(MessageTone::Good, text, now.mono);
    }
    let Some(Suggestion { command, argument }) = palette.suggestions.get(palette.chosen).cloned() else {
        let text = no_command_text(palette);
        return model.show_message(MessageTone::Bad, text, now.mono);
    };
    // The message is about an earlier command.
    (model.dialog, model.status_message) = (Dialog::None, None);
    match command.argument {
        // Without its argument, `delete` asks for confirmation.
        Some(CommandArgument { kind, .. }) if !argument.is_empty() || kind == CommandWithArgument::Delete => {
            run_with_argument(model, kind, command, &argument, now)
        }
        Some(_) | None => dispatch(model, command.id, now),
    }
}

/// Returns why the typed text matches no command.
fn no_command_text(palette: &CommandPalette) -> String {
    let typed = text::clean(palette.input.value());
    let without_argument = typed.split_once(' ').filter(|(name, _)| palette.has_command(name));
    match without_argument {
        Some((name, _)) => format!("`{name}` takes no argument: type the name alone."),
        None => format!("No command `{typed}` here; Esc closes."),
    }
}

fn run_with_argument(model: &mut Model, kind: CommandWithArgument, command: &KeyCommand, argument: &str, now: Now) {
    match kind {
        CommandWithArgument::Filter => filter::update::set_typed(model, argument, now),
        CommandWithArgument::Sort => arrangement::set_typed_order(model, argument, now),
        CommandWithArgument::Columns => arrangement::set_columns(model, argument, now.mono),
        CommandWithArgument::Acknowledge
        | CommandWithArgument::Note
        | CommandWithArgument::Ticket
        | CommandWithArgument::Labels
        | CommandWithArgument::Export => {
            dispatch(model, command.id, now);
            match model.dialog {
                Dialog::Prompt(_) => prompt::update::submit_text(model, argument),
                // The command was refused with a message: what was typed isn't lost.
                _ => {
                    let typed = format!("{} {argument}", command.name);
                    model.dialog = Dialog::Palette(CommandPalette::new(model.contexts(), &typed));
                }
            }
        }
        CommandWithArgument::Delete => delete(model, argument, now),
        CommandWithArgument::Pause => poll::pause_for(model, argument, now),
        CommandWithArgument::SaveView => views::save(model, argument, now),
        CommandWithArgument::ForgetView => views::forget(model, argument, now),
        CommandWithArgument::Theme => theme::choose(model, argument, now),
    }
}

/// Deletes the targets permanently if the argument is `yes`; otherwise asks for this confirmation. Asks again if the question
/// was about other transactions: the selection may have moved since.
fn delete(model: &mut Model, confirmation: &str, now: Now) {
    let rows = actions::targets(model, now.mono);
    let subject = match rows.as_slice() {
        [] => return,
        [row] => model.transactions.get(row).map(|tx| tx.params.transaction_id.short("…")),
        rows => Some(format!("the {} marked transactions", rows.len())),
    };
    let subject = subject.unwrap_or_else(|| "the marked transaction".into());
    let hidden = model.marks_outside_view();
    let asked = model.deletion_asked.take();
    if confirmation == "yes" && asked.map_or(hidden == 0, |asked| asked == rows) {
        return model.effects.push(Effect::Delete(rows));
    }
    model.deletion_asked = Some(rows);
    let [colon, untrack] = [CommandId::CommandLine, CommandId::Untrack].map(|id| model.setting.keys.shown(id));
    let hidden = match hidden {
        0 => String::new(),
        hidden => format!(" Not in this view: {hidden}."),
    };
    let ask = format!(
        "This deletes {subject} permanently, with all history: type {colon}delete yes to confirm.{hidden} {untrack} only stops polling."
    );
    actions::refuse(model, ask, now.mono)
}
