//! The list: one transaction a row, the most severe first. A narrow pane shows fewer columns.

pub(crate) mod marks;
pub(crate) mod recent;

use std::{borrow::Cow, time::Duration};

use ratatui::{
    Frame,
    layout::Rect,
    style::{Modifier, Style},
    text::{Line, Span},
    widgets::Block,
};

use super::{
    columns::{ListColumn, ShownColumn},
    tab::Tab,
};
use crate::{
    domain::{
        alert::{self, Alert, Severity, Urgency},
        ids::RowId,
        settled_duration, span, text,
        transaction::Transaction,
    },
    presentation::{
        progress::{self, ProgressScale, ProgressZone, TransferProgress},
        row_text, width,
    },
    tui::{
        command::CommandId,
        dialogs::Dialog,
        draw::{DrawContext, labelled_at, put_block, put_lines},
        theme::Theme,
        view::layout::Panes,
        widgets::{columns, progress_bar::ProgressBar},
    },
};

/// Returns the number of transactions that fit into the list's pane.
pub(crate) fn rows_in(panes: &Panes) -> usize {
    let around = if panes.is_split { 3 } else { 1 };
    panes.list.map_or(0, |pane| usize::from(pane.height.saturating_sub(around)))
}

pub(crate) fn draw(context: &DrawContext<'_>, panes: &Panes, pane: Rect, frame: &mut Frame<'_>) {
    let inner = if panes.is_split { put_block(block(context), pane, frame) } else { pane };
    let mut lines = vec![titles(context, inner.width)];
    let list = &context.model.list;
    let shown = list.part.rows.iter().skip(list.top).take(rows_in(panes));
    let range = context.model.range();
    let columns = self::shown(context, inner.width);
    lines.extend(shown.filter_map(|row| line(context, *row, range, &columns, inner.width)));
    if list.part.rows.is_empty() {
        let columns = usize::from(inner.width).saturating_sub(1);
        lines.extend(empty(context).iter().flat_map(|text| labelled_at(1, "", text, columns, context.theme.dim())));
    }
    put_lines(lines, inner, frame);
}

fn block<'a>(context: &DrawContext<'_>) -> Block<'a> {
    let list = &context.model.list;
    let (number, total) = list.position_text();
    let order = list.combined_filter().sort().first().map_or("", |key| key.description());
    let title = Line::from(vec![
        Span::styled(format!(" {} {total}", context.model.view_state.titles(list.tab).0), context.theme.label()),
        Span::styled(format!("{}{order} ", context.theme.separator()), context.theme.dim()),
    ]);
    let marked = marks::marks_text(context).map_or_else(String::new, |words| format!(" {words} "));
    context
        .pane_block(title)
        .title_bottom(Span::styled(format!(" {number} of {total} "), context.theme.dim()))
        .title_bottom(Span::styled(marked, context.theme.label()))
}

fn shown(context: &DrawContext<'_>, width: u16) -> Vec<ShownColumn> {
    let list = &context.model.list;
    list.columns.shown(width, !context.model.other_profiles.is_empty(), &list.content)
}

