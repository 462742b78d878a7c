//! Edits a line by a key or a pasted text.
//!
//! Letters that arrive faster than a person types are a paste, too. No control character may get into the line.

use crossterm::event::{Event, KeyCode, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use crate::domain::text;

/// A key, or a pasted text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Typed<'a> {
    Key(KeyEvent),
    Pasted(&'a str),
}

impl Typed<'_> {
    /// Returns the code of the key; `Null`, which no terminal sends for a key, for a pasted text.
    pub(crate) fn code(self) -> KeyCode {
        match self {
            Self::Key(key) => key.code,
            Self::Pasted(_) => KeyCode::Null,
        }
    }
}

/// Applies a key or a pasted text to the line. Returns whether its text changed.
pub(crate) fn edit(input: &mut Input, typed: Typed<'_>) -> bool {
    match typed {
        Typed::Key(key) => input.handle_event(&Event::Key(key)).is_some_and(|change| change.value),
        Typed::Pasted(text) => {
            insert(input, text);
            true
        }
    }
}

/// Inserts a text at the cursor, as one clean line. The blank that separates it from the text before stays, and a space at
/// its end.
pub(crate) fn insert(input: &mut Input, pasted: &str) {
    let at = input.value().char_indices().nth(input.cursor()).map_or(input.value().len(), |(start, _)| start);
    let (before, after) = input.value().split_at(at);
    let is_apart = pasted.starts_with(char::is_whitespace) && !before.is_empty() && !before.ends_with(' ');
    let clean = text::clean(pasted);
    let end = if pasted.ends_with(' ') && !clean.is_empty() { " " } else { "" };
    let before = format!("{before}{}{clean}{end}", if is_apart { " " } else { "" });
    *input = Input::new(format!("{before}{after}")).with_cursor(before.chars().count());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_inserted_at_the_cursor_with_the_blanks_that_separate_it() {
        for (typed, cursor, pasted, expected, then) in [
            ("", 0, " 0xab\n", "0xab", 4),
            ("asked", 5, " twice", "asked twice", 11),
            ("asked ", 6, " twice ", "asked twice ", 12),
            ("ad", 1, "ske\u{1b}", "asked", 4),
            ("日 x", 2, "é", "日 éx", 3),
            ("x", 1, "\n", "x ", 2),
        ] {
            let mut input = Input::new(typed.to_owned()).with_cursor(cursor);
            insert(&mut input, pasted);
            assert_eq!((input.value(), input.cursor()), (expected, then), "{pasted:?}");
        }
    }
}
