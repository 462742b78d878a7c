//! TOML that a person wrote: what is wrong in it is named with its line and the nearest right key (`cases.md` 58).
//!
//! A wrong value is named by its type only: it may be a secret in the wrong place. What may be shown of one is the business
//! of whoever reads it.

use serde::de::DeserializeOwned;

use super::text::clean;

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct Wrong {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub reason: String,
}

/// The value that a text holds.
///
/// # Errors
/// If it is no TOML, or says something that it can't say.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count();
        Wrong { line, reason: clean(&reason(error.message(), key_at(text, start))) }
    })
}

/// The key of the line that a wrong value stands on.
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
        // What came may be a secret in the wrong place, so only its type is named.
        (Some("invalid" | "unknown"), Some(expected)) => {
            format!("{about}{} came, expected {expected}", type_in(message))
        }
        _ => format!("{about}{message}"),
    }
}

fn type_in(message: &str) -> &'static str {
    let types =
        [("string", "text"), ("integer", "a whole number"), ("float", "a number"), ("boolean", "true or false")];
    let others = [("map", "a table"), ("sequence", "an array"), ("datetime", "a date"), ("variant", "another word")];
    let came = message.split_once(' ').map_or("", |(_, rest)| rest);
    let came = came.trim_start_matches("type: ").trim_start_matches("value: ");
    let known = types.iter().chain(&others).find(|(start, _)| came.starts_with(start));
    known.map_or("something else", |(_, name)| name)
}

fn unknown_key(rest: &str) -> String {
    let mut names = rest.split('`').skip(1).step_by(2);
    let unknown = names.next().unwrap_or_default();
    let known: Vec<_> = names.collect();
    let hint = nearest(unknown, &known).map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    format!("unknown key `{unknown}`; {hint}known here: {}", known.join(", "))
}

/// The name that was probably meant, if any is similar.
pub fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let by_distance = known.iter().map(|name| (strsim::levenshtein(typed, name), *name));
    by_distance.min().filter(|(far, _)| *far <= 2.max(typed.chars().count() / 3)).map(|(_, name)| name)
}
