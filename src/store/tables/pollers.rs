//! The tables of pollers (`pollers`, `pauses`): what each profile's poller last said of itself, and until when a person paused it.

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    columns, open_transactions,
    quotes::{self, StoredQuote},
};
use crate::{
    domain::{ids::RowId, poller::PollerReport},
    store::{error::StoreError, reader::Reader},
};

/// No pause is longer. A moment further ahead was written by a clock that was ahead.
const LONGEST_PAUSE: TimeDelta = TimeDelta::hours(1);

/// What people want of a profile's poller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PollerRequests {
    /// The transactions that people have open, of any profile.
    pub open: Vec<RowId>,
    /// Until when nothing is to be polled but what people ask for, if so.
    pub paused_until: Option<DateTime<Utc>>,
    /// The routes that somebody waits for and nobody has claimed, the oldest first.
    pub quotes: Vec<StoredQuote>,
}

impl Reader {
    /// What a profile's poller last said of itself.
    pub fn poller(&self, profile: &str) -> Result<Option<PollerReport>, StoreError> {
        read(self.db(), profile)
    }

    /// What people want of a profile's poller at `now`.
    pub fn poller_requests(&self, profile: &str, now: DateTime<Utc>) -> Result<PollerRequests, StoreError> {
        Ok(PollerRequests {
            open: open_transactions::open_at(self.db(), now)?,
            paused_until: self.paused_until(profile, now)?,
            quotes: quotes::pending(self.db(), profile, now)?,
        })
    }

    /// Until when a profile isn't polled, since a person paused it; `None` if it is polled at `now`.
    pub fn paused_until(&self, profile: &str, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, StoreError> {
        let sql = "SELECT until FROM pauses WHERE profile = ?1 AND until > ?2 AND until <= ?3";
        let values = params![profile, columns::moment(now), columns::moment(now + LONGEST_PAUSE)];
        let until = self.db().prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?;
        Ok(until.map(columns::moment_from))
    }
}

/// Pauses a profile until a moment, or resumes it.
pub(in crate::store) fn set_pause(
    db: &Connection,
    profile: &str,
    until: Option<DateTime<Utc>>,
) -> Result<(), StoreError> {
    match until {
        Some(until) => db
            .prepare_cached("INSERT INTO pauses (profile, until) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET until = ?2")?
            .execute(params![profile, columns::moment(until)])?,
        None => db.prepare_cached("DELETE FROM pauses WHERE profile = ?")?.execute([profile])?,
    };
    Ok(())
}

pub(in crate::store) fn write(db: &Connection, profile: &str, report: &PollerReport) -> Result<(), StoreError> {
    let state = serde_json::to_string(report).map_err(|error| columns::unreadable(0, error))?;
    db.prepare_cached(
        "INSERT INTO pollers (profile, at, state) VALUES (?1, ?2, ?3)
         ON CONFLICT (profile) DO UPDATE SET at = ?2, state = ?3",
    )?
    .execute(params![profile, columns::moment(report.at), state])?;
    Ok(())
}

pub(in crate::store) fn read(db: &Connection, profile: &str) -> Result<Option<PollerReport>, StoreError> {
    let row = db
        .prepare_cached("SELECT at, state FROM pollers WHERE profile = ?")?
        .query_row([profile], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
        .optional()?;
    row.map(|(at, state)| {
        let report: PollerReport = serde_json::from_str(&state).map_err(|error| columns::unreadable(1, error))?;
        Ok(PollerReport { at: columns::moment_from(at), ..report })
    })
    .transpose()
}
