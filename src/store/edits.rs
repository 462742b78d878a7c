//! What people did to what is tracked, each with what it takes to take it back.
//!
//! The record of it stays, and so does the record of its being taken back. Where something else happened since, that counts:
//! nothing is taken back over it.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    changes::{self, Entry},
    columns,
    error::StoreError,
    set_aside,
    steps::{self, Going, Polling, Step, Way},
    transactions,
};
use crate::domain::{
    alert::{Acknowledgement, SetAside, Snooze, Snoozed},
    change::What,
    ids::{RowId, TxHash},
    transaction::Transaction,
};

/// Something that a person does to what is tracked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Stop polling these; they are kept.
    Untrack(Vec<RowId>),
    /// Write a note on each of these.
    Note {
        /// Which ones.
        rows: Vec<RowId>,
        /// The note.
        text: String,
    },
    /// Say to which ticket these belong; `None` to none.
    Ticket {
        /// Which ones.
        rows: Vec<RowId>,
        /// The ticket.
        ticket: Option<String>,
    },
    /// Put labels on these, and take others off.
    Labels {
        /// Which ones.
        rows: Vec<RowId>,
        /// Labels to put on.
        add: Vec<String>,
        /// Labels to take off.
        remove: Vec<String>,
    },
    /// Take these alerts on, by the store's numbers.
    Acknowledge {
        /// Which ones.
        alerts: Vec<i64>,
        /// In the person's words.
        note: Option<String>,
    },
    /// Snooze these alerts, by the store's numbers.
    Snooze {
        /// Which ones.
        alerts: Vec<i64>,
        /// Until when.
        until: Snooze,
    },
    /// Let these alerts stand as new again, whether they are acknowledged or snoozed.
    Unacknowledge(Vec<i64>),
}

/// What became of taking back the last edit, or of doing it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBack {
    /// The edit in words.
    pub summary: String,
    /// The transaction that it is about, if that is one alone.
    pub about: Option<TxHash>,
    /// How much of it could be carried out.
    pub done: usize,
    /// How much was left as it is, since something else happened to it.
    pub left: usize,
}

/// Carries an edit out and records it; how much it changed.
pub(super) fn edit(db: &Connection, profile: &str, edit: &Edit, at: DateTime<Utc>) -> Result<usize, StoreError> {
    let steps = plan(db, edit, at)?;
    let mut done = Vec::new();
    for mut step in steps {
        if steps::carry_out(db, &mut step, Going { way: Way::Forth, at })? {
            done.push(step);
        }
    }
    record(db, (profile, &summary(edit)), &done, at)?;
    Ok(done.len())
}

/// Records what was done already. Nothing done is nothing to record.
pub(super) fn record(
    db: &Connection,
    (profile, summary): (&str, &str),
    steps: &[Step],
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    if steps.is_empty() {
        return Ok(());
    }
    let steps = written(steps)?;
    db.prepare_cached("INSERT INTO edits (at, profile, summary, steps) VALUES (?, ?, ?, ?)")?.execute(params![
        columns::moment(at),
        profile,
        summary,
        steps
    ])?;
    Ok(())
}

/// Takes back the last edit that wasn't taken back; nothing if there is none.
pub(super) fn take_back(db: &Connection, profile: &str, at: DateTime<Utc>) -> Result<Option<TakenBack>, StoreError> {
    let last =
        "SELECT id, summary, steps FROM edits WHERE profile = ? AND taken_back_at IS NULL ORDER BY id DESC LIMIT 1";
    turn(db, (profile, last), Going { way: Way::Back, at })
}

