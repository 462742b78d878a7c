//! The schedule: which transaction is asked about next?
//!
//! Sans-IO: [`Scheduler::next`] takes the moment and says `Poll` or `WaitUntil`; an extra call does no harm. It knows
//! forecasts, last answers and deadlines, never what a status means.

mod index;
mod queue;
mod scheduler;

use std::time::Duration;

use chrono::{DateTime, Utc};

pub use self::scheduler::Scheduler;
use crate::{
    clock::Mono,
    domain::{forecast::Forecast, ids::RowId},
};

/// Nothing is asked about more often (`service.md` 7.4: retry after 5 seconds).
pub const LEAST_INTERVAL: Duration = Duration::from_secs(5);
/// Nobody waits longer than so many rounds over everything, so that a wrong forecast can't starve anyone.
pub const MOST_SWEEPS: f64 = 4.0;
/// The longest wait after failures in a row: what is out of order is tried once a minute.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask about this one.
    Poll(RowId),
    /// Nothing before this moment.
    WaitUntil(Mono),
    /// Nothing at all, until something is tracked or asked for.
    Idle,
}

/// The scheduler's view of a transaction that is to be polled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PollContext {
    /// When it was last answered, by an earlier run too.
    pub last_answer: Option<DateTime<Utc>>,
    /// When it becomes overdue, if that is still to come or to be confirmed.
    pub deadline: Option<DateTime<Utc>>,
    /// What it waits for.
    pub expectation: Expectation,
    /// Until when it is young, so that its answers should be fresher: for the need, not for the order.
    pub young_until: Option<DateTime<Utc>>,
}

/// What a transaction waits for, and how much it matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expectation {
    /// When the waiting began: what the forecast counts from.
    pub since: DateTime<Utc>,
    /// How long it takes.
    pub forecast: Forecast,
    /// How much a second of delay costs, above 0; 1 for most.
    pub weight: f64,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a record or a "not found".
    Answered,
    /// With a failure of this transaction's request.
    Failed,
    /// With a failure that is none of the transaction's: its turn isn't used up.
    Elsewhere,
}

/// 10, 20, 40, 60, 60 … s after failures in a row.
fn backoff(failures: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    LEAST_INTERVAL.saturating_mul(factor).min(LONGEST_BACKOFF)
}

#[cfg(test)]
mod tests;
