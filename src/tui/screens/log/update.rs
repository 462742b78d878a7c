//! The update of the log's screen: the log is loaded every second while it is shown. Also the error report.

use std::time::Duration;

use super::state::LogTail;
use crate::{
    clock::{MonotonicTime, Now},
    domain::{
        ids::{RowId, TxHash},
        poller::PollerHealth,
        span,
    },
    tui::{
        dialogs::Dialog,
        effect::Effect,
        model::{MessageTone, Model, Screen},
        update::actions,
    },
};

/// The time between two loads.
const LOAD_INTERVAL: Duration = Duration::from_secs(1);
/// The number of log lines in a report.
const REPORTED: usize = 50;

/// Loads the log if it is shown and wasn't loaded in the last second.
pub(crate) fn load_if_due(model: &mut Model, now: MonotonicTime) {
    if model.screen != Screen::Log || model.log.load_requested_at.is_some_and(|at| now.since(at) < LOAD_INTERVAL) {
        return;
    }
    model.log.load_requested_at = Some(now);
    model.effects.push(Effect::LoadLog(model.log.length()));
}

/// Shows the end of the log that was loaded; `None` if the log has nothing new.
pub(crate) fn on_log(model: &mut Model, loaded: Result<Option<LogTail>, String>) {
    if let Some(loaded) = loaded.transpose() {
        model.log.apply_log(loaded);
    }
}

/// Looks for the transaction that the line at the cursor is about.
pub(crate) fn find_transaction(model: &mut Model, now: MonotonicTime) {
    match model.log.line().map(|line| line.about.as_str()) {
        None => {}
        Some("") => actions::refuse(model, "This line is about no single transaction.", now),
        Some(about) => model.effects.push(Effect::FindLogged(TxHash::new(about))),
    }
}

/// Goes to the transaction that was found, unless the log was left meanwhile.
pub(crate) fn on_found(model: &mut Model, row: Option<RowId>, now: MonotonicTime) {
    match row {
        _ if model.screen != Screen::Log || !matches!(model.dialog, Dialog::None) => {}
        Some(row) => model.go_to_row(row),
        None => model.show_message(MessageTone::Bad, "The transaction of this line is no longer tracked.", now),
    }
}

/// Copies an error report for a maintainer. The report must never contain the ID or a response body.
pub(crate) fn report(model: &mut Model, now: Now) {
    let (columns, rows) = model.size;
    let [critical, warning, info] = model.overview.alerts;
    let id = model.setting.shown_id.as_ref();
    let id = id.map_or_else(|| "none".to_owned(), |id| format!("{id} (its last characters)"));
    let mut lines = vec![
        format!(
            "hoptop {} on {} {}, terminal {columns}x{rows}",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH
        ),
        format!("as of {}", span::stamp(now.wall, model.setting.zone)),
        format!("profile {}, integrator ID {id}", model.setting.profile),
    ];
    lines.push(match &model.own.poller {
        None => "polling: no poller has run yet".to_owned(),
        Some(report) => format!(
            "polling: {}, {} requests, {} throttled, {} failed, id limit {} requests/s, used {:.2}, share {}, last error {}",
            if report.is_live(now.wall) { report.health } else { PollerHealth::Stopped },
            report.requests,
            report.throttled,
            report.failed,
            report.rps,
            report.used,
            report.share,
            report.last_error.as_deref().unwrap_or("none"),
        ),
    });
    let need = model.own.poller.as_ref().and_then(|report| report.need.as_ref());
    lines.push(format!("budget: {}", need.map_or_else(|| "not known".to_owned(), |need| need.sentence())));
    let oldest = model.own.oldest_age(now.wall).map_or_else(|| "-".into(), span::long);
    lines.push(format!("oldest answer {oldest}; alerts !! {critical} ! {warning} i {info}"));
    lines.extend(model.store_fault.iter().map(|store_fault| format!("store: {store_fault}")));
    lines.push(format!("the last lines of the log, newest first, without response bodies (at most {REPORTED}):"));
    lines.extend(log_lines(model).map(|line| format!("  {line}")));
    model.effects.push(Effect::Copy(lines.join("\n")))
}

fn log_lines(model: &Model) -> impl Iterator<Item = String> {
    model.log.all().iter().take(REPORTED).map(|line| {
        let body = if line.body.is_empty() { "" } else { " (with a response body)" };
        let about = if line.about.is_empty() { String::new() } else { format!(" | {}", line.about) };
        let profile_prefix = model.setting.profile_prefix(&line.profile);
        format!("{} {:<5} {profile_prefix}{}{about}{body}", span::rfc3339(line.at), line.level.name(), line.text)
    })
}
