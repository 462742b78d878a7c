//! The undo history (`edits`): the edits of people, each with the steps that reverse it.
//!
//! A reversed edit stays in the table, marked as reversed. `operations` applies steps to other tables.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::{changes, columns};
use crate::{
    domain::{
        alert::{Handling, HandlingKind, SnoozeEnd},
        ids::{ChainId, RowId},
        transaction::{Tracking, TransactionParams},
    },
    store::{error::Result, statement::CachedStatements},
};

/// The summary of an edit whose transactions are deleted.
const DELETED: &str = "a change of deleted transactions";

/// One change of an edit, with the states before and after the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EditStep {
    /// Rows were added, with the numbers from `first` to `last`.
    Tracked {
        first: i64,
        last: i64,
        /// The numbers of the first and last feed entries for the rows that undoing this step stopped.
        #[serde(default)]
        stopped: Option<(i64, i64)>,
    },
    /// The parameters of a transaction changed.
    #[serde(rename = "told")]
    Params {
        row: i64,
        before: Box<TransactionParams>,
        after: Box<TransactionParams>,
        /// The author of the ticket before, if the ticket changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ticket_by: Option<String>,
    },
    /// Polling of a transaction stopped or resumed.
    Tracking { row: i64, before: StoredTracking, after: StoredTracking },
    /// The ticket changed. Equal tickets: another person had set the same ticket.
    Ticket {
        row: i64,
        before: Option<String>,
        after: Option<String>,
        /// The author of the ticket before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A label was added or removed.
    Label {
        row: i64,
        label: String,
        #[serde(rename = "added")]
        is_added: bool,
        /// Whether another person had added the same label before, so that this step changes nothing.
        #[serde(rename = "repeated", default, skip_serializing_if = "std::ops::Not::not")]
        is_repeated: bool,
        /// The author of a label that was removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A note was added or removed.
    Note {
        row: i64,
        note: i64,
        #[serde(rename = "removed", default, skip_serializing_if = "std::ops::Not::not")]
        is_removed: bool,
    },
    /// The source chain was corrected.
    Source {
        row: i64,
        before: ChainId,
        after: ChainId,
        /// Whether the correction resumed a polling that somebody had stopped.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        was_stopped: bool,
    },
    /// The handling of an alert changed. Equal handlings: another person had handled the alert in the same way.
    Acknowledged { alert: i64, before: Option<WrittenHandling>, after: Option<WrittenHandling> },
}

impl EditStep {
    /// Returns the single transaction row that the step changed, if the step names it.
    pub(crate) fn row(&self) -> Option<RowId> {
        match self {
            Self::Tracked { .. } | Self::Acknowledged { .. } => None,
            Self::Params { row, .. }
            | Self::Tracking { row, .. }
            | Self::Ticket { row, .. }
            | Self::Label { row, .. }
            | Self::Note { row, .. }
            | Self::Source { row, .. } => Some(RowId(*row)),
        }
    }

    /// Whether the step repeats what another person did before, and changes nothing. Such a step keeps the other
    /// person's undo from removing the value.
    pub(crate) fn is_repetition(&self) -> bool {
        match self {
            Self::Ticket { before, after, .. } => before == after,
            Self::Label { is_repeated, .. } => *is_repeated,
            Self::Acknowledged { before, after, .. } => before == after,
            Self::Tracked { .. }
            | Self::Params { .. }
            | Self::Tracking { .. }
            | Self::Note { .. }
            | Self::Source { .. } => false,
        }
    }

    /// Whether both steps set a ticket, a label or a handling, and to the same value.
    fn has_same_result(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Ticket { after: own, .. }, Self::Ticket { after, .. }) => own == after,
            (Self::Label { is_added: own, .. }, Self::Label { is_added, .. }) => own == is_added,
            (Self::Acknowledged { after: own, .. }, Self::Acknowledged { after, .. }) => own == after,
            _ => false,
        }
    }

    /// Returns the values that the step writes. The rows that an import added aren't listed.
    pub(crate) fn targets(&self) -> Vec<EditTarget> {
        match self {
            Self::Tracked { .. } => Vec::new(),
            Self::Params { row, before, after, .. } => {
                let ticket = (before.ticket != after.ticket).then_some(EditTarget::Ticket(*row));
                std::iter::once(EditTarget::Params(*row)).chain(ticket).collect()
            }
            Self::Tracking { row, .. } => vec![EditTarget::Tracking(*row)],
            Self::Ticket { row, .. } => vec![EditTarget::Ticket(*row)],
            Self::Label { row, label, .. } => vec![EditTarget::Label(*row, label.clone())],
            Self::Note { note, .. } => vec![EditTarget::Note(*note)],
            Self::Source { row, .. } => vec![EditTarget::Source(*row)],
            Self::Acknowledged { alert, .. } => vec![EditTarget::Handling(*alert)],
        }
    }

    /// Whether the step concerns one of these transactions or alerts.
    fn is_about(&self, rows: &HashSet<i64>, alerts: &HashSet<i64>) -> bool {
        match self {
            Self::Acknowledged { alert, .. } => alerts.contains(alert),
            step => step.row().is_some_and(|row| rows.contains(&row.0)),
        }
    }
}

