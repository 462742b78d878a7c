//! Text that fits: cut, padded, wrapped by the columns that it takes on a screen, not by its characters.
//!
//! It expects clean text, and must never return more columns than were asked for.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that a text takes.
pub fn of(text: &str) -> usize {
    text.width()
}

/// Exactly so many columns: cut with `ellipsis`, or padded.
pub fn fit(text: &str, columns: usize, ellipsis: &str) -> String {
    let mut fitted = cut(text, columns, ellipsis);
    fitted.extend(std::iter::repeat_n(' ', columns.saturating_sub(of(&fitted))));
    fitted
}

/// At most so many columns: cut at the end with `ellipsis`.
pub fn cut(text: &str, columns: usize, ellipsis: &str) -> String {
    if of(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(of(ellipsis));
    let mut kept = prefix(text, room).to_owned();
    if columns >= of(ellipsis) {
        kept.push_str(ellipsis);
    }
    kept
}

/// At most so many columns: cut in the middle, since a hash is known by both ends.
pub fn cut_middle(text: &str, columns: usize, ellipsis: &str) -> String {
    if of(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(of(ellipsis));
    let head = prefix(text, room.div_ceil(2));
    let tail: Vec<char> = text.chars().rev().take(room / 2).collect();
    let cut: String = head.chars().chain(ellipsis.chars()).chain(tail.into_iter().rev()).collect();
    prefix(&cut, columns).to_owned()
}

fn prefix(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, letter)| {
        taken += letter.width().unwrap_or(0);
        taken > columns
    });
    text.get(..end.map_or(text.len(), |(end, _)| end)).unwrap_or_default()
}

/// Lines of at most so many columns, broken between words; a word that is longer than a line is broken inside.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let needed = of(&line) + usize::from(!line.is_empty()) + of(word);
        if !line.is_empty() && needed > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        let mut rest = word;
        while of(rest) > columns {
            let head = prefix(rest, columns);
            // A letter wider than the line goes alone rather than never.
            let end = if head.is_empty() { rest.chars().next().map_or(0, char::len_utf8) } else { head.len() };
            lines.push(rest.get(..end).unwrap_or_default().to_owned());
            rest = rest.get(end..).unwrap_or_default();
        }
        line.push_str(rest);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_cut_and_padded_by_columns() {
        assert_eq!(fit("ab", 4, "…"), "ab  ");
        assert_eq!(fit("abcdef", 4, "…"), "abc…");
        assert_eq!(fit("日本語", 4, "…"), "日… ");
        assert_eq!(cut_middle("0x9f3c41aabbe21b", 9, "…"), "0x9f…e21b");
        assert_eq!(cut("abc", 0, "…"), "");
    }

    #[test]
    fn text_is_wrapped_between_words_and_inside_long_ones() {
        assert_eq!(wrap("two words here", 9), ["two words", "here"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3), [""]);
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_asked_and_wrapping_loses_nothing(text in "[ a-z日é]{0,60}", columns in 2_usize..20) {
            prop_assert_eq!(of(&fit(&text, columns, "…")), columns);
            prop_assert!(of(&cut_middle(&text, columns, "…")) <= columns);
            let lines = wrap(&text, columns);
            prop_assert!(lines.iter().all(|line| of(line) <= columns));
            let letters = |text: &str| text.chars().filter(|letter| *letter != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
