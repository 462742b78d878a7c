//! The requests a second against the limit, and the age of the oldest answer against its target, over the time that has
//! data.
//!
//! Both charts have one time axis, from two minutes to seven days. A minute in which nothing polled leaves a gap.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Style},
    symbols::Marker,
    text::{Line, Span},
    widgets::canvas::{Canvas, Line as CanvasLine},
};

use crate::{
    domain::{need, span},
    presentation::width,
    tui::{
        draw::{DrawContext, labelled_at, put_lines},
        screens::stats::state::MinuteStats,
    },
};

/// The columns of the scale before the chart.
const SCALE: u16 = 7;
/// The shortest time axis.
const MIN_TIME: TimeDelta = TimeDelta::minutes(2);
/// The length of a minute of the data.
const MINUTE: TimeDelta = TimeDelta::minutes(1);

/// The time axis of both charts.
#[derive(Clone, Copy)]
struct TimeAxis {
    start: DateTime<Utc>,
    end: DateTime<Utc>,
}

impl TimeAxis {
    /// Returns the axis from the first minute to now.
    fn new(minutes: &[MinuteStats], now: DateTime<Utc>) -> Self {
        let first = minutes.first().map_or(now, |minute| minute.at);
        Self { start: first.min(now - MIN_TIME), end: now }
    }

    /// Returns the range of a minute's dots, if the whole axis has `dots` dots.
    fn dots(&self, minute: &MinuteStats, dots: usize) -> std::ops::Range<usize> {
        let length = (self.end - self.start).num_milliseconds().max(1) as f64;
        let dot = |at: DateTime<Utc>| (at - self.start).num_milliseconds() as f64 / length * dots as f64;
        let last = dot(minute.at + MINUTE).ceil().clamp(0.0, dots as f64) as usize;
        let first = dot(minute.at).floor().clamp(0.0, dots as f64) as usize;
        first.min(last)..last
    }
}

/// What happened in the time of one dot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ChartDot {
    rate: f64,
    is_throttled: bool,
    /// Whether most requests failed.
    has_mostly_failed: bool,
    oldest: Option<Duration>,
}

/// Returns a dot for each part of the axis; of several minutes in one part the greatest values count.
fn dots_of(minutes: &[MinuteStats], axis: TimeAxis, count: usize) -> Vec<Option<ChartDot>> {
    let mut dots = vec![None; count];
    for minute in minutes {
        for dot in dots.get_mut(axis.dots(minute, count)).into_iter().flatten() {
            let own: &mut ChartDot = dot.get_or_insert_default();
            own.rate = own.rate.max(minute.rate());
            own.is_throttled |= minute.throttled > 0;
            own.has_mostly_failed |= minute.failed.saturating_mul(2) > minute.requests;
            own.oldest = own.oldest.max(minute.oldest);
        }
    }
    dots
}

/// Returns the remark in the heading: the marks, and that each stands for a minute.
pub(crate) fn remark(minutes: &[MinuteStats]) -> &'static str {
    if minutes.is_empty() { "" } else { "! HTTP 429  x failed (number in a minute)" }
}

pub(crate) fn draw(context: &DrawContext<'_>, minutes: &[MinuteStats], pane: Rect, frame: &mut Frame<'_>) {
    let [need, charts] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(pane);
    frame.render_widget(need_line(context, usize::from(need.width)), need);
    if minutes.is_empty() {
        let text = "The use of the budget appears here after the first minute of polling.";
        let columns = usize::from(pane.width).saturating_sub(1);
        return put_lines(labelled_at(1, "", text, columns, context.theme.dim()), charts, frame);
    }
    let axis = TimeAxis::new(minutes, context.now.wall);
    let rows = charts.height.saturating_sub(3);
    let [rate, marks, words, age, times] = Layout::vertical([
        Constraint::Length(rows - rows * 2 / 5),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(rows * 2 / 5),
        Constraint::Length(1),
    ])
    .areas(charts);
    let columns = usize::from(pane.width.saturating_sub(SCALE));
    draw_rate(context, minutes, axis, rate, frame);
    frame.render_widget(marks_line(context, minutes, axis, columns), marks);
    draw_age(context, minutes, axis, [words, age], frame);
    frame.render_widget(times_line(context, axis, columns), times);
}

