//! The use of the budget per minute (`minutes`), counted from the pollers' reports, for the charts.
//!
//! A write costs three index lookups, however much is tracked. One week is kept. This module must never guess: without
//! reports there is no minute, or a minute with less polled time.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, params};

use super::{columns, transactions};
use crate::{
    domain::{
        poller::{PollerHealth, PollerReport},
        span,
    },
    store::{error::Result, reader::Reader, statement::CachedStatements},
};

const MINUTE_MILLIS: i64 = 60_000;
/// The age at which minutes are deleted.
const RETENTION: TimeDelta = TimeDelta::days(7);

/// The polling of a profile in one minute.
#[derive(Clone, Debug, PartialEq)]
pub struct MinuteStats {
    /// The start of the minute.
    pub at: DateTime<Utc>,
    /// The number of requests sent.
    pub requests: u64,
    /// The number of these requests that were answered with 429.
    pub throttled: u64,
    /// The number of these requests that failed otherwise: time-out, 5xx, no connection.
    pub failed: u64,
    /// The time in which a poller worked, as far as reports show, measured by a monotonic clock.
    pub polled_for: Duration,
    /// The last limit of the integrator ID, in requests per second.
    pub limit: f64,
    /// The greatest age of the oldest answer; `None` if nothing was polled.
    pub oldest: Option<Duration>,
}

impl MinuteStats {
    /// Returns the requests per second of polled time.
    pub fn rate(&self) -> f64 {
        /// The shortest time to divide by: in less time, a single request would change the rate too much.
        const MIN_SECONDS: f64 = 1.0;
        self.requests as f64 / self.polled_for.as_secs_f64().max(MIN_SECONDS)
    }
}

/// Counts the work of a poller since the last report of its profile.
pub(crate) fn count(db: &Connection, profile: &str, before: Option<&PollerReport>, now: &PollerReport) -> Result<()> {
    let zero = PollerReport::default();
    let is_same_run = |before: &&PollerReport| before.process == now.process && before.running <= now.running;
    let before = match before.filter(is_same_run) {
        // A poller that waits for another process sends no requests.
        _ if now.health == PollerHealth::Waiting => return Ok(()),
        Some(before) => before,
        None if now.running <= PollerReport::VALIDITY => &zero,
        // The last report came from another run, and this run isn't new: work before and after it can't be told apart.
        None => return Ok(()),
    };
    let polled_for = now.running.saturating_sub(before.running).min(PollerReport::VALIDITY);
    let oldest = transactions::oldest_answer(db, profile)?.map(|oldest| columns::span(span::between(oldest, now.at)));
    let at = columns::moment(now.at);
    let minute = at - at.rem_euclid(MINUTE_MILLIS);
    let sql = "INSERT INTO minutes (profile, at, requests, throttled, failed, polled_for, limited_to, oldest)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
               ON CONFLICT DO UPDATE SET requests = requests + ?3, throttled = throttled + ?4, failed = failed + ?5,
               polled_for = polled_for + ?6, limited_to = ?7, oldest = max(ifnull(oldest, ?8), ifnull(?8, oldest))";
    let requests = now.requests.saturating_sub(before.requests);
    let throttled = now.throttled.saturating_sub(before.throttled);
    let failed = now.failed.saturating_sub(before.failed);
    let polled_for = columns::span(polled_for);
    db.run(sql, params![profile, minute, requests, throttled, failed, polled_for, now.rps, oldest])?;
    let kept_from = columns::moment(now.at - RETENTION);
    // Minutes in the future were counted when the clock was ahead.
    db.run("DELETE FROM minutes WHERE profile = ? AND (at < ? OR at > ?)", params![profile, kept_from, at])
}

impl Reader {
    /// Returns the minutes of a profile since a time, oldest first.
    pub fn minutes(&self, profile: &str, since: DateTime<Utc>) -> Result<Vec<MinuteStats>> {
        self.db().all(
            "SELECT at, requests, throttled, failed, polled_for, limited_to, oldest FROM minutes
             WHERE profile = ? AND at >= ? ORDER BY at",
            params![profile, columns::moment(since)],
            |row| {
                Ok(MinuteStats {
                    at: columns::moment_from(row.get(0)?),
                    requests: row.get(1)?,
                    throttled: row.get(2)?,
                    failed: row.get(3)?,
                    polled_for: columns::span_from(row.get(4)?),
                    limit: row.get(5)?,
                    oldest: row.get::<_, Option<i64>>(6)?.map(columns::span_from),
                })
            },
        )
    }
}
