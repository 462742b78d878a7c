//! The state of the detail screen: the open tab, and the scroll position of each tab.
//!
//! The transaction and its history are elsewhere in the model; this module must never hold these.

use super::raw::RawTabState;
use crate::{domain::named::named, tui::command::KeyContext};

named! {
    /// A tab of the detail, from left to right.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum DetailTab: title, ALL {
        /// Source and destination, the status, the facts of the record.
        #[default]
        Summary "Summary",
        /// The entries of `routeStatus`.
        Steps "Steps",
        /// The observed duration, against the limit and the forecast.
        Timing "Timing",
        /// The history, the newest entry first.
        History "History",
        /// The last response body.
        Raw "Raw",
        /// The ticket, the labels and the notes.
        Notes "Notes",
    }
}

impl DetailTab {
    /// Returns the contexts of the tab's keys. The tab's own keys come before those of the detail.
    pub fn contexts(self) -> &'static [KeyContext] {
        match self {
            Self::Summary | Self::Timing | Self::Notes => &[KeyContext::Detail],
            Self::Steps => &[KeyContext::Steps, KeyContext::Detail],
            Self::History => &[KeyContext::History, KeyContext::Detail],
            Self::Raw => &[KeyContext::Raw, KeyContext::Detail],
        }
    }
}

/// The state of the detail screen.
#[derive(Debug, Default)]
pub struct DetailState {
    /// The open tab.
    pub tab: DetailTab,
    /// The scroll offset of each tab in lines; for the steps, the index of the step with the cursor.
    positions: [usize; DetailTab::ALL.len()],
    /// Whether the history shows changes only.
    pub shows_changes_only: bool,
    /// The text that shown lines of the history contain.
    pub filter: String,
    /// The last response body.
    pub raw: RawTabState,
}

impl DetailState {
    /// Drops positions and body of the transaction that was open before; keeps the tab and the searches.
    pub fn on_other_transaction(&mut self) {
        self.positions = Default::default();
        self.raw.forget();
    }

    /// Returns the scroll offset of the open tab, or the index of its cursor.
    pub fn position(&self) -> usize {
        match self.tab {
            DetailTab::Raw => self.raw.cursor(),
            tab => self.positions.get(tab as usize).copied().unwrap_or_default(),
        }
    }

    /// Scrolls the open tab, or moves its cursor; no further than `end`.
    pub fn move_by(&mut self, lines: isize, end: usize) {
        match self.tab {
            DetailTab::Raw => self.raw.move_by(lines),
            tab => {
                if let Some(position) = self.positions.get_mut(tab as usize) {
                    *position = position.saturating_add_signed(lines).min(end);
                }
            }
        }
    }

    /// Returns the search text of the open tab.
    pub fn search_text(&self) -> &str {
        match self.tab {
            DetailTab::History => &self.filter,
            DetailTab::Raw => self.raw.search_text(),
            DetailTab::Summary | DetailTab::Steps | DetailTab::Timing | DetailTab::Notes => "",
        }
    }

    /// Ends the searches of all tabs.
    pub fn end_searches(&mut self) {
        self.filter.clear();
        self.raw.set_search("");
    }

    /// Sets the search text of the open tab.
    pub fn set_search(&mut self, text: &str) {
        match self.tab {
            DetailTab::History => {
                text.clone_into(&mut self.filter);
                self.move_by(isize::MIN, 0);
            }
            DetailTab::Raw => self.raw.set_search(text),
            DetailTab::Summary | DetailTab::Steps | DetailTab::Timing | DetailTab::Notes => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::filter::Direction;

    #[test]
    fn the_first_tab_comes_after_the_last() {
        let go = |tab: DetailTab, direction: Direction| direction.neighbor(&DetailTab::ALL, tab);
        for tab in DetailTab::ALL {
            assert_eq!(go(go(tab, Direction::Forwards), Direction::Backwards), tab);
        }
        assert_eq!(go(DetailTab::Notes, Direction::Forwards), DetailTab::Summary);
    }

    #[test]
    fn each_tab_keeps_its_position_until_another_transaction_is_opened() {
        let mut detail = DetailState::default();
        detail.move_by(3, 10);
        detail.tab = DetailTab::Notes;
        detail.move_by(30, 10);
        assert_eq!(detail.position(), 10);
        detail.tab = DetailTab::Summary;
        assert_eq!(detail.position(), 3);
        detail.on_other_transaction();
        assert_eq!(detail.position(), 0);
    }
}
