//! Entries of the change feed: the numbered list of everything that changed in the store (`DESIGN.md`, Words).
//!
//! Event names are those of `watch --json`, where that command has the event (`commands.md`, JSON). An entry says what
//! happened; it must never be the only place where a fact is kept.

use chrono::{DateTime, FixedOffset, Offset, Utc};
use serde::{Deserialize, Serialize};

use super::{
    alert::{self, Outage, Rule, Severity},
    chains,
    ids::{ChainId, RowId, TxHash},
    notification::NotifiedEvent,
    people, span,
    status::RouterStatus,
    text,
};

/// The name under which stores keep a change of a transaction's parameters in [`ChangeKind::Edited`]. Replicas compare
/// stored entries, so this name must not change; [`ChangeKind::sentence_by`] shows another.
pub(crate) const PARAMS_FIELD: &str = "what we were told";

/// The name under which stores keep an added note in [`ChangeKind::Edited`].
pub(crate) const NOTE_FIELD: &str = "note";

/// The name under which stores keep a removed note in [`ChangeKind::Edited`].
pub(crate) const REMOVED_NOTE_FIELD: &str = "no note";

/// One entry of the change feed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The entry's number. It grows with each commit and is never reused. Changes by the same answer may share a
    /// number.
    pub seq: i64,
    /// When the change happened.
    pub at: DateTime<Utc>,
    /// The profile's name.
    pub profile: String,
    /// The transaction; `None` if the change concerns the whole profile.
    pub transaction: Option<RowId>,
    /// What happened.
    pub kind: ChangeKind,
    /// The store's number of the answer that caused the change, if an answer did.
    pub observation: Option<i64>,
    /// The person who made the change; `None` if nobody did, or the person set no name.
    pub author: Option<String>,
}

impl Change {
    /// Returns the change in words for a person.
    pub fn sentence(&self) -> String {
        self.kind.sentence_by(self.author.as_deref())
    }
}

/// A change of a transaction, with the transaction's hash.
#[derive(Clone, Debug, PartialEq)]
pub struct RecentChange {
    pub hash: TxHash,
    pub change: Change,
}

impl RecentChange {
    /// Returns the change in one line for a person, with `…` and `→`, which a screen in ASCII replaces.
    pub fn sentence(&self, zone: FixedOffset) -> String {
        let time = self.change.at.with_timezone(&zone).format("%H:%M:%S");
        let change = self.change.kind.status_change("→").unwrap_or_else(|| self.change.sentence());
        format!("{time}  {}  {}", self.hash.short("…"), text::clean(&change))
    }
}

/// An event in the change feed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ChangeKind {
    /// An answer came. Other entries say whether the answer changed anything.
    Polled,
    /// The router status changed.
    StatusChanged {
        /// The status before, as received; `None` before the first answer.
        previous: Option<String>,
        /// The new status, as received.
        current: String,
    },
    /// A step was added to `routeStatus`, or changed.
    StepAdded {
        /// The index of the step, from 0.
        index: usize,
    },
    /// The transaction settled: no further polling is needed.
    Settled,
    /// An alert was raised.
    AlertRaised { rule: Rule, severity: Severity },
    /// An alert was cleared.
    AlertCleared { rule: Rule, severity: Severity },
    /// An alert flaps: further raises and clears are recorded only as `AlertFlipped`.
    AlertFlapping { rule: Rule, severity: Severity },
    /// A flapping alert was raised or cleared again.
    AlertFlipped {
        rule: Rule,
        /// `true` if the alert was raised, `false` if it was cleared.
        #[serde(rename = "raised")]
        is_raised: bool,
    },
    /// A request failed to return the transaction's status.
    PollFailed { error: String },
    /// The service refuses the transaction's parameters; the transaction is parked.
    Rejected {
        /// The service's message.
        error: String,
    },
    /// The service throttles the integrator ID.
    Throttled {
        /// The service's message.
        error: String,
    },
    /// The service refuses the integrator ID.
    Unauthorized {
        /// The service's message.
        error: String,
    },
    /// The service can't be reached.
    Unreachable { error: String },
    /// The service answers again.
    Recovered,
    /// A transaction was added; hoptop tracks it from now on.
    Imported,
    /// A person asked to poll the transaction now.
    PollRequested,
    /// A person asked for a check of the transaction on its chain.
    ChainRequested,
    /// A check of the transaction on its chain had a new result.
    ChainChecked {
        /// The chain's verdict: a name of `ChainVerdict`.
        state: String,
        /// The chain that was asked, or on which the transaction was found.
        chain: ChainId,
        /// The block, if the transaction was mined.
        block: Option<u64>,
    },
    /// A person asked for a route.
    QuoteAsked {
        /// The store's number of the request.
        id: i64,
    },
    /// The answer to a request for a route came.
    QuoteAnswered {
        /// The store's number of the request.
        id: i64,
    },
    /// The transaction's parameters changed.
    Edited {
        /// The changed fields. A field that a person edited is followed by its new value.
        fields: Vec<String>,
        /// Whether the change is an undo or a redo; `None` for any other change.
        #[serde(rename = "turned", default, skip_serializing_if = "Option::is_none")]
        reversal: Option<ReversalKind>,
    },
    /// A person stopped the polling of the transaction.
    Untracked,
    /// A person acknowledged an alert.
    AlertAcknowledged {
        rule: Rule,
        /// The person's note.
        note: Option<String>,
    },
    /// An alert is no longer acknowledged.
    AlertUnacknowledged { rule: Rule },
    /// A person snoozed an alert.
    AlertSnoozed {
        rule: Rule,
        /// The end of the snooze; `None` if the alert is snoozed until the status changes.
        until: Option<DateTime<Utc>>,
    },
    /// An alert is no longer snoozed.
    AlertUnsnoozed { rule: Rule },
    /// A person undid their last action.
    #[serde(rename = "taken_back")]
    Undone {
        /// The action in words.
        summary: String,
    },
    /// A person redid an action that was undone.
    #[serde(rename = "done_again")]
    Redone {
        /// The action in words.
        summary: String,
    },
    /// A person deleted a transaction, with all of its data.
    Deleted {
        /// The row number that the transaction had in the store.
        row: i64,
    },
    /// The stored response bodies of a transaction that settled long ago were dropped.
    BodiesDropped { bodies: u64 },
}

