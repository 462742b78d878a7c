//! What `update` wants done outside of the model.

use super::model::list::PageRequest;
use crate::domain::{
    ids::{RowId, TxHash},
    transaction::NewTransaction,
};

/// One thing to be done; the loop does it.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// End the dashboard.
    Quit,
    /// Draw everything anew.
    Redraw,
    /// Track these.
    Import(Vec<NewTransaction>),
    /// Ask whoever polls to poll this one now.
    PollNow(RowId),
    /// Stop polling this one.
    Untrack(RowId),
    /// Take back what was done last.
    TakeBack,
    /// Do again what was taken back last.
    DoAgain,
    /// Put this text where the person can paste it from.
    Copy(String),
    /// Open this link, which was checked.
    Open(String),
    /// Suspend the program.
    Suspend,
    /// Tell whoever polls what this person has open now: nothing any more if there is none.
    LookAt(Option<RowId>),
    /// Read a transaction's history, and how it is now.
    LoadHistory(RowId),
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
    /// Find which of these hashes, or parts of hashes, are tracked.
    FindKnown(Vec<TxHash>),
}
