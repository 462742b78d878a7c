//! What happened, as this program saw it, the newest first.

use ratatui::text::{Line, Span};

use super::{Look, time};
use crate::{
    domain::width,
    tui::model::history::{EntryKind, HistoryEntry},
};

/// The lines, and what is left out of them.
pub(super) fn lines(look: &Look<'_>, columns: usize) -> (Vec<Line<'static>>, String) {
    let detail = &look.model.detail;
    let Some(history) = look.model.selected_history() else {
        return (vec![Line::styled(format!("Reading{}", look.theme.ellipsis), look.theme.dim())], String::new());
    };
    let wanted = detail.filter.to_lowercase();
    let is_wanted = |entry: &&HistoryEntry| {
        let passes =
            wanted.is_empty() || format!("{} {}", entry.kind.word(), entry.text).to_lowercase().contains(&wanted);
        passes && !(detail.changes_only && entry.kind == EntryKind::Poll)
    };
    let shown = history.entries.iter().filter(is_wanted);
    let lines: Vec<_> = shown.map(|entry| line(look, entry, columns)).collect();
    let hidden = history.entries.len() - lines.len();
    let searched = if wanted.is_empty() { String::new() } else { format!("/{}  ", width::cut(&wanted, 12, "..")) };
    let remark = if hidden > 0 { format!("{searched}{hidden} hidden") } else { searched };
    match lines.is_empty() {
        true => (vec![Line::styled("Nothing to show.", look.theme.dim())], remark),
        false => (lines, remark),
    }
}

fn line(look: &Look<'_>, entry: &HistoryEntry, columns: usize) -> Line<'static> {
    /// A time with a date is the widest.
    const TIME: usize = 11;
    let kind = format!("  {:<8}", entry.kind.word());
    let time = width::fit(&time(look, entry.at), TIME, "");
    let room = columns.saturating_sub(width::of(&time) + width::of(&kind));
    let style = match entry.kind {
        EntryKind::Poll | EntryKind::Edit => look.theme.dim(),
        EntryKind::Alert => look.theme.warning(),
        EntryKind::Note => look.theme.info(),
        EntryKind::Change => ratatui::style::Style::new(),
    };
    Line::from(vec![
        Span::styled(time, look.theme.dim()),
        Span::styled(kind, style),
        Span::styled(width::cut(&entry.text, room, look.theme.ellipsis), style),
    ])
}
