//! Reads a JSON array of objects, or objects one after the other.
//!
//! It must never turn a number into an ID that differs from what was written.

use std::borrow::Cow;

use serde_json::{Deserializer, Map, Value};

use crate::domain::text::clean;

use super::{
    Event, Place,
    fields::{Field, Row},
};

/// Reads one array.
pub(super) fn read_array(bytes: &[u8], sink: &mut dyn FnMut(Event)) {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                value(Place::Item(index + 1), item, sink);
            }
        }
        Ok(_) => sink(Event::Bad(Place::File, "it is JSON but no array of objects; put the objects into [ ]".into())),
        Err(error) => sink(Event::Bad(Place::Line(error.line()), syntax(&error))),
    }
}

/// Reads an object a line, or objects that go over several lines.
pub(super) fn read_lines(bytes: &[u8], sink: &mut dyn FnMut(Event)) {
    let first = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    // A first line that stops in the middle of an object is the start of one that goes on below.
    if serde_json::from_slice::<Value>(first).is_err_and(|error| error.is_eof()) {
        return read_stream(bytes, sink);
    }
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let place = Place::Line(index + 1);
        match serde_json::from_slice(line) {
            Ok(parsed) => value(place, &parsed, sink),
            Err(error) => sink(Event::Bad(place, syntax(&error))),
        }
    }
}

fn read_stream(bytes: &[u8], sink: &mut dyn FnMut(Event)) {
    let mut stream = Deserializer::from_slice(bytes).into_iter::<Value>();
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
        value(Place::Line(line), &parsed, sink);
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

fn value(place: Place, value: &Value, sink: &mut dyn FnMut(Event)) {
    let Value::Object(object) = value else {
        return sink(Event::Bad(place, "expected an object like {\"transactionId\": \"0x…\", …}".into()));
    };
    match row(object, sink) {
        Ok(row) => sink(Event::Row(place, &row)),
        Err(message) => sink(Event::Bad(place, message)),
    }
}

fn row<'a>(object: &'a Map<String, Value>, sink: &mut dyn FnMut(Event)) -> Result<Row<'a>, String> {
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

fn text(field: Field, value: &Value) -> Result<Cow<'_, str>, &'static str> {
    match value {
        Value::Null => Ok(Cow::Borrowed("")),
        Value::String(text) => Ok(Cow::Borrowed(text)),
        Value::Number(number) if field == Field::EstimatedRouteDuration || !number.is_f64() => {
            Ok(number.to_string().into())
        }
        // Past 64 bits and behind a point digits are lost, and an ID with other digits is another ID.
        Value::Number(_) => Err("the number has too many digits or a point; write it as text, in quotes"),
        // Labels go through the form that CSV has, so a label can't contain `;` in either.
        Value::Array(items) if field == Field::Labels => {
            let labels: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            labels.map(|labels| labels.join(";").into()).ok_or("expected an array of texts")
        }
        _ if field == Field::Labels => Err("expected an array of texts, or one text with ; between them"),
        _ => Err("expected text or a number"),
    }
}
