//! The view of the reply for a ticket, or of another text to copy.
//!
//! The text must begin in the first column, without a frame at its sides: a person without a clipboard selects the text
//! with the mouse.

use ratatui::{
    Frame,
    layout::Rect,
    style::Style,
    text::{Line, Span},
    widgets::{Block, Borders},
};

use crate::{
    domain::text::counted,
    presentation::width,
    tui::{
        command::CommandId,
        draw::{DrawContext, put_dialog, put_lines},
    },
};

/// The columns that the title keeps beside a long warning.
const MIN_TITLE: usize = 24;

/// Draws the title, the result of copying, and the text.
pub(crate) fn draw(
    context: &DrawContext<'_>,
    [title, warning, text]: [&str; 3],
    scroll: usize,
    pane: Rect,
    frame: &mut Frame<'_>,
) {
    let room = usize::from(pane.width).saturating_sub(4);
    let close = context.key(CommandId::Back);
    let end = scroll_end(text, pane);
    let (scroll, following) = (scroll.min(end), end.saturating_sub(scroll));
    // A warning takes the place of the copy result, which is then shown at the bottom.
    let ((after, style), (below, below_style)) = match (warning, copy_result(context)) {
        ("", copied) => (copied, Default::default()),
        (warning, copied) => ((warning.to_owned(), context.theme.warning()), copied),
    };
    let hint = match (following, below.is_empty()) {
        (0, _) => "   no clipboard? select the text with the mouse".to_owned(),
        (lines, has_room) => {
            let more = format!("   {} {}", context.key(CommandId::Down), counted(lines, "more line"));
            if has_room { format!("{more}   no clipboard? use the mouse") } else { more }
        }
    };
    let foot = format!(" {close} closes{hint} ");
    let below = width::cut(&below, room.saturating_sub(width::display_width(&foot)), context.theme.ellipsis);
    let below = if below.is_empty() { below } else { format!(" {below} ") };
    // A warning is never cut. The title may be: its beginning names the audience.
    let min_title = match width::display_width(warning) {
        0 => width::display_width(title),
        columns => MIN_TITLE.min(room.saturating_sub(columns)),
    };
    let after = width::cut(&after, room.saturating_sub(min_title), context.theme.ellipsis);
    let title_room = room.saturating_sub(width::display_width(&after));
    let title = width::cut(&title.replace('…', context.theme.ellipsis), title_room, context.theme.ellipsis);
    let title = Line::from(vec![
        Span::styled(format!(" {title} "), context.theme.label()),
        Span::styled(if after.is_empty() { after } else { format!(" {after} ") }, style),
    ]);
    let block = Block::new()
        .borders(Borders::TOP | Borders::BOTTOM)
        .border_set(context.theme.border)
        .border_style(context.theme.dim())
        .title(title)
        .title_bottom(Span::styled(foot, context.theme.dim()))
        .title_bottom(Line::styled(below, below_style).right_aligned());
    let inner = put_dialog(block, pane, frame);
    put_lines(lines(text, pane).into_iter().skip(scroll).map(Line::raw), inner, frame);
}

/// Returns whether the text was copied, in words; blank until that is known.
fn copy_result(context: &DrawContext<'_>) -> (String, Style) {
    match &context.model.copied {
        None => (String::new(), context.theme.dim()),
        Some(Err(failure)) => (failure.clone(), context.theme.warning()),
        Some(Ok(copied)) => {
            let mark = context.theme.glyphs().choose("✓ ", "");
            (format!("{mark}{copied}"), context.theme.good())
        }
    }
}

/// Returns the rows that the text needs, at the top of the body.
pub(crate) fn area(text: &str, body: Rect) -> Rect {
    let height = u16::try_from(lines(text, body).len() + 2).unwrap_or(u16::MAX);
    Rect { height: height.min(body.height), ..body }
}

pub(crate) fn scroll_end(text: &str, pane: Rect) -> usize {
    lines(text, pane).len().saturating_sub(usize::from(pane.height.saturating_sub(2)))
}

fn lines(text: &str, pane: Rect) -> Vec<String> {
    let columns = usize::from(pane.width);
    // A line that fits keeps the spaces between its columns.
    let wrap = |line: &str| match line {
        line if width::display_width(line) <= columns => vec![line.to_owned()],
        line => width::wrap(line, columns),
    };
    text.lines().flat_map(wrap).collect()
}
