//! The command line, and below it the commands that may be meant.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
    widgets::{Block, Clear},
};

use super::{DrawContext, put_lines};
use crate::{
    domain::width,
    tui::model::palette::{Offer, Palette},
};

/// What stands before what is typed.
const PROMPT: &str = ": ";
/// Columns of a name with what it works with.
const NAME: usize = 24;
/// Columns of the keys.
const KEYS: usize = 10;

pub(super) fn draw(context: &DrawContext<'_>, palette: &Palette, pane: Rect, frame: &mut Frame<'_>) {
    let rows = u16::try_from(palette.offers.len()).unwrap_or(u16::MAX).max(1);
    let pane = Rect { height: pane.height.min(rows.saturating_add(3)), ..pane };
    frame.render_widget(Clear, pane);
    let block = Block::bordered()
        .border_set(context.theme.border)
        .title(Span::styled(" Command ", context.theme.label()))
        .title_bottom(Span::styled(" Enter runs   Tab completes   Up Down choose   Esc closes ", context.theme.dim()));
    let inner = block.inner(pane);
    frame.render_widget(block, pane);
    let columns = usize::from(inner.width);
    let room = usize::from(inner.height.saturating_sub(1));
    let typed: String = palette.input.value().chars().filter(|letter| !letter.is_control()).collect();
    let prompt = Line::from(vec![Span::styled(PROMPT, context.theme.key()), Span::raw(typed)]);
    let first = (palette.chosen + 1).saturating_sub(room);
    let offers = palette.offers.iter().enumerate().skip(first).take(room);
    let mut lines = vec![prompt];
    lines.extend(offers.map(|(index, offer)| line(context, offer, index == palette.chosen, columns)));
    if palette.offers.is_empty() {
        lines.push(Line::styled("  no command is called so here", context.theme.warning()));
    }
    put_lines(lines, inner, frame);
    place_cursor(palette, inner, frame);
}

fn line(context: &DrawContext<'_>, offer: &Offer, is_chosen: bool, columns: usize) -> Line<'static> {
    let Offer { command, argument } = offer;
    let argument = match (argument.as_str(), command.argument) {
        ("", Some(wanted)) => wanted,
        (argument, _) => argument,
    };
    let name = width::fit(&format!("{} {argument}", command.name), NAME, context.theme.ellipsis);
    let keys = context.model.setting.keys.of(command.id).join(" ");
    let keys = width::fit(&keys, KEYS, context.theme.ellipsis);
    let mark = if is_chosen { ">" } else { " " };
    if is_chosen {
        let text = format!("{mark} {name} {keys} {}", command.help);
        return Line::styled(width::fit(&text, columns, context.theme.ellipsis), context.theme.selected());
    }
    let help = width::cut(command.help, columns.saturating_sub(NAME + KEYS + 4), context.theme.ellipsis);
    Line::from(vec![
        Span::raw(format!("{mark} {name} ")),
        Span::styled(format!("{keys} "), context.theme.key()),
        Span::styled(help, context.theme.dim()),
    ])
}

fn place_cursor(palette: &Palette, inner: Rect, frame: &mut Frame<'_>) {
    let column = width::of(PROMPT) + palette.input.visual_cursor();
    let column = u16::try_from(column).unwrap_or(u16::MAX).min(inner.width.saturating_sub(1));
    if inner.area() > 0 {
        frame.set_cursor_position((inner.x + column, inner.y));
    }
}
