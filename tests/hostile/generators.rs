//! Generates input from outside: well-formed data with a defect, and random data.
//!
//! This module must never know which fields of a record are read: it replaces any value of the seed.

use chrono::{DateTime, Utc};
use proptest::{prelude::*, sample::select};
use serde_json::Value;

/// Returns the seed: a compact record with every documented field.
pub(crate) fn full_record() -> Value {
    serde_json::from_str(include_str!("../../fuzz/seeds/record/full.json")).unwrap()
}

/// Returns the JSON pointers to everything inside a value, but not to the value itself.
pub(crate) fn pointers(value: &Value) -> Vec<String> {
    let below = |name: String, inner: &Value| {
        let inner = pointers(inner).into_iter().map(|rest| format!("/{name}{rest}")).collect::<Vec<_>>();
        std::iter::once(format!("/{name}")).chain(inner).collect::<Vec<_>>()
    };
    match value {
        Value::Object(object) => object.iter().flat_map(|(name, inner)| below(name.clone(), inner)).collect(),
        Value::Array(entries) => {
            entries.iter().enumerate().flat_map(|(at, inner)| below(at.to_string(), inner)).collect()
        }
        _ => Vec::new(),
    }
}

/// Generates text from all of Unicode, with dangerous characters more often than by chance.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => any::<String>(),
        4 => "[ -~]{0,20}",
        2 => select(vec![
            "\u{1b}[31m", "\u{1b}[2J", "\u{1b}]52;c;aGk=\u{7}", "\u{1b}]8;;https://x\u{1b}\\", "\u{9b}31m", "\u{90}q\u{9c}",
            "\r\n", "\t", "\u{85}", "\u{b}", "\0", "\u{7f}", "\u{2028}", "\u{a0}", "\u{3000}", "  ",
            "\u{202e}", "\u{2066}", "\u{200b}", "\u{feff}", "\u{ad}", "\u{e0041}", "\u{fffe}", "\u{10ffff}", "\u{e000}",
            "\u{115f}", "\u{3164}", "\u{2800}", "👩\u{200d}👩\u{fe0f}", "ﷺ", "…",
        ]).prop_map(str::to_owned),
        1 => "[\u{300}-\u{36f}\u{20d0}-\u{20f0}\u{93e}\u{1ab0}-\u{1ace}]{0,12}",
        1 => "[\u{0}-\u{1f}\u{7f}-\u{9f}]{0,6}",
        1 => "[\u{2000}-\u{206f}\u{fff0}-\u{ffff}\u{e0000}-\u{e01ef}]{0,6}",
    ];
    let pieces = prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat());
    // One text in ten is repeated, often beyond the length limit of a field.
    (pieces, prop_oneof![9 => Just(1_usize), 1 => 2..200_usize]).prop_map(|(text, times)| text.repeat(times))
}

/// Generates the text of any JSON value, and text that only resembles JSON.
pub(crate) fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        8 => select(vec![
            "null", "true", "false", "0", "-1", "-0", "1.5", "1e8", "1e308", "1e-400", "18446744073709551616", "\"\"", "{}",
            "[]", "\"0x10\"", "\"12\"", "\" 7 \"", "\"-5\"", "\"NaN\"", "\"refunded\"", "\"SUCCESS\"", "\"Chain 42161\"",
            "\"https://user:pw@x.example/\"", "\"javascript:alert(1)\"", "\"https://例え.example/é?q=\\u001b\"",
            "1e999", "NaN", "\"\\ud800\"", "\"\\ud83d\\ude00\"", "\"\\u0000\"", "0x1", "'a'", "[1,]", "",
        ]).prop_map(str::to_owned),
        2 => any::<i64>().prop_map(|number| number.to_string()),
        2 => any::<f64>().prop_map(|number| Value::from(number).to_string()),
        4 => text().prop_map(|text| Value::from(text).to_string()),
        1 => (1..300_usize).prop_map(|depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth))),
        1 => (1..300_usize).prop_map(|depth| format!("{}0{}", "{\"a\":".repeat(depth), "}".repeat(depth))),
        1 => (1..5_000_usize).prop_map(|length| format!("\"{}\"", "x".repeat(length))),
        1 => (1..100_usize).prop_map(|count| format!("[{}]", vec!["{\"message\":\"bad\"}"; count].join(","))),
    ];
    let key = prop_oneof![
        3 => select(vec!["message", "error", "errors", "type", "errorType", "path", "total", "chainId", "id", "retryAfter"])
            .prop_map(str::to_owned),
        1 => text(),
    ];
    let key = key.prop_map(|key| Value::from(key).to_string()).boxed();
    leaf.prop_recursive(3, 12, 4, move |inner| {
        let entry = (key.clone(), inner.clone()).prop_map(|(key, value)| format!("{key}:{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|entries| format!("[{}]", entries.join(","))),
            // A key may occur twice.
            prop::collection::vec(entry, 0..5).prop_map(|entries| format!("{{{}}}", entries.join(", "))),
        ]
    })
}

