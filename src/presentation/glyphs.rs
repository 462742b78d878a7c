//! The symbols of the screen: Unicode by default, ASCII where the terminal or the locale lacks these symbols.
//!
//! Chooses symbols by meaning; each takes one column. This module must never choose colours.

use std::ffi::OsString;

use crate::domain::status::RouterStatus;

/// A set of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glyphs {
    /// Geometric shapes, box lines and block elements.
    Unicode,
    /// ASCII only.
    Ascii,
}

impl Glyphs {
    /// Returns the symbols that the variables `LC_ALL`, `LC_CTYPE`, `LANG` and `TERM` allow. A locale that isn't set
    /// allows Unicode. In Chinese, Japanese and Korean locales terminals may draw these symbols two columns wide.
    pub(crate) fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name| variable(name).and_then(|value| value.into_string().ok()).filter(|text| !text.is_empty());
        let is_wide = |locale: &str| ["zh", "ja", "ko"].iter().any(|language| locale.starts_with(language));
        let is_unicode = |locale: &str| {
            let locale = locale.to_ascii_lowercase();
            (locale.contains("utf-8") || locale.contains("utf8")) && !is_wide(&locale)
        };
        let has_symbols = !matches!(text("TERM").as_deref(), Some("linux" | "dumb" | "vt100" | "vt220"));
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(text);
        if has_symbols && locale.is_none_or(|locale| is_unicode(&locale)) { Self::Unicode } else { Self::Ascii }
    }

    /// Returns the symbol for Unicode or for ASCII.
    pub(crate) fn choose<T>(self, unicode: T, ascii: T) -> T {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }

    /// Returns the mark of cut text.
    pub(crate) fn ellipsis(self) -> &'static str {
        self.choose("…", "..")
    }

    /// Returns the arrow from the source chain to the destination chain.
    pub(crate) fn arrow(self) -> &'static str {
        self.choose("→", ">")
    }

    /// Returns the end of a bar that goes on beyond its scale.
    pub(crate) fn beyond(self) -> &'static str {
        self.choose("▶", ">")
    }

    /// Returns the symbol of a router status. Symbols differ in shape, not only in colour.
    pub(crate) fn status(self, status: Option<&RouterStatus>) -> &'static str {
        let (unicode, ascii) = match status {
            None => ("○", "."),
            Some(RouterStatus::Ongoing) => ("●", "~"),
            Some(RouterStatus::Success) => ("✓", "+"),
            Some(RouterStatus::NotFound) => ("?", "?"),
            Some(RouterStatus::NeedsGas) => ("◆", "G"),
            Some(RouterStatus::PartialSuccess) => ("◐", "%"),
            Some(RouterStatus::Refund) => ("↩", "<"),
            Some(RouterStatus::Unknown(_)) => ("▲", "#"),
        };
        self.choose(unicode, ascii)
    }

    /// Returns the symbol of a transaction whose polling a person stopped.
    pub(crate) fn untracked(self) -> &'static str {
        self.choose("◇", "-")
    }

    /// Returns the symbol of a transaction whose parameters the service rejected.
    pub(crate) fn rejected(self) -> &'static str {
        self.choose("✗", "X")
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn ascii_replaces_symbols_where_locale_or_terminal_lacks_them() {
        let from_environment = |variables: &[(&str, &str)]| {
            Glyphs::from_environment(|name| {
                variables.iter().find(|(own, _)| *own == name).map(|(_, value)| value.into())
            })
        };
        for unicode in [
            &[][..],
            &[("LANG", "en_US.UTF-8")],
            &[("LANG", "C.utf8"), ("TERM", "xterm-256color")],
            &[("LC_ALL", ""), ("LANG", "de_DE.UTF-8")],
            &[("LC_ALL", "C.UTF-8"), ("LANG", "ja_JP.UTF-8")],
        ] {
            assert_eq!(from_environment(unicode), Glyphs::Unicode, "{unicode:?}");
        }
        for ascii in [
            &[("LANG", "C")][..],
            &[("LANG", "en_US.ISO-8859-1")],
            &[("LC_ALL", "POSIX"), ("LANG", "en_US.UTF-8")],
            &[("LANG", "ja_JP.UTF-8")],
            &[("LC_CTYPE", "zh_CN.UTF-8")],
            &[("LANG", "en_US.UTF-8"), ("TERM", "linux")],
        ] {
            assert_eq!(from_environment(ascii), Glyphs::Ascii, "{ascii:?}");
        }
    }

    #[test]
    fn each_status_has_a_shape_of_its_own_in_one_column() {
        let unknown = RouterStatus::from("settling".to_owned());
        let statuses: Vec<_> = RouterStatus::DOCUMENTED.iter().chain([&unknown]).map(Some).chain([None]).collect();
        for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
            let mut symbols: Vec<_> = statuses.iter().map(|status| glyphs.status(*status)).collect();
            symbols.extend([glyphs.rejected(), glyphs.untracked()]);
            assert!(symbols.iter().all(|symbol| symbol.width() == 1), "{symbols:?}");
            symbols.sort_unstable();
            symbols.dedup();
            assert_eq!(symbols.len(), statuses.len() + 2, "{symbols:?}");
        }
    }
}
