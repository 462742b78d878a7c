//! The progress bar of a watch: a line on standard error that is redrawn, if standard error is a terminal.
//!
//! The module knows counts and times, and must never print into a pipe, nor over another line of the watch.

use std::{collections::HashMap, time::Duration};

use chrono::{DateTime, Utc};
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    domain::{
        ids::RowId,
        poller::{PollerHealth, PollerReport},
        span,
    },
    runtime::stderr::print_line,
};

/// The time between two drawings while nothing changes: the remaining time counts down.
pub(crate) const REDRAW_INTERVAL: Duration = Duration::from_secs(1);

/// A handle on the bar, which may be hidden. Clones refer to the same bar.
#[derive(Clone)]
pub(crate) struct WatchBarHandle(ProgressBar);

impl WatchBarHandle {
    /// Runs `print` while the bar is cleared, and redraws the bar afterwards.
    pub(crate) fn print_above<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.suspend(print)
    }

    /// Prints a line on standard error, above the bar.
    pub(crate) fn print_line(&self, line: &str) {
        self.print_above(|| print_line(line));
    }
}

/// The progress bar and the data that it shows.
pub(crate) struct WatchBar {
    pub(crate) handle: WatchBarHandle,
    /// By transaction: the time by which an awaited one should be settled.
    expected: HashMap<RowId, DateTime<Utc>>,
}

impl WatchBar {
    /// Creates the bar. It is drawn only if `is_drawn`; with `ascii` it has no block characters.
    pub(crate) fn new(is_drawn: bool, ascii: bool) -> Self {
        let bar = if is_drawn { ProgressBar::new(0).with_style(style(ascii)) } else { ProgressBar::hidden() };
        Self { handle: WatchBarHandle(bar), expected: HashMap::new() }
    }

    pub(crate) fn is_drawn(&self) -> bool {
        !self.handle.0.is_hidden()
    }

    /// Sets the time by which a transaction should be settled; `None` if the transaction isn't awaited.
    pub(crate) fn set_expected(&mut self, row: RowId, at: Option<DateTime<Utc>>) {
        match at {
            Some(at) => drop(self.expected.insert(row, at)),
            None => drop(self.expected.remove(&row)),
        }
    }

    /// Draws the bar: `done` of `all` transactions are no longer awaited.
    pub(crate) fn draw(&self, done: usize, all: usize, poller: Option<&PollerReport>, now: DateTime<Utc>) {
        // Nothing of nothing would look complete.
        if all > 0 && self.is_drawn() {
            let bar = &self.handle.0;
            bar.set_length(all as u64);
            bar.set_position(done as u64);
            let parts = [poller.map(budget_text), time_left_text(self.expected.values().copied(), poller, now)];
            bar.set_message(parts.into_iter().flatten().collect::<Vec<_>>().join(", "));
            bar.tick();
        }
    }

    /// Removes the bar from the terminal.
    pub(crate) fn remove(&self) {
        self.handle.0.finish_and_clear();
    }
}

fn style(ascii: bool) -> ProgressStyle {
    let style = ProgressStyle::with_template("{bar:20} {pos} of {len} settled  {wide_msg}");
    // The template is a constant, so it is valid; an invalid one would give the library's default style.
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars(if ascii { "#>-" } else { "█▌░" })
}

/// Returns how much of its budget the poller uses, or why it doesn't poll.
fn budget_text(report: &PollerReport) -> String {
    match report.health {
        PollerHealth::Live => format!("{:.1} of {} requests/s", report.used, report.rps),
        health @ (PollerHealth::Paused
        | PollerHealth::Throttled
        | PollerHealth::Unreachable
        | PollerHealth::Unauthorized
        | PollerHealth::Stopped
        | PollerHealth::Waiting
        | PollerHealth::Unknown) => health.to_string(),
    }
}

/// Returns the time until the last transaction should be settled and polled, and the number of late transactions.
fn time_left_text(
    expected: impl Iterator<Item = DateTime<Utc>>,
    poller: Option<&PollerReport>,
    now: DateTime<Utc>,
) -> Option<String> {
    let (mut late, mut last) = (0_usize, None);
    for at in expected {
        match at > now {
            true => last = last.max(Some(at)),
            false => late += 1,
        }
    }
    let until_polled = poller.and_then(|report| report.need).map_or(Duration::ZERO, |need| need.sweep());
    let left = last.map(|at| span::between(now, at).saturating_add(until_polled));
    match (left, late) {
        (None, 0) => None,
        (None, late) => Some(format!("{late} late")),
        (Some(left), 0) => Some(format!("about {} left", span::long(left))),
        (Some(left), late) => Some(format!("about {} left, {late} late", span::long(left))),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::domain::need::Need;

    #[test]
    fn time_left_is_that_of_the_last_transaction_plus_one_sweep() {
        let now = DateTime::UNIX_EPOCH;
        let at = |seconds| now + TimeDelta::seconds(seconds);
        let report =
            PollerReport { need: Some(Need { polls: 0.1, allowed: 1.0, unsettled: 60 }), ..PollerReport::default() };
        let text = |expected: &[DateTime<Utc>], poller| time_left_text(expected.iter().copied(), poller, now);
        assert_eq!(text(&[], None), None);
        assert_eq!(text(&[at(60), at(300)], None).unwrap(), "about 5m left");
        assert_eq!(text(&[at(60), at(300)], Some(&report)).unwrap(), "about 6m left");
        assert_eq!(text(&[at(-1), at(300)], None).unwrap(), "about 5m left, 1 late");
        assert_eq!(text(&[at(-1), at(0)], Some(&report)).unwrap(), "2 late");
    }
}
