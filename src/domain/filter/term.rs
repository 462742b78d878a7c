//! One test of a filter.
//!
//! Expensive work (lower case, patterns, chain names) is done when the test is created. Except for the names of
//! routes, it must never be repeated for each of ten thousand rows.

use std::fmt;

use chrono::TimeDelta;
use regex::Regex;

use super::super::{chains, ids::ChainId, status::RouterStatus};

/// A test of a transaction.
#[derive(Clone, Debug)]
pub enum FilterTest {
    /// A word to search for, in lower case.
    Word(String),
    /// Text to search for exactly.
    Exact(String),
    /// A regular expression.
    Pattern(Regex),
    /// A state of the transaction.
    Is(FilterState),
    /// Any of these statuses.
    Status(Vec<StatusTest>),
    /// A chain at the source, the destination or either.
    Chain(RouteEnd, ChainTest),
    /// A route by the displayed names of its chains, in lower case.
    Route { from: String, to: String },
    /// A comparison of a duration.
    Span(TimeMeasure, Comparison, TimeDelta),
    /// A label, in lower case.
    Label(String),
    /// A ticket, in lower case.
    Ticket(String),
    /// A profile, in lower case.
    Profile(String),
    /// A person who wrote a part of the transaction or handled an alert, in lower case.
    By(String),
    /// A label as the lists show it, `#vip`, or a text that contains this, such as the ticket `#4412`; in lower case.
    Hashtag(String),
    /// This profile alone, in its exact spelling: hoptop adds this test, and no term has it.
    Own(String),
}

/// The states that `is:` can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterState {
    /// An alert is active.
    Attention,
    /// Past the deadline, confirmed by an answer.
    Overdue,
    /// Not settled.
    Unsettled,
    Settled,
    /// An alert fires: nobody has handled it.
    Firing,
    /// Alerts are active, none of them fires, and at least one is acknowledged.
    Acked,
    /// Alerts are active, none of them fires, and at least one is snoozed.
    Snoozed,
    /// Unsettled, and nobody stopped the polling.
    Active,
    /// The service refused the parameters.
    Parked,
    /// A person stopped the polling.
    Untracked,
    /// The source chain says that the transaction reverted.
    Reverted,
    /// The source chain says that the transaction isn't mined yet.
    Pending,
    /// The transaction was found on another chain than the given source.
    WrongChain,
}

/// A value of `status:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusTest {
    /// One of the six documented statuses.
    Documented(RouterStatus),
    /// Any other status.
    Unknown,
    /// No answer yet.
    NoAnswer,
}

/// The ends of a route that a test looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteEnd {
    /// Source or destination.
    Either,
    From,
    To,
}

impl fmt::Display for RouteEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Either => "chain",
            Self::From => "from",
            Self::To => "to",
        })
    }
}

/// A chain by its ID, or by its name without case.
#[derive(Clone, Debug)]
pub struct ChainTest {
    id: ChainId,
    lower: String,
    table_id: Option<&'static ChainId>,
}

/// The durations that a term can compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeMeasure {
    /// The time since submission.
    Age,
    /// The time until the deadline, for transactions that wait; negative once the deadline has passed.
    Due,
    /// The time since the last answer; infinite if there was none.
    Checked,
}

/// A comparison of two durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    More,
    /// `>=`
    MoreOrEqual,
}

/// Returns the label of a [`FilterTest::Hashtag`].
pub(crate) fn hashtag_label(word: &str) -> &str {
    word.strip_prefix('#').unwrap_or(word)
}

impl ChainTest {
    /// Reads a chain as a person writes it. Any text is accepted, since the service may have a chain of that name.
    pub(super) fn new(text: &str) -> Self {
        let table_id = chains::find_by_name(text).map(|chain| &chain.id);
        Self { id: ChainId::new(text), lower: text.to_lowercase(), table_id }
    }

    /// Returns the IDs that the text may mean: the text itself, and the ID of the shipped chain with this name.
    pub fn ids(&self) -> impl Iterator<Item = &ChainId> {
        std::iter::once(&self.id).chain(self.table_id)
    }

    /// Returns the name, in lower case.
    pub fn name(&self) -> &str {
        &self.lower
    }
}

/// Whether a chain is displayed as `lower`, or has this ID or alias, ignoring case. `lower` must be in lower case.
pub(crate) fn is_chain_called(lower: &str, id: &str, name: &str) -> bool {
    let is_shipped = || chains::find_by_name(lower).is_some_and(|chain| chain.id.as_str() == id);
    equals_ignoring_case(id, lower)
        || equals_ignoring_case(name, lower)
        || equals_ignoring_case(&chains::short_name(&ChainId::new(id), Some(name)), lower)
        || is_shipped()
}

/// Whether a text contains `lower`, ignoring case. `lower` must be in lower case. ASCII text isn't copied.
pub(crate) fn contains_ignoring_case(text: &str, lower: &str) -> bool {
    let Some((first, rest)) = lower.as_bytes().split_first() else { return true };
    if !text.is_ascii() || !lower.is_ascii() {
        return text.to_lowercase().contains(lower);
    }
    // A million texts are searched while a person types: most positions are skipped by their first letter.
    let (text, upper) = (text.as_bytes(), first.to_ascii_uppercase());
    let position_count = text.len().saturating_sub(rest.len());
    let starts =
        text.iter().take(position_count).enumerate().filter(|(_, letter)| **letter == *first || **letter == upper);
    starts.into_iter().any(|(position, _)| {
        text.get(position + 1..position + 1 + rest.len()).is_some_and(|found| found.eq_ignore_ascii_case(rest))
    })
}

/// Whether a text equals `lower`, ignoring case. `lower` must be in lower case.
pub(crate) fn equals_ignoring_case(text: &str, lower: &str) -> bool {
    if text.is_ascii() { text.eq_ignore_ascii_case(lower) } else { text.to_lowercase() == lower }
}
