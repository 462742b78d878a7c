//! The routes, one a row: how many transfers were timed, how long they took, and how that is spread, all to one scale.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

use super::{DrawContext, bars, columns, put_lines};
use crate::{
    domain::{span, width},
    tui::model::stats::Spread,
};

/// Columns of a span in two units and in one, and what the other columns take.
const LONG: usize = 7;
const SHORT: usize = 6;
const ROUTE: usize = 13;
const COUNT: usize = 5;
/// What stands over the small charts.
const SPREAD: &str = "SPREAD";
/// From so many columns on there is room for two units, and for more of the name.
const AMPLE: usize = 44;

pub(super) fn draw(context: &DrawContext<'_>, pane: Rect, frame: &mut Frame<'_>) {
    let charts = &context.model.charts;
    let room = usize::from(pane.width);
    let (route, spans) = sizes(room);
    let titles = format!(" {:<route$}{:>COUNT$} {:>spans$} {:>spans$} ", "ROUTE", "TIMED", "MEDIAN", "P95");
    let spread = if titles.len() + SPREAD.len() <= room { SPREAD } else { "" };
    let mut lines = vec![Line::styled(width::cut(&format!("{titles}{spread}"), room, ""), context.theme.dim())];
    let rows = usize::from(pane.height).saturating_sub(1);
    let shown = charts.spreads().iter().enumerate().skip(charts.top).take(rows);
    lines.extend(shown.map(|(place, spread)| line(context, spread, (place == charts.place(), pane.width))));
    put_lines(lines, pane, frame);
}

fn sizes(columns: usize) -> (usize, usize) {
    if columns >= AMPLE { (ROUTE, LONG) } else { (ROUTE - 4, SHORT) }
}

fn line(context: &DrawContext<'_>, spread: &Spread, (is_chosen, pane): (bool, u16)) -> Line<'static> {
    let columns = usize::from(pane);
    let (route, spans) = sizes(columns);
    let said = |took: Option<std::time::Duration>| match took {
        None => "-".to_owned(),
        Some(took) if columns >= AMPLE => span::long(took),
        Some(took) => span::nearest(took),
    };
    let mark = if is_chosen { ">" } else { " " };
    let name = width::fit(&name(spread), route, context.theme.ellipsis);
    let text =
        format!("{mark}{name}{:>COUNT$} {:>spans$} {:>spans$} ", spread.timed(), said(spread.median), said(spread.p95));
    let room = columns.saturating_sub(width::of(&text));
    let all = context.model.charts.spreads().first().map_or(&spread.took, |all| &all.took);
    let buckets = spread.took.buckets_beside(all, room);
    let greatest = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    let chart = bars::row(context, buckets.iter().map(|bucket| bucket.count), greatest);
    columns::row(context, (vec![Span::raw(text), Span::styled(chart, context.theme.info())], is_chosen), pane)
}

fn name(spread: &Spread) -> String {
    spread.route.as_ref().map_or_else(|| "all".to_owned(), super::route)
}
