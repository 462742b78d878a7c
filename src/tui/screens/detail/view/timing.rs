//! The durations: the observed phases, the limit and the forecast on one scale; and the times that the service reports.
//!
//! The reported numbers have no documented unit. They have their own scale, and must never be added up.

use std::time::Duration;

use chrono::{DateTime, Utc};
use ratatui::{
    style::Style,
    text::{Line, Span},
};
use serde_json::Value;

use super::{
    lines::{LABEL, heading, labelled, reading},
    timeline,
};
use crate::{
    domain::{forecast::Quantile, span, status::RouterStatus, transaction::Transaction},
    presentation::{glyphs::Glyphs, row_text, width},
    tui::draw::DrawContext,
};

/// The columns after a bar, for a duration.
const AFTER_BAR: usize = 9;
/// The most phases that are shown: the last ones.
const PHASES: usize = 10;

/// The time axis: maps moments to columns.
#[derive(Clone, Copy)]
struct TransferAxis {
    start: DateTime<Utc>,
    length: Duration,
    columns: usize,
}

impl TransferAxis {
    /// Returns an axis from the submission to `until`, to the limit, or for a transfer in progress to nine in ten,
    /// whichever is latest. The timeline has the same axis.
    fn new(context: &DrawContext<'_>, tx: &Transaction, until: DateTime<Utc>, columns: usize) -> Self {
        let deadline = tx.deadline();
        let nine_in_ten = match tx.is_awaited() {
            true => context.model.forecast(tx).quantile(Quantile::P90),
            false => Duration::ZERO,
        };
        let elapsed = span::between(deadline.submitted, until);
        let length = deadline.wait.max(elapsed).max(nine_in_ten).max(Duration::from_secs(1));
        Self { start: deadline.submitted, length, columns: columns.saturating_sub(LABEL + AFTER_BAR).max(1) }
    }

    /// Returns the column of an elapsed time; the column after the last one if the time is beyond the axis.
    fn column(&self, elapsed: Duration) -> usize {
        let share = elapsed.as_secs_f64() / self.length.as_secs_f64();
        let column = (share * self.columns as f64).floor();
        if column >= self.columns as f64 { self.columns } else { column as usize }
    }

    /// Returns a bar between two elapsed times, at least one column wide, with a mark at the limit. An arrow shows that
    /// the bar continues beyond the axis.
    fn bar(&self, from: Duration, to: Duration, fill: &'static str, limit: Duration, glyphs: Glyphs) -> String {
        let first = self.column(from).min(self.columns - 1);
        let last = self.column(to).max(first + 1);
        let limit = self.column(limit).min(self.columns - 1);
        let cell = |column: usize| match column {
            _ if column + 1 == self.columns && to > self.length => glyphs.beyond(),
            _ if column == limit => glyphs.choose("┃", "|"),
            _ if (first..last).contains(&column) => fill,
            _ => " ",
        };
        (0..self.columns).map(cell).collect()
    }
}

/// Returns the timeline, the observed phases with the forecast, and the reported times.
pub(crate) fn lines(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    // The timeline begins and ends with the bars below.
    let mut lines = timeline::lines(context, tx, (columns + 1).saturating_sub(LABEL + AFTER_BAR));
    for line in &mut lines {
        line.spans.insert(0, Span::raw(" ".repeat(LABEL)));
    }
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    lines.extend(observed_lines(context, tx, columns));
    lines.extend(forecast_lines(context, tx, columns));
    lines.extend(reported_lines(context, tx, columns));
    lines
}

/// Like [`lines`], beside the summary, which has the timeline and the forecast.
pub(super) fn lines_beside_summary(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let mut lines = observed_lines(context, tx, columns);
    lines.extend(reported_lines(context, tx, columns));
    lines
}

/// Returns the reported times after an empty line, with a heading.
fn reported_lines(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    /// The columns of a key and of a number.
    const KEY: usize = 20;
    const NUMBER: usize = 10;
    let remark = "raw timeSpent; unit and keys not documented; don't add the values";
    let mut lines = vec![Line::default(), heading(context, "REPORTED", remark, columns)];
    let Some(record) = tx.record.as_ref().filter(|record| !record.time_spent.is_empty()) else {
        lines.push(Line::styled("Nothing reported.", context.theme.dim()));
        return lines;
    };
    let largest = record.time_spent.values().filter_map(Value::as_f64).fold(0.0, f64::max);
    let room = columns.saturating_sub(KEY + NUMBER + 4).min(60);
    let line = |(key, value): (&String, &Value)| {
        let share = value.as_f64().map(|number| if largest > 0.0 { (number / largest).clamp(0.0, 1.0) } else { 0.0 });
        let full = share.map_or(0, |share| (share * room as f64).round() as usize);
        let (filled, rest) = context.theme.glyphs().choose(("█", "·"), ("#", "."));
        let key = width::fit(&row_text::in_words(key), KEY, context.theme.ellipsis);
        match share {
            Some(_) => Line::from(vec![
                Span::raw(format!("  {key} ")),
                Span::styled(filled.repeat(full), context.theme.info()),
                Span::styled(rest.repeat(room - full), context.theme.dim()),
                Span::raw(format!(" {:>NUMBER$}", value.to_string())),
            ]),
            None => Line::raw(width::cut(&format!("  {key} {value}"), columns, context.theme.ellipsis)),
        }
    };
    lines.extend(record.time_spent.iter().map(line));
    lines
}

