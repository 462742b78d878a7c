//! The history, as observed by hoptop, the newest entry first.

use ratatui::text::{Line, Span};

use super::lines::time;
use crate::{
    presentation::width,
    tui::{
        draw::DrawContext,
        screens::detail::history::{EntryKind, HistoryEntry},
    },
};

/// Returns the lines that pass the filter, and a remark on the number of hidden lines.
pub(crate) fn lines(context: &DrawContext<'_>, columns: usize) -> (Vec<Line<'static>>, String) {
    let detail = &context.model.detail;
    let Some(history) = context.model.selected_history() else {
        return (vec![Line::styled(format!("Reading{}", context.theme.ellipsis), context.theme.dim())], String::new());
    };
    let wanted = detail.filter.to_lowercase();
    let is_wanted = |entry: &&HistoryEntry| {
        let passes =
            wanted.is_empty() || format!("{} {}", entry.kind.label(), entry.text).to_lowercase().contains(&wanted);
        passes && !(detail.shows_changes_only && entry.kind == EntryKind::Poll)
    };
    let shown = history.entries.iter().filter(is_wanted);
    let lines: Vec<_> = shown.map(|entry| line(context, entry, columns)).collect();
    let hidden = history.entries.len() - lines.len();
    let searched = if wanted.is_empty() { String::new() } else { format!("/{}  ", width::cut(&wanted, 12, "..")) };
    let remark = if hidden > 0 { format!("{searched}{hidden} hidden") } else { searched };
    match lines.is_empty() {
        true => (vec![Line::styled("No entries to show.", context.theme.dim())], remark),
        false => (lines, remark),
    }
}

fn line(context: &DrawContext<'_>, entry: &HistoryEntry, columns: usize) -> Line<'static> {
    /// The columns of a time with a date.
    const TIME: usize = 11;
    let kind = format!("  {:<8}", entry.kind.label());
    let time = width::fit(&time(context, entry.at), TIME, "");
    let room = columns.saturating_sub(width::display_width(&time) + width::display_width(&kind));
    let style = match entry.kind {
        EntryKind::Poll | EntryKind::Edit => context.theme.dim(),
        EntryKind::Alert => context.theme.warning(),
        EntryKind::Note => context.theme.info(),
        EntryKind::Change => ratatui::style::Style::new(),
    };
    Line::from(vec![
        Span::styled(time, context.theme.dim()),
        Span::styled(kind, style),
        Span::styled(width::cut(&entry.text, room, context.theme.ellipsis), style),
    ])
}
