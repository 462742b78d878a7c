//! Extracts the message from an error body of any shape (`service.md` 7.2, `cases.md` 12).
//!
//! The messages are for people. The HTTP status decides what an answer means, never this module.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{json, reader::compact};
use crate::domain::text;

/// The most entries of an error list that a message shows.
const ENTRIES: usize = 5;

/// Returns the message of an error body as one clean line; `None` if the body has no message.
pub(super) fn message(body: &[u8]) -> Option<String> {
    let raw = String::from_utf8_lossy(body);
    let message = match json::parse(&raw) {
        Ok(Value::Object(object)) => return object_message(&object),
        Ok(value) => plain_message(&value).or_else(|| compact_json(&value)),
        Err(_) => describe_html(&raw).or_else(|| Some(raw.into_owned())),
    };
    message.and_then(|message| text::clean_or_none(&message))
}

/// Like [`message`], for a body that is already parsed.
pub(super) fn object_message(object: &Map<String, Value>) -> Option<String> {
    let message =
        ["message", "error", "errors", "type"].iter().find_map(|name| object.get(*name).and_then(plain_message));
    message.or_else(|| compact_json(object)).and_then(|message| text::clean_or_none(&message))
}

/// Returns the wait in seconds that the body asks for, as in `{error, retryAfter}`.
pub(super) fn retry_after(body: &[u8]) -> Option<f64> {
    json::parse(std::str::from_utf8(body).ok()?).ok()?.get("retryAfter")?.as_f64()
}

/// Returns the message of a record's `error` field, whose shape is not documented. Known shapes are a text, a list of
/// `{path, message}`, and an object with a `message`. Any other value is returned as compact JSON. An empty value is
/// not an error.
pub(super) fn value_message(value: &Value) -> Option<String> {
    let message = match value {
        Value::Bool(false) => return None,
        Value::Object(object) => message_with_details(object),
        other => plain_message(other),
    };
    message.or_else(|| compact_json(value)).and_then(|message| text::clean_or_none(&message))
}

/// Returns a description of a body that is HTML, with the page's title; `None` if the body is not HTML.
pub(crate) fn describe_html(raw: &str) -> Option<String> {
    let start = raw.trim_start();
    let lower = start.get(..start.floor_char_boundary(512)).unwrap_or(start).to_ascii_lowercase();
    let is_html = ["<!doctype", "<html", "<head", "<body", "<?xml"].iter().any(|start| lower.contains(start));
    is_html.then(|| match title(raw).and_then(|title| text::clean_or_none(&title)) {
        Some(title) => format!("an HTML page, `{title}`"),
        None => "an HTML page".into(),
    })
}

