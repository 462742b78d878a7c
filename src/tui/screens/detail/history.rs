//! A transaction's history as lines of text. This module must never read the store.

use std::{cmp::Reverse, collections::BTreeMap};

use chrono::{DateTime, Utc};

use crate::{
    domain::{
        alert::Severity,
        change::{Change, ChangeKind},
        duration_stats::RouteDurations,
        named::named,
        span,
    },
    store::{HistoryLine, Note},
};

named! {
    /// The kind of an entry of the history.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum EntryKind: label {
        /// A poll, answered or failed.
        Poll "poll",
        /// A change of the transaction.
        Change "change",
        /// An event of an alert: raised, cleared, flapping, or handled by a person.
        Alert "alert",
        /// A note, or the edit that added a note.
        Note "note",
        /// An edit by a person.
        Edit "edit",
    }
}

impl EntryKind {
    fn of(kind: &ChangeKind) -> Self {
        match kind {
            ChangeKind::Polled | ChangeKind::PollFailed { .. } => Self::Poll,
            ChangeKind::Imported => Self::Edit,
            kind if kind.is_added_note() => Self::Note,
            kind if kind.is_about_alert() => Self::Alert,
            kind if kind.is_routine() => Self::Edit,
            _ => Self::Change,
        }
    }
}

/// What an entry is about, as far as the view shows more than the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntrySubject {
    /// The text says all.
    Text,
    /// The status before and after, with ` > ` between.
    Status,
    /// The last change of the step with this index. The transaction's record has the step's present state.
    Step(usize),
    /// An alert that was raised, or flaps.
    Raised(Severity),
    /// An alert that was cleared.
    Cleared,
}

impl EntrySubject {
    fn of(kind: &ChangeKind) -> Self {
        match kind {
            ChangeKind::StatusChanged { .. } => Self::Status,
            ChangeKind::AlertRaised { severity, .. } | ChangeKind::AlertFlapping { severity, .. } => {
                Self::Raised(*severity)
            }
            ChangeKind::AlertFlipped { rule, is_raised: true } => Self::Raised(rule.severity()),
            ChangeKind::AlertCleared { .. } | ChangeKind::AlertFlipped { is_raised: false, .. } => Self::Cleared,
            _ => Self::Text,
        }
    }
}

/// One line of a transaction's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// When the entry was recorded.
    pub at: DateTime<Utc>,
    pub kind: EntryKind,
    pub subject: EntrySubject,
    /// The text, without the word of the kind.
    pub text: String,
}

impl HistoryEntry {
    fn of(line: &HistoryLine) -> Self {
        // The kind's word is shown before the text, so the text doesn't repeat it.
        let (kind, subject, text) = match line {
            HistoryLine::Observation(answer, _) => (EntryKind::Poll, EntrySubject::Text, answer.description()),
            HistoryLine::Change(entry) => {
                let described = || entry.kind.description_by(entry.author.as_deref());
                let text = entry.kind.status_change(">").unwrap_or_else(described);
                (EntryKind::of(&entry.kind), EntrySubject::of(&entry.kind), text)
            }
        };
        Self { at: line.at(), kind, subject, text }
    }
}

/// The times at which a step was observed. The service gives no times of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTimes {
    /// When the step was first observed.
    pub first_seen_at: DateTime<Utc>,
    /// When the step was first observed in its present state.
    pub state_since: DateTime<Utc>,
}

/// A transaction's history, as the detail shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransactionHistory {
    /// The newest entries, the newest first.
    pub entries: Vec<HistoryEntry>,
    /// Each observed status and when it began; the present status last.
    pub phases: Vec<(String, DateTime<Utc>)>,
    /// The times of each step, by the step's index.
    pub steps: BTreeMap<usize, StepTimes>,
    /// The notes, the newest last.
    pub notes: Vec<Note>,
    /// The observed durations of transfers on the same route.
    pub past: RouteDurations,
}

/// Returns the lines without answers that repeat the previous answer, and without chain checks that nobody requested and
/// that repeat the previous check. Bodies of repeated answers differ only in running times, since other differences have
/// lines of their own. A repeated check concerns the destination's transaction, which its line doesn't name.
fn without_repeats(lines: &[HistoryLine]) -> Vec<&HistoryLine> {
    let (mut last_answer, mut last_check) = (None, None);
    let has_changes = |line: &&HistoryLine| match line {
        HistoryLine::Observation(answer, _) => {
            last_answer.replace(answer.summary.clone()) != Some(answer.summary.clone())
        }
        HistoryLine::Change(Change { kind: ChangeKind::ChainRequested, .. }) => {
            last_check = None;
            true
        }
        HistoryLine::Change(Change { kind: kind @ ChangeKind::ChainChecked { .. }, .. }) => {
            last_check.replace(kind.clone()) != Some(kind.clone())
        }
        HistoryLine::Change(_) => true,
    };
    lines.iter().filter(has_changes).collect()
}

