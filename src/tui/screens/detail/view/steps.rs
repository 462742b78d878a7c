//! The steps of `routeStatus`, in the order of the service, with the times at which hoptop observed them.
//!
//! The service gives no times of steps, so the heading marks the times as hoptop's own.

use chrono::{DateTime, Utc};
use ratatui::{
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use super::{
    lines::{heading, labelled, time},
    summary, timing,
};
use crate::{
    domain::{record::RouteStep, route, status::RouterStatus, transaction::Transaction},
    presentation::{row_text, width},
    tui::{draw::DrawContext, widgets::columns},
};

/// With fewer columns the times are left out.
const NARROW: usize = 66;
/// The columns of number, status, action, chain and each time, with the blank after each.
const NUMBER: usize = 4;
const STATUS: usize = 11;
const ACTION: usize = 7;
const CHAIN: usize = 14;
const TIME: usize = 12;
/// The rows below the steps for the whole hash.
const BELOW: usize = 3;
/// With more rows than these, rows for the whole hash are kept free.
const AMPLE: usize = 8;

/// Returns the steps; empty without a record.
pub(crate) fn of(tx: &Transaction) -> &[RouteStep] {
    tx.record.as_ref().map_or(&[], |record| &record.steps)
}

/// Returns the visible lines, and the number of the step with the cursor. Beside the summary, the parts that the
/// summary has are left out.
pub(crate) fn shown(
    context: &DrawContext<'_>,
    tx: &Transaction,
    content: Rect,
    is_beside_summary: bool,
) -> (Vec<Line<'static>>, String) {
    let (columns, rows) = (usize::from(content.width), usize::from(content.height));
    let steps = of(tx);
    let remark = "in the service's order; times are when hoptop saw each step";
    let mut lines = vec![heading(context, "routeStatus", remark, columns)];
    if steps.is_empty() {
        lines.push(Line::styled("No steps yet.", context.theme.dim()));
        return (lines, String::new());
    }
    lines.push(Line::styled(titles(columns), context.theme.dim()));
    let cursor = context.model.detail.position().min(steps.len() - 1);
    // The step with the cursor stays on the screen, with its whole hash below.
    let below = if rows > AMPLE { BELOW } else { 0 };
    let room = rows.saturating_sub(lines.len() + below).max(1);
    let first = (cursor + 1).saturating_sub(room);
    let line = |(index, step)| {
        let line = step_line(context, tx, index, step, columns);
        columns::row(context, line.spans, index == cursor, content.width)
    };
    lines.extend(steps.iter().enumerate().skip(first).take(room).map(line));
    if let Some(hash) = steps.get(cursor).and_then(|step| step.transaction_id.as_ref()) {
        lines.push(Line::default());
        lines.extend(labelled(&format!("step {}", cursor + 1), hash.as_str(), columns, context.theme.dim()));
    }
    // A high screen shows below where the transfer is, and how long its statuses lasted.
    let overview = if is_beside_summary { Vec::new() } else { summary::overview(context, tx, columns) };
    let mut timing = timing::observed_lines(context, tx, columns);
    timing.extend(if is_beside_summary { Vec::new() } else { timing::forecast_lines(context, tx, columns) });
    for more in [overview, timing].into_iter().filter(|more| !more.is_empty()) {
        if lines.len() + 1 + more.len() <= rows {
            lines.push(Line::default());
            lines.extend(more);
        }
    }
    (lines, format!("step {} of {}", cursor + 1, steps.len()))
}

fn room_for_hash(columns: usize) -> usize {
    let times = if columns < NARROW { 0 } else { 2 * TIME };
    columns.saturating_sub(NUMBER + STATUS + ACTION + CHAIN + times + 1)
}

fn titles(columns: usize) -> String {
    let hash = room_for_hash(columns) + 1;
    let times = if columns < NARROW { String::new() } else { format!("{:<TIME$}AS NOW SINCE", "FIRST SEEN") };
    let cells = format!("{:<NUMBER$}{:<STATUS$}{:<ACTION$}{:<CHAIN$}", "  #", "STATUS", "ACTION", "CHAIN");
    width::cut(&format!("{cells}{:<hash$}{times}", "HASH"), columns, "")
}

fn step_line(
    context: &DrawContext<'_>,
    tx: &Transaction,
    index: usize,
    step: &RouteStep,
    columns: usize,
) -> Line<'static> {
    let (symbol, style) = mark(context, step.status.as_deref());
    let cell = |text: &str, columns: usize| {
        let text = width::fit(text, columns.saturating_sub(1), context.theme.ellipsis);
        Span::raw(format!("{text} "))
    };
    let chain = step.chain_id.as_ref().map_or("-".to_owned(), |id| route::name_of(tx, id));
    let status = step.status.as_deref().map_or_else(|| "-".to_owned(), row_text::in_words);
    let status = format!("{symbol} {status}");
    let mut spans = vec![
        Span::raw(format!("{:>3} ", index + 1)),
        cell(&status, STATUS).style(style),
        cell(&step.action.as_deref().map_or_else(|| "-".to_owned(), row_text::in_words), ACTION),
        cell(&chain, CHAIN),
    ];
    let hash = step.transaction_id.as_ref().map_or("(no hash yet)".to_owned(), ToString::to_string);
    let columns_of_hash = room_for_hash(columns);
    spans.push(cell(&width::cut_middle(&hash, columns_of_hash, context.theme.ellipsis), columns_of_hash + 1));
    let seen = context.model.selected_history().and_then(|history| history.steps.get(&index));
    let time = |at: Option<DateTime<Utc>>| at.map_or("-".to_owned(), |at| time(context, at));
    if columns >= NARROW {
        spans.push(cell(&time(seen.map(|seen| seen.first_seen_at)), TIME));
        spans.push(cell(&time(seen.map(|seen| seen.state_since)), TIME));
    }
    Line::from(spans)
}

/// Returns the symbol and the style of a step, as the list has these for a transaction. Only the status `success` is
/// documented.
fn mark(context: &DrawContext<'_>, status: Option<&str>) -> (&'static str, Style) {
    let glyphs = context.theme.glyphs();
    match status {
        Some("success") => (glyphs.status(Some(&RouterStatus::Success)), context.theme.good()),
        Some("failed" | "error" | "reverted") => (glyphs.choose(glyphs.rejected(), "!"), context.theme.critical()),
        Some(_) => (glyphs.status(Some(&RouterStatus::Ongoing)), Style::new()),
        None => (glyphs.status(None), context.theme.dim()),
    }
}
