//! The change feed's entries: everything that changed in the store, numbered (`DESIGN.md`, Words).
//!
//! The names are those of `watch --json` where there is one (`commands.md`, JSON). An entry says what happened; it must
//! never be the only place where a fact is kept.

use chrono::{DateTime, Offset, Utc};
use serde::{Deserialize, Serialize};

use super::{
    alert::{Rule, Severity},
    ids::RowId,
    span,
};

/// One entry of the change feed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its number; grows by commit, never reused. Changes that an answer brought together may share it.
    pub seq: i64,
    /// When it happened.
    pub at: DateTime<Utc>,
    /// The profile.
    pub profile: String,
    /// The transaction, unless it is about the whole profile.
    pub transaction: Option<RowId>,
    /// What happened.
    pub what: What,
    /// The store's number of the answer that showed it, if one did.
    pub observation: Option<i64>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// An answer came; whether it brought news is said by other entries.
    Polled,
    /// The router status became another.
    StatusChanged {
        /// The status before, as it came; `None` before the first answer.
        previous: Option<String>,
        /// The status from here on, as it came.
        current: String,
    },
    /// A step was added to `routeStatus`, or became another.
    StepAdded {
        /// Its place, from 0.
        index: usize,
    },
    /// No further polling is owed.
    Settled,
    /// An alert was raised.
    AlertRaised {
        /// The condition.
        rule: Rule,
        /// How grave it is.
        severity: Severity,
    },
    /// An alert was cleared.
    AlertCleared {
        /// The condition.
        rule: Rule,
        /// How grave it was.
        severity: Severity,
    },
    /// An alert was raised so often in a short time that it is said once to come and go.
    AlertFlapping {
        /// The condition.
        rule: Rule,
        /// How grave it is.
        severity: Severity,
    },
    /// An alert of which that was said was raised or cleared again.
    AlertFlipped {
        /// The condition.
        rule: Rule,
        /// Whether it was raised.
        raised: bool,
    },
    /// A request brought no news.
    PollFailed {
        /// Why.
        error: String,
    },
    /// The service refuses the transaction's parameters; it is parked.
    Rejected {
        /// What the service said.
        error: String,
    },
    /// The service says that we ask too often.
    Throttled {
        /// What it said.
        error: String,
    },
    /// The service refuses the integrator ID.
    Unauthorized {
        /// What it said.
        error: String,
    },
    /// The service can't be reached.
    Unreachable {
        /// Why.
        error: String,
    },
    /// The service answers again.
    Recovered,
    /// A transaction is tracked from now on.
    Imported,
    /// A person asked to poll it now.
    PollRequested,
    /// A person asked for a route; the number is the store's.
    QuoteAsked {
        /// Which one.
        id: i64,
    },
    /// The answer to that came.
    QuoteAnswered {
        /// Which one.
        id: i64,
    },
    /// Its parameters changed.
    Edited {
        /// The fields that differ; of what a person set themselves with what they are now.
        fields: Vec<String>,
        /// Whether that only took back what a person did before, or did it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turned: Option<Turned>,
    },
    /// A person stopped its polling.
    Untracked,
    /// A person took an alert on.
    AlertAcknowledged {
        /// The condition.
        rule: Rule,
        /// In their words.
        note: Option<String>,
    },
    /// It isn't taken on any more.
    AlertUnacknowledged {
        /// The condition.
        rule: Rule,
    },
    /// A person snoozed an alert.
    AlertSnoozed {
        /// The condition.
        rule: Rule,
        /// Until when; `None` until something changes.
        until: Option<DateTime<Utc>>,
    },
    /// It isn't snoozed any more.
    AlertUnsnoozed {
        /// The condition.
        rule: Rule,
    },
    /// A person took back what they did last.
    TakenBack {
        /// What that was, in words.
        summary: String,
    },
    /// A person did again what they had taken back.
    DoneAgain {
        /// What that was, in words.
        summary: String,
    },
    /// A person removed a transaction, with all that was known of it.
    Deleted {
        /// The store's number that it had.
        row: i64,
    },
    /// The bodies of a transaction that settled long ago were dropped.
    BodiesDropped {
        /// How many.
        bodies: u64,
    },
}

/// How an edit came about that isn't the first of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turned {
    /// A person took back what they had done.
    TakenBack,
    /// And did it again.
    DoneAgain,
}

impl What {
    /// The parameters of these differ from now on.
    pub fn edited(fields: Vec<String>) -> Self {
        Self::Edited { fields, turned: None }
    }

