//! The screens: each folder holds the state, the update and the view of one.
//!
//! A screen must never import the loop. The update of a screen must never import a view.

pub(crate) mod alerts;
pub(crate) mod detail;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod stats;

/// Returns the first row on the screen after scrolling as little as needed to show the selected row. There is no empty
/// space below the last row.
pub(crate) fn scroll(top: usize, selected: Option<usize>, height: usize, rows: usize) -> usize {
    let height = height.max(1);
    let top = selected.map_or(top, |row| top.clamp(row.saturating_sub(height - 1), row));
    top.min(rows.saturating_sub(height))
}
