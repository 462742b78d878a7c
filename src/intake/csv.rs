//! Reads CSV with a header row: any order, any case, commas, semicolons or tabs, CRLF or LF.
//!
//! It must never guess what a column without a name means, and never number lines otherwise than an editor does.

use csv::{ByteRecord, ReaderBuilder};

use crate::domain::text::clean;

use super::{
    Event, Place, Sink, Stop,
    fields::{Field, Row},
    formula,
    source::{self, BUFFER, Lines, Source},
};

/// What a header looks like, for messages.
const HEADER: &str = "transactionId,fromChainId,toChainId,quoteId";

/// Which field each column holds, if it is one of ours.
pub(super) type Columns = Vec<Option<Field>>;

/// Reads a file whose byte order mark is gone.
pub(super) fn read(source: &Source, sink: &mut Sink) -> Result<(), Stop> {
    source.count(Lines::Editor);
    let delimiter = delimiter(&source.head());
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .buffer_capacity(BUFFER)
        .from_reader(source);
    let mut record = ByteRecord::new();
    let mut columns: Option<Columns> = None;
    loop {
        source.next_record();
        let start = reader.position().byte();
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Err(_) if source.is_too_long() => {
                return sink(Event::Bad(Place::Line(source.line_of(start)), source::TOO_LONG.into()));
            }
            // The end; or the source knows why it can't be read, and `flexible` leaves no other error.
            Ok(false) | Err(_) => return Ok(()),
        }
        let place = Place::Line(source.line_of(start));
        match source.with_rest(reader.position().byte(), |record| marks(record, delimiter)) {
            // It has swallowed the rest of the file.
            Marks::Open if source.has_ended() && source.with_rest(u64::MAX, goes_on) => {
                return sink(Event::Bad(place, TORN.into()));
            }
            Marks::Broken if columns.is_none() => return sink(Event::Bad(place, BROKEN.into())),
            Marks::Broken => {
                sink(Event::Bad(place, BROKEN.into()))?;
                continue;
            }
            _ => {}
        }
        if is_blank(&record) {
            continue;
        }
        match (texts(&record), &columns) {
            (Err(reason), _) => sink(Event::Bad(place, reason))?,
            (Ok(values), Some(columns)) => row(place, columns, &values, sink)?,
            (Ok(values), None) => match header(place, &values, sink)? {
                Some(header) => columns = Some(header),
                None => return Ok(()),
            },
        }
    }
}

/// Reads a line that holds a row and nothing else, or the header if there is none yet.
pub(super) fn read_line(
    place: Place,
    line: &[u8],
    (columns, delimiter): (&mut Option<Columns>, u8),
    sink: &mut Sink,
) -> Result<(), Stop> {
    let mut record = ByteRecord::new();
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(line);
    // A slice in memory has no I/O errors and `flexible` leaves no other.
    if !reader.read_byte_record(&mut record).unwrap_or_default() || is_blank(&record) {
        return Ok(());
    }
    match marks(line, delimiter) {
        Marks::Fine => {}
        // What is added to the text is added to that field, not to the row.
        Marks::Open => return sink(Event::Bad(place, TORN.into())),
        Marks::Broken => return sink(Event::Bad(place, BROKEN.into())),
    }
    match (texts(&record), &columns) {
        (Err(reason), _) => sink(Event::Bad(place, reason)),
        (Ok(values), Some(columns)) => row(place, columns, &values, sink),
        (Ok(values), None) => {
            *columns = header(place, &values, sink)?;
            Ok(())
        }
    }
}

/// What is said of a mark that isn't closed.
const TORN: &str = "a quotation mark opens here that is never closed; write \" in text as \"\"";

/// What is said of a mark that closes a value which goes on: it may have closed one that was opened rows above.
const BROKEN: &str =
    "a quotation mark closes here in the middle of a value; is one missing or too many? write \" in text as \"\"";

/// Whether the quotation marks of a record are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marks {
    Fine,
    /// One opens that is never closed.
    Open,
    /// One is closed, and neither a delimiter nor the end of the line follows.
    Broken,
}

/// Looks at the marks of the first record in these bytes as the reader does, which lets all of it pass.
fn marks(record: &[u8], delimiter: u8) -> Marks {
    enum At {
        Start,
        Plain,
        Quoted,
        Closed,
        Behind,
    }
    if !record.contains(&b'"') {
        return Marks::Fine;
    }
    let mut at = At::Start;
    for byte in record {
        at = match (at, *byte) {
            (At::Quoted, b'"') => At::Closed,
            (At::Quoted, _) | (At::Start | At::Closed, b'"') => At::Quoted,
            (_, byte) if byte == delimiter => At::Start,
            (_, b'\n' | b'\r') => return Marks::Fine,
            (At::Closed | At::Behind, b' ' | b'\t') => At::Behind,
            (At::Closed | At::Behind, _) => return Marks::Broken,
            (At::Start | At::Plain, _) => At::Plain,
        };
    }
    if matches!(at, At::Quoted) { Marks::Open } else { Marks::Fine }
}

fn is_blank(record: &ByteRecord) -> bool {
    record.iter().all(|value| value.trim_ascii().is_empty())
}

/// Whether a record goes over several lines.
fn goes_on(record: &[u8]) -> bool {
    record.trim_ascii_end().iter().any(|byte| matches!(byte, b'\n' | b'\r'))
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
    named(source::first_line(bytes).0, delimiter(bytes)) >= 2
}

fn named(line: &[u8], delimiter: u8) -> usize {
    let field = |column: &[u8]| std::str::from_utf8(column).ok().and_then(|name| Field::named(name.trim_matches('"')));
    line.split(|byte| *byte == delimiter).filter(|column| field(column.trim_ascii()).is_some()).count()
}

/// The delimiter that makes the most known names of the header; spreadsheets of some countries write semicolons.
pub(super) fn delimiter(bytes: &[u8]) -> u8 {
    let (line, _) = source::first_line(bytes);
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

fn header(place: Place, names: &[&str], sink: &mut Sink) -> Result<Option<Columns>, Stop> {
    let columns: Columns = names.iter().map(|name| Field::named(&clean(name))).collect();
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
        sink(Event::Bad(place, message))?;
        return Ok(None);
    }
    for (name, _) in names.iter().zip(&columns).filter(|(name, column)| column.is_none() && !name.trim().is_empty()) {
        sink(Event::UnknownColumn(clean(name)))?;
    }
    Ok(Some(columns))
}

fn row(place: Place, columns: &[Option<Field>], values: &[&str], sink: &mut Sink) -> Result<(), Stop> {
    if values.iter().skip(columns.len()).any(|value| !value.trim().is_empty()) {
        let (found, named) = (values.len(), columns.len());
        let message = format!("{found} values for {named} columns; put text that contains the delimiter into quotes");
        return sink(Event::Bad(place, message));
    }
    let mut row = Row::default();
    for (field, value) in columns.iter().zip(values).filter_map(|(column, value)| Some(((*column)?, value.trim()))) {
        // A quotation mark too many swallows the rows below; only notes may well have several lines.
        if !matches!(field, Field::Note | Field::Notes) && value.contains(['\n', '\r']) {
            let message = format!("{} goes over several lines; is a quotation mark missing or too many?", field.name());
            return sink(Event::Bad(place, message));
        }
        // The header names no field twice, so every slot is free.
        row.set(field, formula::unescape(value));
    }
    sink(Event::Row(place, &row))
}
