//! The effects that `update` returns: work outside of the model, as data.

use chrono::{DateTime, TimeDelta, Utc};

use super::model::list::PageRequest;
use crate::{
    domain::{
        alert::{Rule, Snooze},
        filter::Named,
        ids::{RowId, TxHash},
        operation::{Edit, LocalEdit},
        quote::QuoteRequest,
        transaction::NewTransaction,
    },
    tui::theme::Shipped,
};

/// The transactions that a person wants to mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markable {
    /// All shown transactions.
    Shown,
    /// The range between two rows, in either order.
    Between(RowId, RowId),
}

/// A write for a person. It blocks for the disk, and returns a sentence about its result.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// An edit, which can be undone.
    Edit(LocalEdit),
    /// Acknowledge the active alerts of these transactions.
    Acknowledge {
        /// The transactions.
        rows: Vec<RowId>,
        /// A note in the person's words.
        note: Option<String>,
    },
    /// Undo the acknowledgements and snoozes of these transactions' alerts.
    Unacknowledge(Vec<RowId>),
    /// Snooze the active alerts of these transactions.
    Snooze {
        /// The transactions.
        rows: Vec<RowId>,
        /// How long.
        length: SnoozeLength,
    },
    /// Snooze one alert.
    SnoozeAlert {
        /// The store's number of the alert.
        alert: i64,
        /// How long.
        length: SnoozeLength,
    },
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
        /// The request.
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

impl Work {
    /// Whether the work acknowledges or snoozes alerts.
    pub fn handles_alerts(&self) -> bool {
        match self {
            Self::Edit(edit) => matches!(edit, Edit::Acknowledge { .. } | Edit::Snooze { .. }),
            Self::Acknowledge { .. } | Self::Snooze { .. } | Self::SnoozeAlert { .. } => true,
            Self::Unacknowledge(_) | Self::Export { .. } => false,
        }
    }

    /// Returns the transactions that need no further work after this one, as far as the work names them: after an
    /// acknowledgement of five a person may want to label the same five.
    pub fn completed_transactions(&self) -> &[RowId] {
        match self {
            Self::Edit(Edit::Untrack { transactions }) => transactions,
            Self::Edit(_)
            | Self::Acknowledge { .. }
            | Self::Unacknowledge(_)
            | Self::Snooze { .. }
            | Self::SnoozeAlert { .. }
            | Self::Export { .. } => &[],
        }
    }
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
    pub fn from(self, at: DateTime<Utc>) -> Snooze {
        match self {
            Self::Minutes(minutes) => Snooze::Until(at + TimeDelta::minutes(minutes)),
            Self::Change => Snooze::Change,
        }
    }
}

/// One effect; the loop carries it out.
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
    /// Pause polling for this many minutes, except for requests of a person; `None` resumes it.
    Pause(Option<i64>),
    /// Write to the store, or to a file.
    Work(Work),
    /// Delete these transactions permanently.
    Delete(Vec<RowId>),
    /// Undo the last edit.
    TakeBack,
    /// Redo the edit that was undone last.
    DoAgain,
    /// Notify a person who looks elsewhere that these alerts were raised, each with its subject.
    Notify(Vec<(Rule, String)>),
    /// Copy this text to the clipboard.
    Copy(String),
    /// Open this link in the browser; it was checked.
    Open(String),
    /// Show another theme; `None` for the theme of the settings.
    SetTheme(Option<Shipped>),
    /// Suspend the program.
    Suspend,
    /// Mark this transaction as open, for the poller; `None` if no transaction is open.
    LookAt(Option<RowId>),
    /// Read a transaction and its history.
    LoadHistory(RowId),
    /// Read a transaction's last body, and the changes in it.
    LoadBody(RowId),
    /// Read a part of the list.
    LoadPage(PageRequest),
    /// Count the tracked and the listed transactions.
    Count,
    /// Find the next transaction with an alert in the list.
    FindAlert {
        /// The row to start from.
        row: RowId,
        /// Whether to search towards the end of the list.
        forwards: bool,
    },
    /// Read the list of alerts.
    LoadAlerts,
    /// Read the statistics for the charts.
    LoadStatistics,
    /// Read the end of the log, unless its length is still this.
    LoadLog(Option<u64>),
    /// Find the transactions to mark, in the list as shown.
    FindMarks(Markable),
    /// Work on a request for a route.
    Quote(QuoteWork),
    /// Find tickets or labels with this beginning.
    FindNames(Named, String),
    /// Find which of these hashes, or parts of hashes, are tracked.
    FindKnown(Vec<TxHash>),
}
