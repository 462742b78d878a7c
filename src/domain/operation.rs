//! Operations: everything that is written to the store's lasting tables, as plain data.
//!
//! An operation says what happened, in terms that every store understands: transactions, alerts and quotes are named by
//! keys. It must never hold a row number, a process ID or a monotonic moment, which mean something to one machine
//! alone. The only exception is a poller's report, which names the polling process.

use chrono::{DateTime, SubsecRound, Utc};
use serde::{Deserialize, Serialize};

use super::{
    alert::{Rule, SnoozeEnd},
    ids::{ChainId, TransactionKey},
    notification::NotificationCursor,
    observation::Observation,
    on_chain::OnChainState,
    poller::PollerReport,
    quote::{QuoteObservation, QuoteRequest},
    text,
    transaction::{NewTransaction, TransactionParams},
};

/// The version of the [`Envelope`] format that this program writes. Raise the version when an operation, edit, event or
/// field is added, or when the effect of an operation changes. An older program must then stop, or its replica would
/// differ.
///
/// 2: what the chains say, and the correction of a source chain. 3: the removal of a note. 4: a transaction that isn't
/// polled raises no alert, and every ID of a repeated answer is kept. 5: the status of a transaction that isn't tracked,
/// and the alert of a transaction that failed on its source chain. 6: a transaction that is tracked again has its alerts
/// again, an answer "not found" about a known transaction is a clean one, a request for a quote whose poller died isn't
/// waited for, and new identifiers of a record are added up to the limit. 7: a failed request raises no `overdue`, and an
/// undo resumes no polling that was stopped since. 8: a 429 keeps a person's request, a chain's answer ends the handling of
/// a less severe alert, and a deletion removes the summaries of edits. 9: a "not found" replaces an undocumented status and
/// counts as an answer, another reason of a refusal raises its alert again, and undo changes only the parameters that the
/// edit changed, removes what two people had set after both undo, and stops at an edit that can't be undone. 10: a new note
/// replaces that of all acknowledged alerts of one transaction, the summary of a removed ticket says so, and a new reason
/// why a chain can't be asked replaces the old one. 11: the end of a transfer counts as unseen if no answer came in the second
/// half of its duration, a time of submission after the end counts as unknown, another contradiction raises `regressed`
/// again, and an edit finds labels in any case. 12: undo and redo of parameters poll a parked transaction again, and an
/// import finds labels in any case.
pub(crate) const FORMAT: u16 = 12;

/// The key of an alert in every store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AlertKey {
    pub about: SubjectKey,
    pub rule: Rule,
    /// When the alert was raised.
    pub raised_at: DateTime<Utc>,
}

/// The subject of an alert, in terms that every store understands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKey {
    Transaction(TransactionKey),
    /// A whole profile, by its name.
    Profile(String),
}

/// The key of a request for a route in every store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuoteKey {
    /// The profile whose budget the request is spent from.
    pub profile: String,
    pub request: QuoteRequest,
    /// When the route was asked for.
    pub asked_at: DateTime<Utc>,
}

/// The key of a request for the status of a transaction that isn't tracked, in every store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRequestKey {
    /// The profile whose budget the request is spent from.
    pub profile: String,
    pub params: TransactionParams,
    /// When the status was asked for.
    pub asked_at: DateTime<Utc>,
}

