//! The routes, one a row: counts, success share, durations, and the age of the oldest transfer in progress. The small
//! histograms of all rows have one scale.

use std::time::Duration;

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

use super::{bars, outcomes};
use crate::{
    domain::{chains, span},
    presentation::{glyphs::Glyphs, width},
    tui::{
        draw::{DrawContext, put_lines},
        screens::stats::state::{RouteOrder, RouteSummary},
        widgets::columns,
    },
};

/// The columns of a route's name, of a count, of a share, and of a span in one unit.
const ROUTE: usize = 15;
const COUNT: usize = 5;
const SHARE: usize = 4;
const SPAN: usize = 6;
/// The title of the histograms.
const SPREAD: &str = "SPREAD";
/// The least columns at which the transfers in progress have columns of their own.
const AMPLE: usize = 52;

pub(crate) fn draw(context: &DrawContext<'_>, pane: Rect, frame: &mut Frame<'_>) {
    let charts = &context.model.stats;
    let room = usize::from(pane.width);
    let mut lines = vec![titles(context, room)];
    let rows = usize::from(pane.height).saturating_sub(1);
    let shown = charts.summaries().iter().enumerate().skip(charts.top).take(rows);
    lines.extend(shown.map(|(index, summary)| line(context, summary, index == charts.position(), pane.width)));
    put_lines(lines, pane, frame);
}

/// Returns the row of titles; an arrow marks the column that sorts the routes.
fn titles(context: &DrawContext<'_>, columns: usize) -> Line<'static> {
    let texts = ["ROUTE", "ALL", "OPEN", "OK", "MEDIAN", "P90", "OLDEST"].map(String::from);
    let cells = format!(" {} ", cells(columns, texts));
    let spread = if cells.len() + SPREAD.len() <= columns { SPREAD } else { "" };
    let cells = width::cut(&format!("{cells}{spread}"), columns, "");
    let glyphs = context.theme.glyphs();
    let (sorting, arrow) = match context.model.stats.order {
        RouteOrder::Number => ("ALL", glyphs.choose("▼", "v")),
        RouteOrder::Slowest => ("MEDIAN", glyphs.choose("▼", "v")),
        RouteOrder::Worst => ("OK", glyphs.choose("▲", "^")),
    };
    let dim = context.theme.dim();
    let Some((before, after)) = cells.split_once(sorting) else { return Line::styled(cells, dim) };
    let title = format!("{sorting}{arrow}");
    // The arrow replaces a blank after the title, or before the title if only one blank follows.
    let (before, after) = match after.strip_prefix(' ') {
        Some(rest) if rest.starts_with(' ') => (before, rest),
        _ => (before.strip_suffix(' ').unwrap_or(before), after),
    };
    Line::from(vec![
        Span::styled(before.to_owned(), dim),
        Span::styled(title, context.theme.accent()),
        Span::styled(after.to_owned(), dim),
    ])
}

/// Returns the cells of a row that fit.
fn cells(columns: usize, texts: [String; 7]) -> String {
    let [route, all, open, share, median, most, oldest] = texts;
    if columns >= AMPLE {
        return format!(
            "{route:<ROUTE$}{all:>COUNT$}{open:>COUNT$} {share:>SHARE$} {median:>SPAN$} {most:>SPAN$} {oldest:>SPAN$}"
        );
    }
    let route_columns = ROUTE - 2;
    format!("{route:<route_columns$}{all:>COUNT$} {share:>SHARE$} {median:>SPAN$} {most:>SPAN$}")
}

fn line(context: &DrawContext<'_>, summary: &RouteSummary, is_chosen: bool, pane: u16) -> Line<'static> {
    let columns = usize::from(pane);
    let route_columns = if columns >= AMPLE { ROUTE } else { ROUTE - 2 };
    let words = |duration: Option<Duration>| duration.map_or_else(|| "-".to_owned(), span::nearest);
    let mark = if is_chosen { ">" } else { " " };
    let texts = [
        width::fit(&name(summary, "all", context.theme.glyphs()), route_columns, context.theme.ellipsis),
        summary.tracked.to_string(),
        summary.open.to_string(),
        outcomes::success_share(summary),
        words(summary.median),
        words(summary.nine_in_ten),
        summary.oldest_open.map_or_else(|| "-".to_owned(), span::short),
    ];
    let text = format!("{mark}{} ", cells(columns, texts));
    let room = columns.saturating_sub(width::display_width(&text));
    let all = context.model.stats.summaries().first().map_or(&summary.durations, |all| &all.durations);
    let buckets = summary.durations.buckets_beside(all, room);
    let greatest = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    let chart = bars::row(context, buckets.iter().map(|bucket| bucket.count), greatest);
    columns::row(context, vec![Span::raw(text), Span::styled(chart, context.theme.info())], is_chosen, pane)
}

/// Returns the name of the route, such as `ARB→BASE GMP`; `all` for all routes together.
pub(super) fn name(summary: &RouteSummary, all: &str, glyphs: Glyphs) -> String {
    let Some(route) = &summary.route else { return all.to_owned() };
    let name = |id| chains::short_name(id, None);
    let gmp = if route.is_gmp { " GMP" } else { "" };
    format!("{}{}{}{gmp}", name(&route.from), glyphs.arrow(), name(&route.to))
}