/// Does again what was taken back last, unless something was done since.
pub(super) fn do_again(db: &Connection, profile: &str, at: DateTime<Utc>) -> Result<Option<TakenBack>, StoreError> {
    // The last that stands is taken back first. So one that was taken back before a later one was, was so before that was done at
    // all, and isn't done again: it would come behind it.
    let next = "SELECT id, summary, steps FROM edits AS undone WHERE profile = ?1 AND taken_back_at IS NOT NULL
        AND id > (SELECT ifnull(max(id), 0) FROM edits WHERE profile = ?1 AND taken_back_at IS NULL)
        AND NOT EXISTS (SELECT 1 FROM edits AS later WHERE later.profile = ?1 AND later.id > undone.id
            AND later.taken_back_at > undone.taken_back_at)
        ORDER BY id LIMIT 1";
    turn(db, (profile, next), Going { way: Way::Again, at })
}

fn turn(db: &Connection, (profile, which): (&str, &str), going: Going) -> Result<Option<TakenBack>, StoreError> {
    let found = db
        .prepare_cached(which)?
        .query_row([profile], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)))
        .optional()?;
    let Some((id, summary, text)) = found else { return Ok(None) };
    let mut steps = read(&text)?;
    let mut turned = TakenBack { summary, about: about(db, &steps)?, done: 0, left: 0 };
    // What was done last is taken back first.
    let back = going.way == Way::Back;
    let in_order: Vec<&mut Step> = if back { steps.iter_mut().rev().collect() } else { steps.iter_mut().collect() };
    for step in in_order {
        match steps::carry_out(db, step, going)? {
            true => turned.done += 1,
            false => turned.left += 1,
        }
    }
    // In the order in which it happened, whatever becomes of the clock.
    let sql = "UPDATE edits SET steps = ?3, taken_back_at =
        iif(?2 IS NULL, NULL, max(?2, (SELECT ifnull(max(taken_back_at), 0) + 1 FROM edits WHERE profile = ?4)))
        WHERE id = ?1";
    let taken_back_at = back.then(|| columns::moment(going.at));
    db.prepare_cached(sql)?.execute(params![id, taken_back_at, written(&steps)?, profile])?;
    let summary = turned.summary.clone();
    let what = if back { What::TakenBack { summary } } else { What::DoneAgain { summary } };
    changes::append(db, &Entry::of_profile(profile, going.at), &what)?;
    Ok(Some(turned))
}

/// The one transaction that all steps are about, if they are.
fn about(db: &Connection, steps: &[Step]) -> Result<Option<TxHash>, StoreError> {
    let mut about = None;
    for step in steps {
        let row = step.row(db)?;
        if row.is_none() || about.is_some_and(|about| Some(about) != row) {
            return Ok(None);
        }
        about = row;
    }
    let known = about.map(|row| transactions::outline(db, row)).transpose()?.flatten();
    Ok(known.map(|tx| tx.told.transaction_id))
}

fn summary(edit: &Edit) -> String {
    let of = |rows: &[RowId]| if rows.len() == 1 { String::new() } else { format!(" ({} transactions)", rows.len()) };
    match edit {
        Edit::Untrack(rows) => format!("stop polling{}", of(rows)),
        // Its words go with the transaction, if that is removed.
        Edit::Note { rows, .. } => format!("a note{}", of(rows)),
        Edit::Ticket { rows, ticket: Some(ticket) } => format!("ticket {ticket}{}", of(rows)),
        Edit::Ticket { rows, ticket: None } => format!("no ticket{}", of(rows)),
        Edit::Labels { rows, add, remove } => {
            let labels =
                add.iter().map(|label| format!("+{label}")).chain(remove.iter().map(|label| format!("-{label}")));
            format!("labels {}{}", labels.collect::<Vec<_>>().join(" "), of(rows))
        }
        Edit::Acknowledge { alerts, .. } => format!("acknowledge {}", count(alerts.len(), "alert")),
        Edit::Snooze { alerts, .. } => format!("snooze {}", count(alerts.len(), "alert")),
        Edit::Unacknowledge(alerts) => format!("acknowledge or snooze {} no more", count(alerts.len(), "alert")),
    }
}

fn count(count: usize, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}

