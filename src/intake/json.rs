//! Reads a JSON array of objects, or objects one after the other.
//!
//! It must never convert a number to an ID with other digits than the file has.

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    io::{BufRead, BufReader},
};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use crate::domain::text::clean;

use super::{
    EventSink, InputPosition, ParseEvent, ReadStop,
    fields::{Field, RawRow},
    source::{self, BUFFER_SIZE, LineCounting, SharedInput},
};

/// Whether a text is exactly one JSON value.
pub(super) fn is_single_value(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Reads one array item by item: parsing the whole array at once would take a hundred times its size in memory.
pub(super) fn read_array(source: &SharedInput, sink: &mut EventSink) -> Result<(), ReadStop> {
    let mut reader = serde_json::Deserializer::from_reader(BufReader::with_capacity(BUFFER_SIZE, source));
    let mut items = ItemVisitor { source, sink, number: 0, is_stopped: false };
    source.start_record();
    let read = reader.deserialize_any(&mut items).and_then(|()| reader.end());
    let ItemVisitor { sink, number, is_stopped, .. } = items;
    match read {
        _ if is_stopped => Err(ReadStop),
        Err(_) if source.is_too_long() => {
            sink(ParseEvent::Bad(InputPosition::Item(number + 1), source::TOO_LONG.into()))
        }
        // The source keeps the input error.
        Err(error) if error.is_io() => Ok(()),
        Err(error) if error.is_data() => {
            let message = "the JSON is not an array of objects; put the objects in [ ]";
            sink(ParseEvent::Bad(InputPosition::File, message.into()))
        }
        Err(error) => sink(ParseEvent::Bad(InputPosition::Line(error.line()), syntax_message(&error))),
        Ok(()) => Ok(()),
    }
}

/// Reads objects: one on each line, or spanning several lines.
pub(super) fn read_lines(source: &SharedInput, sink: &mut EventSink) -> Result<(), ReadStop> {
    let head = source.head();
    let mut lines = head.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let [first, second] = [lines.next(), lines.next()].map(Option::unwrap_or_default);
    // A first line that ends inside an object means that objects span several lines, unless only that line was cut.
    let is_row = |line: &[u8]| {
        let object = serde_json::from_slice::<HashMap<String, IgnoredAny>>(line);
        object.is_ok_and(|object| object.keys().any(|key| Field::from_name(key) == Some(Field::TransactionId)))
    };
    if serde_json::from_slice::<IgnoredAny>(first).is_err_and(|error| error.is_eof()) && !is_row(second) {
        return read_stream(source, sink);
    }
    let mut reader = BufReader::with_capacity(BUFFER_SIZE, source);
    let mut line = Vec::new();
    for number in 1.. {
        source.start_record();
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Err(_) if source.is_too_long() => {
                return sink(ParseEvent::Bad(InputPosition::Line(number), source::TOO_LONG.into()));
            }
            // The end of the file, or an input error that the source keeps.
            Ok(0) | Err(_) => break,
            Ok(_) => read_line(InputPosition::Line(number), &line, sink)?,
        }
    }
    Ok(())
}

/// Reads a line that holds exactly one object.
pub(super) fn read_line(position: InputPosition, line: &[u8], sink: &mut EventSink) -> Result<(), ReadStop> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    match serde_json::from_slice::<JsonCell>(line) {
        Ok(parsed) => send_row(position, &parsed, sink),
        Err(error) => sink(ParseEvent::Bad(position, syntax_message(&error))),
    }
}

fn read_stream(source: &SharedInput, sink: &mut EventSink) -> Result<(), ReadStop> {
    source.set_line_counting(LineCounting::Json);
    let reader = serde_json::Deserializer::from_reader(BufReader::with_capacity(BUFFER_SIZE, source));
    let mut stream = reader.into_iter::<JsonCell>();
    loop {
        source.start_record();
        let start = stream.byte_offset() as u64;
        match stream.next() {
            None => return Ok(()),
            Some(Ok(parsed)) => send_row(InputPosition::Line(source.line_at(start)), &parsed, sink)?,
            Some(Err(_)) if source.is_too_long() => {
                return sink(ParseEvent::Bad(InputPosition::Line(source.line_at(start)), source::TOO_LONG.into()));
            }
            Some(Err(error)) if error.is_io() => return Ok(()),
            Some(Err(error)) => {
                return sink(ParseEvent::Bad(InputPosition::Line(error.line()), syntax_message(&error)));
            }
        }
    }
}

/// Returns the error's column and reason. The line is left out: the position of the error names it.
fn syntax_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or_default();
    format!("invalid JSON at column {}: {reason}", error.column())
}

