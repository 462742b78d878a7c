//! What the view measured of the screen, as plain numbers.
//!
//! Measured before each message is applied (`tui::step`). The model must never compute a size by itself.

use super::{detail::DetailTab, list::Tab};

/// The sizes of one screen, in rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Geometry {
    /// The rows that the list has room for.
    pub list: usize,
    /// The rows that the alerts have room for.
    pub alerts: usize,
    /// The rows that the charts' routes have room for.
    pub routes: usize,
    /// The rows of what scrolls now: a page of text, the detail, the list, the log.
    pub page: usize,
    /// How far a page of text, the detail or the log scrolls; measured for keys and the wheel alone.
    pub scroll_end: usize,
}

/// What can be clicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The row at this place of the part of the list that was read.
    Row(usize),
    /// A saved view.
    Tab(Tab),
    /// A tab of the detail.
    DetailTab(DetailTab),
}
