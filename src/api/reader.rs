//! Reading fields whose types can't be relied on, and keeping notes of what could not be read (`cases.md` 3 to 11, 19).
//!
//! A field that can't be read costs that field and no other. It must never fail as a whole, and never guess.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use crate::domain::{
    ids::{ChainId, TxHash},
    text,
};

/// The most warnings that a record keeps.
const WARNING_LIMIT: usize = 16;
/// The most missing fields that are named.
const ABSENT_LIMIT: usize = 12;

/// The most elements of a list that are kept.
const LIST_LIMIT: usize = 16;
/// The most keys that aren't documented that are kept of an object.
const OTHER_LIMIT: usize = 16;

/// Other names of documented fields, at public deployments of this interface or in answers of another age: THE table.
const ALIASES: &[(&str, &[&str])] = &[
    ("routerTransactionStatus", &["squidTransactionStatus"]),
    ("bridgeTransactionUrl", &["axelarTransactionUrl", "coralTransactionUrl"]),
    ("bridgeChainName", &["axelarChainName"]),
    ("bridgeFeeMultiplier", &["axelarFeeMultiplier"]),
    ("type", &["chainType"]),
    ("rpcList", &["rpc"]),
];

/// An object of the answer, where it lies, and whether its gaps are worth a word.
#[derive(Clone)]
pub struct Scope<'a> {
    object: &'a Map<String, Value>,
    path: String,
    gaps_matter: bool,
}

impl<'a> Scope<'a> {
    /// The answer itself.
    pub fn top(object: &'a Map<String, Value>) -> Self {
        Self { object, path: String::new(), gaps_matter: true }
    }

    /// An object at `path`.
    pub fn at(object: &'a Map<String, Value>, path: &str) -> Self {
        Self { object, path: format!("{path}."), gaps_matter: true }
    }

    /// The same, with its gaps taken as usual.
    pub fn with_usual_gaps(self) -> Self {
        Self { gaps_matter: false, ..self }
    }

    /// A field by its documented name or an alias: the first that says something, else the first that is there.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        let came = || std::iter::once(&name).chain(aliases(name)).filter_map(|name| self.object.get(*name));
        let says_nothing = |value: &Value| value.is_null() || value.as_str() == Some("");
        came().find(|value| !says_nothing(value)).or_else(|| came().next())
    }

    /// These keys with the place of the object before them: `fromChain.chainData.new`.
    pub fn placed(&self, keys: BTreeMap<String, String>) -> impl Iterator<Item = (String, String)> {
        keys.into_iter().map(|(key, value)| (text::clean(&self.path(&key)), value))
    }

    /// Where the object lies: `fromChain.chainData`.
    fn place(&self) -> &str {
        match self.path.as_str() {
            "" => "the record",
            path => path.trim_end_matches('.'),
        }
    }

    /// Where the field lies: `fromChain.chainData.chainId`.
    pub fn path(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }
}

/// The other names of a field.
fn aliases(name: &str) -> &'static [&'static str] {
    ALIASES.iter().find(|(field, _)| *field == name).map_or(&[], |(_, aliases)| aliases)
}

/// Reads fields and notes what could not be read.
#[derive(Default)]
pub struct Reader {
    warnings: Vec<String>,
    unsaid: usize,
    absent: Vec<String>,
}

impl Reader {
    /// Notes a sentence.
    pub fn warn(&mut self, sentence: &str) {
        // One place is for the missing fields, one for the count of what is left out.
        if self.warnings.len() < WARNING_LIMIT - 2 {
            self.warnings.push(text::clean(sentence))
        } else {
            self.unsaid += 1
        }
    }

    /// Notes that a field is not what it should be.
    pub fn misfit(&mut self, path: &str, value: &Value, expected: &str) {
        self.warn(&format!("{path} is {}, not {expected}", kind(value)));
    }

    /// What was noted, bounded.
    pub fn finish(mut self) -> Vec<String> {
        if let Some(last) = self.absent.get(ABSENT_LIMIT..).map(<[String]>::len).filter(|more| *more > 0) {
            self.absent.truncate(ABSENT_LIMIT);
            self.absent.push(format!("{last} more"));
        }
        if !self.absent.is_empty() {
            self.warnings.insert(0, text::clean(&format!("missing or null: {}", self.absent.join(", "))));
        }
        if self.unsaid > 0 {
            self.warnings.push(format!("{} more fields could not be read", self.unsaid));
        }
        self.warnings
    }

