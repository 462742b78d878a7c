//! The title of a tab: one style for the saved views and the states of alerts.

use ratatui::{style::Modifier, text::Span};

use crate::tui::theme::Theme;

pub(crate) fn open(theme: &Theme, title: &str) -> Span<'static> {
    let badge = theme.glyphs().choose(format!(" {title} "), format!("[{title}]"));
    Span::styled(badge, theme.accent().add_modifier(Modifier::REVERSED))
}

/// Returns the title of another tab.
pub(crate) fn closed(title: &str) -> Span<'static> {
    Span::raw(format!(" {title} "))
}
