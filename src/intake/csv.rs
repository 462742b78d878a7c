//! Reads CSV with a header row: columns in any order, names in any case, commas, semicolons or tabs, CRLF or LF.
//!
//! It must never guess the meaning of a column without a name. Its line numbers must match those of an editor.

use csv::{ByteRecord, ReaderBuilder};

use crate::domain::text::clean;

use super::{
    EventSink, InputPosition, ParseEvent, ReadStop,
    fields::{Field, RawRow},
    formula,
    source::{self, BUFFER_SIZE, LineCounting, SharedInput},
};

/// An example of a header row, for error messages.
const HEADER: &str = "transactionId,fromChainId,toChainId,quoteId";

/// The field of each column; `None` for an unknown column.
pub(super) type CsvColumns = Vec<Option<Field>>;

/// Reads a file whose byte order mark was removed.
pub(super) fn read(source: &SharedInput, sink: &mut EventSink) -> Result<(), ReadStop> {
    source.set_line_counting(LineCounting::Editor);
    let delimiter = detect_delimiter(&source.head());
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .buffer_capacity(BUFFER_SIZE)
        .from_reader(source);
    let mut record = ByteRecord::new();
    let mut columns: Option<CsvColumns> = None;
    loop {
        source.start_record();
        let start = reader.position().byte();
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Err(_) if source.is_too_long() => {
                return sink(ParseEvent::Bad(InputPosition::Line(source.line_at(start)), source::TOO_LONG.into()));
            }
            // The end of the file, or an input error that the source keeps; `flexible` leaves no other error.
            Ok(false) | Err(_) => return Ok(()),
        }
        let position = InputPosition::Line(source.line_at(start));
        match source.with_uncounted(reader.position().byte(), |record| check_quotes(record, delimiter)) {
            // The value with the unclosed quotation mark extends to the end of the file.
            Quoting::Unclosed if source.has_ended() => {
                return sink(ParseEvent::Bad(position, UNCLOSED_QUOTE.into()));
            }
            Quoting::Misplaced if columns.is_none() => return sink(ParseEvent::Bad(position, MISPLACED_QUOTE.into())),
            Quoting::Misplaced => {
                sink(ParseEvent::Bad(position, MISPLACED_QUOTE.into()))?;
                continue;
            }
            _ => {}
        }
        if is_blank(&record) {
            continue;
        }
        match (decode_values(&record), &columns) {
            (Err(reason), _) => sink(ParseEvent::Bad(position, reason))?,
            (Ok(values), Some(columns)) => read_row(position, columns, &values, sink)?,
            (Ok(values), None) => match read_header(position, &values, sink)? {
                Some(header) => columns = Some(header),
                None => return Ok(()),
            },
        }
    }
}

/// Reads a line that holds exactly one row. The line is the header if `columns` is `None`.
pub(super) fn read_line(
    position: InputPosition,
    line: &[u8],
    columns: &mut Option<CsvColumns>,
    delimiter: u8,
    sink: &mut EventSink,
) -> Result<(), ReadStop> {
    let mut record = ByteRecord::new();
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(line);
    // Reading a slice has no I/O errors, and `flexible` leaves no other error.
    if !reader.read_byte_record(&mut record).unwrap_or_default() || is_blank(&record) {
        return Ok(());
    }
    match check_quotes(line, delimiter) {
        Quoting::Valid => {}
        // The rest of the line became part of one value, so the row's later values are unknown.
        Quoting::Unclosed => return sink(ParseEvent::Bad(position, UNCLOSED_QUOTE.into())),
        Quoting::Misplaced => return sink(ParseEvent::Bad(position, MISPLACED_QUOTE.into())),
    }
    match (decode_values(&record), &columns) {
        (Err(reason), _) => sink(ParseEvent::Bad(position, reason)),
        (Ok(values), Some(columns)) => read_row(position, columns, &values, sink),
        (Ok(values), None) => {
            *columns = read_header(position, &values, sink)?;
            Ok(())
        }
    }
}

/// The error message for a quotation mark that isn't closed.
const UNCLOSED_QUOTE: &str = "a quotation mark is never closed; write \" in text as \"\"";

/// The error message for a closing quotation mark before more text. The mark may close a value opened rows above.
const MISPLACED_QUOTE: &str =
    "a quotation mark closes in the middle of a value; is one missing or extra? write \" in text as \"\"";

/// The state of a record's quotation marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quoting {
    Valid,
    /// A quotation mark opens a value and is never closed.
    Unclosed,
    /// Text follows a closing quotation mark, instead of a delimiter or the end of the line.
    Misplaced,
}

