//! The routes, one a row: the number of transfers, the share that succeeded, their durations, and a small histogram, all on one scale.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

use super::{bars, outcomes};
use crate::{
    domain::{chains, duration_stats::RouteKey, span},
    presentation::{glyphs::Glyphs, width},
    tui::{
        draw::{DrawContext, put_lines},
        screens::stats::state::Spread,
        widgets::columns,
    },
};

/// The columns of a span in two units, a span in one unit, a route and a count.
const LONG: usize = 7;
const SHORT: usize = 6;
const ROUTE: usize = 13;
const COUNT: usize = 5;
const SHARE: usize = 4;
/// The title of the histograms.
const SPREAD: &str = "SPREAD";
/// The least columns at which spans have two units and the route's name more columns.
const AMPLE: usize = 44;

pub(crate) fn draw(context: &DrawContext<'_>, pane: Rect, frame: &mut Frame<'_>) {
    let charts = &context.model.charts;
    let room = usize::from(pane.width);
    let (route, spans) = sizes(room);
    let most = if spans == LONG { "9 IN 10" } else { "9IN10" };
    let titles =
        format!(" {:<route$}{:>COUNT$} {:>SHARE$} {:>spans$} {:>spans$} ", "ROUTE", "ALL", "OK", "MEDIAN", most);
    let spread = if titles.len() + SPREAD.len() <= room { SPREAD } else { "" };
    let mut lines = vec![Line::styled(width::cut(&format!("{titles}{spread}"), room, ""), context.theme.dim())];
    let rows = usize::from(pane.height).saturating_sub(1);
    let shown = charts.spreads().iter().enumerate().skip(charts.top).take(rows);
    lines.extend(shown.map(|(place, spread)| line(context, spread, place == charts.place(), pane.width)));
    put_lines(lines, pane, frame);
}

fn sizes(columns: usize) -> (usize, usize) {
    if columns >= AMPLE { (ROUTE, LONG) } else { (ROUTE - 4, SHORT) }
}

fn line(context: &DrawContext<'_>, spread: &Spread, is_chosen: bool, pane: u16) -> Line<'static> {
    let columns = usize::from(pane);
    let (route, spans) = sizes(columns);
    let words = |took: Option<std::time::Duration>| match took {
        None => "-".to_owned(),
        Some(took) if columns >= AMPLE => span::long(took),
        Some(took) => span::nearest(took),
    };
    let mark = if is_chosen { ">" } else { " " };
    let name = width::fit(&name(spread, context.theme.glyphs()), route, context.theme.ellipsis);
    let text = format!(
        "{mark}{name}{:>COUNT$} {:>SHARE$} {:>spans$} {:>spans$} ",
        spread.tracked,
        outcomes::success_share(spread),
        words(spread.median),
        words(spread.nine_in_ten)
    );
    let room = columns.saturating_sub(width::display_width(&text));
    let all = context.model.charts.spreads().first().map_or(&spread.took, |all| &all.took);
    let buckets = spread.took.buckets_beside(all, room);
    let greatest = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    let chart = bars::row(context, buckets.iter().map(|bucket| bucket.count), greatest);
    columns::row(context, vec![Span::raw(text), Span::styled(chart, context.theme.info())], is_chosen, pane)
}

fn name(spread: &Spread, glyphs: Glyphs) -> String {
    spread.route.as_ref().map_or_else(|| "all".to_owned(), |key| route(key, glyphs))
}

pub(super) fn route(route: &RouteKey, glyphs: Glyphs) -> String {
    let name = |id| chains::short_name(id, None);
    let gmp = if route.gmp { " GMP" } else { "" };
    format!("{}{}{}{gmp}", name(&route.from), glyphs.arrow(), name(&route.to))
}
