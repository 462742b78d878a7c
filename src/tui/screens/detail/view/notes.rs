//! The ticket, the labels, and the notes with their times.

use chrono::{DateTime, Utc};
use ratatui::text::Line;

use super::lines::{heading, labelled, time};
use crate::{
    domain::{people, text, transaction::Transaction},
    tui::{
        command::CommandId,
        draw::{DrawContext, labelled_at},
    },
};

/// The columns of a time, with the blanks after it.
const TIME: usize = 13;

pub(crate) fn lines(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let labels = Some(tx.labels.join(", ")).filter(|labels| !labels.is_empty());
    let mut lines = labelled("ticket", tx.params.ticket.as_deref().unwrap_or("(none)"), columns, context.theme.dim());
    lines.extend(labelled("labels", labels.as_deref().unwrap_or("(none)"), columns, context.theme.dim()));
    lines.extend([Line::default(), heading(context, "NOTES", "newest last", columns)]);
    let alerts = alert_notes(context, tx, columns);
    let Some(history) = context.model.selected_history().filter(|history| !history.notes.is_empty()) else {
        // Until the history is loaded, the notes are shown without times.
        let notes = tx.attributed_notes();
        lines.extend(notes.flat_map(|note| labelled("", &note, columns, context.theme.dim())));
        if tx.notes.is_empty() && alerts.is_empty() {
            lines.push(Line::styled(
                format!("No notes yet. Press {} to add one.", context.key(CommandId::Note)),
                context.theme.dim(),
            ));
        }
        lines.extend(alerts);
        return lines;
    };
    lines.extend(history.notes.iter().flat_map(|note| timed(context, note.at, &note.attributed(), columns)));
    lines.extend(alerts);
    lines
}

/// Returns the notes with which the active alerts were acknowledged.
fn alert_notes(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let written = context.model.alerts_of(tx.id).iter().filter_map(|alert| {
        let handling = alert.handling.as_ref()?;
        let (note, by) = (text::clean(handling.note()?), people::author_suffix(handling.author()));
        Some((handling.at, format!("{} acknowledged{by}: {note}", alert.rule.label())))
    });
    written.flat_map(|(at, note)| timed(context, at, &note, columns)).collect()
}

/// Returns a note with its time, over as many lines as it needs.
fn timed(context: &DrawContext<'_>, at: DateTime<Utc>, note: &str, columns: usize) -> Vec<Line<'static>> {
    labelled_at(TIME, &time(context, at), note, columns, context.theme.dim())
}
