//! The symbol in the list's first column, and the number of marked transactions.
//!
//! Marked transactions may be hidden, so the number is shown wherever the list is.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
};

use crate::{
    domain::{ids::RowId, transaction::Transaction},
    presentation::width,
    tui::{command::CommandId, draw::DrawContext},
};

/// Returns the symbol in the first column of a row: selected, marked, or open elsewhere.
pub(crate) fn row_symbol(context: &DrawContext<'_>, tx: &Transaction, range: &[RowId]) -> &'static str {
    let is_marked = context.model.marks.contains(tx.id) || range.contains(&tx.id);
    match (context.model.list.selected == Some(tx.id), is_marked) {
        (true, false) => ">",
        (_, true) => "*",
        // Another person of the team has the transaction open.
        (false, false) if !people_viewing(context, tx).is_empty() => "@",
        (false, false) => " ",
    }
}

/// Returns the other people of the team who have the transaction open.
pub(crate) fn people_viewing<'a, R>(context: &DrawContext<'a>, tx: &Transaction<R>) -> Vec<&'a str> {
    // Most of the time nobody has anything open.
    let team = context.model.team.as_ref().filter(|team| !team.open.is_empty());
    team.map(|team| team.people_viewing(&tx.key()).collect()).unwrap_or_default()
}

/// Returns the number of marked transactions and the open range, in words; `None` if there is neither.
pub(crate) fn marks_text(context: &DrawContext<'_>) -> Option<String> {
    let marks = &context.model.marks;
    let marked = match (marks.count(), context.model.marks_outside_view()) {
        (0, _) => None,
        (count, 0) => Some(format!("{count} marked (*)")),
        (count, hidden) => Some(format!("{count} marked (*), {hidden} not in this view")),
    };
    let range = marks.range.map(|_| match context.model.range().len() {
        0 => format!("range to here ({} to mark)", context.key(CommandId::MarkRange)),
        count => format!("range of {count} ({} to mark)", context.key(CommandId::MarkRange)),
    });
    let words: Vec<String> = marked.into_iter().chain(range).collect();
    (!words.is_empty()).then(|| words.join("   "))
}

/// Draws these words over the line below a list without a frame.
pub(crate) fn draw_over_line(context: &DrawContext<'_>, line: Rect, frame: &mut Frame<'_>) {
    let Some(words) = marks_text(context) else { return };
    let text = width::cut(&format!(" {words} "), usize::from(line.width.saturating_sub(1)), context.theme.ellipsis);
    // The rest of the line covers what was there before.
    let rest = Span::styled(context.theme.border.horizontal_top.repeat(usize::from(line.width)), context.theme.dim());
    let area = Rect { x: line.x.saturating_add(1), height: 1, ..line }.intersection(line);
    if area.area() > 0 {
        frame.render_widget(Line::from(vec![Span::styled(text, context.theme.label()), rest]), area);
    }
}
