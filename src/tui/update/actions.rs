//! Actions on transactions: their targets, and the dialogs that they open first.
//!
//! Every action must take its targets from `targets`.

use crate::{
    clock::{MonotonicTime, Now},
    domain::{
        alert::{Alert, Handling},
        ids::RowId,
        operation::Edit,
        text,
    },
    store::ImportToUndo,
    tui::{
        command::{CommandId, TargetKind},
        dialogs::{
            Dialog,
            menu::state::{Menu, MenuChoice, MenuEntry},
            prompt::{
                self,
                state::{Prompt, PromptKind},
            },
        },
        effect::{AlertTarget, Effect, SnoozeLength, Write},
        model::{MessageTone, Model, Screen},
        screens::list::update::marks,
    },
};

/// Why a command about a transaction does nothing for an alert without one.
pub(crate) const OF_PROFILE: &str = "This alert concerns the whole profile, not a transaction.";

/// Shows why a command does nothing.
pub(crate) fn refuse(model: &mut Model, reason: impl Into<String>, now: MonotonicTime) {
    model.show_message(MessageTone::Bad, reason, now);
}

/// Returns the transactions for an action: in the list the marked ones, in the alerts those of a folded group, otherwise
/// the selected one. Returns none, and shows the reason, while the end of a long range is not known yet, if a range has too
/// many, or for an alert of the whole profile.
pub(crate) fn targets(model: &mut Model, now: MonotonicTime) -> Vec<RowId> {
    match model.screen {
        Screen::List => match marks::end_range(model, now) {
            false => Vec::new(),
            true if model.marks.count() > 0 => model.marks.rows(),
            true => model.list.selected.into_iter().collect(),
        },
        Screen::Alerts => {
            let rows = model.alert_list.target_transactions();
            if rows.is_empty() {
                refuse(model, OF_PROFILE, now);
            }
            rows
        }
        Screen::Detail | Screen::Stats | Screen::Log => model.list.selected.into_iter().collect(),
    }
}

/// Whether a command needs a transaction or an alert, and there is none.
pub(crate) fn lacks_target(model: &Model, id: CommandId) -> bool {
    let has_one = match model.screen {
        Screen::Alerts => model.alert_list.selected_row().is_some(),
        Screen::List | Screen::Detail | Screen::Stats | Screen::Log => model.list.selected.is_some(),
    };
    match id.target_kind() {
        None => false,
        Some(TargetKind::One) => !has_one,
        Some(TargetKind::Marked) => !has_one && (model.screen == Screen::Alerts || model.marks.is_empty()),
    }
}

/// Returns why a command about one transaction can't run on the selected alert: a folded row stands for several
/// transactions, and an alert of the whole profile for none.
pub(crate) fn lacks_one_transaction(model: &Model, id: CommandId) -> Option<String> {
    let is_about_one = id.target_kind() == Some(TargetKind::One) && id != CommandId::Open;
    let targets = model.alert_list.target_rows();
    match targets.as_slice() {
        _ if model.screen != Screen::Alerts || !is_about_one => None,
        [] => None,
        [only] => only.alert.transaction.is_none().then(|| OF_PROFILE.to_owned()),
        several => {
            let unfold = model.setting.keys.shown(CommandId::FoldRule);
            Some(format!("This row stands for {} alerts: {unfold} shows them one by one.", several.len()))
        }
    }
}

/// Shows the result of a write. Removes the marks of the transactions that need no further work; other marks stay for
/// the next command on the same transactions.
pub(crate) fn on_written(model: &mut Model, write: &Write, outcome: Result<String, String>, now: MonotonicTime) {
    let is_shown = prompt::update::on_written(model, write, outcome.as_ref().err());
    model.list.is_own_change |= outcome.is_ok() && matches!(write, Write::Edit(_));
    match outcome {
        Ok(mut text) => {
            // The next key concerns another transaction than the one before.
            if !write.handled_transactions().is_empty() && model.list.select_next_after_handled() {
                text = format!("{}. The next alert is selected.", text.trim_end_matches('.'));
            }
            model.marks.clear_if_completed(&write.completed_transactions());
            let left = model.marks.count();
            match write {
                Write::Edit(_) if model.screen == Screen::List && left > 0 => {
                    let clear = model.setting.keys.shown(CommandId::Clear);
                    let text = format!("{}. {left} still marked ({clear} to clear).", text.trim_end_matches('.'));
                    model.show_marks_message(MessageTone::Good, text, now);
                }
                Write::Edit(_) | Write::Export { .. } => model.show_message(MessageTone::Good, text, now),
            }
        }
        Err(_) if is_shown => {}
        Err(text) => model.show_message(MessageTone::Bad, text, now),
    }
}

