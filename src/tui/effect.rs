//! What `update` wants done outside of the model.

use crate::domain::{ids::RowId, transaction::NewTransaction};

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
    /// Put this text where the person can paste it from.
    Copy(String),
    /// Tell whoever polls what this person has open now: nothing any more if there is none.
    LookAt(Option<RowId>),
    /// Read a transaction's history.
    LoadHistory(RowId),
}
