//! Takes integrator IDs out of what a person pastes: a curl command and a body of the service carry one.
//!
//! What is pasted stands on a screen that others may see. It must never change anything but the ID's value.

use std::borrow::Cow;

/// What stands before an ID, in lower case.
const NAMES: [&str; 2] = ["x-integrator-id", "integratorid"];
/// What stands in its place.
const HIDDEN: &str = "(hidden)";

/// The text without the values of integrator IDs.
pub fn without_id(text: &str) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    let mut kept = String::new();
    let mut done = 0;
    for (start, end) in values(&lower) {
        if start >= done {
            kept.push_str(text.get(done..start).unwrap_or_default());
            kept.push_str(HIDDEN);
            done = end;
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(kept)
}

/// Where the values begin and end, in order.
fn values(lower: &str) -> Vec<(usize, usize)> {
    let names = NAMES.iter().flat_map(|name| lower.match_indices(name).map(|(at, name)| at + name.len()));
    let mut values: Vec<_> = names.filter_map(|after| value(lower, after)).collect();
    values.sort_unstable();
    values
}

/// The value behind a name, if there is one: behind `:` or `=`, up to what ends a word of a shell, of JSON or of a query.
fn value(lower: &str, after: usize) -> Option<(usize, usize)> {
    let rest = lower.get(after..)?;
    let is_between =
        |letter: char| matches!(letter, '"' | '\'' | ':' | '=' | '\\' | '%' | ',') || letter.is_whitespace();
    let value = rest.trim_start_matches(is_between);
    // As in a list of headers, and within a query that is written within another.
    let value = ["value", "3d", "3a"]
        .iter()
        .find_map(|name| {
            let behind =
                value.strip_prefix(name).filter(|behind| *name != "value" || behind.starts_with(['"', '\'', ':']))?;
            (*name == "value" || rest.starts_with('%')).then(|| behind.trim_start_matches(is_between))
        })
        .unwrap_or(value);
    let start = after + rest.len() - value.len();
    let between = lower.get(after..start)?;
    let ends =
        |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | '&' | ',' | ';' | '\\' | '}' | '%');
    let length = value.find(ends).unwrap_or(value.len());
    (length > 0 && between.contains([':', '=', '%'])).then_some((start, start + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_hidden_wherever_it_is_named() {
        let table = [
            ("curl -H 'x-integrator-id: abc-1' https://x", "curl -H 'x-integrator-id: (hidden)' https://x"),
            ("curl -H X-Integrator-Id:abc https://x", "curl -H X-Integrator-Id:(hidden) https://x"),
            (r#"{"integratorId": "abc", "id":"0x1"}"#, r#"{"integratorId": "(hidden)", "id":"0x1"}"#),
            ("?integratorId=abc&x=1", "?integratorId=(hidden)&x=1"),
            ("x-integrator-id: a\nX-INTEGRATOR-ID=b", "x-integrator-id: (hidden)\nX-INTEGRATOR-ID=(hidden)"),
            (r#"{"name":"x-integrator-id","value":"abc"}"#, r#"{"name":"x-integrator-id","value":"(hidden)"}"#),
            ("x-integrator-id:\nabc\n", "x-integrator-id:\n(hidden)\n"),
            ("?u=a%3FintegratorId%3Dabc%26b", "?u=a%3FintegratorId%3D(hidden)%26b"),
            ("x-integrator-id header is missing", "x-integrator-id header is missing"),
            ("x-integrator-id: ", "x-integrator-id: "),
            ("票 x-integrator-id: 票票 票", "票 x-integrator-id: (hidden) 票"),
        ];
        for (text, expected) in table {
            assert_eq!(without_id(text), expected);
            assert_eq!(without_id(expected), expected);
        }
    }
}