/// Asks before the undo of an import of several transactions. A dialog that was opened meanwhile stays open, and nothing is
/// undone.
pub(crate) fn confirm_undo(model: &mut Model, import: ImportToUndo) {
    if !matches!(model.dialog, Dialog::None) {
        return;
    }
    let count = import.transactions;
    let undo = Effect::Undo { confirmed: Some(import) };
    let yes = (format!("yes, stop polling all {count}"), MenuChoice::Do(undo));
    let title = format!("Undo the import of {count} transactions?");
    model.dialog =
        Dialog::Menu(Menu::confirm(title, "They are kept, but no longer polled. Redo polls them again.", yes));
}

/// Stops polling the targets, after a confirmation if there are several or hidden ones.
pub(crate) fn untrack(model: &mut Model, now: MonotonicTime) {
    match targets(model, now) {
        rows if rows.is_empty() => {}
        rows if rows.len() > 1 || model.marks_outside_view() > 0 => {
            let count = rows.len();
            let title = format!("Stop polling {}?", text::counted(count, "transaction"));
            let consequences = consequences_of_untrack(model, &rows);
            let untrack = Effect::Write(Write::Edit(Edit::Untrack { transactions: rows }));
            let all = if count == 1 { "it".to_owned() } else { format!("all {count}") };
            let yes = (format!("yes, stop polling {all}"), MenuChoice::Do(untrack));
            model.dialog = Dialog::Menu(Menu::confirm(title, consequences, yes));
        }
        rows => model.effects.push(Effect::Write(Write::Edit(Edit::Untrack { transactions: rows }))),
    }
}

/// Returns what happens to these transactions once they are untracked, as far as they are loaded.
fn consequences_of_untrack(model: &Model, rows: &[RowId]) -> String {
    let loaded = rows.iter().filter_map(|row| model.transactions.get(row));
    let settled = loaded.filter(|tx| tx.is_settled()).count();
    let alerts: usize = rows.iter().map(|row| model.alerts_of(*row).len()).sum();
    let settled = match settled {
        0 => String::new(),
        1 => " One is settled and isn't polled anyway.".to_owned(),
        many => format!(" {many} are settled and aren't polled anyway."),
    };
    let alerts = match alerts {
        0 => String::new(),
        1 => " Their alert ends.".to_owned(),
        many => format!(" Their {many} alerts end."),
    };
    let hidden = match model.marks_outside_view() {
        0 => String::new(),
        1 => " One is not in this view; any alerts of it end too.".to_owned(),
        many => format!(" {many} are not in this view; any alerts of theirs end too."),
    };
    format!("They are kept, but no longer polled.{settled}{alerts}{hidden}")
}

/// Opens an empty prompt for the targets.
pub(crate) fn prompt_for_targets(model: &mut Model, kind: fn(Vec<RowId>) -> PromptKind, now: MonotonicTime) {
    let rows = targets(model, now);
    if !rows.is_empty() {
        open_prompt(model, kind(rows), String::new());
    }
}

/// Opens the prompt for the note of an acknowledgement, unless the single target is known to have nothing to
/// acknowledge.
pub(crate) fn acknowledge(model: &mut Model, now: MonotonicTime) {
    let rows = targets(model, now);
    let active = match rows.as_slice() {
        [] => return,
        [row] => Some(model.alerts_of(*row)),
        _ => None,
    };
    match active {
        Some([]) => model.show_message(MessageTone::Bad, "No alert to acknowledge.", now),
        // The prompt begins with the present note, for editing.
        Some([alert]) if alert.acknowledged().is_some() => {
            model.dialog = Dialog::Prompt(note_prompt(alert, vec![alert.id]));
        }
        Some(alerts) if alerts.iter().all(|alert| alert.acknowledged().is_some()) => {
            let text = "Already acknowledged, until the status changes or the severity rises.";
            model.show_message(MessageTone::Bad, text, now);
        }
        _ => open_prompt(model, PromptKind::Acknowledgement(AlertTarget::of(&rows)), String::new()),
    }
}

/// Returns the prompt for the acknowledgement of alerts, with the present note if it is one alert and has one.
pub(crate) fn note_prompt(alert: &Alert, targets: Vec<i64>) -> Prompt {
    let note = alert.handling.as_ref().filter(|_| targets.len() == 1).and_then(Handling::note);
    let alerts = targets.into_iter().map(AlertTarget::Alert).collect();
    Prompt::new(PromptKind::Acknowledgement(alerts), note.unwrap_or_default().to_owned())
}

