//! The JSON of a quote, for `hoptop quote --json`.
//!
//! Names and types here are a contract with scripts: a field may be added, never renamed or left out.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Number, value::RawValue};

use super::{json, quote::Outcome};
use crate::{
    domain::{
        deadline::Deadline,
        quote::{QuoteAnswer, QuoteRequest},
        span, text,
    },
    store::StoredQuote,
};

/// A quote as `--json` prints it. What isn't there is null.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QuoteView<'a> {
    quote_id: Option<&'a str>,
    /// Seconds.
    estimated_route_duration: Option<Number>,
    /// Seconds from sending until support is right.
    contact_support_after: Option<Number>,
    /// Whether it is an earlier answer to the same request.
    kept: bool,
    answered_at: Option<String>,
    /// Seconds since the answer.
    age: Option<Number>,
    warnings: &'a [String],
    error: Option<String>,
    resolution: Option<&'a str>,
    /// Seconds until this wallet may ask for call data again.
    retry_after: Option<Number>,
    http_status: Option<u16>,
    request: &'a QuoteRequest,
    /// The service's answer as it came, if it is JSON.
    response: Option<Box<RawValue>>,
    /// The start of it, if it isn't.
    body: Option<String>,
}

impl<'a> QuoteView<'a> {
    /// What `outcome` tells at `now` of the request.
    pub(super) fn new(request: &'a QuoteRequest, outcome: &'a Outcome, now: DateTime<Utc>) -> Self {
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
        };
        match outcome {
            Outcome::InVain(why, _) => view.error = Some(why.clone()),
            Outcome::Held { until, message } => {
                view.error = Some(message.clone());
                view.retry_after = Some(json::seconds(span::between(now, *until)));
            }
            Outcome::Answered { quote, kept } => view.take(quote, *kept, now),
        }
        view
    }

    fn take(&mut self, quote: &'a StoredQuote, kept: bool, now: DateTime<Utc>) {
        self.kept = kept;
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
