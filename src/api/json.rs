//! Parses the JSON of an answer in bounded memory (`cases.md` 14, 22).
//!
//! Parsed, a mebibyte of `{"":0}` takes a hundred mebibytes, so the values are counted. A part must never be dropped
//! silently: a body with more values is refused as a whole.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The most values that a body may hold. A record has about 200. The largest value is an array or object in an object,
/// which takes about 600 bytes, so this many take 20 MB.
const LIMIT: usize = 32_768;

/// Parses the one value in `raw`. The last of duplicate keys counts. `serde_json` limits nesting to 128 levels, which
/// protects the stack.
pub(super) fn parse(raw: &str) -> Result<Value, serde_json::Error> {
    let left = Cell::new(LIMIT);
    let mut deserializer = serde_json::Deserializer::from_str(raw);
    let value = CountingSeed { left: &left }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// A seed that deserializes a value and counts it, together with its nested values.
#[derive(Clone, Copy)]
struct CountingSeed<'a> {
    left: &'a Cell<usize>,
}

impl CountingSeed<'_> {
    fn count<E: Error>(self) -> Result<(), E> {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.ok_or_else(|| E::custom(format_args!("more than {LIMIT} values")))?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for CountingSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CountingSeed<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(entry) = entries.next_element_seed(self)? {
            array.push(entry);
        }
        Ok(array.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            object.insert(key, entries.next_value_seed(self)?);
        }
        Ok(object.into())
    }
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
        assert!(parse(&of(LIMIT + 2)).unwrap_err().to_string().starts_with("more than 32768 values at"));
    }
}
