//! Escapes CSV cells that a spreadsheet would run as a formula (`cases.md` 60), and removes the escape again.
//!
//! `unescape` must restore every text that `escape` was given.

use std::borrow::Cow;

/// The first characters of a formula, in spreadsheets of any country (OWASP, CSV Injection).
const FORMULA_STARTS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Whether the text is a formula, possibly after apostrophes.
fn is_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(FORMULA_STARTS)
}

/// Returns the text as a cell that spreadsheets show as text: a formula gets an apostrophe in front.
pub(crate) fn escape_formula(text: &str) -> Cow<'_, str> {
    if is_formula(text) { format!("'{text}").into() } else { text.into() }
}

/// Returns the text of a cell, without the apostrophe that [`escape_formula`] added.
pub(super) fn unescape(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|text| is_formula(text)).unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_formulas_are_escaped() {
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
            assert_eq!(escape_formula(text), cell);
        }
        assert_eq!(unescape("'=1"), "=1");
        assert_eq!(unescape("'quoted'"), "'quoted'");
    }

    proptest! {
        #[test]
        fn escaped_text_is_restored(text in "['=+@a-]{0,6}") {
            let cell = escape_formula(&text).into_owned();
            prop_assert!(!cell.starts_with(FORMULA_STARTS));
            prop_assert_eq!(unescape(&cell), text);
        }
    }
}