/// Returns the entries of these lines, and the times of each step by the step's index. An entry about a step says
/// whether the step was added or changed, and the last entry about a step names the step.
fn entries_and_steps(lines: &[&HistoryLine]) -> (Vec<HistoryEntry>, BTreeMap<usize, StepTimes>) {
    let mut entries: Vec<HistoryEntry> = lines.iter().map(|line| HistoryEntry::of(line)).collect();
    let (mut steps, mut last_entries) = (BTreeMap::new(), BTreeMap::new());
    for (entry, line) in entries.iter_mut().zip(lines) {
        let HistoryLine::Change(Change { at, kind: ChangeKind::StepAdded { index }, .. }) = line else { continue };
        steps.entry(*index).or_insert(StepTimes { first_seen_at: *at, state_since: *at }).state_since = *at;
        let verb = if last_entries.contains_key(index) { "changed" } else { "added" };
        entry.text = format!("step {} {verb}", index + 1);
        last_entries.insert(*index, entry);
    }
    for (index, entry) in last_entries {
        entry.subject = EntrySubject::Step(index);
    }
    (entries, steps)
}

impl TransactionHistory {
    /// Builds the history from the store's lines, the oldest first, and from the durations of the same route.
    pub fn new(lines: &[HistoryLine], past: RouteDurations) -> Self {
        /// The most entries; `hoptop show` prints all.
        const MAX_ENTRIES: usize = 200;
        let (entries, steps) = entries_and_steps(&without_repeats(lines));
        let entries = entries.into_iter().rev().take(MAX_ENTRIES).collect();
        let phase = |line: &HistoryLine| match line {
            HistoryLine::Change(Change { at, kind: ChangeKind::StatusChanged { current, .. }, .. }) => {
                Some((current.clone(), *at))
            }
            _ => None,
        };
        let phases = lines.iter().filter_map(phase).collect();
        Self { entries, phases, steps, notes: Vec::new(), past }
    }

    /// Adds the notes, the newest last.
    pub fn with_notes(mut self, notes: Vec<Note>) -> Self {
        // The note itself replaces the entry about the edit.
        self.entries.retain(|entry| entry.kind != EntryKind::Note);
        let (kind, subject) = (EntryKind::Note, EntrySubject::Text);
        let entry = |note: &Note| HistoryEntry { at: note.at, kind, subject, text: note.attributed() };
        self.entries.extend(notes.iter().map(entry));
        self.entries.sort_by_key(|entry| Reverse(entry.at));
        Self { notes, ..self }
    }

    /// Returns each observed status, when it began, and when the next one began; the last one ends at `until`.
    pub fn phases_until(&self, until: DateTime<Utc>) -> impl Iterator<Item = (&str, DateTime<Utc>, DateTime<Utc>)> {
        let ends = self.phases.iter().skip(1).map(|(_, at)| *at).chain([until]);
        self.phases.iter().zip(ends).map(|((status, from), to)| (status.as_str(), *from, to))
    }

