//! Reads lines one by one as they come: a header row and rows of CSV, or JSON objects.
//!
//! A line is a row and nothing else, so that a bad one never takes the next one with it.

use std::collections::HashSet;

use crate::domain::transaction::NewTransaction;

use super::{
    Event, Format, LineError, Options, Place, batch,
    csv::{self, Columns},
    fields, json,
    source::{RECORD_LIMIT, TOO_LONG},
};

/// What a line came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken {
    /// A transaction.
    Transaction(Box<NewTransaction>),
    /// Something was ignored or changed.
    Warning(String),
    /// The row that follows is the first one to name this profile.
    Profile(Place, String),
    /// The line can't be taken.
    Bad(LineError),
    /// No line after this one can be taken either: there is no header that could be understood, or it is a JSON array.
    Hopeless(LineError),
}

impl Taken {
    /// Whether it is one.
    pub fn is_transaction(&self) -> bool {
        matches!(self, Self::Transaction(_))
    }
}

/// A reader of lines. It is given every line of one file, in order.
pub struct LineReader {
    options: Options,
    /// How many lines it was given.
    number: usize,
    delimiter: u8,
    columns: Option<Columns>,
    unknown: HashSet<String>,
    profiles: HashSet<String>,
}

impl LineReader {
    /// The most bytes that a line may have.
    pub const LINE_LIMIT: usize = RECORD_LIMIT;
    /// Why an array isn't read so.
    pub const ARRAY: &str = "a JSON array has an end, so nothing can follow it; write an object a line (NDJSON)";

    /// A reader of a file from its first line on.
    pub fn new(options: Options) -> Self {
        Self { options, number: 0, delimiter: b',', columns: None, unknown: HashSet::new(), profiles: HashSet::new() }
    }

    /// Takes the next line, whole, with or without its line end.
    pub fn take(&mut self, line: &[u8]) -> Vec<Taken> {
        self.number += 1;
        let line = if self.number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        let line = line.trim_ascii_end();
        let Some(first) = line.trim_ascii_start().first() else { return Vec::new() };
        if self.options.format == Format::Auto {
            self.options.format = match first {
                b'{' => Format::Ndjson,
                b'[' => Format::Json,
                _ => Format::Csv,
            };
        }
        match self.options.format {
            Format::Json => vec![Taken::Hopeless(LineError { place: Place::File, message: Self::ARRAY.into() })],
            Format::Csv if self.columns.is_none() => self.header(line),
            _ => self.row(line),
        }
    }

    /// The number of the line that was taken last, counted from 1.
    pub fn line(&self) -> usize {
        self.number
    }

    /// Says that of the next line only the beginning came.
    pub fn cut(&mut self) -> Taken {
        self.number += 1;
        let message = "it had no end yet when it was cut off, and was not taken".into();
        Taken::Bad(LineError { place: Place::Line(self.number), message })
    }

    /// Says that the next line is longer than [`LINE_LIMIT`](Self::LINE_LIMIT).
    pub fn skip(&mut self) -> Taken {
        self.number += 1;
        Taken::Bad(LineError { place: Place::Line(self.number), message: TOO_LONG.into() })
    }

    fn header(&mut self, line: &[u8]) -> Vec<Taken> {
        self.delimiter = csv::delimiter(line);
        let taken = self.row(line);
        let hopeless = |taken| match taken {
            Taken::Bad(error) if self.columns.is_none() => Taken::Hopeless(error),
            other => other,
        };
        taken.into_iter().map(hopeless).collect()
    }

    fn row(&mut self, line: &[u8]) -> Vec<Taken> {
        let place = Place::Line(self.number);
        let (any_chain, unknown, profiles) = (self.options.any_chain, &mut self.unknown, &mut self.profiles);
        let mut found = Vec::new();
        let sink = &mut |event: Event| {
            match event {
                Event::Row(place, row) => match fields::transaction(row, any_chain) {
                    Ok(reading) => {
                        found.extend(reading.clamped.map(|clamped| Taken::Warning(format!("{place}: {clamped}"))));
                        let profile = reading.profile.filter(|_| profiles.len() < batch::PROFILE_LIMIT);
                        let profile = profile.filter(|profile| profiles.insert(profile.clone()));
                        found.extend(profile.map(|profile| Taken::Profile(place, profile)));
                        found.push(Taken::Transaction(Box::new(reading.transaction)));
                    }
                    Err(refusal) => found.push(Taken::Bad(LineError { place, message: refusal.message() })),
                },
                Event::Bad(place, message) => found.push(Taken::Bad(LineError { place, message })),
                Event::UnknownColumn(name) if fields::is_exported(&name) || unknown.len() >= batch::COLUMN_LIMIT => {}
                Event::UnknownColumn(name) => {
                    let warning = batch::unknown_column(&name);
                    found.extend(unknown.insert(name).then_some(Taken::Warning(warning)));
                }
            }
            Ok(())
        };
        // The sink wants everything, so nothing stops the reading.
        let _read = match self.options.format {
            Format::Csv => csv::read_line(place, line, (&mut self.columns, self.delimiter), sink),
            _ => json::read_line(place, line, sink),
        };
        found
    }
}