/// Returns the row of titles; an arrow marks the column that the list is sorted by.
fn titles(context: &DrawContext<'_>, width: u16) -> Line<'static> {
    let sort = context.model.list.combined_filter().sort().first().copied();
    let glyphs = context.theme.glyphs();
    let mut spans = vec![Span::raw(" ")];
    for shown in shown(context, width) {
        let title = shown.column.spec().title;
        let order = sort.filter(|key| shown.column.spec().sort == Some(key.by));
        let (title, style) = match order {
            Some(key) if title.len() < shown.width => {
                let arrow = if key.is_reversed { glyphs.choose("▲", "^") } else { glyphs.choose("▼", "v") };
                (format!("{title}{arrow}"), context.theme.accent())
            }
            Some(_) => (title.to_owned(), context.theme.accent()),
            None => (title.to_owned(), context.theme.dim()),
        };
        spans.push(Span::styled(aligned(shown, &title, context), style));
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}

/// Returns the column whose title is at a column of the titles' row.
pub(crate) fn title_at(context: &DrawContext<'_>, pane: Rect, x: u16) -> Option<ListColumn> {
    let mut end = usize::from(pane.x) + 1;
    let found = shown(context, pane.width).into_iter().find(|shown| {
        end += shown.width + 1;
        usize::from(x) < end
    })?;
    Some(found.column)
}

fn aligned(shown: ShownColumn, text: &str, context: &DrawContext<'_>) -> String {
    let columns = shown.width;
    match shown.column.spec().is_right {
        true => width::fit_right(text, columns, ""),
        false => width::fit(text, columns, context.theme.ellipsis),
    }
}

fn line(
    context: &DrawContext<'_>,
    row: RowId,
    range: &[RowId],
    columns: &[ShownColumn],
    pane: u16,
) -> Option<Line<'static>> {
    let tx = context.model.transactions.get(&row)?;
    let selected = context.model.list.selected == Some(row);
    let severity = context.model.severity(row);
    // Each column has a blank after it, and the bar of the progress has several parts.
    let mut spans = Vec::with_capacity(2 * columns.len() + 8);
    spans.push(columns::edge(context, marks::row_symbol(context, tx, range), severity));
    let has_labels = columns.iter().any(|shown| shown.column == ListColumn::Labels);
    for shown in columns {
        if shown.column == ListColumn::Progress {
            spans.extend(progress_cell(context, tx, shown.width));
        } else {
            let (text, style) = cell(context, tx, severity, *shown, has_labels);
            // An untracked transaction isn't polled, so its whole row is dim.
            let style = if tx.is_stopped() { context.theme.dim() } else { style };
            spans.push(Span::styled(aligned(*shown, &text, context), style));
        }
        spans.push(Span::raw(" "));
    }
    Some(columns::severity_row(context, spans, severity, selected, pane))
}

/// Returns the progress of a transaction as a bar, or its outcome in words.
fn progress_cell(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Span<'static>> {
    let theme = context.theme;
    let forecast = || context.model.forecast(tx);
    match progress::progress(tx, forecast, context.now.wall) {
        TransferProgress::Words(words) => {
            // A narrow column keeps the time.
            let fits = |text: &String| width::display_width(text) <= columns;
            let words = match words.split_once(" in ") {
                Some((_, time)) if !fits(&words) => {
                    Some(format!("took {time}")).filter(fits).unwrap_or(time.to_owned())
                }
                Some(_) | None => words,
            };
            vec![Span::styled(width::fit(&words, columns, theme.ellipsis), theme.dim())]
        }
        TransferProgress::Waiting(scale) => {
            let glyphs = theme.glyphs();
            // A mark beyond the limit would say nothing: the limit counts.
            let marks = [
                (scale.position(scale.median), glyphs.choose("│", "|")),
                (scale.position(scale.nine_in_ten), glyphs.choose("┊", ":")),
            ];
            let marks: Vec<_> = marks.into_iter().filter(|(position, _)| *position < ProgressScale::DEADLINE).collect();
            let (filled, fill_style) = (scale.position(scale.age), zone_style(theme, &scale));
            let scale_end = ProgressScale::DEADLINE;
            ProgressBar { filled, marks: &marks, fill_style, scale_end }.spans(columns, theme)
        }
    }
}

/// Returns the style of the part of the scale that the age of a transfer has reached.
pub(crate) fn zone_style(theme: &Theme, scale: &ProgressScale) -> Style {
    match scale.zone() {
        ProgressZone::Overdue => theme.critical(),
        ProgressZone::Slow => theme.warning(),
        _ if scale.is_from_first_seen => theme.dim(),
        // What is as usual must not stand out.
        ProgressZone::Early => theme.good().add_modifier(Modifier::DIM),
        ProgressZone::Usual => theme.progress().add_modifier(Modifier::DIM),
    }
}

fn cell(
    context: &DrawContext<'_>,
    tx: &Transaction,
    severity: Option<Severity>,
    shown: ShownColumn,
    has_labels: bool,
) -> (String, Style) {
    let (theme, now) = (context.theme, context.now.wall);
    let glyphs = theme.glyphs();
    let status = tx.state.status.as_ref();
    match shown.column {
        ListColumn::Severity => match handled_mark(context.model.alerts_of(tx.id)) {
            Some(mark) => (mark, theme.dim()),
            None => {
                (row_text::mark(severity).into(), severity.map_or_else(Style::new, |severity| theme.severity(severity)))
            }
        },
        ListColumn::Status => (row_text::list_status_cell(tx, glyphs), theme.status(status)),
        ListColumn::Hash => {
            (width::cut_middle(tx.params.transaction_id.as_str(), shown.width, theme.ellipsis), Style::new())
        }
        ListColumn::Route if shown.is_whole => (row_text::full_route(tx, glyphs), Style::new()),
        ListColumn::Route => (row_text::route(tx, glyphs), Style::new()),
        ListColumn::Progress => (String::new(), Style::new()),
        ListColumn::Age => (settled_duration::short_age(tx, now), Style::new()),
        ListColumn::Due => (row_text::due(tx, now), due_style(context, tx)),
        ListColumn::Profile => (text::clean(&tx.profile), theme.dim()),
        ListColumn::Ticket => (ticket(context, tx, has_labels), theme.dim()),
        ListColumn::Checked => (row_text::checked(tx, now), theme.dim()),
        ListColumn::Changed => (row_text::changed(tx, now), theme.dim()),
        ListColumn::Labels => (tx.labels.join(" "), theme.info()),
        ListColumn::Notes => (tx.notes.last().cloned().unwrap_or_default(), theme.dim()),
        ListColumn::Quote => (tx.params.quote_id.as_str().to_owned(), theme.dim()),
    }
}

/// Returns the ticket, after the name of another person who has the transaction open. Without a ticket, the cell shows
/// a label as `#label`, unless the labels have a column of their own.
fn ticket<R>(context: &DrawContext<'_>, tx: &Transaction<R>, has_labels: bool) -> String {
    let ticket = row_text::ticket_or_label_cell(tx).filter(|_| !has_labels || tx.params.ticket.is_some());
    let person = marks::people_viewing(context, tx).first().map(|author| text::clean(author));
    match person.as_deref().map(|author| author.split_once(" via ").map_or(author, |(given, _)| given)) {
        Some(person) => ticket.map_or_else(|| format!("@{person}"), |ticket| format!("@{person} {ticket}")),
        None => ticket.map_or_else(|| "-".to_owned(), Cow::into_owned),
    }
}

/// Returns the mark of a transaction whose alerts are all handled: `a` (acknowledged) or `z` (snoozed), and the most
/// severe alert's mark. Returns `None` if an alert fires, or without alerts.
fn handled_mark(alerts: &[Alert]) -> Option<String> {
    let Urgency { severity, .. } = alert::urgency(alerts).filter(|urgency| !urgency.is_unhandled)?;
    let is_most_severe = |alert: &&Alert| alert.rule.severity() == severity;
    let is_snoozed = alerts.iter().filter(is_most_severe).all(|alert| alert.snoozed().is_some());
    Some(format!("{}{}", if is_snoozed { "z" } else { "a" }, row_text::mark(Some(severity))))
}

/// Returns the style of the time until the deadline: a warning near or past the deadline, critical if overdue is
/// confirmed.
fn due_style(context: &DrawContext<'_>, tx: &Transaction) -> Style {
    /// The time before the deadline that counts as near.
    const SOON: Duration = Duration::from_secs(5 * 60);
    match tx.is_awaited() {
        false => context.theme.dim(),
        true if tx.is_overdue() => context.theme.critical(),
        true if span::between(context.now.wall, tx.deadline().at) < SOON => context.theme.warning(),
        true => Style::new(),
    }
}

fn empty(context: &DrawContext<'_>) -> Vec<String> {
    let model = context.model;
    if !model.is_loaded {
        return vec![format!("Reading the store{}", context.theme.ellipsis)];
    }
    if model.overview.tabs == [0; 5] && model.list.whole_tab() == Some(Tab::All) {
        let add = context.key(CommandId::Add);
        return vec![
            "Nothing is tracked yet.".into(),
            format!("Press {add} and paste a row: transactionId,fromChainId,toChainId,quoteId"),
            "or import a batch: hoptop import transfers.csv".into(),
        ];
    }
    match model.list.filter_text.as_str() {
        _ if model.list.filter_error.is_some() => vec!["No transaction matches the last valid filter.".into()],
        // The typed text sorts at most.
        _ if model.list.whole_tab().is_some() => {
            vec![format!("No transactions in this view. Press {} to show all.", context.key(CommandId::All))]
        }
        _ if let Some(complaint) = model.unknown_chain() => vec![complaint],
        text if matches!(model.dialog, Dialog::Filter(_)) => vec![format!("Nothing matches {}.", text::clean(text))],
        text => {
            let [clear, all] = [CommandId::Clear, CommandId::All].map(|id| context.key(id));
            let mut lines = vec![format!("Nothing matches {}. Press {clear} to clear the filter.", text::clean(text))];
            if model.list.tab != Tab::All {
                lines.push(format!("Only this view was searched; {all} shows all transactions."));
            }
            lines
        }
    }
}
