//! A text field of a fixed width: `[typed text   ]`. The cursor is always visible.
//!
//! Control characters and other unsafe characters are never drawn. Widths are those of the letters on the screen.

use ratatui::{
    Frame,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};
use tui_input::Input;

use crate::{domain::text, presentation::width};

/// Returns the field's text in brackets, and the cursor's column in this text.
pub(crate) fn text(input: &Input, columns: usize) -> (String, usize) {
    let room = columns.saturating_sub(2);
    let (inside, cursor) = window(input, room);
    (format!("[{}]", width::fit(&inside, room, "")), cursor + 1)
}

/// Returns the part of the typed text that fits, and the cursor's column in this part.
pub(crate) fn window(input: &Input, columns: usize) -> (String, usize) {
    let shown = |letters: &mut dyn Iterator<Item = char>| {
        letters.filter(|letter| !letter.is_control() && !text::is_dropped(*letter)).collect::<String>()
    };
    // No more letters are measured than can fit: a pasted text may be long.
    let most = columns.saturating_mul(4);
    let mut letters = input.value().chars();
    let before = shown(&mut letters.by_ref().take(input.cursor()));
    let behind = shown(&mut letters.take(most));
    // If the text before the cursor is too long, its start is cut.
    let suffixes = before.char_indices().rev().take(most).map(|(at, _)| before.split_at(at).1);
    let fitting = suffixes.take_while(|suffix| width::display_width(suffix) < columns);
    let start = fitting.last().unwrap_or_default();
    (width::cut(&format!("{start}{behind}"), columns, ""), width::display_width(start))
}

/// Draws the field at the left of a line; puts the cursor into the field if the field has the focus.
pub(crate) fn draw(input: &Input, is_focused: bool, style: Style, line: Rect, frame: &mut Frame<'_>) {
    let (shown, cursor) = text(input, usize::from(line.width));
    frame.render_widget(Span::styled(shown, style), line);
    if is_focused {
        place_cursor(cursor, line, frame);
    }
}

/// Draws a label and the typed text after the label, with the cursor.
pub(crate) fn draw_after(
    label: impl Into<Line<'static>>,
    input: &Input,
    style: Style,
    row: Rect,
    frame: &mut Frame<'_>,
) {
    let label = label.into();
    let used = u16::try_from(label.width()).unwrap_or(u16::MAX).min(row.width);
    let rest = Rect { x: row.x + used, width: row.width - used, ..row };
    let (shown, cursor) = window(input, usize::from(rest.width));
    frame.render_widget(label, row);
    frame.render_widget(Span::styled(shown, style), rest);
    place_cursor(cursor, rest, frame);
}

/// Puts the cursor into a column of a line, at most into the last one.
pub(crate) fn place_cursor(column: usize, line: Rect, frame: &mut Frame<'_>) {
    let column = u16::try_from(column).unwrap_or(u16::MAX).min(line.width.saturating_sub(1));
    if line.area() > 0 {
        frame.set_cursor_position((line.x + column, line.y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_stays_visible_and_unsafe_characters_are_dropped() {
        let input = |text: &str| Input::new(text.to_owned());
        let long = window(&input(&"é".repeat(100_000)), 78);
        assert_eq!((long.0.chars().count(), long.1), (77, 77));
        assert_eq!(text(&input("abc"), 8), ("[abc   ]".into(), 4));
        assert_eq!(text(&input("0123456789"), 8), ("[56789 ]".into(), 6));
        assert_eq!(text(&input("票票票票"), 8), ("[票票  ]".into(), 5));
        assert_eq!(text(&input("a\u{1b}\u{202e}b"), 6), ("[ab  ]".into(), 3));
        assert_eq!(text(&input("abc").with_cursor(0), 4), ("[ab]".into(), 1));
        for columns in 0..3 {
            assert!(text(&input("票b"), columns).1 <= 1);
        }
    }
}
