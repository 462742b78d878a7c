//! One term of a filter, and whether it holds.
//!
//! What is dear (lower case, patterns, names of chains) is done when the term is made: it must never be done again for
//! each of ten thousand rows.

use std::cmp::Ordering;

use chrono::{DateTime, TimeDelta, Utc};
use regex::Regex;

use super::{
    super::{
        alert::AlertState,
        chains,
        ids::ChainId,
        record::RecordView,
        status::RouterStatus,
        transaction::{Tracking, Transaction},
    },
    Candidate,
};

/// A test, or its contrary.
#[derive(Clone, Debug)]
pub struct Term {
    /// Whether the contrary is asked.
    pub negated: bool,
    /// What is asked.
    pub test: Test,
}

/// What can be asked of a transaction.
#[derive(Clone, Debug)]
pub enum Test {
    /// A bare word, in lower case.
    Word(String),
    /// Exact text.
    Exact(String),
    /// A regular expression.
    Pattern(Regex),
    /// A state.
    Is(State),
    /// Any of these.
    Status(Vec<StatusTest>),
    /// A chain at one end or the other.
    Chain(Side, ChainTest),
    /// How a span compares.
    Span(Measure, Comparison, TimeDelta),
    /// In lower case, like the next two.
    Label(String),
    /// A ticket.
    Ticket(String),
    /// A profile, without case.
    Profile(String),
    /// Exactly this profile.
    Own(String),
}

/// `is:` and what it asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// An alert stands.
    Attention,
    /// Past its deadline, and so confirmed.
    Overdue,
    /// Polling is owed.
    Unsettled,
    /// No polling is owed.
    Settled,
    /// An alert fires: nobody has said anything of it.
    Firing,
    /// Alerts stand, none of them fires, and one is acknowledged.
    Acked,
    /// Alerts stand, none of them fires, and one is snoozed.
    Snoozed,
    /// Unsettled, and nobody stopped it.
    Active,
    /// The service refused its parameters.
    Parked,
    /// A person stopped it.
    Untracked,
}

/// One of the values of `status:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusTest {
    /// One of the six.
    Documented(RouterStatus),
    /// Any other.
    Unknown,
    /// No answer yet.
    NoAnswer,
}

/// Which ends of the route are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Source or destination.
    Either,
    /// The source.
    From,
    /// The destination.
    To,
}

/// A chain by ID, or by a name without case.
#[derive(Clone, Debug)]
pub struct ChainTest {
    id: ChainId,
    lower: String,
    table_id: Option<&'static ChainId>,
}

/// What is measured in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Since submission.
    Age,
    /// Until the deadline, of those that wait; negative once it has passed.
    Due,
    /// Since the last answer; infinite if there was none.
    Checked,
}

/// How two spans compare.
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

impl Term {
    /// The term `is:state`.
    pub fn is(state: State) -> Self {
        Self { negated: false, test: Test::Is(state) }
    }

    /// The term `-is:state`.
    pub fn is_not(state: State) -> Self {
        Self { negated: true, test: Test::Is(state) }
    }

    /// The term `status:name` of a documented status.
    pub fn status(status: RouterStatus) -> Self {
        Self { negated: false, test: Test::Status(vec![StatusTest::Documented(status)]) }
    }

    /// Whether the term holds for this transaction at `now`.
    pub(super) fn holds<R: RecordView>(&self, candidate: &Candidate<R>, now: DateTime<Utc>) -> bool {
        self.test.holds(candidate, now) != self.negated
    }
}

