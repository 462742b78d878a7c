//! The view of the menu: the key, the name and the beginning of each item.
//!
//! A link that will be refused must show the reason before a person chooses it.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

use super::state::{CopyItem, CopyMenu, LinkAction};
use crate::{
    domain::{link, text},
    presentation::width,
    tui::{
        draw::{DrawContext, put_dialog, put_lines, shown_lines},
        widgets::hyperlink,
    },
};

/// The width of the names in columns.
const LABEL: usize = 21;

pub(crate) fn draw(context: &DrawContext<'_>, menu: &CopyMenu, body: Rect, frame: &mut Frame<'_>) {
    let (title, foot) = match (menu.purpose, menu.count) {
        (LinkAction::Copy, ..=1) => (" Copy ".to_owned(), " Enter or a key copies   Esc closes "),
        (LinkAction::Copy, count) => {
            (format!(" Copy from {count} transactions "), " Enter or a key copies   Esc closes ")
        }
        (LinkAction::Open, _) => (" Links ".to_owned(), " Enter or a number opens   y copies   Esc closes "),
    };
    let room = usize::from(body.height.saturating_sub(2));
    // The item at the cursor is always visible.
    let skipped = (menu.cursor + 1).saturating_sub(room.max(1));
    let height = u16::try_from(menu.items.len() + 2).unwrap_or(u16::MAX).min(body.height);
    let pane = Rect { height, ..body };
    let block = context
        .titled_block(title)
        .title_bottom(Span::styled(foot, context.theme.dim()))
        .title_bottom(shown_lines(context.theme, skipped, room, menu.items.len()));
    let inner = put_dialog(block, pane, frame);
    let columns = usize::from(inner.width);
    let items = menu.items.iter().enumerate().skip(skipped).take(usize::from(inner.height));
    put_lines(items.map(|(index, item)| line(context, item, index == menu.cursor, columns)), inner, frame);
    hyperlink::mark_written(context, menu.items.iter().map(|item| item.text.as_str()), inner, frame.buffer_mut());
}

fn line(context: &DrawContext<'_>, item: &CopyItem, is_chosen: bool, columns: usize) -> Line<'static> {
    // Only a link can be refused.
    let refused = item.is_link.then(|| link::check(&item.text).err()).flatten();
    let preview = match &refused {
        Some(error) => format!("(not opened: {error}) {}", text::clean(&item.text)),
        None if item.asks_for_customer() => "one for each customer: tickets or senders differ".to_owned(),
        None => text::clean(&item.text),
    };
    let label = width::fit(item.label, LABEL, context.theme.ellipsis);
    let room = columns.saturating_sub(LABEL + 6);
    let preview = width::cut(&preview, room, context.theme.ellipsis);
    let mark = if is_chosen { ">" } else { " " };
    if is_chosen {
        let text = format!("{mark} {}  {label} {preview}", item.key);
        return Line::styled(width::fit(&text, columns, ""), context.theme.selected());
    }
    Line::from(vec![
        Span::raw(format!("{mark} ")),
        Span::styled(item.key.to_string(), context.theme.key()),
        Span::raw(format!("  {label} ")),
        Span::styled(preview, context.theme.dim()),
    ])
}
