//! What `update` wants done outside of the model.

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

/// What a person wants marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markable {
    /// All that is shown.
    Shown,
    /// From one row to another, whichever comes first.
    Between(RowId, RowId),
}

/// Something that is written for a person: it takes as long as the disk does, and ends with a sentence on what became of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Change what is kept; it can be taken back.
    Edit(LocalEdit),
    /// Take on whatever stands for these transactions.
    Acknowledge {
        /// Which ones.
        rows: Vec<RowId>,
        /// In the person's words.
        note: Option<String>,
    },
    /// Let whatever stands for these transactions and is set aside fire again.
    Unacknowledge(Vec<RowId>),
    /// Snooze whatever stands for these transactions.
    Snooze {
        /// Which ones.
        rows: Vec<RowId>,
        /// For how long.
        length: SnoozeLength,
    },
    /// Snooze this alert, by the store's number.
    SnoozeAlert {
        /// Which one.
        alert: i64,
        /// For how long.
        length: SnoozeLength,
    },
    /// Write transactions to a new file.
    Export {
        /// Its name as it was typed.
        file: String,
        /// Which ones; `None` for all that are shown.
        rows: Option<Vec<RowId>>,
    },
}

/// Something about a question for a route; whoever polls sends it.
#[derive(Clone, Debug, PartialEq)]
pub enum QuoteWork {
    /// Ask it.
    Ask {
        /// What is asked for.
        request: QuoteRequest,
        /// How long it is waited for.
        until: DateTime<Utc>,
    },
    /// Read what became of it, by the store's number.
    Read(i64),
    /// The same, and say that nobody here wants it any more.
    Withdraw {
        /// The store's number.
        id: i64,
        /// How long it was wanted.
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

/// For how long something is snoozed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnoozeLength {
    /// For so many minutes.
    Minutes(i64),
    /// Until the status changes.
    Change,
}

impl SnoozeLength {
    /// Until when, from a moment on.
    pub fn from(self, at: DateTime<Utc>) -> Snooze {
        match self {
            Self::Minutes(minutes) => Snooze::Until(at + TimeDelta::minutes(minutes)),
            Self::Change => Snooze::Change,
        }
    }
}

/// One thing to be done; the loop does it.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// End the dashboard.
    Quit,
    /// Draw everything anew.
    Redraw,
    /// Track these.
    Import(Vec<NewTransaction>),
    /// Ask whoever polls to poll these now.
    PollNow(Vec<RowId>),
    /// Poll nothing for so many minutes but what a person asks for; without a number poll again.
    Pause(Option<i64>),
    /// Write something into the store, or out of it.
    Work(Work),
    /// Remove these for good.
    Delete(Vec<RowId>),
    /// Take back what was done last.
    TakeBack,
    /// Do again what was taken back last.
    DoAgain,
    /// Tell a person who looks elsewhere that these alerts were raised, each with what it is about.
    Notify(Vec<(Rule, String)>),
    /// Put this text where the person can paste it from.
    Copy(String),
    /// Open this link, which was checked.
    Open(String),
    /// Show another theme; `None` for the one that the settings name.
    SetTheme(Option<Shipped>),
    /// Suspend the program.
    Suspend,
    /// Tell whoever polls what this person has open now: nothing any more if there is none.
    LookAt(Option<RowId>),
    /// Read a transaction's history, and how it is now.
    LoadHistory(RowId),
    /// Read a transaction's last body, and what changed in it.
    LoadBody(RowId),
    /// Read a part of the list.
    LoadPage(PageRequest),
    /// Count what is tracked and what is listed.
    Count,
    /// Find the transaction with an alert that comes next in the list, behind a row or before it.
    FindAlert {
        /// From where.
        row: RowId,
        /// Which way.
        forwards: bool,
    },
    /// Read the alerts' own list.
    LoadAlerts,
    /// Read what the charts show.
    LoadStatistics,
    /// Read the end of the log, unless it is so long still.
    LoadLog(Option<u64>),
    /// Find what a person wants marked, in the list as it is shown.
    FindMarks(Markable),
    /// Do something about a question for a route.
    Quote(QuoteWork),
    /// Find tickets or labels that begin so.
    FindNames(Named, String),
    /// Find which of these hashes, or parts of hashes, are tracked.
    FindKnown(Vec<TxHash>),
}
