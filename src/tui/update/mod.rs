//! `update`: applies a message to the model and returns effects. Pure; time is a parameter.
//!
//! Keys must be dispatched to commands only here. An open text field takes the keys first.

pub(crate) mod actions;
mod chain;
mod dispatch;
mod pointer;
pub(crate) mod poll;
mod store_changes;
pub(crate) mod theme;

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

pub(crate) use self::dispatch::dispatch;
use super::{
    command::{CommandId, HelpSection, KeyContext},
    dialogs::{Dialog, add, copy, filter, help, menu, palette, prompt, quote, reply},
    effect::Effect,
    key_text,
    message::Msg,
    model::{MessageTone, Model, Screen},
    screens::{alerts, detail, list::update::marks, log, stats},
    text_input::Typed,
};
use crate::{
    clock::Now,
    domain::{ids::RowId, team::TeamStatus, transaction::Transaction},
    intake,
};

/// Applies a message and returns its effects. The geometry of the model must be measured first, as `tui::step` does.
pub(crate) fn update(model: &mut Model, message: Msg, now: Now) -> Vec<Effect> {
    let before = model.list.selected;
    let had_no_dialog = matches!(model.dialog, Dialog::None);
    let (was_held, was_open) = (model.holds_selection(), model.is_open());
    apply(model, message, now);
    if was_open && !model.is_open() {
        // Beside the list a search would hide entries of other transactions.
        model.detail.end_searches();
    }
    let mut effects = std::mem::take(&mut model.effects);
    let changes = |effect: &Effect| matches!(effect, Effect::Delete(_) | Effect::Undo { .. } | Effect::Redo);
    model.list.is_own_change |= effects.iter().any(changes);
    model.end_snoozes(now.wall);
    model.dismiss_outdated_message();
    let handles_alerts = |effect: &Effect| matches!(effect, Effect::Write(write) if write.handles_alerts());
    if model.screen == Screen::Alerts && effects.iter().any(handles_alerts) {
        model.alert_list.plan_next_selection();
    }
    note_next_to_handle(model, &effects);
    if was_held && !model.holds_selection() {
        // The selected transaction may have left the list meanwhile.
        model.list.mark_stale();
    }
    if had_no_dialog && !matches!(model.dialog, Dialog::None) {
        model.dismiss_read_message(now.mono);
    }
    if model.list.selected != before {
        model.history = None;
        model.detail.on_other_transaction();
        effects.extend(model.list.selected.map(Effect::LoadHistory));
    }
    effects.extend(detail::update::load_body_if_needed(model));
    effects.extend(report_open_transaction(model, now));
    effects.extend(model.list.next_request().map(Effect::LoadPage));
    effects
}

/// Notes the next row of the list that needs somebody, before a write handles the selected row. If the selected row
/// needs nobody, the cursor stays.
fn note_next_to_handle(model: &mut Model, effects: &[Effect]) {
    let Some(selected) = model.list.selected.filter(|_| model.screen == Screen::List) else { return };
    for effect in effects {
        if let Effect::Write(write) = effect
            && let handled = write.handled_transactions()
            && handled.contains(&selected)
            && model.severity(selected).is_some()
        {
            model.list.handled_and_next = model.next_firing(&handled).map(|next| (selected, next));
        }
    }
}

