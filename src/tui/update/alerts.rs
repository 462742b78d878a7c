//! The alerts' own list: opened, read anew as the store changes, and gone through.
//!
//! What is opened from here leads back here.

use std::time::Duration;

use super::{Effect, act};
use crate::{
    clock::Mono,
    domain::{advice, alert::Subject},
    store::Listed,
    tui::model::{
        Model, Overlay, Screen, Tone,
        alerts::{AlertPage, AlertTab},
    },
};

/// It is read at most so often.
const REST: Duration = Duration::from_secs(1);

/// Shows all that stands, whatever was shown the last time: what somebody doesn't look at may fire.
pub(super) fn begin(model: &mut Model, now: Mono) -> Vec<Effect> {
    model.alert_list.tab = AlertTab::All;
    open(model, now)
}

/// Shows it as it was.
pub(super) fn open(model: &mut Model, now: Mono) -> Vec<Effect> {
    model.screen = Screen::Alerts;
    read(model, now)
}

fn read(model: &mut Model, now: Mono) -> Vec<Effect> {
    (model.alert_list.stale, model.alert_list.asked_at) = (false, Some(now));
    vec![Effect::LoadAlerts]
}

/// Marks the alerts as stale after a change of the store, and reads them if that is due.
pub(super) fn mark_stale(model: &mut Model, now: Mono) -> Vec<Effect> {
    model.alert_list.stale = true;
    read_if_due(model, now)
}

/// Reads it if it may look otherwise, and wasn't read just now.
pub(super) fn read_if_due(model: &mut Model, now: Mono) -> Vec<Effect> {
    let list = &model.alert_list;
    let rested = list.asked_at.is_none_or(|at| now.since(at) >= REST);
    let due = list.stale && rested && model.screen == Screen::Alerts;
    if due { read(model, now) } else { Vec::new() }
}

/// It was read, or why it wasn't.
pub(super) fn on_read(model: &mut Model, read: Result<AlertPage, String>, now: Mono) {
    match read {
        Ok(page) => model.alert_list.take_in(page),
        Err(error) => {
            model.alert_list.stale = true;
            model.notify(Tone::Bad, error, now);
        }
    }
}

/// Opens the transaction that the selected alert is about.
pub(super) fn enter(model: &mut Model, now: Mono) {
    let Some(row) = model.alert_list.row().cloned() else { return };
    let (Some(transaction), Subject::Transaction(id)) = (row.transaction, row.alert.subject) else {
        let text = format!("This alert concerns the whole profile: {}", advice::profile_action(row.alert.rule));
        return model.notify(Tone::Bad, text, now);
    };
    // As it was read here, until its history brings it anew; the list's own part may not have it.
    model.refresh_transaction(Listed { alerts: model.alert_list.alerts_of(id), transaction });
    (model.list.selected, model.list.chosen, model.list.wanted) = (Some(id), true, None);
    model.alert_list.is_behind = true;
    model.open_detail();
}

/// Where Esc leads from what is open, or from here.
pub(super) fn back(model: &mut Model, now: Mono) -> Vec<Effect> {
    let was_behind = std::mem::take(&mut model.alert_list.is_behind);
    let is_over = model.screen == Screen::List || model.is_at_detour();
    let count = (is_over && model.end_temporary_view()).then_some(Effect::Count);
    if was_behind && matches!(model.screen, Screen::Detail) {
        return open(model, now).into_iter().chain(count).collect();
    }
    model.screen = Screen::List;
    // What was open may have left the view meanwhile.
    model.mark_stale();
    count.into_iter().collect()
}

/// Asks for the note of an acknowledgement.
pub(super) fn acknowledge(model: &mut Model, now: Mono) {
    match model.alert_list.row() {
        None => {}
        Some(row) if row.alert.cleared_at.is_some() => {
            model.notify(Tone::Bad, "No alert to acknowledge: it is resolved.", now);
        }
        Some(row) => model.overlay = Overlay::Prompt(act::note_prompt(&row.alert)),
    }
}
