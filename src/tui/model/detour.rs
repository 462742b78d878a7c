//! A detour: everything is shown for the sake of a transaction that was looked for, or all that a pasted word is found in, and then
//! again what was shown before.
//!
//! It must never outlive what a person chooses to see instead, nor be remembered for the next start.

use super::{Model, list::Tab, memory::Memory};
use crate::domain::ids::RowId;

/// Where a person was before.
#[derive(Debug)]
pub struct Detour {
    /// What was looked for, if it was one.
    wanted: Option<RowId>,
    left: Memory,
    selected: Option<RowId>,
}

impl Model {
    /// Shows everything, without a filter, for the sake of this one.
    pub fn begin_detour(&mut self, wanted: RowId) {
        if self.list.tab == Tab::All && self.list.filter_text.is_empty() && self.detour.is_none() {
            return;
        }
        self.leave_for(Some(wanted), "");
    }

    /// Shows all that passes a filter, which is no more remembered than what is pasted.
    pub fn begin_search(&mut self, filter: &str) {
        self.leave_for(None, filter);
    }

    fn leave_for(&mut self, wanted: Option<RowId>, filter: &str) {
        let detour = Detour { wanted, left: self.to_remember(), selected: self.list.selected };
        // What was looked for on a detour is another part of it.
        self.detour.get_or_insert(detour).wanted = wanted;
        self.show(Tab::All);
        self.list.set_filter(filter, "");
    }

    /// Whether what is selected is what was looked for: who leaves that is back.
    pub fn is_at_detour(&self) -> bool {
        self.detour.as_ref().is_some_and(|detour| detour.wanted.is_some() && self.list.selected == detour.wanted)
    }

    /// Shows what was shown before, if this is a detour; whether it was.
    pub fn end_detour(&mut self) -> bool {
        let memory = self.to_remember();
        let Some(Detour { left, selected, .. }) = self.detour.take() else { return false };
        let tab = left.tab();
        self.memory = memory;
        self.show_as_left(tab);
        (self.list.selected, self.list.wanted) = (selected, selected);
        true
    }

    /// What is remembered of a detour is which view and which filters there were before it.
    pub(super) fn without_detour(&self, memory: Memory) -> Memory {
        match &self.detour {
            Some(Detour { left: Memory { view, filters, .. }, .. }) => {
                Memory { view: *view, filters: filters.clone(), ..memory }
            }
            None => memory,
        }
    }
}
