//! The quotes' tables: routes that were asked for, their answers, and the wallets that have to wait.
//!
//! What is asked for is written here and carried out by whoever polls the profile. It must never ask twice for what was
//! answered a moment ago, nor for a wallet that has to wait.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    changes::{self, Entry},
    columns,
    error::StoreError,
};
use crate::domain::{
    change::What,
    quote::{FRESH, QuoteAnswer, QuoteObservation, QuoteRequest},
    span,
    transaction::Told,
};

/// A route that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredQuote {
    /// The store's number.
    pub id: i64,
    /// What was asked for.
    pub request: QuoteRequest,
    /// When.
    pub asked_at: DateTime<Utc>,
    /// When the request was sent, if it was.
    pub sent_at: Option<DateTime<Utc>>,
    /// When the answer came.
    pub answered_at: Option<DateTime<Utc>>,
    /// The answer.
    pub answer: Option<QuoteAnswer>,
    /// Its HTTP status, if there was one.
    pub http_status: Option<u16>,
    /// The body as it came, but for the integrator ID.
    pub body: Option<String>,
}

/// What asking for a route came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// Whoever polls will ask; the number to wait for.
    Pending(i64),
    /// The same was answered a moment ago.
    Kept(Box<StoredQuote>),
    /// The wallet has to wait, as the service said with these words.
    WalletHeld {
        /// Until when.
        until: DateTime<Utc>,
        /// What the service said.
        message: String,
    },
}

/// A route to be asked for.
pub struct QuoteWish {
    /// The profile.
    pub profile: String,
    /// What is asked for.
    pub request: QuoteRequest,
    /// Now.
    pub at: DateTime<Utc>,
    /// How long somebody waits for it.
    pub until: DateTime<Utc>,
}

const SELECT: &str = "SELECT id, request, asked_at, answered_at, answer, http_status, body, sent_at FROM quotes";

pub(super) fn ask(db: &Connection, wish: &QuoteWish) -> Result<Asked, StoreError> {
    let QuoteWish { profile, request, at, until } = wish;
    let written = serde_json::to_string(request).map_err(|error| columns::unreadable(1, error))?;
    if let Some(kept) = fresh(db, profile, &written, *at)? {
        return Ok(Asked::Kept(Box::new(kept)));
    }
    if let Some((until, message)) = held(db, profile, request, *at)? {
        return Ok(Asked::WalletHeld { until, message });
    }
    if let Some(id) = same(db, wish, &written)? {
        return Ok(Asked::Pending(id));
    }
    db.prepare_cached("INSERT INTO quotes (profile, request, asked_at, wanted_until) VALUES (?, ?, ?, ?)")?
        .execute(params![profile, written, columns::moment(*at), columns::moment(*until)])?;
    let id = db.last_insert_rowid();
    changes::append(db, &Entry::of_profile(profile, *at), &What::QuoteAsked { id })?;
    Ok(Asked::Pending(id))
}

/// A route that was had for the same request a moment ago; by a clock that was set back it is not.
fn fresh(db: &Connection, profile: &str, request: &str, at: DateTime<Utc>) -> Result<Option<StoredQuote>, StoreError> {
    let sql = format!(
        "{SELECT} WHERE profile = ? AND request = ? AND answered_at BETWEEN ? AND ? AND quote_id IS NOT NULL
         ORDER BY id DESC LIMIT 1"
    );
    let since = columns::moment(at) - columns::span(FRESH);
    Ok(db.prepare_cached(&sql)?.query_row(params![profile, request, since, columns::moment(at)], read).optional()?)
}

/// The same question that somebody else is waiting for; from now on it is waited for as long as this one wants.
fn same(db: &Connection, wish: &QuoteWish, request: &str) -> Result<Option<i64>, StoreError> {
    let sql = "UPDATE quotes SET wanted_until = max(wanted_until, ?4)
               WHERE id = (SELECT max(id) FROM quotes WHERE profile = ?1 AND request = ?2 AND asked_at <= ?3
                           AND answered_at IS NULL AND wanted_until > ?3)
               RETURNING id";
    let (at, until) = (columns::moment(wish.at), columns::moment(wish.until));
    Ok(db.prepare_cached(sql)?.query_row(params![wish.profile, request, at, until], |row| row.get(0)).optional()?)
}

/// Who wanted this one until `until` doesn't any more: if it isn't sent yet it won't be, unless somebody else wants it for
/// longer.
pub(super) fn withdraw(db: &Connection, id: i64, until: DateTime<Utc>, at: DateTime<Utc>) -> Result<(), StoreError> {
    db.prepare_cached("UPDATE quotes SET wanted_until = ? WHERE id = ? AND sent_at IS NULL AND wanted_until <= ?")?
        .execute(params![columns::moment(at), id, columns::moment(until)])?;
    Ok(())
}

/// Takes on the sending of a route's request: what is to be sent, or nothing if it was taken on already, isn't wanted any
/// more, or if the wallet has come to have to wait meanwhile, which is its answer then.
pub(super) fn claim(db: &Connection, id: i64, at: DateTime<Utc>) -> Result<Option<QuoteRequest>, StoreError> {
    let moment = columns::moment(at);
    let taken = db
        .prepare_cached(
            "UPDATE quotes SET sent_at = ?1 WHERE id = ?2 AND sent_at IS NULL AND answered_at IS NULL
             AND wanted_until > ?1 RETURNING profile, request",
        )?
        .query_row(params![moment, id], profile_and_request)
        .optional()?;
    let Some((profile, request)) = taken else { return Ok(None) };
    let Some((until, message)) = held(db, &profile, &request, at)? else { return Ok(Some(request)) };
    let retry_after = span::between(at, until);
    let limited = QuoteAnswer::WalletLimited { message, retry_after };
    answer(db, id, &QuoteObservation { answer: limited, http_status: None, body: None }, at)?;
    Ok(None)
}

