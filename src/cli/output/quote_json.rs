//! The JSON of a quote, for `hoptop quote --json`.
//!
//! Names and types here are a contract with scripts: a field may be added, never renamed or left out.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Number, value::RawValue};

use super::{json, schema::Schema};
use crate::{
    domain::{
        deadline::Deadline,
        quote::{QuoteAnswer, QuoteRequest},
        span, text,
    },
    runtime::exit::Exit,
    store::StoredQuote,
};

/// The result of a request for a quote.
pub(crate) enum QuoteResult {
    /// The service answered this request, or, if `is_reused`, an earlier equal request.
    Answered { quote: Box<StoredQuote>, is_reused: bool },
    /// The service's limit for this wallet holds the request back.
    WalletLimited { until: DateTime<Utc>, message: String },
    /// No answer arrived: the reason and the exit code.
    NoAnswer(String, Exit),
}

/// A quote as `--json` prints it. An absent value is `null`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QuoteView<'a> {
    quote_id: Option<&'a str>,
    /// In seconds.
    estimated_route_duration: Option<Number>,
    /// The time from sending until contacting support is right, in seconds.
    contact_support_after: Option<Number>,
    /// Whether the answer is that of an earlier equal request.
    kept: bool,
    answered_at: Option<String>,
    /// The time since the answer, in seconds.
    age: Option<Number>,
    warnings: &'a [String],
    error: Option<String>,
    resolution: Option<&'a str>,
    /// The time until this wallet may request transaction data again, in seconds.
    retry_after: Option<Number>,
    http_status: Option<u16>,
    request: &'a QuoteRequest,
    /// The unchanged body of the answer, if it is JSON.
    response: Option<Box<RawValue>>,
    /// The cleaned start of the body, if it isn't JSON.
    body: Option<String>,
    schema: Schema,
}

impl<'a> QuoteView<'a> {
    /// Creates the view of a request and its result at `now`.
    pub(crate) fn new(request: &'a QuoteRequest, result: &'a QuoteResult, now: DateTime<Utc>) -> Self {
        let (quote, kept) = match result {
            QuoteResult::Answered { quote, is_reused } => (Some(quote.as_ref()), *is_reused),
            QuoteResult::WalletLimited { .. } | QuoteResult::NoAnswer(..) => (None, false),
        };
        let answer = quote.and_then(|quote| quote.answer.as_ref());
        let (route, limited_for) = match answer {
            Some(QuoteAnswer::Route(route)) => (Some(route), None),
            Some(QuoteAnswer::WalletLimited { retry_after, .. }) => (None, Some(*retry_after)),
            Some(QuoteAnswer::Failed(_)) | None => (None, None),
        };
        let (error, retry_after) = match result {
            QuoteResult::Answered { .. } => (answer.and_then(QuoteAnswer::refusal), limited_for),
            QuoteResult::WalletLimited { until, message } => (Some(message.clone()), Some(span::between(now, *until))),
            QuoteResult::NoAnswer(why, _) => (Some(why.clone()), None),
        };
        let answered_at = quote.and_then(|quote| quote.answered_at);
        let whole_milliseconds = |span: Duration| Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(0));
        let body = quote.and_then(|quote| quote.body.as_deref());
        // A `RawValue` alone accepts JSON that others can't read: lone surrogates, huge numbers, endless nesting.
        let is_readable = |body: &&str| serde_json::from_str::<serde_json::Value>(body).is_ok();
        let response: Option<Box<RawValue>> = body.filter(is_readable).and_then(|body| serde_json::from_str(body).ok());
        Self {
            quote_id: route.and_then(|route| route.quote_id.as_deref()),
            estimated_route_duration: route.and_then(|route| route.estimate).map(json::seconds),
            contact_support_after: route.map(|route| json::seconds(Deadline::new(None, now, route.estimate).wait)),
            kept,
            answered_at: answered_at.map(span::rfc3339),
            age: answered_at.map(|at| json::seconds(whole_milliseconds(span::between(at, now)))),
            warnings: route.map_or(&[], |route| &route.warnings),
            error,
            resolution: answer.and_then(QuoteAnswer::resolution),
            retry_after: retry_after.map(json::seconds),
            http_status: quote.and_then(|quote| quote.http_status),
            request,
            body: body.filter(|_| response.is_none()).and_then(text::clean_or_none),
            response,
            schema: Schema::Quote,
        }
    }
}
