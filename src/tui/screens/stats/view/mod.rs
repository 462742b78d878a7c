//! The charts: outcomes, durations, the use of the budget, the age of the oldest answer.
//!
//! ```text
//! headline      the number of transfers and routes; beside a chosen route, the outcomes of all routes; a missing poller
//! outcomes                    of the chosen route or of all routes, as one bar
//! routes        | budget      the list of routes; requests a second and the oldest answer over time
//!               | durations   the durations of the chosen route
//! ```
//!
//! A very small screen shows only the numbers. A bar must never be the only form of a value: each value is also in
//! words.

mod bars;
mod budget;
mod durations;
mod outcomes;
mod routes;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::state::{RouteSummary, Statistics};
use crate::{
    domain::{advice::rule_of_status, alert::Severity, status::RouterStatus, text},
    presentation::{row_text, width},
    tui::{
        command::CommandId,
        draw::{DrawContext, put_block, put_lines},
    },
};

/// The least columns and rows at which each part has a frame.
const FRAMED: (u16, u16) = (100, 24);
/// The least columns and rows at which there are charts.
const CHARTED: (u16, u16) = (60, 12);
/// The least columns of the list of routes with frames, and its columns without frames.
const LEFT: (u16, u16) = (55, 38);

struct StatsAreas {
    outcomes: Rect,
    routes: Rect,
    budget: Rect,
    durations: Rect,
    is_framed: bool,
}

/// Returns the area of each part; `None` if the charts don't fit.
fn areas(context: &DrawContext<'_>, body: Rect) -> Option<StatsAreas> {
    if body.width < CHARTED.0 || body.height < CHARTED.1 {
        return None;
    }
    let is_framed = body.width >= FRAMED.0 && body.height >= FRAMED.1;
    let columns = usize::from(body.width).saturating_sub(if body.width >= FRAMED.0 { 4 } else { 2 });
    let outcome_rows = context.model.stats.summary().map_or(1, |summary| outcomes::rows(context, summary, columns));
    // The heading and its frame; at most half of the body, to leave rows for the routes.
    let needed = u16::try_from(outcome_rows).unwrap_or(u16::MAX).saturating_add(if is_framed { 2 } else { 1 });
    let [outcomes, below] =
        Layout::vertical([Constraint::Length(needed.min(body.height / 2)), Constraint::Fill(1)]).areas(body);
    let left = if is_framed { LEFT.0.max(body.width * 2 / 5) } else { LEFT.1 };
    let gap = u16::from(!is_framed);
    let [routes, _, right] =
        Layout::horizontal([Constraint::Length(left), Constraint::Length(gap), Constraint::Fill(1)]).areas(below);
    let [budget, durations] =
        Layout::vertical([Constraint::Length((below.height * 11).div_ceil(20)), Constraint::Fill(1)]).areas(right);
    Some(StatsAreas { outcomes, routes, budget, durations, is_framed })
}

/// Returns the number of routes that fit on the screen.
pub(crate) fn rows_in(context: &DrawContext<'_>, body: Rect) -> usize {
    let around = |areas: &StatsAreas| if areas.is_framed { 3 } else { 2 };
    areas(context, body).map_or(1, |areas| usize::from(areas.routes.height.saturating_sub(around(&areas))))
}

pub(crate) fn draw(context: &DrawContext<'_>, body: Rect, frame: &mut Frame<'_>) {
    let Some(Statistics { minutes, .. }) = &context.model.stats.statistics else {
        return frame.render_widget(
            Line::styled(format!(" Reading the store{}", context.theme.ellipsis), context.theme.dim()),
            body,
        );
    };
    let summary = context.model.stats.summary();
    let (Some(areas), Some(summary)) = (areas(context, body), summary) else {
        return put_lines(numbers(context, summary, body), body, frame);
    };
    let name = routes::name(summary, "all routes", context.theme.glyphs());
    let range = format!("{} ({} changes the time)", context.model.stats.range.label(), context.key(CommandId::Range));
    let scope = format!("{name}{}{range}", context.theme.separator());
    let pane = draw_heading(context, "OUTCOMES", &scope, areas.outcomes, areas.is_framed, frame);
    outcomes::draw(context, summary, pane, frame);
    let order = format!("{} ({} sorts)", context.model.stats.order.label(), context.key(CommandId::RouteOrder));
    let pane = draw_heading(context, "ROUTES", &order, areas.routes, areas.is_framed, frame);
    routes::draw(context, pane, frame);
    let pane = draw_heading(context, "BUDGET", budget::remark(minutes), areas.budget, areas.is_framed, frame);
    budget::draw(context, minutes, pane, frame);
    let pane = draw_heading(context, "DURATIONS", &name, areas.durations, areas.is_framed, frame);
    durations::draw(context, summary, pane, frame);
}