/// Applies the message itself, without the follow-up work of `update`.
fn apply(model: &mut Model, message: Msg, now: Now) {
    match message {
        Msg::Key(key) => on_key(model, key, now),
        // Other people may see the screen with the pasted text.
        Msg::Paste(text) => on_paste(model, &intake::redact_integrator_id(&text), true, now),
        Msg::Burst(text) => on_paste(model, &intake::redact_integrator_id(&text), false, now),
        Msg::Click(target) => pointer::on_click(model, target, now),
        Msg::Wheel(lines, pane) => pointer::on_wheel(model, lines, pane),
        Msg::StoreChanged(update) => store_changes::on_store_changed(model, *update, now),
        Msg::Page(read) => store_changes::on_page(model, &read.0, read.1, now),
        Msg::Counted(counted) => store_changes::on_counted(model, counted.0, counted.1, now),
        Msg::Statistics(read) => stats::update::on_statistics(model, *read, now.mono),
        Msg::Log(read) => log::update::on_log(model, read),
        Msg::FoundLogged(row) => log::update::on_found(model, row, now.mono),
        Msg::Known(known) => add::update::on_known(model, known, now.mono),
        Msg::QuoteAsked(until, asked) => quote::update::on_asked(model, until, asked),
        Msg::QuoteRead(id, quote) => quote::update::on_read(model, id, quote, now),
        Msg::Imported(outcome) => add::update::on_imported(model, outcome, now),
        Msg::Copied { text, outcome } => copy::update::on_copied(model, text, outcome, now),
        Msg::NotOpened { link, reason } => copy::update::not_opened(model, link, &reason, now),
        Msg::Tick => on_tick(model, now),
        Msg::Resize(..) => {
            model.list.scroll_into_view();
            model.list.mark_stale();
        }
        Msg::History(row, read) => store_changes::on_history(model, row, *read, now.mono),
        Msg::Body(row, body) => detail::update::on_body(model, row, *body),
        Msg::ForTexts(transactions, wanted) => reply::update::on_loaded(model, &transactions, wanted, now),
        // A person has opened a dialog or another screen since.
        Msg::FoundAlert(_)
            if !matches!((&model.dialog, model.screen), (Dialog::None, Screen::List | Screen::Detail)) => {}
        Msg::FoundAlert(Some(row)) => model.list.select_when_loaded(row),
        Msg::FoundAlert(None) => {
            model.show_message(MessageTone::Bad, "No other transaction here has an alert.", now.mono);
        }
        Msg::Alerts(read) => alerts::update::on_loaded(model, read, now.mono),
        Msg::FoundMarks(found) => marks::on_found(model, found, now.mono),
        Msg::Names(names) => filter::update::on_names(model, names),
        Msg::StoreFault(store_fault) => model.store_fault = store_fault,
        Msg::Team(status, author) => on_team(model, *status, author, now),
        Msg::Written(write, outcome) => actions::on_written(model, &write, outcome, now.mono),
        Msg::UndoesImport(import) => actions::confirm_undo(model, import),
        Msg::Done(text) => model.show_message(MessageTone::Good, text, now.mono),
        Msg::Failed(text) | Msg::NotRead(text) => model.show_message(MessageTone::Bad, text, now.mono),
        // The loop copies the text itself, and sends `Copied` instead.
        Msg::CopyByTerminal(_) => {}
    }
}

fn on_team(model: &mut Model, status: TeamStatus, author: Option<String>, now: Now) {
    let known_loss = model.team.as_ref().and_then(|team| team.loss.as_deref());
    if let Some(loss) = status.loss.as_ref().filter(|loss| known_loss != Some(loss.as_str())) {
        model.show_message(MessageTone::Bad, loss.clone(), now.mono);
    }
    model.team = Some(status);
    if model.setting.author == author {
        return;
    }
    model.setting.author.clone_from(&author);
    model.list.set_person(author);
    model.reload_filters();
    model.effects.push(Effect::Count)
}

/// Reports the open transaction to the poller and the team, when it changes and every 20 s while it stays open.
fn report_open_transaction(model: &mut Model, now: Now) -> Option<Effect> {
    /// Shorter than the time after which the poller forgets the report.
    const REPORT_INTERVAL: Duration = Duration::from_secs(20);
    // The others of a team also want to see who has a settled transaction open.
    let is_of_interest = |tx: &Transaction| model.team.is_some() || tx.needs_polling();
    let is_reported = |row: &RowId| model.transactions.get(row).is_some_and(is_of_interest);
    let open = match model.screen {
        Screen::Detail => model.list.selected.filter(is_reported),
        Screen::List | Screen::Alerts | Screen::Stats | Screen::Log => None,
    };
    let reported = model.marked_open.filter(|(_, at)| now.mono.since(*at) < REPORT_INTERVAL).map(|(row, _)| row);
    if open == reported && (open.is_some() || model.marked_open.is_none()) {
        return None;
    }
    model.marked_open = open.map(|row| (row, now.mono));
    Some(Effect::MarkOpen(open))
}

fn on_tick(model: &mut Model, now: Now) {
    model.status_message.take_if(|message| message.until <= now.mono);
    if std::mem::take(&mut model.should_retry_page) {
        model.list.mark_stale();
    }
    model.list.refresh_by_time(now.mono);
    alerts::update::load_if_due(model, now.mono);
    model.effects.extend(std::mem::take(&mut model.should_retry_count).then_some(Effect::Count));
    stats::update::load_if_due(model, now.mono);
    log::update::load_if_due(model, now.mono);
    quote::update::on_tick(model, now);
}

