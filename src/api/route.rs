//! `POST {base_url}/v2/route`: requests a route and interprets the answer (`service.md` 4.2, 7.3, 8).
//!
//! This module must never treat a wallet's limit as a limit of the whole ID, and never return an implausible estimate.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::CONTENT_TYPE;
use serde_json::{Map, Value};

use super::{
    answer::{self, HttpAnswer},
    client::{Client, Exchange},
    message, redact,
};
use crate::{
    clock::Clock,
    domain::{
        deadline::MAX_ESTIMATE,
        observation::RequestFailure,
        quote::{MAX_WALLET_LIMIT, Quote, QuoteAnswer, QuoteObservation, QuoteRequest},
        span, text,
    },
};

impl Client {
    /// Requests a route, once.
    pub async fn quote(&self, request: &QuoteRequest, clock: &Clock) -> QuoteObservation {
        let body = match serde_json::to_string(request) {
            Ok(body) => body,
            Err(error) => return QuoteObservation::failed(RequestFailure::Unreadable(text::clean(&error.to_string()))),
        };
        let post = self.post("/v2/route").header(CONTENT_TYPE, "application/json").body(body);
        let Exchange { result, wall, .. } = self.exchange(post, clock).await;
        let received = match result {
            Ok(received) => received,
            Err(failure) => return QuoteObservation::failed(failure),
        };
        let answer = match received.cut.clone() {
            Some(cut) if (200..=299).contains(&received.status) => QuoteAnswer::Failed(cut),
            _ => interpret(&received.answer(), request.is_quote_only, wall),
        };
        // An answer from which the ID can't be redacted is dropped.
        let hidden = || QuoteAnswer::Failed(RequestFailure::Unreadable("it contains the integrator ID".into()));
        let answer = redact::value(self.id(), answer).unwrap_or_else(hidden);
        QuoteObservation { answer, http_status: Some(received.status), body: Some(received.kept) }
    }
}

/// Returns the meaning of `answer`, an answer at time `wall` to a request for a route. A wallet's limit doesn't apply
/// to price-only requests, so a 429 of any shape throttles the whole ID (`service.md` 8, rule 4).
pub fn interpret(answer: &HttpAnswer<'_>, is_quote_only: bool, wall: DateTime<Utc>) -> QuoteAnswer {
    if let (Some(limited), false) = (wallet_limit(answer.body), is_quote_only && answer.status == 429) {
        return limited;
    }
    QuoteAnswer::Failed(match answer.status {
        200..=299 => match answer::parse_object(answer.body).map(|object| decode_quote(&object)) {
            Ok(Some(quote)) => return QuoteAnswer::Route(quote),
            Ok(None) => {
                let message = message::message(answer.body).map(|message| format!(": {message}")).unwrap_or_default();
                RequestFailure::Unreadable(text::clean(&format!("the body is an object without a route{message}")))
            }
            Err(reason) => RequestFailure::Unreadable(text::clean(&reason)),
        },
        _ => answer::refusal(answer, wall),
    })
}

/// Returns a wallet's limit: `{error, retryAfter}` without `type` or `route`. The HTTP status may be any, because
/// `service.md` 7.2 doesn't show the status.
fn wallet_limit(body: &[u8]) -> Option<QuoteAnswer> {
    let object = answer::parse_object(body).ok()?;
    let message = text::clean_or_none(object.get("error")?.as_str()?)?;
    let seconds = parse_number(object.get("retryAfter")?)?;
    if object.contains_key("type") || object.contains_key("route") {
        return None;
    }
    let retry_after = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(MAX_WALLET_LIMIT);
    Some(QuoteAnswer::WalletLimited { message, retry_after: retry_after.min(MAX_WALLET_LIMIT) })
}

/// Decodes the quote in a body; `None` if the body has no part of a route. The fields may be in `route`, in
/// `route.estimate` or at the top level (`cases.md` 18).
fn decode_quote(object: &Map<String, Value>) -> Option<Quote> {
    let route = object.get("route").and_then(Value::as_object);
    let estimate = route.and_then(|route| route.get("estimate")).and_then(Value::as_object);
    let objects = [route, estimate, Some(object)];
    let find = |name: &str| {
        let values = objects.iter().flatten().filter_map(|object| object.get(name));
        values.into_iter().find(|value| !value.is_null() && value.as_str() != Some(""))
    };
    let (id, duration) = (find("quoteId"), find("estimatedRouteDuration"));
    if route.is_none() && id.is_none() {
        return None;
    }
    let mut warnings = Vec::new();
    let quote_id = id.and_then(quote_id);
    if quote_id.is_none() {
        warnings.push("the service sent no quoteId, so a transaction on this route can't be tracked".to_owned());
    }
    let estimate = duration.and_then(|value| plausible_estimate(value, &mut warnings));
    if duration.is_none() {
        warnings.push("the service sent no estimatedRouteDuration; contact support after 15 minutes".to_owned());
    }
    Some(Quote { quote_id, estimate, warnings })
}

