//! Reads single lines as they arrive: a CSV header row and CSV rows, or JSON objects.
//!
//! Each line is exactly one row, so a bad line must never affect the next one.

use std::{collections::HashSet, iter};

use chrono::{DateTime, Utc};

use crate::domain::transaction::NewTransaction;

use super::{
    InputFormat, InputPosition, LineError, ParseEvent, ReadOptions, batch,
    csv::{self, CsvColumns},
    fields, json,
    source::{RECORD_LIMIT, TOO_LONG},
};

/// A result of reading one line; a line may have several.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LineResult {
    Transaction(Box<NewTransaction>),
    /// A sentence about something that was ignored or changed.
    Warning(String),
    /// The position and profile name of the first row that names this profile. The row's transaction follows.
    Profile(InputPosition, String),
    /// The line is bad; later lines may be good.
    Bad(LineError),
    /// The line is bad and no later line can be read: the CSV header is invalid, or the input is a JSON array.
    Fatal(LineError),
}

impl LineResult {
    pub(crate) fn is_transaction(&self) -> bool {
        matches!(self, Self::Transaction(_))
    }
}

/// A line-by-line reader of one file. It must receive every line of the file in order.
pub(crate) struct LineReader {
    options: ReadOptions,
    /// The number of lines received so far.
    line_number: usize,
    delimiter: u8,
    columns: Option<CsvColumns>,
    /// The delimiter and the columns of the file before, if there was one.
    previous: Option<(u8, CsvColumns)>,
    unknown_columns: HashSet<String>,
    profiles: HashSet<String>,
}

impl LineReader {
    /// The most bytes of one line.
    pub(crate) const LINE_LIMIT: usize = RECORD_LIMIT;
    /// The reason why gzip data can't be followed.
    pub(crate) const GZIP: &str =
        "gzip data can't be followed; unpack it first, as in `gzip -dc FILE | hoptop import - --follow`";
    /// The error message for a JSON array.
    pub(crate) const ARRAY: &str = "a JSON array can't be followed; write one object per line (NDJSON)";

    /// Returns a reader that expects the first line of a file.
    pub(crate) fn new(options: ReadOptions) -> Self {
        Self {
            options,
            line_number: 0,
            delimiter: b',',
            columns: None,
            previous: None,
            unknown_columns: HashSet::new(),
            profiles: HashSet::new(),
        }
    }

    /// Returns a reader that expects the first line of a file that continues this one under the same name. If that line
    /// is not a CSV header, the columns of this file apply: a program that appends rows writes the header only once.
    pub(crate) fn next_file(self, options: ReadOptions) -> Self {
        let own = self.columns.map(|columns| (self.delimiter, columns));
        Self { previous: own.or(self.previous), ..Self::new(options) }
    }

    /// Sets the present, after which no transfer was submitted, for the next lines.
    pub(crate) fn set_now(&mut self, now: DateTime<Utc>) {
        self.options.now = Some(now);
    }

    /// Reads the next complete line, with or without its line end.
    pub(crate) fn read_line(&mut self, line: &[u8]) -> Vec<LineResult> {
        self.line_number += 1;
        let line = if self.line_number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        let line = line.trim_ascii_end();
        let Some(first) = line.trim_ascii_start().first() else { return Vec::new() };
        if self.options.format == InputFormat::Auto {
            self.options.format = match first {
                b'{' => InputFormat::Ndjson,
                b'[' => InputFormat::Json,
                _ => InputFormat::Csv,
            };
        }
        match self.options.format {
            InputFormat::Json => {
                vec![LineResult::Fatal(LineError { position: InputPosition::File, message: Self::ARRAY.into() })]
            }
            InputFormat::Csv if self.columns.is_none() => self.read_header(line),
            _ => self.read_row(line),
        }
    }

    /// Returns the number of the last line, counted from 1.
    pub(crate) fn line(&self) -> usize {
        self.line_number
    }

    /// Counts a line of which only the beginning arrived, and returns the error about it.
    pub(crate) fn end_truncated(&mut self) -> LineResult {
        self.line_number += 1;
        let message = "the file was truncated before this line was complete; the line was ignored".into();
        LineResult::Bad(LineError { position: InputPosition::Line(self.line_number), message })
    }

    /// Counts a line that is longer than [`LINE_LIMIT`](Self::LINE_LIMIT), and returns the error about it.
    pub(crate) fn skip_long_line(&mut self) -> LineResult {
        self.line_number += 1;
        LineResult::Bad(LineError { position: InputPosition::Line(self.line_number), message: TOO_LONG.into() })
    }

    fn read_header(&mut self, line: &[u8]) -> Vec<LineResult> {
        if let Some((delimiter, columns)) = self.previous.take_if(|_| !csv::has_header(line)) {
            (self.delimiter, self.columns) = (delimiter, Some(columns));
            let position = InputPosition::Line(self.line_number);
            let warning = format!("{position} is not a header, so the columns of the previous file apply");
            return iter::once(LineResult::Warning(warning)).chain(self.read_row(line)).collect();
        }
        self.delimiter = csv::detect_delimiter(line);
        let results = self.read_row(line);
        let to_fatal = |result| match result {
            LineResult::Bad(error) if self.columns.is_none() => LineResult::Fatal(error),
            other => other,
        };
        results.into_iter().map(to_fatal).collect()
    }

    fn read_row(&mut self, line: &[u8]) -> Vec<LineResult> {
        let position = InputPosition::Line(self.line_number);
        let (options, unknown_columns, profiles) = (&self.options, &mut self.unknown_columns, &mut self.profiles);
        let mut found = Vec::new();
        let sink = &mut |event: ParseEvent| {
            match event {
                ParseEvent::Row(position, row) => match fields::parse_transaction(row, options) {
                    Ok(parsed) => {
                        let warning = |warning| LineResult::Warning(format!("{position}: {warning}"));
                        found.extend(parsed.warnings.into_iter().map(warning));
                        let profile = parsed.profile.filter(|_| profiles.len() < batch::PROFILE_LIMIT);
                        let profile = profile.filter(|profile| profiles.insert(profile.clone()));
                        found.extend(profile.map(|profile| LineResult::Profile(position, profile)));
                        found.push(LineResult::Transaction(Box::new(parsed.transaction)));
                    }
                    Err(row_errors) => {
                        found.push(LineResult::Bad(LineError { position, message: row_errors.message() }))
                    }
                },
                ParseEvent::Bad(position, message) => found.push(LineResult::Bad(LineError { position, message })),
                ParseEvent::UnknownColumn(name)
                    if fields::is_export_only(&name) || unknown_columns.len() >= batch::COLUMN_LIMIT => {}
                ParseEvent::UnknownColumn(name) => {
                    let warning = batch::unknown_column_warning(&name);
                    found.extend(unknown_columns.insert(name).then_some(LineResult::Warning(warning)));
                }
            }
            Ok(())
        };
        // The sink never returns `ReadStop`, so the result holds no error.
        let _read = match self.options.format {
            InputFormat::Csv => csv::read_line(position, line, &mut self.columns, self.delimiter, sink),
            _ => json::read_line(position, line, sink),
        };
        found
    }
}