    /// Returns how long each status lasted, as observed by polls: `not_found 9s > ongoing 37m 53s`.
    pub fn observed(&self, until: DateTime<Utc>) -> Option<String> {
        let phase = |(status, from, to): (&str, _, _)| format!("{status} {}", span::long(span::between(from, to)));
        let phases: Vec<_> = self.phases_until(until).map(phase).collect();
        (!phases.is_empty()).then(|| phases.join(" > "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{alert::Rule, fixtures::at, ids::ChainId};

    fn change(seconds: i64, kind: ChangeKind) -> HistoryLine {
        let (profile, transaction, observation) = ("p".into(), None, None);
        HistoryLine::Change(Change {
            seq: seconds,
            at: at(seconds),
            profile,
            transaction,
            kind,
            observation,
            author: None,
        })
    }

    #[test]
    fn a_step_has_the_times_of_its_first_observation_and_of_its_last_change() {
        let step = |seconds, index| change(seconds, ChangeKind::StepAdded { index });
        let history = TransactionHistory::new(&[step(1, 0), step(1, 1), step(9, 1)], RouteDurations::default());
        let seen = |first, state_since| StepTimes { first_seen_at: at(first), state_since: at(state_since) };
        assert_eq!(history.steps, [(0, seen(1, 1)), (1, seen(1, 9))].into());
    }

    #[test]
    fn an_entry_about_a_step_says_whether_the_step_was_added_or_changed() {
        let step = |seconds, index| change(seconds, ChangeKind::StepAdded { index });
        let history = TransactionHistory::new(&[step(1, 0), step(1, 1), step(9, 1)], RouteDurations::default());
        let shown: Vec<_> = history.entries.iter().map(|entry| (entry.text.as_str(), entry.subject)).collect();
        let expected = [
            ("step 2 changed", EntrySubject::Step(1)),
            ("step 2 added", EntrySubject::Text),
            ("step 1 added", EntrySubject::Step(0)),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_check_of_the_chain_is_repeated_only_if_somebody_asked() {
        let checked = |seconds| {
            let (state, chain) = ("succeeded".to_owned(), ChainId::new("59144"));
            change(seconds, ChangeKind::ChainChecked { state, chain, block: Some(897_824_616) })
        };
        let times = |lines: &[HistoryLine]| {
            let history = TransactionHistory::new(lines, RouteDurations::default());
            let checks = history.entries.into_iter().filter(|entry| entry.text.contains("says"));
            checks.map(|entry| entry.at).collect::<Vec<_>>()
        };
        assert_eq!(times(&[checked(1), checked(2), checked(3)]), [at(1)]);
        assert_eq!(times(&[checked(1), change(2, ChangeKind::ChainRequested), checked(3)]), [at(3), at(1)]);
    }

    #[test]
    fn notes_are_in_the_history_at_the_time_they_were_written() {
        let raised = ChangeKind::AlertRaised { rule: Rule::Overdue, severity: Severity::Critical };
        let lines =
            [change(1, ChangeKind::Imported), change(5, ChangeKind::edited(vec!["note".into()])), change(9, raised)];
        let note = Note { at: at(5), text: "user asked".into(), author: None };
        let history = TransactionHistory::new(&lines, RouteDurations::default()).with_notes(vec![note]);
        let shown: Vec<_> = history.entries.iter().map(|entry| (entry.kind.label(), entry.text.as_str())).collect();
        let expected = [("alert", "raised: overdue (critical)"), ("note", "user asked"), ("edit", "tracking started")];
        assert_eq!(shown, expected);
    }

    #[test]
    fn every_event_of_an_alert_is_an_alert_entry_without_the_word_alert() {
        let (rule, severity) = (Rule::Throttled, Severity::Warning);
        let lines = [
            change(1, ChangeKind::AlertFlapping { rule, severity }),
            change(2, ChangeKind::AlertFlipped { rule, is_raised: true }),
            change(3, ChangeKind::AlertSnoozed { rule, until: None }),
        ];
        let history = TransactionHistory::new(&lines, RouteDurations::default());
        let shown: Vec<_> = history.entries.iter().map(|entry| (entry.kind, entry.text.as_str())).collect();
        let expected = [
            (EntryKind::Alert, "snoozed until the status changes: throttled"),
            (EntryKind::Alert, "raised again: throttled (flapping)"),
            (EntryKind::Alert, "flapping: throttled (warning)"),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn an_error_that_begins_with_the_word_of_a_kind_is_shown_whole() {
        let error = "alert the operator".to_owned();
        let history = TransactionHistory::new(&[change(1, ChangeKind::Rejected { error })], RouteDurations::default());
        assert_eq!(history.entries[0].text, "alert the operator");
    }

    #[test]
    fn each_phase_lasts_until_the_next() {
        let status = |seconds, current: &str| {
            change(seconds, ChangeKind::StatusChanged { previous: None, current: current.to_owned() })
        };
        let lines = [status(1, "not_found"), status(10, "ongoing"), status(70, "needs_gas")];
        let history = TransactionHistory::new(&lines, RouteDurations::default());
        let observed = history.observed(at(75)).unwrap();
        assert_eq!(observed, "not_found 9s > ongoing 1m > needs_gas 5s");
        assert_eq!(TransactionHistory::new(&[], RouteDurations::default()).observed(at(5)), None);
        assert_eq!(history.entries[0].at, at(70));
    }
}
