//! The charts: how transfers end, how long they take, what the budget is spent on, how old answers get.
//!
//! ```text
//! headline      how many are settled and what needs somebody; the budget; the oldest answer
//! outcomes      | budget      of the chosen route, or of all; requests a second, minute by minute
//! routes        | took        one of them is chosen; how long its transfers took
//! ```
//!
//! On a very small screen the numbers alone. Everything is said in words or numbers too; a bar is never the only carrier.

mod bars;
mod budget;
mod outcomes;
mod routes;
mod took;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::Block,
};

use super::{DrawContext, columns, put_lines};
use crate::{
    domain::{chains, duration_stats::RouteKey, row_text, span, status::RouterStatus, width},
    tui::model::{Model, stats::Spread},
};

/// From so many columns and rows on each part has a frame.
const FRAMED: (u16, u16) = (100, 24);
/// From so many on there are charts.
const CHARTED: (u16, u16) = (60, 12);
/// Columns of the left half at least: framed, and where there is less room.
const LEFT: (u16, u16) = (50, 34);

/// Where each part is.
struct Areas {
    outcomes: Rect,
    routes: Rect,
    budget: Rect,
    took: Rect,
    is_framed: bool,
}

/// Where the parts are; nowhere if there is no room for charts.
fn areas(body: Rect, outcomes: usize) -> Option<Areas> {
    let is_framed = body.width >= FRAMED.0 && body.height >= FRAMED.1;
    if body.width < CHARTED.0 || body.height < CHARTED.1 {
        return None;
    }
    let left = if is_framed { LEFT.0.max(body.width * 2 / 5) } else { LEFT.1 };
    let gap = u16::from(!is_framed);
    let [left, _, right] =
        Layout::horizontal([Constraint::Length(left), Constraint::Length(gap), Constraint::Fill(1)]).areas(body);
    // The heading, how many are settled, a line for each status; at most half, so that there are routes to choose from.
    let needed = u16::try_from(outcomes.max(3)).unwrap_or(u16::MAX).saturating_add(if is_framed { 3 } else { 2 });
    let above = needed.min(body.height / 2);
    let [outcomes, routes] = Layout::vertical([Constraint::Length(above), Constraint::Fill(1)]).areas(left);
    let [budget, took] =
        Layout::vertical([Constraint::Length((body.height * 11).div_ceil(20)), Constraint::Fill(1)]).areas(right);
    Some(Areas { outcomes, routes, budget, took, is_framed })
}

fn areas_of(model: &Model, body: Rect) -> Option<Areas> {
    areas(body, model.charts.spread().map_or(0, |spread| spread.outcomes.len()))
}

/// Rows of routes that there is room for.
pub(super) fn rows_in(model: &Model, body: Rect) -> usize {
    let around = |areas: &Areas| if areas.is_framed { 3 } else { 2 };
    areas_of(model, body).map_or(1, |areas| usize::from(areas.routes.height.saturating_sub(around(&areas))))
}

pub(super) fn draw(context: &DrawContext<'_>, body: Rect, frame: &mut Frame<'_>) {
    let Some(read) = &context.model.charts.read else {
        return frame.render_widget(
            Line::styled(format!(" Reading the store{}", context.theme.ellipsis), context.theme.dim()),
            body,
        );
    };
    let spread = context.model.charts.spread();
    let (Some(areas), Some(spread)) = (areas_of(context.model, body), spread) else {
        return put_lines(numbers(context, spread, body), body, frame);
    };
    let whose = whose(spread);
    let pane = framed(context, ("OUTCOMES", &whose), (areas.outcomes, areas.is_framed), frame);
    outcomes::draw(context, spread, pane, frame);
    let pane = framed(context, ("ROUTES", "j k chooses"), (areas.routes, areas.is_framed), frame);
    routes::draw(context, pane, frame);
    let pane =
        framed(context, ("BUDGET", &budget::remark(context, areas.budget)), (areas.budget, areas.is_framed), frame);
    budget::draw(context, &read.minutes, pane, frame);
    let pane = framed(context, ("DURATIONS", &whose), (areas.took, areas.is_framed), frame);
    took::draw(context, spread, pane, frame);
}

