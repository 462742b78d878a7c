//! Requests for routes: asked, withdrawn, claimed by the poller, answered.
//!
//! Must never repeat a request that was answered a moment ago, nor send a request for a wallet that has to wait.

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use crate::{
    domain::{
        change::ChangeKind,
        operation::QuoteKey,
        quote::{QuoteAnswer, QuoteObservation, QuoteRequest},
        span,
    },
    store::{
        error::Result,
        tables::{
            changes::{self, FeedEntry},
            quotes::{self, StoredQuote},
        },
    },
};

/// The result of asking for a route.
#[derive(Clone, Debug, PartialEq)]
pub enum QuoteSubmission {
    /// The poller will send the request.
    Pending {
        /// The store's number of the request, for reading the answer.
        id: i64,
        /// The key of the request. If an equal request waits already, this is its key.
        quote: Box<QuoteKey>,
    },
    /// The same request was answered a moment ago.
    Reused(Box<StoredQuote>),
    /// The wallet has to wait.
    WalletLimited {
        /// When the wait ends.
        until: DateTime<Utc>,
        message: String,
    },
}

pub(super) fn ask(
    db: &Connection,
    profile: &str,
    request: &QuoteRequest,
    wanted_until: DateTime<Utc>,
    at: DateTime<Utc>,
) -> Result<QuoteSubmission> {
    if let Some(kept) = quotes::find_fresh(db, profile, request, at)? {
        return Ok(QuoteSubmission::Reused(Box::new(kept)));
    }
    if let Some((until, message)) = wallet_limit(db, profile, request, at)? {
        return Ok(QuoteSubmission::WalletLimited { until, message });
    }
    let key = |asked_at| Box::new(QuoteKey { profile: profile.to_owned(), request: request.clone(), asked_at });
    if let Some((id, asked_at)) = quotes::extend_wait(db, profile, request, wanted_until, at)? {
        return Ok(QuoteSubmission::Pending { id, quote: key(asked_at) });
    }
    let quote = key(at);
    let id = quotes::insert(db, &quote, wanted_until)?;
    changes::append(db, &FeedEntry::of_profile(profile, at), &ChangeKind::QuoteAsked { id })?;
    Ok(QuoteSubmission::Pending { id, quote })
}

/// Returns whether the request is to be sent: not if another process claimed it, or no person waits for it any more. If
/// the wallet has to wait meanwhile, that becomes the answer, and nothing is sent.
pub(super) fn claim(db: &Connection, quote: &QuoteKey, at: DateTime<Utc>) -> Result<bool> {
    if !quotes::claim(db, quote, at)? {
        return Ok(false);
    }
    let Some((until, message)) = wallet_limit(db, &quote.profile, &quote.request, at)? else {
        return Ok(true);
    };
    let limited = QuoteAnswer::WalletLimited { message, retry_after: span::between(at, until) };
    answer(db, quote, &QuoteObservation { answer: limited, http_status: None, body: None }, at)?;
    Ok(false)
}

pub(super) fn answer(
    db: &Connection,
    quote: &QuoteKey,
    observation: &QuoteObservation,
    at: DateTime<Utc>,
) -> Result<()> {
    let Some(id) = quotes::set_answer(db, quote, observation, at)? else { return Ok(()) };
    if let QuoteAnswer::WalletLimited { message, retry_after } = &observation.answer {
        quotes::set_wallet_limit(db, &quote.profile, &quote.request.wallet(), *retry_after, message, at)?;
    }
    changes::append(db, &FeedEntry::of_profile(&quote.profile, at), &ChangeKind::QuoteAnswered { id })
}

/// Returns when the wait of the request's wallet ends, and the service's message. Only requests for transaction data are
/// limited.
fn wallet_limit(
    db: &Connection,
    profile: &str,
    request: &QuoteRequest,
    at: DateTime<Utc>,
) -> Result<Option<(DateTime<Utc>, String)>> {
    if request.is_quote_only { Ok(None) } else { quotes::wallet_limit(db, profile, &request.wallet(), at) }
}
