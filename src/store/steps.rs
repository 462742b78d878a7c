//! One thing that an edit changes, and how it is carried out, taken back and done again.
//!
//! Where something else happened to it since, it is left as it is. What belongs to one edit, and in which order, is no
//! concern of it.

use std::{collections::HashSet, ops::RangeInclusive};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, params};
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
    alert::Subject,
    change::{Turned, What},
    ids::RowId,
    transaction::{Told, Transaction},
};

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
    pub(super) fn is_about(&self, rows: &HashSet<i64>, alerts: &HashSet<i64>) -> bool {
        match self {
            Self::Acknowledged { alert, .. } => alerts.contains(alert),
            step => step.named().is_some_and(|row| rows.contains(&row)),
        }
    }

    /// The row that it names by itself.
    fn named(&self) -> Option<i64> {
        match self {
            Self::Tracked { .. } | Self::Acknowledged { .. } => None,
            Self::Told { row, .. }
            | Self::Tracking { row, .. }
            | Self::Ticket { row, .. }
            | Self::Label { row, .. }
            | Self::Note { row, .. } => Some(*row),
        }
    }

    /// The transaction that it is about, unless it is about several.
    pub(super) fn row(&self, db: &Connection) -> Result<Option<RowId>, StoreError> {
        match self {
            Self::Tracked { first, last, .. } => Ok((first == last).then_some(RowId(*first))),
            Self::Acknowledged { alert, .. } => Ok(alerts::by_id(db, *alert)?.and_then(|alert| match alert.subject {
                Subject::Transaction(row) => Some(row),
                Subject::Profile => None,
            })),
            step => Ok(step.named().map(RowId)),
        }
    }

    /// A transaction is polled again that wasn't before.
    pub(super) fn resumed(before: &Transaction) -> Self {
        Self::Tracking { row: before.id.0, before: Polling::of(before), after: Polling::ACTIVE }
    }
}

impl Polling {
    const ACTIVE: Self = Self { untracked: false, parked: None };
    /// Not at all, as a person asked.
    pub(super) const STOPPED: Self = Self { untracked: true, parked: None };

    /// As it stands.
    pub(super) fn of(transaction: &Transaction) -> Self {
        let (untracked, parked) = transactions::tracking_columns(&transaction.tracking);
        Self { untracked, parked: parked.map(str::to_owned) }
    }
}

/// Which way steps go, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Going {
    pub(super) way: Way,
    pub(super) at: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// As they were planned.
    Forth,
    /// Back to what was before.
    Back,
    /// As they were planned, once more.
    Again,
}

impl Going {
    /// What to change, and into what, of what stood before a step and what stands after it.
    fn ends<T>(self, before: T, after: T) -> (T, T) {
        if self.way == Way::Back { (after, before) } else { (before, after) }
    }

    fn turned(self) -> Option<Turned> {
        match self.way {
            Way::Forth => None,
            Way::Back => Some(Turned::TakenBack),
            Way::Again => Some(Turned::DoneAgain),
        }
    }
}

/// Carries a step out, or back; whether things stood as it expects.
pub(super) fn carry_out(db: &Connection, step: &mut Step, going: Going) -> Result<bool, StoreError> {
    match step {
        Step::Tracked { first, last, stopped } if going.way == Way::Back => {
            let told = stop_polling(db, *first..=*last, going.at)?;
            // Between these numbers lies nothing: nothing was stopped, and nothing is to be polled again.
            *stopped = Some(told.unwrap_or((1, 0)));
            Ok(told.is_some())
        }
        Step::Tracked { first, last, stopped } => poll_again(db, *first..=*last, *stopped, going.at),
        step => change(db, step, going),
    }
}

/// The same for a step that is about one thing.
fn change(db: &Connection, step: &Step, going: Going) -> Result<bool, StoreError> {
    match step {
        Step::Tracked { .. } => Ok(false),
        Step::Told { row, before, after } => {
            let (from, to) = going.ends(before, after);
            let known = transactions::outline(db, RowId(*row))?.filter(|known| known.told == **from);
            if let Some(known) = &known {
                transactions::write_told(db, known, to)?;
            }
            edited(db, (known.is_some(), *row, "what we were told"), going)
        }
        Step::Tracking { row, before, after } => set_polling(db, RowId(*row), going.ends(before, after), going),
        Step::Ticket { row, before, after } => {
            let (from, to) = going.ends(before, after);
            let sql = "UPDATE transactions SET ticket = ?3 WHERE id = ?1 AND ticket IS ?2";
            let done = db.prepare_cached(sql)?.execute(params![row, from, to])? > 0;
            let told = to.as_deref().map_or_else(|| "no ticket".to_owned(), |ticket| format!("ticket {ticket}"));
            edited(db, (done, *row, &told), going)
        }
        Step::Label { row, label, added } => {
            let (_, there) = going.ends(!added, *added);
            let sql = match there {
                true => "INSERT OR IGNORE INTO labels SELECT id, ?2 FROM transactions WHERE id = ?1",
                false => "DELETE FROM labels WHERE transaction_row = ?1 AND label = ?2",
            };
            let done = db.prepare_cached(sql)?.execute(params![row, label])? > 0;
            edited(db, (done, *row, &format!("label {}{label}", if there { '+' } else { '-' })), going)
        }
        Step::Note { row, note } => {
            let taken_back = (going.way == Way::Back).then(|| columns::moment(going.at));
            let sql = "UPDATE notes SET taken_back_at = ?2 WHERE id = ?1 AND (taken_back_at IS NULL) <> (?2 IS NULL)";
            let done = db.prepare_cached(sql)?.execute(params![note, taken_back])? > 0;
            edited(db, (done, *row, "note"), going)
        }
        Step::Acknowledged { alert, before, after } => {
            set_aside::carry_out(db, *alert, going.ends(before, after), going.at)
        }
    }
}

fn set_polling(
    db: &Connection,
    row: RowId,
    (from, to): (&Polling, &Polling),
    going: Going,
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
            told(db, row, &What::Untracked, going.at)?;
            // Nobody is asked any more whether what stands still holds.
            alerts::clear_all(db, row, going.at).map(|()| true)
        }
        false => {
            alerts::stand_again(db, row, going.at)?;
            edited(db, (true, row.0, "polled again"), going)
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
    let again = What::Edited { fields: vec!["polled again".to_owned()], turned: Some(Turned::DoneAgain) };
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

fn edited(db: &Connection, (done, row, field): (bool, i64, &str), going: Going) -> Result<bool, StoreError> {
    if !done {
        return Ok(false);
    }
    let what = What::Edited { fields: vec![field.to_owned()], turned: going.turned() };
    told(db, RowId(row), &what, going.at)
}

fn told(db: &Connection, row: RowId, what: &What, at: DateTime<Utc>) -> Result<bool, StoreError> {
    // Of an entry about a transaction the profile is that transaction's.
    changes::append(db, &Entry { at, profile: "", transaction: Some(row), observation: None }, what)?;
    Ok(true)
}
