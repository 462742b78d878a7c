//! Need against budget: whether the ID's limit can keep every transaction as fresh as it should be (`DESIGN.md`, Schedule).
//!
//! Plain numbers and the words for them; it decides no alert.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::{span, status::RouterStatus, transaction::Transaction};

/// How old an answer about a transaction may be, if nothing makes it more urgent.
pub const TARGET: Duration = Duration::from_secs(90);
/// The same while the service may not know of it yet (`service.md` 7.4).
const TARGET_UNSEEN: Duration = Duration::from_secs(5);
/// So long after the submission it is young, and a new answer may come at any moment.
pub const YOUNG: TimeDelta = TimeDelta::seconds(60);
/// From this share of the budget on it is short.
pub const SHORT: f64 = 0.9;

/// Until when this transaction is young: not known to the service yet, and only just submitted.
pub fn young_until<R>(tx: &Transaction<R>) -> Option<DateTime<Utc>> {
    let is_unseen = tx.state.status.as_ref().is_none_or(|status| *status == RouterStatus::NotFound);
    is_unseen.then(|| tx.deadline().submitted.checked_add_signed(YOUNG)).flatten()
}

/// Polls a second that keep so many transactions at their target freshness, `young` ones among them.
pub fn polls(all: usize, young: usize) -> f64 {
    all.saturating_sub(young) as f64 / TARGET.as_secs_f64() + young as f64 / TARGET_UNSEEN.as_secs_f64()
}

/// Polls a second that are needed, and those that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Need {
    /// Polls a second that would keep every transaction at its target freshness.
    pub polls: f64,
    /// Polls a second that the budget really allows, with the time that requests take.
    pub allowed: f64,
    /// Transactions that are polled.
    pub unsettled: u64,
}

impl Need {
    /// Which share of the budget is needed; more than 1 if it isn't enough.
    pub fn share(&self) -> f64 {
        if self.allowed > 0.0 { self.polls / self.allowed } else { 0.0 }
    }

    /// Whether the budget can't do the job, or only just.
    pub fn is_short(&self) -> bool {
        self.share() > SHORT
    }

    /// Whether it stays short when those that are new have grown up.
    pub fn is_lasting(&self) -> bool {
        self.is_short() && self.unsettled as f64 / TARGET.as_secs_f64() > SHORT * self.allowed
    }

    /// The same with so many more that are new.
    #[must_use]
    pub fn with_new(self, new: usize) -> Self {
        Self { polls: self.polls + polls(new, new), unsettled: self.unsettled + new as u64, ..self }
    }

    /// The same when so many of them aren't new any more.
    #[must_use]
    pub fn grown_up(self, new: usize) -> Self {
        Self { polls: (self.polls - polls(new, new) + polls(new, 0)).max(0.0), ..self }
    }

    /// Whether it is enough, in a word.
    pub fn word(&self) -> &'static str {
        match (self.is_short(), self.is_lasting()) {
            (false, _) => "ok",
            (true, false) => "new ones",
            (true, true) => "short",
        }
    }

    /// How long it takes to ask about everything once.
    pub fn sweep(&self) -> Duration {
        let sweep =
            Duration::try_from_secs_f64(self.unsettled as f64 / self.allowed.max(1e-9)).unwrap_or(Duration::MAX);
        // Nothing is asked about more often than that, whatever the budget.
        if self.unsettled > 0 { sweep.max(TARGET_UNSEEN) } else { sweep }
    }

    /// What it comes to, and what would help, for a person.
    pub fn sentence(&self) -> String {
        let Self { polls, allowed, unsettled } = self;
        let sweep = span::long(self.sweep());
        let state =
            format!("{unsettled} to poll need {polls:.2} of the {allowed:.2} requests/s that the budget allows");
        let target = span::long(TARGET);
        if !self.is_short() {
            return format!("{state}; all of them are asked about in {sweep} (target {target})");
        }
        // That new ones are to be fresher passes; a person is told what will be needed then.
        if !self.is_lasting() {
            return format!("{state} while some are new; all of them are asked about in {sweep} (target {target})");
        }
        // A slot rests for a second after its response: a little more than the need itself.
        let limit = (*unsettled as f64 / TARGET.as_secs_f64() / SHORT * 1.2).ceil();
        let enough = (allowed * SHORT * TARGET.as_secs_f64()).floor();
        format!(
            "{state}; all of them take {sweep} (target {target}): a limit of {limit} RPS would do, or no more than {enough} \
             at a time"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_whether_it_is_enough_and_what_would_help() {
        let fine = Need { polls: 0.67, allowed: 0.8, unsettled: 55 };
        assert_eq!(
            fine.sentence(),
            "55 to poll need 0.67 of the 0.80 requests/s that the budget allows; all of them are asked about in 1m 08s \
             (target 1m 30s)"
        );
        let short = Need { polls: 11.11, allowed: 0.87, unsettled: 1_000 };
        assert_eq!((fine.is_short(), short.is_short()), (false, true));
        let new = Need { polls: 11.0, allowed: 8.7, unsettled: 55 };
        assert_eq!([fine.word(), short.word(), new.word()], ["ok", "short", "new ones"]);
        assert!(new.is_short() && new.sentence().contains("allows while some are new; all"), "{}", new.sentence());
        assert!(
            short
                .sentence()
                .ends_with("19m 09s (target 1m 30s): a limit of 15 RPS would do, or no more than 70 at a time")
        );
    }

    #[test]
    fn new_ones_cost_most_while_they_are_young() {
        let before = Need { polls: 0.67, allowed: 0.8, unsettled: 55 };
        let young = before.with_new(1);
        assert_eq!((format!("{:.2}", young.polls), young.unsettled), ("0.87".into(), 56));
        assert_eq!(format!("{:.2}", young.grown_up(1).polls), "0.68");
    }

    #[test]
    fn nothing_to_poll_needs_nothing() {
        let idle = Need::default();
        assert_eq!((idle.share(), idle.is_short(), idle.sweep()), (0.0, false, Duration::ZERO));
        let unknown = Need { unsettled: 5, ..idle };
        assert!(unknown.sweep() > Duration::from_secs(1_000_000));
    }
}