/// One write to the store's lasting tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the fields say what they hold")]
pub enum Operation {
    /// Tracks the transactions of a batch, all or none. A transaction that is already tracked is updated where it
    /// differs.
    Track {
        /// The profile that polls the transactions.
        profile: String,
        transactions: Vec<NewTransaction>,
    },
    /// Stores an answer of the service about one transaction, and updates record, alerts and durations.
    Observe {
        transaction: TransactionKey,
        /// The result of the request.
        observation: Box<Observation>,
    },
    /// Stores a chain's reading of one transaction, and updates its alerts. Without a given submission time, the
    /// block's time becomes the submission time.
    ObserveChain {
        transaction: TransactionKey,
        /// What the chain says.
        on_chain: Box<OnChainState>,
    },
    /// Asks the poller to ask the chains about these transactions now.
    #[serde(rename = "request_chain")]
    RequestChainCheck { transactions: Vec<TransactionKey> },
    /// Applies a change that a person can undo.
    Edit {
        /// The profile whose undo history records the edit.
        profile: String,
        edit: Edit,
    },
    /// Reverses the author's last edit in a profile that isn't reversed yet. People without a name are one author.
    Undo { profile: String },
    /// Applies the author's edit that was reversed last once more, unless the author made another edit since.
    Redo { profile: String },
    /// Removes transactions permanently, with all of their data.
    Delete { transactions: Vec<TransactionKey> },
    /// Drops the bodies of answers about settled transactions; the history records it.
    DropBodies { transactions: Vec<TransactionKey> },
    /// Asks the poller to poll these transactions now.
    RequestPoll { transactions: Vec<TransactionKey> },
    /// Pauses the polling of a profile, or resumes it. Requests that people ask for are still sent.
    Pause {
        profile: String,
        /// The end of the pause; `None` resumes.
        until: Option<DateTime<Utc>>,
    },
    /// Asks the poller for a route, unless the same request was answered a moment ago or the wallet has to wait.
    #[serde(rename = "ask_quote")]
    RequestQuote {
        /// The profile whose budget the request is spent from.
        profile: String,
        request: QuoteRequest,
        /// The moment until which a person waits for the answer.
        wanted_until: DateTime<Utc>,
    },
    /// Withdraws a request for a route: the person who wanted the answer until `wanted_until` no longer waits.
    WithdrawQuote {
        quote: QuoteKey,
        /// The moment until which the answer was wanted.
        wanted_until: DateTime<Utc>,
    },
    /// Claims the right to send a request for a route, so that it is sent once.
    ClaimQuote { quote: QuoteKey },
    /// Stores the answer to a request for a route.
    AnswerQuote { quote: QuoteKey, observation: QuoteObservation },
    /// Asks the poller for the status of a transaction that isn't tracked.
    RequestStatus {
        /// The profile whose budget the request is spent from.
        profile: String,
        params: TransactionParams,
        /// The moment until which a person waits for the answer.
        wanted_until: DateTime<Utc>,
    },
    /// Stores the answer to a request for a status.
    AnswerStatus {
        request: StatusRequestKey,
        /// The result of the request.
        observation: Box<Observation>,
    },
    /// Deletes a request for a status with its answer: the person has read it, or no longer waits.
    ForgetStatus { request: StatusRequestKey },
    /// Stores an event that concerns a profile as a whole, and updates its alerts.
    RecordProfileEvent { profile: String, event: ProfileEvent },
    /// Stores the report of a profile's poller, and ends snoozes whose moment has come.
    ReportPolling {
        profile: String,
        /// The report. Its time is the operation's time.
        report: Box<PollerReport>,
    },
    /// Stores the position of a notification channel in the change feed.
    MoveNotificationCursor { profile: String, cursor: NotificationCursor },
}

impl Operation {
    /// Whether the operation concerns this machine alone, and never enters a team's log.
    pub fn is_local(&self) -> bool {
        self.properties().is_local
    }

    /// Whether only the machine that polls for the profile writes this operation.
    pub fn is_written_by_poller(&self) -> bool {
        self.properties().is_written_by_poller
    }

    /// Whether the write must be on disk before it is acknowledged: `true` for data that can't be obtained again.
    pub fn is_durable(&self) -> bool {
        self.properties().is_durable
    }

    fn properties(&self) -> OperationProperties {
        let shared = OperationProperties::default();
        match self {
            Self::MoveNotificationCursor { .. } => OperationProperties { is_local: true, ..shared },
            Self::Observe { .. }
            | Self::ClaimQuote { .. }
            | Self::AnswerStatus { .. }
            | Self::RecordProfileEvent { .. }
            | Self::ReportPolling { .. } => OperationProperties { is_written_by_poller: true, ..shared },
            Self::AnswerQuote { .. } => OperationProperties { is_written_by_poller: true, is_durable: true, ..shared },
            Self::Track { .. } | Self::Edit { .. } | Self::Undo { .. } | Self::Redo { .. } | Self::Delete { .. } => {
                OperationProperties { is_durable: true, ..shared }
            }
            Self::ObserveChain { .. }
            | Self::RequestChainCheck { .. }
            | Self::DropBodies { .. }
            | Self::RequestPoll { .. }
            | Self::Pause { .. }
            | Self::RequestQuote { .. }
            | Self::WithdrawQuote { .. }
            | Self::RequestStatus { .. }
            | Self::ForgetStatus { .. } => shared,
        }
    }
}

/// How the store treats an operation: see the methods of [`Operation`].
#[derive(Default)]
struct OperationProperties {
    is_local: bool,
    is_written_by_poller: bool,
    is_durable: bool,
}

