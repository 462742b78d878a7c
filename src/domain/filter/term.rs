//! One test of a filter, and whether it holds.
//!
//! Expensive work (lower case, patterns, chain names) is done when the test is created. Except for the names of
//! routes, it must never be repeated for each of ten thousand rows.

use std::{cmp::Ordering, fmt};

use chrono::{DateTime, TimeDelta, Utc};
use regex::Regex;

use super::{
    super::{
        alert::AlertState,
        chains,
        ids::ChainId,
        people,
        record::RecordView,
        status::RouterStatus,
        transaction::{Tracking, Transaction},
    },
    FilterInput,
};

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
    /// Exactly this profile.
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

impl FilterTest {
    /// Whether the test holds for this transaction at `now`.
    pub(super) fn holds<R: RecordView>(&self, candidate: &FilterInput<R>, now: DateTime<Utc>) -> bool {
        let tx = candidate.tx;
        let has_label = |label: &str| tx.labels.iter().any(|own| equals_ignoring_case(own, label));
        match self {
            Self::Word(word) => matches_any_text(candidate, |text| contains_ignoring_case(text, word)),
            Self::Hashtag(word) => {
                has_label(hashtag_label(word)) || matches_any_text(candidate, |text| contains_ignoring_case(text, word))
            }
            Self::Exact(exact) => matches_any_text(candidate, |text| text.contains(exact.as_str())),
            Self::Pattern(pattern) => matches_any_text(candidate, |text| pattern.is_match(text)),
            Self::Is(state) => state.holds(candidate, now),
            Self::Status(wanted) => wanted.iter().any(|wanted| wanted.holds(tx.state.status.as_ref())),
            Self::Chain(side, chain) => {
                let from = || chain.holds(&tx.params.from_chain, tx.from_name());
                let to = || chain.holds(&tx.params.to_chain, tx.to_name());
                match side {
                    RouteEnd::Either => from() || to(),
                    RouteEnd::From => from(),
                    RouteEnd::To => to(),
                }
            }
            Self::Route { from, to } => {
                is_chain_called(from, tx.params.from_chain.as_str(), &tx.from_name())
                    && is_chain_called(to, tx.params.to_chain.as_str(), &tx.to_name())
            }
            Self::Span(measure, comparison, limit) => measure.holds(tx, now, |span| comparison.holds(span.cmp(limit))),
            Self::Label(label) => has_label(label),
            Self::Ticket(ticket) => tx.params.ticket.as_deref().is_some_and(|own| equals_ignoring_case(own, ticket)),
            Self::Profile(profile) => equals_ignoring_case(&tx.profile, profile),
            Self::By(name) => {
                let handled = candidate.alerts.iter().filter_map(|alert| alert.handling.as_ref()?.author());
                tx.authors.all().chain(handled).any(|author| people::is_author(author, name))
            }
            Self::Own(profile) => tx.profile == *profile,
        }
    }
}

impl FilterState {
    fn holds<R: RecordView>(self, candidate: &FilterInput<R>, now: DateTime<Utc>) -> bool {
        let tx = candidate.tx;
        let has_alert = |state| candidate.alerts.iter().any(|alert| alert.state(now) == state);
        match self {
            Self::Attention => !candidate.alerts.is_empty(),
            Self::Overdue => tx.is_overdue(),
            Self::Unsettled => !tx.is_settled(),
            Self::Settled => tx.is_settled(),
            Self::Firing => has_alert(AlertState::Firing),
            Self::Acked => has_alert(AlertState::Acknowledged) && !has_alert(AlertState::Firing),
            Self::Snoozed => has_alert(AlertState::Snoozed) && !has_alert(AlertState::Firing),
            Self::Active => !tx.is_settled() && tx.tracking != Tracking::Untracked,
            Self::Parked => tx.is_parked(),
            Self::Untracked => tx.tracking == Tracking::Untracked,
            Self::Reverted => has_verdict(tx, "reverted"),
            Self::Pending => has_verdict(tx, "pending"),
            Self::WrongChain => has_verdict(tx, "elsewhere"),
        }
    }
}

/// Whether the source chain says this of a transaction: a name of a `ChainVerdict`.
fn has_verdict<R>(tx: &Transaction<R>, verdict: &str) -> bool {
    tx.on_chain.as_ref().is_some_and(|known| known.source.verdict.name() == verdict)
}

impl StatusTest {
    fn holds(&self, status: Option<&RouterStatus>) -> bool {
        match (self, status) {
            (Self::Documented(wanted), Some(status)) => wanted == status,
            (Self::Unknown, Some(RouterStatus::Unknown(_))) | (Self::NoAnswer, None) => true,
            _ => false,
        }
    }
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

    fn holds(&self, id: &ChainId, name: String) -> bool {
        self.id == *id || self.table_id == Some(id) || equals_ignoring_case(&name, &self.lower)
    }
}

impl TimeMeasure {
    fn holds<R: RecordView>(self, tx: &Transaction<R>, now: DateTime<Utc>, fits: impl Fn(TimeDelta) -> bool) -> bool {
        let span = match self {
            Self::Age => Some(TimeDelta::from_std(tx.age(now)).unwrap_or(TimeDelta::MAX)),
            Self::Due => tx.is_waiting().then(|| tx.deadline().at - now),
            Self::Checked => Some(tx.state.last_checked_at.map_or(TimeDelta::MAX, |checked| now - checked)),
        };
        span.is_some_and(fits)
    }
}

impl Comparison {
    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::More => ordering.is_gt(),
            Self::MoreOrEqual => ordering.is_ge(),
        }
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

/// Whether any text that a person would search for fits.
fn matches_any_text<R: RecordView>(candidate: &FilterInput<R>, fits: impl Fn(&str) -> bool) -> bool {
    let tx = candidate.tx;
    let params = &tx.params;
    let ids = [
        params.transaction_id.as_str(),
        params.from_chain.as_str(),
        params.to_chain.as_str(),
        params.quote_id.as_str(),
    ];
    let given = params.request_id.iter().chain(&params.from_address);
    let texts = given.chain(&params.ticket).chain(&tx.labels).chain(&tx.notes).map(String::as_str);
    let notes = candidate.alerts.iter().filter_map(|alert| alert.acknowledged()?.note.as_deref());
    ids.into_iter().chain(texts).chain(notes).any(&fits) || fits(&tx.from_name()) || fits(&tx.to_name())
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