/// Inserts a pasted text into the open text field; without one, opens the add dialog with it.
fn on_paste(model: &mut Model, text: &str, is_whole: bool, now: Now) {
    // The message is about an earlier paste.
    model.status_message = None;
    let is_taken = match &model.dialog {
        Dialog::Help(_) => help::update::is_search_text(text),
        dialog => dialog.takes_text(),
    };
    if !is_taken {
        model.dialog = Dialog::Add(Box::default());
    }
    match &model.dialog {
        Dialog::Add(_) => add::update::on_paste(model, text, is_whole, now),
        _ => on_text_input(model, Typed::Pasted(text), now),
    }
}

/// Applies a key or a pasted text to a dialog with text fields.
fn on_text_input(model: &mut Model, typed: Typed<'_>, now: Now) {
    match &model.dialog {
        Dialog::Filter(_) => filter::update::on_input(model, typed, now),
        Dialog::Find { .. } => detail::update::on_input(model, typed),
        Dialog::Palette(_) => palette::update::on_input(model, typed, now),
        Dialog::Prompt(_) => prompt::update::on_input(model, typed),
        Dialog::Quote(_) => quote::update::on_input(model, typed, now),
        Dialog::Help(_) => help::update::on_input(model, typed, now),
        Dialog::None | Dialog::Add(_) | Dialog::Reply { .. } | Dialog::Menu(_) | Dialog::CopyMenu(_) => {}
    }
}

fn on_key(model: &mut Model, key: KeyEvent, now: Now) {
    if key.kind == KeyEventKind::Release {
        return;
    }
    // Esc and a key that follows at once arrive as one key with Alt, for example through tmux. In a text field Alt may be
    // meant.
    if let (KeyCode::Char(_), KeyModifiers::ALT) = (key.code, key.modifiers & !KeyModifiers::SHIFT)
        && (!model.dialog.takes_text() || matches!(model.dialog, Dialog::Help(_)))
    {
        on_key(model, KeyEvent::from(KeyCode::Esc), now);
        return on_key(model, KeyEvent { modifiers: key.modifiers & KeyModifiers::SHIFT, ..key }, now);
    }
    let name = key_text::name(key);
    // Quitting and suspending work in text fields too, unless their key is a letter.
    let control = name.as_deref().filter(|name| name.starts_with('^') && name.len() > 1);
    let anywhere = control.and_then(|name| model.setting.keys.lookup(&[KeyContext::Page], name));
    if let Some(id @ (CommandId::Quit | CommandId::Suspend)) = anywhere {
        return dispatch(model, id, now);
    }
    match &model.dialog {
        Dialog::Add(_) => return add::update::on_key(model, key, now),
        Dialog::CopyMenu(_) => return copy::update::on_key(model, key, now),
        Dialog::Menu(_) => return menu::update::on_key(model, key, now),
        Dialog::None | Dialog::Reply { .. } => {}
        _ => return on_text_input(model, Typed::Key(key), now),
    }
    // The frame of the tour names this key on every screen; elsewhere than in the list the key has another command.
    let ends_tour = |name: &str| model.setting.keys.lookup(&[KeyContext::List], name) == Some(CommandId::Clear);
    if model.geometry.shows_tour && name.as_deref().is_some_and(ends_tour) {
        return dispatch(model, CommandId::Clear, now);
    }
    let Some(name) = name else { return };
    match model.setting.keys.lookup(model.contexts(), &name) {
        Some(id) => dispatch(model, id, now),
        None => refuse_key(model, &name, now),
    }
}

/// Shows where a key has a command that it doesn't have here. A key that moves somewhere, or opens what is open, has no
/// message.
fn refuse_key(model: &mut Model, key: &str, now: Now) {
    let opens_the_present = |id: CommandId| match model.screen {
        Screen::Alerts => id == CommandId::Alerts,
        Screen::Stats => id == CommandId::Stats,
        Screen::Log => id == CommandId::Log,
        Screen::List | Screen::Detail => false,
    };
    let commands: Vec<_> = model.setting.keys.of_key(key).filter(|command| !opens_the_present(command.id)).collect();
    if commands.iter().any(|command| command.section == HelpSection::Move) {
        return;
    }
    let places: Vec<String> = commands
        .into_iter()
        .map(|command| {
            let contexts: Vec<_> = command.contexts.iter().map(|context| context.description()).collect();
            format!("{} ({})", contexts.join(" and "), command.name)
        })
        .collect();
    if !places.is_empty() {
        actions::refuse(model, format!("{key} works only {}.", places.join("; ")), now.mono);
    }
}

#[cfg(test)]
mod tests;