/// The kind of an edit that repeats or reverses an earlier edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReversalKind {
    /// The edit is an undo.
    #[serde(rename = "taken_back")]
    Undone,
    /// The edit is a redo.
    #[serde(rename = "done_again")]
    Redone,
}

/// The beginning or the end of an outage of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutageChange {
    /// The outage began, or replaced another one.
    Began(Outage),
    /// The service answers again.
    Ended,
}

/// The class of an event. It decides which readers of the feed get the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventClass {
    /// News from the service about a transaction, or the start of its tracking.
    Service,
    /// The beginning or the end of an outage of the profile.
    Outage(OutageChange),
    /// An alert was raised or cleared, or flaps.
    Alert,
    /// An action of a person, or maintenance of the store.
    Action,
    /// An action of a person on an alert, or the repetition of an alert that flaps.
    AlertAction,
}

impl ChangeKind {
    /// Returns the event for changes to these fields that are neither an undo nor a redo.
    pub fn edited(fields: Vec<String>) -> Self {
        Self::Edited { fields, reversal: None }
    }

    fn properties(&self) -> (&'static str, EventClass) {
        use EventClass::{Action, Alert, AlertAction, Outage, Service};
        match self {
            Self::Polled => ("polled", Service),
            Self::StatusChanged { .. } => ("status_changed", Service),
            Self::StepAdded { .. } => ("step_added", Service),
            Self::Settled => ("settled", Service),
            Self::AlertRaised { .. } => ("alert_raised", Alert),
            Self::AlertCleared { .. } => ("alert_cleared", Alert),
            Self::AlertFlapping { .. } => ("alert_flapping", Alert),
            Self::AlertFlipped { .. } => ("alert_flipped", AlertAction),
            Self::PollFailed { .. } => ("poll_failed", Service),
            Self::Rejected { .. } => ("rejected", Service),
            Self::Throttled { .. } => ("throttled", Outage(OutageChange::Began(alert::Outage::Throttled))),
            Self::Unauthorized { .. } => ("unauthorized", Outage(OutageChange::Began(alert::Outage::Unauthorized))),
            Self::Unreachable { .. } => ("unreachable", Outage(OutageChange::Began(alert::Outage::Unreachable))),
            Self::Recovered => ("recovered", Outage(OutageChange::Ended)),
            Self::Imported => ("imported", Service),
            Self::PollRequested => ("poll_requested", Action),
            Self::ChainRequested => ("chain_requested", Action),
            Self::ChainChecked { .. } => ("chain_checked", Service),
            Self::QuoteAsked { .. } => ("quote_asked", Action),
            Self::QuoteAnswered { .. } => ("quote_answered", Action),
            Self::Edited { .. } => ("edited", Action),
            Self::Untracked => ("untracked", Action),
            Self::AlertAcknowledged { .. } => ("alert_acknowledged", AlertAction),
            Self::AlertUnacknowledged { .. } => ("alert_unacknowledged", AlertAction),
            Self::AlertSnoozed { .. } => ("alert_snoozed", AlertAction),
            Self::AlertUnsnoozed { .. } => ("alert_unsnoozed", AlertAction),
            Self::Undone { .. } => ("taken_back", Action),
            Self::Redone { .. } => ("done_again", Action),
            Self::Deleted { .. } => ("deleted", Action),
            Self::BodiesDropped { .. } => ("bodies_dropped", Action),
        }
    }

