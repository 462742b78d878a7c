//! The chart of the budget's use, minute by minute: requests a second against the ID's limit, throttled and failed requests,
//! and the age of the oldest answer.
//!
//! A minute without polling is a gap, never a zero.

use std::collections::HashMap;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::bars;
use crate::{
    domain::{need, span},
    presentation::width,
    tui::{
        draw::{DrawContext, put_lines},
        screens::stats::state::Minute,
    },
};

/// The columns of the scale before the chart.
const SCALE: u16 = 7;
/// The most minutes that are shown.
const MINUTES: usize = 60;
/// The seconds of a minute.
const MINUTE: i64 = 60;

/// Returns the number of minutes that fit into so many columns, and the columns of each minute.
fn fit_minutes(columns: usize) -> (usize, usize) {
    let cells = (columns / MINUTES).max(1);
    ((columns / cells).min(MINUTES), cells)
}

/// Returns the remark in the heading: the unit, the number of minutes, the marks.
pub(crate) fn remark(context: &DrawContext<'_>, area: Rect) -> String {
    let framed = if area.width >= 60 { 2 } else { 0 };
    let (minutes, _) = fit_minutes(usize::from(area.width.saturating_sub(SCALE + framed)));
    let marks = if context.model.charts.read.as_ref().is_some_and(|read| read.minutes.is_empty()) {
        ""
    } else {
        "  ! 429  x failed"
    };
    format!("rps, last {minutes} min{marks}")
}

pub(crate) fn draw(context: &DrawContext<'_>, minutes: &[Minute], pane: Rect, frame: &mut Frame<'_>) {
    let [need, charts] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(pane);
    frame.render_widget(need_line(context), need);
    if minutes.is_empty() {
        let text = "The use of the budget appears here after the first minute of polling.";
        let lines = width::wrap(text, usize::from(pane.width).saturating_sub(2)).into_iter();
        let lines = lines.map(|text| Line::styled(format!(" {text}"), context.theme.dim()));
        return put_lines(lines, charts, frame);
    }
    let (count, cells) = fit_minutes(usize::from(pane.width.saturating_sub(SCALE)));
    let last = context.now.wall.timestamp().div_euclid(MINUTE);
    let by_number: HashMap<i64, &Minute> =
        minutes.iter().map(|minute| (minute.at.timestamp().div_euclid(MINUTE), minute)).collect();
    let first = last + 1 - i64::try_from(count).unwrap_or(0);
    let shown: Vec<_> = (first..=last).map(|number| by_number.get(&number).copied()).collect();
    let rows = charts.height.saturating_sub(3);
    let [rate, marks, words, age, axis] = Layout::vertical([
        Constraint::Length(rows - rows * 2 / 5),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(rows * 2 / 5),
        Constraint::Length(1),
    ])
    .areas(charts);
    draw_rate(context, &shown, rate, cells, frame);
    frame.render_widget(marks_line(context, &shown, cells), marks);
    draw_age(context, &shown, [words, age], cells, frame);
    frame.render_widget(axis_line(context, count * cells, count), axis);
}

