//! The update of the list of alerts: opening, loading again after changes of the store, acknowledging.
//!
//! A transaction that was opened from this list returns to this list.

use std::time::Duration;

use super::state::{AlertPage, AlertTab};
use crate::{
    clock::MonotonicTime,
    domain::advice,
    store::ListRow,
    tui::{
        dialogs::Dialog,
        effect::Effect,
        model::{MessageTone, Model, Screen},
        update::actions,
    },
};

/// The shortest time between two loads.
const MIN_LOAD_INTERVAL: Duration = Duration::from_secs(1);

/// Opens the list with the tab of all active alerts: an alert that fires may be in another tab than the last open one.
pub(crate) fn open_all_tab(model: &mut Model, now: MonotonicTime) {
    model.alert_list.tab = AlertTab::All;
    open(model, now)
}

/// Opens the list with the last open tab.
pub(crate) fn open(model: &mut Model, now: MonotonicTime) {
    model.screen = Screen::Alerts;
    load(model, now)
}

/// Loads the alerts; while a load is running, they are loaded once more after it.
fn load(model: &mut Model, now: MonotonicTime) {
    let list = &mut model.alert_list;
    list.is_stale = list.is_loading;
    if !std::mem::replace(&mut list.is_loading, true) {
        list.load_requested_at = Some(now);
        model.effects.push(Effect::LoadAlerts)
    }
}

/// Marks the alerts as stale after a change of the store, and loads the alerts if a load is due.
pub(crate) fn mark_stale(model: &mut Model, now: MonotonicTime) {
    model.alert_list.is_stale = true;
    load_if_due(model, now)
}

/// Loads the alerts if the list is shown and stale, and wasn't loaded in the last second.
pub(crate) fn load_if_due(model: &mut Model, now: MonotonicTime) {
    let list = &model.alert_list;
    let may_load = !list.is_loading && list.load_requested_at.is_none_or(|at| now.since(at) >= MIN_LOAD_INTERVAL);
    if list.is_stale && may_load && model.screen == Screen::Alerts {
        load(model, now);
    }
}

/// Shows the loaded alerts, or the error.
pub(crate) fn on_loaded(model: &mut Model, read: Result<AlertPage, String>, now: MonotonicTime) {
    model.alert_list.is_loading = false;
    match read {
        Ok(page) => model.alert_list.apply_page(page),
        Err(error) => {
            model.alert_list.is_stale = true;
            model.show_message(MessageTone::Bad, error, now);
        }
    }
}

/// Opens the transaction of the selected alert; unfolds a folded group of several alerts.
pub(crate) fn open_selected(model: &mut Model, now: MonotonicTime) {
    let Some(row) = model.alert_list.selected_row().cloned() else { return };
    if model.alert_list.is_folded(&row.alert) && model.alert_list.group(&row.alert).len() > 1 {
        return model.alert_list.toggle_fold();
    }
    let (Some(transaction), Some(id)) = (row.transaction, row.alert.transaction) else {
        let text = format!("This alert concerns the whole profile: {}", advice::profile_action(row.alert.rule));
        return model.show_message(MessageTone::Bad, text, now);
    };
    // The loaded part of the list may lack this transaction. It is shown as loaded here until its history is loaded.
    model.refresh_transaction(ListRow { alerts: model.alert_list.alerts_of(id), transaction });
    (model.list.selected, model.list.is_chosen, model.list.pending_selection) = (Some(id), true, None);
    model.open_detail(true);
}

/// Opens the prompt for the note of an acknowledgement.
pub(crate) fn acknowledge(model: &mut Model, now: MonotonicTime) {
    match model.alert_list.selected_row() {
        None => {}
        Some(row) if row.alert.cleared_at.is_some() => {
            model.show_message(MessageTone::Bad, "This alert is resolved, so it can't be acknowledged.", now);
        }
        Some(row) => {
            let prompt = actions::note_prompt(&row.alert, model.alert_list.targets());
            model.dialog = Dialog::Prompt(prompt);
        }
    }
}
