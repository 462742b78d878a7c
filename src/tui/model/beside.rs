//! The profiles that are polled and shown beside the one in force: how each of them is polled, as its poller said last.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{Model, Setting};
use crate::{
    domain::{span, text},
    store::PollerReport,
};

/// A profile beside the one in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Neighbour {
    /// Its name.
    pub profile: String,
    /// What its poller last said.
    pub poller: Option<PollerReport>,
    /// Until when a person wants nothing of it polled, if so.
    pub paused_until: Option<DateTime<Utc>>,
    /// The oldest answer among its transactions that are polled.
    pub oldest_answer: Option<DateTime<Utc>>,
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
        let own = Budget {
            profile: &self.setting.profile,
            report: self.live_poller(now),
            paused_until: self.paused_until(now),
            oldest: self.oldest_age(now),
        };
        std::iter::once(own).chain(self.beside.iter().map(move |neighbour| neighbour.budget(now)))
    }
}

impl Neighbour {
    /// Those of a setting, before anything was heard of them.
    pub fn all(setting: &Setting) -> Vec<Self> {
        setting.beside.iter().map(|profile| Self { profile: profile.clone(), ..Self::default() }).collect()
    }

    fn budget(&self, now: DateTime<Utc>) -> Budget<'_> {
        let report = self.poller.as_ref().filter(|report| report.is_live(now));
        Budget {
            profile: &self.profile,
            report,
            paused_until: report.and(self.paused_until).filter(|until| *until > now),
            oldest: self.oldest_answer.map(|oldest| span::between(oldest, now)),
        }
    }
}

impl Setting {
    /// Whether what concerns this profile as a whole is shown.
    pub fn shows(&self, profile: &str) -> bool {
        self.profiles().any(|shown| shown == profile)
    }

    /// Whose something is, before what is said of it: nothing where only one profile is shown.
    pub fn whose(&self, profile: &str) -> String {
        if self.beside.is_empty() { String::new() } else { format!("{}: ", text::clean(profile)) }
    }

    /// The profile in force, then those beside it.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.profile.as_str()).chain(self.beside.iter().map(String::as_str))
    }
}
