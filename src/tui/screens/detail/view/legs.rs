//! The boxes of source and destination, with the kind of the route and the elapsed time between them.

use ratatui::text::{Line, Span};

use crate::{
    domain::{
        ids::TxHash,
        route::{self, RouteKind, TransferEnd, TransferEnds},
        settled_duration::SettledDuration,
        span,
        transaction::Transaction,
    },
    presentation::{row_text, width},
    tui::draw::{DrawContext, labelled_at},
};

/// The columns between the two boxes.
const BETWEEN: usize = 9;
/// With fewer columns the destination is below the source.
const NARROW: usize = 42;

/// The columns of a label in a box.
const LABEL: usize = 3;

/// A label and its value.
type LabelledText = (&'static str, String);

pub(crate) fn lines(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let TransferEnds { source, destination, hop } = route::ends(tx);
    let (from, to) = (end(&source, &tx.from_name()), end(&destination, &tx.to_name()));
    let mut lines = match columns < NARROW {
        true => stacked(context, tx, [&from, &to], columns),
        false => side_by_side(context, tx, [&from, &to], columns),
    };
    if let Some(hop) = hop {
        let name = route::name_of(tx, hop.chain);
        let warning = format!("the service names {name} as the destination; it may be an intermediate hop");
        lines.extend(labelled_at(0, "", &warning, columns, context.theme.warning()));
    }
    lines
}

fn side_by_side(
    context: &DrawContext<'_>,
    tx: &Transaction,
    [from, to]: [&[LabelledText; 4]; 2],
    columns: usize,
) -> Vec<Line<'static>> {
    let half = columns.saturating_sub(BETWEEN) / 2;
    let kind = route::kind(tx).map_or("", RouteKind::label);
    let elapsed = elapsed(context, tx);
    let arrow = context.theme.glyphs().choose("━━━━━━▶", "------>");
    let between = ["", "", kind, arrow, &elapsed, ""];
    let boxes = boxed(context, "SOURCE", from, half).into_iter().zip(boxed(context, "DESTINATION", to, half));
    let line = |((left, right), between): ((Line<'static>, Line<'static>), &str)| {
        let between = width::cut(between, BETWEEN, "");
        let mut line = left;
        line.push_span(Span::styled(format!("{between:^BETWEEN$}"), context.theme.info()));
        line.extend(right.spans);
        line
    };
    boxes.zip(between).map(line).collect()
}

/// Returns the time between the source and the destination; `<` marks an upper bound. Empty for a transfer that failed
/// on the source chain.
fn elapsed(context: &DrawContext<'_>, tx: &Transaction) -> String {
    match SettledDuration::of(tx) {
        None if tx.failure_on_source().is_some() => String::new(),
        Some(SettledDuration::AtMost(time)) => format!("< {}", span::long(time)),
        Some(SettledDuration::Measured(time) | SettledDuration::SinceFirstSeen(time)) => span::long(time),
        None => span::long(tx.age(context.now.wall)),
    }
}

fn boxed(context: &DrawContext<'_>, title: &str, text: &[LabelledText; 4], columns: usize) -> Vec<Line<'static>> {
    let set = context.theme.border;
    let (inner, dim) = (columns.saturating_sub(4), context.theme.dim());
    let rule = |columns: usize| set.horizontal_top.repeat(columns);
    let title = format!(" {} ", width::cut(title, inner.saturating_sub(2), ""));
    let after_title = columns.saturating_sub(3 + width::display_width(&title));
    let mut lines = vec![Line::from(vec![
        Span::styled(format!("{}{}", set.top_left, rule(1)), dim),
        Span::styled(title, context.theme.label()),
        Span::styled(format!("{}{}", rule(after_title), set.top_right), dim),
    ])];
    lines.extend(text.iter().map(|text| {
        let text = width::fit(&cut(context, text, inner), inner, "");
        Line::from(vec![
            Span::styled(format!("{} ", set.vertical_left), dim),
            Span::raw(text),
            Span::styled(format!(" {}", set.vertical_right), dim),
        ])
    }));
    let bottom = format!("{}{}{}", set.bottom_left, rule(columns.saturating_sub(2)), set.bottom_right);
    lines.push(Line::styled(bottom, dim));
    lines
}

/// Returns the source, and the destination below it.
fn stacked(
    context: &DrawContext<'_>,
    tx: &Transaction,
    [from, to]: [&[LabelledText; 4]; 2],
    columns: usize,
) -> Vec<Line<'static>> {
    let text = |text: &LabelledText| Line::raw(format!("  {}", cut(context, text, columns.saturating_sub(2))));
    let mut lines = vec![Line::styled("SOURCE", context.theme.label())];
    lines.extend(from.iter().map(text));
    let elapsed = elapsed(context, tx);
    let arrow = context.theme.glyphs().choose("▼", "v");
    lines.push(Line::styled(width::cut(&format!("  {arrow} {elapsed}"), columns, ""), context.theme.info()));
    lines.push(Line::styled("DESTINATION", context.theme.label()));
    lines.extend(to.iter().map(text));
    lines
}

/// Returns a fact in one line. A value that is too long is cut in the middle.
fn cut(context: &DrawContext<'_>, (label, value): &LabelledText, columns: usize) -> String {
    let label = if label.is_empty() { String::new() } else { format!("{label:<LABEL$} ") };
    let room = columns.saturating_sub(width::display_width(&label));
    // People know a hash by both ends, and words by their beginning.
    let value = match value.contains(' ') {
        true => width::cut(value, room, context.theme.ellipsis),
        false => width::cut_middle(value, room, context.theme.ellipsis),
    };
    width::cut(&format!("{label}{value}"), columns, "")
}

/// Returns the four facts of one end.
fn end(end: &TransferEnd<'_>, name: &str) -> [LabelledText; 4] {
    let chain = if name == end.chain.as_str() { name.to_owned() } else { format!("{name} ({})", end.chain) };
    let hash = end.transaction_id.map(TxHash::to_string);
    let event = end.call_event_status.filter(|event| !event.is_empty());
    [
        ("", chain),
        ("tx", hash.unwrap_or_else(|| "not yet".into())),
        ("blk", end.block_number.map_or_else(|| "not yet".into(), |number| number.to_string())),
        ("event", event.map_or_else(|| "(empty)".to_owned(), row_text::in_words)),
    ]
}
