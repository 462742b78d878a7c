//! The reference for the store's order: compares two transactions in memory.
//!
//! Tests compare the order of the store's SQL with it. Production code must never sort in memory.

use std::cmp::{Ordering, Reverse};

use chrono::{DateTime, Utc};

use super::{
    FilterInput,
    sort::{SortBy, SortKey},
};
use crate::domain::{alert, status::RouterStatus};

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
