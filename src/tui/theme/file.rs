//! Theme files: a table for each meaning, and a base theme. Shipped themes and a person's own are read alike.
//!
//! Errors name the line, before the screen opens. The reader must never guess.

use std::sync::OnceLock;

use ratatui::style::{Modifier, Style};
use serde::Deserialize;

use super::{
    color::{ColorDepth, ThemeColor},
    shipped::ShippedTheme,
};
use crate::domain::{
    text::clean,
    toml_text::{self, TomlError},
};

/// The appearance of one meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Appearance {
    fg: Option<ThemeColor>,
    bg: Option<ThemeColor>,
    bold: bool,
    dim: bool,
    underlined: bool,
    reversed: bool,
}

impl Appearance {
    fn style(self, depth: ColorDepth) -> Style {
        let attributes = [
            (self.bold, Modifier::BOLD),
            (self.dim, Modifier::DIM),
            (self.underlined, Modifier::UNDERLINED),
            (self.reversed, Modifier::REVERSED),
        ];
        let wanted = attributes.into_iter().filter(|(wanted, _)| *wanted).map(|(_, attribute)| attribute);
        Style {
            fg: self.fg.map(|ThemeColor(color)| depth.nearest(color)),
            bg: self.bg.map(|ThemeColor(color)| depth.nearest(color)),
            add_modifier: wanted.collect(),
            ..Style::default()
        }
    }
}

macro_rules! meanings {
    ($($(#[$doc:meta])* $meaning:ident)*) => {
        /// A theme file.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct ThemeFile {
            base: Option<BaseTheme>,
            $($meaning: Option<Appearance>,)*
        }

        /// The style of each meaning.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub(crate) struct Palette {
            $($(#[$doc])* pub $meaning: Style,)*
        }

        impl Palette {
            /// Returns the styles of the file; a meaning that the file leaves out keeps its style.
            fn with(self, file: &ThemeFile, depth: ColorDepth) -> Self {
                Self { $($meaning: file.$meaning.map_or(self.$meaning, |own| own.style(depth)),)* }
            }

            /// Returns every meaning's name and style.
            #[cfg(test)]
            pub(super) fn all(&self) -> Vec<(&'static str, Style)> {
                vec![$((stringify!($meaning), self.$meaning),)*]
            }
        }

        #[cfg(test)]
        fn left_out(file: &ThemeFile) -> Vec<&'static str> {
            [$((stringify!($meaning), file.$meaning.is_none()),)*].into_iter().filter(|(_, is_left_out)| *is_left_out)
                .map(|(name, _)| name).collect()
        }
    };
}

meanings! {
    /// The style of text without another meaning, with the screen's background.
    text
    /// The style of critical severity: act now.
    critical
    /// The style of warning severity: a person should look.
    warning
    /// The style of info severity: for information.
    info
    /// The style of success.
    good
    /// The style of a transfer in progress that is as fast as most.
    progress
    /// The style of titles of panes, of the open tab and of the open view.
    accent
    /// The background of a row that needs a person at once; no style where the terminal has no fitting colour.
    tint
    /// The style of less important text.
    dim
    /// The style of labels and titles.
    label
    /// The style of keys.
    key
    /// The style of the selected row, visible without colours too.
    selected
    /// The style of invalid input.
    wrong
    /// The style of a banner across the screen.
    banner
}

/// The shipped theme that a person's own theme extends.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct BaseTheme(ShippedTheme);

impl TryFrom<String> for BaseTheme {
    type Error = String;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let known = || ShippedTheme::ALL.map(ShippedTheme::name).join(", ");
        let found = ShippedTheme::named(&name).map(Self);
        found.ok_or_else(|| format!("unknown base theme `{}`; choose one of {}", clean(&name), known()))
    }
}

/// The files of the shipped themes, each parsed at its first use: the layout of each screen is measured with a theme.
static SHIPPED_FILES: [OnceLock<Option<ThemeFile>>; ShippedTheme::ALL.len()] =
    [const { OnceLock::new() }; ShippedTheme::ALL.len()];

