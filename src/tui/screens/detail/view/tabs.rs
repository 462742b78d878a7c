//! The row of tabs, with the position in the open tab or the search field.

use ratatui::{
    Frame,
    layout::Rect,
    style::Modifier,
    text::{Line, Span},
};
use tui_input::Input;

use crate::{
    presentation::width,
    tui::{dialogs::Dialog, draw::DrawContext, screens::detail::state::DetailTab, widgets::field},
};

/// The text before the search text.
const PROMPT: &str = "/ ";
/// The fewest columns of the search field.
const LEAST_FIELD: usize = 16;

pub(crate) fn draw(context: &DrawContext<'_>, tab: DetailTab, place: &str, row: Rect, frame: &mut Frame<'_>) {
    let columns = usize::from(row.width);
    let mut line = titles(context, tab, columns);
    if line.width() + 2 + width::display_width(place) <= columns {
        let room = columns - line.width();
        line.push_span(Span::styled(format!("{place:>room$}"), context.theme.dim()));
    }
    let first_row = Rect { height: row.height.min(1), ..row };
    frame.render_widget(line, first_row);
    if row.height > 1 {
        let below = Rect { y: row.y + 1, height: 1, ..row };
        frame.render_widget(underline(context, tab, columns), below);
    }
    let row = first_row;
    if let Dialog::Find { input, .. } = &context.model.dialog {
        draw_search(context, input, tab, row, frame);
    }
}

/// Returns the tab whose title is at a column of the row.
pub(crate) fn at(context: &DrawContext<'_>, open: DetailTab, row: Rect, column: u16) -> Option<DetailTab> {
    let line = titles(context, open, usize::from(row.width));
    let mut end = usize::from(row.x);
    let found = line.spans.iter().position(|span| {
        end += width::display_width(&span.content);
        usize::from(column) < end
    })?;
    DetailTab::ALL.get(found).copied().filter(|_| line.spans.len() == DetailTab::ALL.len())
}

/// Returns all titles if they fit, else the open tab's title.
fn titles(context: &DrawContext<'_>, open: DetailTab, columns: usize) -> Line<'static> {
    let title = |tab: &DetailTab| match *tab == open {
        true => Span::styled(
            context.theme.glyphs().choose(format!(" {} ", tab.title()), format!("[{}]", tab.title())),
            context.theme.accent().add_modifier(Modifier::BOLD | Modifier::REVERSED),
        ),
        false => Span::raw(format!(" {}", tab.title())),
    };
    let all = Line::from_iter(DetailTab::ALL.iter().map(title));
    if all.width() <= columns {
        return all;
    }
    let place = DetailTab::ALL.iter().position(|tab| *tab == open).unwrap_or_default() + 1;
    let count = format!(" {place} of {}", DetailTab::ALL.len());
    Line::from(vec![title(&open), Span::styled(count, context.theme.dim())])
}

/// Returns a rule with a thick part below the open tab.
fn underline(context: &DrawContext<'_>, open: DetailTab, columns: usize) -> Line<'static> {
    let (thin, thick) = context.theme.glyphs().choose(("─", "━"), ("-", "="));
    let titles = titles(context, open, columns);
    let place = DetailTab::ALL.iter().position(|tab| *tab == open).unwrap_or_default();
    let place = if titles.spans.len() == DetailTab::ALL.len() { place } else { 0 };
    let widths: Vec<usize> = titles.spans.iter().map(|span| width::display_width(&span.content)).collect();
    let before: usize = widths.iter().take(place).sum();
    let under = widths.get(place).copied().unwrap_or_default();
    Line::from(vec![
        Span::styled(thin.repeat(before), context.theme.dim()),
        Span::styled(thick.repeat(under), context.theme.accent()),
        Span::styled(thin.repeat(columns.saturating_sub(before + under)), context.theme.dim()),
    ])
}

/// Draws the search field with the cursor, after the titles or over them.
fn draw_search(context: &DrawContext<'_>, input: &Input, tab: DetailTab, row: Rect, frame: &mut Frame<'_>) {
    let taken = u16::try_from(titles(context, tab, usize::from(row.width)).width() + 1).unwrap_or(u16::MAX);
    let left = row.width.saturating_sub(taken);
    let offset = if usize::from(left) < LEAST_FIELD { 0 } else { taken };
    let field = Rect { x: row.x + offset, width: row.width - offset, ..row };
    frame.render_widget(Line::raw(" ".repeat(usize::from(field.width))), field);
    let style = context.theme.key();
    field::draw_after(Span::styled(PROMPT, style), input, style, field, frame);
}
