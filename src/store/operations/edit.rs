//! Edits: changes that a person makes and can undo.
//!
//! An edit is planned as steps from the present state of the store, carried out, and recorded in the undo history. It
//! must never change anything that its steps don't name, or undo could not reverse it.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use super::undo::{self, EditPass};
use crate::{
    domain::{
        alert::{Handling, HandlingKind},
        ids::TransactionKey,
        operation::{AlertKey, Edit, Stamp},
        transaction::{Tracking, TransactionHeader},
    },
    store::{
        error::Result,
        tables::{
            alerts, notes, transactions,
            undo_history::{self, EditStep, StoredTracking, WrittenHandling},
        },
    },
};

/// Carries out an edit and records it. Returns the number of changes.
pub(super) fn apply(db: &Connection, profile: &str, edit: &Edit, stamp: &Stamp) -> Result<usize> {
    let mut done = Vec::new();
    let pass = EditPass { reversal: None, stamp, kept: &HashSet::new(), originals: &HashMap::new() };
    for mut step in plan(db, edit, stamp)? {
        if undo::carry_out(db, &mut step, pass)? {
            done.push(step);
        }
    }
    // An edit without steps changed nothing.
    if !done.is_empty() {
        undo_history::insert(db, profile, stamp.author.as_deref(), &edit.summary(), &done, stamp.at)?;
    }
    Ok(done.len())
}

/// Returns the steps of an edit for the present state of the store.
fn plan(db: &Connection, edit: &Edit, stamp: &Stamp) -> Result<Vec<EditStep>> {
    let (at, author) = (stamp.at, &stamp.author);
    let handled = |kind| Handling { at, author: author.clone(), kind };
    let mut steps = Vec::new();
    match edit {
        Edit::Untrack { transactions } => {
            let after = StoredTracking::STOPPED;
            for tx in load_headers(db, transactions)? {
                let before = StoredTracking::from(&tx.tracking);
                if before != after {
                    steps.push(EditStep::Tracking { row: tx.id.0, before, after: after.clone() });
                }
            }
        }
        Edit::AddNote { transactions, text } => {
            for tx in load_headers(db, transactions)? {
                // Withdrawn until its step is carried out.
                let note = notes::insert(db, tx.id, text, stamp)?;
                notes::set_withdrawn(db, note, Some(stamp.at))?;
                steps.push(EditStep::Note { row: tx.id.0, note, is_removed: false });
            }
        }
        Edit::RemoveNote { transactions, text } => {
            for tx in load_headers(db, transactions)? {
                let note = notes::newest_with_text(db, tx.id, text)?;
                steps.extend(note.map(|note| EditStep::Note { row: tx.id.0, note, is_removed: true }));
            }
        }
        Edit::SetTicket { transactions, ticket } => {
            for tx in load_headers(db, transactions)? {
                let (before, after, by) = (tx.params.ticket, ticket.clone(), tx.authors.ticket);
                let is_repetition = before == after;
                let counts = !is_repetition || (after.is_some() && by != *author);
                steps.extend(counts.then_some(EditStep::Ticket { row: tx.id.0, before, after, by }));
            }
        }
        Edit::ChangeLabels { transactions, add, remove } => {
            for tx in load_headers(db, transactions)? {
                steps.extend(plan_labels(&tx, add, remove, author.as_deref()));
            }
        }
        Edit::Acknowledge { alerts, note } => {
            steps = plan_handling(db, alerts, Some(&handled(HandlingKind::Acknowledged(note.clone()))))?;
        }
        Edit::Snooze { alerts, until } => {
            steps = plan_handling(db, alerts, Some(&handled(HandlingKind::Snoozed(*until))))?;
        }
        Edit::Unacknowledge { alerts } => steps = plan_handling(db, alerts, None)?,
        Edit::CorrectSource { transactions, chain } => {
            for tx in load_headers(db, transactions)? {
                // What the service has found is on the right chain.
                if tx.state.is_unknown_to_service() && tx.params.from_chain != *chain {
                    let (before, after) = (tx.params.from_chain, chain.clone());
                    let was_stopped = tx.tracking == Tracking::Untracked;
                    steps.push(EditStep::Source { row: tx.id.0, before, after, was_stopped });
                }
            }
        }
    }
    Ok(steps)
}

/// Returns the steps that add labels and remove others. A label that the author has added already gets no step.
fn plan_labels(tx: &TransactionHeader, add: &[String], remove: &[String], author: Option<&str>) -> Vec<EditStep> {
    // The same spelling, or else one that differs only in its case: a filter doesn't tell them apart.
    let present = |label: &String| {
        let lower = label.to_lowercase();
        let same = tx.labels.iter().enumerate().find(|(_, present)| *present == label);
        same.or_else(|| tx.labels.iter().enumerate().find(|(_, present)| present.to_lowercase() == lower))
    };
    let author_of = |index: usize| tx.authors.labels.get(index).cloned().flatten();
    let step = |label: &String, is_added, is_repeated, by| EditStep::Label {
        row: tx.id.0,
        label: label.clone(),
        is_added,
        is_repeated,
        by,
    };
    // A label whose case changes is removed and added.
    let is_removed =
        |own: &String| remove.iter().any(|label| present(label).is_some_and(|(_, removed)| removed == own));
    let added = add.iter().filter_map(|label| match present(label).filter(|(_, own)| !is_removed(own)) {
        None => Some(step(label, true, false, None)),
        Some((index, own)) => (author_of(index).as_deref() != author).then(|| step(own, true, true, None)),
    });
    let removed =
        remove.iter().filter_map(|label| present(label).map(|(index, own)| step(own, false, false, author_of(index))));
    added.chain(removed).collect()
}

/// Returns the steps that set this handling, or end the handling if it is `None`. An alert that the same person already
/// handled in this way gets no step.
fn plan_handling(db: &Connection, keys: &[AlertKey], handling: Option<&Handling>) -> Result<Vec<EditStep>> {
    let mut steps = Vec::new();
    let has_one_subject = keys.array_windows().all(|[one, other]| one.about == other.about);
    for key in keys {
        let Some(active) = alerts::by_key(db, key)? else { continue };
        let after = match (&active.handling, handling) {
            (Some(before), Some(after)) if is_same_handling(before, after) => {
                let is_own = before.author() == after.author();
                // The first acknowledgement of an alert stays. A new note replaces the old note only if the edit is
                // about one transaction or profile.
                match after.note() {
                    Some(_) if has_one_subject && before.note() != after.note() => {
                        let at = if is_own { before.at } else { after.at };
                        Some(Handling { at, ..after.clone() })
                    }
                    _ if is_own => continue,
                    // The other person's handling stays; the step records that this person did the same.
                    _ => Some(before.clone()),
                }
            }
            (None, None) => continue,
            (_, after) => after.cloned(),
        };
        steps.push(EditStep::Acknowledged {
            alert: active.id,
            before: active.handling.as_ref().map(WrittenHandling::from),
            after: after.as_ref().map(WrittenHandling::from),
        });
    }
    Ok(steps)
}

/// Whether both are acknowledgements, or both are snoozes until the same moment.
fn is_same_handling(first: &Handling, second: &Handling) -> bool {
    // The store keeps whole milliseconds.
    let end_of =
        |handling: &Handling| handling.snooze().map(|until| until.moment().map(|moment| moment.timestamp_millis()));
    end_of(first) == end_of(second)
}

fn load_headers(db: &Connection, keys: &[TransactionKey]) -> Result<Vec<TransactionHeader>> {
    keys.iter().filter_map(|key| transactions::header_of(db, key).transpose()).collect()
}
