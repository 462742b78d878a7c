//! The filter: one grammar for the dashboard, `list`, `watch` and `export` (`mockups.md`, Filter).
//!
//! A pure predicate over a transaction and its open alerts, and a sort order. Matching must never fail. Parsing must
//! never drop a term that it doesn't understand: such a term is an error with its position.

mod parse;
#[cfg(test)]
pub(crate) mod reference_order;
mod sort;
pub(crate) mod term;
#[cfg(test)]
mod tests;

use std::ops::Range;

use chrono::{DateTime, Utc};
pub(crate) use parse::{keys, states};
pub(crate) use sort::{Direction, SortBy, SortKey};

use super::{
    alert::Alert,
    record::{RecordView, StatusRecord},
    transaction::Transaction,
};

/// A kind of name that a filter can ask for and only the store knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Tickets.
    Ticket,
    /// Labels.
    Label,
    /// Profiles.
    Profile,
    /// People.
    Person,
}

impl Named {
    /// The kind of name that follows this key of a term.
    pub fn of(key: &str) -> Option<Self> {
        match key {
            "ticket" => Some(Self::Ticket),
            "label" => Some(Self::Label),
            "profile" => Some(Self::Profile),
            "by" => Some(Self::Person),
            _ => None,
        }
    }
}

/// The input of a filter: a transaction and its alerts.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a, R = StatusRecord> {
    /// The transaction. `R` is the part of its record that is loaded.
    pub tx: &'a Transaction<R>,
    /// The open alerts of the transaction.
    pub alerts: &'a [Alert],
}

/// A parsed filter: terms that must all hold, and a sort order.
#[derive(Clone, Debug)]
pub struct Filter {
    terms: Vec<term::Term>,
    sort: Vec<SortKey>,
}

/// Why a filter can't be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FilterError {
    /// The byte range of the error in the text, on character boundaries.
    pub at: Range<usize>,
    /// What is wrong, what was expected, and the nearest valid word.
    pub message: String,
}

/// Returns a filter's text with another sort order; the default order is left out. An invalid filter is an error.
pub(crate) fn in_order(text: &str, order: &[SortKey]) -> Result<String, FilterError> {
    let rest = parse::without_order(text)?;
    if order.is_empty() || order == SortKey::DEFAULT {
        return Ok(rest);
    }
    let order: Vec<_> = order.iter().map(ToString::to_string).collect();
    Ok(format!("{rest} sort:{}", order.join(",")).trim_start().to_owned())
}

impl Filter {
    /// Parses the filter of a person without a name: the term `mine` is an error. Empty text matches everything.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        Self::parse_of(text, None)
    }

    /// Parses the filter of a person with this name, which the term `mine` stands for. Empty text matches everything.
    pub fn parse_of(text: &str, person: Option<&str>) -> Result<Self, FilterError> {
        let (terms, mut sort) = parse::parse(text, person)?;
        if sort.is_empty() {
            sort.extend(SortKey::DEFAULT);
        }
        Ok(Self { terms, sort })
    }

    /// Returns a filter of these terms, all of which must hold, in the default order.
    pub fn of_terms(terms: impl IntoIterator<Item = term::Term>) -> Self {
        Self { terms: terms.into_iter().collect(), sort: SortKey::DEFAULT.to_vec() }
    }

    /// Returns the filter that matches everything, in the default order.
    pub fn everything() -> Self {
        Self::of_terms([])
    }

    /// Whether every term holds at `now`.
    pub fn matches<R: RecordView>(&self, candidate: &Candidate<R>, now: DateTime<Utc>) -> bool {
        self.terms.iter().all(|term| term.holds(candidate, now))
    }

    /// Returns the terms, for callers that search by other means than [`matches`](Self::matches).
    pub fn terms(&self) -> &[term::Term] {
        &self.terms
    }

    /// Returns a filter that requires the terms of both filters, in the order of this filter.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self { terms: [other.terms.as_slice(), &self.terms].concat(), sort: self.sort.clone() }
    }

    /// Returns the terms that ask for a name or a text, such as `label:batch-17`, each with a filter of that term alone.
    pub fn named(&self) -> Vec<(String, Self)> {
        let named = |term: &term::Term| {
            let name = match &term.test {
                term::Test::Label(label) => format!("label:{label}"),
                term::Test::Ticket(ticket) => format!("ticket:{ticket}"),
                term::Test::Profile(profile) => format!("profile:{profile}"),
                term::Test::By(name) => format!("by:{name}"),
                term::Test::Chain(end, chain) => format!("{end}:{}", chain.name()),
                term::Test::Word(text) | term::Test::Exact(text) => text.clone(),
                term::Test::Pattern(_)
                | term::Test::Is(_)
                | term::Test::Status(_)
                | term::Test::Span(..)
                | term::Test::Own(_) => return None,
            };
            (!term.negated).then(|| (name, Self { terms: vec![term.clone()], sort: self.sort.clone() }))
        };
        self.terms.iter().filter_map(named).collect()
    }

    /// Returns the same filter, limited to one profile.
    #[must_use]
    pub fn of_profile(&self, profile: &str) -> Self {
        let of_profile = term::Term { negated: false, test: term::Test::Own(profile.to_owned()) };
        Self { terms: std::iter::once(of_profile).chain(self.terms.iter().cloned()).collect(), sort: self.sort.clone() }
    }

    /// Returns the sort order. Never empty.
    pub fn sort(&self) -> &[SortKey] {
        &self.sort
    }
}
