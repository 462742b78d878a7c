//! A temporary view: the whole list around a transaction that was searched for, or the matches of a pasted word; then the view
//! before it returns.
//!
//! A temporary view must end when a person chooses another view, and is never remembered for the next start.

use super::{Model, list::Tab, memory::Memory};
use crate::domain::ids::RowId;

/// The view to return to.
#[derive(Debug)]
pub struct TemporaryView {
    /// The transaction that was searched for, if it was one.
    wanted: Option<RowId>,
    left: Memory,
    selected: Option<RowId>,
}

impl Model {
    /// Shows the whole list, without a filter, around this transaction.
    pub fn begin_temporary_view(&mut self, wanted: RowId) {
        if self.list.tab == Tab::All && self.list.filter_text.is_empty() && self.temporary_view.is_none() {
            return;
        }
        self.leave_for(Some(wanted), "");
    }

    /// Shows the matches of a filter, which isn't remembered.
    pub fn begin_search(&mut self, filter: &str) {
        self.leave_for(None, filter);
    }

    fn leave_for(&mut self, wanted: Option<RowId>, filter: &str) {
        let temporary_view = TemporaryView { wanted, left: self.to_remember(), selected: self.list.selected };
        // What was looked for on a detour is another part of it.
        self.temporary_view.get_or_insert(temporary_view).wanted = wanted;
        self.show(Tab::All);
        self.list.set_filter(filter, "");
    }

    /// Whether what is selected is what was looked for: who leaves that is back.
    pub fn is_at_detour(&self) -> bool {
        self.temporary_view.as_ref().is_some_and(|temporary_view| {
            temporary_view.wanted.is_some() && self.list.selected == temporary_view.wanted
        })
    }

    /// Shows what was shown before, if this is a detour; whether it was.
    pub fn end_temporary_view(&mut self) -> bool {
        let memory = self.to_remember();
        let Some(TemporaryView { left, selected, .. }) = self.temporary_view.take() else { return false };
        let tab = left.tab();
        self.memory = memory;
        self.show_as_left(tab);
        (self.list.selected, self.list.wanted) = (selected, selected);
        true
    }

    /// What is remembered of a detour is which view and which filters there were before it.
    pub(super) fn without_temporary_view(&self, memory: Memory) -> Memory {
        match &self.temporary_view {
            Some(TemporaryView { left: Memory { view, filters, .. }, .. }) => {
                Memory { view: *view, filters: filters.clone(), ..memory }
            }
            None => memory,
        }
    }
}
