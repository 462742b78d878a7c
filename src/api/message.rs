//! What an error body says, in whichever shape it comes (`service.md` 7.2, `cases.md` 12).
//!
//! It reads a body for people only; what an answer means is decided by its HTTP status, never here.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::json;
use crate::domain::text;

/// The most entries of a list of errors that are shown.
const ENTRIES: usize = 5;

/// The message of an error body, as one clean line; `None` if it says nothing.
pub fn message(body: &[u8]) -> Option<String> {
    let raw = String::from_utf8_lossy(body);
    let said = match json::parse(&raw) {
        Ok(Value::Object(object)) => return of_body(&object),
        Ok(value) => plain(&value).or_else(|| compact(&value)),
        Err(_) => in_html(&raw).or_else(|| Some(raw.into_owned())),
    };
    said.and_then(|said| text::clean_or_none(&said))
}

/// The same for a body that is parsed already.
pub fn of_body(object: &Map<String, Value>) -> Option<String> {
    in_object(object).or_else(|| compact(object)).and_then(|said| text::clean_or_none(&said))
}

/// The rest in seconds that the body asks for, `{error, retryAfter}`.
pub fn retry_after(body: &[u8]) -> Option<f64> {
    json::parse(std::str::from_utf8(body).ok()?).ok()?.get("retryAfter")?.as_f64()
}

/// The `error` field of a record, of which the fields are not documented: text, a list of `{path, message}`, an object
/// with a `message` and whatever else, or anything else as compact JSON. Empty things are no error.
pub fn of_value(value: &Value) -> Option<String> {
    let said = match value {
        Value::Object(object) if object.is_empty() => None,
        Value::Object(object) => with_the_rest(object).or_else(|| compact(value)),
        Value::Array(entries) if entries.is_empty() => None,
        Value::Array(_) => plain(value).or_else(|| compact(value)),
        Value::Null | Value::Bool(false) => None,
        other => plain(other).or_else(|| compact(other)),
    };
    said.and_then(|said| text::clean_or_none(&said))
}

/// A name for a body that isn't JSON but HTML, with its title.
pub fn in_html(raw: &str) -> Option<String> {
    let start = raw.trim_start();
    let lower = start.get(..start.floor_char_boundary(512)).unwrap_or(start).to_ascii_lowercase();
    let is_html = ["<!doctype", "<html", "<head", "<body", "<?xml"].iter().any(|start| lower.contains(start));
    is_html.then(|| match title(raw).and_then(|title| text::clean_or_none(&title)) {
        Some(title) => format!("an HTML page, `{title}`"),
        None => "an HTML page".into(),
    })
}

fn title(raw: &str) -> Option<String> {
    // ASCII lower case keeps every byte's place.
    let lower = raw.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let start = open + lower.get(open..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find('<')?;
    raw.get(start..end).map(|title| title.chars().take(120).collect())
}

fn in_object(object: &Map<String, Value>) -> Option<String> {
    ["message", "error", "errors", "type"].iter().find_map(|name| object.get(*name).and_then(plain))
}

/// The message of an object, and behind it what else the object holds: nobody knows which of it matters.
fn with_the_rest(object: &Map<String, Value>) -> Option<String> {
    let said = object.get("message").and_then(plain)?;
    let rest: BTreeMap<_, _> = object.iter().filter(|(name, _)| *name != "message").collect();
    Some(compact(&rest).map_or_else(|| said.clone(), |rest| format!("{said} {rest}")))
}

/// A text, a list of texts or of `{path, message}`, an object with a `message`; nothing deeper.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(said) => Some(said.clone()).filter(|said| !said.trim().is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(entries) => {
            let mut said: Vec<_> = entries.iter().filter_map(entry).take(ENTRIES).collect();
            let more = entries.len().saturating_sub(ENTRIES);
            if more > 0 && !said.is_empty() {
                said.push(format!("and {more} more"));
            }
            Some(said.join("; ")).filter(|said| !said.is_empty())
        }
        Value::Object(object) => in_entry(object),
        Value::Null | Value::Bool(_) => None,
    }
}

fn entry(value: &Value) -> Option<String> {
    match value {
        Value::Object(object) => in_entry(object),
        other => other.as_str().map(str::to_owned),
    }
}

fn in_entry(object: &Map<String, Value>) -> Option<String> {
    let words = |name| object.get(name).and_then(Value::as_str).filter(|said: &&str| !said.is_empty());
    let said = words("message").or_else(|| words("errorType")).or_else(|| words("type"))?;
    let path = match object.get("path") {
        Some(Value::Array(parts)) => parts.iter().map(part).collect::<Vec<_>>().join("."),
        Some(Value::String(path)) => path.clone(),
        _ => String::new(),
    };
    Some(if path.is_empty() { said.to_owned() } else { format!("{path}: {said}") })
}

fn part(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn compact(value: &impl Serialize) -> Option<String> {
    let said = serde_json::to_string(value).ok()?;
    (!matches!(said.as_str(), "{}" | "[]" | "null" | "\"\"")).then_some(said)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_shape_of_error_body_says_what_it_says() {
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
    fn the_error_field_comes_in_many_shapes() {
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
            assert_eq!(of_value(&value).as_deref(), expected, "{value}");
        }
        let many = json!(vec![json!({"message": "bad"}); 70]);
        assert_eq!(of_value(&many).as_deref(), Some("bad; bad; bad; bad; bad; and 65 more"));
    }
}
