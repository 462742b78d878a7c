//! What each profile's poller last said of itself, for whoever shows it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::{columns, error::StoreError, minutes};
use crate::domain::{need::Need, span, text};

/// The state of a profile's polling, written at most once a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PollerReport {
    /// When it was written.
    #[serde(skip)]
    pub at: DateTime<Utc>,
    /// If nothing newer comes until then, the poller isn't there any more.
    pub valid_until: DateTime<Utc>,
    /// The process that polls.
    pub process: u32,
    /// What may be shown of the integrator ID: `…7f3a`.
    pub id: String,
    /// Of base URL and ID: whose budget it spends.
    pub fingerprint: String,
    /// The limit of the ID, in requests per second.
    pub rps: f64,
    /// The share of the limit that is used: less than 1 after a 429, until it has grown back.
    pub share: f64,
    /// What is needed, against what the budget allows; nothing of one that polls only what people ask for.
    pub need: Option<Need>,
    /// Requests per second over the last ten seconds.
    pub used: f64,
    /// Requests since the poller started.
    pub requests: u64,
    /// How many of these were answered with 429.
    pub throttled: u64,
    /// How many of these brought nothing for another reason.
    pub failed: u64,
    /// For how long it has been polling, by a clock that doesn't jump.
    pub running: Duration,
    /// Transactions that are being polled.
    pub unsettled: u64,
    /// In a word: `live`, `paused`, `throttled`, `unreachable`, `unauthorized`, `stopped`, or `waiting` for another
    /// process that should poll and says nothing.
    pub health: String,
    /// Until when a person wants nothing polled, if so.
    pub paused_until: Option<DateTime<Utc>>,
    /// Until when nothing is sent, if so.
    pub resting_until: Option<DateTime<Utc>>,
    /// The last failure of a request, with the words that say what to do.
    pub last_error: Option<String>,
}

impl PollerReport {
    /// Whether there is a poller that said this: it hasn't stopped, nor been silent for too long.
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        self.health != "stopped" && now <= self.valid_until
    }

    /// Why nothing came that was asked for, for a person, as far as a report says; clean.
    pub fn why_silent(report: Option<&Self>, now: DateTime<Utc>) -> String {
        match report {
            Some(report) if report.health == "waiting" => {
                "another hoptop polls this store but says nothing, it may be suspended: wake it or end it, and try again"
                    .into()
            }
            Some(Self { resting_until: Some(until), health, last_error, .. }) if *until > now => {
                let rest = span::long(span::between(now, *until));
                let why = last_error.as_ref().map_or_else(String::new, |error| format!(": {}", text::clean(error)));
                match health.as_str() {
                    "throttled" => format!("the service wants no requests of this ID for {rest}{why}"),
                    _ => format!("hoptop rests for {rest} after failures{why}"),
                }
            }
            Some(Self { last_error: Some(error), .. }) => text::clean(error),
            Some(Self { paused_until: Some(until), .. }) if *until > now => {
                format!("polling is paused for {}, in a dashboard", span::long(span::between(now, *until)))
            }
            _ => "no answer came in time; check the base URL, the network and the service".into(),
        }
    }
}

pub(super) fn write(db: &Connection, profile: &str, report: &PollerReport) -> Result<(), StoreError> {
    minutes::count(db, profile, (read(db, profile)?.as_ref(), report))?;
    let state = serde_json::to_string(report).map_err(|error| columns::unreadable(0, error))?;
    db.prepare_cached(
        "INSERT INTO pollers (profile, at, state) VALUES (?1, ?2, ?3)
         ON CONFLICT (profile) DO UPDATE SET at = ?2, state = ?3",
    )?
    .execute(params![profile, columns::moment(report.at), state])?;
    Ok(())
}

pub(super) fn read(db: &Connection, profile: &str) -> Result<Option<PollerReport>, StoreError> {
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