impl Palette {
    /// Returns a shipped theme's styles.
    pub(super) fn shipped(shipped: ShippedTheme, depth: ColorDepth) -> Self {
        let file = SHIPPED_FILES.get(shipped as usize);
        // A test checks that each can be read.
        let file = file.and_then(|file| file.get_or_init(|| toml_text::parse(shipped.text()).ok()).as_ref());
        file.map_or_else(Self::default, |file| Self::default().with(file, depth).with_visible_selection())
    }

    /// Reverses the selected row where the terminal's few colours give it the background of all other rows.
    fn with_visible_selection(mut self) -> Self {
        if self.selected.bg.is_none() || self.selected.bg == self.text.bg {
            self.selected = Style { bg: None, ..self.selected.add_modifier(Modifier::BOLD | Modifier::REVERSED) };
        }
        if self.tint.bg == self.text.bg {
            self.tint = Style::default();
        }
        self
    }

    /// Returns the styles of a person's own theme.
    ///
    /// # Errors
    /// If the text is not a theme.
    pub(super) fn read(text: &str, depth: ColorDepth) -> Result<Self, TomlError> {
        let file: ThemeFile = toml_text::parse(text)?;
        let BaseTheme(base) = file.base.unwrap_or(BaseTheme(ShippedTheme::Default));
        Ok(Self::shipped(base, depth).with(&file, depth).with_visible_selection())
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Color;

    use super::*;

    #[test]
    fn shipped_themes_define_every_meaning() {
        for shipped in ShippedTheme::ALL {
            let file: ThemeFile = toml_text::parse(shipped.text()).unwrap();
            assert!(file.base.is_none() && left_out(&file).is_empty(), "{}", shipped.name());
        }
    }

    #[test]
    fn an_own_theme_changes_parts_of_its_base() {
        let own = "base = 'dark'\n[critical]\nfg = 201\nunderlined = true\n[text]\nfg = '#010203'\nbg = 'default'";
        let own = Palette::read(own, ColorDepth::True).unwrap();
        let dark = Palette::shipped(ShippedTheme::Dark, ColorDepth::True);
        assert_eq!(own.critical, Style::new().fg(Color::Indexed(201)).add_modifier(Modifier::UNDERLINED));
        assert_eq!(own.text, Style::new().fg(Color::Rgb(1, 2, 3)).bg(Color::Reset));
        assert_eq!((own.warning, own.banner), (dark.warning, dark.banner));
        let default = Palette::shipped(ShippedTheme::Default, ColorDepth::True);
        assert_eq!(Palette::read("", ColorDepth::True).unwrap(), default);
    }

    #[test]
    fn errors_name_the_line_and_the_nearest_name() {
        let table = [
            ("\n[criticl]", 2, "unknown key `criticl`; did you mean `critical`? known keys: base, text, critical"),
            ("[text]\nfgg = 'red'", 2, "unknown key `fgg`; did you mean `fg`? known keys: fg, bg, bold"),
            ("[text]\nfg = 'rde'", 2, "fg: `rde` is not a colour; did you mean `red`?"),
            ("[text]\nfg = 'bright_blue'", 2, "fg: `bright_blue` is not a colour; did you mean `bright-blue`?"),
            ("[text]\nfg = '#12345g'", 2, "fg: `#12345g` is not a colour; use black, red, green"),
            ("[text]\nfg = '#+12345'", 2, "is not a colour"),
            ("[text]\nfg = 256", 2, "fg: 256 is not a colour; use a number from 0 to 255"),
            ("[text]\nfg = true", 2, "fg: found true or false, expected a colour: a name"),
            ("[text]\nbold = 'yes'", 2, "bold: found text, expected true or false"),
            ("text = 'red'", 1, "text: found text, expected"),
            ("\nbase = 'drak'", 2, "base: unknown base theme `drak`; choose one of default, light, dark"),
            ("[text", 1, ""),
        ];
        for (text, line, part) in table {
            let wrong = Palette::read(text, ColorDepth::True).unwrap_err();
            assert!(wrong.line == line && wrong.reason.contains(part), "{text}\n{wrong}");
        }
    }
}
