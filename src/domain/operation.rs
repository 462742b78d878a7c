//! Operations: everything that is written to the store's lasting tables, as plain data.
//!
//! An operation says what happened, in terms that every store understands: it names transactions, alerts and quotes by what
//! they are. It must never hold a row number, a process ID or a monotonic moment, which mean something to one machine alone; the
//! one exception is the report of a poller, which says in which process it polls.

use chrono::{DateTime, SubsecRound, Utc};
use serde::{Deserialize, Serialize};

use super::{
    alert::{Rule, Snooze},
    ids::{ChainId, TxHash},
    notification::NotificationCursor,
    observation::Observation,
    poller::PollerReport,
    quote::{QuoteObservation, QuoteRequest},
    transaction::NewTransaction,
};

/// The format of [`Envelope`] that this version writes.
pub const FORMAT: u16 = 1;

/// Names a tracked transaction in every store: no two of a profile have the same source chain and hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TransactionKey {
    /// The profile that polls it.
    pub profile: String,
    /// The source chain.
    pub from_chain: ChainId,
    /// The hash on the source chain.
    pub hash: TxHash,
}

/// Names an alert in every store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AlertKey {
    /// What the alert is about.
    pub about: AlertSubject,
    /// The condition.
    pub rule: Rule,
    /// When the alert was raised.
    pub raised_at: DateTime<Utc>,
}

/// What an alert is about, in terms that every store understands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertSubject {
    /// One transaction.
    Transaction(TransactionKey),
    /// A whole profile, by its name.
    Profile(String),
}

/// Names a request for a route in every store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuoteKey {
    /// The profile whose budget the request is spent from.
    pub profile: String,
    /// What is asked for.
    pub request: QuoteRequest,
    /// When the route was asked for.
    pub asked_at: DateTime<Utc>,
}

/// One write to the store's lasting tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum Operation {
    /// Tracks the transactions of a batch, all or none. A transaction that is tracked already is updated where it differs.
    Track {
        /// The profile that polls them.
        profile: String,
        /// The batch.
        transactions: Vec<NewTransaction>,
    },
    /// Keeps an answer of the service about one transaction, with what follows from it: record, alerts, durations.
    Observe {
        /// The transaction that was asked about.
        transaction: TransactionKey,
        /// What the request told us.
        observation: Box<Observation>,
    },
    /// Changes what a person can change, so that undo reverses it.
    Edit {
        /// The profile whose undo history the edit enters.
        profile: String,
        /// The change.
        edit: Edit,
    },
    /// Reverses the last edit of a profile that isn't reversed yet.
    Undo {
        /// The profile.
        profile: String,
    },
    /// Applies again the edit that was reversed last, unless another edit came since.
    Redo {
        /// The profile.
        profile: String,
    },
    /// Removes transactions for good, with everything that is known of them.
    Delete {
        /// The transactions.
        transactions: Vec<TransactionKey>,
    },
    /// Drops the bodies of answers about settled transactions; the history says so.
    DropBodies {
        /// The transactions.
        transactions: Vec<TransactionKey>,
    },
    /// Asks the poller to poll these transactions now.
    RequestPoll {
        /// The transactions.
        transactions: Vec<TransactionKey>,
    },
    /// Pauses the polling of a profile, or resumes it. What people ask for is sent all the same.
    Pause {
        /// The profile.
        profile: String,
        /// Until when; `None` resumes.
        until: Option<DateTime<Utc>>,
    },
    /// Asks the poller for a route, unless the same was answered a moment ago or the wallet has to wait.
    AskQuote {
        /// The profile whose budget the request is spent from.
        profile: String,
        /// What is asked for.
        request: QuoteRequest,
        /// How long somebody waits for the answer.
        wanted_until: DateTime<Utc>,
    },
    /// Says that whoever wanted a route until `wanted_until` no longer waits.
    WithdrawQuote {
        /// The request.
        quote: QuoteKey,
        /// Until when it was wanted.
        wanted_until: DateTime<Utc>,
    },
    /// Claims the sending of a route's request, so that it is sent once.
    ClaimQuote {
        /// The request.
        quote: QuoteKey,
    },
    /// Keeps the answer to a request for a route.
    AnswerQuote {
        /// The request.
        quote: QuoteKey,
        /// The answer.
        observation: QuoteObservation,
    },
    /// Keeps what concerns a profile as a whole, with the alerts that follow from it.
    RecordProfileEvent {
        /// The profile.
        profile: String,
        /// What happened.
        event: ProfileEvent,
    },
    /// Keeps what a profile's poller says of itself. With it snoozes end whose moment has come.
    ReportPolling {
        /// The profile.
        profile: String,
        /// The report; its moment is the operation's.
        report: Box<PollerReport>,
    },
    /// Keeps how far a notification channel has read the change feed.
    MoveNotificationCursor {
        /// The profile.
        profile: String,
        /// The cursor.
        cursor: NotificationCursor,
    },
}

