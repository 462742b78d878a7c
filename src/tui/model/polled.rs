//! How the profiles that are shown are polled, the one in force and those beside it, as their pollers said last.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{Model, Setting};
use crate::domain::{poller::PollerReport, span, text};

/// How a profile is polled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polled {
    /// What its poller last said.
    pub poller: Option<PollerReport>,
    /// Until when a person wants nothing of it polled, whether that has come or not: known before the poller says so.
    pub paused_until: Option<DateTime<Utc>>,
    /// The oldest answer among its transactions that are polled.
    pub oldest_answer: Option<DateTime<Utc>>,
}

impl Polled {
    /// Its poller's report, unless no poller can be there any more.
    pub fn live_poller(&self, now: DateTime<Utc>) -> Option<&PollerReport> {
        self.poller.as_ref().filter(|report| report.is_live(now))
    }

    /// Until when nothing is polled, since a person wants so.
    pub fn paused_until(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.live_poller(now)?;
        self.paused_until.filter(|until| *until > now)
    }

    /// How old the oldest answer is among those that are polled.
    pub fn oldest_age(&self, now: DateTime<Utc>) -> Option<Duration> {
        self.oldest_answer.map(|oldest| span::between(oldest, now))
    }
}

/// What is spent on a profile, and how old the oldest answer is that it was spent on.
#[derive(Clone, Copy, Debug)]
pub struct Budget<'a> {
    /// The profile.
    pub profile: &'a str,
    /// The poller that spends it, unless it can't be there any more.
    pub report: Option<&'a PollerReport>,
    /// Until when a person wants nothing polled, if so.
    pub paused_until: Option<DateTime<Utc>>,
    /// The age of the oldest answer among what is polled.
    pub oldest: Option<Duration>,
}

impl Model {
    /// The budget of the profile in force, then of those beside it.
    pub fn budgets(&self, now: DateTime<Utc>) -> impl Iterator<Item = Budget<'_>> {
        let polled = std::iter::once(&self.own).chain(&self.beside);
        self.setting.profiles().zip(polled).map(move |(profile, polled)| Budget {
            profile,
            report: polled.live_poller(now),
            paused_until: polled.paused_until(now),
            oldest: polled.oldest_age(now),
        })
    }
}

impl Setting {
    /// Whether what concerns this profile as a whole is shown.
    pub fn shows(&self, profile: &str) -> bool {
        self.profiles().any(|shown| shown == profile)
    }

    /// Whose something is, before what is said of it: nothing where only one profile is shown, or it is nobody's.
    pub fn whose(&self, profile: &str) -> String {
        if self.beside.is_empty() || profile.is_empty() { String::new() } else { format!("{}: ", text::clean(profile)) }
    }

    /// The profile in force, then those beside it.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.profile.as_str()).chain(self.beside.iter().map(String::as_str))
    }
}