/// A part with its heading, and a frame where there is room for one; what is left for its content.
fn framed(
    context: &DrawContext<'_>,
    (title, remark): (&str, &str),
    (area, is_framed): (Rect, bool),
    frame: &mut Frame<'_>,
) -> Rect {
    let remark = width::cut(remark, usize::from(area.width).saturating_sub(title.len() + 6), context.theme.ellipsis);
    let heading = Line::from(vec![
        Span::styled(format!(" {title}  "), context.theme.label()),
        Span::styled(format!("{remark} "), context.theme.dim()),
    ]);
    if is_framed {
        let block = Block::bordered().border_set(context.theme.border).title(heading);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        return inner;
    }
    let [row, inner] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    frame.render_widget(heading, row);
    inner
}

/// Whose numbers these are.
fn whose(spread: &Spread) -> String {
    spread.route.as_ref().map_or_else(|| "all routes".to_owned(), route)
}

fn route(route: &RouteKey) -> String {
    let name = |id| chains::short_name(id, None);
    let gmp = if route.gmp { " GMP" } else { "" };
    format!("{}>{}{gmp}", name(&route.from), name(&route.to))
}

/// `41 of 60 settled (68%)`.
fn settled(spread: &Spread) -> String {
    match spread.tracked {
        0 => "nothing is tracked yet".to_owned(),
        tracked => {
            format!("{} of {tracked} settled ({})", spread.settled, outcomes::percent(spread.settled, tracked))
        }
    }
}

/// What matters most, in the filter's place: of all routes, whichever is chosen.
pub(super) fn headline(context: &DrawContext<'_>, columns: u16) -> Line<'static> {
    let whose = context.model.setting.whose(&context.model.setting.profile);
    let mut line = Line::from(Span::styled(format!(" Stats  {whose}"), context.theme.label()));
    let mut pieces = Vec::new();
    if let Some(all) = context.model.charts.spreads().first() {
        pieces.push(Span::raw(settled(all)));
        let needs_somebody = |status: &RouterStatus| {
            !status.is_waiting() && !matches!(status, RouterStatus::Success | RouterStatus::Refund)
        };
        for (status, count) in &all.outcomes {
            if let Some(status) = status.as_ref().filter(|status| needs_somebody(status)) {
                let word = row_text::status(Some(status));
                pieces.push(Span::styled(format!("{word} {count}"), context.theme.status(Some(status))));
            }
        }
    }
    pieces.push(match context.model.live_poller(context.now.wall).and_then(|report| report.need.as_ref()) {
        None => Span::styled("nobody polls", context.theme.warning()),
        Some(need) if need.is_lasting() => Span::styled("budget short", context.theme.critical()),
        Some(need) => Span::styled(format!("budget {}", need.word()), context.theme.good()),
    });
    pieces.extend(
        context.model.oldest_age(context.now.wall).map(|age| Span::raw(format!("oldest answer {}", span::long(age)))),
    );
    for (place, piece) in pieces.into_iter().enumerate() {
        let gap = if place == 0 { "" } else { "   " };
        if line.width() + gap.len() + width::of(&piece.content) <= usize::from(columns) {
            line.push_span(Span::raw(gap));
            line.push_span(piece);
        }
    }
    line
}

/// Where there is no room for charts.
fn numbers(context: &DrawContext<'_>, spread: Option<&Spread>, body: Rect) -> Vec<Line<'static>> {
    let Some(spread) = spread else { return vec![Line::raw(" nothing is tracked yet")] };
    let mut lines = vec![Line::styled(format!(" {}: {}", whose(spread), settled(spread)), context.theme.label())];
    lines.push(Line::raw(took::sentence(spread, usize::from(body.width))));
    lines.extend(outcomes::lines(context, spread, usize::from(body.width)));
    lines
}

#[cfg(test)]
pub(super) mod tests;
