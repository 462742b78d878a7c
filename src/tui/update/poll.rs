//! Polling now: one, or what is marked. Many cost much of the budget, so it says how much before it asks.

use std::time::Duration;

use super::{Effect, marks};
use crate::{
    clock::Now,
    domain::{ids::RowId, poller::PollerHealth, span},
    tui::{
        command::Id,
        model::{
            Model, Overlay, Tone,
            menu::{Choice, Entry, Menu},
        },
    },
};

/// So many are asked for without a question.
const FEW: usize = 10;

/// Asks for the selected one.
pub(super) fn selected(model: &mut Model, now: Now) -> Vec<Effect> {
    model.list.chosen |= model.list.selected.is_some();
    model.list.selected.map_or_else(Vec::new, |row| ask(model, vec![row], now))
}

/// Asks for the marked ones; if these are many, only after a yes.
pub(super) fn marked(model: &mut Model, now: Now) -> Vec<Effect> {
    if !marks::end_range(model, now.mono) {
        return Vec::new();
    }
    let rows = model.marks.rows();
    match rows.len() {
        0 => {
            let [mark, poll] = [Id::Mark, Id::PollNow].map(|id| model.setting.keys.shown(id));
            model.notify(
                Tone::Bad,
                format!("No transaction is marked: {mark} marks, {poll} polls this one."),
                now.mono,
            );
            Vec::new()
        }
        1..=FEW => ask(model, rows, now),
        count => {
            let yes = (format!("yes, poll all {count}"), Choice::PollNow(rows));
            let menu = Menu::confirm(format!("Poll {count} now?"), cost(model, count, now), yes);
            model.overlay = Overlay::Menu(menu);
            Vec::new()
        }
    }
}

/// Offers how long nothing is to be polled; if nothing is by now, polls again.
pub(super) fn pause(model: &mut Model, now: Now) -> Vec<Effect> {
    if model.budgets(now.wall).any(|budget| budget.paused_until.is_some()) {
        return vec![Effect::Pause(None)];
    }
    let entry = |key, label, minutes| Entry::new(key, label, Choice::Pause(minutes));
    let entries = vec![entry("m", "15 minutes", 15), entry("h", "1 hour", 60)];
    let remark = "Others can use the budget meanwhile. Problems stay unseen; transactions that you poll by hand are still polled.";
    model.overlay = Overlay::Menu(Menu::new("Pause polling for", remark, entries));
    Vec::new()
}

/// What so many requests cost.
fn cost(model: &Model, count: usize, now: Now) -> String {
    let allowed = model.live_poller(now.wall).and_then(|report| Some(report.need.as_ref()?.allowed));
    let Some(allowed) = allowed.filter(|allowed| *allowed > 0.0) else {
        return format!("{count} requests, as soon as somebody polls.");
    };
    let spent = |share: f64| {
        let span = Duration::try_from_secs_f64(count as f64 / allowed / share);
        span.map_or_else(|_| "more than anybody waits".to_owned(), span::long)
    };
    let (all, half) = (spent(1.0), spent(0.5));
    // What a person asks for gets at most half of the budget, so that the others aren't forgotten.
    format!(
        "{count} requests, about {all} of the budget at {allowed:.2} rps. They get half of it: done in about {half}."
    )
}

/// Asks whoever polls, and says whether anybody does.
pub(super) fn ask(model: &mut Model, rows: Vec<RowId>, now: Now) -> Vec<Effect> {
    let obstacle = match model.live_poller(now.wall).map(|report| report.health) {
        None | Some(PollerHealth::Waiting) => Some("No process polls at the moment"),
        Some(PollerHealth::Unreachable) => Some("The service can't be reached"),
        Some(PollerHealth::Unauthorized) => Some("The service refuses the integrator ID"),
        Some(
            PollerHealth::Live
            | PollerHealth::Paused
            | PollerHealth::Throttled
            | PollerHealth::Stopped
            | PollerHealth::Unknown,
        ) => None,
    };
    let told = match (obstacle, rows.len()) {
        (Some(why), 1) => format!("{why}; it is asked about as soon as that has passed."),
        (Some(why), count) => format!("{why}; the {count} are asked about as soon as that has passed."),
        (None, 1) => "Polled next (one request, at least 5 s after the last one).".to_owned(),
        (None, count) => format!("{count} asked to be polled next ({count} requests)."),
    };
    model.notify(if obstacle.is_some() { Tone::Bad } else { Tone::Good }, told, now.mono);
    vec![Effect::PollNow(rows)]
}
