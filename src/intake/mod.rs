//! Files and pasted text in, transactions to be tracked out (`commands.md`, Import; `mockups.md`, screen 9).
//!
//! Bytes in, values out, as they come and in bounded memory: no file is opened and no clock read here. It must never call
//! a batch fine that is so in part, and never let text through that [`clean`](crate::domain::text::clean) hasn't seen.

mod batch;
mod body;
mod csv;
mod fields;
mod formula;
mod hashes;
mod json;
mod lines;
mod paste;
mod redact;
mod request;
mod source;
mod spool;
#[cfg(test)]
mod tests;
mod ticket;

use std::{
    collections::BTreeMap,
    convert::Infallible,
    fmt,
    io::{self, Read},
};

use crate::domain::transaction::NewTransaction;

pub use batch::Duplicates;
use fields::Row;
pub use fields::{Field, FieldError};
pub use formula::escape;
pub use hashes::oddity;
pub use lines::{LineReader, Taken};
pub use paste::{Content, Origin, Pasted, paste};
pub use redact::without_id;
pub use spool::{Duplicate, ImportSpool};
pub use ticket::ticket;

/// How a file is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// By the first character that isn't blank: `[` is JSON, `{` is NDJSON, anything else is CSV.
    #[default]
    Auto,
    /// A header row and a row for each transaction; commas, semicolons or tabs between the values.
    Csv,
    /// An array of objects.
    Json,
    /// An object a line. Objects that go over several lines are fine too.
    Ndjson,
}

/// How to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How the file is written.
    pub format: Format,
    /// Whether chain IDs pass that neither are known nor look like one (`--any-chain`).
    pub any_chain: bool,
}

/// What a file held, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The transactions, none of them twice.
    pub transactions: Vec<NewTransaction>,
    /// What was ignored or changed, a sentence each.
    pub warnings: Vec<String>,
}

/// What a file held besides its transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// What was ignored or changed, a sentence each.
    pub warnings: Vec<String>,
    /// The profiles that rows name, and how many name each. Where they are tracked isn't decided by that.
    pub profiles: BTreeMap<String, usize>,
}

/// Where in a file something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, counted from 1 as an editor does.
    Line(usize),
    /// An element of a JSON array, counted from 1.
    Item(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => out.write_str("the file"),
            Self::Line(number) => write!(out, "line {number}"),
            Self::Item(number) => write!(out, "item {number}"),
        }
    }
}

/// Why a line can't be taken. Its text is the whole message: the place, the reason and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", prefix(*place))]
pub struct LineError {
    /// Where it stands.
    pub place: Place,
    /// The reason and the way out.
    pub message: String,
}

fn prefix(place: Place) -> String {
    match place {
        Place::File => String::new(),
        place => format!("{place}: "),
    }
}

/// What a reader finds, in the order of the file.
enum Event<'a> {
    /// A row of named values.
    Row(Place, &'a Row<'a>),
    /// Something that can't be read as a row, and why.
    Bad(Place, String),
    /// A column that means nothing to us; its name is clean.
    UnknownColumn(String),
}

/// Who takes events. Reading ends when it doesn't want any more.
type Sink<'a> = dyn FnMut(Event) -> Result<(), Stop> + 'a;

/// Whoever takes events has failed, and knows why.
#[derive(Debug)]
struct Stop;

/// Why a file wasn't taken.
#[derive(Debug)]
pub enum ReadError<E> {
    /// Something in it is bad: every such line, up to a thousand of them.
    Bad(Vec<LineError>),
    /// It can't be read.
    Input(io::Error),
    /// Its transactions can't be kept.
    Keep(E),
}

/// Reads a file as it comes, in memory that doesn't grow with it, and hands out each transaction with its place; the same
/// one may come again. With an error nothing of it counts.
pub fn stream<E>(
    input: &mut dyn Read,
    options: &Options,
    keep: &mut dyn FnMut(Place, NewTransaction) -> Result<(), E>,
) -> Result<Found, ReadError<E>> {
    let refuse = |message: &str| Err(ReadError::Bad(vec![LineError { place: Place::File, message: message.into() }]));
    let source = source::Source::new(input).map_err(ReadError::Input)?;
    source.skip(b"\xef\xbb\xbf");
    let head = source.head();
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return refuse("the file is UTF-16; save it as UTF-8");
    }
    let Some(first) = head.iter().find(|byte| !byte.is_ascii_whitespace()) else {
        return refuse("the file is empty; it needs a header row and rows of CSV, a JSON array, or JSON lines");
    };
    let mut collector = batch::Collector::new(options.any_chain, keep);
    let sink = &mut |event: Event| collector.take(event);
    let read = match (options.format, first) {
        (Format::Csv, _) => csv::read(&source, sink),
        (Format::Json, b'{') | (Format::Ndjson, _) | (Format::Auto, b'{') => json::read_lines(&source, sink),
        (Format::Json, _) | (Format::Auto, b'[') => json::read_array(&source, sink),
        (Format::Auto, _) => csv::read(&source, sink),
    };
    match (source.fault(), read) {
        (Some(fault), _) => Err(ReadError::Input(fault)),
        (None, _) => collector.finish(),
    }
}

/// Reads a whole file that is in memory. All or nothing: an error comes with every bad line, up to a thousand of them.
pub fn read(bytes: &[u8], options: &Options) -> Result<Batch, Vec<LineError>> {
    let mut rows = batch::Rows::default();
    let keep = &mut |place, new| {
        rows.push(place, new);
        Ok::<_, Infallible>(())
    };
    match stream(&mut &*bytes, options, keep) {
        Ok(found) => Ok(rows.finish(found.warnings)),
        Err(ReadError::Bad(errors)) => Err(errors),
        Err(ReadError::Input(fault)) => Err(vec![LineError { place: Place::File, message: fault.to_string() }]),
        Err(ReadError::Keep(never)) => match never {},
    }
}

/// Reads one transaction from single values, as a row of a file with these columns. With it comes a warning if a value was
/// changed; of a field that is given twice the first value counts.
pub fn one(values: &[(Field, &str)], any_chain: bool) -> Result<(NewTransaction, Option<String>), Vec<FieldError>> {
    let mut row = Row::default();
    for (field, value) in values {
        row.set(*field, *value);
    }
    match fields::transaction(&row, any_chain) {
        Ok(reading) => Ok((reading.transaction, reading.clamped)),
        Err(refusal) => Err(refusal.errors()),
    }
}
