//! The list: one transaction a row, the most severe first. A narrow pane shows fewer columns.

pub(crate) mod marks;

use std::time::Duration;

use ratatui::{
    Frame,
    layout::Rect,
    style::Style,
    text::{Line, Span},
    widgets::Block,
};

use super::{columns::ListColumn, state::Tab};
use crate::{
    domain::{
        alert::{self, Alert},
        ids::RowId,
        settled_duration, span, text,
        transaction::Transaction,
    },
    presentation::{row_text, width},
    tui::{
        command::Id,
        dialogs::Dialog,
        draw::{DrawContext, put_lines},
        view::layout::Panes,
        widgets::columns,
    },
};

/// Returns the number of transactions that fit into the list's pane.
pub(crate) fn rows_in(panes: &Panes) -> usize {
    let around = if panes.split { 3 } else { 1 };
    panes.list.map_or(0, |pane| usize::from(pane.height.saturating_sub(around)))
}

pub(crate) fn draw(context: &DrawContext<'_>, panes: &Panes, pane: Rect, frame: &mut Frame<'_>) {
    let inner = if panes.split {
        let block = block(context);
        let inner = block.inner(pane);
        frame.render_widget(block, pane);
        inner
    } else {
        pane
    };
    let mut lines = vec![titles(context, inner.width)];
    let list = &context.model.list;
    let shown = list.part.rows.iter().skip(list.top).take(rows_in(panes));
    let range = context.model.range();
    lines.extend(shown.filter_map(|row| line(context, *row, range, inner.width)));
    if list.part.rows.is_empty() {
        lines.extend(
            empty(context)
                .into_iter()
                .flat_map(|text| width::wrap(&text, usize::from(inner.width.saturating_sub(2))))
                .map(|text| Line::styled(format!(" {text}"), context.theme.dim())),
        );
    }
    put_lines(lines, inner, frame);
}

fn block<'a>(context: &DrawContext<'_>) -> Block<'a> {
    let list = &context.model.list;
    let (number, total) = list.position_text();
    let title = format!(" {} {total} ", list.tab.titles().0);
    context
        .titled_block(title)
        .border_style(context.theme.dim())
        .title_bottom(Span::styled(format!(" row {number} of {total} "), context.theme.dim()))
        .title_bottom(Span::styled(
            marks::words(context).map_or_else(String::new, |words| format!(" {words} ")),
            context.theme.label(),
        ))
}

fn shown(context: &DrawContext<'_>, width: u16) -> Vec<ListColumn> {
    context.model.list.columns.shown(width, !context.model.other_profiles.is_empty())
}

