//! Reads a JSON array of objects, or objects one after the other.
//!
//! It must never turn a number into an ID that differs from what was written.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use crate::domain::text::clean;

use super::{
    Event, Place,
    fields::{Field, Row},
};

/// Reads one array, an item at a time: as values all at once it would take a hundred times its size.
pub(super) fn read_array(bytes: &[u8], sink: &mut dyn FnMut(Event)) {
    // Nothing is taken of a text that only begins as an array.
    let whole = serde_json::from_slice::<IgnoredAny>(bytes);
    if whole.is_ok() && !bytes.trim_ascii_start().starts_with(b"[") {
        return sink(Event::Bad(Place::File, "it is JSON but no array of objects; put the objects into [ ]".into()));
    }
    let items = |_| serde_json::Deserializer::from_slice(bytes).deserialize_seq(Items { sink: &mut *sink });
    if let Err(error) = whole.and_then(items) {
        sink(Event::Bad(Place::Line(error.line()), syntax(&error)));
    }
}

/// Reads an object a line, or objects that go over several lines.
pub(super) fn read_lines(bytes: &[u8], sink: &mut dyn FnMut(Event)) {
    let first = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    // A first line that stops in the middle of an object is the start of one that goes on below.
    if serde_json::from_slice::<IgnoredAny>(first).is_err_and(|error| error.is_eof()) {
        return read_stream(bytes, sink);
    }
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let place = Place::Line(index + 1);
        match serde_json::from_slice::<Cell>(line) {
            Ok(parsed) => row_of(place, &parsed, sink),
            Err(error) => sink(Event::Bad(place, syntax(&error))),
        }
    }
}

fn read_stream(bytes: &[u8], sink: &mut dyn FnMut(Event)) {
    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter::<Cell>();
    let (mut at, mut line) = (0, 1);
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let start = at + (rest.len() - rest.trim_ascii_start().len());
        line += bytes.get(at..start).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
        let parsed = match stream.next() {
            None => return,
            Some(Ok(parsed)) => parsed,
            Some(Err(error)) => return sink(Event::Bad(Place::Line(error.line()), syntax(&error))),
        };
        row_of(Place::Line(line), &parsed, sink);
        at = stream.byte_offset();
        line += bytes.get(start..at).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
    }
}

/// The reason without its line, which the place says.
fn syntax(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or_default();
    format!("this is not JSON at column {}: {reason}", error.column())
}

fn row_of(place: Place, value: &Cell, sink: &mut dyn FnMut(Event)) {
    let Cell::Object(object) = value else {
        return sink(Event::Bad(place, "expected an object like {\"transactionId\": \"0x…\", …}".into()));
    };
    match row(object, sink) {
        Ok(row) => sink(Event::Row(place, &row)),
        Err(message) => sink(Event::Bad(place, message)),
    }
}

fn row<'a>(object: &'a BTreeMap<String, Cell>, sink: &mut dyn FnMut(Event)) -> Result<Row<'a>, String> {
    let mut row = Row::default();
    let mut wrong = Vec::new();
    for (name, value) in object {
        let Some(field) = Field::named(&clean(name)) else {
            sink(Event::UnknownColumn(clean(name)));
            continue;
        };
        match text(field, value) {
            Ok(text) => {
                if !row.set(field, text) {
                    wrong.push(format!("{} is given twice; remove one", field.name()));
                }
            }
            Err(reason) => wrong.push(format!("{}: {reason}", field.name())),
        }
    }
    if wrong.is_empty() { Ok(row) } else { Err(wrong.join(". ")) }
}

fn text(field: Field, value: &Cell) -> Result<Cow<'_, str>, &'static str> {
    match value {
        Cell::Null => Ok(Cow::Borrowed("")),
        Cell::Text(text) => Ok(Cow::Borrowed(text)),
        Cell::Number(number) if field == Field::EstimatedRouteDuration || !number.is_f64() => {
            Ok(number.to_string().into())
        }
        // Past 64 bits and behind a point digits are lost, and an ID with other digits is another ID.
        Cell::Number(_) => Err("the number has too many digits or a point; write it as text, in quotes"),
        // Labels go through the form that CSV has, so a label can't contain `;` in either.
        Cell::Texts(texts) if field == Field::Labels => Ok(texts.join(";").into()),
        _ if field == Field::Labels => Err("expected an array of texts, or one text with ; between them"),
        _ => Err("expected text or a number"),
    }
}

/// A value as far as a row has use for it.
enum Cell {
    Null,
    Text(String),
    Number(Number),
    Texts(Vec<String>),
    /// Only where a row belongs; of duplicate names the last counts.
    Object(BTreeMap<String, Cell>),
    Other,
}

/// Where a value stands. What lies deeper than a row reaches is passed over and takes no memory.
#[derive(Clone, Copy)]
enum Level {
    Row,
    Value,
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Level::Row.deserialize(deserializer)
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Cell;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cell, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Cell;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Cell, E> {
        Ok(Cell::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Cell, E> {
        Ok(Cell::Other)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Cell, E> {
        Ok(Cell::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Cell, E> {
        Ok(Cell::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Cell, E> {
        Ok(Number::from_f64(number).map_or(Cell::Other, Cell::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cell, E> {
        Ok(Cell::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Cell, A::Error> {
        let mut texts = Some(Vec::new());
        while let Some(entry) = entries.next_element_seed(Self::Value)? {
            match (&mut texts, entry) {
                (Some(texts), Cell::Text(text)) => texts.push(text),
                _ => texts = None,
            }
        }
        Ok(texts.map_or(Cell::Other, Cell::Texts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Cell, A::Error> {
        let mut object = BTreeMap::new();
        match self {
            Self::Row => {
                while let Some(name) = entries.next_key()? {
                    object.insert(name, entries.next_value_seed(Self::Value)?);
                }
                Ok(Cell::Object(object))
            }
            Self::Value => {
                while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Cell::Other)
            }
        }
    }
}

/// Hands the items of an array on, each as soon as it is read.
struct Items<'a> {
    sink: &'a mut dyn FnMut(Event),
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some(item) = items.next_element()? {
            number += 1;
            row_of(Place::Item(number), &item, self.sink);
        }
        Ok(())
    }
}