impl Operation {
    /// Whether the write must be on the disk before it is acknowledged: true of what a person gave and nobody can repeat.
    pub fn is_durable(&self) -> bool {
        match self {
            Self::Track { .. }
            | Self::Edit { .. }
            | Self::Undo { .. }
            | Self::Redo { .. }
            | Self::Delete { .. }
            | Self::AnswerQuote { .. } => true,
            Self::Observe { .. }
            | Self::DropBodies { .. }
            | Self::RequestPoll { .. }
            | Self::Pause { .. }
            | Self::AskQuote { .. }
            | Self::WithdrawQuote { .. }
            | Self::ClaimQuote { .. }
            | Self::RecordProfileEvent { .. }
            | Self::ReportPolling { .. }
            | Self::MoveNotificationCursor { .. } => false,
        }
    }
}

/// A change that a person makes and can undo. `T` names transactions and `A` names alerts: keys in an operation; row numbers
/// in one process's screens ([`LocalEdit`]), until the store's reader resolves them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "snake_case")]
pub enum Edit<T = TransactionKey, A = AlertKey> {
    /// Stops polling; what is known is kept.
    Untrack {
        /// The transactions.
        transactions: Vec<T>,
    },
    /// Adds a note to each transaction.
    AddNote {
        /// The transactions.
        transactions: Vec<T>,
        /// The note.
        text: String,
    },
    /// Sets the ticket of each transaction.
    SetTicket {
        /// The transactions.
        transactions: Vec<T>,
        /// The ticket; `None` removes it.
        ticket: Option<String>,
    },
    /// Adds labels to each transaction and removes others.
    ChangeLabels {
        /// The transactions.
        transactions: Vec<T>,
        /// Labels to add.
        add: Vec<String>,
        /// Labels to remove.
        remove: Vec<String>,
    },
    /// Acknowledges alerts.
    Acknowledge {
        /// The alerts.
        alerts: Vec<A>,
        /// The person's words.
        note: Option<String>,
    },
    /// Snoozes alerts.
    Snooze {
        /// The alerts.
        alerts: Vec<A>,
        /// Until when.
        until: Snooze,
    },
    /// Ends acknowledgement or snooze, so that the alerts fire again.
    Unacknowledge {
        /// The alerts.
        alerts: Vec<A>,
    },
}

/// An edit whose transactions and alerts are named by one store's row numbers.
pub type LocalEdit = Edit<super::ids::RowId, i64>;

