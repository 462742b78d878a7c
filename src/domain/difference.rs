//! The differences between two JSON bodies, field by field.
//!
//! The module compares values literally and must never guess what a field means. All returned text is clean.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem::discriminant,
};

use serde::Serialize;
use serde_json::Value;

use super::text;

/// The maximum number of differences. Bodies with more differences have too little in common.
pub(crate) const MAX_DIFFERENCES: usize = 64;
/// The maximum length of a value, in characters.
const VALUE_LENGTH: usize = 96;
/// Values nested deeper than this are compared as a whole.
const DEPTH_LIMIT: usize = 12;

/// A field that differs between two bodies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The path of the field: `toChain.transactionId`, `routeStatus[1].status`.
    pub field: String,
    /// The old value; `None` if the field is new.
    pub before: Option<String>,
    /// The new value; `None` if the field was removed.
    pub after: Option<String>,
}

impl Difference {
    /// Returns the difference in words: `toChain.transactionId: "" > "0x41aa90fe"`.
    pub fn sentence(&self) -> String {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(none)".to_owned());
        format!("{}: {} > {}", self.field, value(&self.before), value(&self.after))
    }
}

/// Returns the differences in the order of the field names, at most [`MAX_DIFFERENCES`]; none if a body isn't JSON.
pub(crate) fn differences(before: &str, after: &str) -> Vec<Difference> {
    let parsed = (serde_json::from_str::<Value>(before), serde_json::from_str::<Value>(after));
    let (Ok(before), Ok(after)) = parsed else { return Vec::new() };
    let mut found = Vec::new();
    compare(&mut found, String::new(), 0, Some(&before), Some(&after));
    found
}

fn compare(found: &mut Vec<Difference>, field: String, depth: usize, before: Option<&Value>, after: Option<&Value>) {
    if before == after || found.len() >= MAX_DIFFERENCES {
        return;
    }
    let (old, new) = (children(before, depth), children(after, depth));
    // In an added or removed object each field counts. If the kind of a value changed, the value counts as a whole.
    let is_nested = match (before, after) {
        (Some(before), Some(after)) => old.is_some() && new.is_some() && discriminant(before) == discriminant(after),
        (None, _) | (_, None) => old.iter().chain(&new).any(|fields| !fields.is_empty()),
    };
    if !is_nested {
        let field = text::clean(field.strip_prefix('.').unwrap_or(&field));
        return found.push(Difference { field, before: before.map(value_text), after: after.map(value_text) });
    }
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    for place in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        let path = format!("{field}{}", place.1);
        compare(found, path, depth + 1, old.get(place).copied(), new.get(place).copied());
    }
}

/// Returns the children of an object or array by their order and their place in a path (`.status`, `[1]`); `None` for a
/// value that is compared as a whole.
fn children(value: Option<&Value>, depth: usize) -> Option<BTreeMap<(usize, String), &Value>> {
    match value? {
        _ if depth >= DEPTH_LIMIT => None,
        Value::Object(fields) => Some(fields.iter().map(|(name, value)| ((0, format!(".{name}")), value)).collect()),
        Value::Array(items) => {
            Some(items.iter().enumerate().map(|(index, value)| ((index, format!("[{index}]")), value)).collect())
        }
        _ => None,
    }
}

fn value_text(value: &Value) -> String {
    let text = text::clean(&value.to_string());
    match text.char_indices().nth(VALUE_LENGTH) {
        None => text,
        Some(_) => text.chars().take(VALUE_LENGTH - 2).chain("..".chars()).collect(),
    }
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
    fn empty_values_other_kinds_and_new_fields_are_differences_in_the_order_of_the_fields() {
        assert_eq!(sentences(r#"{"a":1}"#, r#"{"a":1,"b":[]}"#), ["b: (none) > []"]);
        assert_eq!(sentences(r#"{"x":{}}"#, r#"{"x":[]}"#), ["x: {} > []"]);
        assert_eq!(sentences(r#"{"a":{"b":1}}"#, r#"{"a":[1]}"#), [r#"a: {"b":1} > [1]"#]);
        assert_eq!(sentences(r#"{"a":{"b":1}}"#, "{}"), ["a.b: 1 > (none)"]);
        assert_eq!(sentences(r#"{"b":1}"#, r#"{"a":1,"b":2}"#), ["a: (none) > 1", "b: 1 > 2"]);
    }

    #[test]
    fn invalid_hostile_and_huge_bodies_do_no_harm() {
        assert_eq!(sentences("<html>", "{}"), Vec::<String>::new());
        assert_eq!(sentences(r#"{"a":1}"#, r#"{"a":{"b":1}}"#), [r#"a: 1 > {"b":1}"#]);
        assert_eq!(sentences(r#"{"a\u001b[5m":1}"#, r#"{"a\u001b[5m":"\u202e"}"#).len(), 1);
        assert!(!sentences(r#"{"a\u001b[5m":1}"#, r#"{}"#)[0].contains('\u{1b}'));
        let many = |value: usize| format!("[{}]", vec![value.to_string(); 1_000].join(","));
        assert_eq!(sentences(&many(1), &many(2)).len(), MAX_DIFFERENCES);
    }
}
