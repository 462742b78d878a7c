//! The ground of the screen: where nothing else was said, the theme's own letters and background.
//!
//! It comes last, since whatever is cleared or drawn before would take it away again.

use ratatui::{buffer::Buffer, style::Color};

use crate::tui::theme::Theme;

pub(super) fn lay(theme: &Theme, buffer: &mut Buffer) {
    let ground = theme.text();
    let (letters, background) = (ground.fg.unwrap_or_default(), ground.bg.unwrap_or_default());
    if (letters, background) == (Color::Reset, Color::Reset) {
        return;
    }
    for cell in &mut buffer.content {
        if cell.fg == Color::Reset {
            cell.fg = letters;
        }
        if cell.bg == Color::Reset {
            cell.bg = background;
        }
    }
}