/// A change that a person makes and can undo. `T` identifies transactions and `A` alerts: keys in an operation, row
/// numbers on the screens of one process ([`LocalEdit`]). The store's reader turns row numbers into keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names of the fields say what they hold")]
pub enum Edit<T = TransactionKey, A = AlertKey> {
    /// Stops the polling; all data is kept.
    Untrack { transactions: Vec<T> },
    /// Adds a note to each transaction.
    AddNote { transactions: Vec<T>, text: String },
    /// Removes from each transaction the newest note with this text.
    RemoveNote {
        transactions: Vec<T>,
        /// The whole text of the note.
        text: String,
    },
    /// Sets the ticket of each transaction.
    SetTicket {
        transactions: Vec<T>,
        /// The ticket; `None` removes it.
        ticket: Option<String>,
    },
    /// Adds labels to each transaction and removes others.
    ChangeLabels { transactions: Vec<T>, add: Vec<String>, remove: Vec<String> },
    /// Acknowledges alerts.
    Acknowledge {
        alerts: Vec<A>,
        /// The person's note.
        note: Option<String>,
    },
    /// Snoozes alerts.
    Snooze {
        alerts: Vec<A>,
        /// The end of the snooze.
        until: SnoozeEnd,
    },
    /// Ends acknowledgements and snoozes, so that the alerts fire again.
    Unacknowledge { alerts: Vec<A> },
    /// Corrects the source chain of a transaction, which is then polled like a new one. Nothing changes if the hash is
    /// tracked on that chain already.
    CorrectSource {
        transactions: Vec<T>,
        /// The chain on which the transaction was sent.
        chain: ChainId,
    },
}

/// An edit whose transactions and alerts are identified by one store's row numbers.
pub type LocalEdit = Edit<super::ids::RowId, i64>;

/// What an edit changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditTargets<'a, T, A> {
    Transactions(&'a [T]),
    Alerts(&'a [A]),
}

impl<T, A> Edit<T, A> {
    /// Returns what the edit changes.
    pub fn targets(&self) -> EditTargets<'_, T, A> {
        match self {
            Self::Untrack { transactions }
            | Self::AddNote { transactions, .. }
            | Self::RemoveNote { transactions, .. }
            | Self::SetTicket { transactions, .. }
            | Self::ChangeLabels { transactions, .. }
            | Self::CorrectSource { transactions, .. } => EditTargets::Transactions(transactions),
            Self::Acknowledge { alerts, .. } | Self::Snooze { alerts, .. } | Self::Unacknowledge { alerts } => {
                EditTargets::Alerts(alerts)
            }
        }
    }

    /// Returns the same edit with transactions and alerts identified in another way. Each name resolves to any number
    /// of names; a name that resolves to none is left out.
    ///
    /// # Errors
    /// The first error of either function.
    pub fn resolve<U, B, E, Us: IntoIterator<Item = U>, Bs: IntoIterator<Item = B>>(
        self,
        mut transaction: impl FnMut(T) -> Result<Us, E>,
        mut alert: impl FnMut(A) -> Result<Bs, E>,
    ) -> Result<Edit<U, B>, E> {
        let mut rows = |names: Vec<T>| resolve_all(names, &mut transaction);
        let mut alerts_of = |names: Vec<A>| resolve_all(names, &mut alert);
        Ok(match self {
            Self::Untrack { transactions } => Edit::Untrack { transactions: rows(transactions)? },
            Self::AddNote { transactions, text } => Edit::AddNote { transactions: rows(transactions)?, text },
            Self::RemoveNote { transactions, text } => Edit::RemoveNote { transactions: rows(transactions)?, text },
            Self::SetTicket { transactions, ticket } => Edit::SetTicket { transactions: rows(transactions)?, ticket },
            Self::ChangeLabels { transactions, add, remove } => {
                Edit::ChangeLabels { transactions: rows(transactions)?, add, remove }
            }
            Self::Acknowledge { alerts, note } => Edit::Acknowledge { alerts: alerts_of(alerts)?, note },
            Self::Snooze { alerts, until } => Edit::Snooze { alerts: alerts_of(alerts)?, until },
            Self::Unacknowledge { alerts } => Edit::Unacknowledge { alerts: alerts_of(alerts)? },
            Self::CorrectSource { transactions, chain } => {
                Edit::CorrectSource { transactions: rows(transactions)?, chain }
            }
        })
    }

    /// Returns the edit in a few words, for the undo history.
    pub fn summary(&self) -> String {
        let of = |transactions: &[T]| match transactions.len() {
            1 => String::new(),
            several => format!(" ({several} transactions)"),
        };
        match self {
            Self::Untrack { transactions } => format!("stop polling{}", of(transactions)),
            // The note's text is left out, since it must disappear when the transaction is deleted.
            Self::AddNote { transactions, .. } => format!("a note{}", of(transactions)),
            Self::RemoveNote { transactions, .. } => format!("note removed{}", of(transactions)),
            Self::SetTicket { transactions, ticket: Some(ticket) } => format!("ticket {ticket}{}", of(transactions)),
            Self::SetTicket { transactions, ticket: None } => format!("ticket removed{}", of(transactions)),
            Self::ChangeLabels { transactions, add, remove } => {
                let labels =
                    add.iter().map(|label| format!("+{label}")).chain(remove.iter().map(|label| format!("-{label}")));
                format!("labels {}{}", labels.collect::<Vec<_>>().join(" "), of(transactions))
            }
            Self::Acknowledge { alerts, .. } => format!("acknowledge {}", text::counted(alerts.len(), "alert")),
            Self::Snooze { alerts, .. } => format!("snooze {}", text::counted(alerts.len(), "alert")),
            Self::Unacknowledge { alerts } => format!("unacknowledge {}", text::counted(alerts.len(), "alert")),
            Self::CorrectSource { transactions, chain } => format!("source chain {chain}{}", of(transactions)),
        }
    }
}

