//! The view of a menu at the bottom of the screen: a title, a remark, and a line for each entry.
//!
//! The list above the menu must stay visible, so that a person sees the transactions that the choice concerns.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

use super::state::{Menu, MenuEntry};
use crate::{
    presentation::width,
    tui::draw::{DrawContext, put_dialog, put_lines, shown_lines},
};

pub(crate) fn draw(context: &DrawContext<'_>, menu: &Menu, body: Rect, frame: &mut Frame<'_>) {
    let columns = usize::from(body.width.saturating_sub(4)).max(1);
    let remark = width::wrap(&menu.remark, columns);
    let remark: Vec<String> = remark.into_iter().filter(|line| !line.is_empty()).collect();
    let pane = bottom(body, remark.len() + menu.entries.len() + 2);
    let title = menu.title.replace('…', context.theme.ellipsis);
    let title = width::cut(&format!(" {title} "), usize::from(pane.width.saturating_sub(2)), "");
    let mut lines: Vec<Line<'_>> = remark.into_iter().map(|line| Line::raw(format!(" {line}"))).collect();
    // On a low screen the entries take precedence over the remark.
    let room = usize::from(pane.height.saturating_sub(2));
    lines.truncate(room.saturating_sub(menu.entries.len()));
    let rows = room.saturating_sub(lines.len()).max(1);
    let first = (menu.cursor + 1).saturating_sub(rows);
    let block = context.titled_block(title).title_bottom(shown_lines(context.theme, first, rows, menu.entries.len()));
    let inner = put_dialog(block, pane, frame);
    let shown = menu.entries.iter().enumerate().skip(first).take(rows);
    lines.extend(shown.map(|(index, entry)| line(context, entry, index == menu.cursor, inner.width)));
    put_lines(lines, inner, frame);
}

fn line(context: &DrawContext<'_>, entry: &MenuEntry, is_chosen: bool, columns: u16) -> Line<'static> {
    let label = entry.label.replace('…', context.theme.ellipsis).replace('→', context.theme.glyphs().arrow());
    if is_chosen {
        let text = format!(">{:<6} {label}", entry.key);
        return Line::styled(width::fit(&text, usize::from(columns), context.theme.ellipsis), context.theme.selected());
    }
    let room = usize::from(columns).saturating_sub(8);
    let label = width::cut(&label, room, context.theme.ellipsis);
    Line::from(vec![Span::styled(format!(" {:<6} ", entry.key), context.theme.key()), Span::raw(label)])
}

/// Returns the lowest rows of an area, at most all of them.
pub(crate) fn bottom(body: Rect, rows: usize) -> Rect {
    let height = u16::try_from(rows).unwrap_or(u16::MAX).min(body.height);
    Rect { y: body.y + (body.height - height), height, ..body }
}
