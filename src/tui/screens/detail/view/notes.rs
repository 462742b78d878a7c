//! The ticket, the labels, and the notes with their times.

use ratatui::text::{Line, Span};

use super::lines::{LABEL, heading, labelled, time};
use crate::{
    domain::transaction::Transaction,
    presentation::width,
    tui::{command::Id, draw::DrawContext},
};

/// The columns of a time, with the blanks after it.
const TIME: usize = 13;

pub(crate) fn lines(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let labels = Some(tx.labels.join(", ")).filter(|labels| !labels.is_empty());
    let mut lines = labelled("ticket", tx.params.ticket.as_deref().unwrap_or("(none)"), columns, context.theme.dim());
    lines.extend(labelled("labels", labels.as_deref().unwrap_or("(none)"), columns, context.theme.dim()));
    lines.extend([Line::default(), heading(context, "NOTES", "newest last", columns)]);
    let Some(history) = context.model.selected_history().filter(|history| !history.notes.is_empty()) else {
        // Until the history is loaded, the notes are shown without times.
        let notes = tx.attributed_notes();
        lines.extend(notes.flat_map(|note| labelled(&" ".repeat(LABEL), &note, columns, context.theme.dim())));
        if tx.notes.is_empty() {
            lines.push(Line::styled(
                format!("No notes yet. Press {} to add one.", context.key(Id::Note)),
                context.theme.dim(),
            ));
        }
        return lines;
    };
    for note in &history.notes {
        let mut time = width::fit(&time(context, note.at), TIME, "");
        for line in width::wrap(&note.attributed(), columns.saturating_sub(TIME)) {
            lines.push(Line::from(vec![Span::styled(time, context.theme.dim()), Span::raw(line)]));
            time = " ".repeat(TIME);
        }
    }
    lines
}
