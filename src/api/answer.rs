//! Interprets an answer: its HTTP status first, then its body (`service.md` 7, `cases.md` 1 to 16).
//!
//! A pure function of the answer, the requested transaction and the time. This module must never fail or panic,
//! whatever the answer holds.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, error::Category};

use super::{decode, json, message, retry_after};
use crate::domain::{
    chain_config::ChainConfig,
    observation::{RequestFailure, StatusOutcome},
    text,
    transaction::TransactionParams,
};

/// The parts of an HTTP answer that decide its meaning.
#[derive(Clone, Copy, Debug)]
pub struct HttpAnswer<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The value of the header `Retry-After`.
    pub retry_after: Option<&'a str>,
    /// The body, decompressed.
    pub body: &'a [u8],
}

/// The content of an answer: a transaction's outcome, and chains.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusAnswer {
    /// The outcome for the transaction.
    pub outcome: StatusOutcome,
    /// The chains that the answer describes.
    pub chains: Vec<ChainConfig>,
}

impl From<StatusOutcome> for StatusAnswer {
    fn from(outcome: StatusOutcome) -> Self {
        Self { outcome, chains: Vec::new() }
    }
}

/// Returns the meaning of `answer`, an answer at time `wall` to a request for the status of `requested`.
pub fn interpret(answer: &HttpAnswer<'_>, requested: &TransactionParams, wall: DateTime<Utc>) -> StatusAnswer {
    match answer.status {
        200 => interpret_record(answer.body, requested).unwrap_or_else(|failure| StatusOutcome::Failed(failure).into()),
        404 => StatusOutcome::NotFound(message::message(answer.body)).into(),
        _ => StatusOutcome::Failed(refusal(answer, wall)).into(),
    }
}

/// Returns the failure of an answer without a result, by its HTTP status (`service.md` 7.1).
pub(super) fn refusal(answer: &HttpAnswer<'_>, wall: DateTime<Utc>) -> RequestFailure {
    let message = || message::message(answer.body);
    let message_or = |otherwise: &str| message().unwrap_or_else(|| otherwise.to_owned());
    match answer.status {
        400 => RequestFailure::Rejected(message_or("no reason given")),
        401 => RequestFailure::Unauthorized(message_or("no reason given")),
        429 => RequestFailure::Throttled { message: message(), retry_after: requested_wait(answer, wall) },
        status @ 300..=399 => RequestFailure::Server { status, message: "redirects are not followed".into() },
        status => RequestFailure::Server { status, message: message_or("no message") },
    }
}

/// Returns the wait that a 429 asks for: in its header, else in its body (`service.md` 7.2).
fn requested_wait(answer: &HttpAnswer<'_>, wall: DateTime<Utc>) -> Option<Duration> {
    let in_body = || message::retry_after(answer.body).and_then(retry_after::from_seconds);
    answer.retry_after.and_then(|header| retry_after::parse_header(header, wall)).or_else(in_body)
}

fn interpret_record(body: &[u8], requested: &TransactionParams) -> Result<StatusAnswer, RequestFailure> {
    let object = parse_object(body).map_err(|reason| RequestFailure::Unreadable(text::clean(&reason)))?;
    if !decode::is_record(&object) {
        let message = message::object_message(&object).map(|message| format!(": {message}")).unwrap_or_default();
        let reason = format!("the body is an object without any field of a status record{message}");
        return Err(RequestFailure::Unreadable(text::clean(&reason)));
    }
    let (record, chains) = decode::decode_record(&object);
    match &record.from.transaction_id {
        Some(hash) if hash.key() != requested.transaction_id.key() => {
            Err(RequestFailure::OtherTransaction(hash.as_str().to_owned()))
        }
        _ => Ok(StatusAnswer { outcome: StatusOutcome::Record(Box::new(record)), chains }),
    }
}

