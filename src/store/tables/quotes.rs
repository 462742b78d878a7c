//! The tables of quotes (`quotes`, `wallet_limits`): requested routes with their answers, and wallets under a rate
//! limit.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::{Connection, Row, params};

use super::columns;
use crate::{
    domain::{
        operation::QuoteKey,
        quote::{FRESH, MAX_WALLET_LIMIT, QuoteAnswer, QuoteObservation, QuoteRequest},
        span,
        transaction::TransactionParams,
    },
    store::{error::Result, reader::Reader, row_checksum, statement::CachedStatements},
};

/// The columns of the checksum.
pub(crate) const CHECKED: &str =
    "profile, request, asked_at, wanted_until, sent_at, answered_at, answer, http_status, body, quote_id, estimate";

/// A requested route.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredQuote {
    /// The number of the request in this store.
    pub id: i64,
    /// The profile whose budget the request is spent from.
    pub profile: String,
    pub request: QuoteRequest,
    /// When the route was asked for.
    pub asked_at: DateTime<Utc>,
    /// When the request was sent; `None` if it wasn't.
    pub sent_at: Option<DateTime<Utc>>,
    /// When the answer arrived.
    pub answered_at: Option<DateTime<Utc>>,
    pub answer: Option<QuoteAnswer>,
    /// The HTTP status of the answer; `None` without an HTTP response.
    pub http_status: Option<u16>,
    /// The body of the response, with the integrator ID removed.
    pub body: Option<String>,
}

impl StoredQuote {
    /// Returns the key of the request, which is valid in every store.
    pub fn key(&self) -> QuoteKey {
        QuoteKey { profile: self.profile.clone(), request: self.request.clone(), asked_at: self.asked_at }
    }
}

/// The SQL for the address that a quote pays on the destination chain.
pub(crate) const RECEIVER: &str = "iif(json_valid(request), json_extract(request, '$.toAddress'), NULL)";

const SELECT: &str =
    "SELECT id, profile, request, asked_at, sent_at, answered_at, answer, http_status, body FROM quotes";

impl Reader {
    /// Returns a requested route by its number in this store.
    pub fn quote(&self, id: i64) -> Result<Option<StoredQuote>> {
        let sql = format!("{SELECT} WHERE id = ?");
        self.db().first(&sql, [id], read)
    }
}

/// Returns the requests of a profile that are still wanted at `at` and not claimed, oldest first.
pub(crate) fn pending(db: &Connection, profile: &str, at: DateTime<Utc>) -> Result<Vec<StoredQuote>> {
    let sql = format!(
        "{SELECT} WHERE profile = ? AND sent_at IS NULL AND answered_at IS NULL AND wanted_until > ? ORDER BY id"
    );
    db.all_readable(&sql, params![profile, columns::moment(at)], read, "a damaged request for a route")
}

/// Returns the newest route for the same request that was found within [`FRESH`]. Returns `None` if its answer is later
/// than `at`: the clock was set back.
pub(crate) fn find_fresh(
    db: &Connection,
    profile: &str,
    request: &QuoteRequest,
    at: DateTime<Utc>,
) -> Result<Option<StoredQuote>> {
    let sql = format!(
        "{SELECT} WHERE profile = ? AND request = ? AND answered_at BETWEEN ? AND ? AND quote_id IS NOT NULL
         ORDER BY id DESC LIMIT 1"
    );
    let since = columns::moment(at) - columns::span(FRESH);
    let values = params![profile, columns::to_json(request)?, since, columns::moment(at)];
    db.first(&sql, values, read)
}

/// The longest time from the sending of a request to its answer. After this its poller has died.
const ANSWER_LIMIT: TimeDelta = TimeDelta::seconds(15);

