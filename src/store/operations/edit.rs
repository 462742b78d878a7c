//! Edits: changes that a person makes and can undo.
//!
//! An edit is planned as steps from the present state of the store, carried out, and recorded in the undo history. It
//! must never change anything that its steps don't name, or undo could not reverse it.

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::undo::{self, Direction, Pass};
use crate::{
    domain::{
        alert::{Acknowledgement, Handling, Snoozed},
        ids::TransactionKey,
        operation::{AlertKey, Edit, Stamp},
        transaction::TransactionHeader,
    },
    store::{
        error::StoreError,
        tables::{
            alerts, notes, transactions,
            undo_history::{self, Step, StoredTracking, WrittenHandling},
        },
    },
};

/// Carries out an edit and records it. Returns the number of changes.
pub(super) fn apply(db: &Connection, profile: &str, edit: &Edit, stamp: &Stamp) -> Result<usize, StoreError> {
    let mut done = Vec::new();
    for mut step in plan(db, edit, stamp.at)? {
        if undo::carry_out(db, &mut step, Pass { direction: Direction::Apply, at: stamp.at })? {
            done.push(step);
        }
    }
    undo_history::insert(db, profile, stamp.author.as_deref(), &edit.summary(), &done, stamp.at)?;
    Ok(done.len())
}

/// Returns the steps of an edit for the present state of the store.
fn plan(db: &Connection, edit: &Edit, at: DateTime<Utc>) -> Result<Vec<Step>, StoreError> {
    let mut steps = Vec::new();
    match edit {
        Edit::Untrack { transactions } => {
            let after = StoredTracking::STOPPED;
            for tx in load_headers(db, transactions)? {
                let before = StoredTracking::from(&tx.tracking);
                steps.extend((before != after).then(|| Step::Tracking { row: tx.id.0, before, after: after.clone() }));
            }
        }
        Edit::AddNote { transactions, text } => {
            for tx in load_headers(db, transactions)? {
                steps.push(Step::Note { row: tx.id.0, note: notes::insert_withdrawn(db, tx.id, text, at)? });
            }
        }
        Edit::SetTicket { transactions, ticket } => {
            for tx in load_headers(db, transactions)? {
                let (before, after) = (tx.params.ticket, ticket.clone());
                steps.extend((before != after).then_some(Step::Ticket { row: tx.id.0, before, after }));
            }
        }
        Edit::ChangeLabels { transactions, add, remove } => {
            for tx in load_headers(db, transactions)? {
                let has = |label: &&String| tx.labels.contains(label);
                let step = |label: &String, added| Step::Label { row: tx.id.0, label: label.clone(), added };
                steps.extend(add.iter().filter(|label| !has(label)).map(|label| step(label, true)));
                steps.extend(remove.iter().filter(has).map(|label| step(label, false)));
            }
        }
        Edit::Acknowledge { alerts, note } => {
            let handling = Handling::Acknowledged(Acknowledgement { at, note: note.clone() });
            steps = plan_handling(db, alerts, Some(&handling))?;
        }
        Edit::Snooze { alerts, until } => {
            let handling = Handling::Snoozed(Snoozed { at, until: *until });
            steps = plan_handling(db, alerts, Some(&handling))?;
        }
        Edit::Unacknowledge { alerts } => steps = plan_handling(db, alerts, None)?,
    }
    Ok(steps)
}

/// Returns the steps that set this handling, or end the handling if it is `None`. Alerts that are handled so already
/// get no step.
fn plan_handling(db: &Connection, keys: &[AlertKey], handling: Option<&Handling>) -> Result<Vec<Step>, StoreError> {
    let mut steps = Vec::new();
    for key in keys {
        let Some(active) = alerts::by_key(db, key)? else { continue };
        let after = match (&active.handling, handling) {
            (Some(before), Some(after)) if is_same_handling(before, after) => {
                // The first acknowledgement of an alert stays. A new note replaces the old note only if the edit names
                // one alert.
                match (before, after) {
                    (Handling::Acknowledged(before), Handling::Acknowledged(after))
                        if keys.len() == 1 && after.note.is_some() && before.note != after.note =>
                    {
                        Some(Handling::Acknowledged(Acknowledgement { at: before.at, note: after.note.clone() }))
                    }
                    _ => continue,
                }
            }
            (None, None) => continue,
            (_, after) => after.cloned(),
        };
        steps.push(Step::Acknowledged {
            alert: active.id,
            before: active.handling.as_ref().map(WrittenHandling::from),
            after: after.as_ref().map(WrittenHandling::from),
        });
    }
    Ok(steps)
}

/// Whether both are acknowledgements, or both are snoozes until the same moment.
fn is_same_handling(first: &Handling, second: &Handling) -> bool {
    match (first, second) {
        (Handling::Acknowledged(_), Handling::Acknowledged(_)) => true,
        (Handling::Snoozed(first), Handling::Snoozed(second)) => {
            // The store keeps whole milliseconds.
            let end_of = |snoozed: &Snoozed| snoozed.until.moment().map(|moment| moment.timestamp_millis());
            end_of(first) == end_of(second)
        }
        (Handling::Acknowledged(_), Handling::Snoozed(_)) | (Handling::Snoozed(_), Handling::Acknowledged(_)) => false,
    }
}

fn load_headers(db: &Connection, keys: &[TransactionKey]) -> Result<Vec<TransactionHeader>, StoreError> {
    keys.iter().filter_map(|key| transactions::header_of(db, key).transpose()).collect()
}
