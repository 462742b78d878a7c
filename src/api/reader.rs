//! Reads fields whose types can't be relied on, and collects warnings about fields that can't be read (`cases.md` 3 to
//! 11, 19).
//!
//! A field that can't be read affects no other field. The reader must never fail as a whole, and never guess.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use crate::domain::{
    ids::{ChainId, TxHash},
    text,
};

/// The most warnings that a record keeps.
const WARNING_LIMIT: usize = 16;
/// The most missing fields that the warnings name.
const MISSING_LIMIT: usize = 12;

/// The most elements of a list that are kept.
const LIST_LIMIT: usize = 16;
/// The most undocumented keys of an object that are kept.
const OTHER_LIMIT: usize = 16;

/// Other names of documented fields, as public deployments of this interface or older answers use them.
const ALIASES: &[(&str, &[&str])] = &[
    ("routerTransactionStatus", &["squidTransactionStatus"]),
    ("bridgeTransactionUrl", &["axelarTransactionUrl", "coralTransactionUrl"]),
    ("bridgeChainName", &["axelarChainName"]),
    ("bridgeFeeMultiplier", &["axelarFeeMultiplier"]),
    ("type", &["chainType"]),
    ("rpcList", &["rpc"]),
];

/// An object of the answer, its path, and whether its missing fields give a warning.
#[derive(Clone)]
pub(super) struct JsonObject<'a> {
    pub(super) object: &'a Map<String, Value>,
    path: String,
    warns_if_missing: bool,
}

impl<'a> JsonObject<'a> {
    /// Returns the top-level object of the answer.
    pub(super) fn top(object: &'a Map<String, Value>) -> Self {
        Self { object, path: String::new(), warns_if_missing: true }
    }

    /// Returns an object at `path`.
    pub(super) fn at(object: &'a Map<String, Value>, path: &str) -> Self {
        Self { object, path: format!("{path}."), warns_if_missing: true }
    }

    /// Returns the same object without warnings for missing fields.
    pub(super) fn without_missing_warnings(self) -> Self {
        Self { warns_if_missing: false, ..self }
    }

    /// Returns a field by its documented name or an alias: the first value that isn't empty or null, else the first.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        let values = || std::iter::once(&name).chain(aliases(name)).filter_map(|name| self.object.get(*name));
        let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
        values().find(|value| !is_empty(value)).or_else(|| values().next())
    }

    /// Returns the entries with the object's path before each key: `fromChain.chainData.new`.
    pub(super) fn with_path(&self, keys: BTreeMap<String, String>) -> impl Iterator<Item = (String, String)> {
        keys.into_iter().map(|(key, value)| (text::clean(&self.path(&key)), value))
    }

    /// Returns the path of the object: `fromChain.chainData`.
    fn object_path(&self) -> &str {
        match self.path.as_str() {
            "" => "the record",
            path => path.trim_end_matches('.'),
        }
    }

    /// Returns the path of a field: `fromChain.chainData.chainId`.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }
}

/// Returns the other names of a field.
fn aliases(name: &str) -> &'static [&'static str] {
    ALIASES.iter().find(|(field, _)| *field == name).map_or(&[], |(_, aliases)| aliases)
}

/// Reads fields and collects warnings.
#[derive(Default)]
pub(super) struct RecordReader {
    warnings: Vec<String>,
    omitted: usize,
    missing: Vec<String>,
}

impl RecordReader {
    pub(super) fn warn(&mut self, sentence: &str) {
        // One place is reserved for the missing fields, and one for the count of omitted warnings.
        if self.warnings.len() < WARNING_LIMIT - 2 {
            self.warnings.push(text::clean(sentence));
        } else {
            self.omitted += 1;
        }
    }

    /// Adds a warning that a field has an unexpected value.
    pub(super) fn warn_unexpected(&mut self, path: &str, value: &Value, expected: &str) {
        self.warn(&format!("{path} is {}, not {expected}", describe_value(value)));
    }

