//! What people wrote: the ticket, the labels, the notes with their times.

use ratatui::text::{Line, Span};

use super::{LABEL, Look, heading, labelled, time};
use crate::{
    domain::{transaction::Transaction, width},
    tui::command::Id,
};

/// What a moment takes, with the blanks behind it.
const TIME: usize = 13;

pub(super) fn lines(look: &Look<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let labels = Some(tx.labels.join(", ")).filter(|labels| !labels.is_empty());
    let mut lines = labelled("ticket", tx.params.ticket.as_deref().unwrap_or("(none)"), columns, look.theme.dim());
    lines.extend(labelled("labels", labels.as_deref().unwrap_or("(none)"), columns, look.theme.dim()));
    lines.extend([Line::default(), heading(look, "NOTES", "the newest last", columns)]);
    let Some(history) = look.model.selected_history().filter(|history| !history.notes.is_empty()) else {
        // Until their times are read.
        lines.extend(tx.notes.iter().flat_map(|note| labelled(&" ".repeat(LABEL), note, columns, look.theme.dim())));
        if tx.notes.is_empty() {
            lines.push(Line::styled(format!("No notes yet; {} adds one.", look.key(Id::Note)), look.theme.dim()));
        }
        return lines;
    };
    for note in &history.notes {
        let mut time = width::fit(&time(look, note.at), TIME, "");
        for line in width::wrap(&note.text, columns.saturating_sub(TIME)) {
            lines.push(Line::from(vec![Span::styled(time, look.theme.dim()), Span::raw(line)]));
            time = " ".repeat(TIME);
        }
    }
    lines
}
