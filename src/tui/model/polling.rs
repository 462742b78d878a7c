//! The polling of the shown profiles, as last reported by their pollers.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::poller::PollerReport;

/// The budget use of a profile, and the age of its oldest answer.
#[derive(Clone, Copy, Debug)]
pub struct BudgetUse<'a> {
    pub profile: &'a str,
    /// The poller's report; `None` if no poller runs.
    pub report: Option<&'a PollerReport>,
    /// The end of a person's pause, while polling is paused.
    pub paused_until: Option<DateTime<Utc>>,
    /// The age of the oldest answer about a polled transaction.
    pub oldest: Option<Duration>,
}