/// Extends the wait for an equal request that is not answered, and may still be. Returns its number and when it was asked
/// for.
pub(crate) fn extend_wait(
    db: &Connection,
    profile: &str,
    request: &QuoteRequest,
    wanted_until: DateTime<Utc>,
    at: DateTime<Utc>,
) -> Result<Option<(i64, DateTime<Utc>)>> {
    let sql = format!(
        "UPDATE quotes SET {} WHERE id = (SELECT max(id) FROM quotes WHERE profile = ?1 AND request = ?2
             AND asked_at <= ?3 AND answered_at IS NULL AND wanted_until > ?3 AND ifnull(sent_at > ?5, true))
         RETURNING id, asked_at",
        row_checksum::assignments(CHECKED, &[("wanted_until", "max(wanted_until, ?4)")])
    );
    let [at, wanted_until, sent_since] = [at, wanted_until, at - ANSWER_LIMIT].map(columns::moment);
    let values = params![profile, columns::to_json(request)?, at, wanted_until, sent_since];
    let read = |row: &Row<'_>| Ok((row.get(0)?, columns::moment_from(row.get(1)?)));
    db.first(&sql, values, read)
}

/// Inserts a request; returns its number.
pub(crate) fn insert(db: &Connection, quote: &QuoteKey, wanted_until: DateTime<Utc>) -> Result<i64> {
    // The columns after these are NULL, which adds nothing to a checksum.
    let sql = "INSERT INTO quotes (profile, request, asked_at, wanted_until, checksum)
               VALUES (?1, ?2, ?3, ?4, row_checksum(?1, ?2, ?3, ?4))";
    let request = columns::to_json(&quote.request)?;
    let [asked_at, wanted_until] = [quote.asked_at, wanted_until].map(columns::moment);
    Ok(db.prepare_cached(sql)?.insert(params![quote.profile, request, asked_at, wanted_until])?)
}

/// The SQL condition for the newest request with a key; the parts of the key are the first three parameters.
const OF_KEY: &str = "id = (SELECT max(id) FROM quotes WHERE profile = ?1 AND request = ?2 AND asked_at = ?3)";

/// Ends the wait for a request that isn't sent yet, unless another process wants it for longer than `wanted_until`.
pub(crate) fn withdraw(
    db: &Connection,
    quote: &QuoteKey,
    wanted_until: DateTime<Utc>,
    at: DateTime<Utc>,
) -> Result<()> {
    let set = row_checksum::assignments(CHECKED, &[("wanted_until", "?4")]);
    let sql = format!("UPDATE quotes SET {set} WHERE {OF_KEY} AND sent_at IS NULL AND wanted_until <= ?5");
    let [asked_at, at, until] = [quote.asked_at, at, wanted_until].map(columns::moment);
    db.run(&sql, params![quote.profile, columns::to_json(&quote.request)?, asked_at, at, until])
}

/// Marks a request as sent. Returns `false` if it is already sent or answered, or no longer wanted.
pub(crate) fn claim(db: &Connection, quote: &QuoteKey, at: DateTime<Utc>) -> Result<bool> {
    let sql = format!(
        "UPDATE quotes SET {} WHERE {OF_KEY} AND sent_at IS NULL AND answered_at IS NULL AND wanted_until > ?4",
        row_checksum::assignments(CHECKED, &[("sent_at", "?4")])
    );
    let [asked_at, at] = [quote.asked_at, at].map(columns::moment);
    Ok(db.change(&sql, params![quote.profile, columns::to_json(&quote.request)?, asked_at, at])? > 0)
}