/// Returns an ID as text. An ID that would have to be cut or cleaned is dropped: the result would be a different ID.
fn quote_id(value: &Value) -> Option<String> {
    let raw = match value {
        Value::String(raw) => raw.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(text::clean(&raw)).filter(|clean| *clean == raw.trim())
}

/// Returns an estimate in seconds, from a number or numeric text, limited to `MAX_ESTIMATE`.
fn plausible_estimate(value: &Value, warnings: &mut Vec<String>) -> Option<Duration> {
    let shown = super::reader::compact(value);
    let Some(seconds) = parse_number(value).filter(|seconds| *seconds >= 0.0) else {
        warnings.push(format!(
            "estimatedRouteDuration is `{shown}`, which is not a number of seconds; no estimate is used"
        ));
        return None;
    };
    let estimate = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    if estimate > MAX_ESTIMATE {
        let most = span::long(MAX_ESTIMATE);
        warnings.push(format!("estimatedRouteDuration of {shown} s is implausible; {most} is used instead"));
    }
    Some(estimate.min(MAX_ESTIMATE))
}

/// Returns a number, or text that is a number; never NaN.
fn parse_number(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    (!number.is_nan()).then_some(number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn interpret_body(status: u16, body: &str) -> QuoteAnswer {
        interpret(&HttpAnswer { status, retry_after: None, body: body.as_bytes() }, false, DateTime::UNIX_EPOCH)
    }

    fn quote(body: &Value) -> Quote {
        match interpret_body(200, &body.to_string()) {
            QuoteAnswer::Route(quote) => quote,
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn reads_the_quote_id_and_the_estimate_at_every_level() {
        assert!(matches!(interpret_body(201, r#"{"route":{"quoteId":"q"}}"#), QuoteAnswer::Route(_)));
        let table = [
            (json!({"route": {"quoteId": "q", "estimatedRouteDuration": 900}}), Some("q"), Some(900.0)),
            (json!({"route": {"estimate": {"quoteId": "q", "estimatedRouteDuration": "12.5"}}}), Some("q"), Some(12.5)),
            (json!({"quoteId": "q", "estimatedRouteDuration": 0, "route": {}}), Some("q"), Some(0.0)),
            (json!({"route": {"quoteId": "", "estimate": {"quoteId": "inner"}}}), Some("inner"), None),
            (json!({"route": {"quoteId": 17, "estimatedRouteDuration": null}}), Some("17"), None),
            (json!({"route": {"quoteId": "a\u{202e}b", "estimatedRouteDuration": "NaN"}}), None, None),
            (json!({"route": {"quoteId": "x".repeat(600), "estimatedRouteDuration": -3}}), None, None),
            (json!({"route": {"quoteId": "q", "estimatedRouteDuration": "1e300"}}), Some("q"), Some(604_800.0)),
            (json!({"route": {"quoteId": "q", "estimatedRouteDuration": "inf"}}), Some("q"), Some(604_800.0)),
        ];
        for (body, id, estimate) in table {
            let quote = quote(&body);
            assert_eq!(quote.quote_id.as_deref(), id, "{body}");
            assert_eq!(quote.estimate.map(|estimate| estimate.as_secs_f64()), estimate, "{body}");
            let odd = id.is_none() || estimate.is_none_or(|estimate| estimate == 604_800.0);
            assert_eq!(!quote.warnings.is_empty(), odd, "{body}: {:?}", quote.warnings);
        }
    }

    #[test]
    fn wallet_limit_is_recognised_by_its_shape_at_any_http_status() {
        let body = r#"{"error":"Too many quote requests for this address","retryAfter":17}"#;
        for status in [200, 400, 403, 429, 500] {
            let expected = QuoteAnswer::WalletLimited {
                message: "Too many quote requests for this address".into(),
                retry_after: Duration::from_secs(17),
            };
            assert_eq!(interpret_body(status, body), expected, "{status}");
        }
        for (seconds, expected) in [("1e12", 86_400), ("-4", 0), (r#""9""#, 9)] {
            let body = format!(r#"{{"error":"slow down","retryAfter":{seconds}}}"#);
            let QuoteAnswer::WalletLimited { retry_after, .. } = interpret_body(429, &body) else {
                panic!("{seconds}")
            };
            assert_eq!(retry_after.as_secs(), expected, "{seconds}");
        }
        for other in
            [r#"{"message":"Too many requests","type":"RATE_LIMITED"}"#, r#"{"error":"x","retryAfter":"soon"}"#]
        {
            let throttled = interpret_body(429, other);
            assert!(
                matches!(throttled, QuoteAnswer::Failed(RequestFailure::Throttled { retry_after: None, .. })),
                "{other}"
            );
        }
        let answer = HttpAnswer { status: 429, retry_after: None, body: body.as_bytes() };
        let pricing = interpret(&answer, true, DateTime::UNIX_EPOCH);
        let rest = Some(Duration::from_secs(17));
        assert!(
            matches!(pricing, QuoteAnswer::Failed(RequestFailure::Throttled { retry_after, .. }) if retry_after == rest)
        );
    }

    #[test]
    fn failures_keep_the_service_s_message() {
        let table = [
            (
                400,
                r#"{"message":"Amount too low","type":"BAD_REQUEST"}"#,
                "the service rejected the request: Amount too low",
            ),
            (
                400,
                r#"{"message":"fromChain: unsupported chain ID","type":"SCHEMA_VALIDATION_ERROR"}"#,
                "the service rejected the request: fromChain: unsupported chain ID",
            ),
            (
                401,
                r#"{"message":"x-integrator-id header is missing","type":"UNAUTHORIZED"}"#,
                "the service refused the integrator ID: x-integrator-id header is missing",
            ),
            (
                404,
                "<html><title>Gone</title>",
                "the service answered HTTP 404: an HTML page, `Gone`; check the base URL",
            ),
            (
                500,
                r#"{"message":"oops","statusCode":500,"type":"INTERNAL_ERROR"}"#,
                "the service answered HTTP 500: oops",
            ),
            (200, "", "the answer can't be read: the body is empty"),
            (200, "[]", "the answer can't be read: the body is a JSON array, not an object"),
            (200, "{\"error\":\"no\"}", "the answer can't be read: the body is an object without a route: no"),
        ];
        for (status, body, expected) in table {
            let QuoteAnswer::Failed(failure) = interpret_body(status, body) else { panic!("{status} {body}") };
            assert_eq!(failure.one_line(), expected);
        }
    }
}
