//! What the budget was spent on, minute by minute: counted from what whoever polls says of itself, for the charts.
//!
//! A write costs three look-ups by index, whatever is tracked; a day is kept. It must never guess: where nobody polled, or the
//! poller was silent, there is no minute, or a short one.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, params};

use super::{columns, transactions};
use crate::{
    domain::{
        poller::{PollerHealth, PollerReport},
        span,
    },
    store::{error::StoreError, reader::Reader},
};

const MINUTE: i64 = 60_000;
/// What is older is dropped.
const KEPT: TimeDelta = TimeDelta::days(1);
/// Between two reports of a poller that is at work there is never more: the rest it slept, or was suspended.
const LONGEST_SILENCE: Duration = Duration::from_secs(15);

/// One minute of a profile's polling.
#[derive(Clone, Debug, PartialEq)]
pub struct Minute {
    /// When it began.
    pub at: DateTime<Utc>,
    /// Requests that were sent.
    pub requests: u64,
    /// How many of these were answered with 429.
    pub throttled: u64,
    /// How many of these brought nothing for another reason: a time-out, a 5xx, no connection.
    pub failed: u64,
    /// For so long somebody polled, as far as that was said, by a clock that doesn't jump.
    pub polled_for: Duration,
    /// The limit of the ID in requests per second, as it last was.
    pub limit: f64,
    /// The greatest age of the oldest answer; nothing if nothing was to be asked about.
    pub oldest: Option<Duration>,
}

impl Minute {
    /// Requests per second, while somebody polled.
    pub fn rate(&self) -> f64 {
        /// In less the chance of one request more or less is greater than what it says.
        const LEAST: f64 = 1.0;
        self.requests as f64 / self.polled_for.as_secs_f64().max(LEAST)
    }
}

/// What a poller did between two reports.
struct Done {
    requests: u64,
    throttled: u64,
    failed: u64,
    polled_for: Duration,
}

impl Done {
    /// Since its last report, or since it started. Nothing if the last report was another one's and this one isn't new: what it
    /// did meanwhile, or had reported before, can't be told apart.
    fn between(before: Option<&PollerReport>, now: &PollerReport) -> Option<Self> {
        let nothing = PollerReport::default();
        let continued = |before: &&PollerReport| before.process == now.process && before.running <= now.running;
        let before = match before.filter(continued) {
            Some(before) => before,
            None if now.running <= LONGEST_SILENCE => &nothing,
            None => return None,
        };
        Some(Self {
            requests: now.requests.saturating_sub(before.requests),
            throttled: now.throttled.saturating_sub(before.throttled),
            failed: now.failed.saturating_sub(before.failed),
            polled_for: now.running.saturating_sub(before.running).min(LONGEST_SILENCE),
        })
    }
}

/// Counts what a poller did since the last report of its profile.
pub(in crate::store) fn count(
    db: &Connection,
    profile: &str,
    (before, now): (Option<&PollerReport>, &PollerReport),
) -> Result<(), StoreError> {
    // Who waits for another one polls nothing.
    let Some(done) = Done::between(before, now).filter(|_| now.health != PollerHealth::Waiting) else { return Ok(()) };
    let oldest = transactions::oldest_answer(db, profile)?.map(|oldest| columns::span(span::between(oldest, now.at)));
    let at = columns::moment(now.at);
    let minute = at - at.rem_euclid(MINUTE);
    db.prepare_cached(
        "INSERT INTO minutes (profile, at, requests, throttled, failed, polled_for, limited_to, oldest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT DO UPDATE SET requests = requests + ?3, throttled = throttled + ?4, failed = failed + ?5,
         polled_for = polled_for + ?6, limited_to = ?7, oldest = max(ifnull(oldest, ?8), ifnull(?8, oldest))",
    )?
    .execute(params![
        profile,
        minute,
        done.requests,
        done.throttled,
        done.failed,
        columns::span(done.polled_for),
        now.rps,
        oldest
    ])?;
    let kept_from = columns::moment(now.at - KEPT);
    // Those to come were counted by a clock that was ahead.
    db.prepare_cached("DELETE FROM minutes WHERE profile = ? AND (at < ? OR at > ?)")?.execute(params![
        profile,
        kept_from,
        columns::moment(now.at)
    ])?;
    Ok(())
}

impl Reader {
    /// What a profile's budget was spent on since a moment, minute by minute, the oldest first.
    pub fn minutes(&self, profile: &str, since: DateTime<Utc>) -> Result<Vec<Minute>, StoreError> {
        let mut statement = self.db().prepare_cached(
            "SELECT at, requests, throttled, failed, polled_for, limited_to, oldest FROM minutes
             WHERE profile = ? AND at >= ? ORDER BY at",
        )?;
        let rows = statement.query_map(params![profile, columns::moment(since)], |row| {
            Ok(Minute {
                at: columns::moment_from(row.get(0)?),
                requests: row.get(1)?,
                throttled: row.get(2)?,
                failed: row.get(3)?,
                polled_for: columns::span_from(row.get(4)?),
                limit: row.get(5)?,
                oldest: row.get::<_, Option<i64>>(6)?.map(columns::span_from),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
