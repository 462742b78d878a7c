//! Acting on transactions: what an action works on, and what it asks first.
//!
//! One function says what is meant; every action and every question goes by it.

use super::{Effect, marks, prompt};
use crate::{
    clock::{Mono, Now},
    domain::{alert::Alert, ids::RowId, operation::Edit},
    tui::{
        command::{Id, Needs},
        effect::{SnoozeLength, Work},
        model::{
            Model, Overlay, Screen, Tone,
            menu::{Choice, Entry, Menu},
            prompt::{Prompt, Purpose},
        },
    },
};

/// What an action works on: in the list the marked ones if there are any, else the selected one, which is chosen by that;
/// elsewhere what is open. None, with a word on why, while a range is open that reaches too far to know.
pub(super) fn targets(model: &mut Model, now: Mono) -> Vec<RowId> {
    model.list.chosen |= model.list.selected.is_some();
    if model.screen == Screen::List {
        if !marks::end_range(model, now) {
            return Vec::new();
        }
        if model.marks.count() > 0 {
            return model.marks.rows();
        }
    }
    model.list.selected.into_iter().collect()
}

/// Whether a command wants a transaction, or an alert, and there is none.
pub(super) fn lacks_one(model: &Model, id: Id) -> bool {
    let has_one = match model.screen {
        Screen::Alerts => model.alert_list.row().is_some(),
        _ => model.list.selected.is_some(),
    };
    match id.needs() {
        Needs::Nothing => false,
        Needs::One => !has_one,
        Needs::Marked => !has_one && (model.screen == Screen::Alerts || model.marks.is_empty()),
    }
}

/// Says what became of something that was written. The marks of those that are dealt with have served then; others stay, for
/// the next word on the same ones.
pub(super) fn on_worked(model: &mut Model, work: &Work, outcome: Result<String, String>, now: Mono) {
    let is_said = prompt::on_worked(model, work, outcome.as_ref().err());
    match outcome {
        Ok(text) => {
            model.marks.served(work.completed_transactions());
            let left = model.marks.count();
            let text = match work {
                Work::Export { .. } | Work::SnoozeAlert { .. } => text,
                _ if model.screen == Screen::List && left > 0 => {
                    let clear = model.setting.keys.shown(Id::Clear);
                    format!("{}. {left} still marked ({clear} to clear).", text.trim_end_matches('.'))
                }
                _ => text,
            };
            model.notify(Tone::Good, text, now);
        }
        Err(_) if is_said => {}
        Err(text) => model.notify(Tone::Bad, text, now),
    }
}

/// Stops polling.
pub(super) fn untrack(model: &mut Model, now: Mono) -> Vec<Effect> {
    match targets(model, now) {
        rows if rows.is_empty() => Vec::new(),
        rows => vec![Effect::Work(Work::Edit(Edit::Untrack { transactions: rows }))],
    }
}

/// Opens the prompt for something that is done with words.
pub(super) fn ask(model: &mut Model, purpose: fn(Vec<RowId>) -> Purpose, now: Mono) {
    let rows = targets(model, now);
    if !rows.is_empty() {
        open(model, purpose(rows), String::new());
    }
}

/// Opens the prompt for the note of an acknowledgement, if there is anything to acknowledge as far as that is known.
pub(super) fn acknowledge(model: &mut Model, now: Mono) {
    let rows = targets(model, now);
    let standing = match rows.as_slice() {
        [] => return,
        [row] => Some(model.alerts_of(*row)),
        _ => None,
    };
    match standing {
        Some([]) => model.notify(Tone::Bad, "No alert to acknowledge.", now),
        // What was said of it is there to be changed.
        Some([alert]) if alert.acknowledged().is_some() => {
            let prompt = note_prompt(alert);
            model.overlay = Overlay::Prompt(prompt);
        }
        Some(alerts) if alerts.iter().all(|alert| alert.acknowledged().is_some()) => {
            model.notify(Tone::Bad, "Already acknowledged, until its status changes.", now);
        }
        _ => open(model, Purpose::Acknowledge(rows), String::new()),
    }
}

