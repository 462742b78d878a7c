//! The history, as observed by hoptop, the newest entry first.

use ratatui::{
    style::Style,
    text::{Line, Span},
};

use super::{lines, steps};
use crate::{
    domain::{route, transaction::Transaction},
    presentation::{row_text, width},
    tui::{
        draw::DrawContext,
        screens::detail::history::{EntryKind, EntrySubject, HistoryEntry},
    },
};

/// Returns the lines that pass the filter, and a remark on the number of hidden lines.
pub(crate) fn lines(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> (Vec<Line<'static>>, String) {
    let detail = &context.model.detail;
    let Some(history) = context.model.selected_history() else {
        return (vec![lines::reading(context)], String::new());
    };
    let wanted = detail.filter.to_lowercase();
    let is_wanted = |(entry, text): &(&HistoryEntry, String)| {
        let passes = wanted.is_empty() || format!("{} {text}", entry.kind.label()).to_lowercase().contains(&wanted);
        passes && !(detail.shows_changes_only && entry.kind == EntryKind::Poll)
    };
    let shown = history.entries.iter().map(|entry| (entry, text(context, tx, entry))).filter(is_wanted);
    let lines: Vec<_> = shown.map(|(entry, text)| line(context, entry, &text, columns)).collect();
    let hidden = history.entries.len() - lines.len();
    let searched = if wanted.is_empty() { String::new() } else { format!("/{}  ", width::cut(&wanted, 12, "..")) };
    let remark = if hidden > 0 { format!("{searched}{hidden} hidden") } else { searched };
    match lines.is_empty() {
        true => (vec![Line::styled("No entries to show.", context.theme.dim())], remark),
        false => (lines, remark),
    }
}

fn line(context: &DrawContext<'_>, entry: &HistoryEntry, text: &str, columns: usize) -> Line<'static> {
    /// The columns of a time with a date.
    const TIME: usize = 11;
    let kind = format!("  {:<8}", entry.kind.label());
    let time = width::fit(&lines::time(context, entry.at), TIME, "");
    let room = columns.saturating_sub(width::display_width(&time) + width::display_width(&kind));
    let style = match (entry.subject, entry.kind) {
        (EntrySubject::Raised(severity), _) => context.theme.severity(severity),
        (EntrySubject::Cleared, _) => context.theme.good(),
        (_, EntryKind::Poll | EntryKind::Edit) => context.theme.dim(),
        (_, EntryKind::Note) => context.theme.info(),
        (_, EntryKind::Alert | EntryKind::Change) => Style::new(),
    };
    Line::from(vec![
        Span::styled(time, context.theme.dim()),
        Span::styled(kind, style),
        Span::styled(width::cut(text, room, context.theme.ellipsis), style),
    ])
}

/// Returns the text of an entry. The last change of a step says what the step became: `step 3 changed: ongoing on
/// Base`.
fn text(context: &DrawContext<'_>, tx: &Transaction, entry: &HistoryEntry) -> String {
    match entry.subject {
        EntrySubject::Status => entry.text.replace(" > ", &format!(" {} ", context.theme.glyphs().arrow())),
        EntrySubject::Step(index) => {
            let step = steps::of(tx).get(index);
            let step = step.and_then(|step| Some((step.status.as_deref()?, step.chain_id.as_ref())));
            let Some((status, chain)) = step else { return entry.text.clone() };
            let on_chain = chain.map_or_else(String::new, |id| format!(" on {}", route::name_of(tx, id)));
            format!("{}: {}{on_chain}", entry.text, row_text::in_words(status))
        }
        EntrySubject::Text | EntrySubject::Raised(_) | EntrySubject::Cleared => entry.text.clone(),
    }
}