    /// Returns the event's name, as in `watch --json`.
    pub fn name(&self) -> &'static str {
        self.properties().0
    }

    /// Returns the beginning or the end of an outage of the profile; `None` if the event is something else.
    pub fn outage(&self) -> Option<OutageChange> {
        match self.properties().1 {
            EventClass::Outage(change) => Some(change),
            EventClass::Service | EventClass::Alert | EventClass::Action | EventClass::AlertAction => None,
        }
    }

    /// Whether the event concerns actions of people rather than the service, or repeats an event that was already
    /// reported. A display of the service doesn't need such events.
    pub fn is_routine(&self) -> bool {
        match self.properties().1 {
            EventClass::Action | EventClass::AlertAction => true,
            EventClass::Service | EventClass::Outage(_) | EventClass::Alert => false,
        }
    }

    /// Returns the event as the notification channels know it; `None` if they never send it.
    pub fn notified_event(&self) -> Option<NotifiedEvent> {
        match self {
            Self::Settled => Some(NotifiedEvent::Settled),
            Self::StatusChanged { .. } => Some(NotifiedEvent::StatusChanged),
            Self::AlertRaised { .. } => Some(NotifiedEvent::AlertRaised),
            Self::AlertFlapping { .. } => Some(NotifiedEvent::AlertFlapping),
            Self::AlertCleared { .. } => Some(NotifiedEvent::AlertCleared),
            _ => None,
        }
    }

    /// Whether the event is about an alert.
    pub(crate) fn is_about_alert(&self) -> bool {
        matches!(self.properties().1, EventClass::Alert | EventClass::AlertAction)
    }

    /// Whether the event is the edit that added a note, and nothing else.
    pub(crate) fn is_added_note(&self) -> bool {
        matches!(self, Self::Edited { fields, reversal: None } if *fields == [NOTE_FIELD])
    }

    /// Returns the event in words, with the name of the person who caused the event, if known.
    pub fn sentence_by(&self, author: Option<&str>) -> String {
        let description = self.description_by(author);
        if self.is_about_alert() { format!("alert {description}") } else { description }
    }

    /// Returns a change of the status in words, with `arrow` between the statuses, and the first status as the first
    /// answer; `None` for any other event.
    pub(crate) fn status_change(&self, arrow: &str) -> Option<String> {
        let Self::StatusChanged { previous, current } = self else { return None };
        let current = status_text(current);
        Some(match previous {
            Some(previous) => format!("{} {arrow} {current}", status_text(previous)),
            None => format!("first answer: {current}"),
        })
    }

    /// Like `sentence_by`, for a line that already says whether the event is about an alert.
    pub(crate) fn description_by(&self, author: Option<&str>) -> String {
        let by = people::author_suffix(author);
        match self {
            Self::Polled => "polled".into(),
            Self::StatusChanged { previous, current } => {
                format!(
                    "{} > {}",
                    previous.as_deref().map_or_else(|| "(no answer)".into(), status_text),
                    status_text(current)
                )
            }
            Self::StepAdded { index } => format!("step {} added or changed", index + 1),
            Self::Settled => "settled".into(),
            Self::AlertRaised { rule, severity } => format!("raised: {} ({})", rule.label(), severity.name()),
            Self::AlertCleared { rule, severity } => format!("resolved: {} ({})", rule.label(), severity.name()),
            Self::AlertFlapping { rule, severity } => format!("flapping: {} ({})", rule.label(), severity.name()),
            Self::AlertFlipped { rule, is_raised: true } => format!("raised again: {} (flapping)", rule.label()),
            Self::AlertFlipped { rule, is_raised: false } => format!("resolved again: {} (flapping)", rule.label()),
            Self::PollFailed { error } => format!("poll failed: {error}"),
            Self::Rejected { error } | Self::Throttled { error } | Self::Unauthorized { error } => error.clone(),
            Self::Unreachable { error } => format!("service unreachable: {error}"),
            Self::Recovered => "service answers again".into(),
            Self::Imported => format!("tracking started{by}"),
            Self::PollRequested => format!("poll requested{by}"),
            Self::ChainRequested => format!("chain asked{by}"),
            Self::ChainChecked { state, chain, block } => {
                let state = if state == "elsewhere" { "found on another chain than the source" } else { state };
                let block = block.map_or_else(String::new, |block| format!(", block {block}"));
                format!("the chain {} says: {}{block}", chains::name(chain), state.replace('_', " "))
            }
            Self::QuoteAsked { .. } => "quote requested".into(),
            Self::QuoteAnswered { .. } => "quote request answered".into(),
            Self::Edited { fields, reversal } => {
                // The fields have the values that the transaction has now.
                let how = match reversal {
                    None => "",
                    Some(ReversalKind::Undone) => " (undo)",
                    Some(ReversalKind::Redone) => " (redo)",
                };
                let shown = |field: &String| match field.as_str() {
                    PARAMS_FIELD => "transaction parameters".to_owned(),
                    REMOVED_NOTE_FIELD => "note removed".to_owned(),
                    field => field.to_owned(),
                };
                format!("edited{by}{how}: {}", fields.iter().map(shown).collect::<Vec<_>>().join(", "))
            }
            Self::Untracked => format!("polling stopped{by}"),
            Self::AlertAcknowledged { rule, note: None } => format!("acknowledged{by}: {}", rule.label()),
            Self::AlertAcknowledged { rule, note: Some(note) } => format!("acknowledged{by}: {}, {note}", rule.label()),
            Self::AlertUnacknowledged { rule } => format!("unacknowledged{by}: {}", rule.label()),
            Self::AlertSnoozed { rule, until: None } => {
                format!("snoozed{by} until the status changes: {}", rule.label())
            }
            Self::AlertSnoozed { rule, until: Some(until) } => {
                format!("snoozed{by} until {}: {}", span::stamp(*until, Utc.fix()), rule.label())
            }
            Self::AlertUnsnoozed { rule } => format!("unsnoozed{by}: {}", rule.label()),
            Self::Undone { summary } => format!("undone{by}: {summary}"),
            Self::Redone { summary } => format!("redone{by}: {summary}"),
            Self::Deleted { .. } => format!("transaction deleted{by}"),
            Self::BodiesDropped { bodies } => format!("{bodies} stored response bodies deleted (keep_bodies)"),
        }
    }
}