/// Writes the answer to a request. Returns the request's number, or `None` if it already had an answer.
pub(crate) fn set_answer(
    db: &Connection,
    quote: &QuoteKey,
    observation: &QuoteObservation,
    at: DateTime<Utc>,
) -> Result<Option<i64>> {
    let QuoteObservation { answer, http_status, body } = observation;
    let (quote_id, estimate) = match answer {
        QuoteAnswer::Route(quote) => (quote.quote_id.as_deref(), quote.estimate.map(columns::span)),
        _ => (None, None),
    };
    let set = row_checksum::assignments(
        CHECKED,
        &[
            ("answered_at", "?4"),
            ("answer", "?5"),
            ("http_status", "?6"),
            ("body", "?7"),
            ("quote_id", "?8"),
            ("estimate", "?9"),
        ],
    );
    let sql = format!("UPDATE quotes SET {set} WHERE {OF_KEY} AND answered_at IS NULL RETURNING id");
    let (request, answer) = (columns::to_json(&quote.request)?, columns::to_json(answer)?);
    let [asked_at, at] = [quote.asked_at, at].map(columns::moment);
    let values = params![quote.profile, request, asked_at, at, answer, http_status, body, quote_id, estimate];
    db.first(&sql, values, |row| row.get(0))
}

/// Returns the end of a wallet's rate limit and the service's message; `None` if no limit applies at `at`.
pub(crate) fn wallet_limit(
    db: &Connection,
    profile: &str,
    wallet: &str,
    at: DateTime<Utc>,
) -> Result<Option<(DateTime<Utc>, String)>> {
    let sql = "SELECT until, message FROM wallet_limits WHERE profile = ? AND wallet = ?";
    let read = |row: &Row<'_>| Ok((columns::moment_from(row.get(0)?), row.get(1)?));
    let limit = db.first(sql, [profile, wallet], read)?;
    // After the clock was set back, a limit seems to last longer than any does.
    Ok(limit.filter(|(until, _)| *until > at && span::between(at, *until) <= MAX_WALLET_LIMIT))
}

/// Sets a wallet's rate limit, from `at` on for as long as the service asked.
pub(crate) fn set_wallet_limit(
    db: &Connection,
    profile: &str,
    wallet: &str,
    retry_after: Duration,
    message: &str,
    at: DateTime<Utc>,
) -> Result<()> {
    let until = columns::moment(at).saturating_add(columns::span(retry_after));
    let sql = "INSERT OR REPLACE INTO wallet_limits (profile, wallet, until, message) VALUES (?, ?, ?, ?)";
    db.run(sql, params![profile, wallet, until, message])
}

/// Whether any quote of a profile has a quote ID.
pub(crate) fn has_quotes(db: &Connection, profile: &str) -> Result<bool> {
    db.has_row("SELECT 1 FROM quotes WHERE profile = ? AND quote_id IS NOT NULL", [profile])
}

/// Fills in missing parameters of a transaction from its quote: the estimate, and `fromAddress`, which gets refunds.
/// Returns the names of the filled fields.
pub(crate) fn fill_params(db: &Connection, profile: &str, params: &mut TransactionParams) -> Result<Vec<&'static str>> {
    let sql = "SELECT estimate, request FROM quotes WHERE profile = ? AND quote_id = ? ORDER BY id DESC LIMIT 1";
    let found = db.first(sql, [profile, &params.quote_id], |row| {
        Ok((row.get::<_, Option<i64>>(0)?, columns::from_json::<QuoteRequest>(row, 1)?))
    })?;
    let Some((estimate, request)) = found else { return Ok(Vec::new()) };
    let mut filled = Vec::new();
    if let (None, Some(estimate)) = (params.estimate, estimate) {
        params.estimate = Some(columns::span_from(estimate));
        filled.push("estimatedRouteDuration");
    }
    if params.from_address.is_none() {
        params.from_address = Some(request.from_address);
        filled.push("fromAddress");
    }
    Ok(filled)
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredQuote> {
    let answer: Option<String> = row.get(6)?;
    let answer = answer.map(|answer| serde_json::from_str(&answer)).transpose();
    Ok(StoredQuote {
        id: row.get(0)?,
        profile: row.get(1)?,
        request: columns::from_json(row, 2)?,
        asked_at: columns::moment_from(row.get(3)?),
        sent_at: columns::optional_moment(row, 4)?,
        answered_at: columns::optional_moment(row, 5)?,
        answer: answer.map_err(|error| columns::unreadable(6, error))?,
        http_status: row.get(7)?,
        body: row.get(8)?,
    })
}
