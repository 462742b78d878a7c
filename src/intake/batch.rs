//! Gathers what a reader finds into a batch: errors by line, warnings by kind, duplicates resolved.
//!
//! It must never return transactions while a line is bad, and never grow without bound on a file that is all wrong.

use std::collections::{HashMap, HashSet};

use crate::domain::{ids::ChainId, transaction::NewTransaction};

use super::{Batch, Event, LineError, Place, fields};

/// So many bad lines are named; who has more has one mistake in all of them.
pub(super) const ERROR_LIMIT: usize = 1_000;
/// So many warnings of a kind are given in full.
const WARNING_LIMIT: usize = 10;

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

/// Takes events and makes a batch of them.
pub(super) struct Collector {
    any_chain: bool,
    /// A duplicate empties the place of the earlier one, so that order and line numbers hold.
    slots: Vec<Option<(Place, NewTransaction)>>,
    seen: HashMap<(ChainId, String), usize>,
    columns: HashSet<String>,
    unknown: Warnings,
    clamped: Warnings,
    identical: Warnings,
    replaced: Warnings,
    errors: Vec<LineError>,
    error_count: usize,
}

impl Collector {
    /// One that has taken nothing yet.
    pub(super) fn new(any_chain: bool) -> Self {
        Self {
            any_chain,
            slots: Vec::new(),
            seen: HashMap::new(),
            columns: HashSet::new(),
            unknown: Warnings::default(),
            clamped: Warnings::default(),
            identical: Warnings::default(),
            replaced: Warnings::default(),
            errors: Vec::new(),
            error_count: 0,
        }
    }

    /// Takes what a reader found.
    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Row(place, row) => match fields::transaction(row, self.any_chain) {
                Ok(reading) => {
                    if let Some(clamped) = reading.clamped {
                        self.clamped.push(|| format!("{place}: {clamped}"));
                    }
                    self.add(place, reading.transaction);
                }
                Err(refusal) => self.fail(place, || refusal.message()),
            },
            Event::Bad(place, message) => self.fail(place, || message),
            Event::UnknownColumn(name) => {
                if !self.columns.contains(&name) {
                    self.unknown.push(|| format!("the column `{name}` is unknown and is ignored"));
                    self.columns.insert(name);
                }
            }
        }
    }

    fn fail(&mut self, place: Place, message: impl FnOnce() -> String) {
        self.error_count += 1;
        if self.errors.len() < ERROR_LIMIT {
            self.errors.push(LineError { place, message: message() });
        }
    }

    fn add(&mut self, place: Place, new: NewTransaction) {
        let key = (new.told.from_chain.clone(), new.told.transaction_id.key());
        let earlier = self.seen.insert(key, self.slots.len());
        let earlier = earlier.and_then(|index| self.slots.get_mut(index)).and_then(Option::take);
        if let Some((before, old)) = earlier {
            if old == new {
                self.identical.push(|| format!("{before} and {place} are the same; one of them is kept"));
            } else {
                let hash = &new.told.transaction_id;
                self.replaced.push(|| format!("{before} and {place} both hold {hash}; {place} counts"));
            }
        }
        self.slots.push(Some((place, new)));
    }

    /// The batch, or every bad line.
    pub(super) fn finish(mut self) -> Result<Batch, Vec<LineError>> {
        if self.error_count > self.errors.len() {
            let message = format!("and {} more are bad", self.error_count - self.errors.len());
            self.errors.push(LineError { place: Place::File, message });
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let mut warnings = self.unknown.finish("columns that are unknown");
        warnings.extend(self.clamped.finish("estimates that are too long"));
        warnings.extend(self.identical.finish("pairs that are the same"));
        warnings.extend(self.replaced.finish("pairs that hold the same transaction; the later one counts"));
        if self.slots.is_empty() {
            warnings.push("the file holds no transactions".into());
        }
        let transactions = self.slots.into_iter().flatten().map(|(_, new)| new).collect();
        Ok(Batch { transactions, warnings })
    }
}