fn send_row(position: InputPosition, value: &JsonCell, sink: &mut EventSink) -> Result<(), ReadStop> {
    let JsonCell::Object(object) = value else {
        return sink(ParseEvent::Bad(position, "expected an object like {\"transactionId\": \"0x…\", …}".into()));
    };
    match build_row(object, sink)? {
        Ok(row) => sink(ParseEvent::Row(position, &row)),
        Err(message) => sink(ParseEvent::Bad(position, message)),
    }
}

fn build_row<'a>(
    object: &'a [(String, JsonCell)],
    sink: &mut EventSink,
) -> Result<Result<RawRow<'a>, String>, ReadStop> {
    let mut row = RawRow::default();
    let mut errors = Vec::new();
    for (name, value) in object {
        let Some(field) = Field::from_name(&clean(name)) else {
            sink(ParseEvent::UnknownColumn(clean(name)))?;
            continue;
        };
        match value_text(field, value) {
            Ok(text) => {
                if !row.set(field, text) {
                    errors.push(format!("{} is given twice; remove one", field.name()));
                }
            }
            Err(reason) => errors.push(format!("{}: {reason}", field.name())),
        }
    }
    Ok(if errors.is_empty() { Ok(row) } else { Err(errors.join(". ")) })
}

fn value_text(field: Field, value: &JsonCell) -> Result<Cow<'_, str>, &'static str> {
    match value {
        JsonCell::Null => Ok(Cow::Borrowed("")),
        JsonCell::Text(text) => Ok(Cow::Borrowed(text)),
        JsonCell::Number(number) if field.is_amount() || !number.is_f64() => Ok(number.to_string().into()),
        // Numbers past 64 bits or with a fraction lose digits, and an ID with other digits is another ID.
        JsonCell::Number(_) => Err("the number has too many digits or a decimal point; write it as text, in quotes"),
        JsonCell::Flag(flag) if field.is_flag() => Ok(Cow::Borrowed(if *flag { "true" } else { "false" })),
        // Lists are converted to their CSV form, so a label can't contain `;` in either format, and each line is a
        // note.
        JsonCell::Texts(texts) if field == Field::Labels => Ok(texts.join(";").into()),
        JsonCell::Texts(texts) if field == Field::Notes => Ok(texts.join("\n").into()),
        // Other programs may use the name `profile` for something else.
        _ if field == Field::Profile => Ok(Cow::Borrowed("")),
        _ if field == Field::Labels => Err("expected an array of strings, or one string with ; between the values"),
        _ if field == Field::Notes => Err("expected an array of strings"),
        _ if field.is_flag() => Err("expected true or false"),
        _ => Err("expected a string or a number"),
    }
}

/// A JSON value, reduced to the values of a row.
enum JsonCell {
    Null,
    Flag(bool),
    Text(String),
    Number(Number),
    Texts(Vec<String>),
    /// Only at the level of a row: each name with its value, as often as it is given.
    Object(Vec<(String, JsonCell)>),
    Other,
}

/// The nesting level of a value. Deeper values are skipped and take no memory.
#[derive(Clone, Copy)]
enum NestingLevel {
    Row,
    Value,
}

impl<'de> Deserialize<'de> for JsonCell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        NestingLevel::Row.deserialize(deserializer)
    }
}

impl<'de> DeserializeSeed<'de> for NestingLevel {
    type Value = JsonCell;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsonCell, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NestingLevel {
    type Value = JsonCell;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<JsonCell, E> {
        Ok(JsonCell::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<JsonCell, E> {
        Ok(JsonCell::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<JsonCell, E> {
        Ok(JsonCell::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<JsonCell, E> {
        Ok(JsonCell::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<JsonCell, E> {
        Ok(Number::from_f64(number).map_or(JsonCell::Other, JsonCell::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonCell, E> {
        Ok(JsonCell::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<JsonCell, A::Error> {
        let mut texts = Some(Vec::new());
        while let Some(entry) = entries.next_element_seed(Self::Value)? {
            match (&mut texts, entry) {
                (Some(texts), JsonCell::Text(text)) => texts.push(text),
                _ => texts = None,
            }
        }
        Ok(texts.map_or(JsonCell::Other, JsonCell::Texts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<JsonCell, A::Error> {
        let mut object = Vec::new();
        match self {
            Self::Row => {
                while let Some(name) = entries.next_key()? {
                    object.push((name, entries.next_value_seed(Self::Value)?));
                }
                Ok(JsonCell::Object(object))
            }
            Self::Value => {
                while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(JsonCell::Other)
            }
        }
    }
}

/// Sends each item of an array to the sink as soon as the item is parsed.
struct ItemVisitor<'a, 'source, 'sink> {
    source: &'a SharedInput<'source>,
    sink: &'a mut EventSink<'sink>,
    number: usize,
    is_stopped: bool,
}

impl<'de> Visitor<'de> for &mut ItemVisitor<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            self.number += 1;
            self.source.start_record();
            if send_row(InputPosition::Item(self.number), &item, self.sink).is_err() {
                self.is_stopped = true;
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
