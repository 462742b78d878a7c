//! What people wrote: the ticket, the labels, the notes with their times.

use ratatui::text::{Line, Span};

use super::{DrawContext, LABEL, heading, labelled, time};
use crate::{
    domain::{transaction::Transaction, width},
    tui::command::Id,
};

/// What a moment takes, with the blanks behind it.
const TIME: usize = 13;

pub(super) fn lines(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let labels = Some(tx.labels.join(", ")).filter(|labels| !labels.is_empty());
    let mut lines = labelled("ticket", tx.params.ticket.as_deref().unwrap_or("(none)"), columns, context.theme.dim());
    lines.extend(labelled("labels", labels.as_deref().unwrap_or("(none)"), columns, context.theme.dim()));
    lines.extend([Line::default(), heading(context, "NOTES", "the newest last", columns)]);
    let Some(history) = context.model.selected_history().filter(|history| !history.notes.is_empty()) else {
        // Until their times are read.
        lines.extend(tx.notes.iter().flat_map(|note| labelled(&" ".repeat(LABEL), note, columns, context.theme.dim())));
        if tx.notes.is_empty() {
            lines.push(Line::styled(format!("No notes yet; {} adds one.", context.key(Id::Note)), context.theme.dim()));
        }
        return lines;
    };
    for note in &history.notes {
        let mut time = width::fit(&time(context, note.at), TIME, "");
        for line in width::wrap(&note.text, columns.saturating_sub(TIME)) {
            lines.push(Line::from(vec![Span::styled(time, context.theme.dim()), Span::raw(line)]));
            time = " ".repeat(TIME);
        }
    }
    lines
}