fn titles(context: &DrawContext<'_>, width: u16) -> Line<'static> {
    let mut text = String::from(" ");
    for column in shown(context, width) {
        text.push_str(&aligned(column, column.title(), context));
        text.push(' ');
    }
    Line::styled(text, context.theme.dim())
}

fn aligned(column: ListColumn, text: &str, context: &DrawContext<'_>) -> String {
    let columns = column.width();
    match column.is_right() {
        true => format!("{:>columns$}", width::cut(text, columns, "")),
        false => width::fit(text, columns, context.theme.ellipsis),
    }
}

fn line(context: &DrawContext<'_>, row: RowId, range: &[RowId], columns_of_pane: u16) -> Option<Line<'static>> {
    let tx = context.model.transactions.get(&row)?;
    let selected = context.model.list.selected == Some(row);
    let mut spans = vec![Span::raw(marks::letter(context, row, range))];
    for column in shown(context, columns_of_pane) {
        let (text, style) = cell(context, tx, column);
        // Nobody follows an untracked transaction, so its whole row steps back.
        let style = if tx.is_stopped() { context.theme.dim() } else { style };
        spans.push(Span::styled(aligned(column, &text, context), style));
        spans.push(Span::raw(" "));
    }
    Some(columns::row(context, spans, selected, columns_of_pane))
}

fn cell(context: &DrawContext<'_>, tx: &Transaction, column: ListColumn) -> (String, Style) {
    let (theme, now) = (context.theme, context.now.wall);
    let status = tx.state.status.as_ref();
    let severity = context.model.severity(tx.id);
    match column {
        ListColumn::Severity => match handled_mark(context.model.alerts_of(tx.id)) {
            Some(mark) => (mark, theme.dim()),
            None => {
                (row_text::mark(severity).into(), severity.map_or_else(Style::new, |severity| theme.severity(severity)))
            }
        },
        ListColumn::Status => (row_text::listed_status(tx), theme.status(status)),
        ListColumn::Hash => (tx.params.transaction_id.short(theme.ellipsis), Style::new()),
        ListColumn::Route => (row_text::route(tx), Style::new()),
        ListColumn::Age => (settled_duration::short_age(tx, now), Style::new()),
        ListColumn::Due => (row_text::due(tx, now), due_style(context, tx)),
        ListColumn::Profile => (text::clean(&tx.profile), theme.dim()),
        ListColumn::Ticket => (ticket(context, tx), theme.dim()),
        ListColumn::Checked => (row_text::checked(tx, now), theme.dim()),
        ListColumn::Changed => (row_text::changed(tx, now), theme.dim()),
        ListColumn::Labels => (tx.labels.join(" "), theme.dim()),
        ListColumn::Quote => (tx.params.quote_id.as_str().to_owned(), theme.dim()),
    }
}

/// Returns the ticket or a label, after the person who has the transaction open, if somebody else has.
fn ticket<R>(context: &DrawContext<'_>, tx: &Transaction<R>) -> String {
    let ticket = row_text::ticket_or_label(tx);
    match marks::people_at(context, tx).map(text::clean).next() {
        Some(person) => ticket.map_or_else(|| format!("@{person}"), |ticket| format!("@{person} {ticket}")),
        None => ticket.unwrap_or("-").to_owned(),
    }
}

/// Returns the mark of a transaction whose alerts are all handled: `a` or `z` for acknowledged or snoozed, and the mark of the
/// most severe alert. Returns `None` if an alert fires, or without alerts.
fn handled_mark(alerts: &[Alert]) -> Option<String> {
    let Some((false, severity)) = alert::urgency(alerts) else { return None };
    let is_most_severe = |alert: &&Alert| alert.rule.severity() == severity;
    let is_snoozed = alerts.iter().filter(is_most_severe).all(|alert| alert.snoozed().is_some());
    Some(format!("{}{}", if is_snoozed { "z" } else { "a" }, row_text::mark(Some(severity))))
}

/// Returns the style of the time until the deadline: a warning near or past the deadline, critical if overdue is confirmed.
fn due_style(context: &DrawContext<'_>, tx: &Transaction) -> Style {
    /// The time before the deadline that counts as near.
    const SOON: Duration = Duration::from_secs(5 * 60);
    let left = span::between(context.now.wall, tx.deadline().at);
    match (tx.is_awaited(), left) {
        (false, _) => context.theme.dim(),
        (true, _) if tx.is_overdue() => context.theme.critical(),
        (true, left) if left < SOON => context.theme.warning(),
        (true, _) => Style::new(),
    }
}

fn empty(context: &DrawContext<'_>) -> Vec<String> {
    let model = context.model;
    let shown = |id| context.key(id);
    if !model.loaded {
        return vec![format!("Reading the store{}", context.theme.ellipsis)];
    }
    if model.overview.tabs == [0; 5] && model.list.filter_text.is_empty() && model.list.tab == Tab::All {
        return vec![
            "Nothing is tracked yet.".into(),
            format!("Press {} and paste a row: transactionId,fromChainId,toChainId,quoteId", shown(Id::Add)),
            "or import a batch: hoptop import transfers.csv".into(),
        ];
    }
    match model.list.filter_text.as_str() {
        _ if model.list.filter_error.is_some() => {
            vec!["No transaction matches the last valid filter.".into()]
        }
        "" => vec![format!("No transactions in this view. Press {} to show all.", shown(Id::All))],
        _ if matches!(model.dialog, Dialog::Filter(_)) => vec!["The filter hides all transactions.".into()],
        _ => vec![format!("The filter hides all transactions. Press {} to clear it.", shown(Id::Clear))],
    }
}
