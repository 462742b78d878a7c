//! Gathers what a reader finds: errors by line, warnings by kind, duplicates resolved.
//!
//! It must never call a file fine while a line of it is bad, and never grow without bound on one that is all wrong.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::domain::{
    ids::{ChainId, TxHash},
    transaction::NewTransaction,
};

use super::{Batch, Event, Found, LineError, Place, ReadError, Stop, fields};

/// So many bad lines are named; who has more has one mistake in all of them.
pub(super) const ERROR_LIMIT: usize = 1_000;
/// So many warnings of a kind are given in full.
const WARNING_LIMIT: usize = 10;
/// So many unknown columns are told apart. Each line of JSON may bring its own.
pub(super) const COLUMN_LIMIT: usize = 1_000;
/// So many profiles are told apart.
pub(super) const PROFILE_LIMIT: usize = 100;

/// Warnings of one kind: the first few, and how many there were.
#[derive(Default)]
struct Warnings {
    kept: Vec<String>,
    count: usize,
}

impl Warnings {
    fn push(&mut self, warning: impl FnOnce() -> String) {
        self.count += 1;
        if self.kept.len() < WARNING_LIMIT {
            self.kept.push(warning());
        }
    }

    fn finish(self, kind: &str) -> Vec<String> {
        let mut warnings = self.kept;
        if self.count > WARNING_LIMIT {
            warnings.push(format!("and {} more {kind}", self.count - WARNING_LIMIT));
        }
        warnings
    }
}

/// Takes events: hands rows that are fine on, and gathers the rest.
pub(super) struct Collector<'a, E> {
    any_chain: bool,
    keep: &'a mut dyn FnMut(Place, NewTransaction) -> Result<(), E>,
    failed: Option<E>,
    is_empty: bool,
    columns: HashSet<String>,
    unknown: Warnings,
    clamped: Warnings,
    profiles: BTreeMap<String, usize>,
    errors: Vec<LineError>,
    error_count: usize,
}

impl<'a, E> Collector<'a, E> {
    /// One that has taken nothing yet.
    pub(super) fn new(any_chain: bool, keep: &'a mut dyn FnMut(Place, NewTransaction) -> Result<(), E>) -> Self {
        Self {
            any_chain,
            keep,
            failed: None,
            is_empty: true,
            columns: HashSet::new(),
            unknown: Warnings::default(),
            clamped: Warnings::default(),
            profiles: BTreeMap::new(),
            errors: Vec::new(),
            error_count: 0,
        }
    }

    /// Takes what a reader found.
    pub(super) fn take(&mut self, event: Event) -> Result<(), Stop> {
        match event {
            Event::Row(place, row) => match fields::transaction(row, self.any_chain) {
                Ok(reading) => {
                    if let Some(clamped) = reading.clamped {
                        self.clamped.push(|| format!("{place}: {clamped}"));
                    }
                    reading.profile.into_iter().for_each(|profile| self.count(profile));
                    return self.hand_on(place, reading.transaction);
                }
                Err(refusal) => self.fail(place, || refusal.message()),
            },
            Event::Bad(place, message) => self.fail(place, || message),
            Event::UnknownColumn(name) => self.unknown_column(name),
        }
        Ok(())
    }

    /// Of those beyond the limit it is known only that they are others.
    fn count(&mut self, profile: String) {
        let is_told_apart = self.profiles.len() < PROFILE_LIMIT || self.profiles.contains_key(&profile);
        *self.profiles.entry(if is_told_apart { profile } else { String::new() }).or_default() += 1;
    }

    fn hand_on(&mut self, place: Place, new: NewTransaction) -> Result<(), Stop> {
        self.is_empty = false;
        // Once a line is bad, the others are read only to say whether they are too.
        if self.error_count > 0 {
            return Ok(());
        }
        (self.keep)(place, new).map_err(|error| {
            self.failed = Some(error);
            Stop
        })
    }

    fn fail(&mut self, place: Place, message: impl FnOnce() -> String) {
        self.error_count += 1;
        if self.errors.len() < ERROR_LIMIT {
            self.errors.push(LineError { place, message: message() });
        }
    }

    fn unknown_column(&mut self, name: String) {
        if fields::is_exported(&name) || self.columns.contains(&name) {
            return;
        }
        self.unknown.push(|| unknown_column(&name));
        if self.columns.len() < COLUMN_LIMIT {
            self.columns.insert(name);
        }
    }

    /// What was ignored or changed, or why the file isn't taken.
    pub(super) fn finish(mut self) -> Result<Found, ReadError<E>> {
        if let Some(error) = self.failed {
            return Err(ReadError::Keep(error));
        }
        if self.error_count > self.errors.len() {
            let message = format!("and {} more are bad", self.error_count - self.errors.len());
            self.errors.push(LineError { place: Place::File, message });
        }
        if !self.errors.is_empty() {
            return Err(ReadError::Bad(self.errors));
        }
        let mut warnings = self.unknown.finish("columns that are unknown");
        warnings.extend(self.clamped.finish("estimates that are too long"));
        if self.is_empty {
            warnings.push("the file holds no transactions".into());
        }
        Ok(Found { warnings, profiles: self.profiles })
    }
}

/// The warning of a column that means nothing to us.
pub(super) fn unknown_column(name: &str) -> String {
    format!("the column `{name}` is unknown and is ignored")
}

/// The warnings of rows that hold the same transaction.
#[derive(Default)]
pub struct Duplicates {
    identical: Warnings,
    replaced: Warnings,
}

impl Duplicates {
    /// Takes two rows that follow each other: both hold `hash`, and maybe everything else too.
    pub fn push(&mut self, (earlier, later): (&str, &str), hash: &TxHash, same: bool) {
        match same {
            true => self.identical.push(|| format!("{earlier} and {later} are the same; one of them is kept")),
            false => self.replaced.push(|| format!("{earlier} and {later} both hold {hash}; {later} counts")),
        }
    }

    /// A sentence each, up to a bound.
    pub fn finish(self) -> Vec<String> {
        let mut warnings = self.identical.finish("pairs that are the same");
        warnings.extend(self.replaced.finish("pairs that hold the same transaction; the later one counts"));
        warnings
    }
}

/// The rows of a file that is small enough for memory.
#[derive(Default)]
pub(super) struct Rows {
    /// A duplicate empties the place of the earlier one, so that order and line numbers hold.
    slots: Vec<Option<(Place, NewTransaction)>>,
    seen: HashMap<(ChainId, String), usize>,
    duplicates: Duplicates,
}

impl Rows {
    pub(super) fn push(&mut self, place: Place, new: NewTransaction) {
        let key = (new.params.from_chain.clone(), new.params.transaction_id.key());
        let earlier = self.seen.insert(key, self.slots.len());
        let earlier = earlier.and_then(|index| self.slots.get_mut(index)).and_then(Option::take);
        if let Some((before, old)) = earlier {
            let places = (before.to_string(), place.to_string());
            self.duplicates.push((&places.0, &places.1), &new.params.transaction_id, old == new);
        }
        self.slots.push(Some((place, new)));
    }

    pub(super) fn finish(self, mut warnings: Vec<String>) -> Batch {
        warnings.extend(self.duplicates.finish());
        Batch { transactions: self.slots.into_iter().flatten().map(|(_, new)| new).collect(), warnings }
    }
}
