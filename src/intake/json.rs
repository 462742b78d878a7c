//! Reads a JSON array of objects, or objects one after the other.
//!
//! It must never turn a number into an ID that differs from what was written.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    io::{BufRead, BufReader},
};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use crate::domain::text::clean;

use super::{
    Event, Place, Sink, Stop,
    fields::{Field, Row},
    source::{self, BUFFER, Lines, Source},
};

/// Whether a text is one JSON value and nothing else.
pub(super) fn is_whole(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Reads one array, an item at a time: as values all at once it would take a hundred times its size.
pub(super) fn read_array(source: &Source, sink: &mut Sink) -> Result<(), Stop> {
    let mut reader = serde_json::Deserializer::from_reader(BufReader::with_capacity(BUFFER, source));
    let mut items = Items { source, sink, number: 0, stopped: false };
    source.next_record();
    let read = reader.deserialize_any(&mut items).and_then(|()| reader.end());
    let Items { sink, number, stopped, .. } = items;
    match read {
        _ if stopped => Err(Stop),
        Err(_) if source.is_too_long() => sink(Event::Bad(Place::Item(number + 1), source::TOO_LONG.into())),
        // The source knows why it can't be read.
        Err(error) if error.is_io() => Ok(()),
        Err(error) if error.is_data() => {
            let message = "it is JSON but no array of objects; put the objects into [ ]";
            sink(Event::Bad(Place::File, message.into()))
        }
        Err(error) => sink(Event::Bad(Place::Line(error.line()), syntax(&error))),
        Ok(()) => Ok(()),
    }
}

/// Reads an object a line, or objects that go over several lines.
pub(super) fn read_lines(source: &Source, sink: &mut Sink) -> Result<(), Stop> {
    let head = source.head();
    let first = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    // A first line that stops in the middle of an object is the start of one that goes on below.
    if serde_json::from_slice::<IgnoredAny>(first).is_err_and(|error| error.is_eof()) {
        return read_stream(source, sink);
    }
    let mut reader = BufReader::with_capacity(BUFFER, source);
    let mut line = Vec::new();
    for number in 1.. {
        source.next_record();
        line.clear();
        let read = reader.read_until(b'\n', &mut line);
        match read {
            Err(_) if source.is_too_long() => return sink(Event::Bad(Place::Line(number), source::TOO_LONG.into())),
            // The end; or the source knows why it can't be read.
            Ok(0) | Err(_) => break,
            Ok(_) => read_line(Place::Line(number), &line, sink)?,
        }
    }
    Ok(())
}

/// Reads a line that holds one object and nothing else.
pub(super) fn read_line(place: Place, line: &[u8], sink: &mut Sink) -> Result<(), Stop> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    match serde_json::from_slice::<Cell>(line) {
        Ok(parsed) => row_of(place, &parsed, sink),
        Err(error) => sink(Event::Bad(place, syntax(&error))),
    }
}

fn read_stream(source: &Source, sink: &mut Sink) -> Result<(), Stop> {
    source.count(Lines::Json);
    let reader = serde_json::Deserializer::from_reader(BufReader::with_capacity(BUFFER, source));
    let mut stream = reader.into_iter::<Cell>();
    loop {
        source.next_record();
        let start = stream.byte_offset() as u64;
        match stream.next() {
            None => return Ok(()),
            Some(Ok(parsed)) => row_of(Place::Line(source.line_of(start)), &parsed, sink)?,
            Some(Err(_)) if source.is_too_long() => {
                return sink(Event::Bad(Place::Line(source.line_of(start)), source::TOO_LONG.into()));
            }
            Some(Err(error)) if error.is_io() => return Ok(()),
            Some(Err(error)) => return sink(Event::Bad(Place::Line(error.line()), syntax(&error))),
        }
    }
}

/// The reason without its line, which the place says.
fn syntax(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or_default();
    format!("this is not JSON at column {}: {reason}", error.column())
}

fn row_of(place: Place, value: &Cell, sink: &mut Sink) -> Result<(), Stop> {
    let Cell::Object(object) = value else {
        return sink(Event::Bad(place, "expected an object like {\"transactionId\": \"0x…\", …}".into()));
    };
    match row(object, sink)? {
        Ok(row) => sink(Event::Row(place, &row)),
        Err(message) => sink(Event::Bad(place, message)),
    }
}

fn row<'a>(object: &'a BTreeMap<String, Cell>, sink: &mut Sink) -> Result<Result<Row<'a>, String>, Stop> {
    let mut row = Row::default();
    let mut wrong = Vec::new();
    for (name, value) in object {
        let Some(field) = Field::named(&clean(name)) else {
            sink(Event::UnknownColumn(clean(name)))?;
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
    Ok(if wrong.is_empty() { Ok(row) } else { Err(wrong.join(". ")) })
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
        Cell::Flag(flag) if field.is_flag() => Ok(Cow::Borrowed(if *flag { "true" } else { "false" })),
        // Lists go through the form that CSV has, so a label can't contain `;` in either, and a note is one line.
        Cell::Texts(texts) if field == Field::Labels => Ok(texts.join(";").into()),
        Cell::Texts(texts) if field == Field::Notes => {
            Ok(texts.iter().map(|text| text.replace(['\n', '\r'], " ")).collect::<Vec<_>>().join("\n").into())
        }
        // Others may mean something else by that.
        _ if field == Field::Profile => Ok(Cow::Borrowed("")),
        _ if field == Field::Labels => Err("expected an array of texts, or one text with ; between them"),
        _ if field == Field::Notes => Err("expected an array of texts"),
        _ if field.is_flag() => Err("expected true or false"),
        _ => Err("expected text or a number"),
    }
}

/// A value as far as a row has use for it.
enum Cell {
    Null,
    Flag(bool),
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

    fn visit_bool<E>(self, flag: bool) -> Result<Cell, E> {
        Ok(Cell::Flag(flag))
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
struct Items<'a, 'source, 'sink> {
    source: &'a Source<'source>,
    sink: &'a mut Sink<'sink>,
    number: usize,
    stopped: bool,
}

impl<'de> Visitor<'de> for &mut Items<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            self.number += 1;
            self.source.next_record();
            if row_of(Place::Item(self.number), &item, self.sink).is_err() {
                self.stopped = true;
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
