//! Removes integrator IDs from pasted text: curl commands and response bodies of the service contain one.
//!
//! The dashboard shows pasted text on a screen that others may see. This module must never change anything but the ID's
//! value.

use std::borrow::Cow;

/// The names that precede an ID, in lower case.
const ID_NAMES: [&str; 3] = [HEADER_NAME, "integratorid", "hoptop_integrator_id"];
const HEADER_NAME: &str = "x-integrator-id";
/// The text that replaces an ID.
const REPLACEMENT: &str = "(hidden)";

/// Returns the text with the value of every integrator ID replaced.
pub(crate) fn redact_integrator_id(text: &str) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    let mut redacted = String::new();
    let mut copied_to = 0;
    for (start, end) in find_values(&lower) {
        if start >= copied_to {
            redacted.push_str(text.get(copied_to..start).unwrap_or_default());
            redacted.push_str(REPLACEMENT);
            copied_to = end;
        }
    }
    if copied_to == 0 {
        return Cow::Borrowed(text);
    }
    redacted.push_str(text.get(copied_to..).unwrap_or_default());
    Cow::Owned(redacted)
}

/// Returns the start and end of each ID value in bytes, in ascending order.
fn find_values(lower: &str) -> Vec<(usize, usize)> {
    let names = ID_NAMES.iter().flat_map(|name| lower.match_indices(name));
    let mut values: Vec<_> = names.filter_map(|(at, name)| find_value(lower, at + name.len(), name)).collect();
    values.sort_unstable();
    values
}

/// Returns the start and end of the value after a name, if there is one. The value follows `:` or `=`, or in program
/// code a comma between quotation marks, and extends to the end of a word in a shell, in JSON or in a query.
fn find_value(lower: &str, after: usize, name: &str) -> Option<(usize, usize)> {
    let rest = lower.get(after..)?;
    let is_separator =
        |letter: char| matches!(letter, '"' | '\'' | ':' | '=' | '\\' | '%' | ',') || letter.is_whitespace();
    let value = rest.trim_start_matches(is_separator);
    // A header in a JSON list (`"name"`, `"value"`), or a query encoded inside another query (`%3D`, `%3A`).
    let value = ["value", "3d", "3a"]
        .iter()
        .find_map(|name| {
            let after_name = value
                .strip_prefix(name)
                .filter(|after_name| *name != "value" || after_name.starts_with(['"', '\'', ':']))?;
            (*name == "value" || rest.starts_with('%')).then(|| after_name.trim_start_matches(is_separator))
        })
        .unwrap_or(value);
    let start = after + rest.len() - value.len();
    let separators = lower.get(after..start)?;
    let ends_value =
        |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '&' | ',' | ';' | '\\' | '}' | '%');
    let length = value.find(ends_value).unwrap_or(value.len());
    // Other names may also be columns of a CSV file.
    let is_in_code = name == HEADER_NAME && separators.contains(',') && separators.contains(['"', '\'']);
    (length > 0 && (is_in_code || separators.contains([':', '=', '%']))).then_some((start, start + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrator_id_is_hidden_in_every_notation() {
        let table = [
            ("curl -H 'x-integrator-id: abc-1' https://x", "curl -H 'x-integrator-id: (hidden)' https://x"),
            ("curl -H X-Integrator-Id:abc https://x", "curl -H X-Integrator-Id:(hidden) https://x"),
            (r#"{"integratorId": "abc", "id":"0x1"}"#, r#"{"integratorId": "(hidden)", "id":"0x1"}"#),
            ("?integratorId=abc&x=1", "?integratorId=(hidden)&x=1"),
            ("x-integrator-id: a\nX-INTEGRATOR-ID=b", "x-integrator-id: (hidden)\nX-INTEGRATOR-ID=(hidden)"),
            (r#"{"name":"x-integrator-id","value":"abc"}"#, r#"{"name":"x-integrator-id","value":"(hidden)"}"#),
            (r#".header("x-integrator-id", "abc")"#, r#".header("x-integrator-id", "(hidden)")"#),
            ("['x-integrator-id','abc']", "['x-integrator-id','(hidden)']"),
            (r#""integratorId","status""#, r#""integratorId","status""#),
            ("x-integrator-id:\nabc\n", "x-integrator-id:\n(hidden)\n"),
            ("?u=a%3FintegratorId%3Dabc%26b", "?u=a%3FintegratorId%3D(hidden)%26b"),
            ("export HOPTOP_INTEGRATOR_ID=abc", "export HOPTOP_INTEGRATOR_ID=(hidden)"),
            ("hoptop_integrator_id_file=/run/id", "hoptop_integrator_id_file=/run/id"),
            ("x-integrator-id header is missing", "x-integrator-id header is missing"),
            ("x-integrator-id: ", "x-integrator-id: "),
            ("票 x-integrator-id: 票票 票", "票 x-integrator-id: (hidden) 票"),
        ];
        for (text, expected) in table {
            assert_eq!(redact_integrator_id(text), expected);
            assert_eq!(redact_integrator_id(expected), expected);
        }
    }
}