    /// Returns the collected warnings, at most `WARNING_LIMIT`.
    pub(super) fn finish(mut self) -> Vec<String> {
        let more = self.missing.len().saturating_sub(MISSING_LIMIT);
        if more > 0 {
            self.missing.truncate(MISSING_LIMIT);
            self.missing.push(format!("{more} more"));
        }
        if !self.missing.is_empty() {
            self.warnings.insert(0, text::clean(&format!("missing or null: {}", self.missing.join(", "))));
        }
        if self.omitted > 0 {
            self.warnings.push(format!("{} more fields could not be read", self.omitted));
        }
        self.warnings
    }

    /// Returns a field that is present and not null. A missing field is recorded if its object warns about them.
    pub(super) fn value<'a>(&mut self, scope: &JsonObject<'a>, name: &str) -> Option<&'a Value> {
        let value = scope.get(name).filter(|value| !value.is_null());
        if value.is_none() && scope.warns_if_missing {
            self.missing.push(scope.path(name));
        }
        value
    }

    /// Returns a field as `read` reads it. A value that `read` can't read becomes a warning.
    fn typed<'a, T>(
        &mut self,
        scope: &JsonObject<'a>,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.value(scope, name)?;
        let read = read(value);
        if read.is_none() {
            self.warn_unexpected(&scope.path(name), value, expected);
        }
        read
    }

    /// Returns a field's text, which may be empty. A number is read as text, with a warning.
    pub(super) fn text(&mut self, scope: &JsonObject<'_>, name: &str) -> Option<String> {
        let value = self.value(scope, name)?;
        if !value.is_string() {
            self.warn_unexpected(&scope.path(name), value, "text");
        }
        match value {
            Value::String(raw) => Some(text::clean(raw)),
            Value::Number(number) => Some(text::clean(&number.to_string())),
            _ => None,
        }
    }

    /// Returns a field's text; `None` if the text is empty.
    pub(super) fn nonempty_text(&mut self, scope: &JsonObject<'_>, name: &str) -> Option<String> {
        self.text(scope, name).filter(|text| !text.is_empty())
    }

    /// Returns a transaction hash, which is opaque text.
    pub(super) fn hash(&mut self, scope: &JsonObject<'_>, name: &str) -> Option<TxHash> {
        self.nonempty_text(scope, name).map(TxHash::new)
    }

    /// Returns a chain ID, from text or a whole number.
    pub(super) fn chain_id(&mut self, scope: &JsonObject<'_>, name: &str) -> Option<ChainId> {
        let read = |value: &Value| match value {
            Value::Number(number) if number.is_u64() => Some(Some(ChainId::new(number.to_string()))),
            Value::String(raw) => Some(text::clean_or_none(raw).map(ChainId::new)),
            _ => None,
        };
        self.typed(scope, name, "a chain ID", read).flatten()
    }

    /// Returns a boolean field.
    pub(super) fn flag(&mut self, scope: &JsonObject<'_>, name: &str) -> Option<bool> {
        self.typed(scope, name, "true or false", Value::as_bool)
    }

    /// Returns a whole number such as a block number, from a number or numeric text. Empty text and null mean none yet.
    pub(super) fn whole_number(&mut self, scope: &JsonObject<'_>, name: &str) -> Option<u64> {
        if scope.get(name).is_some_and(Value::is_null) {
            return None;
        }
        let read = |value: &Value| match value {
            Value::Number(number) => to_exact_u64(number).map(Some),
            Value::String(raw) if raw.trim().is_empty() => Some(None),
            Value::String(raw) => raw.trim().parse().ok().map(Some),
            _ => None,
        };
        self.typed(scope, name, "a whole number", read).flatten()
    }

    /// Returns a link that may be opened: http or https, without user info, in its unambiguous ASCII spelling.
    pub(super) fn url(&mut self, scope: &JsonObject<'_>, name: &str) -> Option<String> {
        let link_text = self.nonempty_text(scope, name)?;
        let link = plain_link(&link_text);
        if link.is_none() {
            let path = scope.path(name);
            self.warn(&format!("{path} is not a plain http or https link and was left out: {}", excerpt(&link_text)));
        }
        link
    }

    /// Returns a number of any kind.
    pub(super) fn number(&mut self, scope: &JsonObject<'_>, name: &str) -> Option<Number> {
        self.typed(scope, name, "a number", Value::as_number).cloned()
    }

    /// Returns the first `limit` elements of a list.
    pub(super) fn array<'a>(&mut self, scope: &JsonObject<'a>, name: &str, limit: usize) -> &'a [Value] {
        let elements = self.typed(scope, name, "an array", Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if elements.len() > limit {
            let (path, count) = (scope.path(name), elements.len());
            self.warn(&format!("{path} has {count} elements; the first {limit} were kept"));
        }
        elements.get(..limit).unwrap_or(elements)
    }

    /// Returns the elements of a list as clean text; elements that aren't text become compact JSON.
    pub(super) fn list(&mut self, scope: &JsonObject<'_>, name: &str) -> Vec<String> {
        self.array(scope, name, LIST_LIMIT).iter().map(compact).collect()
    }

    /// Returns the texts of an object by key, without empty texts.
    pub(super) fn texts(&mut self, scope: &JsonObject<'_>, names: &[&str]) -> BTreeMap<String, String> {
        names.iter().filter_map(|name| Some(((*name).to_owned(), self.nonempty_text(scope, name)?))).collect()
    }

    /// Returns the undocumented keys of an object with their values.
    pub(super) fn undocumented(&mut self, scope: &JsonObject<'_>, documented: &[&str]) -> BTreeMap<String, String> {
        let known = |key: &str| documented.iter().any(|name| *name == key || aliases(name).contains(&key));
        let unknown: Vec<_> = scope.object.iter().filter(|(key, _)| !known(key)).collect();
        if unknown.len() > OTHER_LIMIT {
            let (object_path, count) = (scope.object_path(), unknown.len());
            self.warn(&format!("{object_path} has {count} keys that aren't documented; {OTHER_LIMIT} were kept"));
        }
        let kept = unknown.into_iter().take(OTHER_LIMIT);
        kept.map(|(key, value)| (text::clean(key), compact(value))).collect()
    }

    /// Returns a nested object.
    pub(super) fn object<'a>(&mut self, scope: &JsonObject<'a>, name: &str) -> Option<JsonObject<'a>> {
        let object = self.typed(scope, name, "an object", Value::as_object)?;
        Some(JsonObject { warns_if_missing: scope.warns_if_missing, ..JsonObject::at(object, &scope.path(name)) })
    }
}

