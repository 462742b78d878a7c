//! Need against budget: whether the ID's limit can keep every transaction fresh enough (`DESIGN.md`, Schedule).
//!
//! Plain numbers and the sentences for them. The module must never decide about alerts.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::{span, transaction::Transaction};

/// The target age of an answer about a transaction, if nothing makes the transaction more urgent.
pub(crate) const TARGET: Duration = Duration::from_secs(90);
/// The target age while the service may not know the transaction yet (`service.md` 7.4).
const TARGET_UNSEEN: Duration = Duration::from_secs(5);
/// The time after submission in which a transaction is young: its first record may come at any moment.
pub(crate) const YOUNG: TimeDelta = TimeDelta::seconds(60);
/// The budget is short if more than this share of it is needed.
pub(crate) const SHORT: f64 = 0.9;

/// Returns the moment until which a transaction is young; `None` if the service knows the transaction.
pub(crate) fn young_until<R>(tx: &Transaction<R>) -> Option<DateTime<Utc>> {
    tx.state.is_unknown_to_service().then(|| tx.deadline().submitted.checked_add_signed(YOUNG)).flatten()
}

/// Returns the polls per second that keep `all` transactions at their target age; `young` of them are young.
pub(crate) fn polls(all: usize, young: usize) -> f64 {
    all.saturating_sub(young) as f64 / TARGET.as_secs_f64() + young as f64 / TARGET_UNSEEN.as_secs_f64()
}

/// The polls per second that are needed, and those that the budget allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Need {
    /// Polls per second that would keep every transaction at its target age.
    pub polls: f64,
    /// Polls per second that the budget allows, given the duration of requests.
    pub allowed: f64,
    /// The number of transactions that are polled.
    pub unsettled: u64,
}

impl Need {
    /// Returns the share of the budget that is needed; more than 1 if the budget is too small.
    pub fn share(&self) -> f64 {
        if self.allowed > 0.0 { self.polls / self.allowed } else { 0.0 }
    }

    /// Whether the budget is too small, or only just large enough.
    pub fn is_short(&self) -> bool {
        self.share() > SHORT
    }

    /// Whether the budget is short even when no transaction is young any more.
    pub fn is_always_short(&self) -> bool {
        self.is_short() && self.unsettled as f64 / TARGET.as_secs_f64() > SHORT * self.allowed
    }

    /// Returns the need with `new` more young transactions.
    #[must_use]
    pub fn with_new(self, new: usize) -> Self {
        Self { polls: self.polls + polls(new, new), unsettled: self.unsettled + new as u64, ..self }
    }

    /// Returns the need when `new` of the transactions aren't young any more.
    #[must_use]
    pub fn after_young(self, new: usize) -> Self {
        Self { polls: (self.polls - polls(new, new) + polls(new, 0)).max(0.0), ..self }
    }

    /// Returns one word on whether the budget is large enough.
    pub fn label(&self) -> &'static str {
        match (self.is_short(), self.is_always_short()) {
            (false, _) => "ok",
            (true, false) => "short now",
            (true, true) => "short",
        }
    }

    /// Returns the time in which every transaction is polled once.
    pub fn sweep(&self) -> Duration {
        let sweep =
            Duration::try_from_secs_f64(self.unsettled as f64 / self.allowed.max(1e-9)).unwrap_or(Duration::MAX);
        // No transaction is polled more often than this, whatever the budget.
        if self.unsettled > 0 { sweep.max(TARGET_UNSEEN) } else { sweep }
    }

    /// Returns the need and what would help, for a person.
    pub fn sentence(&self) -> String {
        let Self { polls, allowed, unsettled } = self;
        let state = format!("{unsettled} to poll: {polls:.2} requests/s needed, {allowed:.2} allowed by the budget");
        let sweep = format!("polling each once takes {} (target {})", span::long(self.sweep()), span::long(TARGET));
        if !self.is_short() {
            return format!("{state}; {sweep}");
        }
        // The higher need of young transactions passes, so the sentence proposes no remedy.
        if !self.is_always_short() {
            return format!("{state}; some are new and need more for a short time; {sweep}");
        }
        // A slot rests for a second after its response, so the limit must be a little above the need.
        let limit = (*unsettled as f64 / TARGET.as_secs_f64() / SHORT * 1.2).ceil();
        let enough = (allowed * SHORT * TARGET.as_secs_f64()).floor();
        format!("{state}; {sweep}: raise the limit to {limit} requests/s, or track at most {enough} at a time")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_whether_the_budget_suffices_and_what_would_help() {
        let fine = Need { polls: 0.67, allowed: 0.8, unsettled: 55 };
        assert_eq!(
            fine.sentence(),
            "55 to poll: 0.67 requests/s needed, 0.80 allowed by the budget; polling each once takes 1m 08s \
             (target 1m 30s)"
        );
        let short = Need { polls: 11.11, allowed: 0.87, unsettled: 1_000 };
        assert_eq!((fine.is_short(), short.is_short()), (false, true));
        let new = Need { polls: 11.0, allowed: 8.7, unsettled: 55 };
        assert_eq!([fine.label(), short.label(), new.label()], ["ok", "short", "short now"]);
        assert!(
            new.is_short() && new.sentence().contains("; some are new and need more for a short time; polling"),
            "{}",
            new.sentence()
        );
        assert!(
            short
                .sentence()
                .ends_with("(target 1m 30s): raise the limit to 15 requests/s, or track at most 70 at a time")
        );
    }

    #[test]
    fn new_transactions_need_most_while_they_are_young() {
        let before = Need { polls: 0.67, allowed: 0.8, unsettled: 55 };
        let young = before.with_new(1);
        assert_eq!((format!("{:.2}", young.polls), young.unsettled), ("0.87".into(), 56));
        assert_eq!(format!("{:.2}", young.after_young(1).polls), "0.68");
    }

    #[test]
    fn nothing_to_poll_needs_nothing() {
        let idle = Need::default();
        assert_eq!((idle.share(), idle.is_short(), idle.sweep()), (0.0, false, Duration::ZERO));
        let unknown = Need { unsettled: 5, ..idle };
        assert!(unknown.sweep() > Duration::from_secs(1_000_000));
    }
}
