//! The sanitiser: all text from outside passes through it on input (`DESIGN.md`, Text from outside is hostile).
//!
//! Its output is safe in a terminal cell, a file or a ticket. It must never fail and never guess.

use std::{fmt, path::Path};

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// The maximum number of characters in a field.
pub const FIELD_LIMIT: usize = 512;
/// The maximum number of combining marks on a character.
const MARK_LIMIT: usize = 4;

/// Returns one line of clean text: no control, format, separator, private-use, unassigned or bidi characters. It has at
/// most four combining marks per character, and at most [`FIELD_LIMIT`] characters. Line ends, tabs and other blanks
/// become one space; blanks at both ends are removed. A text cut at the limit ends with `…`.
pub fn clean(raw: &str) -> String {
    // The fast path for nearly all input; an import of 100,000 rows would spend most of its time below.
    if raw.len() < FIELD_LIMIT && raw.bytes().all(|byte| byte.is_ascii_graphic()) {
        return raw.to_owned();
    }
    let mut kept = String::with_capacity(raw.len().min(FIELD_LIMIT));
    let mut length = 0;
    let mut marks = 0;
    for character in raw.trim().chars() {
        let class = class(character);
        match class {
            CharClass::Drop => continue,
            CharClass::Mark if length == 0 || marks == MARK_LIMIT => continue,
            CharClass::Blank if kept.ends_with(' ') || kept.is_empty() => continue,
            CharClass::Mark | CharClass::Blank | CharClass::Keep => {}
        }
        marks = if class == CharClass::Mark { marks + 1 } else { 0 };
        if length == FIELD_LIMIT - 1 {
            kept.push('…');
            break;
        }
        kept.push(if class == CharClass::Blank { ' ' } else { character });
        length += 1;
    }
    kept.truncate(kept.trim_end().len());
    kept
}

/// Returns a path as clean text for the screen ([`clean`]).
pub(crate) fn clean_path(path: &Path) -> String {
    clean(&path.display().to_string())
}

/// Whether [`clean`] would leave nothing of `raw`. Stops at the first visible character.
pub(crate) fn is_blank(raw: &str) -> bool {
    raw.chars().all(|character| class(character) != CharClass::Keep)
}

/// Whether [`clean`] removes a character without a replacement.
pub(crate) fn is_dropped(character: char) -> bool {
    class(character) == CharClass::Drop
}

/// Whether [`clean`] cuts `raw` at [`FIELD_LIMIT`].
pub(crate) fn is_cut(raw: &str) -> bool {
    if raw.len() < FIELD_LIMIT {
        return false;
    }
    let kept = clean(raw);
    kept != raw && kept.ends_with('…') && kept.chars().count() == FIELD_LIMIT
}

/// Returns the warning about a text that [`clean`] cuts.
pub(crate) fn cut_warning() -> String {
    format!("only the first {} characters are kept", FIELD_LIMIT - 1)
}

/// Like [`clean`], but `None` if nothing is left.
pub(crate) fn clean_or_none(raw: &str) -> Option<String> {
    Some(clean(raw)).filter(|text| !text.is_empty())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Keep,
    Blank,
    Mark,
    Drop,
}

fn class(character: char) -> CharClass {
    use GeneralCategory as Category;
    if character.is_ascii_graphic() {
        return CharClass::Keep;
    }
    match character {
        '\t' | '\n' | '\r' | ' ' => return CharClass::Blank,
        // The lookup below gives the same result more slowly, and a mebibyte of control characters may come.
        control if control.is_ascii() => return CharClass::Drop,
        // Letters by category, but invisible on screen.
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' => return CharClass::Drop,
        _ => {}
    }
    match character.general_category() {
        Category::SpaceSeparator | Category::LineSeparator | Category::ParagraphSeparator => CharClass::Blank,
        Category::NonspacingMark | Category::SpacingMark | Category::EnclosingMark => CharClass::Mark,
        Category::Control | Category::Format | Category::PrivateUse | Category::Surrogate | Category::Unassigned => {
            CharClass::Drop
        }
        _ => CharClass::Keep,
    }
}

/// Returns a number with its noun: `1 alert`, `2 alerts`. The plural ends in `s`.
pub(crate) fn counted<N: fmt::Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    format!("{count} {noun}{}", if count == N::from(1) { "" } else { "s" })
}

/// Returns bytes as lowercase hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escape_sequences_lose_their_control_characters() {
        assert_eq!(clean("\u{1b}]52;c;aGk=\u{7}ok"), "]52;c;aGk=ok");
        assert_eq!(clean("a\u{9b}31mb"), "a31mb");
    }

    #[test]
    fn bidi_zero_width_and_private_use_characters_are_removed() {
        assert_eq!(clean("pay\u{202e}lap\u{200b}\u{2066}\u{e000}x"), "paylapx");
    }

    #[test]
    fn blanks_become_one_space() {
        assert_eq!(clean("  two\r\n\twords\u{2028}here\u{a0}"), "two words here");
    }

    #[test]
    fn a_character_keeps_at_most_four_marks() {
        let zalgo = format!("z{}a", "\u{301}".repeat(40));
        assert_eq!(clean(&zalgo), format!("z{}a", "\u{301}".repeat(4)));
    }

    #[test]
    fn long_text_is_cut_and_ends_with_an_ellipsis() {
        let cut = clean(&"x".repeat(1_000_000));
        assert_eq!(cut.chars().count(), FIELD_LIMIT);
        assert!(cut.ends_with('…'));
        assert_eq!(clean(&"x".repeat(FIELD_LIMIT - 1)), "x".repeat(FIELD_LIMIT - 1));
    }

    proptest! {
        #[test]
        fn clean_text_is_bounded_inert_and_stable(raw in any::<String>()) {
            let once = clean(&raw);
            prop_assert!(once.chars().count() <= FIELD_LIMIT);
            prop_assert!(once.chars().all(|character| !character.is_control()));
            prop_assert_eq!(clean(&once), once.clone());
            prop_assert_eq!(is_blank(&raw), once.is_empty());
        }
    }
}
