//! The messages that `update` applies: input, results of effects, changes of the store, ticks.
//!
//! Plain data. A message must never hold a handle.

use std::time::Duration;

use chrono::{DateTime, Utc};
use crossterm::event::KeyEvent;

use super::{
    dialogs::add::state::KnownTransactions,
    effect::{TextUse, Write},
    model::{
        Overview,
        geometry::{ClickTarget, WheelPane},
    },
    screens::{
        alerts::state::AlertPage,
        detail::{history::TransactionHistory, raw::ResponseBody},
        list::state::PageRequest,
        log::state::LogTail,
        stats::state::{ChartRange, Statistics},
    },
};
use crate::{
    domain::{alert::Alert, ids::RowId, polling::PollingState, team::TeamStatus, transaction::Transaction},
    presentation::filter_completion::NameMatches,
    store::{Changes, ImportReport, ImportToUndo, ListPage, ListRow, QuoteSubmission, StoredQuote},
};

/// A message: input, a result of an effect, or a tick.
#[derive(Debug)]
pub enum Msg {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// A paste without brackets, or a part of one: many keys arrived at once.
    Burst(String),
    /// A click on this target.
    Click(ClickTarget),
    /// The mouse wheel turned by this many lines over a pane.
    Wheel(isize, WheelPane),
    /// The terminal has a new size in columns and rows. The model has the size already.
    Resize(u16, u16),
    /// The store changed.
    StoreChanged(Box<StoreUpdate>),
    /// The store could not be read; the read will be repeated.
    NotRead(String),
    /// The problem of the store changed; `None` if the store works again.
    StoreFault(Option<String>),
    /// The state of the team's store, and the name under which this person writes.
    Team(Box<TeamStatus>, Option<String>),
    /// A page of the list, or the error.
    Page(Box<(PageRequest, Result<ListPage, String>)>),
    /// The counts of the view with this number, or the error.
    Counted(Box<(u64, Result<Overview, String>)>),
    /// A transaction as it is now, with its history.
    History(RowId, Box<(Option<ListRow>, TransactionHistory)>),
    /// A transaction's last body; `None` if there is none.
    Body(RowId, Box<Option<ResponseBody>>),
    /// The transactions that a person wants texts about, as they are now.
    ForTexts(Vec<Transaction>, TextUse),
    /// The next transaction with an alert, if there is one.
    FoundAlert(Option<RowId>),
    /// The list of alerts, or the error.
    Alerts(Result<AlertPage, String>),
    /// The statistics for the charts of this time or the error, and the duration of the read.
    Statistics(Box<(ChartRange, Result<Statistics, String>, Duration)>),
    /// The end of the log, or the error; `None` if the log has nothing new.
    Log(Result<Option<LogTail>, String>),
    /// The transactions to mark; `None` if there are too many.
    FoundMarks(Option<Vec<RowId>>),
    /// The tracked transactions among looked-up hashes.
    Known(KnownTransactions),
    /// The transaction that a line of the log names, if it is tracked.
    FoundLogged(Option<RowId>),
    /// Tickets or labels with the requested beginning.
    Names(NameMatches),
    /// The store has a quote request, or an earlier answer. The moment is the end of the wait, and identifies the request.
    QuoteAsked(DateTime<Utc>, Result<QuoteSubmission, String>),
    /// The quote request with this number was read; `None` if the store has no such request.
    QuoteRead(i64, Option<Box<StoredQuote>>),
    /// The result of an import.
    Imported(Result<ImportReport, String>),
    /// A text to copy by the terminal's escape sequence. The loop copies the text, and applies `Copied` with the result.
    CopyByTerminal(String),
    /// The result of copying a text.
    Copied {
        /// The text.
        text: String,
        /// A sentence: how the text was copied, or why copying failed.
        outcome: Result<String, String>,
    },
    /// A link could not be opened. `update` copies the link instead.
    NotOpened {
        /// The link.
        link: String,
        /// The reason, without a full stop.
        reason: String,
    },
    /// The result of a write, in words.
    Written(Write, Result<String, String>),
    /// Undoing the last edit would stop the polling of the transactions of this import; a person must confirm.
    UndoesImport(ImportToUndo),
    /// A request of a person succeeded; a sentence about the result.
    Done(String),
    /// A failure to show to the person, in words.
    Failed(String),
    /// A second has passed.
    Tick,
}

/// What the dashboard reads from the store after a change.
#[derive(Debug, Default)]
pub struct StoreUpdate {
    /// The changes of the feed.
    pub feed: Changes,
    /// The polling state of the active profile.
    pub own: PollingState,
    /// The polling states of the other shown profiles, in the order of the setting.
    pub other_profiles: Vec<PollingState>,
    /// The active alerts of whole profiles.
    pub profile_alerts: Vec<Alert>,
    /// The errors that keep notifications from being delivered.
    pub notification_errors: Vec<String>,
}
