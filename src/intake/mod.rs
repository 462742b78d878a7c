//! Parses files and pasted text into transactions to track (`commands.md`, Import; `mockups.md`, screen 9).
//!
//! The module reads a stream piece by piece, and reads no clock. Only the spool uses a file, which is temporary. The
//! module must never accept a batch with a bad row, and never return text that
//! [`clean`](crate::domain::text::clean) hasn't processed.

mod batch;
mod body;
mod csv;
mod fields;
mod formula;
mod gzip;
mod hashes;
mod json;
mod labelled;
mod lines;
mod paste;
mod prose;
mod redact;
mod request;
mod source;
mod spool;
#[cfg(test)]
mod tests;
mod ticket;

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Read},
};

use chrono::{DateTime, Utc};

use crate::domain::{
    batch::{Batch, SpoolError},
    transaction::NewTransaction,
};

use batch::Duplicates;
use fields::RawRow;
pub(crate) use fields::{Field, FieldError};
pub(crate) use formula::escape_formula;
pub(crate) use gzip::{is_gzip, unpacking_reader};
pub(crate) use hashes::{hash_warning, is_hash};
pub(crate) use lines::{LineReader, LineResult};
pub(crate) use paste::PasteOrigin;
pub use paste::{PasteFinding, PastedContent, parse_paste};
pub(crate) use redact::redact_integrator_id;
#[cfg(test)]
pub(crate) use spool::Duplicate;
pub(crate) use spool::ImportSpool;
pub(crate) use ticket::find_ticket;

/// The format of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputFormat {
    /// Detected from the first character that isn't whitespace: `[` is JSON, `{` is NDJSON, anything else is CSV.
    #[default]
    Auto,
    /// A header row and one row for each transaction, with commas, semicolons or tabs between the values.
    Csv,
    /// A JSON array of objects.
    Json,
    /// One JSON object on each line. An object may also span several lines.
    Ndjson,
}

/// How a file or a paste is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format of the file. A paste ignores it.
    pub format: InputFormat,
    /// Whether any text that can be a chain ID is accepted, known or not (`--any-chain`).
    pub allows_any_chain: bool,
    /// The present, after which no transfer was submitted; `None` accepts any time.
    pub now: Option<DateTime<Utc>>,
}

/// The contents of a file, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedFile {
    /// The transactions, without duplicates.
    pub transactions: Vec<NewTransaction>,
    /// One sentence for each thing that was ignored or changed.
    pub warnings: Vec<String>,
}

/// The warnings and profile names found in a file, besides its transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileFindings {
    /// One sentence for each thing that was ignored or changed.
    pub warnings: Vec<String>,
    /// The number of rows that name each profile. Names past a limit are counted together under the empty name. These
    /// names don't decide in which profile the rows are tracked.
    pub profiles: BTreeMap<String, usize>,
}

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputPosition {
    /// The file as a whole.
    File,
    /// A line, counted from 1 as in an editor.
    Line(usize),
    /// An element of a JSON array, counted from 1.
    Item(usize),
}

impl fmt::Display for InputPosition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => out.write_str("the file"),
            Self::Line(number) => write!(out, "line {number}"),
            Self::Item(number) => write!(out, "item {number}"),
        }
    }
}

/// An error in one line. The error's text is a complete message: the position, the reason and how to fix the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", position_prefix(*position))]
pub struct LineError {
    /// The position of the error.
    pub position: InputPosition,
    /// The reason, and how to fix it.
    pub message: String,
}

fn position_prefix(position: InputPosition) -> String {
    match position {
        InputPosition::File => String::new(),
        position => format!("{position}: "),
    }
}

/// An item that a format's reader sends to a [`EventSink`], in the order of the file.
enum ParseEvent<'a> {
    /// A row of named values.
    Row(InputPosition, &'a RawRow<'a>),
    /// Text that can't be read as a row, and the reason.
    Bad(InputPosition, String),
    /// The name of a column that isn't a [`Field`], cleaned.
    UnknownColumn(String),
}

/// The consumer of events. Reading ends when the consumer returns [`ReadStop`].
type EventSink<'a> = dyn FnMut(ParseEvent) -> Result<(), ReadStop> + 'a;

/// The consumer of events failed and has stored its own error.
#[derive(Debug)]
struct ReadStop;