/// A value that steps change, named by row numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EditTarget {
    /// The parameters of a transaction.
    Params(i64),
    /// Whether a transaction is polled.
    Tracking(i64),
    Ticket(i64),
    Label(i64, String),
    Note(i64),
    /// The source chain of a transaction.
    Source(i64),
    Handling(i64),
}

/// The columns that say whether a transaction is polled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredTracking {
    #[serde(rename = "untracked")]
    pub(crate) is_untracked: bool,
    pub(crate) parked: Option<String>,
}

impl StoredTracking {
    /// Polled until settled.
    pub(crate) const ACTIVE: Self = Self { is_untracked: false, parked: None };
    /// Stopped by a person.
    pub(crate) const STOPPED: Self = Self { is_untracked: true, parked: None };
}

impl From<&Tracking> for StoredTracking {
    fn from(tracking: &Tracking) -> Self {
        match tracking {
            Tracking::Active => Self::ACTIVE,
            Tracking::Parked(reason) => Self { is_untracked: false, parked: Some(reason.clone()) },
            Tracking::Untracked => Self::STOPPED,
        }
    }
}

/// The handling of an alert, as stored in the undo history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WrittenHandling {
    at: i64,
    note: Option<String>,
    /// The snooze; `None` for an acknowledgement. Earlier versions stored acknowledgements only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    snoozed: Option<WrittenSnooze>,
    /// The person who handled the alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenSnooze {
    Moment(i64),
    Change,
}

impl From<&Handling> for WrittenHandling {
    fn from(handling: &Handling) -> Self {
        let snoozed = match handling.kind {
            HandlingKind::Acknowledged(_) => None,
            HandlingKind::Snoozed(SnoozeEnd::Until(moment)) => Some(WrittenSnooze::Moment(columns::moment(moment))),
            HandlingKind::Snoozed(SnoozeEnd::Change) => Some(WrittenSnooze::Change),
        };
        let (note, by) = (handling.note().map(str::to_owned), handling.author.clone());
        Self { at: columns::moment(handling.at), note, snoozed, by }
    }
}

impl From<&WrittenHandling> for Handling {
    fn from(written: &WrittenHandling) -> Self {
        let kind = match written.snoozed {
            None => HandlingKind::Acknowledged(written.note.clone()),
            Some(WrittenSnooze::Change) => HandlingKind::Snoozed(SnoozeEnd::Change),
            Some(WrittenSnooze::Moment(moment)) => {
                HandlingKind::Snoozed(SnoozeEnd::Until(columns::moment_from(moment)))
            }
        };
        Self { at: columns::moment_from(written.at), author: written.by.clone(), kind }
    }
}

/// An edit in the undo history.
pub(crate) struct RecordedEdit {
    pub(crate) id: i64,
    pub(crate) summary: String,
    pub(crate) steps: Vec<EditStep>,
}

