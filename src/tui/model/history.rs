//! A transaction's history as lines for people.

use chrono::{DateTime, Utc};

use crate::{
    domain::{
        change::{Change, What},
        experience::Past,
        span,
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
            HistoryLine::Observation(answer, _) => answer.sentence(),
            HistoryLine::Change(change) => change.what.sentence(),
        };
        Self { at: line.at(), text }
    }
}

/// What happened to a transaction, for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Line by line, the newest first, as many as a person reads.
    pub entries: Vec<HistoryEntry>,
    /// Each status as we saw it, and since when; the present one last.
    pub phases: Vec<(String, DateTime<Utc>)>,
    /// What was observed of the transfers that go the same way.
    pub past: Past,
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

impl History {
    /// From the store's lines, the oldest first, and what it knows of the same route.
    pub fn new(lines: &[HistoryLine], past: Past) -> Self {
        /// More is what `hoptop show` is for.
        const MOST: usize = 200;
        let entries = without_repeats(lines).into_iter().rev().take(MOST).map(HistoryEntry::from).collect();
        let phase = |line: &HistoryLine| match line {
            HistoryLine::Change(Change { at, what: What::StatusChanged { current, .. }, .. }) => {
                Some((current.clone(), *at))
            }
            _ => None,
        };
        Self { entries, phases: lines.iter().filter_map(phase).collect(), past }
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
    fn each_phase_lasts_until_the_next() {
        let at = |seconds| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        let turn = |seconds, current: &str| {
            let what = What::StatusChanged { previous: None, current: current.to_owned() };
            HistoryLine::Change(Change {
                seq: seconds,
                at: at(seconds),
                profile: "p".into(),
                transaction: None,
                what,
                observation: None,
            })
        };
        let lines = [turn(1, "not_found"), turn(10, "ongoing"), turn(70, "needs_gas")];
        let history = History::new(&lines, Past::default());
        let told = history.observed(at(75)).unwrap();
        assert_eq!(told, "not_found 9s > ongoing 1m > needs_gas 5s");
        assert_eq!(History::new(&[], Past::default()).observed(at(5)), None);
        assert_eq!(history.entries[0].at, at(70));
    }
}
