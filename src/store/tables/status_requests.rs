//! The table of requests for the status of transactions that aren't tracked (`status_requests`).
//!
//! A request is deleted once its person has the answer. The module must never keep a request that nobody waits for.

use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row, params};

use super::columns;
use crate::{
    domain::{
        ids::TransactionKey, observation::Observation, operation::StatusRequestKey, transaction::TransactionParams,
    },
    store::{error::Result, reader::Reader, statement::CachedStatements},
};

/// How long a request is kept after the moment until which its answer was wanted: the clocks of a team's machines differ.
const MAX_KEPT: Duration = Duration::from_secs(5 * 60);

impl Reader {
    /// Returns the answer to a request for a status, and when it arrived; `None` without one.
    pub fn status_answer(&self, request: &StatusRequestKey) -> Result<Option<(Observation, DateTime<Utc>)>> {
        let sql = format!(
            "SELECT observation, answered_at FROM status_requests WHERE {OF_KEY} AND answered_at IS NOT NULL LIMIT 1"
        );
        let values = params![request.profile, columns::to_json(&request.params)?, columns::moment(request.asked_at)];
        let read = |row: &Row<'_>| Ok((columns::from_json(row, 0)?, columns::moment_from(row.get(1)?)));
        self.db().first(&sql, values, read)
    }
}

/// Returns the requests of a profile that may still be wanted at `at` and aren't answered, oldest first. The clock of the
/// machine that made a request may be slow. A process that no longer waits deletes its request.
pub(crate) fn pending(db: &Connection, profile: &str, at: DateTime<Utc>) -> Result<Vec<StatusRequestKey>> {
    let sql = "SELECT params, asked_at FROM status_requests
               WHERE profile = ? AND answered_at IS NULL AND wanted_until > ? ORDER BY id";
    let read = |row: &Row<'_>| {
        let asked_at = columns::moment_from(row.get(1)?);
        Ok(StatusRequestKey { profile: profile.to_owned(), params: columns::from_json(row, 0)?, asked_at })
    };
    let after = columns::moment(at) - columns::span(MAX_KEPT);
    db.all_readable(sql, params![profile, after], read, "a damaged request for a status")
}

/// Inserts a request.
pub(crate) fn insert(
    db: &Connection,
    profile: &str,
    transaction: &TransactionParams,
    wanted_until: DateTime<Utc>,
    asked_at: DateTime<Utc>,
) -> Result<()> {
    let sql = "INSERT INTO status_requests (profile, params, asked_at, wanted_until) VALUES (?, ?, ?, ?)";
    let [asked_at, wanted_until] = [asked_at, wanted_until].map(columns::moment);
    db.run(sql, params![profile, columns::to_json(transaction)?, asked_at, wanted_until])
}

/// Deletes the requests that nobody waits for at `at`: their process was killed, or couldn't reach the team's database.
pub(crate) fn delete_expired(db: &Connection, at: DateTime<Utc>) -> Result<()> {
    let before = columns::moment(at) - columns::span(MAX_KEPT);
    db.run("DELETE FROM status_requests WHERE wanted_until < ?", [before])
}

/// Deletes the requests about a transaction.
pub(crate) fn delete_about(db: &Connection, transaction: &TransactionKey) -> Result<()> {
    let sql = "SELECT id, params FROM status_requests WHERE profile = ?";
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, columns::from_json::<TransactionParams>(row, 1)?));
    for (id, params) in db.all_readable(sql, [&transaction.profile], read, "a damaged request for a status")? {
        if params.from_chain == transaction.from_chain && params.transaction_id.key() == transaction.hash.key() {
            db.run("DELETE FROM status_requests WHERE id = ?", [id])?;
        }
    }
    Ok(())
}

/// The SQL condition for the requests with a key; the parts of the key are the first three parameters.
const OF_KEY: &str = "profile = ?1 AND params = ?2 AND asked_at = ?3";

/// Writes the answer to a request, unless the request is gone or has an answer.
pub(crate) fn set_answer(
    db: &Connection,
    request: &StatusRequestKey,
    observation: &Observation,
    at: DateTime<Utc>,
) -> Result<()> {
    let sql =
        format!("UPDATE status_requests SET answered_at = ?4, observation = ?5 WHERE {OF_KEY} AND answered_at IS NULL");
    let [asked_at, at] = [request.asked_at, at].map(columns::moment);
    let values =
        params![request.profile, columns::to_json(&request.params)?, asked_at, at, columns::to_json(observation)?];
    db.run(&sql, values)
}

/// Deletes a request with its answer.
pub(crate) fn delete(db: &Connection, request: &StatusRequestKey) -> Result<()> {
    let values = params![request.profile, columns::to_json(&request.params)?, columns::moment(request.asked_at)];
    db.run(&format!("DELETE FROM status_requests WHERE {OF_KEY}"), values)
}