    /// A field that is there and isn't null; its absence is noted where gaps matter.
    pub fn value<'a>(&mut self, scope: &Scope<'a>, name: &str) -> Option<&'a Value> {
        let value = scope.get(name).filter(|value| !value.is_null());
        if value.is_none() && scope.gaps_matter {
            self.absent.push(scope.path(name));
        }
        value
    }

    /// Text, empty if that is what came. A number is taken as text and noted.
    pub fn text(&mut self, scope: &Scope<'_>, name: &str) -> Option<String> {
        let value = self.value(scope, name)?;
        if !value.is_string() {
            self.misfit(&scope.path(name), value, "text");
        }
        match value {
            Value::String(raw) => Some(text::clean(raw)),
            Value::Number(number) => Some(text::clean(&number.to_string())),
            _ => None,
        }
    }

    /// Text, with empty text as none.
    pub fn word(&mut self, scope: &Scope<'_>, name: &str) -> Option<String> {
        self.text(scope, name).filter(|word| !word.is_empty())
    }

    /// A hash, which is opaque text.
    pub fn hash(&mut self, scope: &Scope<'_>, name: &str) -> Option<TxHash> {
        self.word(scope, name).map(TxHash::new)
    }

    /// A chain's ID: text, or a whole number.
    pub fn chain_id(&mut self, scope: &Scope<'_>, name: &str) -> Option<ChainId> {
        match self.value(scope, name)? {
            Value::Number(number) if number.is_u64() => Some(ChainId::new(number.to_string())),
            Value::String(raw) => text::clean_or_none(raw).map(ChainId::new),
            other => {
                self.misfit(&scope.path(name), other, "a chain ID");
                None
            }
        }
    }

    /// `true` or `false`.
    pub fn flag(&mut self, scope: &Scope<'_>, name: &str) -> Option<bool> {
        let value = self.value(scope, name)?;
        if !value.is_boolean() {
            self.misfit(&scope.path(name), value, "true or false");
        }
        value.as_bool()
    }

    /// A whole number such as a block's: a number or a numeric string; empty text and null stand for none yet.
    pub fn block(&mut self, scope: &Scope<'_>, name: &str) -> Option<u64> {
        if scope.get(name).is_some_and(Value::is_null) {
            return None;
        }
        let value = self.value(scope, name)?;
        let number = match value {
            Value::Number(number) => whole(number),
            Value::String(raw) if raw.trim().is_empty() => return None,
            Value::String(raw) => raw.trim().parse().ok(),
            _ => None,
        };
        if number.is_none() {
            self.misfit(&scope.path(name), value, "a whole number");
        }
        number
    }

    /// A link that may be opened: http or https, without user info, in its unambiguous ASCII spelling.
    pub fn url(&mut self, scope: &Scope<'_>, name: &str) -> Option<String> {
        let word = self.word(scope, name)?;
        let link = plain_link(&word);
        if link.is_none() {
            let path = scope.path(name);
            self.warn(&format!("{path} is not a plain http or https link and was left out: {}", excerpt(&word)));
        }
        link
    }

    /// A number of any kind.
    pub fn number(&mut self, scope: &Scope<'_>, name: &str) -> Option<Number> {
        let value = self.value(scope, name)?;
        if !value.is_number() {
            self.misfit(&scope.path(name), value, "a number");
        }
        value.as_number().cloned()
    }

    /// The elements of a list, each as clean text: texts as they are, anything else as compact JSON.
    pub fn list(&mut self, scope: &Scope<'_>, name: &str) -> Vec<String> {
        let elements = match self.value(scope, name) {
            Some(Value::Array(elements)) => elements.as_slice(),
            Some(other) => {
                self.misfit(&scope.path(name), other, "an array");
                &[]
            }
            None => &[],
        };
        if elements.len() > LIST_LIMIT {
            let (path, count) = (scope.path(name), elements.len());
            self.warn(&format!("{path} has {count} elements; the first {LIST_LIMIT} were kept"));
        }
        elements.iter().take(LIST_LIMIT).map(compact).collect()
    }

    /// The texts of an object by their keys, those that are empty left out.
    pub fn texts(&mut self, scope: &Scope<'_>, names: &[&str]) -> BTreeMap<String, String> {
        names.iter().filter_map(|name| Some(((*name).to_owned(), self.word(scope, name)?))).collect()
    }

    /// The keys of an object that nobody documents, by their names, with their values.
    pub fn others(&mut self, scope: &Scope<'_>, documented: &[&str]) -> BTreeMap<String, String> {
        let known = |key: &str| documented.iter().any(|name| *name == key || aliases(name).contains(&key));
        let unknown: Vec<_> = scope.object.iter().filter(|(key, _)| !known(key)).collect();
        if unknown.len() > OTHER_LIMIT {
            let (place, count) = (scope.place(), unknown.len());
            self.warn(&format!("{place} has {count} keys that aren't documented; {OTHER_LIMIT} were kept"));
        }
        let kept = unknown.into_iter().take(OTHER_LIMIT);
        kept.map(|(key, value)| (text::clean(key), compact(value))).collect()
    }

    /// An object within.
    pub fn object<'a>(&mut self, scope: &Scope<'a>, name: &str) -> Option<Scope<'a>> {
        let value = self.value(scope, name)?;
        let Value::Object(object) = value else {
            self.misfit(&scope.path(name), value, "an object");
            return None;
        };
        Some(Scope { gaps_matter: scope.gaps_matter, ..Scope::at(object, &scope.path(name)) })
    }
}

