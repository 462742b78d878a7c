//! What people did to what is tracked, each with what it takes to take it back.
//!
//! The record of it stays, and so does the record of its being taken back. Where something else happened since, that counts:
//! nothing is taken back over it.

use std::{collections::HashSet, ops::RangeInclusive};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::{
    alerts,
    changes::{self, Entry},
    columns,
    error::StoreError,
    set_aside::{self, Taken},
    transactions,
};
use crate::domain::{
    alert::{Acknowledgement, SetAside, Snooze, Snoozed},
    change::What,
    ids::RowId,
    transaction::{Told, Transaction},
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
    /// How much of it could be carried out.
    pub done: usize,
    /// How much was left as it is, since something else happened to it.
    pub left: usize,
}

/// One thing that an edit changed, from one state to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// Rows were added, from the first number to the last.
    Tracked {
        first: i64,
        last: i64,
        /// Between which numbers the feed says of which of them that they were stopped, when this was taken back.
        #[serde(default)]
        stopped: Option<(i64, i64)>,
    },
    /// What we were told of it.
    Told { row: i64, before: Box<Told>, after: Box<Told> },
    /// Whether it is polled.
    Tracking { row: i64, before: Polling, after: Polling },
    /// The ticket.
    Ticket { row: i64, before: Option<String>, after: Option<String> },
    /// A label is there, or isn't any more.
    Label { row: i64, label: String, added: bool },
    /// A note.
    Note { row: i64, note: i64 },
    /// What is said of an alert: that it is taken on, or snoozed.
    Acknowledged { alert: i64, before: Option<Taken>, after: Option<Taken> },
}

/// Whether a transaction is polled, as its columns have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Polling {
    untracked: bool,
    parked: Option<String>,
}

impl Step {
    /// Rows were added, from the first number to the last.
    pub(super) fn tracked(first: i64, last: i64) -> Self {
        Self::Tracked { first, last, stopped: None }
    }

    /// Whether it is about one of these transactions, or of these alerts.
    fn is_about(&self, rows: &HashSet<i64>, alerts: &HashSet<i64>) -> bool {
        match self {
            Self::Tracked { .. } => false,
            Self::Acknowledged { alert, .. } => alerts.contains(alert),
            Self::Told { row, .. }
            | Self::Tracking { row, .. }
            | Self::Ticket { row, .. }
            | Self::Label { row, .. }
            | Self::Note { row, .. } => rows.contains(row),
        }
    }

    /// A transaction is polled again that wasn't before.
    pub(super) fn resumed(before: &Transaction) -> Self {
        Self::Tracking { row: before.id.0, before: Polling::of(before), after: Polling::ACTIVE }
    }
}

impl Polling {
    const ACTIVE: Self = Self { untracked: false, parked: None };
    const STOPPED: Self = Self { untracked: true, parked: None };

    /// As it stands.
    fn of(transaction: &Transaction) -> Self {
        let (untracked, parked) = transactions::tracking_columns(&transaction.tracking);
        Self { untracked, parked: parked.map(str::to_owned) }
    }
}

/// Which way a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Forth,
    Back,
}

