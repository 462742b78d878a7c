//! The row of tabs, with where in the open one the person is, or what they look for in it.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};
use tui_input::Input;

use super::DrawContext;
use crate::{
    domain::width,
    tui::model::{Overlay, detail::DetailTab},
};

/// What stands before what is looked for.
const PROMPT: &str = "/ ";
/// What is typed needs so many columns at least.
const FIELD: usize = 16;

pub(super) fn draw(context: &DrawContext<'_>, (tab, place): (DetailTab, &str), row: Rect, frame: &mut Frame<'_>) {
    let columns = usize::from(row.width);
    let mut line = titles(context, tab, columns);
    if line.width() + 2 + width::of(place) <= columns {
        let room = columns - line.width();
        line.push_span(Span::styled(format!("{place:>room$}"), context.theme.dim()));
    }
    frame.render_widget(line, row);
    if let Overlay::Find { input, .. } = &context.model.overlay {
        find(context, input, (tab, row), frame);
    }
}

/// The tab whose title stands at a column of the row.
pub(super) fn at(context: &DrawContext<'_>, open: DetailTab, (row, column): (Rect, u16)) -> Option<DetailTab> {
    let line = titles(context, open, usize::from(row.width));
    let mut end = usize::from(row.x);
    let found = line.spans.iter().position(|span| {
        end += width::of(&span.content);
        usize::from(column) < end
    })?;
    DetailTab::ALL.get(found).copied().filter(|_| line.spans.len() == DetailTab::ALL.len())
}

/// All titles where there is room for them, else the open one.
fn titles(context: &DrawContext<'_>, open: DetailTab, columns: usize) -> Line<'static> {
    let title = |tab: &DetailTab| match *tab == open {
        true => Span::styled(format!("[{}]", tab.title()), context.theme.selected()),
        false => Span::raw(format!(" {} ", tab.title())),
    };
    let all = Line::from_iter(DetailTab::ALL.iter().map(title));
    if all.width() <= columns {
        return all;
    }
    let place = DetailTab::ALL.iter().position(|tab| *tab == open).unwrap_or_default() + 1;
    let count = format!(" {place} of {}", DetailTab::ALL.len());
    Line::from(vec![title(&open), Span::styled(count, context.theme.dim())])
}

/// What is typed, behind the titles or over them, with the cursor.
fn find(context: &DrawContext<'_>, input: &Input, (tab, row): (DetailTab, Rect), frame: &mut Frame<'_>) {
    let taken = u16::try_from(titles(context, tab, usize::from(row.width)).width() + 1).unwrap_or(u16::MAX);
    let left = row.width.saturating_sub(taken);
    let offset = if usize::from(left) < FIELD { 0 } else { taken };
    let field = Rect { x: row.x + offset, width: row.width - offset, ..row };
    let room = usize::from(field.width).saturating_sub(width::of(PROMPT) + 1);
    let scroll = input.visual_scroll(room);
    let mut skipped = 0;
    let behind = |letter: &char| {
        skipped += width::of(letter.encode_utf8(&mut [0; 4]));
        skipped <= scroll
    };
    let typed: String = input.value().chars().skip_while(behind).collect();
    let shown = width::fit(&format!("{PROMPT}{typed}"), usize::from(field.width), "");
    frame.render_widget(Line::styled(shown, context.theme.key()), field);
    let column = width::of(PROMPT) + input.visual_cursor().saturating_sub(scroll);
    let column = u16::try_from(column).unwrap_or(u16::MAX).min(field.width.saturating_sub(1));
    if field.area() > 0 {
        frame.set_cursor_position((field.x + column, field.y));
    }
}