fn held(
    db: &Connection,
    profile: &str,
    request: &QuoteRequest,
    at: DateTime<Utc>,
) -> Result<Option<(DateTime<Utc>, String)>, StoreError> {
    if request.quote_only {
        return Ok(None);
    }
    let limit = db
        .prepare_cached("SELECT until, message FROM wallet_limits WHERE profile = ? AND wallet = ?")?
        .query_row([profile, &request.wallet()], |row| Ok((columns::moment_from(row.get(0)?), row.get(1)?)))
        .optional()?;
    Ok(limit.filter(|(until, _)| *until > at))
}

/// Keeps an answer, and lets the wallet wait if it says so.
pub(super) fn answer(
    db: &Connection,
    id: i64,
    observation: &QuoteObservation,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let (quote_id, estimate) = match &observation.answer {
        QuoteAnswer::Route(quote) => (quote.quote_id.as_deref(), quote.estimate.map(columns::span)),
        _ => (None, None),
    };
    let written = serde_json::to_string(&observation.answer).map_err(|error| columns::unreadable(4, error))?;
    let sql = "UPDATE quotes SET answered_at = ?, answer = ?, http_status = ?, body = ?, quote_id = ?, estimate = ?
               WHERE id = ? AND answered_at IS NULL RETURNING profile, request";
    let values =
        params![columns::moment(at), written, observation.http_status, observation.body, quote_id, estimate, id];
    let asked = db.prepare_cached(sql)?.query_row(values, profile_and_request).optional()?;
    let Some((profile, request)) = asked else { return Ok(()) };
    if let QuoteAnswer::WalletLimited { message, retry_after } = &observation.answer {
        db.prepare_cached(
            "INSERT OR REPLACE INTO wallet_limits (profile, wallet, until, message) VALUES (?, ?, ?, ?)",
        )?
        .execute(params![
            profile,
            request.wallet(),
            columns::moment(at).saturating_add(columns::span(*retry_after)),
            message
        ])?;
    }
    changes::append(db, &Entry::of_profile(&profile, at), &What::QuoteAnswered { id })
}

/// What somebody waits for at `at` and nobody has taken on, the oldest first.
pub(super) fn pending(db: &Connection, profile: &str, at: DateTime<Utc>) -> Result<Vec<i64>, StoreError> {
    let sql = "SELECT id FROM quotes
               WHERE profile = ? AND sent_at IS NULL AND answered_at IS NULL AND wanted_until > ? ORDER BY id";
    let mut statement = db.prepare_cached(sql)?;
    let ids = statement.query_map(params![profile, columns::moment(at)], |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

pub(super) fn by_id(db: &Connection, id: i64) -> Result<Option<StoredQuote>, StoreError> {
    let sql = format!("{SELECT} WHERE id = ?");
    Ok(db.prepare_cached(&sql)?.query_row([id], read).optional()?)
}

/// Whether any route of a profile was quoted.
pub(super) fn any(db: &Connection, profile: &str) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM quotes WHERE profile = ? AND quote_id IS NOT NULL)";
    Ok(db.prepare_cached(sql)?.query_row([profile], |row| row.get(0))?)
}

/// What a transaction of this route was quoted with: fills in the estimate, and who is paid a refund, where these weren't
/// told. Returns the names of what it filled in.
pub(super) fn complete(db: &Connection, profile: &str, told: &mut Told) -> Result<Vec<&'static str>, StoreError> {
    let sql = "SELECT estimate, request FROM quotes WHERE profile = ? AND quote_id = ? ORDER BY id DESC LIMIT 1";
    let found = db
        .prepare_cached(sql)?
        .query_row([profile, &told.quote_id], |row| Ok((row.get::<_, Option<i64>>(0)?, request_of(row)?)))
        .optional()?;
    let Some((estimate, request)) = found else { return Ok(Vec::new()) };
    let mut filled = Vec::new();
    if let (None, Some(estimate)) = (told.estimate, estimate) {
        told.estimate = Some(columns::span_from(estimate));
        filled.push("estimatedRouteDuration");
    }
    if told.from_address.is_none() {
        told.from_address = Some(request.from_address);
        filled.push("fromAddress");
    }
    Ok(filled)
}

/// The request, which is the second column of every query here that has one.
fn request_of(row: &Row<'_>) -> rusqlite::Result<QuoteRequest> {
    serde_json::from_str(row.get_ref(1)?.as_str()?).map_err(|error| columns::unreadable(1, error))
}

fn profile_and_request(row: &Row<'_>) -> rusqlite::Result<(String, QuoteRequest)> {
    Ok((row.get(0)?, request_of(row)?))
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredQuote> {
    let answer: Option<String> = row.get(4)?;
    Ok(StoredQuote {
        id: row.get(0)?,
        request: request_of(row)?,
        asked_at: columns::moment_from(row.get(2)?),
        answered_at: row.get::<_, Option<i64>>(3)?.map(columns::moment_from),
        answer: answer
            .map(|answer| serde_json::from_str(&answer))
            .transpose()
            .map_err(|error| columns::unreadable(4, error))?,
        http_status: row.get(5)?,
        body: row.get(6)?,
        sent_at: row.get::<_, Option<i64>>(7)?.map(columns::moment_from),
    })
}
