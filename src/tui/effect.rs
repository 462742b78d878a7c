//! The effects that `update` returns: work outside of the model, as data.

use chrono::{DateTime, TimeDelta, Utc};

use super::screens::{list::state::PageRequest, stats::state::ChartRange};
use crate::{
    domain::{
        alert::{Rule, SnoozeEnd},
        filter::{Direction, NameKind},
        ids::{RowId, TxHash},
        operation::Edit,
        quote::QuoteRequest,
        reply::Audience,
        transaction::NewTransaction,
    },
    store::ImportToUndo,
};

/// The transactions that a person wants to mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkRequest {
    /// All shown transactions.
    Shown,
    /// The range between two rows, in either order.
    Between(RowId, RowId),
}

/// The target of an edit: one alert, or alerts of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertTarget {
    /// The alert with this number in the store.
    Alert(i64),
    /// The alerts of this transaction: the unacknowledged ones of an acknowledgement, the active ones of a snooze, the
    /// acknowledged and snoozed ones of their end.
    OfTransaction(RowId),
}

impl AlertTarget {
    /// Returns the transaction whose alerts these are; `None` for a single alert.
    pub fn transaction(self) -> Option<RowId> {
        match self {
            Self::Alert(_) => None,
            Self::OfTransaction(row) => Some(row),
        }
    }

    /// Returns the targets for all alerts of these transactions.
    pub fn of(rows: &[RowId]) -> Vec<Self> {
        rows.iter().copied().map(Self::OfTransaction).collect()
    }
}

/// An edit as a screen names it.
pub(crate) type ScreenEdit = Edit<RowId, AlertTarget>;

/// A write that a person requests. The write blocks on the disk, and returns a sentence about its result.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// An edit, which can be undone.
    Edit(ScreenEdit),
    /// Export transactions to a new file.
    Export {
        /// The file name as typed.
        file: String,
        /// The transactions; `None` for all shown ones.
        rows: Option<Vec<RowId>>,
    },
}

/// Work on a request for a route. The poller sends the request.
#[derive(Clone, Debug, PartialEq)]
pub enum QuoteWork {
    /// Ask for the route.
    Ask {
        request: QuoteRequest,
        /// The moment until which the answer is wanted.
        until: DateTime<Utc>,
    },
    /// Read the state of the request with this number in the store.
    Read(i64),
    /// Withdraw the request, and read its state.
    Withdraw {
        /// The store's number.
        id: i64,
        /// The moment until which the answer was wanted.
        until: DateTime<Utc>,
    },
}

impl Write {
    /// Whether the write acknowledges or snoozes alerts.
    pub fn handles_alerts(&self) -> bool {
        matches!(self, Self::Edit(Edit::Acknowledge { .. } | Edit::Snooze { .. }))
    }

    /// Returns the transactions that need nobody after this write: their alerts are acknowledged or snoozed, or their
    /// polling stops.
    pub fn handled_transactions(&self) -> Vec<RowId> {
        match self {
            Self::Edit(Edit::Untrack { transactions }) => transactions.clone(),
            Self::Edit(Edit::Acknowledge { alerts, .. } | Edit::Snooze { alerts, .. }) => {
                alerts.iter().filter_map(|alert| alert.transaction()).collect()
            }
            Self::Edit(
                Edit::AddNote { .. }
                | Edit::RemoveNote { .. }
                | Edit::SetTicket { .. }
                | Edit::CorrectSource { .. }
                | Edit::ChangeLabels { .. }
                | Edit::Unacknowledge { .. },
            )
            | Self::Export { .. } => Vec::new(),
        }
    }

    /// Returns the transactions that need no further work after this write, so that their marks end. After other writes
    /// the marks stay: a person may label the transactions that they have just acknowledged.
    pub fn completed_transactions(&self) -> Vec<RowId> {
        if self.handles_alerts() { Vec::new() } else { self.handled_transactions() }
    }
}

/// The use of transactions that are read for texts about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextUse {
    /// Show and copy the text for this reader.
    Show(Audience),
    /// Open the menu of texts to copy.
    Menu,
}

/// The length of a snooze.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnoozeLength {
    /// A number of minutes.
    Minutes(i64),
    /// Until the status changes.
    Change,
}

impl SnoozeLength {
    /// Returns the end of the snooze that begins at this moment.
    pub fn from(self, at: DateTime<Utc>) -> SnoozeEnd {
        match self {
            Self::Minutes(minutes) => SnoozeEnd::Until(at + TimeDelta::minutes(minutes)),
            Self::Change => SnoozeEnd::Change,
        }
    }
}

/// An effect, which the loop performs.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// End the dashboard.
    Quit,
    /// Redraw the whole screen.
    Redraw,
    /// Track these transactions.
    Import(Vec<NewTransaction>),
    /// Request that these transactions are polled now.
    PollNow(Vec<RowId>),
    /// Request that the chains are asked about these transactions.
    AskChain(Vec<RowId>),
    /// Pause polling for this many minutes, except for requests of a person; `None` resumes it.
    Pause(Option<i64>),
    /// Write to the store, or to a file.
    Write(Write),
    /// Delete these transactions permanently.
    Delete(Vec<RowId>),
    /// Undo the last edit. An import of several transactions is undone only if a person has confirmed it.
    Undo {
        /// The import that a person confirmed; `None` without a confirmation.
        confirmed: Option<ImportToUndo>,
    },
    /// Redo the edit that was undone last.
    Redo,
    /// Notify a person, who may look at another window, that these alerts were raised. Each has its subject in words.
    NotifyDesktop(Vec<(Rule, String)>),
    /// Copy this text to the clipboard.
    Copy(String),
    /// Open this link in the browser. The link has passed `domain::link`.
    Open(String),
    /// Suspend the program.
    Suspend,
    /// Report the open transaction to the poller; `None` if no transaction is open.
    MarkOpen(Option<RowId>),
    /// Read a transaction and its history.
    LoadHistory(RowId),
    /// Read a transaction's last body, and the changes in it.
    LoadBody(RowId),
    /// Read a page of the list.
    LoadPage(PageRequest),
    /// Read these transactions for texts about them.
    LoadForTexts(Vec<RowId>, TextUse),
    /// Count the tracked and the listed transactions.
    Count,
    /// Find the next transaction with an alert in the list.
    FindAlert {
        /// The row to start from.
        row: RowId,
        /// The direction of the search.
        direction: Direction,
    },
    /// Read the list of alerts.
    LoadAlerts,
    /// Read the statistics of this time for the charts.
    LoadStatistics(ChartRange),
    /// Read the end of the log, unless the length of the log is still this number of bytes.
    LoadLog(Option<u64>),
    /// Find the transactions to mark, in the list as shown.
    FindMarks(MarkRequest),
    /// Work on a request for a route.
    Quote(QuoteWork),
    /// Find tickets or labels with this beginning.
    FindNames(NameKind, String),
    /// Find which of these hashes, or parts of hashes, are tracked.
    FindKnown(Vec<TxHash>),
    /// Find the transaction that a line of the log names.
    FindLogged(TxHash),
}
