//! The sizes of the screen as measured by the view, as plain numbers.
//!
//! The view measures before each message is applied (`tui::step`). The model must never compute a size itself.

use crate::tui::screens::{detail::state::DetailTab, list::state::Tab};

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
    /// The largest scroll offset of a page of text, the detail or the log, in rows; measured for keys and the wheel
    /// only.
    pub scroll_end: usize,
}

/// A clickable target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClickTarget {
    /// The row at this index of the loaded part of the list.
    Row(usize),
    /// A saved view.
    Tab(Tab),
    /// A tab of the detail.
    DetailTab(DetailTab),
}
