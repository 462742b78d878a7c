//! The polling of the shown profiles, as last reported by their pollers.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::domain::{poller::PollerReport, span};

/// The polling of a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PollingState {
    /// The last report of the profile's poller.
    pub poller: Option<PollerReport>,
    /// The end of a person's pause, past or future. The store has it before the poller reports it.
    pub paused_until: Option<DateTime<Utc>>,
    /// The time of the oldest answer about a polled transaction.
    pub oldest_answer: Option<DateTime<Utc>>,
}

impl PollingState {
    /// Returns the poller's report; `None` if no poller runs.
    pub fn live_poller(&self, now: DateTime<Utc>) -> Option<&PollerReport> {
        self.poller.as_ref().filter(|report| report.is_live(now))
    }

    /// Returns the end of a person's pause, while polling is paused.
    pub fn paused_until(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.live_poller(now)?;
        self.paused_until.filter(|until| *until > now)
    }

    /// Returns the age of the oldest answer about a polled transaction.
    pub fn oldest_age(&self, now: DateTime<Utc>) -> Option<Duration> {
        self.oldest_answer.map(|oldest| span::between(oldest, now))
    }
}

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