/// Carries an edit out and records it; how much it changed.
pub(super) fn edit(db: &Connection, profile: &str, edit: &Edit, at: DateTime<Utc>) -> Result<usize, StoreError> {
    let steps = plan(db, edit, at)?;
    let mut done = Vec::new();
    for mut step in steps {
        if carry_out(db, &mut step, Way::Forth, at)? {
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
    turn(db, (profile, last), Way::Back, at)
}

/// Does again what was taken back last, unless something was done since.
pub(super) fn do_again(db: &Connection, profile: &str, at: DateTime<Utc>) -> Result<Option<TakenBack>, StoreError> {
    let next = "SELECT id, summary, steps FROM edits WHERE profile = ?1 AND taken_back_at IS NOT NULL
        AND id > (SELECT ifnull(max(id), 0) FROM edits WHERE profile = ?1 AND taken_back_at IS NULL) ORDER BY id LIMIT 1";
    turn(db, (profile, next), Way::Forth, at)
}

fn turn(
    db: &Connection,
    (profile, which): (&str, &str),
    way: Way,
    at: DateTime<Utc>,
) -> Result<Option<TakenBack>, StoreError> {
    let found = db
        .prepare_cached(which)?
        .query_row([profile], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)))
        .optional()?;
    let Some((id, summary, text)) = found else { return Ok(None) };
    let mut steps = read(&text)?;
    let mut turned = TakenBack { summary, done: 0, left: 0 };
    // What was done last is taken back first.
    let in_order: Vec<&mut Step> =
        if way == Way::Back { steps.iter_mut().rev().collect() } else { steps.iter_mut().collect() };
    for step in in_order {
        match carry_out(db, step, way, at)? {
            true => turned.done += 1,
            false => turned.left += 1,
        }
    }
    let taken_back_at = (way == Way::Back).then(|| columns::moment(at));
    db.prepare_cached("UPDATE edits SET taken_back_at = ?, steps = ? WHERE id = ?")?.execute(params![
        taken_back_at,
        written(&steps)?,
        id
    ])?;
    let what = match way {
        Way::Back => What::TakenBack { summary: turned.summary.clone() },
        Way::Forth => What::DoneAgain { summary: turned.summary.clone() },
    };
    changes::append(db, &Entry::of_profile(profile, at), &what)?;
    Ok(Some(turned))
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

/// Carries a step out, or back; whether things stood as it expects.
fn carry_out(db: &Connection, step: &mut Step, way: Way, at: DateTime<Utc>) -> Result<bool, StoreError> {
    match (step, way) {
        (Step::Tracked { first, last, stopped }, Way::Forth) => poll_again(db, *first..=*last, *stopped, at),
        (Step::Tracked { first, last, stopped }, Way::Back) => {
            let told = stop_polling(db, *first..=*last, at)?;
            // Between these numbers lies nothing: nothing was stopped, and nothing is to be polled again.
            *stopped = Some(told.unwrap_or((1, 0)));
            Ok(told.is_some())
        }
        (step, way) => change(db, step, way == Way::Forth, at),
    }
}

/// The same for a step that is about one thing.
fn change(db: &Connection, step: &Step, forth: bool, at: DateTime<Utc>) -> Result<bool, StoreError> {
    match step {
        Step::Tracked { .. } => Ok(false),
        Step::Told { row, before, after } => {
            let (from, to) = if forth { (before, after) } else { (after, before) };
            let known = transactions::outline(db, RowId(*row))?;
            let done = known.is_some_and(|known| known.told == **from);
            if done {
                transactions::write_told(db, RowId(*row), to)?;
            }
            edited(db, (done, *row, "what we were told"), at)
        }
        Step::Tracking { row, before, after } => {
            set_polling(db, RowId(*row), if forth { (before, after) } else { (after, before) }, at)
        }
        Step::Ticket { row, before, after } => {
            let (from, to) = if forth { (before, after) } else { (after, before) };
            let sql = "UPDATE transactions SET ticket = ?3 WHERE id = ?1 AND ticket IS ?2";
            let done = db.prepare_cached(sql)?.execute(params![row, from, to])? > 0;
            edited(db, (done, *row, "ticket"), at)
        }
        Step::Label { row, label, added } => {
            let sql = match forth == *added {
                true => "INSERT OR IGNORE INTO labels SELECT id, ?2 FROM transactions WHERE id = ?1",
                false => "DELETE FROM labels WHERE transaction_row = ?1 AND label = ?2",
            };
            let done = db.prepare_cached(sql)?.execute(params![row, label])? > 0;
            edited(db, (done, *row, "labels"), at)
        }
        Step::Note { row, note } => {
            let taken_back = (!forth).then(|| columns::moment(at));
            let sql = "UPDATE notes SET taken_back_at = ?2 WHERE id = ?1 AND (taken_back_at IS NULL) <> (?2 IS NULL)";
            let done = db.prepare_cached(sql)?.execute(params![note, taken_back])? > 0;
            edited(db, (done, *row, "note"), at)
        }
        Step::Acknowledged { alert, before, after } => {
            set_aside::carry_out(db, *alert, if forth { (before, after) } else { (after, before) }, at)
        }
    }
}

fn set_polling(
    db: &Connection,
    row: RowId,
    (from, to): (&Polling, &Polling),
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let sql = "UPDATE transactions SET untracked = ?4, parked_reason = ?5
               WHERE id = ?1 AND untracked = ?2 AND parked_reason IS ?3";
    let done =
        db.prepare_cached(sql)?.execute(params![row.0, from.untracked, from.parked, to.untracked, to.parked])? > 0;
    if !done {
        return Ok(false);
    }
    match to.untracked {
        true => {
            told(db, row, &What::Untracked, at)?;
            // Nobody is asked any more whether what stands still holds.
            alerts::clear_all(db, row, at).map(|()| true)
        }
        false => {
            alerts::stand_again(db, row, at)?;
            edited(db, (true, row.0, "tracking"), at)
        }
    }
}

/// Stops polling what is polled of a batch: a statement for all of them, since there may be a million. Between which numbers
/// the feed says so, if there were any.
fn stop_polling(
    db: &Connection,
    rows: RangeInclusive<i64>,
    at: DateTime<Utc>,
) -> Result<Option<(i64, i64)>, StoreError> {
    const POLLED: &str = "untracked = 0";
    let told = changes::append_to_each(db, (rows.clone(), POLLED), &What::Untracked, at)?;
    let which = format!("id BETWEEN ? AND ? AND {POLLED}");
    let mut alerting = db.prepare_cached(&format!("SELECT id FROM transactions WHERE {which} AND calm < 3"))?;
    let alerting = alerting.query_map([rows.start(), rows.end()], |row| row.get(0).map(RowId))?;
    alerting.collect::<Result<Vec<_>, _>>()?.into_iter().try_for_each(|row| alerts::clear_all(db, row, at))?;
    // Why the service refused one is known again when it is polled again.
    let stopped = format!("UPDATE transactions SET untracked = 1 WHERE {which}");
    let stopped = db.prepare_cached(&stopped)?.execute([rows.start(), rows.end()])?;
    Ok((stopped > 0).then_some(told.into_inner()))
}

/// Polls again what was stopped so, but for what somebody stopped since.
fn poll_again(
    db: &Connection,
    rows: RangeInclusive<i64>,
    stopped: Option<(i64, i64)>,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let which = stopped.map_or_else(
        || "untracked = 1".to_owned(),
        |(first, last)| {
            let told = "SELECT max(seq) FROM changes WHERE transaction_row = transactions.id AND event";
            format!("untracked = 1 AND ({told} = '{}') BETWEEN {first} AND {last}", What::Untracked.name())
        },
    );
    let again = What::Edited { fields: vec!["tracking".to_owned()] };
    changes::append_to_each(db, (rows.clone(), &which), &again, at)?;
    let polled = format!("UPDATE transactions SET untracked = 0 WHERE id BETWEEN ? AND ? AND {which}");
    let done = db.prepare(&polled)?.execute([rows.start(), rows.end()])? > 0;
    let mut stood = db.prepare_cached(
        "SELECT DISTINCT transaction_row FROM alerts JOIN transactions ON transactions.id = transaction_row
         WHERE transaction_row BETWEEN ? AND ? AND cleared_at IS NOT NULL AND untracked = 0",
    )?;
    let stood = stood.query_map([rows.start(), rows.end()], |row| row.get(0).map(RowId))?;
    stood.collect::<Result<Vec<_>, _>>()?.into_iter().try_for_each(|row| alerts::stand_again(db, row, at))?;
    Ok(done)
}

fn edited(db: &Connection, (done, row, field): (bool, i64, &str), at: DateTime<Utc>) -> Result<bool, StoreError> {
    if !done {
        return Ok(false);
    }
    told(db, RowId(row), &What::Edited { fields: vec![field.to_owned()] }, at)
}

fn told(db: &Connection, row: RowId, what: &What, at: DateTime<Utc>) -> Result<bool, StoreError> {
    // Of an entry about a transaction the profile is that transaction's.
    changes::append(db, &Entry { at, profile: "", transaction: Some(row), observation: None }, what)?;
    Ok(true)
}