/// Generates the body of an error, or any other body that isn't a record.
pub(crate) fn error_body() -> impl Strategy<Value = Vec<u8>> {
    let shape = prop_oneof![
        3 => (json(), json()).prop_map(|(message, kind)| format!("{{\"message\":{message},\"type\":{kind}}}")),
        2 => (json(), json()).prop_map(|(message, code)| format!("{{\"message\":{message},\"statusCode\":{code},\"type\":\"E\"}}")),
        2 => (json(), json()).prop_map(|(error, rest)| format!("{{\"error\":{error},\"retryAfter\":{rest}}}")),
        2 => (json(), json()).prop_map(|(message, path)| format!("{{\"errors\":[{{\"message\":{message},\"path\":{path}}}]}}")),
        2 => json(),
        1 => text(),
        1 => (text(), text()).prop_map(|(head, title)| format!("{head}<HTML><head><title lang=x>{title}</title><body>")),
        1 => select(vec!["", " \r\n", "<html", "<title", "<!doctype><title>", "<?xml><title>a", "{", "\u{feff}{}"])
            .prop_map(str::to_owned),
    ];
    let shape = (shape, any::<prop::sample::Index>()).prop_map(|(text, cut)| match cut.index(4) {
        0 => text.as_bytes()[..cut.index(text.len() + 1)].to_vec(),
        _ => text.into_bytes(),
    });
    prop_oneof![9 => shape, 1 => prop::collection::vec(any::<u8>(), 0..300)]
}

/// Generates a time that an HTTP date can express.
pub(crate) fn moment() -> impl Strategy<Value = DateTime<Utc>> {
    let seconds = prop_oneof![0..4_102_444_800_i64, 1_700_000_000..1_700_002_000_i64];
    seconds.prop_map(|seconds| DateTime::from_timestamp(seconds, 0).unwrap())
}

/// The three formats of an HTTP date (RFC 9110, 5.6.7).
pub(crate) const DATE_FORMS: [&str; 3] =
    ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// Generates a `Retry-After` header that is neither a plain number of seconds nor a plain date.
pub(crate) fn odd_header() -> impl Strategy<Value = String> {
    let date = (moment(), select(&DATE_FORMS[..])).prop_map(|(moment, form)| moment.format(form).to_string());
    prop_oneof![
        2 => any::<f64>().prop_map(|number| number.to_string()),
        2 => any::<f64>().prop_map(|number| format!("{number:e}")),
        1 => (0.0..1e-6_f64).prop_map(|number| format!("{number:e}")),
        1 => any::<i128>().prop_map(|number| number.to_string()),
        2 => (date, text(), any::<prop::sample::Index>()).prop_map(|(date, text, at)| {
            let at = at.index(date.len() + 1);
            format!("{}{text}{}", &date[..at], &date[at..])
        }),
        1 => "[A-Z][a-z]{2}, [0-9]{1,3} [A-Z][a-z]{2} -?[0-9]{1,9} [0-9]{2}:[0-9]{2}:[0-9]{2} (GMT|[+-][0-9]{4}|\\(.\\))",
        1 => "[0-9]{1,400}(\\.[0-9]{0,40})?(e-?[0-9]{1,6})?",
        1 => text(),
        1 => select(vec!["", " ", "0", "-0", "+5", "1e", ".5", "5.", "1_000", "٣", "inf", "nan", "0x10", "1,2", "1; 2"])
            .prop_map(str::to_owned),
    ]
}