/// Draws the heading of a part, and its frame if there is one; returns the area of the content.
fn draw_heading(
    context: &DrawContext<'_>,
    title: &str,
    remark: &str,
    area: Rect,
    is_framed: bool,
    frame: &mut Frame<'_>,
) -> Rect {
    let room = usize::from(area.width).saturating_sub(title.len() + 6);
    // The text in parentheses is dropped first.
    let remark = match remark.split_once(" (") {
        Some((most, _)) if width::display_width(remark) > room => most,
        _ => remark,
    };
    let remark = width::cut_at_word(remark, room, context.theme.ellipsis);
    let heading = Line::from(vec![
        Span::styled(format!(" {title}  "), context.theme.label()),
        Span::styled(format!("{remark} "), context.theme.dim()),
    ]);
    if is_framed {
        return put_block(context.pane_block(heading), area, frame);
    }
    let [row, inner] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    frame.render_widget(heading, row);
    inner
}

/// Returns the numbers that no chart below shows, in place of the filter.
pub(crate) fn headline(context: &DrawContext<'_>, columns: u16) -> Line<'static> {
    let profile_prefix = context.model.setting.profile_prefix(&context.model.setting.profile);
    let mut line = Line::from(Span::styled(format!(" Charts  {profile_prefix}"), context.theme.label()));
    let mut pieces = Vec::new();
    let charts = &context.model.stats;
    if let [all, routes @ ..] = charts.summaries()
        && all.tracked > 0
    {
        let (tracked, routes) = (text::counted(all.tracked, "transfer"), text::counted(routes.len(), "route"));
        pieces.push(Span::raw(format!("{tracked} on {routes}")));
    }
    // While a route is chosen, the outcomes below are those of the route.
    if let Some(all) = charts.summaries().first().filter(|_| charts.position() > 0) {
        pieces.push(Span::raw(outcomes::settled(all)));
        let needs_attention =
            |status: &RouterStatus| rule_of_status(status).is_some_and(|rule| rule.severity() > Severity::Info);
        for (status, count) in &all.outcomes {
            if let Some(status) = status.as_ref().filter(|status| needs_attention(status)) {
                let word = row_text::status_cell(Some(status), context.theme.glyphs());
                pieces.push(Span::styled(format!("{word} {count}"), context.theme.status(Some(status))));
            }
        }
    }
    match context.model.live_poller(context.now.wall).and_then(|report| report.need.as_ref()) {
        None => pieces.push(Span::styled("no poller is running", context.theme.warning())),
        Some(need) if need.is_always_short() => pieces.push(Span::styled("budget too small", context.theme.critical())),
        Some(_) => {}
    }
    for (index, piece) in pieces.into_iter().enumerate() {
        let gap = if index == 0 { "" } else { "   " };
        if line.width() + gap.len() + width::display_width(&piece.content) <= usize::from(columns) {
            line.push_span(Span::raw(gap));
            line.push_span(piece);
        }
    }
    line
}

/// Returns the numbers alone, for a screen that is too small for charts.
fn numbers(context: &DrawContext<'_>, summary: Option<&RouteSummary>, body: Rect) -> Vec<Line<'static>> {
    let Some(summary) = summary else { return vec![Line::raw(" nothing is tracked yet")] };
    let columns = usize::from(body.width);
    let name = routes::name(summary, "all routes", context.theme.glyphs());
    let settled = Line::styled(format!(" {name}: {}", outcomes::settled(summary)), context.theme.label());
    let mut lines = vec![settled, Line::raw(durations::describe(summary, columns))];
    lines.extend(outcomes::lines(context, summary, columns));
    lines
}

#[cfg(test)]
pub(in crate::tui) mod tests;