/// Returns the line with the need and the rate that is possible. The limit and the use are left out if there is no
/// room.
fn need_line(context: &DrawContext<'_>, columns: usize) -> Line<'static> {
    let Some(report) = context.model.live_poller(context.now.wall) else {
        return Line::styled(" no poller is running", context.theme.warning());
    };
    let Some(need) = &report.need else {
        return Line::raw(format!(" used {:.1} requests/s; polls on request only", report.used));
    };
    let style = if need.is_always_short() { context.theme.warning() } else { context.theme.good() };
    // The requests take time, so that the possible rate is lower than the limit.
    let limit = report.rps * report.share;
    let line = |numbers: String, used: String| {
        Line::from(vec![Span::raw(format!(" {numbers}: ")), Span::styled(need.label(), style), Span::raw(used)])
    };
    let short = format!("needed {:.1}/s, possible {:.1}/s", need.polls, need.allowed);
    let long = format!("needed {:.1} requests/s, possible {:.1} (limit {limit:.1})", need.polls, need.allowed);
    let used = format!(", used {:.1}", report.used);
    let lines = [line(long.clone(), used), line(long, String::new())];
    lines.into_iter().find(|line| line.width() < columns).unwrap_or_else(|| line(short, String::new()))
}

/// Draws the requests a second as a filled area, with a line at the limit and at the need.
fn draw_rate(context: &DrawContext<'_>, minutes: &[MinuteStats], axis: TimeAxis, pane: Rect, frame: &mut Frame<'_>) {
    let limit = minutes.last().map_or(0.0, |minute| minute.limit);
    let need = context.model.live_poller(context.now.wall).and_then(|report| report.need).map(|need| need.polls);
    let greatest = minutes.iter().map(MinuteStats::rate).fold(limit.max(need.unwrap_or(0.0)), f64::max);
    // A single failure has its mark below; red is for minutes in which polling hardly worked.
    let style = |dot: &ChartDot| match (dot.is_throttled, dot.has_mostly_failed) {
        (true, _) => context.theme.warning(),
        (false, true) => context.theme.critical(),
        (false, false) => context.theme.info(),
    };
    let mut lines = vec![(limit, context.theme.dim())];
    lines.extend(need.map(|need| (need, context.theme.warning())));
    let top = if greatest >= 10.0 { format!("{greatest:.0} max") } else { format!("{greatest:.1} max") };
    let chart = draw_scale(context, &top, pane, frame);
    draw_area(context, minutes, axis, chart, greatest, |dot| Some((dot.rate, style(dot))), &lines, frame);
}

/// Draws a value for each dot of the axis as a filled area up to `greatest`, with horizontal lines.
#[expect(clippy::too_many_arguments, reason = "the two charts differ in each of these")]
fn draw_area(
    context: &DrawContext<'_>,
    minutes: &[MinuteStats],
    axis: TimeAxis,
    pane: Rect,
    greatest: f64,
    value: impl Fn(&ChartDot) -> Option<(f64, Style)>,
    lines: &[(f64, Style)],
    frame: &mut Frame<'_>,
) {
    let (marker, line_marker, dots_per_cell) = context
        .theme
        .glyphs()
        .choose((Marker::Braille, Marker::Braille, 2), (Marker::Custom('#'), Marker::Custom('.'), 1));
    let count = usize::from(pane.width) * dots_per_cell;
    let dots = dots_of(minutes, axis, count);
    let color = |style: Style| style.fg.unwrap_or(Color::Reset);
    let canvas = Canvas::default()
        .marker(line_marker)
        .x_bounds([0.0, (count.max(2) - 1) as f64])
        .y_bounds([0.0, if greatest > 0.0 { greatest } else { 1.0 }])
        .paint(|painter| {
            for (height, style) in lines {
                // A dashed line: every fourth dot.
                for x in (0..count).step_by(4) {
                    let x = x as f64;
                    painter.draw(&CanvasLine { x1: x, y1: *height, x2: x, y2: *height, color: color(*style) });
                }
            }
            painter.marker(marker);
            for (x, dot) in dots.iter().enumerate() {
                if let Some((height, style)) = dot.as_ref().and_then(&value).filter(|(height, _)| *height > 0.0) {
                    let x = x as f64;
                    painter.draw(&CanvasLine { x1: x, y1: 0.0, x2: x, y2: height, color: color(style) });
                }
            }
        });
    frame.render_widget(canvas, pane);
}

/// Returns the line with a mark in the middle of each minute with throttled or failed requests, and with their number
/// if there is room. Throttled requests come first.
fn marks_line(context: &DrawContext<'_>, minutes: &[MinuteStats], axis: TimeAxis, columns: usize) -> Line<'static> {
    let mut cells = vec![(' ', Style::new()); columns];
    let (throttled, others): (Vec<_>, Vec<_>) = minutes.iter().partition(|minute| minute.throttled > 0);
    let failed = others.into_iter().filter(|minute| minute.failed > 0);
    let failed = failed.map(|minute| (minute, minute.failed, 'x', context.theme.critical()));
    let throttled = throttled.into_iter().map(|minute| (minute, minute.throttled, '!', context.theme.warning()));
    for (minute, count, symbol, style) in failed.chain(throttled) {
        let room = axis.dots(minute, columns);
        let long = format!("{symbol}{count}");
        let text = if long.len() + 2 < room.len() { long } else { symbol.to_string() };
        let start = room.start + room.len().saturating_sub(text.len()) / 2;
        for (cell, letter) in cells.iter_mut().skip(start).zip(text.chars()) {
            *cell = (letter, style);
        }
    }
    let before = Span::raw(" ".repeat(usize::from(SCALE)));
    let marks = cells.into_iter().map(|(letter, style)| Span::styled(letter.to_string(), style));
    Line::from_iter([before].into_iter().chain(marks))
}

/// Draws the age of the oldest answer: in words, and as a filled area with a line at the target.
fn draw_age(
    context: &DrawContext<'_>,
    minutes: &[MinuteStats],
    axis: TimeAxis,
    [line, pane]: [Rect; 2],
    frame: &mut Frame<'_>,
) {
    let now = context.model.own.oldest_age(context.now.wall);
    let worst = minutes.iter().filter_map(|minute| minute.oldest).max();
    let words = |age: Option<Duration>| age.map_or_else(|| "-".to_owned(), span::long);
    let target = need::TARGET.as_secs();
    let text = match line.width {
        60.. => format!(" oldest answer {}, at worst {} (target {target}s)", words(now), words(worst.max(now))),
        _ => format!(" oldest {}, worst {}, target {target}s", words(now), words(worst.max(now))),
    };
    frame.render_widget(Line::raw(width::cut(&text, usize::from(line.width), context.theme.ellipsis)), line);
    let greatest = worst.unwrap_or_default().max(need::TARGET);
    let value = |dot: &ChartDot| {
        let age = dot.oldest?;
        let style = if age > need::TARGET { context.theme.warning() } else { context.theme.good() };
        Some((age.as_secs_f64(), style))
    };
    let lines = [(need::TARGET.as_secs_f64(), context.theme.dim())];
    let top = match greatest.as_secs() {
        seconds @ ..120 => format!("{seconds}s"),
        _ => span::nearest(greatest),
    };
    let chart = draw_scale(context, &top, pane, frame);
    draw_area(context, minutes, axis, chart, greatest.as_secs_f64(), value, &lines, frame);
}

/// Draws the two ends of a scale from 0 before the chart; returns the chart's area.
fn draw_scale(context: &DrawContext<'_>, top: &str, pane: Rect, frame: &mut Frame<'_>) -> Rect {
    let [labels, chart] = Layout::horizontal([Constraint::Length(SCALE), Constraint::Fill(1)]).areas(pane);
    let room = usize::from(SCALE) - 1;
    let mut lines = vec![Line::default(); usize::from(pane.height)];
    if let Some(last) = lines.last_mut() {
        *last = Line::styled(format!("{:>room$}", "0"), context.theme.dim());
    }
    if let Some(first) = lines.first_mut() {
        *first = Line::styled(format!("{top:>room$}"), context.theme.dim());
    }
    put_lines(lines, labels, frame);
    chart
}

/// Returns the line of times: the start, how long ago the start is, and now.
fn times_line(context: &DrawContext<'_>, axis: TimeAxis, columns: usize) -> Line<'static> {
    let zone = context.model.setting.zone;
    let length = (axis.end - axis.start).to_std().unwrap_or_default();
    let first = format!("{} ({} ago)", span::clock_time(axis.start, axis.end, zone), span::short(length));
    let room = columns.saturating_sub(width::display_width(&first));
    let before = " ".repeat(usize::from(SCALE));
    Line::styled(format!("{before}{first}{:>room$}", "now"), context.theme.dim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::{
        fixtures::{blank, moment},
        theme::Theme,
    };

    fn minute(at: DateTime<Utc>, requests: u64) -> MinuteStats {
        MinuteStats {
            at,
            requests,
            throttled: 0,
            failed: 0,
            polled_for: Duration::from_secs(60),
            limit: 10.0,
            oldest: None,
        }
    }

    #[test]
    fn the_axis_fits_the_data_from_two_minutes_to_days() {
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(30);
        let young = TimeAxis::new(&[minute(now - TimeDelta::minutes(1), 60)], now);
        assert_eq!(young.end - young.start, MIN_TIME);
        let minutes = [minute(now - TimeDelta::days(7), 60), minute(now - TimeDelta::minutes(1), 120)];
        let old = TimeAxis::new(&minutes, now);
        assert_eq!(old.end - old.start, TimeDelta::days(7));
        let dots = dots_of(&minutes, old, 100);
        assert_eq!((dots[0].unwrap().rate, dots[99].unwrap().rate), (1.0, 2.0));
        assert!(dots[1..99].iter().all(Option::is_none), "a time without polling leaves a gap");
        // A minute of a young store fills its half of the axis, and has a single mark.
        let dots = dots_of(&minutes[1..], young, 100);
        assert_eq!(dots.iter().flatten().count(), 50);
        let model = blank((120, 36));
        let context = DrawContext { model: &model, theme: &Theme::new(true, false), now: moment(now) };
        let line = |failed, throttled| {
            let minutes = [MinuteStats { failed, throttled, ..minute(now - TimeDelta::minutes(1), 60) }];
            marks_line(&context, &minutes, young, 100).to_string().trim().to_owned()
        };
        assert_eq!([line(1, 0), line(12, 0), line(12, 3), line(0, 0)], ["x1", "x12", "!3", ""]);
    }
}