/// Returns a number as a `u64` if it has no fraction and the conversion is exact: `1e8` is 100,000,000.
fn to_exact_u64(number: &Number) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let exact = |float: &f64| float.fract() == 0.0 && (0.0..=EXACT).contains(float);
    number.as_u64().or_else(|| number.as_f64().filter(exact).map(|float| float as u64))
}

/// Returns a value as one line of clean text; a value that isn't text becomes compact JSON.
pub(super) fn compact(value: &Value) -> String {
    match value {
        Value::String(raw) => text::clean(raw),
        other => text::clean(&other.to_string()),
    }
}

/// Returns a link that may be opened: http or https, without user info, in its unambiguous ASCII spelling.
pub(super) fn plain_link(link: &str) -> Option<String> {
    let url = reqwest::Url::parse(link).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https");
    let fits = url.as_str().len() <= text::FIELD_LIMIT;
    (is_web && fits && url.username().is_empty() && url.password().is_none()).then(|| url.into())
}

fn describe_value(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(raw) => format!("the text `{}`", excerpt(raw)),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

fn excerpt(raw: &str) -> String {
    // Cleaning a mebibyte of invisible characters is slow, and an excerpt needs only the start.
    let clean = text::clean(raw.get(..raw.floor_char_boundary(4 * text::FIELD_LIMIT)).unwrap_or(raw));
    let mut short: String = clean.chars().take(60).collect();
    if short.len() < clean.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read<T>(value: Value, with: impl Fn(&mut RecordReader, &JsonObject<'_>) -> T) -> (T, usize) {
        let object = json!({"f": value});
        let mut reader = RecordReader::default();
        let read = with(&mut reader, &JsonObject::top(object.as_object().unwrap()));
        (read, reader.finish().len())
    }

    #[test]
    fn reads_whole_numbers_in_every_form() {
        let table = [
            (json!(173_870_219), (Some(173_870_219), 0)),
            (json!("173870219"), (Some(173_870_219), 0)),
            (json!(1e8), (Some(100_000_000), 0)),
            (json!(""), (None, 0)),
            (json!(null), (None, 0)),
            (json!(-1), (None, 1)),
            (json!(1.5), (None, 1)),
            (json!("0x10"), (None, 1)),
            (json!([1]), (None, 1)),
        ];
        for (value, expected) in table {
            assert_eq!(read(value.clone(), |reader, scope| reader.whole_number(scope, "f")), expected, "{value}");
        }
    }

    #[test]
    fn keeps_only_plain_web_links() {
        let table = [
            ("https://scan.example/tx/1?a=b#c", Some("https://scan.example/tx/1?a=b#c"), 0),
            ("http://scan.example", Some("http://scan.example/"), 0),
            ("", None, 0),
            ("javascript:alert(1)", None, 1),
            ("file:///etc/passwd", None, 1),
            ("-flag", None, 1),
            ("https://user@scan.example/", None, 1),
            ("https://:pw@scan.example/", None, 1),
            ("not a link", None, 1),
        ];
        for (raw, link, warnings) in table {
            let (read, warned) = read(json!(raw), |reader, scope| reader.url(scope, "f"));
            assert_eq!((read.as_deref(), warned), (link, warnings), "{raw}");
        }
        let long = format!("https://scan.example/{}", "x".repeat(600));
        assert_eq!(read(json!(long), |reader, scope| reader.url(scope, "f")), (None, 1));
    }

    #[test]
    fn reads_chain_ids_and_booleans() {
        let chain = |value| read(value, |reader, scope| reader.chain_id(scope, "f").map(|id| id.to_string()));
        assert_eq!(chain(json!(42161)), (Some("42161".into()), 0));
        assert_eq!(chain(json!("osmosis-1")), (Some("osmosis-1".into()), 0));
        assert_eq!(chain(json!("")), (None, 0));
        assert_eq!(chain(json!(1.5)), (None, 1));
        let flag = |value| read(value, |reader, scope| reader.flag(scope, "f"));
        assert_eq!(
            (flag(json!(true)), flag(json!("true")), flag(json!(null))),
            ((Some(true), 0), (None, 1), (None, 1))
        );
    }

    #[test]
    fn alias_replaces_an_empty_field() {
        let url = |object: Value| {
            let scope = JsonObject::top(object.as_object().unwrap());
            scope.get("bridgeTransactionUrl").cloned()
        };
        let two = json!({"bridgeTransactionUrl": "", "axelarTransactionUrl": null, "coralTransactionUrl": "https://c"});
        assert_eq!(url(two), Some(json!("https://c")));
        assert_eq!(url(json!({"axelarTransactionUrl": ""})), Some(json!("")));
        assert_eq!(
            url(json!({"bridgeTransactionUrl": "https://b", "axelarTransactionUrl": "https://a"})),
            Some(json!("https://b"))
        );
    }

    #[test]
    fn warnings_are_clean_and_bounded() {
        let mut reader = RecordReader::default();
        for number in 0..100 {
            reader.warn_unexpected(&format!("f{number}"), &json!("\u{1b}[2J".repeat(100)), "a number");
            reader.missing.push(format!("g{number}"));
        }
        let warnings = reader.finish();
        assert_eq!(warnings.len(), WARNING_LIMIT);
        assert!(warnings.iter().all(|warning| warning.len() < 200 && !warning.contains('\u{1b}')), "{warnings:?}");
        assert!(warnings[0].ends_with("g11, 88 more"), "{}", warnings[0]);
        assert_eq!(warnings[15], "86 more fields could not be read");
    }
}