/// Why a file was rejected.
#[derive(Debug)]
pub(crate) enum ReadError<E> {
    /// Some lines are bad. All bad lines are listed, up to 100,000; a last entry counts the rest.
    Bad {
        /// What is wrong with each bad line, or with the file. Of many bad lines the last error says how many more
        /// there are.
        errors: Vec<LineError>,
        /// The number of bad lines.
        lines: usize,
    },
    /// The input can't be read.
    Input(io::Error),
    /// `on_transaction` failed for a transaction.
    Callback(E),
}

/// Reads a file as a stream in bounded memory and passes each transaction with its position to `on_transaction`. The same
/// transaction may be passed more than once.
///
/// # Errors
/// If the input can't be read, `on_transaction` fails or a line is bad. The caller must then discard all transactions passed so
/// far.
pub(crate) fn stream<E>(
    input: &mut dyn Read,
    options: &ReadOptions,
    on_transaction: &mut dyn FnMut(InputPosition, NewTransaction) -> Result<(), E>,
) -> Result<FileFindings, ReadError<E>> {
    let refuse = |message: &str| {
        Err(ReadError::Bad {
            errors: vec![LineError { position: InputPosition::File, message: message.into() }],
            lines: 0,
        })
    };
    let source = source::SharedInput::new(input).map_err(ReadError::Input)?;
    let head = source.head();
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return refuse("the file is UTF-16; save it as UTF-8");
    }
    let Some(first) = head.iter().find(|byte| !byte.is_ascii_whitespace()) else {
        return refuse("the file is empty; it needs a header row and rows of CSV, a JSON array, or JSON lines");
    };
    let mut collector = batch::RowCollector::new(options, on_transaction);
    let sink = &mut |event: ParseEvent| collector.handle_event(event);
    // After a `ReadStop` the collector has the error.
    let _read = match (options.format, first) {
        (InputFormat::Csv, _) => csv::read(&source, sink),
        (InputFormat::Json, b'{') | (InputFormat::Ndjson, _) | (InputFormat::Auto, b'{') => {
            json::read_lines(&source, sink)
        }
        (InputFormat::Json, _) | (InputFormat::Auto, b'[') => json::read_array(&source, sink),
        (InputFormat::Auto, _) => csv::read(&source, sink),
    };
    source.into_input_error().map_or_else(|| collector.finish(), |fault| Err(ReadError::Input(fault)))
}

/// Reads a whole file into a batch without duplicates.
///
/// # Errors
/// If the input can't be read, the spool can't be written, or a line is bad.
pub(crate) fn read_batch(
    input: &mut dyn Read,
    options: &ReadOptions,
) -> Result<(Box<dyn Batch>, FileFindings), ReadError<SpoolError>> {
    let mut spool = ImportSpool::new().map_err(ReadError::Callback)?;
    let mut found = stream(input, options, &mut |position, new| spool.put(position.to_string(), new))?;
    let mut duplicates = Duplicates::default();
    let batch = spool.finish(&mut |pair| duplicates.push(&pair)).map_err(ReadError::Callback)?;
    found.warnings.extend(duplicates.finish());
    Ok((batch, found))
}

/// Reads a whole file from memory, through the spool, into memory: for tests and fuzzing.
///
/// # Errors
/// If any line is bad. All bad lines are listed, up to 100,000; a last entry counts the rest.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<ParsedFile, Vec<LineError>> {
    let refusal = |message: String| vec![LineError { position: InputPosition::File, message }];
    let (batch, FileFindings { warnings, .. }) = read_batch(&mut &*bytes, options).map_err(|error| match error {
        ReadError::Bad { errors, .. } => errors,
        ReadError::Input(fault) => refusal(fault.to_string()),
        ReadError::Callback(fault) => refusal(fault.to_string()),
    })?;
    let rows: Result<_, SpoolError> = batch.transactions().and_then(Iterator::collect);
    let transactions = rows.map_err(|fault| refusal(fault.to_string()))?;
    Ok(ParsedFile { transactions, warnings })
}

/// Builds one transaction from single values, by the rules for a row of a file. Also returns a warning for each value
/// that isn't used, or kept only in part. If a field is given twice, its first value is used.
///
/// # Errors
/// If required fields are missing or values are invalid: one or more errors, each with its field.
pub(crate) fn parse_one(
    values: &[(Field, &str)],
    options: &ReadOptions,
) -> Result<(NewTransaction, Vec<String>), Vec<FieldError>> {
    let mut row = RawRow::default();
    for (field, value) in values {
        row.set(*field, *value);
    }
    let parsed = fields::parse_transaction(&row, options).map_err(|row_errors| row_errors.into_field_errors())?;
    Ok((parsed.transaction, parsed.warnings))
}
