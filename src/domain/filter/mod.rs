//! The filter: one grammar for the dashboard, `list`, `watch` and `export` (`mockups.md`, Filter).
//!
//! A pure predicate over a transaction and its open alerts, and an order. It must never fail on a transaction, and never
//! drop a term that it doesn't understand: that is an error with its place.

mod complete;
mod parse;
mod sort;
pub mod term;
#[cfg(test)]
mod tests;

use std::ops::Range;

use chrono::{DateTime, Utc};

use super::{
    alert::Alert,
    record::{RecordView, StatusRecord},
    transaction::Transaction,
};

pub use complete::{Completion, Named, Names, asked, complete};
pub use sort::{SortBy, SortKey, compare, rank_of};

/// What a filter looks at.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a, R = StatusRecord> {
    /// The transaction, with as much of its record as `R` holds.
    pub tx: &'a Transaction<R>,
    /// Its open alerts.
    pub alerts: &'a [Alert],
}

/// A filter that was understood: terms that must all hold, and an order.
#[derive(Clone, Debug)]
pub struct Filter {
    terms: Vec<term::Term>,
    sort: Vec<SortKey>,
}

/// Why a filter wasn't understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FilterError {
    /// The bytes of the text that are meant, on character boundaries.
    pub at: Range<usize>,
    /// What is wrong, what was expected and the nearest right word.
    pub message: String,
}

/// The text of a filter with another order; the usual one isn't written. What isn't understood is an error.
pub fn in_order(text: &str, order: &[SortKey]) -> Result<String, FilterError> {
    let rest = parse::without_order(text)?;
    if order.is_empty() || order == SortKey::DEFAULT {
        return Ok(rest);
    }
    let order: Vec<_> = order.iter().map(ToString::to_string).collect();
    Ok(format!("{rest} sort:{}", order.join(",")).trim_start().to_owned())
}

impl Filter {
    /// Reads a filter. No text at all means everything.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let (terms, mut sort) = parse::parse(text)?;
        if sort.is_empty() {
            sort.extend(SortKey::DEFAULT);
        }
        Ok(Self { terms, sort })
    }

    /// A filter of these terms, all of which must hold, in the default order.
    pub fn of_terms(terms: impl IntoIterator<Item = term::Term>) -> Self {
        Self { terms: terms.into_iter().collect(), sort: SortKey::DEFAULT.to_vec() }
    }

    /// The filter that everything passes, in the default order.
    pub fn everything() -> Self {
        Self::of_terms([])
    }

    /// Whether every term holds at `now`.
    pub fn matches<R: RecordView>(&self, candidate: &Candidate<R>, now: DateTime<Utc>) -> bool {
        self.terms.iter().all(|term| term.holds(candidate, now))
    }

    /// What must hold, for who looks with other means than [`matches`](Self::matches).
    pub fn terms(&self) -> &[term::Term] {
        &self.terms
    }

    /// A filter that asks for what both ask for, in the order of this one.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self { terms: [other.terms.as_slice(), &self.terms].concat(), sort: self.sort.clone() }
    }

    /// What it asks for by a name, such as `label:batch-17`, each with the filter that asks for nothing else.
    pub fn named(&self) -> Vec<(String, Self)> {
        let named = |term: &term::Term| {
            let name = match &term.test {
                term::Test::Label(label) => format!("label:{label}"),
                term::Test::Ticket(ticket) => format!("ticket:{ticket}"),
                term::Test::Profile(profile) => format!("profile:{profile}"),
                _ => return None,
            };
            (!term.negated).then(|| (name, Self { terms: vec![term.clone()], sort: self.sort.clone() }))
        };
        self.terms.iter().filter_map(named).collect()
    }

    /// The same of one profile alone.
    #[must_use]
    pub fn of_profile(&self, profile: &str) -> Self {
        let of_profile = term::Term { negated: false, test: term::Test::Own(profile.to_owned()) };
        Self { terms: std::iter::once(of_profile).chain(self.terms.iter().cloned()).collect(), sort: self.sort.clone() }
    }

    /// The order, for [`compare`]. Never empty.
    pub fn sort(&self) -> &[SortKey] {
        &self.sort
    }
}
