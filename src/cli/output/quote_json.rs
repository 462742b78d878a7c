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
    /// The time until this wallet may request call data again, in seconds.
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
    /// Creates the view of a request and its outcome at `now`.
    pub(crate) fn new(request: &'a QuoteRequest, outcome: &'a QuoteResult, now: DateTime<Utc>) -> Self {
        let mut view = Self {
            quote_id: None,
            estimated_route_duration: None,
            contact_support_after: None,
            kept: false,
            answered_at: None,
            age: None,
            warnings: &[],
            error: None,
            resolution: None,
            retry_after: None,
            http_status: None,
            request,
            response: None,
            body: None,
            schema: Schema::Quote,
        };
        match outcome {
            QuoteResult::NoAnswer(why, _) => view.error = Some(why.clone()),
            QuoteResult::WalletLimited { until, message } => {
                view.error = Some(message.clone());
                view.retry_after = Some(json::seconds(span::between(now, *until)));
            }
            QuoteResult::Answered { quote, is_reused } => view.fill(quote, *is_reused, now),
        }
        view
    }

    /// Fills in the fields of an answered quote.
    fn fill(&mut self, quote: &'a StoredQuote, is_reused: bool, now: DateTime<Utc>) {
        self.kept = is_reused;
        self.answered_at = quote.answered_at.map(span::rfc3339);
        let whole_milliseconds = |span: Duration| Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(0));
        self.age = quote.answered_at.map(|at| json::seconds(whole_milliseconds(span::between(at, now))));
        self.http_status = quote.http_status;
        self.response = quote.body.as_deref().and_then(|body| serde_json::from_str(body).ok());
        let unread = quote.body.as_deref().filter(|_| self.response.is_none());
        self.body = unread.and_then(text::clean_or_none);
        self.resolution = quote.answer.as_ref().and_then(QuoteAnswer::resolution);
        match &quote.answer {
            Some(QuoteAnswer::Route(route)) => {
                self.quote_id = route.quote_id.as_deref();
                self.estimated_route_duration = route.estimate.map(json::seconds);
                self.contact_support_after = Some(json::seconds(Deadline::new(None, now, route.estimate).wait));
                self.warnings = &route.warnings;
            }
            Some(QuoteAnswer::WalletLimited { retry_after, .. }) => {
                self.retry_after = Some(json::seconds(*retry_after));
            }
            Some(QuoteAnswer::Failed(_)) | None => {}
        }
        self.error = quote.answer.as_ref().and_then(QuoteAnswer::refusal);
    }
}