/// A number without a fraction that a `u64` holds exactly; `1e8` is one.
fn whole(number: &Number) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let exact = |float: &f64| float.fract() == 0.0 && (0.0..=EXACT).contains(float);
    number.as_u64().or_else(|| number.as_f64().filter(exact).map(|float| float as u64))
}

/// A value as one line of clean text: text as it is, anything else as compact JSON.
pub fn compact(value: &Value) -> String {
    match value {
        Value::String(raw) => text::clean(raw),
        other => text::clean(&other.to_string()),
    }
}

/// A link that may be opened: http or https, without user info, in its unambiguous ASCII spelling.
pub fn plain_link(word: &str) -> Option<String> {
    let url = reqwest::Url::parse(word).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https");
    let fits = url.as_str().len() <= text::FIELD_LIMIT;
    (is_web && fits && url.username().is_empty() && url.password().is_none()).then(|| url.into())
}

fn kind(value: &Value) -> String {
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
    // Cleaning takes a while for a mebibyte that is invisible, and the field itself has been cleaned once already.
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

    fn read<T>(value: Value, with: impl Fn(&mut Reader, &Scope<'_>) -> T) -> (T, usize) {
        let object = json!({"f": value});
        let mut reader = Reader::default();
        let read = with(&mut reader, &Scope::top(object.as_object().unwrap()));
        (read, reader.finish().len())
    }

    #[test]
    fn block_numbers_in_all_their_forms() {
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
            assert_eq!(read(value.clone(), |reader, scope| reader.block(scope, "f")), expected, "{value}");
        }
    }

    #[test]
    fn only_plain_web_links_are_kept() {
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
    fn chain_ids_and_flags() {
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
    fn an_alias_stands_in_for_a_field_that_says_nothing() {
        let url = |object: Value| {
            let scope = Scope::top(object.as_object().unwrap());
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
        let mut reader = Reader::default();
        for number in 0..100 {
            reader.misfit(&format!("f{number}"), &json!("\u{1b}[2J".repeat(100)), "a number");
            reader.absent.push(format!("g{number}"));
        }
        let warnings = reader.finish();
        assert_eq!(warnings.len(), WARNING_LIMIT);
        assert!(warnings.iter().all(|warning| warning.len() < 200 && !warning.contains('\u{1b}')), "{warnings:?}");
        assert!(warnings[0].ends_with("g11, 88 more"), "{}", warnings[0]);
        assert_eq!(warnings[15], "86 more fields could not be read");
    }
}