/// Checks the quotation marks of the first record in these bytes. The CSV parser accepts misplaced marks silently.
fn check_quotes(record: &[u8], delimiter: u8) -> Quoting {
    enum QuotingState {
        Start,
        Plain,
        Quoted,
        Closed,
        AfterClosed,
    }
    if !record.contains(&b'"') {
        return Quoting::Valid;
    }
    let mut state = QuotingState::Start;
    for byte in record {
        state = match (state, *byte) {
            (QuotingState::Quoted, b'"') => QuotingState::Closed,
            (QuotingState::Quoted, _) | (QuotingState::Start | QuotingState::Closed, b'"') => QuotingState::Quoted,
            (_, byte) if byte == delimiter => QuotingState::Start,
            (_, b'\n' | b'\r') => return Quoting::Valid,
            (QuotingState::Closed | QuotingState::AfterClosed, b' ' | b'\t') => QuotingState::AfterClosed,
            (QuotingState::Closed | QuotingState::AfterClosed, _) => return Quoting::Misplaced,
            (QuotingState::Start | QuotingState::Plain, _) => QuotingState::Plain,
        };
    }
    if matches!(state, QuotingState::Quoted) { Quoting::Unclosed } else { Quoting::Valid }
}

fn is_blank(record: &ByteRecord) -> bool {
    record.iter().all(|value| value.trim_ascii().is_empty())
}

/// Returns the values of a single row without a header, or no values if they can't be read as text.
pub(super) fn split_values(line: &str, delimiter: u8) -> Vec<String> {
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(line.as_bytes());
    let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
    record.iter().map(|value| value.trim().to_owned()).collect()
}

/// Whether the first line that isn't blank names at least two known columns.
pub(super) fn has_header(bytes: &[u8]) -> bool {
    count_known_names(source::first_line(bytes).0, detect_delimiter(bytes)) >= 2
}

fn count_known_names(line: &[u8], delimiter: u8) -> usize {
    let field =
        |column: &[u8]| std::str::from_utf8(column).ok().and_then(|name| Field::from_name(name.trim_matches('"')));
    line.split(|byte| *byte == delimiter).filter(|column| field(column.trim_ascii()).is_some()).count()
}

/// Returns the delimiter that gives the most known names in the header. Some countries' spreadsheets write semicolons.
pub(super) fn detect_delimiter(bytes: &[u8]) -> u8 {
    let (line, _) = source::first_line(bytes);
    // `max_by_key` returns the last of equal elements, so the comma is last.
    [b'\t', b';', b','].into_iter().max_by_key(|delimiter| count_known_names(line, *delimiter)).unwrap_or(b',')
}

fn decode_values(record: &ByteRecord) -> Result<Vec<&str>, String> {
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

fn read_header(position: InputPosition, names: &[&str], sink: &mut EventSink) -> Result<Option<CsvColumns>, ReadStop> {
    let columns: CsvColumns = names.iter().map(|name| Field::from_name(&clean(name))).collect();
    let known: Vec<Field> = columns.iter().copied().flatten().collect();
    let missing = Field::REQUIRED.iter().filter(|field| !known.contains(field)).map(|field| field.name());
    let missing = missing.collect::<Vec<_>>().join(", ");
    let repeated =
        known.iter().enumerate().find(|(index, field)| known.iter().take(*index).any(|other| other == *field));
    let problem = match repeated {
        _ if known.is_empty() => Some(format!("the first row is not a header; it must name the columns: {HEADER}")),
        Some((_, field)) => Some(format!("the header has {} twice; remove one of the columns", field.name())),
        None if !missing.is_empty() => Some(format!("the header has no {missing}; it needs at least {HEADER}")),
        None => None,
    };
    if let Some(message) = problem {
        sink(ParseEvent::Bad(position, message))?;
        return Ok(None);
    }
    for (name, _) in names.iter().zip(&columns).filter(|(name, column)| column.is_none() && !name.trim().is_empty()) {
        sink(ParseEvent::UnknownColumn(clean(name)))?;
    }
    Ok(Some(columns))
}

fn read_row(
    position: InputPosition,
    columns: &[Option<Field>],
    values: &[&str],
    sink: &mut EventSink,
) -> Result<(), ReadStop> {
    if values.iter().skip(columns.len()).any(|value| !value.trim().is_empty()) {
        let (found, named) = (values.len(), columns.len());
        let message = format!("{found} values for {named} columns; put text that contains the delimiter in quotes");
        return sink(ParseEvent::Bad(position, message));
    }
    let mut row = RawRow::default();
    for (field, value) in columns.iter().zip(values).filter_map(|(column, value)| Some(((*column)?, value.trim()))) {
        // A superfluous quotation mark makes the following rows part of one value. Only notes may span several lines.
        if !matches!(field, Field::Note | Field::Notes) && value.contains(['\n', '\r']) {
            let message = format!("{} spans several lines; is a quotation mark missing or extra?", field.name());
            return sink(ParseEvent::Bad(position, message));
        }
        // The header names each field at most once, so no value is set twice.
        row.set(field, formula::unescape(value));
    }
    sink(ParseEvent::Row(position, &row))
}
