//! Alerts that a person has set aside, taken on or snoozed, and what brings them back.
//!
//! What a change brings back is decided in `alerts`. Of itself this brings back only what was snoozed until a moment that has
//! come; whether it is snoozed never depends on that, the order of the lists does.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};

use super::{
    alerts,
    changes::{self, Entry},
    columns,
    error::StoreError,
    steps::Step,
};
use crate::domain::{
    alert::{Acknowledgement, Alert, SetAside, Snooze, Snoozed, Subject},
    change::What,
};

/// What a person said of an alert, as the record of edits has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Taken {
    at: i64,
    note: Option<String>,
    /// How it is snoozed. One that is acknowledged isn't; records of earlier versions know only those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    snoozed: Option<Until>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Until {
    Moment(i64),
    Change,
}

impl From<&SetAside> for Taken {
    fn from(said: &SetAside) -> Self {
        match said {
            SetAside::Acknowledged(Acknowledgement { at, note }) => {
                Self { at: columns::moment(*at), note: note.clone(), snoozed: None }
            }
            SetAside::Snoozed(Snoozed { at, until }) => {
                let snoozed = until.moment().map_or(Until::Change, |moment| Until::Moment(columns::moment(moment)));
                Self { at: columns::moment(*at), note: None, snoozed: Some(snoozed) }
            }
        }
    }
}

impl Taken {
    fn snooze(&self) -> Option<Snooze> {
        self.snoozed.map(|until| match until {
            Until::Moment(moment) => Snooze::Until(columns::moment_from(moment)),
            Until::Change => Snooze::Change,
        })
    }
}

/// What was said of an alert, from four columns in a row.
pub(super) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<SetAside>> {
    let moment = |column: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(columns::moment_from));
    if let Some(at) = moment(first)? {
        return Ok(Some(SetAside::Acknowledged(Acknowledgement { at, note: row.get(first + 1)? })));
    }
    let until = moment(first + 3)?.map_or(Snooze::Change, Snooze::Until);
    Ok(moment(first + 2)?.map(|at| SetAside::Snoozed(Snoozed { at, until })))
}

/// The steps that say this of alerts, or take back whatever was said; none for those of which it was said before.
pub(super) fn plan(db: &Connection, ids: &[i64], said: Option<&SetAside>) -> Result<Vec<Step>, StoreError> {
    let after = said.map(Taken::from);
    let mut steps = Vec::new();
    for alert in ids {
        let Some(standing) = alerts::by_id(db, *alert)? else { continue };
        let before = standing.set_aside.as_ref().map(Taken::from);
        let after = match (&before, &after) {
            // One that is taken on already stays with whoever took it; words on it alone are other words on it.
            (Some(before), Some(after)) if before.snoozed == after.snoozed => {
                let is_noted = ids.len() == 1 && after.note.is_some() && before.note != after.note;
                is_noted.then(|| Some(Taken { at: before.at, ..after.clone() }))
            }
            (None, None) => None,
            (_, after) => Some((*after).clone()),
        };
        steps.extend(after.map(|after| Step::Acknowledged { alert: *alert, before, after }));
    }
    Ok(steps)
}

/// Makes what is said of an alert something else, if things stand as expected.
pub(super) fn carry_out(
    db: &Connection,
    id: i64,
    (from, to): (&Option<Taken>, &Option<Taken>),
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let Some(alert) = alerts::by_id(db, id)? else { return Ok(false) };
    if alert.set_aside.as_ref().map(Taken::from) != *from {
        return Ok(false);
    }
    say(db, &alert, to.as_ref(), &entry(&alert, at))?;
    alerts::write_order(db, alert.subject)?;
    Ok(true)
}

/// Ends what set an alert aside, as far as something did; whether it did.
pub(super) fn bring_back(db: &Connection, id: i64, entry: &Entry<'_>) -> Result<bool, StoreError> {
    match alerts::by_id(db, id)?.filter(|alert| alert.set_aside.is_some()) {
        Some(alert) => say(db, &alert, None, entry).map(|()| true),
        None => Ok(false),
    }
}

/// Brings back what was snoozed until a moment that has come at `at`.
pub(super) fn end_snoozes(db: &Connection, at: DateTime<Utc>) -> Result<(), StoreError> {
    for alert in alerts::snoozed_until(db, at)? {
        say(db, &alert, None, &entry(&alert, at))?;
        alerts::write_order(db, alert.subject)?;
    }
    Ok(())
}

fn entry(alert: &Alert, at: DateTime<Utc>) -> Entry<'_> {
    let transaction = match alert.subject {
        Subject::Transaction(row) => Some(row),
        Subject::Profile => None,
    };
    Entry { at, profile: &alert.profile, transaction, observation: None }
}

fn say(db: &Connection, alert: &Alert, said: Option<&Taken>, entry: &Entry<'_>) -> Result<(), StoreError> {
    let snooze = said.and_then(Taken::snooze);
    let taken_on = said.filter(|_| snooze.is_none());
    db.prepare_cached(
        "UPDATE alerts SET acknowledged_at = ?2, acknowledged_note = ?3, snoozed_at = ?4, snoozed_until = ?5 WHERE id = ?1",
    )?
    .execute(params![
        alert.id,
        taken_on.map(|taken| taken.at),
        taken_on.and_then(|taken| taken.note.as_deref()),
        said.filter(|_| snooze.is_some()).map(|taken| taken.at),
        snooze.and_then(Snooze::moment).map(columns::moment),
    ])?;
    let rule = alert.rule;
    let what = match (said, snooze) {
        (Some(_), Some(snooze)) => What::AlertSnoozed { rule, until: snooze.moment() },
        (Some(taken), None) => What::AlertAcknowledged { rule, note: taken.note.clone() },
        (None, _) if alert.snoozed().is_some() => What::AlertUnsnoozed { rule },
        (None, _) => What::AlertUnacknowledged { rule },
    };
    changes::append(db, entry, &what)
}