fn title(raw: &str) -> Option<String> {
    // `to_ascii_lowercase` keeps the position of every byte.
    let lower = raw.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let start = open + lower.get(open..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find('<')?;
    raw.get(start..end).map(|title| title.chars().take(120).collect())
}

/// Returns the message of an object, followed by the object's other fields, which may matter too.
fn message_with_details(object: &Map<String, Value>) -> Option<String> {
    let message = object.get("message").and_then(plain_message)?;
    let details: BTreeMap<_, _> = object.iter().filter(|(name, _)| *name != "message").collect();
    Some(compact_json(&details).map_or_else(|| message.clone(), |details| format!("{message} {details}")))
}

/// Returns the message of a text, a list of texts or of `{path, message}`, or an object with a `message`. It reads no
/// deeper.
fn plain_message(value: &Value) -> Option<String> {
    match value {
        Value::String(message) => Some(message.clone()).filter(|message| !message.trim().is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(entries) => {
            let mut messages: Vec<_> = entries.iter().filter_map(entry_message).take(ENTRIES).collect();
            let more = entries.len().saturating_sub(ENTRIES);
            if more > 0 && !messages.is_empty() {
                messages.push(format!("and {more} more"));
            }
            Some(messages.join("; ")).filter(|message| !message.is_empty())
        }
        Value::Object(object) => entry_object_message(object),
        Value::Null | Value::Bool(_) => None,
    }
}

fn entry_message(value: &Value) -> Option<String> {
    match value {
        Value::Object(object) => entry_object_message(object),
        other => other.as_str().map(str::to_owned),
    }
}

fn entry_object_message(object: &Map<String, Value>) -> Option<String> {
    let text_field = |name| object.get(name).and_then(Value::as_str).filter(|message: &&str| !message.is_empty());
    let message = text_field("message").or_else(|| text_field("errorType")).or_else(|| text_field("type"))?;
    let path = match object.get("path") {
        Some(Value::Array(parts)) => parts.iter().map(compact).collect::<Vec<_>>().join("."),
        Some(Value::String(path)) => path.clone(),
        _ => String::new(),
    };
    Some(if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") })
}

fn compact_json(value: &impl Serialize) -> Option<String> {
    let json = serde_json::to_string(value).ok()?;
    (!matches!(json.as_str(), "{}" | "[]" | "null" | "\"\"")).then_some(json)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_the_message_of_every_error_body() {
        let table = [
            (r#"{"message":"Transaction not filled","type":"NotFoundError"}"#, Some("Transaction not filled")),
            (r#"{"message":"no\u001b[2J","statusCode":500,"type":"INTERNAL_ERROR"}"#, Some("no[2J")),
            (r#"{"error":"Too many quote requests","retryAfter":30}"#, Some("Too many quote requests")),
            (r#"{"errors":[{"errorType":"E","message":"bad","path":"fromChain"}]}"#, Some("fromChain: bad")),
            (r#"{"errors":[{"message":"bad","path":["a",0]},{"errorType":"E"}]}"#, Some("a.0: bad; E")),
            (r#"{"error":{"message":"inner"}}"#, Some("inner")),
            (r#"{"type":"BAD_REQUEST_ERROR"}"#, Some("BAD_REQUEST_ERROR")),
            (r#"{"reason":5}"#, Some(r#"{"reason":5}"#)),
            ("{}", None),
            ("", None),
            (" \r\n", None),
            ("upstream down", Some("upstream down")),
            ("<html><HEAD><Title>502\nBad Gateway</title>", Some("an HTML page, `502 Bad Gateway`")),
            ("<!DOCTYPE html><p>hello", Some("an HTML page")),
        ];
        for (body, expected) in table {
            assert_eq!(message(body.as_bytes()).as_deref(), expected, "{body}");
        }
        assert_eq!(message(b"\xff<html>\xff").as_deref(), Some("an HTML page"));
        let late = format!("{}é<html>", "x".repeat(511));
        assert_ne!(message(late.as_bytes()).as_deref(), Some("an HTML page"));
    }

    #[test]
    fn reads_the_error_field_in_every_shape() {
        let table = [
            (json!(null), None),
            (json!({}), None),
            (json!([]), None),
            (json!(""), None),
            (json!(false), None),
            (json!(true), Some("true")),
            (json!("out of gas"), Some("out of gas")),
            (
                json!([{"path": "toChain", "message": "bad"}, {"path": "", "message": "worse"}]),
                Some("toChain: bad; worse"),
            ),
            (json!({"message": "reverted", "code": 3}), Some(r#"reverted {"code":3}"#)),
            (json!({"message": {"message": "deep"}}), Some("deep")),
            (json!({"code": 3}), Some(r#"{"code":3}"#)),
            (json!([[1]]), Some("[[1]]")),
        ];
        for (value, expected) in table {
            assert_eq!(value_message(&value).as_deref(), expected, "{value}");
        }
        let many = json!(vec![json!({"message": "bad"}); 70]);
        assert_eq!(value_message(&many).as_deref(), Some("bad; bad; bad; bad; bad; and 65 more"));
    }
}
