//! The reply for a ticket, or another text that was to be copied.
//!
//! It stands flush left and without lines beside it, so that it can be selected with the mouse where no clipboard is
//! reached.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
    widgets::{Block, Borders},
};

use super::{DrawContext, put_lines};
use crate::{domain::width, tui::command::Id};

pub(super) fn draw(context: &DrawContext<'_>, (text, scroll): (&str, usize), pane: Rect, frame: &mut Frame<'_>) {
    let title = context.model.copied.as_deref().unwrap_or("Answer");
    let title = width::cut(title, usize::from(pane.width.saturating_sub(2)), context.theme.ellipsis);
    let close = context.key(Id::Back);
    let foot = format!(" {close} closes   nothing pasted? select it with the mouse ");
    let block = Block::new()
        .borders(Borders::TOP | Borders::BOTTOM)
        .border_set(context.theme.border)
        .border_style(context.theme.dim())
        .title(Span::styled(format!(" {title} "), context.theme.label()))
        .title_bottom(Span::styled(foot, context.theme.dim()));
    let inner = block.inner(pane);
    frame.render_widget(block, pane);
    let scroll = scroll.min(scroll_end(text, pane));
    let lines: Vec<_> = lines(text, pane).into_iter().skip(scroll).map(Line::raw).collect();
    put_lines(lines, inner, frame);
}

pub(super) fn scroll_end(text: &str, pane: Rect) -> usize {
    lines(text, pane).len().saturating_sub(usize::from(pane.height.saturating_sub(2)))
}

fn lines(text: &str, pane: Rect) -> Vec<String> {
    let columns = usize::from(pane.width);
    // What fits stays as it is: the blanks between columns too.
    let wrap = |line: &str| match line {
        line if width::of(line) <= columns => vec![line.to_owned()],
        line => width::wrap(line, columns),
    };
    text.lines().flat_map(wrap).collect()
}
