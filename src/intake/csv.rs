//! Reads CSV with a header row: any order, any case, commas, semicolons or tabs, CRLF or LF.
//!
//! It must never guess what a column without a name means, and never number lines otherwise than an editor does.

use csv::{ByteRecord, ReaderBuilder};

use crate::domain::text::clean;

use super::{
    Event, Place,
    fields::{Field, Row},
};

/// What a header looks like, for messages.
const HEADER: &str = "transactionId,fromChainId,toChainId,quoteId";

/// Reads a file whose byte order mark is gone.
pub(super) fn read(bytes: &[u8], sink: &mut dyn FnMut(Event)) {
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter(bytes)).from_reader(bytes);
    let mut lines = Lines { bytes, at: 0, line: 1 };
    let mut record = ByteRecord::new();
    let mut columns: Option<Vec<Option<Field>>> = None;
    // A slice in memory has no I/O errors and `flexible` leaves no other, so the loop ends at the end of the file.
    while let Ok(true) = reader.read_byte_record(&mut record) {
        let place = Place::Line(lines.line_of(&record));
        if reader.position().byte() >= bytes.len() as u64 && lines.is_torn() {
            sink(Event::Bad(
                place,
                "a quotation mark opens here that is never closed; write \" in text as \"\"".into(),
            ));
            return;
        }
        if record.iter().all(|value| value.trim_ascii().is_empty()) {
            continue;
        }
        match (texts(&record), &columns) {
            (Err(reason), _) => sink(Event::Bad(place, reason)),
            (Ok(values), Some(columns)) => row(place, columns, &values, sink),
            (Ok(values), None) => match header(place, &values, sink) {
                Some(header) => columns = Some(header),
                None => return,
            },
        }
    }
}

/// The fields of a text without a header that is one row, if its quotation marks are in order.
pub(super) fn values(line: &str, delimiter: u8) -> Vec<String> {
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(line.as_bytes());
    let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
    record.iter().map(|value| value.trim().to_owned()).collect()
}

/// Whether the first line that isn't blank names at least two columns.
pub(super) fn has_header(bytes: &[u8]) -> bool {
    named(first_line(bytes), delimiter(bytes)) >= 2
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let start = bytes.trim_ascii_start();
    start.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default()
}

fn named(line: &[u8], delimiter: u8) -> usize {
    let field = |column: &[u8]| std::str::from_utf8(column).ok().and_then(|name| Field::named(name.trim_matches('"')));
    line.split(|byte| *byte == delimiter).filter(|column| field(column.trim_ascii()).is_some()).count()
}

/// The delimiter that makes the most known names of the header; spreadsheets of some countries write semicolons.
fn delimiter(bytes: &[u8]) -> u8 {
    let line = first_line(bytes);
    // `max_by_key` takes the last of equals, so the usual one stands last.
    [b'\t', b';', b','].into_iter().max_by_key(|delimiter| named(line, *delimiter)).unwrap_or(b',')
}

fn texts(record: &ByteRecord) -> Result<Vec<&str>, String> {
    let text = |(index, value): (usize, _)| {
        let column = index + 1;
        let text =
            std::str::from_utf8(value).map_err(|_| format!("column {column} is not UTF-8; save the file as UTF-8"))?;
        match text.contains('\0') {
            true => Err(format!("column {column} contains a NUL byte; save the file as text in UTF-8")),
            false => Ok(text),
        }
    };
    record.iter().enumerate().map(text).collect()
}

fn header(place: Place, names: &[&str], sink: &mut dyn FnMut(Event)) -> Option<Vec<Option<Field>>> {
    let columns: Vec<_> = names.iter().map(|name| Field::named(&clean(name))).collect();
    let known: Vec<Field> = columns.iter().copied().flatten().collect();
    let missing = Field::REQUIRED.iter().filter(|field| !known.contains(field)).map(|field| field.name());
    let missing = missing.collect::<Vec<_>>().join(", ");
    let twice = known.iter().enumerate().find(|(index, field)| known.iter().take(*index).any(|other| other == *field));
    let wrong = match twice {
        _ if known.is_empty() => Some(format!("this is no header row; the first row must name the columns: {HEADER}")),
        Some((_, field)) => Some(format!("the header names {} twice; remove one of the columns", field.name())),
        None if !missing.is_empty() => Some(format!("the header lacks {missing}; it needs at least {HEADER}")),
        None => None,
    };
    if let Some(message) = wrong {
        sink(Event::Bad(place, message));
        return None;
    }
    for (name, _) in names.iter().zip(&columns).filter(|(name, column)| column.is_none() && !name.trim().is_empty()) {
        sink(Event::UnknownColumn(clean(name)));
    }
    Some(columns)
}

fn row(place: Place, columns: &[Option<Field>], values: &[&str], sink: &mut dyn FnMut(Event)) {
    if values.iter().skip(columns.len()).any(|value| !value.trim().is_empty()) {
        let (found, named) = (values.len(), columns.len());
        let message = format!("{found} values for {named} columns; put text that contains the delimiter into quotes");
        return sink(Event::Bad(place, message));
    }
    let mut row = Row::default();
    for (field, value) in columns.iter().zip(values).filter_map(|(column, value)| Some(((*column)?, value.trim()))) {
        // A quotation mark too many swallows the rows below; only a note may well have several lines.
        if field != Field::Note && value.contains(['\n', '\r']) {
            let message = format!("{} goes over several lines; is a quotation mark missing or too many?", field.name());
            return sink(Event::Bad(place, message));
        }
        // The header names no field twice, so every slot is free.
        row.set(field, value);
    }
    sink(Event::Row(place, &row));
}

/// Counts lines. The reader's own count stands on the line end or the blank lines before a record.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line on which the record starts. Records must come in order.
    fn line_of(&mut self, record: &ByteRecord) -> usize {
        let byte = record.position().and_then(|position| usize::try_from(position.byte()).ok()).unwrap_or_default();
        while let Some(current) = self.bytes.get(self.at) {
            let ends_line = match current {
                b'\n' => true,
                // An old line end: a carriage return alone.
                b'\r' => self.bytes.get(self.at + 1) != Some(&b'\n'),
                _ => false,
            };
            if self.at >= byte && !matches!(current, b'\n' | b'\r') {
                break;
            }
            self.line += usize::from(ends_line);
            self.at += 1;
        }
        self.line
    }

    /// Whether the last record goes over several lines with an odd number of quotation marks: one is open, and it has
    /// swallowed the rest of the file.
    fn is_torn(&self) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default().trim_ascii_end();
        let marks = rest.iter().filter(|byte| **byte == b'"').count();
        marks % 2 == 1 && rest.iter().any(|byte| matches!(byte, b'\n' | b'\r'))
    }
}
