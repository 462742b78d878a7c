//! The title of a tab: one style for the saved views and the states of alerts.

use ratatui::{style::Modifier, text::Span};

use crate::tui::theme::Theme;

/// Returns the title of a tab.
pub(crate) fn title(theme: &Theme, title: &str, is_open: bool) -> Span<'static> {
    if !is_open {
        return Span::raw(format!(" {title} "));
    }
    let badge = theme.glyphs().choose(format!(" {title} "), format!("[{title}]"));
    Span::styled(badge, theme.accent().add_modifier(Modifier::REVERSED))
}