    /// The event's name, as in `watch --json`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Polled => "polled",
            Self::StatusChanged { .. } => "status_changed",
            Self::StepAdded { .. } => "step_added",
            Self::Settled => "settled",
            Self::AlertRaised { .. } => "alert_raised",
            Self::AlertCleared { .. } => "alert_cleared",
            Self::AlertFlapping { .. } => "alert_flapping",
            Self::AlertFlipped { .. } => "alert_flipped",
            Self::PollFailed { .. } => "poll_failed",
            Self::Rejected { .. } => "rejected",
            Self::Throttled { .. } => "throttled",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Unreachable { .. } => "unreachable",
            Self::Recovered => "recovered",
            Self::Imported => "imported",
            Self::PollRequested => "poll_requested",
            Self::QuoteAsked { .. } => "quote_asked",
            Self::QuoteAnswered { .. } => "quote_answered",
            Self::Edited { .. } => "edited",
            Self::Untracked => "untracked",
            Self::AlertAcknowledged { .. } => "alert_acknowledged",
            Self::AlertUnacknowledged { .. } => "alert_unacknowledged",
            Self::AlertSnoozed { .. } => "alert_snoozed",
            Self::AlertUnsnoozed { .. } => "alert_unsnoozed",
            Self::TakenBack { .. } => "taken_back",
            Self::DoneAgain { .. } => "done_again",
            Self::Deleted { .. } => "deleted",
            Self::BodiesDropped { .. } => "bodies_dropped",
        }
    }

    /// Whether it is about what people do rather than what the service says, or repeats what was said once: of no concern to
    /// who watches the service.
    pub fn is_housekeeping(&self) -> bool {
        matches!(
            self,
            Self::PollRequested
                | Self::QuoteAsked { .. }
                | Self::QuoteAnswered { .. }
                | Self::Edited { .. }
                | Self::Untracked
                | Self::AlertAcknowledged { .. }
                | Self::AlertUnacknowledged { .. }
                | Self::AlertSnoozed { .. }
                | Self::AlertUnsnoozed { .. }
                | Self::AlertFlipped { .. }
                | Self::TakenBack { .. }
                | Self::DoneAgain { .. }
                | Self::Deleted { .. }
                | Self::BodiesDropped { .. }
        )
    }

    /// The same in words, for a person.
    pub fn sentence(&self) -> String {
        match self {
            Self::Polled => "polled".into(),
            Self::StatusChanged { previous, current } => {
                format!("{} > {current}", previous.as_deref().unwrap_or("(no answer)"))
            }
            Self::StepAdded { index } => format!("step {} is new or changed", index + 1),
            Self::Settled => "settled".into(),
            Self::AlertRaised { rule, severity } => format!("alert raised: {rule} ({})", severity.name()),
            Self::AlertCleared { rule, severity } => format!("alert cleared: {rule} ({})", severity.name()),
            Self::AlertFlapping { rule, severity } => format!("alert flapping: {rule} ({})", severity.name()),
            Self::AlertFlipped { rule, raised: true } => format!("alert raised again: {rule} (flapping)"),
            Self::AlertFlipped { rule, raised: false } => format!("alert cleared again: {rule} (flapping)"),
            Self::PollFailed { error } => format!("poll failed: {error}"),
            Self::Rejected { error } | Self::Throttled { error } | Self::Unauthorized { error } => error.clone(),
            Self::Unreachable { error } => format!("service unreachable: {error}"),
            Self::Recovered => "service answers again".into(),
            Self::Imported => "tracked from now on".into(),
            Self::PollRequested => "a person asked to poll now".into(),
            Self::QuoteAsked { .. } => "a person asked for a route".into(),
            Self::QuoteAnswered { .. } => "a request for a route was answered".into(),
            Self::Edited { fields, turned } => {
                let how = match turned {
                    None => "edited",
                    Some(Turned::TakenBack) => "taken back",
                    Some(Turned::DoneAgain) => "done again",
                };
                format!("{how}: {}", fields.join(", "))
            }
            Self::Untracked => "not polled any more".into(),
            Self::AlertAcknowledged { rule, note: None } => format!("alert acknowledged: {rule}"),
            Self::AlertAcknowledged { rule, note: Some(note) } => format!("alert acknowledged: {rule}, {note}"),
            Self::AlertUnacknowledged { rule } => format!("alert not acknowledged any more: {rule}"),
            Self::AlertSnoozed { rule, until: None } => format!("alert snoozed until something changes: {rule}"),
            Self::AlertSnoozed { rule, until: Some(until) } => {
                format!("alert snoozed until {}: {rule}", span::stamp(*until, Utc.fix()))
            }
            Self::AlertUnsnoozed { rule } => format!("alert not snoozed any more: {rule}"),
            Self::TakenBack { summary } => format!("taken back: {summary}"),
            Self::DoneAgain { summary } => format!("done again: {summary}"),
            Self::Deleted { .. } => "a transaction was removed".into(),
            Self::BodiesDropped { bodies } => format!("{bodies} bodies dropped, as the config asks"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_carries_the_event_s_name() {
        let raised = What::AlertRaised { rule: Rule::Overdue, severity: Severity::Critical };
        let json = serde_json::to_value(&raised).unwrap();
        assert_eq!(json, serde_json::json!({"event": "alert_raised", "rule": "overdue", "severity": "critical"}));
        assert_eq!(json["event"], raised.name());
        assert_eq!(serde_json::from_value::<What>(json).unwrap(), raised);
    }

    #[test]
    fn an_edit_says_whether_it_was_taken_back_and_one_of_old_that_it_was_not() {
        let said = |turned| What::Edited { fields: vec!["ticket".into(), "note".into()], turned }.sentence();
        assert_eq!(said(Some(Turned::TakenBack)), "taken back: ticket, note");
        assert_eq!(said(Some(Turned::DoneAgain)), "done again: ticket, note");
        let old = serde_json::json!({"event": "edited", "fields": ["ticket", "note"]});
        let read: What = serde_json::from_value(old.clone()).unwrap();
        assert_eq!(read.sentence(), "edited: ticket, note");
        assert_eq!(serde_json::to_value(read).unwrap(), old);
    }

    #[test]
    fn that_an_alert_flaps_is_news_once_and_its_flips_are_not() {
        let flapping = What::AlertFlapping { rule: Rule::Throttled, severity: Severity::Warning };
        assert!(!flapping.is_housekeeping());
        for raised in [true, false] {
            let flipped = What::AlertFlipped { rule: Rule::Throttled, raised };
            assert!(flipped.is_housekeeping() && flipped.sentence().ends_with("again: throttled (flapping)"));
        }
        let until = DateTime::from_timestamp(1_700_000_000, 0);
        let snoozed = What::AlertSnoozed { rule: Rule::Overdue, until };
        assert_eq!(snoozed.sentence(), "alert snoozed until 2023-11-14 22:13:20 UTC: overdue");
    }
}
