//! Parses TOML that a person wrote. An error names its line and the nearest valid key (`cases.md` 58).
//!
//! A wrong value must only be described by its type: the value may be a secret in the wrong place. The caller decides
//! which values may be shown.

use serde::de::DeserializeOwned;

use super::text::clean;

/// An error in a TOML text, with its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TomlError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub reason: String,
}

/// Parses a TOML text.
///
/// # Errors
/// If the text isn't TOML, or doesn't fit `T`.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count();
        TomlError { line, reason: clean(&reason(error.message(), key_at(text, start))) }
    })
}

/// Returns the key on the line of the error.
fn key_at(text: &str, start: usize) -> Option<&str> {
    let line_start = text.get(..start)?.rfind('\n').map_or(0, |end| end + 1);
    let (key, _) = text.get(line_start..)?.lines().next()?.split_once('=')?;
    Some(key.trim()).filter(|key| !key.is_empty())
}

fn reason(message: &str, key: Option<&str>) -> String {
    let message = message.lines().next().unwrap_or_default();
    let about = key.map(|key| format!("{key}: ")).unwrap_or_default();
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return unknown_key(rest);
    }
    let expected = message.split_once(", expected ").map(|(_, expected)| expected.replace('`', ""));
    match (message.split([' ', ':']).next(), expected) {
        // The value may be a secret in the wrong place, so only its type is named.
        (Some("invalid" | "unknown"), Some(expected)) => {
            format!("{about}found {}, expected {}", type_of_value(message), plain_type(&expected))
        }
        _ => format!("{about}{message}"),
    }
}

/// Returns what was expected without the names of Rust's types.
fn plain_type(expected: &str) -> &str {
    match expected {
        "f64" => "a number",
        "i64" => "a whole number",
        "a boolean" => "true or false",
        "a map" => "a table",
        "a sequence" => "an array",
        "a string" => "text",
        other => other,
    }
}

fn type_of_value(message: &str) -> &'static str {
    let types =
        [("string", "text"), ("integer", "a whole number"), ("float", "a number"), ("boolean", "true or false")];
    let others = [("map", "a table"), ("sequence", "an array"), ("datetime", "a date"), ("variant", "other text")];
    let found = message.split_once(' ').map_or("", |(_, rest)| rest);
    let found = found.trim_start_matches("type: ").trim_start_matches("value: ");
    let known = types.iter().chain(&others).find(|(start, _)| found.starts_with(start));
    known.map_or("something else", |(_, name)| name)
}

fn unknown_key(rest: &str) -> String {
    let mut names = rest.split('`').skip(1).step_by(2);
    let unknown = names.next().unwrap_or_default();
    let known: Vec<_> = names.collect();
    let hint = nearest(unknown, &known).map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    format!("unknown key `{unknown}`; {hint}known keys: {}", known.join(", "))
}

/// Returns the known name nearest to `typed`, if one is similar enough.
pub(crate) fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let by_distance = known.iter().map(|name| (strsim::levenshtein(typed, name), *name));
    by_distance.min().filter(|(distance, _)| *distance <= 2.max(typed.chars().count() / 3)).map(|(_, name)| name)
}
