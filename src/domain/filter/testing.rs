//! The reference for the store's filter and order: evaluates both in memory.
//!
//! Tests compare the store's SQL with it. Production code must never filter or sort in memory.

use std::cmp::{Ordering, Reverse};

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Expression, Filter,
    sort::{SortBy, SortKey},
    term::{
        ChainTest, Comparison, FilterState, FilterTest, RouteEnd, StatusTest, TimeMeasure, contains_ignoring_case,
        equals_ignoring_case, hashtag_label, is_chain_called,
    },
};
use crate::domain::{
    alert::{self, Alert, AlertState},
    ids::ChainId,
    people,
    record::{RecordView, StatusRecord},
    status::RouterStatus,
    transaction::{Tracking, Transaction},
};

/// The input of a filter: a transaction and its alerts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilterInput<'a, R = StatusRecord> {
    /// The transaction. `R` is the part of its record that is loaded.
    pub tx: &'a Transaction<R>,
    /// The open alerts of the transaction.
    pub alerts: &'a [Alert],
}

impl Filter {
    /// Whether the transaction matches at `now`.
    pub(crate) fn matches<R: RecordView>(&self, candidate: &FilterInput<R>, now: DateTime<Utc>) -> bool {
        self.expression.holds(candidate, now)
    }
}

impl Expression {
    /// Whether the expression holds for this transaction at `now`.
    fn holds<R: RecordView>(&self, candidate: &FilterInput<R>, now: DateTime<Utc>) -> bool {
        let holds = |expression: &Self| expression.holds(candidate, now);
        match self {
            Self::Test(test) => test.holds(candidate, now),
            Self::Not(negated) => !holds(negated),
            Self::All(required) => required.iter().all(holds),
            Self::Any(alternatives) => alternatives.iter().any(holds),
        }
    }
}

impl FilterTest {
    /// Whether the test holds for this transaction at `now`.
    fn holds<R: RecordView>(&self, candidate: &FilterInput<R>, now: DateTime<Utc>) -> bool {
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
                let written = [&tx.authors.tracked, &tx.authors.ticket].into_iter();
                let written = written.chain(&tx.authors.labels).chain(&tx.authors.notes);
                let handled = candidate.alerts.iter().filter_map(|alert| alert.handling.as_ref()?.author());
                written.filter_map(Option::as_deref).chain(handled).any(|author| people::is_author(author, name))
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
    fn holds(&self, id: &ChainId, name: String) -> bool {
        self.ids().any(|known| known == id) || equals_ignoring_case(&name, self.name())
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
    let notes = candidate.alerts.iter().filter_map(|alert| alert.handling.as_ref()?.note());
    ids.into_iter().chain(texts).chain(notes).any(&fits) || fits(&tx.from_name()) || fits(&tx.to_name())
}

impl SortKey {
    fn compare(self, a: &FilterInput, b: &FilterInput, now: DateTime<Utc>) -> Ordering {
        let directed = |ordering: Ordering| if self.is_reversed { ordering.reverse() } else { ordering };
        match self.by {
            SortBy::Severity => directed(alert::urgency(b.alerts).cmp(&alert::urgency(a.alerts))),
            SortBy::Due => self.present_first(due(a), due(b)),
            SortBy::Age => directed(b.tx.age(now).cmp(&a.tx.age(now))),
            SortBy::Status => directed(rank(a).cmp(&rank(b)).then_with(|| raw(a).cmp(raw(b)))),
            SortBy::Checked => {
                let is_settled = |candidate: &FilterInput| candidate.tx.state.settled_at.is_some();
                is_settled(a)
                    .cmp(&is_settled(b))
                    .then_with(|| directed(checked_or_settled_at(a).cmp(&checked_or_settled_at(b))))
            }
            SortBy::Changed => {
                self.present_first(a.tx.state.last_changed_at.map(Reverse), b.tx.state.last_changed_at.map(Reverse))
            }
            SortBy::Route => directed(route(a).cmp(&route(b))),
            SortBy::Ticket => self.present_first(ticket(a), ticket(b)),
            SortBy::Hash => directed(a.tx.params.transaction_id.key().cmp(&b.tx.params.transaction_id.key())),
            SortBy::Settled => {
                self.present_first(a.tx.state.settled_at.map(Reverse), b.tx.state.settled_at.map(Reverse))
            }
        }
    }

    /// Compares optional values. Absent values come last in both directions: a person doesn't reverse a list to see
    /// them.
    fn present_first<T: Ord>(self, a: Option<T>, b: Option<T>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) if self.is_reversed => b.cmp(&a),
            (Some(a), Some(b)) => a.cmp(&b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    }
}

/// Compares two transactions by these keys at `now`. The order is total: equal keys are followed by the row number.
pub(crate) fn compare(a: &FilterInput, b: &FilterInput, keys: &[SortKey], now: DateTime<Utc>) -> Ordering {
    let by_keys = keys.iter().map(|key| key.compare(a, b, now)).find(|ordering| ordering.is_ne());
    by_keys.unwrap_or_else(|| a.tx.id.cmp(&b.tx.id))
}

fn due(candidate: &FilterInput) -> Option<DateTime<Utc>> {
    candidate.tx.is_waiting().then(|| candidate.tx.deadline().at)
}

fn checked_or_settled_at(candidate: &FilterInput) -> Option<DateTime<Utc>> {
    candidate.tx.state.settled_at.or(candidate.tx.state.last_checked_at)
}

fn rank(candidate: &FilterInput) -> u8 {
    RouterStatus::sort_rank(candidate.tx.state.status.as_ref())
}

fn raw<'a>(candidate: &FilterInput<'a>) -> &'a str {
    candidate.tx.state.status.as_ref().map_or("", RouterStatus::raw)
}

fn route(candidate: &FilterInput) -> [String; 2] {
    [candidate.tx.from_name().to_lowercase(), candidate.tx.to_name().to_lowercase()]
}

/// Returns the ticket without ASCII case, as the store's index has it.
fn ticket(candidate: &FilterInput) -> Option<String> {
    candidate.tx.params.ticket.as_ref().map(|ticket| ticket.to_ascii_lowercase())
}
