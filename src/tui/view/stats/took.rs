//! How long the transfers of the chosen route took: the median and the 95 in 100 in words, and how they are spread.
//!
//! Times are those from submission to the end, as far as our polls can tell; buckets widen with them.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::Line,
};

use super::{DrawContext, bars, put_lines};
use crate::{
    domain::{span, width},
    tui::model::stats::Spread,
};

/// A label needs so many columns: `45m `.
const LABEL: usize = 4;
/// A bar that is wider says no more.
const WIDEST: usize = 8;

/// In words, in so many columns: of how many goes first where there is no room.
pub(super) fn sentence(spread: &Spread, columns: usize) -> String {
    let timed = spread.timed();
    let (Some(median), Some(p95)) = (spread.median, spread.p95) else { return " no transfer was timed yet".to_owned() };
    if timed == 1 {
        return format!(" the 1 that was timed took {}", span::long(median));
    }
    let said = format!(" median {}, 95 in 100 within {}", span::long(median), span::long(p95));
    let brief = format!(" median {}, p95 {}", span::nearest(median), span::nearest(p95));
    let whole = [format!("{said} ({timed} timed)"), said];
    whole.into_iter().find(|text| width::of(text) <= columns).unwrap_or(brief)
}

pub(super) fn draw(context: &DrawContext<'_>, spread: &Spread, pane: Rect, frame: &mut Frame<'_>) {
    let [words, chart, counts, labels] =
        Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1), Constraint::Length(1)])
            .areas(pane);
    frame.render_widget(Line::raw(sentence(spread, usize::from(pane.width))), words);
    let columns = usize::from(pane.width).saturating_sub(2);
    let buckets = spread.took.buckets((columns / LABEL).max(1));
    if buckets.is_empty() {
        return empty(context, Rect { height: pane.height.saturating_sub(1), y: pane.y + 1, ..pane }, frame);
    }
    let cells = (columns / buckets.len()).clamp(1, WIDEST);
    let greatest = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    let values: Vec<_> = buckets.iter().map(|bucket| (Some(bucket.count as f64), context.theme.info())).collect();
    let indented = |row: Rect| Rect { x: row.x + 1, width: row.width.saturating_sub(1), ..row };
    bars::draw(context, (&values, greatest as f64), (indented(chart), cells), frame);
    let cell = |text: String| width::fit(&text, cells, "");
    let count = |count: u64| cell(if count > 0 { count.to_string() } else { String::new() });
    let said: String = buckets.iter().map(|bucket| count(bucket.count)).collect();
    frame.render_widget(Line::raw(said), indented(counts));
    let said: String = buckets.iter().map(|bucket| cell(bucket.label())).collect();
    frame.render_widget(Line::styled(said, context.theme.dim()), indented(labels));
}

fn empty(context: &DrawContext<'_>, pane: Rect, frame: &mut Frame<'_>) {
    let text = "Here will be how long transfers take. One counts once it is settled, if submittedAt was given and two of our \
                answers lie closely enough around its end.";
    let lines = width::wrap(text, usize::from(pane.width).saturating_sub(2));
    let lines = lines.into_iter().map(|text| Line::styled(format!(" {text}"), context.theme.dim()));
    put_lines(lines, pane, frame);
}
