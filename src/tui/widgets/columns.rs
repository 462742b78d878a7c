//! Rows of columns: which columns fit into a pane, and the style of the selected row.
//!
//! This module must never know what a column holds.

use ratatui::text::{Line, Span};

use crate::{presentation::width, tui::draw::DrawContext};

/// A column: its content, its title, its width, and the least width of a pane that shows the column.
pub(crate) type ColumnLayout<K> = (K, &'static str, usize, u16);

/// Returns the columns that a pane of this width shows, each with its title and its width.
pub(crate) fn shown<K: Copy>(all: &[ColumnLayout<K>], pane: u16) -> impl Iterator<Item = (K, &'static str, usize)> {
    let fitting = all.iter().filter(move |(.., from)| pane >= *from);
    fitting.map(|(column, title, columns, _)| (*column, *title, *columns))
}

/// Returns a row of a pane of this width; the selected row has one style.
pub(crate) fn row(context: &DrawContext<'_>, spans: Vec<Span<'static>>, is_selected: bool, pane: u16) -> Line<'static> {
    if !is_selected {
        return Line::from(spans);
    }
    // One style for the whole row: with each cell's colours reversed, the selection is hard to see.
    let text: String = spans.iter().map(|span| span.content.as_ref()).collect();
    Line::styled(width::fit(&text, usize::from(pane), ""), context.theme.selected())
}
