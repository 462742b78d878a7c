//! The schedule: which transaction is polled next?
//!
//! Sans-IO: `Scheduler::next_poll` takes the moment and returns `Poll` or `WaitUntil`; an extra call does no harm. The
//! schedule knows forecasts, last answers and deadlines. The schedule must never know the meaning of a status.

mod index;
mod queue;
mod scheduler;

use std::time::Duration;

use chrono::{DateTime, Utc};

pub use self::scheduler::Scheduler;
use crate::{
    clock::MonotonicTime,
    domain::{
        forecast::{Forecast, Lognormal},
        ids::RowId,
    },
};

/// The shortest time between two requests about one transaction (`service.md` 7.4: retry after 5 seconds).
pub const MIN_INTERVAL: Duration = Duration::from_secs(5);
/// The longest wait of a transaction, in sweeps: as many polls as there are watched transactions. So a wrong forecast
/// can't starve any.
pub(crate) const MAX_SWEEPS: f64 = 4.0;
/// The longest wait after failures in a row.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// The scheduler's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPoll {
    /// Poll this transaction.
    Poll(RowId),
    /// Poll nothing before this moment.
    WaitUntil(MonotonicTime),
    /// Poll nothing until a transaction is watched or requested.
    Idle,
}

/// The scheduler's view of a transaction that is to be polled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PollContext {
    /// The moment of the last answer, also of an earlier run.
    pub last_answer: Option<DateTime<Utc>>,
    /// The moment at which the transaction becomes overdue; `None` if none applies, or if a later answer confirmed the
    /// state.
    pub deadline: Option<DateTime<Utc>>,
    /// The awaited event.
    pub expectation: Expectation,
    /// The end of the time in which fresher answers are needed. This moment affects the need, not the order of polls.
    pub young_until: Option<DateTime<Utc>>,
}

/// The event that a transaction waits for, and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expectation {
    /// The moment from which the forecast counts.
    pub since: DateTime<Utc>,
    /// The distribution of the time from `since` to the event.
    pub forecast: Forecast,
    /// The distribution of the time from `since` until the service knows the transaction; `None` once it does.
    pub first_answer: Option<Lognormal>,
    /// The cost of a second of delay, above 0; 1 for most transactions.
    pub weight: f64,
}

/// How a request ended, for the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollResult {
    /// With a record or a "not found".
    Answered,
    /// With a failure of this transaction's request.
    Failed,
    /// With a failure that doesn't concern the transaction, or without being sent: no backoff.
    Unrelated,
}

/// Returns the wait after failures in a row: 10, 20, 40, 60, 60 … s.
fn backoff(failures: u32) -> Duration {
    MIN_INTERVAL.saturating_mul(2_u32.saturating_pow(failures)).min(MAX_BACKOFF)
}

#[cfg(test)]
mod tests;