/// Resolves each name to any number of other names.
fn resolve_all<N, M, E, Ms: IntoIterator<Item = M>>(
    names: Vec<N>,
    resolve: impl FnMut(N) -> Result<Ms, E>,
) -> Result<Vec<M>, E> {
    let resolved = names.into_iter().map(resolve).collect::<Result<Vec<_>, E>>()?;
    Ok(resolved.into_iter().flatten().collect())
}

/// An event that concerns a profile as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", content = "reason", rename_all = "snake_case")]
pub enum ProfileEvent {
    /// The service answered 429, after a time without 429; with its message.
    Throttled(String),
    /// The service refuses the integrator ID that it accepted before; with its message.
    Unauthorized(String),
    /// The service can't be reached; with the reason.
    Unreachable(String),
    /// The service answers again.
    Recovered,
    /// The budget has been too small for a while; with a sentence on how much is needed.
    BudgetShort(String),
    /// The budget is large enough again.
    BudgetSufficient,
}

/// The time and the author of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// The wall time, in whole milliseconds.
    pub at: DateTime<Utc>,
    /// The author's name; `None` if it is unknown.
    pub author: Option<String>,
}

impl Stamp {
    /// Returns a stamp for `at`, cut to whole milliseconds, so that a replica that reads the operation from a log
    /// applies the same moment.
    pub(crate) fn new(at: DateTime<Utc>, author: Option<String>) -> Self {
        Self { at: at.trunc_subsecs(3), author }
    }
}

/// An operation with its metadata, as stored in a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Envelope {
    /// The format's version ([`FORMAT`]).
    pub format: u16,
    /// The time and the author.
    #[serde(flatten)]
    pub stamp: Stamp,
    pub operation: Operation,
}

impl Envelope {
    /// Returns an operation in the current format.
    pub(crate) fn new(operation: Operation, stamp: Stamp) -> Self {
        Self { format: FORMAT, stamp, operation }
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::domain::status::RouterStatus;

    /// Returns the names that an enum can have in a log.
    fn names<T: DeserializeOwned + std::fmt::Debug>(tag: &str) -> String {
        let error = serde_json::from_value::<T>(serde_json::json!({ tag: "" })).unwrap_err().to_string();
        error.split_once("expected one of ").unwrap().1.replace(['`', ','], "")
    }

    #[test]
    fn new_kind_of_operation_needs_a_new_format() {
        let kinds = [names::<Operation>("operation"), names::<Edit>("edit"), names::<ProfileEvent>("event")];
        let expected = [
            "track observe observe_chain request_chain edit undo redo delete drop_bodies request_poll pause ask_quote \
             withdraw_quote claim_quote answer_quote request_status answer_status forget_status record_profile_event \
             report_polling move_notification_cursor",
            "untrack add_note remove_note set_ticket change_labels acknowledge snooze unacknowledge correct_source",
            "throttled unauthorized unreachable recovered budget_short budget_sufficient",
        ];
        assert_eq!((FORMAT, kinds.each_ref().map(String::as_str)), (12, expected), "raise FORMAT");
        // What an answer does in the store depends on the statuses and rules.
        let statuses = RouterStatus::DOCUMENTED.map(|status| status.name()).join(" ");
        let rules: Vec<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        let expected = (
            "success needs_gas ongoing partial_success not_found refund",
            "unauthorized unreachable overdue partial_success throttled needs_gas refund_slow chain_disagrees \
             not_found_long rejected regressed poll_failing budget_short refund",
        );
        assert_eq!((FORMAT, (statuses.as_str(), rules.join(" ").as_str())), (12, expected), "raise FORMAT");
    }
}
