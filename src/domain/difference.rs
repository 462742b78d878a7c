//! What differs between two JSON bodies, field by field.
//!
//! It compares what stands there and must never guess what a field means; all text that comes out is clean.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{text, width};

/// More differences than these are another body altogether.
pub const MOST: usize = 64;
/// The widest that a value may get.
const WIDEST: usize = 96;
/// What lies deeper is compared as a whole.
const DEEPEST: usize = 12;

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Where it stands: `toChain.transactionId`, `routeStatus[1].status`.
    pub field: String,
    /// What it was; `None` if it wasn't there.
    pub before: Option<String>,
    /// What it is; `None` if it isn't there any more.
    pub after: Option<String>,
}

impl Difference {
    /// `toChain.transactionId: "" > "0x41aa90fe"`.
    pub fn sentence(&self) -> String {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(none)".to_owned());
        format!("{}: {} > {}", self.field, value(&self.before), value(&self.after))
    }
}

/// What differs, in the order of the fields' names, at most 64 of them; nothing if one of the two isn't JSON.
pub fn differences(before: &str, after: &str) -> Vec<Difference> {
    let parsed = (serde_json::from_str::<Value>(before), serde_json::from_str::<Value>(after));
    let (Ok(before), Ok(after)) = parsed else { return Vec::new() };
    let mut found = Vec::new();
    compare(&mut found, (String::new(), 0), Some(&before), Some(&after));
    found
}

fn compare(
    found: &mut Vec<Difference>,
    (field, depth): (String, usize),
    before: Option<&Value>,
    after: Option<&Value>,
) {
    if before == after || found.len() >= MOST {
        return;
    }
    let (old, new) = (children(before, depth), children(after, depth));
    // Of what appears or goes as a whole each field counts; of two values that are of different kinds the whole.
    let nested = match (before, after) {
        (Some(_), Some(_)) => old.is_some() && new.is_some(),
        _ => old.is_some() || new.is_some(),
    };
    if !nested {
        let written = |value: Option<&Value>| value.map(written);
        return found.push(Difference { field: text::clean(&field), before: written(before), after: written(after) });
    }
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let names: Vec<&Key> = old.keys().chain(new.keys().filter(|key| !old.contains_key(key))).collect();
    for name in names {
        compare(found, (name.under(&field), depth + 1), old.get(name).copied(), new.get(name).copied());
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Index(usize),
    Name(String),
}

impl Key {
    fn under(&self, field: &str) -> String {
        match self {
            Self::Index(index) => format!("{field}[{index}]"),
            Self::Name(name) if field.is_empty() => name.clone(),
            Self::Name(name) => format!("{field}.{name}"),
        }
    }
}

/// What a value consists of; nothing of one that is looked at as a whole.
fn children(value: Option<&Value>, depth: usize) -> Option<BTreeMap<Key, &Value>> {
    match value? {
        _ if depth >= DEEPEST => None,
        Value::Object(fields) => Some(fields.iter().map(|(name, value)| (Key::Name(name.clone()), value)).collect()),
        Value::Array(items) => {
            Some(items.iter().enumerate().map(|(index, value)| (Key::Index(index), value)).collect())
        }
        _ => None,
    }
}

fn written(value: &Value) -> String {
    width::cut(&text::clean(&value.to_string()), WIDEST, "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(before: &str, after: &str) -> Vec<String> {
        differences(before, after).iter().map(Difference::sentence).collect()
    }

    #[test]
    fn each_field_that_differs_is_named_with_both_values() {
        let before = r#"{"status":"a","toChain":{"transactionId":""},"routeStatus":[{"status":"x"}],"same":[1,{}]}"#;
        let after = r#"{"status":"b","toChain":{"transactionId":"0x41"},"routeStatus":[{"status":"y"},{"action":"call"}],"same":[1,{}]}"#;
        assert_eq!(
            sentences(before, after),
            [
                r#"routeStatus[0].status: "x" > "y""#,
                r#"routeStatus[1].action: (none) > "call""#,
                r#"status: "a" > "b""#,
                r#"toChain.transactionId: "" > "0x41""#,
            ]
        );
    }

    #[test]
    fn what_is_no_json_or_hostile_or_huge_does_no_harm() {
        assert_eq!(sentences("<html>", "{}"), Vec::<String>::new());
        assert_eq!(sentences(r#"{"a":1}"#, r#"{"a":{"b":1}}"#), [r#"a: 1 > {"b":1}"#]);
        assert_eq!(sentences(r#"{"a\u001b[5m":1}"#, r#"{"a\u001b[5m":"\u202e"}"#).len(), 1);
        assert!(!sentences(r#"{"a\u001b[5m":1}"#, r#"{}"#)[0].contains('\u{1b}'));
        let many = |value: usize| format!("[{}]", vec![value.to_string(); 1_000].join(","));
        assert_eq!(sentences(&many(1), &many(2)).len(), MOST);
    }
}