/// Returns the line with the need and the budget.
fn need_line(context: &DrawContext<'_>) -> Line<'static> {
    let Some(report) = context.model.live_poller(context.now.wall) else {
        return Line::styled(" no poller is running", context.theme.warning());
    };
    let Some(need) = &report.need else {
        return Line::raw(format!(" used {:.2} rps; polls on request only", report.used));
    };
    let style = if need.is_lasting() { context.theme.warning() } else { context.theme.good() };
    Line::from(vec![
        Span::raw(format!(" need {:.2} of {:.2} rps: ", need.polls, need.allowed)),
        Span::styled(need.word(), style),
        Span::raw(format!(", used {:.2}", report.used)),
    ])
}

fn draw_rate(context: &DrawContext<'_>, shown: &[Option<&Minute>], pane: Rect, cells: usize, frame: &mut Frame<'_>) {
    let limits = shown.iter().flatten().map(|minute| minute.limit.max(minute.rate()));
    let greatest = limits.fold(0.0, f64::max);
    let style = |minute: &&Minute| match (minute.throttled, minute.failed) {
        (0, 0) => context.theme.info(),
        (0, _) => context.theme.critical(),
        _ => context.theme.warning(),
    };
    let value = |minute: &Option<&Minute>| match minute {
        Some(minute) => (Some(minute.rate()), style(minute)),
        None => (None, context.theme.dim()),
    };
    let values: Vec<_> = shown.iter().map(value).collect();
    let chart = draw_scale(context, format!("{} max", number(greatest)), "0", pane, frame);
    bars::draw(context, &values, greatest, chart, cells, frame);
}

/// Returns the line with a mark at each minute with throttled or failed requests.
fn marks_line(context: &DrawContext<'_>, shown: &[Option<&Minute>], cells: usize) -> Line<'static> {
    let mark = |minute: &Option<&Minute>| {
        let (mark, style) = match minute {
            Some(minute) if minute.throttled > 0 => ("!", context.theme.warning()),
            Some(minute) if minute.failed > 0 => ("x", context.theme.critical()),
            _ => (" ", context.theme.dim()),
        };
        Span::styled(width::fit(mark, cells, ""), style)
    };
    let before = Span::raw(" ".repeat(usize::from(SCALE)));
    Line::from_iter([before].into_iter().chain(shown.iter().map(mark)))
}

fn draw_age(
    context: &DrawContext<'_>,
    shown: &[Option<&Minute>],
    [line, pane]: [Rect; 2],
    cells: usize,
    frame: &mut Frame<'_>,
) {
    let ages = || shown.iter().flatten().filter_map(|minute| minute.oldest);
    let now = context.model.oldest_age(context.now.wall);
    let worst = ages().max();
    let words = |age: Option<std::time::Duration>| age.map_or_else(|| "-".to_owned(), span::long);
    let target = need::TARGET.as_secs();
    let text = match line.width {
        60.. => format!(" oldest answer {}, at worst {} (target {target}s)", words(now), words(worst.max(now))),
        _ => format!(" oldest {}, worst {}, target {target}s", words(now), words(worst.max(now))),
    };
    frame.render_widget(Line::raw(width::cut(&text, usize::from(line.width), context.theme.ellipsis)), line);
    let greatest = worst.unwrap_or_default().max(need::TARGET);
    let value = |minute: &Option<&Minute>| match minute.and_then(|minute| minute.oldest) {
        Some(age) if age > need::TARGET => (Some(age.as_secs_f64()), context.theme.warning()),
        Some(age) => (Some(age.as_secs_f64()), context.theme.good()),
        None => (None, context.theme.dim()),
    };
    let values: Vec<_> = shown.iter().map(value).collect();
    let chart = draw_scale(context, span::short(greatest), "0", pane, frame);
    bars::draw(context, &values, greatest.as_secs_f64(), chart, cells, frame);
}

/// Draws the two ends of a scale before the chart; returns the chart's area.
fn draw_scale(context: &DrawContext<'_>, top: String, bottom: &str, pane: Rect, frame: &mut Frame<'_>) -> Rect {
    let [labels, chart] = Layout::horizontal([Constraint::Length(SCALE), Constraint::Fill(1)]).areas(pane);
    let room = usize::from(SCALE) - 1;
    let mut lines = vec![Line::default(); usize::from(pane.height)];
    if let Some(last) = lines.last_mut() {
        *last = Line::styled(format!("{bottom:>room$}"), context.theme.dim());
    }
    if let Some(first) = lines.first_mut() {
        *first = Line::styled(format!("{top:>room$}"), context.theme.dim());
    }
    put_lines(lines, labels, frame);
    chart
}

/// Returns a number with at most one decimal place.
fn number(number: f64) -> String {
    if number >= 10.0 { format!("{number:.0}") } else { format!("{number:.1}") }
}

fn axis_line(context: &DrawContext<'_>, columns: usize, minutes: usize) -> Line<'static> {
    let first = format!("{minutes} min ago");
    let room = columns.saturating_sub(first.len());
    let before = " ".repeat(usize::from(SCALE));
    Line::styled(format!("{before}{first}{:>room$}", "now"), context.theme.dim())
}
