//! Polls on request: the selected transaction, or the marked ones. Also pauses polling.
//!
//! A large request must show its cost and wait for a confirmation.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::actions;
use crate::{
    clock::Now,
    domain::{
        ids::RowId,
        poller::{PollerHealth, PollerReport},
        span, text,
    },
    tui::{
        command::CommandId,
        dialogs::{
            Dialog,
            menu::state::{Menu, MenuChoice, MenuEntry},
        },
        effect::Effect,
        model::{MessageTone, Model, Screen},
        screens::list::update::marks,
    },
};

/// The largest number of polls without a confirmation.
pub(crate) const MAX_UNCONFIRMED: usize = 10;

/// Requests a poll of the selected transaction.
pub(crate) fn poll_selected(model: &mut Model, now: Now) {
    let selected = match model.screen {
        Screen::Alerts => model.alert_list.target_transactions().first().copied(),
        Screen::List | Screen::Detail | Screen::Stats | Screen::Log => model.list.selected,
    };
    selected.into_iter().for_each(|row| request_polls(model, vec![row], now));
}

/// Requests polls of the marked transactions, after a confirmation if there are many.
pub(crate) fn poll_marked(model: &mut Model, now: Now) {
    if !marks::end_range(model, now.mono) {
        return;
    }
    let rows = model.marks.rows();
    match rows.len() {
        0 => {
            let [mark, poll] = [CommandId::Mark, CommandId::PollNow].map(|id| model.setting.keys.shown(id));
            let text = format!("No transaction is marked: {mark} marks one, {poll} polls the selected one.");
            actions::refuse(model, text, now.mono)
        }
        1..=MAX_UNCONFIRMED => request_polls(model, rows, now),
        count => {
            let yes = (format!("yes, poll all {count}"), MenuChoice::PollNow(rows));
            let menu = Menu::confirm(format!("Poll {count} transactions now?"), describe_cost(model, count, now), yes);
            model.dialog = Dialog::Menu(menu);
        }
    }
}

/// Opens the menu with the lengths of a pause; while polling is paused, resumes it.
pub(crate) fn pause(model: &mut Model, now: Now) {
    if model.budgets(now.wall).any(|budget| budget.paused_until.is_some()) {
        return model.effects.push(Effect::Pause(None));
    }
    let entry = |key, label, minutes| MenuEntry::new(key, label, MenuChoice::Do(Effect::Pause(Some(minutes))));
    let entries = vec![entry("m", "15 minutes", 15), entry("h", "1 hour", 60)];
    let remark =
        "Other programs can use the budget. hoptop does not notice changes, but still polls transactions on request.";
    model.dialog = Dialog::Menu(Menu::new("Pause polling for", remark, entries));
}

/// Pauses polling for a typed duration: whole minutes, at least one and at most a day.
pub(crate) fn pause_for(model: &mut Model, typed: &str, now: Now) {
    const MAX_MINUTES: u64 = 24 * 60;
    let minutes = span::parse(typed).map(|duration| duration.as_secs().div_ceil(60));
    match minutes {
        Ok(minutes @ 1..=MAX_MINUTES) => model.effects.push(Effect::Pause(i64::try_from(minutes).ok())),
        Ok(_) => actions::refuse(model, "A pause lasts at least 1m and at most 24h.", now.mono),
        Err(why) => actions::refuse(model, text::clean(&why), now.mono),
    }
}

/// Returns a sentence about the cost of this many requests.
fn describe_cost(model: &Model, count: usize, now: Now) -> String {
    // The marked transactions may belong to several profiles, each with a budget of its own.
    let allowed = match model.budgets(now.wall).collect::<Vec<_>>().as_slice() {
        [only] => only.report.and_then(|report| Some(report.need.as_ref()?.allowed)),
        _ => return format!("{count} requests, each from the budget of its profile."),
    };
    let Some(allowed) = allowed.filter(|allowed| *allowed > 0.0) else {
        return format!("{count} requests, sent when a process polls again.");
    };
    let duration = |share: f64| {
        let span = Duration::try_from_secs_f64(count as f64 / allowed / share);
        span.map_or_else(|_| "a very long time".to_owned(), span::long)
    };
    let (all, half) = (duration(1.0), duration(0.5));
    // Requests of a person get at most half of the budget, so that the other transactions are polled too.
    format!(
        "{count} requests, about {all} of the whole budget ({allowed:.2} requests/s). They get half of it, so they take about {half}."
    )
}

/// Returns why a profile's requests can't be sent now.
fn obstacle(report: Option<&PollerReport>, now: DateTime<Utc>) -> Option<&'static str> {
    /// Somebody who asks for a poll doesn't notice a shorter rest.
    const SHORT_REST: TimeDelta = TimeDelta::seconds(5);
    let is_resting = report.and_then(|report| report.resting_until).is_some_and(|until| until > now + SHORT_REST);
    match report.map(|report| report.health) {
        None | Some(PollerHealth::Waiting) => Some("No process is polling"),
        Some(PollerHealth::Unreachable) => Some("The service can't be reached"),
        Some(PollerHealth::Unauthorized) => Some("The service refuses the integrator ID"),
        Some(PollerHealth::Throttled) if is_resting => Some("The service throttles the integrator ID"),
        Some(
            PollerHealth::Live
            | PollerHealth::Paused
            | PollerHealth::Throttled
            | PollerHealth::Stopped
            | PollerHealth::Unknown,
        ) => None,
    }
}

/// Requests polls from the pollers, and shows whether a poller can send them now.
pub(crate) fn request_polls(model: &mut Model, rows: Vec<RowId>, now: Now) {
    // Marked transactions that aren't loaded may belong to any of the shown profiles.
    let is_loaded = rows.iter().all(|row| model.transaction(*row).is_some());
    let has_row =
        |profile: &str| rows.iter().any(|row| model.transaction(*row).is_some_and(|tx| tx.profile == profile));
    let budgets = model.budgets(now.wall).filter(|budget| !is_loaded || has_row(budget.profile));
    let all: Option<Vec<&str>> = budgets.map(|budget| obstacle(budget.report, now.wall)).collect();
    // Without any budget, the transaction belongs to a profile that isn't shown.
    let obstacle = all.map(|obstacles| obstacles.first().copied().unwrap_or("This dashboard doesn't poll its profile"));
    let sentence = match (obstacle, rows.len()) {
        (Some(why), 1) => format!("{why}. The transaction will be polled when polling works again."),
        (Some(why), count) => format!("{why}. The {count} transactions will be polled when polling works again."),
        (None, 1) => "This transaction is polled next, at least 5 s after its last poll.".to_owned(),
        (None, count) => format!("{count} transactions are polled next ({count} requests)."),
    };
    model.show_message(if obstacle.is_some() { MessageTone::Bad } else { MessageTone::Good }, sentence, now.mono);
    model.effects.push(Effect::PollNow(rows))
}
