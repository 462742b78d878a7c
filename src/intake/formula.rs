//! Cells that a spreadsheet would take for a formula (`cases.md` 60): how CSV writes them, and reads them back.
//!
//! What was written must be read back as it was, whatever it begins with.

use std::borrow::Cow;

/// What a formula begins with, in spreadsheets of any country (OWASP, CSV Injection).
const BEGINNINGS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Whether the text is a formula, or one with apostrophes before it.
fn acts(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(BEGINNINGS)
}

/// The text as a cell that is text to a spreadsheet too: with an apostrophe before what would act.
pub fn escape(text: &str) -> Cow<'_, str> {
    if acts(text) { format!("'{text}").into() } else { text.into() }
}

/// The text of such a cell: without the apostrophe that [`escape`] put before it.
pub(super) fn unescape(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|text| acts(text)).unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_would_act_is_escaped_and_nothing_else() {
        let table = [
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("'=1", "''=1"),
            ("＝1", "'＝1"),
            ("it's", "it's"),
            ("'quoted'", "'quoted'"),
            ("a=b", "a=b"),
            ("", ""),
        ];
        for (text, cell) in table {
            assert_eq!(escape(text), cell);
        }
        assert_eq!(unescape("'=1"), "=1");
        assert_eq!(unescape("'quoted'"), "'quoted'");
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "['=+@a-]{0,6}") {
            let cell = escape(&text).into_owned();
            prop_assert!(!cell.starts_with(BEGINNINGS));
            prop_assert_eq!(unescape(&cell), text);
        }
    }
}
