//! How far a watch is: a line on standard error that is drawn anew, while that is a terminal.
//!
//! It knows counts and moments. It must never print into a pipe, nor over a line of the watch's own.

use std::{collections::HashMap, io, time::Duration};

use chrono::{DateTime, Utc};
use indicatif::{ProgressBar, ProgressStyle};

use crate::domain::{
    ids::RowId,
    poller::{PollerHealth, PollerReport},
    span,
};

/// From one drawing to the next while nothing happens: the time that is left goes by.
pub(super) const REST: Duration = Duration::from_secs(1);

/// Where the line stands, if there is one. Clones are the same.
#[derive(Clone)]
pub(super) struct Line(Option<ProgressBar>);

impl Line {
    /// Lets something be printed there.
    pub(super) fn beside<T>(&self, print: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match &self.0 {
            Some(line) => line.suspend(print),
            None => print(),
        }
    }
}

/// The line, and what it tells.
pub(super) struct Bar {
    /// Where it stands.
    pub(super) line: Line,
    /// By when each of those that are awaited should be settled.
    expected: HashMap<RowId, DateTime<Utc>>,
}

impl Bar {
    /// None is drawn unless `is_wanted`; with `ascii` without block characters.
    pub(super) fn new(is_wanted: bool, ascii: bool) -> Self {
        let line = is_wanted.then(|| ProgressBar::new(0).with_style(style(ascii)));
        Self { line: Line(line), expected: HashMap::new() }
    }

    pub(super) fn is_drawn(&self) -> bool {
        self.line.0.is_some()
    }

    /// By when this one should be settled; nobody waits for it if that is nothing.
    pub(super) fn expect(&mut self, row: RowId, at: Option<DateTime<Utc>>) {
        match at {
            Some(at) => drop(self.expected.insert(row, at)),
            None => drop(self.expected.remove(&row)),
        }
    }

    /// Draws it: so many of so many need no more waiting.
    pub(super) fn show(&self, (done, all): (usize, usize), poller: Option<&PollerReport>, now: DateTime<Utc>) {
        if let Some(line) = &self.line.0 {
            line.set_length(all as u64);
            line.set_position(done as u64);
            let parts = [poller.map(budget), left(self.expected.values().copied(), poller, now)];
            line.set_message(parts.into_iter().flatten().collect::<Vec<_>>().join(", "));
            line.tick();
        }
    }

    /// Takes it away.
    pub(super) fn end(&self) {
        if let Some(line) = &self.line.0 {
            line.finish_and_clear();
        }
    }
}

fn style(ascii: bool) -> ProgressStyle {
    let style = ProgressStyle::with_template("{bar:20} {pos} of {len} settled  {wide_msg}");
    // The template is a constant; a wrong one is drawn as the library draws what it isn't told.
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars(if ascii { "#>-" } else { "█▌░" })
}

/// How much of its budget the poller uses.
fn budget(report: &PollerReport) -> String {
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

/// The time until the last of them should be settled, and seen to be.
fn left(
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
    let until_asked = poller.and_then(|report| report.need).map_or(Duration::ZERO, |need| need.sweep());
    let left = last.map(|at| span::between(now, at).saturating_add(until_asked));
    match (left, late) {
        (None, 0) => None,
        (None, late) => Some(format!("{late} later than most")),
        (Some(left), 0) => Some(format!("about {} left", span::long(left))),
        (Some(left), late) => Some(format!("about {} left, {late} later than most", span::long(left))),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::domain::need::Need;

    #[test]
    fn the_time_left_is_that_of_the_last_one_and_of_the_turn_it_waits_for() {
        let now = DateTime::UNIX_EPOCH;
        let at = |seconds| now + TimeDelta::seconds(seconds);
        let report =
            PollerReport { need: Some(Need { polls: 0.1, allowed: 1.0, unsettled: 60 }), ..PollerReport::default() };
        let conditions = |expected: &[DateTime<Utc>], poller| left(expected.iter().copied(), poller, now);
        assert_eq!(conditions(&[], None), None);
        assert_eq!(conditions(&[at(60), at(300)], None).unwrap(), "about 5m left");
        assert_eq!(conditions(&[at(60), at(300)], Some(&report)).unwrap(), "about 6m left");
        assert_eq!(conditions(&[at(-1), at(300)], None).unwrap(), "about 5m left, 1 later than most");
        assert_eq!(conditions(&[at(-1), at(0)], Some(&report)).unwrap(), "2 later than most");
    }
}