/// Adds an edit.
pub(crate) fn insert(
    db: &Connection,
    profile: &str,
    author: Option<&str>,
    summary: &str,
    steps: &[EditStep],
    at: DateTime<Utc>,
) -> Result<()> {
    let values = params![columns::moment(at), profile, summary, columns::to_json(steps)?, author];
    db.run("INSERT INTO edits (at, profile, summary, steps, author) VALUES (?, ?, ?, ?, ?)", values)
}

/// Returns the last edit of a person in a profile that isn't reversed.
pub(crate) fn last_applied(db: &Connection, profile: &str, author: Option<&str>) -> Result<Option<RecordedEdit>> {
    let clause = "WHERE profile = ?1 AND author IS ?2 AND taken_back_at IS NULL ORDER BY id DESC LIMIT 1";
    select(db, profile, author, clause)
}

/// Returns the edit of a person in a profile that was reversed last; `None` if the person made a new edit since.
pub(crate) fn last_reversed(db: &Connection, profile: &str, author: Option<&str>) -> Result<Option<RecordedEdit>> {
    // Edits are reversed from the newest backwards. An edit that was reversed before a later edit was reversed can't be
    // redone: it was already reversed when the later edit was made.
    let clause = "WHERE profile = ?1 AND author IS ?2 AND taken_back_at IS NOT NULL
        AND id > (SELECT ifnull(max(id), 0) FROM edits WHERE profile = ?1 AND author IS ?2 AND taken_back_at IS NULL)
        AND NOT EXISTS (SELECT 1 FROM edits AS later WHERE later.profile = ?1 AND later.author IS ?2
            AND later.id > undone.id AND later.taken_back_at > undone.taken_back_at)
        ORDER BY id LIMIT 1";
    select(db, profile, author, clause)
}

fn select(db: &Connection, profile: &str, author: Option<&str>, clause: &str) -> Result<Option<RecordedEdit>> {
    let sql = format!("SELECT id, summary, steps FROM edits AS undone {clause}");
    db.first(&sql, params![profile, author], |row| {
        Ok(RecordedEdit { id: row.get(0)?, summary: row.get(1)?, steps: columns::from_json(row, 2)? })
    })
}

/// Returns the values that other people changed after an edit, by edits that aren't reversed. Costs O(n) in these
/// edits.
pub(crate) fn changed_by_others(db: &Connection, edit: i64, author: Option<&str>) -> Result<HashSet<EditTarget>> {
    let sql = "SELECT steps FROM edits WHERE id > ?1 AND taken_back_at IS NULL AND author IS NOT ?2";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params![edit, author])?;
    let mut changed = HashSet::new();
    while let Some(row) = rows.next()? {
        let text: String = columns::lenient(row, 0)?;
        let steps = columns::parse_or_omit::<Vec<EditStep>>(&text, format_args!("an edit"));
        changed.extend(steps.iter().flatten().flat_map(EditStep::targets));
    }
    Ok(changed)
}

/// Returns the earlier steps of other people that an edit repeats and that were reversed after the edit, by the value
/// that they set. Leaves out a value that a step of another person still holds. Costs O(n) in the edits since these
/// steps.
pub(crate) fn reversed_originals(
    db: &Connection,
    edit: &RecordedEdit,
    author: Option<&str>,
) -> Result<HashMap<EditTarget, EditStep>> {
    let repetitions = edit.steps.iter().filter(|step| step.is_repetition());
    let mut sought: HashMap<EditTarget, &EditStep> =
        repetitions.flat_map(|step| step.targets().into_iter().map(move |target| (target, step))).collect();
    let mut originals = HashMap::new();
    let sql = "SELECT steps, taken_back_at IS NOT NULL FROM edits WHERE id < ?1 AND author IS NOT ?2
               AND (taken_back_at IS NULL OR taken_back_at >= (SELECT at FROM edits WHERE id = ?1)) ORDER BY id DESC";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params![edit.id, author])?;
    while !sought.is_empty()
        && let Some(row) = rows.next()?
    {
        let (text, is_reversed): (String, bool) = (columns::lenient(row, 0)?, row.get(1)?);
        let steps = columns::parse_or_omit::<Vec<EditStep>>(&text, format_args!("an edit")).unwrap_or_default();
        for step in steps.iter().rev().filter(|step| !is_reversed || !step.is_repetition()) {
            for target in step.targets() {
                // The newest step that holds or held the value decides.
                let Some(repetition) = sought.remove(&target) else { continue };
                if is_reversed && step.has_same_result(repetition) {
                    originals.insert(target, step.clone());
                }
            }
        }
    }
    Ok(originals)
}