impl<T, A> Edit<T, A> {
    /// The same edit with transactions and alerts named in another way; what has no other name is left out.
    ///
    /// # Errors
    /// The first error of either function.
    pub fn resolve<U, B, E>(
        self,
        transaction: impl FnMut(T) -> Result<Option<U>, E>,
        alert: impl FnMut(A) -> Result<Option<B>, E>,
    ) -> Result<Edit<U, B>, E> {
        fn all<N, M, E>(names: Vec<N>, mut resolve: impl FnMut(N) -> Result<Option<M>, E>) -> Result<Vec<M>, E> {
            names.into_iter().filter_map(|name| resolve(name).transpose()).collect()
        }
        Ok(match self {
            Self::Untrack { transactions } => Edit::Untrack { transactions: all(transactions, transaction)? },
            Self::AddNote { transactions, text } => {
                Edit::AddNote { transactions: all(transactions, transaction)?, text }
            }
            Self::SetTicket { transactions, ticket } => {
                Edit::SetTicket { transactions: all(transactions, transaction)?, ticket }
            }
            Self::ChangeLabels { transactions, add, remove } => {
                Edit::ChangeLabels { transactions: all(transactions, transaction)?, add, remove }
            }
            Self::Acknowledge { alerts, note } => Edit::Acknowledge { alerts: all(alerts, alert)?, note },
            Self::Snooze { alerts, until } => Edit::Snooze { alerts: all(alerts, alert)?, until },
            Self::Unacknowledge { alerts } => Edit::Unacknowledge { alerts: all(alerts, alert)? },
        })
    }

    /// The edit in a few words, for the undo history.
    pub fn summary(&self) -> String {
        let of = |transactions: &[T]| match transactions.len() {
            1 => String::new(),
            several => format!(" ({several} transactions)"),
        };
        match self {
            Self::Untrack { transactions } => format!("stop polling{}", of(transactions)),
            // The note's words must go with the transaction when that is deleted.
            Self::AddNote { transactions, .. } => format!("a note{}", of(transactions)),
            Self::SetTicket { transactions, ticket: Some(ticket) } => format!("ticket {ticket}{}", of(transactions)),
            Self::SetTicket { transactions, ticket: None } => format!("no ticket{}", of(transactions)),
            Self::ChangeLabels { transactions, add, remove } => {
                let labels =
                    add.iter().map(|label| format!("+{label}")).chain(remove.iter().map(|label| format!("-{label}")));
                format!("labels {}{}", labels.collect::<Vec<_>>().join(" "), of(transactions))
            }
            Self::Acknowledge { alerts, .. } => format!("acknowledge {}", count_alerts(alerts.len())),
            Self::Snooze { alerts, .. } => format!("snooze {}", count_alerts(alerts.len())),
            Self::Unacknowledge { alerts } => {
                format!("acknowledge or snooze {} no more", count_alerts(alerts.len()))
            }
        }
    }
}

fn count_alerts(count: usize) -> String {
    format!("{count} {}", if count == 1 { "alert" } else { "alerts" })
}

/// Something that concerns a profile as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", content = "reason", rename_all = "snake_case")]
pub enum ProfileEvent {
    /// The service answered 429, after a time without; with its words.
    Throttled(String),
    /// The service refuses the integrator ID, after a time without; with its words.
    Unauthorized(String),
    /// The service is out of reach; with the reason.
    Unreachable(String),
    /// The service answers again.
    Recovered,
    /// The budget has been too small for a while; with the sentence that says how much is needed.
    BudgetShort(String),
    /// The budget is large enough again.
    BudgetSufficient,
}

/// When an operation happened, and who did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The wall time, in whole milliseconds.
    pub at: DateTime<Utc>,
    /// Who did it; `None` where nobody said their name.
    pub author: Option<String>,
}

impl Stamp {
    /// A stamp for `at`. Less than a millisecond is cut off, so that a replica that reads the operation from a log applies the
    /// same moment.
    pub fn new(at: DateTime<Utc>, author: Option<String>) -> Self {
        Self { at: at.trunc_subsecs(3), author }
    }
}

/// An operation with its metadata, as a log keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The format's version ([`FORMAT`]).
    pub format: u16,
    /// When and who.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// What happened.
    pub operation: Operation,
}

impl Envelope {
    /// An operation in today's format.
    pub fn new(operation: Operation, stamp: Stamp) -> Self {
        Self { format: FORMAT, stamp, operation }
    }
}