/// Lets acknowledged and snoozed alerts fire again.
pub(crate) fn unacknowledge(model: &mut Model, now: MonotonicTime) {
    let alerts = match model.screen {
        Screen::Alerts => model.alert_list.targets().into_iter().map(AlertTarget::Alert).collect(),
        Screen::List | Screen::Detail | Screen::Stats | Screen::Log => AlertTarget::of(&targets(model, now)),
    };
    if !alerts.is_empty() {
        model.effects.push(Effect::Write(Write::Edit(Edit::Unacknowledge { alerts })));
    }
}

/// Opens the menu with the lengths of a snooze.
pub(crate) fn snooze(model: &mut Model, now: MonotonicTime) {
    let rows = match model.screen {
        Screen::Alerts | Screen::Stats | Screen::Log => Vec::new(),
        Screen::List | Screen::Detail => targets(model, now),
    };
    let of_alert = model.alert_list.selected_row().filter(|_| model.screen == Screen::Alerts).map(|row| &row.alert);
    let active = match (of_alert, rows.as_slice()) {
        (None, []) => return,
        (None, [row]) => !model.alerts_of(*row).is_empty(),
        (Some(alert), _) => alert.cleared_at.is_none(),
        _ => true,
    };
    if !active {
        let why =
            if of_alert.is_some() { "This alert is resolved, so it can't be snoozed." } else { "No alert to snooze." };
        return model.show_message(MessageTone::Bad, why, now);
    }
    let alerts = match of_alert {
        None => AlertTarget::of(&rows),
        Some(_) => model.alert_list.targets().into_iter().map(AlertTarget::Alert).collect(),
    };
    let entry = |key, label, length| MenuEntry::new(key, label, MenuChoice::Snooze(alerts.clone(), length));
    let entries = vec![
        entry("m", "15 minutes", SnoozeLength::Minutes(15)),
        entry("h", "1 hour", SnoozeLength::Minutes(60)),
        entry("c", "until the status changes", SnoozeLength::Change),
    ];
    let of_one = rows.first().and_then(|row| model.transactions.get(row));
    let title = match (rows.len().max(alerts.len()), of_one.or_else(|| model.current_transaction())) {
        (many, _) if of_alert.is_some() && many > 1 => format!("Snooze these {many} alerts for"),
        (0 | 1, Some(tx)) => format!("Snooze {} for", tx.params.transaction_id.short("…")),
        (0 | 1, None) => "Snooze for".to_owned(),
        (many, _) => format!("Snooze the alerts of {many} marked transactions for"),
    };
    model.dialog = Dialog::Menu(Menu::new(title, "Snoozed alerts stay in the list, below firing ones.", entries));
}

/// Opens the prompt for the ticket. For a single transaction the prompt begins with the ticket that a paste named for
/// it, or else with the present ticket.
pub(crate) fn ticket(model: &mut Model, now: MonotonicTime) {
    let rows = targets(model, now);
    let present = match rows.as_slice() {
        [] => return,
        [row] => {
            // Offered once: later the prompt begins with the present ticket.
            let named = model.named_ticket.take_if(|(of, _)| of == row).map(|(_, ticket)| ticket);
            named.or_else(|| model.transaction(*row)?.params.ticket.clone())
        }
        _ => None,
    };
    open_prompt(model, PromptKind::Ticket(rows), present.unwrap_or_default());
}

/// Opens the prompt for the name of the export file: for the open transaction, the marked ones, or all shown ones.
pub(crate) fn export(model: &mut Model, now: Now) {
    let is_open = model.screen == Screen::Detail;
    if !is_open && !marks::end_range(model, now.mono) {
        return;
    }
    if !is_open && model.list.total == Some(0) && model.marks.is_empty() {
        model.show_message(MessageTone::Bad, "Nothing to export: no transaction is marked or shown.", now.mono);
        return;
    }
    let rows = match model.marks.count() {
        _ if is_open => Some(model.list.selected.into_iter().collect()),
        0 => None,
        _ => Some(model.marks.rows()),
    };
    // A file with this name does not exist yet.
    let local = now.wall.with_timezone(&model.setting.zone);
    let file = local.format("hoptop-%Y-%m-%d-%H%M%S.csv").to_string();
    open_prompt(model, PromptKind::Export(rows), file);
}

fn open_prompt(model: &mut Model, kind: PromptKind, text: String) {
    model.dialog = Dialog::Prompt(Prompt::new(kind, text));
}