/// Writes an edit's steps and when it was reversed; `None` if it is applied again.
pub(crate) fn update(
    db: &Connection,
    profile: &str,
    edit: &RecordedEdit,
    reversed_at: Option<DateTime<Utc>>,
) -> Result<()> {
    // The stored times follow the order of the reversals, even if the clock was set back.
    let sql = "UPDATE edits SET steps = ?3, taken_back_at =
        iif(?2 IS NULL, NULL, max(?2, (SELECT ifnull(max(taken_back_at), 0) + 1 FROM edits WHERE profile = ?4)))
        WHERE id = ?1";
    let values = params![edit.id, reversed_at.map(columns::moment), columns::to_json(&edit.steps)?, profile];
    db.run(sql, values)
}

/// Removes the steps about transactions that are about to be deleted, and the summary of each edit that was about these
/// alone: it may have a ticket or a label. Costs O(n) in all edits, even for a single transaction.
pub(crate) fn forget(db: &Connection, rows: &[RowId]) -> Result<()> {
    let rows: HashSet<i64> = rows.iter().map(|row| row.0).collect();
    let mut alerts = HashSet::new();
    for row in &rows {
        let sql = "SELECT id FROM alerts WHERE transaction_row = ?";
        alerts.extend(db.all(sql, [row], |alert| alert.get::<_, i64>(0))?);
    }
    for id in db.all("SELECT id FROM edits", [], |row| row.get::<_, i64>(0))? {
        let text: String = db.one("SELECT steps FROM edits WHERE id = ?", [id], |row| columns::lenient(row, 0))?;
        // An edit that can't be read can't be undone either.
        let Some(mut steps) = columns::parse_or_omit::<Vec<EditStep>>(&text, format_args!("edit {id}")) else {
            continue;
        };
        let before = steps.len();
        steps.retain(|step| !step.is_about(&rows, &alerts));
        if steps.is_empty() && before > 0 {
            forget_summary(db, id)?;
        }
        if steps.len() < before {
            db.run("UPDATE edits SET steps = ? WHERE id = ?", params![columns::to_json(&steps)?, id])?;
        }
    }
    Ok(())
}

/// Removes the summary of an edit, also from the feed unless another edit has the same. The edit stays, because the order
/// of the edits says what can be redone.
fn forget_summary(db: &Connection, edit: i64) -> Result<()> {
    let of_edit = "SELECT profile, summary FROM edits WHERE id = ?";
    let (profile, summary): (String, String) = db.one(of_edit, [edit], |row| Ok((row.get(0)?, row.get(1)?)))?;
    db.run("UPDATE edits SET summary = ?2 WHERE id = ?1", params![edit, DELETED])?;
    let others = "SELECT 1 FROM edits WHERE profile = ? AND summary = ?";
    if db.has_row(others, [&profile, &summary])? {
        return Ok(());
    }
    changes::replace_reversed_summary(db, &profile, &summary, DELETED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures;

    #[test]
    fn stored_steps_keep_their_names() {
        let params = || Box::new(fixtures::params(1));
        let steps = [
            (EditStep::Tracked { first: 1, last: 2, stopped: None }, "tracked"),
            (EditStep::Params { row: 1, before: params(), after: params(), ticket_by: None }, "told"),
            (EditStep::Ticket { row: 1, before: None, after: None, by: None }, "ticket"),
            (EditStep::Label { row: 1, label: "vip".into(), is_added: true, is_repeated: false, by: None }, "label"),
            (EditStep::Note { row: 1, note: 1, is_removed: false }, "note"),
            (EditStep::Acknowledged { alert: 1, before: None, after: None }, "acknowledged"),
        ];
        for (step, name) in steps {
            let stored = serde_json::to_value(&step).unwrap();
            assert_eq!(stored.as_object().unwrap().keys().collect::<Vec<_>>(), [name]);
        }
    }
}
