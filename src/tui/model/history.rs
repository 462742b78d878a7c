//! A transaction's history as lines for people.

use chrono::{DateTime, Utc};

use crate::{
    domain::{
        change::{Change, What},
        span,
        status::RouterStatus,
    },
    store::HistoryLine,
};

/// One line of a transaction's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// When it happened.
    pub at: DateTime<Utc>,
    /// What happened.
    pub text: String,
}

impl From<&HistoryLine> for HistoryEntry {
    fn from(line: &HistoryLine) -> Self {
        let text = match line {
            HistoryLine::Observation(answer) => answer.sentence(),
            HistoryLine::Change(change) => change.what.sentence(),
        };
        Self { at: line.at(), text }
    }
}

/// What happened to a transaction, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Line by line, the newest first, as many as a person reads.
    pub entries: Vec<HistoryEntry>,
    /// Each status as we saw it, and since when; the present one last.
    pub phases: Vec<(String, DateTime<Utc>)>,
}

impl History {
    /// From the store's lines, the oldest first, and the present status.
    pub fn new(lines: &[HistoryLine], present: Option<&RouterStatus>) -> Self {
        /// More is what `hoptop show` is for.
        const MOST: usize = 200;
        let entries = lines.iter().rev().take(MOST).map(HistoryEntry::from).collect();
        let turns = lines.iter().filter_map(|line| match line {
            HistoryLine::Change(Change { at, what: What::StatusChanged { previous }, .. }) => Some((*at, previous)),
            _ => None,
        });
        let (starts, befores): (Vec<_>, Vec<_>) = turns.unzip();
        // What a phase was is said by the turn that ended it.
        let ended = befores.iter().skip(1).map(|before| Option::clone(before).unwrap_or_default());
        let names = ended.chain(present.map(ToString::to_string));
        Self { entries, phases: names.zip(starts).collect() }
    }

    /// `not_found 9s > ongoing 37m 53s`: how long it was in each status, as far as our polls can tell.
    pub fn observed(&self, now: DateTime<Utc>) -> Option<String> {
        let ends = self.phases.iter().skip(1).map(|(_, at)| *at).chain([now]);
        let phase = |((status, from), to): (&(String, DateTime<Utc>), _)| {
            format!("{status} {}", span::long(span::between(*from, to)))
        };
        let phases: Vec<_> = self.phases.iter().zip(ends).map(phase).collect();
        Some(phases.join(" > ")).filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn phases_are_named_by_the_turn_that_ended_them() {
        let at = |seconds| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        let turn = |seconds, previous: Option<&str>| {
            let what = What::StatusChanged { previous: previous.map(str::to_owned) };
            HistoryLine::Change(Change { seq: seconds, at: at(seconds), profile: "p".into(), transaction: None, what })
        };
        let lines = [turn(1, None), turn(10, Some("not_found")), turn(70, Some("ongoing"))];
        let history = History::new(&lines, Some(&RouterStatus::NeedsGas));
        let told = history.observed(at(75)).unwrap();
        assert_eq!(told, "not_found 9s > ongoing 1m > needs_gas 5s");
        assert_eq!(History::new(&[], None).observed(at(5)), None);
        assert_eq!(history.entries[0].at, at(70));
    }
}
