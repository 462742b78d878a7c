//! Parses the JSON of an answer in bounded memory (`cases.md` 14, 22).
//!
//! Parsed, a mebibyte of `{"":0}` takes a hundred mebibytes, so the values are counted first. A part must never be
//! dropped silently: a body with more values is refused as a whole.

use serde::de::{Error, IgnoredAny};
use serde_json::Value;

/// The most values that a body may hold. A record has about 200. The largest value is an array or object in an object,
/// which takes about 600 bytes, so this many take 20 MB.
const LIMIT: usize = 32_768;

/// Parses the one value in `raw`. The last of duplicate keys counts. `serde_json` limits its nesting to 128 levels, which
/// protects the stack.
pub(super) fn parse(raw: &str) -> Result<Value, serde_json::Error> {
    // A text of at most `LIMIT` bytes, as nearly every answer is, can't hold more than `LIMIT` values.
    if raw.len() > LIMIT && count_values(raw) > LIMIT {
        // A text that isn't JSON gets the parser's own error.
        serde_json::from_str::<IgnoredAny>(raw)?;
        return Err(Error::custom(format_args!("more than {LIMIT} values")));
    }
    serde_json::from_str(raw)
}

/// Returns the number of values of a JSON text: each but the first follows a comma, or an opening bracket that isn't
/// closed at once.
fn count_values(raw: &str) -> usize {
    let (mut count, mut is_text, mut is_escaped, mut is_just_opened) = (1, false, false, false);
    for byte in raw.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let was_just_opened = std::mem::take(&mut is_just_opened);
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'[' | b'{' => (count, is_just_opened) = (count + 1, true),
            b']' | b'}' if was_just_opened => count -= 1,
            b',' => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parses_like_serde_json() {
        let table = [
            (r#" {"a":[null,true,-1,18446744073709551615,1.5,"é\n"],"b":{},"a":0} "#, json!({"a": 0, "b": {}})),
            (r#"[null,false,-1,18446744073709551615,1.5e3,"é\n",{"a":[]}]"#, {
                json!([null, false, -1, u64::MAX, 1500.0, "é\n", {"a": []}])
            }),
        ];
        for (raw, expected) in table {
            assert_eq!(parse(raw).unwrap(), expected, "{raw}");
        }
        for wrong in ["", "{", "[1] 2", "1e999", r#""\ud800""#, &"[".repeat(200)] {
            let (ours, theirs) = (parse(wrong).unwrap_err(), serde_json::from_str::<Value>(wrong).unwrap_err());
            assert_eq!(ours.to_string(), theirs.to_string(), "{wrong}");
        }
    }

    #[test]
    fn body_with_too_many_values_is_refused() {
        // The list counts as one value, and each of its entries as two.
        let of = |count: usize| format!("[{}0]", r#"{"":0},"#.repeat((count - 2) / 2));
        assert!(parse(&of(LIMIT)).is_ok());
        assert!(parse(&format!("[{}[ ]]", "{},".repeat(LIMIT - 2))).is_ok(), "empty ones count once");
        let of_texts = format!("[{}0]", r#""[,\"","#.repeat(LIMIT - 2));
        assert!(parse(&of_texts).is_ok(), "what is in a text doesn't count");
        assert!(parse(&",".repeat(LIMIT + 1)).unwrap_err().to_string().starts_with("expected value"));
        assert!(parse(&of(LIMIT + 2)).unwrap_err().to_string().starts_with("more than 32768 values"));
    }
}