/// Parses the body as a JSON object, or returns the reason why it is not an object.
pub(super) fn parse_object(body: &[u8]) -> Result<Map<String, Value>, String> {
    let raw = std::str::from_utf8(body).map_err(|_| "the body is not UTF-8 text")?;
    let raw = raw.trim_start_matches('\u{feff}');
    if raw.trim().is_empty() {
        return Err("the body is empty".into());
    }
    match json::parse(raw) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(Value::Array(_)) => Err("the body is a JSON array, not an object".into()),
        Ok(_) => Err("the body is a single JSON value, not an object".into()),
        Err(error) => Err(match message::describe_html(raw) {
            Some(page) => format!("the body is {page}"),
            None if error.classify() == Category::Data => format!("the body is too large: {error}"),
            None if error.classify() == Category::Eof => format!("the body is truncated after {} bytes", body.len()),
            None => format!("the body is not JSON: {error}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{super::fixtures, *};
    use crate::domain::{fixtures::params, ids::TxHash, status::RouterStatus};

    fn outcome(status: u16, body: &str) -> StatusOutcome {
        let answer = HttpAnswer { status, retry_after: None, body: body.as_bytes() };
        interpret(&answer, &params(1), DateTime::UNIX_EPOCH).outcome
    }

    fn line(status: u16, body: &str) -> String {
        match outcome(status, body) {
            StatusOutcome::Record(record) => format!("record: {}", record.status),
            StatusOutcome::NotFound(message) => format!("not found: {}", message.unwrap_or_else(|| "-".into())),
            StatusOutcome::Failed(failure) => failure.one_line(),
        }
    }

    fn check(table: &[(u16, &str, &str)]) {
        for (status, body, expected) in table.iter().copied() {
            let line = line(status, body);
            // An expected text with an open end continues with a library's wording.
            let open = expected.ends_with([' ', '{']) || expected.ends_with("range");
            assert!(line == expected || (open && line.starts_with(expected)), "{status} {body}\n{line}\n{expected}");
        }
    }

    #[test]
    fn http_status_decides_the_outcome_and_the_body_gives_the_message() {
        let table = [
            (200, fixtures::FULL, "record: success"),
            (
                404,
                r#"{"message":"Transaction not filled","type":"NotFoundError"}"#,
                "not found: Transaction not filled",
            ),
            (404, "", "not found: -"),
            (404, "<html><title>Not Found</title>", "not found: an HTML page, `Not Found`"),
            (404, fixtures::FULL, "not found: {"),
            (
                400,
                r#"{"message":"quoteId is missing","type":"BAD_REQUEST"}"#,
                "the service rejected the request: quoteId is missing",
            ),
            (
                400,
                r#"{"errors":[{"errorType":"e","message":"bad","path":"fromChainId"}]}"#,
                "the service rejected the request: fromChainId: bad",
            ),
            (400, "", "the service rejected the request: no reason given"),
            (
                401,
                r#"{"message":"x-integrator-id header is missing","type":"UNAUTHORIZED"}"#,
                "the service refused the integrator ID: x-integrator-id header is missing",
            ),
            (429, "", "the service throttled the integrator ID"),
            (
                429,
                r#"{"error":"slow down","retryAfter":30}"#,
                "the service throttled the integrator ID: slow down; it asks for a rest of 30 s",
            ),
            (429, r#"{"error":"slow down","retryAfter":-30}"#, "the service throttled the integrator ID: slow down"),
            (
                500,
                r#"{"message":"oops","statusCode":500,"type":"INTERNAL_ERROR"}"#,
                "the service answered HTTP 500: oops",
            ),
            (
                502,
                "<html><head><title>Bad Gateway</title>",
                "the service answered HTTP 502: an HTML page, `Bad Gateway`",
            ),
            (503, "", "the service answered HTTP 503: no message"),
            (302, "<html>", "the service answered HTTP 302: redirects are not followed; check the base URL"),
            (204, "", "the service answered HTTP 204: no message"),
        ];
        check(&table);
    }

    #[test]
    fn http_200_without_a_record_names_the_reason() {
        let table = [
            (200, "", "the answer can't be read: the body is empty"),
            (200, "<!DOCTYPE html><title>Hi</title>", "the answer can't be read: the body is an HTML page, `Hi`"),
            (
                200,
                r#"{"routerTransactionStatus":"succ"#,
                "the answer can't be read: the body is truncated after 32 bytes",
            ),
            (200, "hello", "the answer can't be read: the body is not JSON: expected value at line 1 column 1"),
            (200, "[]", "the answer can't be read: the body is a JSON array, not an object"),
            (200, "null", "the answer can't be read: the body is a single JSON value, not an object"),
            (200, "{}", "the answer can't be read: the body is an object without any field of a status record"),
            (
                200,
                r#"{"error":"slow down","retryAfter":30}"#,
                "the answer can't be read: the body is an object without any field of a status record: slow down",
            ),
            (
                200,
                r#"{"timeSpent":{"total":1e999}}"#,
                "the answer can't be read: the body is not JSON: number out of range",
            ),
            (200, r#"{"status":"\ud800"}"#, "the answer can't be read: the body is not JSON: "),
        ];
        check(&table);
    }

    #[test]
    fn router_statuses_are_kept_as_received() {
        let table = [
            (r#"{"routerTransactionStatus":"not_found"}"#, RouterStatus::NotFound),
            (r#"{"squidTransactionStatus":"refunded"}"#, RouterStatus::Refund),
            (r#"{"routerTransactionStatus":"SUCCESS"}"#, RouterStatus::Unknown("SUCCESS".into())),
            // Cleaning must not make it a documented value.
            (r#"{"routerTransactionStatus":"suc\u200bcess"}"#, RouterStatus::Unknown(r#""suc\u{200b}cess""#.into())),
            (r#"{"routerTransactionStatus":""}"#, RouterStatus::Unknown(String::new())),
            (r#"{"routerTransactionStatus":7}"#, RouterStatus::Unknown("7".into())),
            (r#"{"routeStatus":[]}"#, RouterStatus::Unknown(String::new())),
            // The last of duplicate keys counts.
            (r#"{"routerTransactionStatus":"success","routerTransactionStatus":"ongoing"}"#, RouterStatus::Ongoing),
        ];
        for (body, expected) in table {
            let StatusOutcome::Record(record) = outcome(200, body) else { panic!("{body}") };
            assert_eq!(record.status, expected, "{body}");
        }
    }

    #[test]
    fn a_record_of_another_transaction_is_refused() {
        let from = |hash: &str| {
            json!({"routerTransactionStatus": "success", "fromChain": {"transactionId": hash}}).to_string()
        };
        assert_eq!(
            outcome(200, &from("0xABC\u{202e}")),
            StatusOutcome::Failed(RequestFailure::OtherTransaction("0xABC".into()))
        );
        let capitals = fixtures::HASH.replace("0x", "");
        for same in ["", &capitals, &format!("0X{capitals}")] {
            assert!(matches!(outcome(200, &from(same)), StatusOutcome::Record(_)), "{same}");
        }
        let other_case = TransactionParams { transaction_id: TxHash::new("5UjQb"), ..params(1) };
        let body = from("5ujqb");
        let answer = HttpAnswer { status: 200, retry_after: None, body: body.as_bytes() };
        assert!(matches!(
            interpret(&answer, &other_case, DateTime::UNIX_EPOCH).outcome,
            StatusOutcome::Failed(RequestFailure::OtherTransaction(_))
        ));
    }

    #[test]
    fn retry_after_header_takes_precedence_over_the_body() {
        let throttled = |header| {
            let answer = HttpAnswer { status: 429, retry_after: Some(header), body: br#"{"retryAfter": 30}"# };
            interpret(&answer, &params(1), DateTime::UNIX_EPOCH).outcome
        };
        let wait = |header| match throttled(header) {
            StatusOutcome::Failed(RequestFailure::Throttled { retry_after, .. }) => {
                retry_after.map(|wait| wait.as_secs())
            }
            other => panic!("{other:?}"),
        };
        assert_eq!((wait("7"), wait("1e12"), wait("garbage")), (Some(7), Some(600), Some(30)));
    }

    #[test]
    fn deep_nesting_fails_cleanly() {
        let deep = format!("{{\"error\":{}", "[".repeat(100_000));
        for status in [200, 400, 404, 429, 500] {
            assert!(line(status, &deep).chars().count() <= 600);
        }
        assert!(line(200, &deep).contains("the body is truncated after 100009 bytes"));
    }

    #[test]
    fn body_with_too_many_values_is_refused() {
        let many = format!(r#"{{"routeStatus":[{}0]}}"#, r#"{"":0},"#.repeat(100_000));
        assert!(line(200, &many).starts_with("the answer can't be read: the body is too large: more than 32768"));
        assert!(line(500, &many).starts_with(r#"the service answered HTTP 500: {"routeStatus":[{"#));
        assert!(line(429, &many).starts_with(r#"the service throttled the integrator ID: {"routeStatus":[{"#));
    }

    #[test]
    fn body_that_is_not_utf8_is_unreadable() {
        let answer = HttpAnswer { status: 200, retry_after: None, body: b"{\"status\":\"\xff\"}" };
        let unreadable = RequestFailure::Unreadable("the body is not UTF-8 text".into());
        assert_eq!(interpret(&answer, &params(1), DateTime::UNIX_EPOCH).outcome, StatusOutcome::Failed(unreadable));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "(https?|file)://[a-z@:]{0,9}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("total|message|path|chainId|[a-z]", inner, 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..200), status in 100_u16..600, header in any::<String>()) {
            let answer = HttpAnswer { status, retry_after: Some(&header), body: &body };
            interpret(&answer, &params(1), DateTime::UNIX_EPOCH);
        }

        #[test]
        fn record_with_spoiled_fields_is_still_decoded(spoils in prop::collection::vec((prop::sample::select(fixtures::FIELDS), any_json()), 1..4)) {
            let mut body = fixtures::full();
            for (pointer, value) in &spoils {
                if body.pointer(pointer).is_some() {
                    body = fixtures::with_field(&body, pointer, Some(value));
                }
            }
            let raw = body.to_string();
            match outcome(200, &raw) {
                StatusOutcome::Record(record) => {
                    prop_assert!(record.warnings.len() <= 16);
                    prop_assert!(serde_json::to_string(&record).unwrap().chars().all(|character| !character.is_control()));
                }
                StatusOutcome::Failed(RequestFailure::OtherTransaction(_)) => prop_assert!(spoils.iter().any(|(at, _)| at.starts_with("/fromChain"))),
                // `to_string` can write every `Value` that was parsed, so no other outcome may occur.
                other => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn truncated_record_is_never_a_record(cut in 0..fixtures::FULL.len()) {
            if let Some(body) = fixtures::FULL.get(..cut) {
                prop_assert!(!matches!(outcome(200, body), StatusOutcome::Record(_)));
            }
        }
    }
}
