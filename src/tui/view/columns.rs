//! Rows of columns: which of them have room, and how the selected row looks.
//!
//! It must never know what a column holds.

use ratatui::text::{Line, Span};

use super::DrawContext;
use crate::domain::width;

/// A column: what it holds, its title, its width, and from which width of the pane on it is shown.
pub(super) type Column<K> = (K, &'static str, usize, u16);

/// Those that a pane so wide has room for: each with its title and its width.
pub(super) fn shown<K: Copy>(all: &[Column<K>], pane: u16) -> impl Iterator<Item = (K, &'static str, usize)> {
    let with_room = all.iter().filter(move |(.., from)| pane >= *from);
    with_room.map(|(column, title, columns, _)| (*column, *title, *columns))
}

/// A row of a pane so wide.
pub(super) fn row(
    context: &DrawContext<'_>,
    (spans, is_selected): (Vec<Span<'static>>, bool),
    pane: u16,
) -> Line<'static> {
    if !is_selected {
        return Line::from(spans);
    }
    // One look for the whole row: colours that are reversed one by one hide what is selected.
    let text: String = spans.iter().map(|span| span.content.as_ref()).collect();
    Line::styled(width::fit(&text, usize::from(pane), ""), context.theme.selected())
}
