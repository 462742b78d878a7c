//! The sizes of the screen as measured by the view, as plain numbers.
//!
//! The view measures before each message is applied (`tui::step`). The model must never compute a size itself.

use crate::tui::{
    command::CommandId,
    screens::{
        alerts::state::AlertTab,
        detail::state::DetailTab,
        list::{columns::ListColumn, tab::Tab},
    },
};

/// The pane that the wheel scrolls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WheelPane {
    /// The open page or screen; on the list, the list.
    Main,
    /// The detail beside the list.
    Detail,
    /// The newest changes.
    Recent,
}

/// The sizes of one screen, in rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Geometry {
    /// The rows that fit into the list.
    pub list: usize,
    /// The rows that fit into the list of alerts.
    pub alerts: usize,
    /// The rows that fit into the charts' list of routes.
    pub routes: usize,
    /// The rows of the scrolling area: a page of text, the detail, the list or the log.
    pub page: usize,
    /// The rows of the raw body; 0 if another tab is open.
    pub raw_body: usize,
    /// The largest scroll offset of a page of text, or of the detail on the screen or beside the list, in rows;
    /// measured for keys and the wheel only.
    pub scroll_end: usize,
    /// Whether the detail is shown, on the whole screen or beside the list.
    pub shows_detail: bool,
    /// Whether the step of the tour is drawn.
    pub shows_tour: bool,
}

/// A clickable target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClickTarget {
    /// The row at this index of the loaded part of the list.
    Row(usize),
    /// A saved view.
    Tab(Tab),
    DetailTab(DetailTab),
    AlertTab(AlertTab),
    Title(ListColumn),
    /// The change at this index of the newest changes.
    Recent(usize),
    /// A command in the line of keys.
    Command(CommandId),
}