impl Test {
    fn holds<R: RecordView>(&self, candidate: &Candidate<R>, now: DateTime<Utc>) -> bool {
        let tx = candidate.tx;
        match self {
            Self::Word(word) => any_text(tx, |text| contains(text, word)),
            Self::Exact(exact) => any_text(tx, |text| text.contains(exact.as_str())),
            Self::Pattern(pattern) => any_text(tx, |text| pattern.is_match(text)),
            Self::Is(state) => state.holds(candidate, now),
            Self::Status(wanted) => wanted.iter().any(|wanted| wanted.holds(tx.state.status.as_ref())),
            Self::Chain(side, chain) => {
                let from = || chain.holds(&tx.params.from_chain, tx.from_name());
                let to = || chain.holds(&tx.params.to_chain, tx.to_name());
                match side {
                    Side::Either => from() || to(),
                    Side::From => from(),
                    Side::To => to(),
                }
            }
            Self::Span(measure, comparison, limit) => measure.holds(tx, now, |span| comparison.holds(span.cmp(limit))),
            Self::Label(label) => tx.labels.iter().any(|own| same(own, label)),
            Self::Ticket(ticket) => tx.params.ticket.as_deref().is_some_and(|own| same(own, ticket)),
            Self::Profile(profile) => same(&tx.profile, profile),
            Self::Own(profile) => tx.profile == *profile,
        }
    }
}

impl State {
    fn holds<R: RecordView>(self, candidate: &Candidate<R>, now: DateTime<Utc>) -> bool {
        let tx = candidate.tx;
        let any = |state| candidate.alerts.iter().any(|alert| alert.state(now) == state);
        match self {
            Self::Attention => !candidate.alerts.is_empty(),
            Self::Overdue => tx.is_overdue(),
            Self::Unsettled => !tx.is_settled(),
            Self::Settled => tx.is_settled(),
            Self::Firing => any(AlertState::Firing),
            Self::Acked => any(AlertState::Acknowledged) && !any(AlertState::Firing),
            Self::Snoozed => any(AlertState::Snoozed) && !any(AlertState::Firing),
            Self::Active => tx.wants_polling() || (!tx.is_settled() && tx.tracking != Tracking::Untracked),
            Self::Parked => tx.is_parked(),
            Self::Untracked => tx.tracking == Tracking::Untracked,
        }
    }
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
    /// A chain as a person writes it. Any text may be the name that the service has for one.
    pub(super) fn new(text: &str) -> Self {
        let table_id = chains::named(text).map(|chain| &chain.id);
        Self { id: ChainId::new(text), lower: text.to_lowercase(), table_id }
    }

    /// The IDs that it may mean: as it was written, and that of the shipped chain with this name.
    pub fn ids(&self) -> impl Iterator<Item = &ChainId> {
        std::iter::once(&self.id).chain(self.table_id)
    }

    /// The name, in lower case.
    pub fn name(&self) -> &str {
        &self.lower
    }

    fn holds(&self, id: &ChainId, name: String) -> bool {
        self.id == *id || self.table_id == Some(id) || same(&name, &self.lower)
    }
}

impl Measure {
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

/// Whether any text that a person would search by fits.
fn any_text<R: RecordView>(tx: &Transaction<R>, fits: impl Fn(&str) -> bool) -> bool {
    let params = &tx.params;
    let own = [params.transaction_id.as_str(), params.from_chain.as_str(), params.to_chain.as_str()];
    let more = params.ticket.iter().chain(&tx.labels).chain(&tx.notes).map(String::as_str);
    own.into_iter().chain(more).any(&fits) || fits(&tx.from_name()) || fits(&tx.to_name())
}

/// Whether a text contains a word that is in lower case, without case. Nearly all text is ASCII and needs no copy.
pub fn contains(text: &str, lower: &str) -> bool {
    let Some((first, rest)) = lower.as_bytes().split_first() else { return true };
    if !text.is_ascii() || !lower.is_ascii() {
        return text.to_lowercase().contains(lower);
    }
    // A million texts are looked through as a person types: most places are passed over by their first letter.
    let (text, upper) = (text.as_bytes(), first.to_ascii_uppercase());
    let places = text.len().saturating_sub(rest.len());
    let starts = text.iter().take(places).enumerate().filter(|(_, letter)| **letter == *first || **letter == upper);
    starts.into_iter().any(|(place, _)| {
        text.get(place + 1..place + 1 + rest.len()).is_some_and(|found| found.eq_ignore_ascii_case(rest))
    })
}

/// Whether a text is one that is in lower case, without case.
pub fn same(text: &str, lower: &str) -> bool {
    if text.is_ascii() { text.eq_ignore_ascii_case(lower) } else { text.to_lowercase() == lower }
}
