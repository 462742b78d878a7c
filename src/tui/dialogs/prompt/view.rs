//! The view of a prompt at the bottom of the screen: the title with the targets, the typed text, and a hint or an
//! error.
//!
//! The list above the prompt must stay visible, so that a person sees the transactions that the text concerns.

use ratatui::{Frame, layout::Rect, style::Style, text::Line};

use super::state::{Prompt, PromptKind};
use crate::{
    domain::{ids::RowId, text, transaction::Transaction},
    presentation::width,
    tui::{
        dialogs::menu,
        draw::{DrawContext, put_dialog, put_lines},
        effect::AlertTarget,
        model::{Model, Screen},
        widgets::field,
    },
};

pub(crate) fn draw(context: &DrawContext<'_>, prompt: &Prompt, body: Rect, frame: &mut Frame<'_>) {
    let columns = usize::from(body.width.saturating_sub(4)).max(1);
    let (text, style) = match &prompt.error {
        Some(error) => (error.clone(), context.theme.critical()),
        None if prompt.sent.is_some() => (context.theme.ellipsis.to_owned(), context.theme.dim()),
        None => (guide(context, prompt), context.theme.dim()),
    };
    let below = width::wrap(&text, columns);
    let pane = menu::view::bottom(body, below.len() + 3);
    let [title, ..] = prompt.texts();
    let title = format!(" {title} {} ", targets(context, prompt));
    let title = width::cut(&title, usize::from(pane.width.saturating_sub(2)), context.theme.ellipsis);
    let block = context.titled_block(title);
    let inner = put_dialog(block, pane, frame);
    let below = below.into_iter().map(|line| Line::styled(format!(" {line}"), style));
    put_lines(std::iter::once(Line::default()).chain(below), inner, frame);
    let style = if prompt.is_selected { context.theme.selected() } else { Style::new() };
    field::draw_after(" ", &prompt.input, style, Rect { height: inner.height.min(1), ..inner }, frame);
}

/// Returns the targets of the write: a single transaction by its hash, several by their number.
fn targets(context: &DrawContext<'_>, prompt: &Prompt) -> String {
    let model = context.model;
    let short = |tx: &Transaction| tx.params.transaction_id.short(context.theme.ellipsis);
    let transactions = |rows: &[RowId]| match rows {
        [row] => model.transaction(*row).map_or_else(|| "1 marked".into(), short),
        rows if model.screen == Screen::Alerts => text::counted(rows.len(), "transaction"),
        rows => format!("{} marked", rows.len()),
    };
    match &prompt.kind {
        PromptKind::Note(rows)
        | PromptKind::Ticket(rows)
        | PromptKind::Labels(rows)
        | PromptKind::Export(Some(rows)) => transactions(rows),
        PromptKind::Export(None) => match model.list.total {
            Some(count) => format!("the {count} shown transactions"),
            None => "all shown transactions".into(),
        },
        PromptKind::Acknowledgement(alerts) => match alerts.as_slice() {
            [AlertTarget::Alert(id)] => subject(model, *id).map_or_else(|| "this alert".into(), short),
            [AlertTarget::Alert(_), ..] => format!("{} alerts", alerts.len()),
            alerts => transactions(&alerts.iter().filter_map(|alert| alert.transaction()).collect::<Vec<_>>()),
        },
    }
}

/// Returns the transaction that an alert is about, if it is loaded.
fn subject(model: &Model, id: i64) -> Option<&Transaction> {
    let mut listed = model.alert_list.page.iter().flat_map(|page| &page.rows);
    let listed = listed.find(|row| row.alert.id == id).and_then(|row| row.transaction.as_ref());
    listed.or_else(|| {
        let (row, _) = model.alerts.iter().find(|(_, alerts)| alerts.iter().any(|alert| alert.id == id))?;
        model.transactions.get(row)
    })
}

/// Returns the hint, with the present labels of a single transaction.
fn guide(context: &DrawContext<'_>, prompt: &Prompt) -> String {
    let [_, _, guide] = prompt.texts();
    if prompt.is_selected {
        return format!("{guide} Typing replaces the text, End keeps it.");
    }
    if let PromptKind::Labels(rows) = &prompt.kind
        && let [row] = rows.as_slice()
        && let Some(tx) = context.model.transaction(*row).filter(|tx| !tx.labels.is_empty())
    {
        return format!("{guide} Now: {}", tx.labels.join(", "));
    }
    guide.to_owned()
}
