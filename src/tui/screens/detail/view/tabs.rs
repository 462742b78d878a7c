//! The row of tabs, with the position in the open tab or the search field.

use ratatui::{
    Frame,
    layout::Rect,
    style::Modifier,
    text::{Line, Span},
};
use tui_input::Input;

use crate::{
    presentation::{glyphs::Glyphs, width},
    tui::{dialogs::Dialog, draw::DrawContext, screens::detail::state::DetailTab, widgets::field},
};

/// The text before the search text.
const PROMPT: &str = "/ ";
/// The fewest columns of the search field.
const MIN_FIELD: usize = 16;
/// From this width on, each title has a blank on both sides.
const AMPLE: usize = 70;

/// Draws the row. Returns whether the position had room.
pub(crate) fn draw(context: &DrawContext<'_>, position: &str, row: Rect, frame: &mut Frame<'_>) -> bool {
    let (open, columns) = (context.model.detail.tab, usize::from(row.width));
    let mut line = titles(context, open, columns);
    let titles_width = line.width();
    let shows_position = titles_width + 2 + width::display_width(position) <= columns;
    if shows_position {
        let room = columns - titles_width;
        line.push_span(Span::styled(format!("{position:>room$}"), context.theme.dim()));
    }
    let first_row = Rect { height: row.height.min(1), ..row };
    frame.render_widget(line, first_row);
    if row.height > 1 {
        let below = Rect { y: row.y + 1, height: 1, ..row };
        frame.render_widget(underline(context, open, columns), below);
    }
    if let Dialog::Find { input, .. } = &context.model.dialog {
        draw_search(context, input, titles_width, first_row, frame);
    }
    shows_position
}

/// Returns the tab whose title is at a column of the row.
pub(crate) fn at(row: Rect, column: u16) -> Option<DetailTab> {
    let mut end = usize::from(row.x);
    let found = widths(usize::from(row.width))?.into_iter().position(|width| {
        end += width;
        usize::from(column) < end
    })?;
    DetailTab::ALL.get(found).copied()
}

/// Returns the columns of each title with a blank before it, and after it if there is room; `None` if the titles don't
/// fit. The columns don't depend on the open tab, so that no title moves when another tab opens.
fn widths(columns: usize) -> Option<[usize; DetailTab::ALL.len()]> {
    let blanks = if columns >= AMPLE { 2 } else { 1 };
    let widths = DetailTab::ALL.map(|tab| tab.title().len() + blanks);
    // One column is needed for the mark after the last title.
    (widths.iter().sum::<usize>() < columns).then_some(widths)
}

/// Returns all titles if they fit, else the open tab's title.
fn titles(context: &DrawContext<'_>, open: DetailTab, columns: usize) -> Line<'static> {
    let style = context.theme.accent().add_modifier(Modifier::BOLD | Modifier::REVERSED);
    let (before, after) = context.theme.glyphs().choose((" ", " "), ("[", "]"));
    let opened = || Span::styled(format!("{before}{}{after}", open.title()), style);
    let Some(widths) = widths(columns) else {
        let count = format!(" {} of {}", open as usize + 1, DetailTab::ALL.len());
        return Line::from(vec![opened(), Span::styled(count, context.theme.dim())]);
    };
    let cell = |(tab, width): (DetailTab, usize)| format!(" {:<1$}", tab.title(), width - 1);
    // The last title is followed by a blank, too.
    let text: String = DetailTab::ALL.into_iter().zip(widths).map(cell).chain([" ".to_owned()]).collect();
    let start = start_of(open, &widths);
    let piece = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
    let end = start + open.title().len() + 2;
    let mark = match (columns >= AMPLE, context.theme.glyphs()) {
        (true, _) | (_, Glyphs::Ascii) => vec![opened()],
        // Without room for blanks of its own, the mark doesn't touch the next title.
        (false, Glyphs::Unicode) => vec![Span::raw(" "), Span::styled(open.title(), style), Span::raw(" ")],
    };
    let before = Span::raw(piece(0, start));
    Line::from_iter([before].into_iter().chain(mark).chain([Span::raw(piece(end, text.len()))]))
}

/// Returns the column of the blank before a title.
fn start_of(tab: DetailTab, widths: &[usize]) -> usize {
    widths.iter().take(tab as usize).sum()
}

/// Returns a rule with a thick part below the open tab.
fn underline(context: &DrawContext<'_>, open: DetailTab, columns: usize) -> Line<'static> {
    let (thin, thick) = context.theme.glyphs().choose(("─", "━"), ("-", "="));
    let before = widths(columns).map_or(0, |widths| start_of(open, &widths));
    let under = open.title().len() + 2;
    Line::from(vec![
        Span::styled(thin.repeat(before), context.theme.dim()),
        Span::styled(thick.repeat(under), context.theme.accent()),
        Span::styled(thin.repeat(columns.saturating_sub(before + under)), context.theme.dim()),
    ])
}

/// Draws the search field with the cursor, after the titles or over them.
fn draw_search(context: &DrawContext<'_>, input: &Input, titles_width: usize, row: Rect, frame: &mut Frame<'_>) {
    let taken = u16::try_from(titles_width + 1).unwrap_or(u16::MAX);
    let left = row.width.saturating_sub(taken);
    let offset = if usize::from(left) < MIN_FIELD { 0 } else { taken };
    let field = Rect { x: row.x + offset, width: row.width - offset, ..row };
    frame.render_widget(Line::raw(" ".repeat(usize::from(field.width))), field);
    let style = context.theme.key();
    field::draw_after(Span::styled(PROMPT, style), input, style, field, frame);
}
