//! Collects the events of a reader: errors by line, warnings by kind, and resolved duplicates.
//!
//! It must never accept a file with a bad line. Its memory must stay bounded for a file in which every line is bad.

use std::collections::{BTreeMap, HashSet};

use crate::domain::transaction::NewTransaction;

use super::{
    FileFindings, InputPosition, LineError, ParseEvent, ReadError, ReadOptions, ReadStop, fields, spool::Duplicate,
};

/// The most bad lines that are listed. A file with more bad lines usually has the same mistake in all of them.
pub(super) const ERROR_LIMIT: usize = 100_000;
/// The most warnings of one kind that are listed.
const WARNING_LIMIT: usize = 10;
/// The most unknown column names that are remembered. Each line of JSON may bring new names.
pub(super) const COLUMN_LIMIT: usize = 1_000;
/// The most profiles that are counted by name.
pub(super) const PROFILE_LIMIT: usize = 100;

/// The first warnings of one kind, and the number of all of them.
#[derive(Default)]
struct RowWarnings<const LIMIT: usize = WARNING_LIMIT> {
    kept: Vec<String>,
    count: usize,
}

impl<const LIMIT: usize> RowWarnings<LIMIT> {
    fn push(&mut self, warning: impl FnOnce() -> String) {
        self.count += 1;
        if self.kept.len() < LIMIT {
            self.kept.push(warning());
        }
    }

    fn finish(self, kind: &str) -> Vec<String> {
        let mut warnings = self.kept;
        if self.count > LIMIT {
            warnings.push(format!("and {} more {kind}", self.count - LIMIT));
        }
        warnings
    }
}

/// Consumes a reader's events: passes good rows to `on_transaction`, and collects errors and warnings.
pub(super) struct RowCollector<'a, E> {
    options: &'a ReadOptions,
    on_transaction: &'a mut dyn FnMut(InputPosition, NewTransaction) -> Result<(), E>,
    callback_error: Option<E>,
    is_empty: bool,
    unknown_columns: HashSet<String>,
    unknown_column_warnings: RowWarnings<COLUMN_LIMIT>,
    value_warnings: RowWarnings,
    profiles: BTreeMap<String, usize>,
    errors: Vec<LineError>,
    error_count: usize,
}

impl<'a, E> RowCollector<'a, E> {
    /// Returns a collector without events.
    pub(super) fn new(
        options: &'a ReadOptions,
        on_transaction: &'a mut dyn FnMut(InputPosition, NewTransaction) -> Result<(), E>,
    ) -> Self {
        Self {
            options,
            on_transaction,
            callback_error: None,
            is_empty: true,
            unknown_columns: HashSet::new(),
            unknown_column_warnings: RowWarnings::default(),
            value_warnings: RowWarnings::default(),
            profiles: BTreeMap::new(),
            errors: Vec::new(),
            error_count: 0,
        }
    }

    /// Handles one event of a reader. Returns [`ReadStop`] if `on_transaction` fails.
    pub(super) fn handle_event(&mut self, event: ParseEvent) -> Result<(), ReadStop> {
        match event {
            ParseEvent::Row(position, row) => match fields::parse_transaction(row, self.options) {
                Ok(parsed) => {
                    for warning in parsed.warnings {
                        self.value_warnings.push(|| format!("{position}: {warning}"));
                    }
                    parsed.profile.into_iter().for_each(|profile| self.count_profile(profile));
                    return self.keep_transaction(position, parsed.transaction);
                }
                Err(row_errors) => self.add_error(position, || row_errors.message()),
            },
            ParseEvent::Bad(position, message) => self.add_error(position, || message),
            ParseEvent::UnknownColumn(name) => self.add_unknown_column(name),
        }
        Ok(())
    }

    /// Counts a row that names `profile`. Names past the limit are counted together under the empty name.
    fn count_profile(&mut self, profile: String) {
        let is_counted_by_name = self.profiles.len() < PROFILE_LIMIT || self.profiles.contains_key(&profile);
        *self.profiles.entry(if is_counted_by_name { profile } else { String::new() }).or_default() += 1;
    }

    fn keep_transaction(&mut self, position: InputPosition, new: NewTransaction) -> Result<(), ReadStop> {
        self.is_empty = false;
        // After the first bad line the file is rejected, so later rows are only checked for errors.
        if self.error_count > 0 {
            return Ok(());
        }
        (self.on_transaction)(position, new).map_err(|error| {
            self.callback_error = Some(error);
            ReadStop
        })
    }

    fn add_error(&mut self, position: InputPosition, message: impl FnOnce() -> String) {
        self.error_count += 1;
        if self.errors.len() < ERROR_LIMIT {
            self.errors.push(LineError { position, message: message() });
        }
    }

    fn add_unknown_column(&mut self, name: String) {
        if fields::is_export_only(&name) || self.unknown_columns.contains(&name) {
            return;
        }
        self.unknown_column_warnings.push(|| unknown_column_warning(&name));
        if self.unknown_columns.len() < COLUMN_LIMIT {
            self.unknown_columns.insert(name);
        }
    }

    /// Returns the warnings and profiles of the file, or the errors for which the file is rejected.
    pub(super) fn finish(mut self) -> Result<FileFindings, ReadError<E>> {
        if let Some(error) = self.callback_error {
            return Err(ReadError::Callback(error));
        }
        if self.error_count > self.errors.len() {
            let message = format!("and {} more bad lines", self.error_count - self.errors.len());
            self.errors.push(LineError { position: InputPosition::File, message });
        }
        if !self.errors.is_empty() {
            return Err(ReadError::Bad { errors: self.errors, lines: self.error_count });
        }
        let mut warnings = self.unknown_column_warnings.finish("unknown columns");
        warnings.extend(self.value_warnings.finish("values that are ignored or shortened"));
        if self.is_empty {
            warnings.push("the file has no transactions".into());
        }
        Ok(FileFindings { warnings, profiles: self.profiles })
    }
}

/// Returns the warning about a column that isn't a field.
pub(super) fn unknown_column_warning(name: &str) -> String {
    format!("unknown column `{name}` ignored")
}

/// The warnings about rows that hold the same transaction.
#[derive(Default)]
pub(super) struct Duplicates {
    identical: RowWarnings,
    replaced: RowWarnings,
}

impl Duplicates {
    /// Adds a warning for two successive rows of one transaction.
    pub(super) fn push(&mut self, Duplicate { earlier, later, hash, is_same }: &Duplicate) {
        match is_same {
            true => self.identical.push(|| format!("{earlier} and {later} are identical; one of them is used")),
            false => self.replaced.push(|| {
                format!("{earlier} and {later} have the same transaction {hash}; only the values of {later} are used")
            }),
        }
    }

    /// Returns one sentence for each pair, up to a limit, and then the number of further pairs.
    pub(super) fn finish(self) -> Vec<String> {
        let mut warnings = self.identical.finish("identical pairs");
        warnings.extend(self.replaced.finish("pairs with the same transaction; the later one is used"));
        warnings
    }
}
