//! Parses TOML that a person wrote. An error names its line and the nearest valid key (`cases.md` 58).
//!
//! A wrong value must only be described by its type: the value may be a secret in the wrong place. The caller decides
//! which values may be shown.

use serde::de::DeserializeOwned;

use super::text::clean;

/// An error in a TOML text, with its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub(crate) struct TomlError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub reason: String,
    /// The unknown key, if that is the error.
    pub unknown_key: Option<String>,
}

/// Parses a TOML text.
///
/// # Errors
/// If the text isn't TOML, or doesn't fit `T`.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count();
        let message = error.message().lines().next().unwrap_or_default();
        let names = message.strip_prefix("unknown field ").map(quoted_names).unwrap_or_default();
        let (reason, unknown_key) = match names.as_slice() {
            [unknown, known @ ..] => {
                let hint = suggestion(unknown, known);
                let reason = format!("unknown key `{unknown}`; {hint}known keys: {}", known.join(", "));
                (reason, Some((*unknown).to_owned()))
            }
            [] => (reason(message, key_at(text, start)), None),
        };
        TomlError { line, reason: clean(&reason), unknown_key }
    })
}

/// Returns the key on the line of the error.
fn key_at(text: &str, start: usize) -> Option<&str> {
    let line_start = text.get(..start)?.rfind('\n').map_or(0, |end| end + 1);
    let (key, _) = text.get(line_start..)?.lines().next()?.split_once('=')?;
    Some(key.trim()).filter(|key| !key.is_empty())
}

/// Returns the reason of an error of the parser, for a person: without the value, and with the key of its line.
fn reason(message: &str, key: Option<&str>) -> String {
    let about = key.map(|key| format!("{key}: ")).unwrap_or_default();
    let expected = message.rsplit_once(", expected ").map(|(_, expected)| expected.replace('`', ""));
    match (message.split([' ', ':']).next(), expected) {
        // The value may be a secret in the wrong place, so only its type is named.
        (Some("invalid" | "unknown"), Some(expected)) => {
            let names = message.strip_prefix("unknown variant ").map(quoted_names).unwrap_or_default();
            let near = names.split_first().and_then(|(typed, known)| nearest(typed, known));
            let hint = near.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            format!("{about}found {}, expected {}{hint}", type_of_value(message), plain_type(&expected))
        }
        _ => format!("{about}{message}"),
    }
}

/// Returns the expected value in words, without the names of Rust's types.
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

/// Returns the type of the value that an error of the parser is about, in words.
fn type_of_value(message: &str) -> &'static str {
    let types =
        [("string", "text"), ("integer", "a whole number"), ("float", "a number"), ("boolean", "true or false")];
    let others = [("map", "a table"), ("sequence", "an array"), ("datetime", "a date"), ("variant", "other text")];
    let found = message.split_once(' ').map_or("", |(_, rest)| rest);
    let found = found.trim_start_matches("type: ").trim_start_matches("value: ");
    let known = types.iter().chain(&others).find(|(start, _)| found.starts_with(start));
    known.map_or("something else", |(_, name)| name)
}

/// Returns the names in backticks.
fn quoted_names(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns the known name nearest to `typed` as a question with a space behind it; empty if no name is similar enough.
pub(crate) fn suggestion(typed: &str, known: &[&str]) -> String {
    nearest(typed, known).map_or_else(String::new, |name| format!("did you mean `{name}`? "))
}

/// Returns the known name nearest to `typed`, if one is similar enough.
pub(crate) fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let by_distance = known.iter().map(|name| (strsim::levenshtein(typed, name), *name));
    by_distance.min().filter(|(distance, _)| *distance <= 2.max(typed.chars().count() / 3)).map(|(_, name)| name)
}
