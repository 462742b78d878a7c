//! Cuts, pads and wraps text by the columns that it takes on a screen, not by its characters.
//!
//! This module expects clean text, and must never return more columns than were asked for.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the number of columns that a text takes.
pub(crate) fn display_width(text: &str) -> usize {
    // Clean text has no control characters. Most text is ASCII, and all text on the screen is measured in each frame.
    if text.is_ascii() { text.len() } else { text.width() }
}

/// Returns exactly `columns` columns: the text cut with `ellipsis`, or padded with blanks at its end.
pub(crate) fn fit(text: &str, columns: usize, ellipsis: &str) -> String {
    let (kept, blanks) = cut_and_blanks(text, columns, ellipsis);
    let mut fitted = String::with_capacity(kept.len() + blanks);
    fitted.push_str(&kept);
    fitted.extend(std::iter::repeat_n(' ', blanks));
    fitted
}

/// Like [`fit`], padded with blanks at its beginning.
pub(crate) fn fit_right(text: &str, columns: usize, ellipsis: &str) -> String {
    let (kept, blanks) = cut_and_blanks(text, columns, ellipsis);
    let mut fitted = String::with_capacity(kept.len() + blanks);
    fitted.extend(std::iter::repeat_n(' ', blanks));
    fitted.push_str(&kept);
    fitted
}

/// Returns the text cut to `columns`, and the number of blanks that it lacks.
fn cut_and_blanks<'a>(text: &'a str, columns: usize, ellipsis: &str) -> (Cow<'a, str>, usize) {
    let width = display_width(text);
    if width <= columns {
        return (Cow::Borrowed(text), columns - width);
    }
    let kept = cut(text, columns, ellipsis);
    let blanks = columns.saturating_sub(display_width(&kept));
    (Cow::Owned(kept), blanks)
}

/// Returns at most `columns` columns: a longer text is cut at the end, with `ellipsis`.
pub(crate) fn cut(text: &str, columns: usize, ellipsis: &str) -> String {
    if display_width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(display_width(ellipsis));
    let mut kept = prefix(text, room).to_owned();
    if columns >= display_width(ellipsis) {
        kept.push_str(ellipsis);
    }
    kept
}

/// Like [`cut`], but a longer text is cut between two words, unless its first word is too long.
pub(crate) fn cut_at_word(text: &str, columns: usize, ellipsis: &str) -> String {
    let short = cut(text, columns, ellipsis);
    if short == text {
        return short;
    }
    let room = columns.saturating_sub(display_width(ellipsis) + 1);
    match prefix(text, room + 1).rsplit_once(' ') {
        Some((whole, _)) if !whole.trim().is_empty() => format!("{} {ellipsis}", whole.trim_end()),
        _ => short,
    }
}

/// Returns at most `columns` columns: a longer text is cut in the middle, since people know a hash by both ends.
pub(crate) fn cut_middle(text: &str, columns: usize, ellipsis: &str) -> String {
    if display_width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(display_width(ellipsis));
    let head = prefix(text, room.div_ceil(2));
    if room > 0 && text.is_ascii() {
        let tail = text.get(text.len() - room / 2..).unwrap_or_default();
        return [head, ellipsis, tail].concat();
    }
    let tail: Vec<char> = text.chars().rev().take(room / 2).collect();
    let cut: String = head.chars().chain(ellipsis.chars()).chain(tail.into_iter().rev()).collect();
    prefix(&cut, columns).to_owned()
}

fn prefix(text: &str, columns: usize) -> &str {
    if text.is_ascii() {
        return text.get(..columns).unwrap_or(text);
    }
    let mut taken = 0;
    let end = text.char_indices().find(|(_, letter)| {
        taken += letter.width().unwrap_or(0);
        taken > columns
    });
    let mut kept = text.get(..end.map_or(text.len(), |(end, _)| end)).unwrap_or_default();
    // The width of a text may be more than the widths of its characters: U+FE0F makes some symbols wider.
    while display_width(kept) > columns {
        let mut letters = kept.chars();
        letters.next_back();
        kept = letters.as_str();
    }
    kept
}

/// Returns lines of at most `columns` columns, broken between words. A word longer than a line is broken inside.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let needed = display_width(&line) + usize::from(!line.is_empty()) + display_width(word);
        if !line.is_empty() && needed > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        let mut rest = word;
        while display_width(rest) > columns {
            let head = prefix(rest, columns);
            // A character wider than the line gets its own line; otherwise the loop would not end.
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
    fn text_is_cut_between_words_if_that_is_possible() {
        let cut = |columns| cut_at_word("contact the support", columns, "…");
        assert_eq!(cut(19), "contact the support");
        assert_eq!([cut(18), cut(13), cut(12), cut(9)], ["contact the …", "contact the …", "contact …", "contact …"]);
        assert_eq!([cut(8), cut(3), cut(0)], ["contact…", "co…", ""]);
        for columns in 0..20 {
            assert!(display_width(&cut(columns)) <= columns);
        }
    }

    #[test]
    fn text_is_cut_and_padded_by_columns() {
        assert_eq!(fit("ab", 4, "…"), "ab  ");
        assert_eq!(fit("abcdef", 4, "…"), "abc…");
        assert_eq!(fit("日本語", 4, "…"), "日… ");
        assert_eq!([fit_right("ab", 4, "…"), fit_right("abcdef", 4, "")], ["  ab", "abcd"]);
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
        fn nothing_is_wider_than_asked_and_wrapping_loses_nothing(text in "[ a-z日é⚠\u{fe0f}]{0,60}", columns in 2_usize..20) {
            prop_assert_eq!(display_width(&fit(&text, columns, "…")), columns);
            prop_assert_eq!(display_width(&fit_right(&text, columns, "…")), columns);
            prop_assert!(display_width(&cut_middle(&text, columns, "…")) <= columns);
            let lines = wrap(&text, columns);
            prop_assert!(lines.iter().all(|line| display_width(line) <= columns));
            let letters = |text: &str| text.chars().filter(|letter| *letter != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
