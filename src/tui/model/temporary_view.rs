//! A temporary view: the whole list around a transaction that was searched for, or the matches of a pasted word.
//! Afterwards the previous view returns.
//!
//! A temporary view must end when a person chooses another view, and is never saved for the next start.

use super::view_state::ViewState;
use crate::domain::ids::RowId;

/// The view to return to.
#[derive(Debug)]
pub struct TemporaryView {
    /// The transaction that was searched for; `None` for the matches of a filter.
    pub(crate) target: Option<RowId>,
    pub(crate) left: ViewState,
    pub(crate) selected: Option<RowId>,
}