/// The prompt for an alert's acknowledgement, with the words of the one that stands, if one does.
pub(super) fn note_prompt(alert: &Alert) -> Prompt {
    let note = alert.acknowledged().and_then(|taken| taken.note.clone());
    Prompt::new(Purpose::AcknowledgeAlerts(vec![alert.id]), note.unwrap_or_default())
}

/// Lets what was acknowledged or snoozed fire again.
pub(super) fn unacknowledge(model: &mut Model, now: Mono) -> Vec<Effect> {
    if model.screen == Screen::Alerts {
        let alert = model.alert_list.row().map(|row| row.alert.id);
        return alert
            .map(|alert| Effect::Work(Work::Edit(Edit::Unacknowledge { alerts: vec![alert] })))
            .into_iter()
            .collect();
    }
    match targets(model, now) {
        rows if rows.is_empty() => Vec::new(),
        rows => vec![Effect::Work(Work::Unacknowledge(rows))],
    }
}

/// Offers how long what stands is snoozed.
pub(super) fn snooze(model: &mut Model, now: Mono) {
    let rows = match model.screen {
        Screen::Alerts | Screen::Stats | Screen::Log => Vec::new(),
        Screen::List | Screen::Detail => targets(model, now),
    };
    let of_alert = model.alert_list.row().filter(|_| model.screen == Screen::Alerts).map(|row| &row.alert);
    let standing = match (of_alert, rows.as_slice()) {
        (None, []) => return,
        (None, [row]) => !model.alerts_of(*row).is_empty(),
        (Some(alert), _) => alert.cleared_at.is_none(),
        _ => true,
    };
    if !standing {
        let why = if of_alert.is_some() { "No alert to snooze: it is resolved." } else { "No alert to snooze." };
        return model.notify(Tone::Bad, why, now);
    }
    let of_alert = of_alert.map(|alert| alert.id);
    let work = |length| match of_alert {
        Some(alert) => Work::SnoozeAlert { alert, length },
        None => Work::Snooze { rows: rows.clone(), length },
    };
    let entry = |key, label, length| Entry::new(key, label, Choice::Work(work(length)));
    let entries = vec![
        entry("m", "15 minutes", SnoozeLength::Minutes(15)),
        entry("h", "1 hour", SnoozeLength::Minutes(60)),
        entry("c", "until it changes", SnoozeLength::Change),
    ];
    let of_one = rows.first().and_then(|row| model.transactions.get(row));
    let what = match (rows.len(), of_one.or_else(|| model.at_hand())) {
        (0 | 1, Some(tx)) => format!("Snooze {} for", tx.params.transaction_id.short("…")),
        (0 | 1, None) => "Snooze for".to_owned(),
        (many, _) => format!("Snooze the alerts of {many} marked transactions for"),
    };
    model.overlay = Overlay::Menu(Menu::new(what, "Snoozed alerts stay in the list, below firing ones.", entries));
}

/// Opens the prompt for the ticket; of a single transaction it begins with the one it has.
pub(super) fn ticket(model: &mut Model, now: Mono) {
    let rows = targets(model, now);
    let present = match rows.as_slice() {
        [] => return,
        [row] => model.transactions.get(row).and_then(|tx| tx.params.ticket.clone()),
        _ => None,
    };
    open(model, Purpose::Ticket(rows), present.unwrap_or_default());
}

/// Opens the prompt for the name of a file: for the marked ones, or else for all that is shown.
pub(super) fn export(model: &mut Model, now: Now) {
    let is_open = model.screen == Screen::Detail;
    if !is_open && !marks::end_range(model, now.mono) {
        return;
    }
    if !is_open && model.list.total == Some(0) && model.marks.is_empty() {
        model.notify(Tone::Bad, "Nothing to export: no transaction is marked or shown.", now.mono);
        return;
    }
    let purpose = match model.marks.count() {
        _ if is_open => Purpose::Export(model.list.selected.into_iter().collect()),
        0 => Purpose::ExportShown(model.list.total),
        _ => Purpose::Export(model.marks.rows()),
    };
    // A name that isn't there yet.
    let local = now.wall.with_timezone(&model.setting.zone);
    open(model, purpose, local.format("hoptop-%Y-%m-%d-%H%M%S.csv").to_string());
}

fn open(model: &mut Model, purpose: Purpose, text: String) {
    model.overlay = Overlay::Prompt(Prompt::new(purpose, text));
}
