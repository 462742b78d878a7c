//! The charts and the log: opened beside whatever a person is at, read anew as things happen, and left to where they came from.
//!
//! Reading the charts costs as much as is tracked, so they rest many times as long as that took.

use std::time::Duration;

use super::{Effect, alerts};
use crate::{
    clock::{Mono, Now},
    domain::{poller::PollerHealth, span},
    tui::model::{Model, Screen, Tone, log::LogTail, stats::Statistics},
};

/// The charts are read at most so often.
const CHARTS_REST: Duration = Duration::from_secs(5);
/// And take at most one in so many seconds.
const CHARTS_SHARE: u32 = 50;
/// The log is looked at so often.
const LOG_REST: Duration = Duration::from_secs(1);
/// Lines of the log in a report.
const REPORTED: usize = 50;

/// Shows the charts or the log.
pub(super) fn open(model: &mut Model, screen: Screen, now: Mono) -> Vec<Effect> {
    if !model.is_aside() {
        model.behind = model.screen;
    }
    model.screen = screen;
    (model.charts.stale, model.log.asked_at) = (true, None);
    read_if_due(model, now)
}

/// Back to where it was opened.
pub(super) fn back(model: &mut Model, now: Mono) -> Vec<Effect> {
    model.screen = model.behind;
    match model.screen {
        Screen::Alerts => alerts::open(model, now),
        Screen::List => {
            model.mark_stale();
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Reads what is open if it may look otherwise, and wasn't read just now.
pub(super) fn read_if_due(model: &mut Model, now: Mono) -> Vec<Effect> {
    match model.screen {
        Screen::Stats if model.charts.stale && !model.charts.reading && now >= model.charts.rest => {
            (model.charts.stale, model.charts.reading) = (false, true);
            vec![Effect::LoadStatistics]
        }
        Screen::Log if model.log.asked_at.is_none_or(|at| now.since(at) >= LOG_REST) => {
            model.log.asked_at = Some(now);
            vec![Effect::LoadLog(model.log.length())]
        }
        _ => Vec::new(),
    }
}

/// The charts were read, or why they weren't, and how long that took.
pub(super) fn on_statistics(
    model: &mut Model,
    (read, took): (Result<Statistics, String>, Duration),
    now: Mono,
) -> Vec<Effect> {
    (model.charts.reading, model.charts.rest) = (false, now + CHARTS_REST.max(took * CHARTS_SHARE));
    match read {
        Ok(read) => model.charts.take_in(read),
        Err(error) => {
            model.charts.stale = true;
            model.notify(Tone::Bad, error, now);
        }
    }
    Vec::new()
}

/// The log was read, or why it wasn't; nothing new stands in it if there is nothing.
pub(super) fn on_log(model: &mut Model, read: Result<Option<LogTail>, String>) -> Vec<Effect> {
    if let Some(read) = read.transpose() {
        model.log.take_in(read);
    }
    Vec::new()
}

/// Copies what somebody needs who is to find out what went wrong: never the ID, nor a body that came.
pub(super) fn report(model: &Model, now: Now) -> Vec<Effect> {
    vec![Effect::Copy(report_text(model, now))]
}

fn report_text(model: &Model, now: Now) -> String {
    let stamp = |at| span::stamp(at, model.setting.zone);
    let (columns, rows) = model.size;
    let [critical, warning, info] = model.overview.alerts;
    let mut lines = vec![
        format!(
            "hoptop {} on {} {}, terminal {columns}x{rows}",
            env!("CARGO_PKG_VERSION"),
            std::env::consts::OS,
            std::env::consts::ARCH
        ),
        format!("as of {}", stamp(now.wall)),
        format!("profile {}, integrator ID {}", model.setting.profile, shown_id(model)),
    ];
    lines.push(match &model.own.poller {
        None => "polling: nobody has polled yet".to_owned(),
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
    let oldest = model.oldest_age(now.wall).map_or_else(|| "-".into(), span::long);
    lines.push(format!("oldest answer {oldest}; alerts !! {critical} ! {warning} i {info}"));
    lines.extend(model.trouble.iter().map(|trouble| format!("store: {trouble}")));
    lines.push(format!("the last lines of the log, newest first, without the bodies that came (at most {REPORTED}):"));
    lines.extend(log_lines(model).map(|line| format!("  {line}")));
    lines.join("\n")
}

fn log_lines(model: &Model) -> impl Iterator<Item = String> {
    model.log.all().iter().take(REPORTED).map(|line| {
        let body = if line.body.is_empty() { "" } else { " (a body came)" };
        let about = if line.about.is_empty() { String::new() } else { format!(" | {}", line.about) };
        let whose = model.setting.whose(&line.profile);
        format!("{} {:<5} {whose}{}{about}{body}", span::rfc3339(line.at), line.level.word(), line.text)
    })
}

fn shown_id(model: &Model) -> String {
    match &model.setting.shown_id {
        Some(id) => format!("{id} (its end alone)"),
        None => "none".to_owned(),
    }
}
