//! A transaction's history as lines for people.

use std::{cmp::Reverse, collections::BTreeMap};

use chrono::{DateTime, Utc};

use crate::{
    domain::{
        change::{Change, What},
        duration_stats::RouteDurations,
        span,
    },
    store::{HistoryLine, Note},
};

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// An answer came, or none did.
    Poll,
    /// The transaction changed.
    Change,
    /// An alert was raised, taken on or cleared.
    Alert,
    /// A person wrote something.
    Note,
    /// A person did something.
    Edit,
}

impl EntryKind {
    /// As it is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Change => "change",
            Self::Alert => "alert",
            Self::Note => "note",
            Self::Edit => "edit",
        }
    }

    fn of(what: &What) -> Self {
        match what {
            What::Polled | What::PollFailed { .. } => Self::Poll,
            What::AlertRaised { .. }
            | What::AlertCleared { .. }
            | What::AlertAcknowledged { .. }
            | What::AlertUnacknowledged { .. } => Self::Alert,
            What::Imported => Self::Edit,
            what if what.is_housekeeping() => Self::Edit,
            _ => Self::Change,
        }
    }
}

/// One line of a transaction's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// When it happened.
    pub at: DateTime<Utc>,
    /// What kind of thing.
    pub kind: EntryKind,
    /// What happened.
    pub text: String,
}

impl From<&HistoryLine> for HistoryEntry {
    fn from(line: &HistoryLine) -> Self {
        let (kind, text) = match line {
            HistoryLine::Observation(answer, _) => (EntryKind::Poll, answer.sentence()),
            HistoryLine::Change(change) => (EntryKind::of(&change.what), change.what.sentence()),
        };
        // What stands in front of it says as much.
        let said = ["answer: ", "alert "].iter().find_map(|word| text.strip_prefix(word));
        Self { at: line.at(), kind, text: said.map_or_else(|| text.clone(), str::to_owned) }
    }
}

impl From<&Note> for HistoryEntry {
    fn from(note: &Note) -> Self {
        Self { at: note.at, kind: EntryKind::Note, text: note.text.clone() }
    }
}

/// When a step was seen. The service gives no times of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepSeen {
    /// When it was there for the first time.
    pub first: DateTime<Utc>,
    /// Since when it is as it is now.
    pub as_now: DateTime<Utc>,
}

/// What happened to a transaction, for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Line by line, the newest first, as many as a person reads.
    pub entries: Vec<HistoryEntry>,
    /// Each status as we saw it, and since when; the present one last.
    pub phases: Vec<(String, DateTime<Utc>)>,
    /// When each step was seen, by its place.
    pub steps: BTreeMap<usize, StepSeen>,
    /// What people wrote, the newest last.
    pub notes: Vec<Note>,
    /// What was observed of the transfers that go the same way.
    pub past: RouteDurations,
}

/// The lines without answers that say what the one before said: their bodies differ in running times only, and what else
/// differs stands in lines of its own.
fn without_repeats(lines: &[HistoryLine]) -> Vec<&HistoryLine> {
    let mut last = None;
    let is_news = |line: &&HistoryLine| match line {
        HistoryLine::Observation(answer, _) => last.replace(answer.summary.clone()) != Some(answer.summary.clone()),
        HistoryLine::Change(_) => true,
    };
    lines.iter().filter(is_news).collect()
}

fn steps_seen(lines: &[HistoryLine]) -> BTreeMap<usize, StepSeen> {
    let mut steps = BTreeMap::new();
    for line in lines {
        if let HistoryLine::Change(Change { at, what: What::StepAdded { index }, .. }) = line {
            steps.entry(*index).or_insert(StepSeen { first: *at, as_now: *at }).as_now = *at;
        }
    }
    steps
}

impl History {
    /// From the store's lines, the oldest first, and what it knows of the same route.
    pub fn new(lines: &[HistoryLine], past: RouteDurations) -> Self {
        /// More is what `hoptop show` is for.
        const MOST: usize = 200;
        let entries = without_repeats(lines).into_iter().rev().take(MOST).map(HistoryEntry::from).collect();
        let phase = |line: &HistoryLine| match line {
            HistoryLine::Change(Change { at, what: What::StatusChanged { current, .. }, .. }) => {
                Some((current.clone(), *at))
            }
            _ => None,
        };
        let phases = lines.iter().filter_map(phase).collect();
        Self { entries, phases, steps: steps_seen(lines), notes: Vec::new(), past }
    }

    /// With what people wrote, the newest last.
    pub fn with_notes(mut self, notes: Vec<Note>) -> Self {
        // Their text says more than that there is one.
        self.entries.retain(|entry| entry.text != "edited: note");
        self.entries.extend(notes.iter().map(HistoryEntry::from));
        self.entries.sort_by_key(|entry| Reverse(entry.at));
        Self { notes, ..self }
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
    use crate::domain::alert::{Rule, Severity};

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn change(seconds: i64, what: What) -> HistoryLine {
        let (profile, transaction, observation) = ("p".into(), None, None);
        HistoryLine::Change(Change { seq: seconds, at: at(seconds), profile, transaction, what, observation })
    }

    #[test]
    fn a_step_was_seen_first_and_is_as_it_is_now_since_it_last_changed() {
        let step = |seconds, index| change(seconds, What::StepAdded { index });
        let history = History::new(&[step(1, 0), step(1, 1), step(9, 1)], RouteDurations::default());
        let seen = |first, as_now| StepSeen { first: at(first), as_now: at(as_now) };
        assert_eq!(history.steps, [(0, seen(1, 1)), (1, seen(1, 9))].into());
    }

    #[test]
    fn notes_stand_in_the_history_where_they_were_written() {
        let raised = What::AlertRaised { rule: Rule::Overdue, severity: Severity::Critical };
        let lines = [change(1, What::Imported), change(5, What::edited(vec!["note".into()])), change(9, raised)];
        let note = Note { at: at(5), text: "user asked".into() };
        let history = History::new(&lines, RouteDurations::default()).with_notes(vec![note]);
        let shown: Vec<_> = history.entries.iter().map(|entry| (entry.kind.word(), entry.text.as_str())).collect();
        let expected =
            [("alert", "raised: overdue (critical)"), ("note", "user asked"), ("edit", "tracked from now on")];
        assert_eq!(shown, expected);
    }

    #[test]
    fn each_phase_lasts_until_the_next() {
        let turn = |seconds, current: &str| {
            change(seconds, What::StatusChanged { previous: None, current: current.to_owned() })
        };
        let lines = [turn(1, "not_found"), turn(10, "ongoing"), turn(70, "needs_gas")];
        let history = History::new(&lines, RouteDurations::default());
        let told = history.observed(at(75)).unwrap();
        assert_eq!(told, "not_found 9s > ongoing 1m > needs_gas 5s");
        assert_eq!(History::new(&[], RouteDurations::default()).observed(at(5)), None);
        assert_eq!(history.entries[0].at, at(70));
    }
}
