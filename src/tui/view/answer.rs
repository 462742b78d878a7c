//! The reply for a ticket, as it was copied.
//!
//! It stands flush left and without lines beside it, so that it can be selected with the mouse where no clipboard is
//! reached.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
    widgets::{Block, Borders, Paragraph},
};

use super::Look;
use crate::domain::width;

pub(super) fn draw(look: &Look<'_>, (text, scroll): (&str, usize), pane: Rect, frame: &mut Frame<'_>) {
    let block = Block::new()
        .borders(Borders::TOP | Borders::BOTTOM)
        .border_set(look.theme.border)
        .border_style(look.theme.dim())
        .title(Span::styled(" Answer, sent to the terminal's clipboard (OSC 52) ", look.theme.label()))
        .title_bottom(Span::styled(" Esc closes   nothing pasted? select it with the mouse ", look.theme.dim()));
    let inner = block.inner(pane);
    frame.render_widget(block, pane);
    let scroll = scroll.min(scroll_end(text, pane));
    let lines: Vec<_> = lines(text, pane).into_iter().skip(scroll).map(Line::raw).collect();
    frame.render_widget(Paragraph::new(lines), inner);
}

pub(super) fn scroll_end(text: &str, pane: Rect) -> usize {
    lines(text, pane).len().saturating_sub(usize::from(pane.height.saturating_sub(2)))
}

fn lines(text: &str, pane: Rect) -> Vec<String> {
    let wrap = |line: &str| match line {
        "" => vec![String::new()],
        line => width::wrap(line, usize::from(pane.width)),
    };
    text.lines().flat_map(wrap).collect()
}
