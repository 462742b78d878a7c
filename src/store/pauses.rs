//! Until when a profile isn't polled, since a person wants its budget for something else: a row for each that is paused.

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, OptionalExtension, params};

use super::{columns, error::StoreError};

/// Nothing of a profile is polled until then but what people ask for; without a moment it is polled again.
pub(super) fn pause(db: &Connection, profile: &str, until: Option<DateTime<Utc>>) -> Result<(), StoreError> {
    match until {
        Some(until) => db
            .prepare_cached("INSERT INTO pauses (profile, until) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET until = ?2")?
            .execute(params![profile, columns::moment(until)])?,
        None => db.prepare_cached("DELETE FROM pauses WHERE profile = ?")?.execute([profile])?,
    };
    Ok(())
}

/// No pause is longer. What lies further ahead was written by a clock that was ahead.
const LONGEST: TimeDelta = TimeDelta::hours(1);

/// Until when a profile isn't polled, if that is later than `now`.
pub(super) fn until(db: &Connection, profile: &str, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, StoreError> {
    let until = db
        .prepare_cached("SELECT until FROM pauses WHERE profile = ?1 AND until > ?2 AND until <= ?3")?
        .query_row(params![profile, columns::moment(now), columns::moment(now + LONGEST)], |row| row.get(0))
        .optional()?;
    Ok(until.map(columns::moment_from))
}