/// Forgets what was done to transactions that are about to be removed. Costs what all edits take, however many go.
pub(super) fn forget(db: &Connection, rows: impl Iterator<Item = RowId>) -> Result<(), StoreError> {
    let rows: HashSet<i64> = rows.map(|row| row.0).collect();
    let mut alerts = HashSet::new();
    for row in &rows {
        let mut own = db.prepare_cached("SELECT id FROM alerts WHERE transaction_row = ?")?;
        alerts.extend(own.query_map([row], |alert| alert.get::<_, i64>(0))?.collect::<Result<Vec<_>, _>>()?);
    }
    let ids =
        db.prepare_cached("SELECT id FROM edits")?.query_map([], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
    for id in ids {
        let text: String =
            db.prepare_cached("SELECT steps FROM edits WHERE id = ?")?.query_row([id], |row| row.get(0))?;
        let mut steps = read(&text)?;
        let before = steps.len();
        steps.retain(|step| !step.is_about(&rows, &alerts));
        if steps.len() < before {
            db.prepare_cached("UPDATE edits SET steps = ? WHERE id = ?")?.execute(params![written(&steps)?, id])?;
        }
    }
    Ok(())
}

fn read(steps: &str) -> Result<Vec<Step>, StoreError> {
    Ok(serde_json::from_str(steps).map_err(|error| columns::unreadable(2, error))?)
}

fn written(steps: &[Step]) -> Result<String, StoreError> {
    Ok(serde_json::to_string(steps).map_err(|error| columns::unreadable(4, error))?)
}

/// What an edit would change, as things stand.
fn plan(db: &Connection, edit: &Edit, at: DateTime<Utc>) -> Result<Vec<Step>, StoreError> {
    let mut steps = Vec::new();
    match edit {
        Edit::Untrack(rows) => {
            let after = Polling::STOPPED;
            for tx in outlines(db, rows)? {
                let before = Polling::of(&tx);
                steps.extend((before != after).then(|| Step::Tracking { row: tx.id.0, before, after: after.clone() }));
            }
        }
        Edit::Note { rows, text } => {
            for tx in outlines(db, rows)? {
                steps.push(Step::Note { row: tx.id.0, note: write_note(db, tx.id, text, at)? });
            }
        }
        Edit::Ticket { rows, ticket } => {
            for tx in outlines(db, rows)? {
                let (before, after) = (tx.told.ticket, ticket.clone());
                steps.extend((before != after).then_some(Step::Ticket { row: tx.id.0, before, after }));
            }
        }
        Edit::Labels { rows, add, remove } => {
            for tx in outlines(db, rows)? {
                let has = |label: &&String| tx.labels.contains(label);
                let step = |label: &String, added| Step::Label { row: tx.id.0, label: label.clone(), added };
                steps.extend(add.iter().filter(|label| !has(label)).map(|label| step(label, true)));
                steps.extend(remove.iter().filter(has).map(|label| step(label, false)));
            }
        }
        Edit::Acknowledge { alerts, note } => {
            let said = SetAside::Acknowledged(Acknowledgement { at, note: note.clone() });
            steps = set_aside::plan(db, alerts, Some(&said))?;
        }
        Edit::Snooze { alerts, until } => {
            let said = SetAside::Snoozed(Snoozed { at, until: *until });
            steps = set_aside::plan(db, alerts, Some(&said))?;
        }
        Edit::Unacknowledge(alerts) => steps = set_aside::plan(db, alerts, None)?,
    }
    Ok(steps)
}

fn outlines(db: &Connection, rows: &[RowId]) -> Result<Vec<Transaction>, StoreError> {
    rows.iter().filter_map(|row| transactions::outline(db, *row).transpose()).collect()
}

/// Writes a note; its number.
fn write_note(db: &Connection, row: RowId, text: &str, at: DateTime<Utc>) -> Result<i64, StoreError> {
    // Until its step is carried out it counts as taken back.
    db.prepare_cached("INSERT INTO notes (transaction_row, at, text, taken_back_at) VALUES (?1, ?2, ?3, ?2)")?
        .execute(params![row.0, columns::moment(at), text])?;
    Ok(db.last_insert_rowid())
}