/// Returns a status in words. A status that isn't documented is unchanged.
fn status_text(status: &str) -> String {
    if status.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let is_documented = RouterStatus::DOCUMENTED.iter().any(|documented| documented.name() == status);
    if is_documented { status.replace('_', " ") } else { status.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_json_contains_the_event_name() {
        let raised = ChangeKind::AlertRaised { rule: Rule::Overdue, severity: Severity::Critical };
        let json = serde_json::to_value(&raised).unwrap();
        assert_eq!(json, serde_json::json!({"event": "alert_raised", "rule": "overdue", "severity": "critical"}));
        assert_eq!(json["event"], raised.name());
        assert_eq!(serde_json::from_value::<ChangeKind>(json).unwrap(), raised);
    }

    #[test]
    fn edit_sentences_name_undo_and_redo_and_old_stored_edits_still_parse() {
        let sentence =
            |reversal| ChangeKind::Edited { fields: vec!["ticket".into(), "note".into()], reversal }.sentence_by(None);
        assert_eq!(sentence(Some(ReversalKind::Undone)), "edited (undo): ticket, note");
        assert_eq!(sentence(Some(ReversalKind::Redone)), "edited (redo): ticket, note");
        let params = ChangeKind::Edited { fields: vec![PARAMS_FIELD.into()], reversal: Some(ReversalKind::Undone) };
        assert_eq!(params.sentence_by(None), "edited (undo): transaction parameters");
        let old = serde_json::json!({"event": "edited", "fields": ["ticket", "note"]});
        let read: ChangeKind = serde_json::from_value(old.clone()).unwrap();
        assert_eq!(read.sentence_by(None), "edited: ticket, note");
        assert_eq!(serde_json::to_value(read).unwrap(), old);
    }

    #[test]
    fn flapping_is_reported_once_and_its_flips_are_routine() {
        let flapping = ChangeKind::AlertFlapping { rule: Rule::Throttled, severity: Severity::Warning };
        assert!(!flapping.is_routine() && flapping.notified_event() == Some(NotifiedEvent::AlertFlapping));
        for is_raised in [true, false] {
            let flipped = ChangeKind::AlertFlipped { rule: Rule::Throttled, is_raised };
            assert!(
                flipped.is_routine()
                    && flipped.notified_event().is_none()
                    && flipped.sentence_by(None).ends_with("again: throttled (flapping)")
            );
        }
        let until = DateTime::from_timestamp(1_700_000_000, 0);
        let snoozed = ChangeKind::AlertSnoozed { rule: Rule::Overdue, until };
        assert_eq!(snoozed.sentence_by(None), "alert snoozed until 2023-11-14 22:13:20 UTC: overdue");
        let by_ana = snoozed.sentence_by(Some("Ana\u{1b}"));
        assert_eq!(by_ana, "alert snoozed by Ana until 2023-11-14 22:13:20 UTC: overdue");
    }
}
