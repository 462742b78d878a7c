//! Rows of columns, and the style of the selected row.
//!
//! This module must never know what a column holds.

use ratatui::{
    style::{Modifier, Style, Stylize},
    text::{Line, Span},
};

use crate::{
    domain::alert::Severity,
    presentation::{glyphs::Glyphs, width},
    tui::draw::DrawContext,
};

/// Returns a row of a pane of this width; the selected row has one style.
pub(crate) fn row(context: &DrawContext<'_>, spans: Vec<Span<'static>>, is_selected: bool, pane: u16) -> Line<'static> {
    if !is_selected {
        return Line::from(spans);
    }
    let selected = context.theme.selected();
    if selected.bg.is_some() {
        return filled(spans, selected, pane);
    }
    // With each cell's colours reversed, the selection is hard to see. Only coloured symbols and bars keep their colours.
    let dim = context.theme.dim().fg;
    let is_coloured = |style: Style| style.fg.is_some() && style.fg != dim;
    let in_row = |span: Span<'static>| match is_coloured(span.style) && is_symbol(&span.content) {
        true => span.remove_modifier(Modifier::REVERSED),
        false => Span::raw(span.content),
    };
    filled(spans.into_iter().map(in_row).collect(), selected, pane)
}

/// Whether a text has no letter or digit, and isn't blank.
fn is_symbol(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(char::is_alphanumeric)
}

/// Returns the first column of a row: a mark, or a coloured edge where an alert fires.
pub(crate) fn edge(context: &DrawContext<'_>, mark: &'static str, severity: Option<Severity>) -> Span<'static> {
    match (mark, severity, context.theme.glyphs()) {
        (" " | ">", Some(severity), Glyphs::Unicode) => Span::styled("▌", context.theme.severity(severity)),
        (">", None, Glyphs::Unicode) => Span::styled("▌", context.theme.accent()),
        _ => Span::styled(mark, context.theme.label()),
    }
}

/// Returns a row in the style of its firing alert's severity: critical rows are tinted, the selected row has one style.
pub(crate) fn severity_row(
    context: &DrawContext<'_>,
    spans: Vec<Span<'static>>,
    severity: Option<Severity>,
    is_selected: bool,
    pane: u16,
) -> Line<'static> {
    let is_tinted = !is_selected && severity == Some(Severity::Critical) && context.theme.tint().bg.is_some();
    if is_tinted { filled(spans, context.theme.tint(), pane) } else { row(context, spans, is_selected, pane) }
}

/// Returns a row that fills its pane with this background.
fn filled(mut spans: Vec<Span<'static>>, style: Style, pane: u16) -> Line<'static> {
    let used: usize = spans.iter().map(|span| width::display_width(&span.content)).sum();
    spans.push(Span::raw(" ".repeat(usize::from(pane).saturating_sub(used))));
    Line::from(spans).style(style)
}