/// Returns the observed phases, the limit and the bars of the forecast on one scale, with a heading.
pub(super) fn observed_lines(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let remark = "by our clock, accurate to the poll interval";
    let mut lines = vec![heading(context, "OBSERVED", remark, columns)];
    let until = tx.state.settled_at.unwrap_or(context.now.wall);
    let axis = TransferAxis::new(context, tx, until, columns);
    let deadline = tx.deadline();
    let (theme, glyphs) = (context.theme, context.theme.glyphs());
    let row = |label: &str, bar: String, style: Style, after: String| {
        let label = width::fit(label, LABEL - 1, theme.ellipsis);
        Line::from(vec![Span::raw(format!("{label} ")), Span::styled(bar, style), Span::raw(format!(" {after}"))])
    };
    let bar = |(from, to), fill| axis.bar(from, to, fill, deadline.wait, glyphs);
    let elapsed = |at: DateTime<Utc>| span::between(axis.start, at);
    lines.extend(scale(context, tx, axis, until));
    let Some(history) = context.model.selected_history() else {
        lines.push(reading(context));
        return lines;
    };
    let first = history.phases.first().map(|(_, at)| elapsed(*at)).filter(|first| axis.column(*first) > 0);
    if let Some(first) = first {
        let bar = bar((Duration::ZERO, first), glyphs.choose("░", "."));
        lines.push(row("before", bar, theme.dim(), span::long(first)));
    }
    let skipped = history.phases.len().saturating_sub(PHASES);
    for (status, from, to) in history.phases_until(until).skip(skipped) {
        let lasted = span::long(span::between(from, to));
        let status = RouterStatus::from(status.to_owned());
        let style = theme.status(Some(&status));
        let word = row_text::status_word(Some(&status), glyphs);
        lines.push(row(word, bar((elapsed(from), elapsed(to)), glyphs.choose("█", "#")), style, lasted));
    }
    if history.phases.is_empty() {
        lines.push(Line::styled("No answer yet.", context.theme.dim()));
    }
    if let Some(estimate) = deadline.estimate {
        let bar = bar((Duration::ZERO, estimate), glyphs.choose("▒", "="));
        lines.push(row("estimate", bar, theme.info(), span::long(estimate)));
    }
    let forecast = context.model.forecast(tx);
    for (label, quantile) in [("median", Quantile::P50), ("9 in 10", Quantile::P90)] {
        let bar = bar((Duration::ZERO, forecast.quantile(quantile)), glyphs.choose("─", "-"));
        lines.push(row(label, bar, theme.dim(), forecast.in_words(quantile)));
    }
    if !tx.is_awaited() {
        // The limit of an awaited transaction is shown above the tabs.
        lines.extend(labelled("limit", &deadline.basis(), columns, context.theme.dim()));
    }
    lines
}

/// Returns the forecast in words.
pub(super) fn forecast_lines(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let Some(history) = context.model.selected_history() else { return Vec::new() };
    let evidence = context.model.evidence(tx);
    let state = format!(
        "Half of such transfers finish within the first time, 9 in 10 within the second ({}).",
        evidence.basis(tx.params.estimate)
    );
    let sentence = history.past.forecast_text(&evidence, tx, context.now.wall).unwrap_or(state);
    labelled("forecast", &sentence, columns, context.theme.dim())
}

/// Returns the two lines of moments above the bars: the start, the limit, and now or the moment of settling.
fn scale(context: &DrawContext<'_>, tx: &Transaction, axis: TransferAxis, until: DateTime<Utc>) -> Vec<Line<'static>> {
    let clock = |at: DateTime<Utc>| {
        let local = at.with_timezone(&context.model.setting.zone);
        let is_far = axis.length > Duration::from_secs(24 * 60 * 60);
        local.format(if is_far { "%m-%d %H:%M" } else { "%H:%M" }).to_string()
    };
    let deadline = tx.deadline();
    let since = if deadline.is_from_first_seen { "first seen" } else { "submitted" };
    let last = if tx.is_settled() { "settled" } else { "now" };
    let now = (span::between(axis.start, until), format!("{last} {}", clock(until)));
    let first = format!("{since} {}", clock(axis.start));
    let limit = (deadline.wait, format!("limit {}", clock(deadline.at)));
    let above = place_texts(&axis, &first, &now);
    let below = place_texts(&axis, "", &limit);
    [above, below].map(|text| Line::styled(format!("{}{text}", " ".repeat(LABEL)), context.theme.dim())).into()
}

/// Returns a line with a text at the start, and a text that begins or ends at its moment.
fn place_texts(axis: &TransferAxis, start: &str, (at, text): &(Duration, String)) -> String {
    let start_columns = width::display_width(start);
    let min_gap = if start.is_empty() { 0 } else { 2 };
    let column = axis.column(*at).min(axis.columns - 1);
    let needed = width::display_width(text) + 2;
    let text = if column + needed > axis.columns { format!("{text} |") } else { format!("| {text}") };
    let column = if text.ends_with('|') { (column + 1).saturating_sub(needed) } else { column };
    let gap = column.saturating_sub(start_columns).max(min_gap);
    width::cut(&format!("{start}{}{text}", " ".repeat(gap)), axis.columns + AFTER_BAR, "")
}
