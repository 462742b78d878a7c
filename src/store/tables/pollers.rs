//! The tables of pollers: the last report of each profile's poller (`pollers`), and the ends of pauses (`pauses`).

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, params};

use super::{
    columns, open_transactions,
    quotes::{self, StoredQuote},
    status_requests, transactions,
};
use crate::{
    domain::{ids::RowId, operation::StatusRequestKey, poller::PollerReport, polling::PollingState},
    store::{error::Result, reader::Reader, statement::CachedStatements},
};

/// The longest pause. A later end was written while the clock was ahead, and is ignored.
const MAX_PAUSE: TimeDelta = TimeDelta::hours(1);

/// The requests of people to a profile's poller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PollerRequests {
    /// The transactions of any profile that people have open.
    pub open: Vec<RowId>,
    /// The end of the pause, if the profile is paused. During a pause only requested transactions are polled.
    pub paused_until: Option<DateTime<Utc>>,
    /// The quote requests that are still wanted and not claimed, oldest first.
    pub quotes: Vec<StoredQuote>,
    /// The requests for the status of transactions that aren't tracked, still wanted and not answered, oldest first.
    pub status_requests: Vec<StatusRequestKey>,
}

impl Reader {
    /// Returns the last report of a profile's poller.
    pub fn poller(&self, profile: &str) -> Result<Option<PollerReport>> {
        read(self.db(), profile)
    }

    /// Returns the requests of people to a profile's poller at `now`.
    pub fn poller_requests(&self, profile: &str, now: DateTime<Utc>) -> Result<PollerRequests> {
        Ok(PollerRequests {
            open: open_transactions::open_at(self.db(), now)?,
            paused_until: paused_until(self.db(), profile, now)?,
            quotes: quotes::pending(self.db(), profile, now)?,
            status_requests: status_requests::pending(self.db(), profile, now)?,
        })
    }

    /// Returns the state of a profile's polling at `now`.
    pub fn polling(&self, profile: &str, now: DateTime<Utc>) -> Result<PollingState> {
        Ok(PollingState {
            poller: read(self.db(), profile)?,
            paused_until: paused_until(self.db(), profile, now)?,
            oldest_answer: transactions::oldest_answer(self.db(), profile)?,
        })
    }
}

/// Returns the end of the profile's pause; `None` if the profile isn't paused at `now`.
fn paused_until(db: &Connection, profile: &str, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>> {
    let sql = "SELECT until FROM pauses WHERE profile = ?1 AND until > ?2 AND until <= ?3";
    let values = params![profile, columns::moment(now), columns::moment(now + MAX_PAUSE)];
    db.first(sql, values, |row| row.get(0).map(columns::moment_from))
}

/// Pauses a profile until a time; with `None` resumes it.
pub(crate) fn set_pause(db: &Connection, profile: &str, until: Option<DateTime<Utc>>) -> Result<()> {
    match until {
        Some(until) => db.run(
            "INSERT INTO pauses (profile, until) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET until = ?2",
            params![profile, columns::moment(until)],
        ),
        None => db.run("DELETE FROM pauses WHERE profile = ?", [profile]),
    }
}

pub(crate) fn write(db: &Connection, profile: &str, report: &PollerReport) -> Result<()> {
    let sql = "INSERT INTO pollers (profile, at, state) VALUES (?1, ?2, ?3)
               ON CONFLICT (profile) DO UPDATE SET at = ?2, state = ?3";
    db.run(sql, params![profile, columns::moment(report.at), columns::to_json(report)?])
}

pub(crate) fn read(db: &Connection, profile: &str) -> Result<Option<PollerReport>> {
    let row = db.first("SELECT at, state FROM pollers WHERE profile = ?", [profile], |row| {
        Ok((columns::lenient::<i64>(row, 0)?, columns::lenient::<String>(row, 1)?))
    })?;
    // The poller replaces the report within seconds.
    Ok(row.and_then(|(at, state)| {
        let report: PollerReport = columns::parse_or_omit(&state, format_args!("the report of the poller"))?;
        Some(PollerReport { at: columns::moment_from(at), ..report })
    }))
}
