//! The timeline of a transfer: its age between submission, median, nine in ten and deadline, on one line with its marks
//! below.
//!
//! The line grows with the age, so that a transfer past its deadline stays on the line.

use std::time::Duration;

use ratatui::{
    style::Style,
    text::{Line, Span},
};

use crate::{
    domain::{span, transaction::Transaction},
    presentation::{progress::ProgressScale, width},
    tui::{draw::DrawContext, screens::list::view::zone_style},
};

/// With fewer columns there is no timeline.
const MIN_COLUMNS: usize = 20;

struct TimelineMark {
    at: Duration,
    symbol: &'static str,
    text: String,
    style: Style,
}

/// Returns the timeline and the rows of its marks; nothing for a transfer that doesn't wait, or in too few columns.
pub(super) fn lines(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    if !tx.is_awaited() || columns < MIN_COLUMNS {
        return Vec::new();
    }
    let (theme, glyphs) = (context.theme, context.theme.glyphs());
    let scale = ProgressScale::new(tx, &context.model.forecast(tx), context.now.wall);
    let style = zone_style(theme, &scale);
    let tick = glyphs.choose("┼", "+");
    let mark = |at, symbol, text, style| TimelineMark { at, symbol, text, style };
    // Forecasts are rounded as everywhere else; ages and limits are rounded down.
    let marks = [
        mark(scale.median, tick, format!("median {}", span::nearest(scale.median)), theme.dim()),
        mark(scale.nine_in_ten, tick, format!("9 in 10 {}", span::nearest(scale.nine_in_ten)), theme.dim()),
        mark(scale.deadline, glyphs.choose("┃", "|"), format!("limit {}", span::short(scale.deadline)), theme.dim()),
        mark(scale.age, glyphs.choose("●", "O"), format!("now {}", span::short(scale.age)), style.patch(theme.label())),
    ];
    let longest = marks.iter().map(|mark| mark.at).max().unwrap_or_default().max(Duration::from_secs(1));
    // The last column is the arrow: time goes on.
    let last = columns - 2;
    // As in the chart of the observed statuses, so that a moment has one column in both.
    let column = |at: Duration| {
        let share = at.as_secs_f64() / longest.as_secs_f64();
        ((share * (last + 1) as f64).floor() as usize).min(last)
    };
    let now = column(scale.age);
    let symbol_at = |cell: usize| {
        let here = marks.iter().rev().find(|mark| column(mark.at) == cell);
        let passed = cell <= now;
        match here {
            Some(mark) if mark.at == scale.age => (mark.symbol, mark.style),
            Some(mark) => (mark.symbol, if passed { style } else { mark.style }),
            None if cell == 0 => (glyphs.choose("├", "|"), if passed { style } else { theme.dim() }),
            None if passed => (glyphs.choose("━", "="), style),
            None => (glyphs.choose("─", "-"), theme.dim()),
        }
    };
    let end = (glyphs.beyond(), theme.dim());
    let line = (0..=last).map(symbol_at).chain([end]).map(|(symbol, style)| Span::styled(symbol, style));
    [Line::from_iter(line)].into_iter().chain(label_rows(&marks, column, columns)).collect()
}

/// Returns the texts of the marks below their columns, in as many rows as they need.
fn label_rows(marks: &[TimelineMark], column: impl Fn(Duration) -> usize, columns: usize) -> Vec<Line<'static>> {
    let mut rows: Vec<(usize, Line<'static>)> = Vec::new();
    let mut ordered: Vec<&TimelineMark> = marks.iter().collect();
    ordered.sort_by_key(|mark| mark.at);
    for mark in ordered {
        let length = width::display_width(&mark.text);
        // A text is centred below its mark, inside the line.
        let start = column(mark.at).saturating_sub(length / 2).min(columns.saturating_sub(length));
        let free = |(end, _): &(usize, Line<'_>)| *end == 0 || end + 2 <= start;
        let index = rows.iter().position(free).unwrap_or_else(|| {
            rows.push((0, Line::default()));
            rows.len() - 1
        });
        let Some((end, row)) = rows.get_mut(index) else { continue };
        row.push_span(Span::raw(" ".repeat(start.saturating_sub(*end))));
        row.push_span(Span::styled(mark.text.clone(), mark.style));
        *end = start + length;
    }
    rows.into_iter().map(|(_, row)| row).collect()
}
