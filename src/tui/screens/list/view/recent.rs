//! The pane of the newest changes: time, transaction, event. The newest is on top.
//!
//! This module must never decide which changes matter: the store's query does.

use ratatui::{
    Frame,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use crate::{
    domain::{
        change::{ChangeKind, RecentChange},
        status::RouterStatus,
        text,
    },
    presentation::{row_text, width},
    tui::{
        command::CommandId,
        draw::{DrawContext, put_block, put_lines},
    },
};

pub(crate) fn draw(context: &DrawContext<'_>, pane: Rect, frame: &mut Frame<'_>) {
    let key = context.key(CommandId::Recent);
    let block = context
        .titled_block(" Just now ")
        .border_style(context.theme.dim())
        .title_bottom(Span::styled(format!(" {key} to choose "), context.theme.dim()));
    let inner = put_block(block, pane, frame);
    let recent = &context.model.overview.recent;
    if recent.is_empty() {
        return frame.render_widget(Line::styled(" No change yet.", context.theme.dim()), inner);
    }
    let lines = recent.iter().take(usize::from(inner.height));
    put_lines(lines.map(|recent| line(context, recent, usize::from(inner.width))), inner, frame);
}

fn line(context: &DrawContext<'_>, recent: &RecentChange, columns: usize) -> Line<'static> {
    let theme = context.theme;
    let time = recent.change.at.with_timezone(&context.model.setting.zone).format("%H:%M:%S");
    let hash = recent.hash.short(theme.ellipsis);
    let mut spans = vec![Span::styled(format!("{time} "), theme.dim()), Span::raw(format!("{hash} "))];
    spans.extend(change_spans(context, &recent.change.kind, recent.change.author.as_deref()));
    let mut room = columns;
    for span in &mut spans {
        span.content = width::cut_at_word(&span.content, room, theme.ellipsis).into();
        room -= width::display_width(&span.content).min(room);
    }
    Line::from(spans)
}

/// Returns the change as text: for a new status its symbol and word, for an alert its rule.
fn change_spans(context: &DrawContext<'_>, kind: &ChangeKind, author: Option<&str>) -> Vec<Span<'static>> {
    let theme = context.theme;
    match kind {
        ChangeKind::StatusChanged { previous, current } => {
            let glyphs = theme.glyphs();
            let status = RouterStatus::from(text::clean(current));
            let before = previous.as_deref().map(|before| RouterStatus::from(text::clean(before)));
            let before = before.map(|before| {
                let cell = row_text::status_cell(Some(&before), glyphs);
                Span::styled(format!("{cell} {} ", glyphs.arrow()), theme.dim())
            });
            let status = Span::styled(row_text::status_cell(Some(&status), glyphs), theme.status(Some(&status)));
            before.into_iter().chain([status]).collect()
        }
        ChangeKind::AlertRaised { rule, severity } => {
            let mark = row_text::mark(Some(*severity));
            vec![Span::styled(format!("{mark} {}", rule.label()), theme.severity(*severity))]
        }
        ChangeKind::AlertCleared { rule, .. } => {
            vec![Span::styled(format!("{} resolved", rule.label()), theme.good())]
        }
        other => vec![Span::styled(text::clean(&other.sentence_by(author)), Style::new())],
    }
}
