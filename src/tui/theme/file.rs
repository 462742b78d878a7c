//! A theme as a file: a table for each meaning, and what it builds on. The shipped ones are read here like a person's own.
//!
//! What is wrong is named with its line, before the screen opens. It must never guess.

use ratatui::style::{Modifier, Style};
use serde::Deserialize;

use super::{
    Shipped,
    color::{Depth, Written},
};
use crate::domain::{
    text::clean,
    toml_text::{self, Wrong},
};

/// How one meaning looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Appearance {
    fg: Option<Written>,
    bg: Option<Written>,
    bold: bool,
    dim: bool,
    underlined: bool,
    reversed: bool,
}

impl Appearance {
    fn style(self, depth: Depth) -> Style {
        let attributes = [
            (self.bold, Modifier::BOLD),
            (self.dim, Modifier::DIM),
            (self.underlined, Modifier::UNDERLINED),
            (self.reversed, Modifier::REVERSED),
        ];
        let wanted = attributes.into_iter().filter(|(wanted, _)| *wanted).map(|(_, attribute)| attribute);
        Style {
            fg: self.fg.map(|Written(color)| depth.nearest(color)),
            bg: self.bg.map(|Written(color)| depth.nearest(color)),
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
        struct File {
            base: Option<Base>,
            $($meaning: Option<Appearance>,)*
        }

        /// How each meaning looks.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Palette {
            $($(#[$doc])* pub $meaning: Style,)*
        }

        impl Palette {
            /// What the file says; of the meanings that it leaves out, what stands here.
            fn with(self, file: &File, depth: Depth) -> Self {
                Self { $($meaning: file.$meaning.map_or(self.$meaning, |own| own.style(depth)),)* }
            }

            /// Every meaning with its name.
            #[cfg(test)]
            pub(super) fn all(&self) -> Vec<(&'static str, Style)> {
                vec![$((stringify!($meaning), self.$meaning),)*]
            }
        }

        #[cfg(test)]
        fn left_out(file: &File) -> Vec<&'static str> {
            [$((stringify!($meaning), file.$meaning.is_none()),)*].into_iter().filter(|(_, is_left_out)| *is_left_out)
                .map(|(name, _)| name).collect()
        }
    };
}

meanings! {
    /// What has no other meaning, and the ground of the screen.
    text
    /// Act now.
    critical
    /// Look.
    warning
    /// For information.
    info
    /// All is well.
    good
    /// Less important.
    dim
    /// Labels and titles.
    label
    /// Keys.
    key
    /// The selected row.
    selected
    /// What is wrong with what was typed.
    wrong
    /// A banner across the screen.
    banner
}

/// The shipped theme that a person's own builds on.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct Base(Shipped);

impl TryFrom<String> for Base {
    type Error = String;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let known = || Shipped::ALL.map(Shipped::name).join(", ");
        let found = Shipped::named(&name).map(Self);
        found.ok_or_else(|| format!("there is no theme `{}` to build on; there are {}", clean(&name), known()))
    }
}

impl Palette {
    /// A shipped one.
    pub(super) fn shipped(shipped: Shipped, depth: Depth) -> Self {
        // A test reads each of them.
        toml_text::parse(shipped.text()).map_or_else(|_| Self::default(), |file| Self::default().with(&file, depth))
    }

    /// A person's own.
    ///
    /// # Errors
    /// If the text is no theme.
    pub(super) fn read(text: &str, depth: Depth) -> Result<Self, Wrong> {
        let file: File = toml_text::parse(text)?;
        let Base(base) = file.base.unwrap_or(Base(Shipped::Default));
        Ok(Self::shipped(base, depth).with(&file, depth))
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Color;

    use super::*;

    #[test]
    fn shipped_themes_are_whole() {
        for shipped in Shipped::ALL {
            let file: File = toml_text::parse(shipped.text()).unwrap();
            assert!(file.base.is_none() && left_out(&file).is_empty(), "{}", shipped.name());
        }
    }

    #[test]
    fn an_own_theme_says_what_differs_from_its_base() {
        let own = "base = 'dark'\n[critical]\nfg = 201\nunderlined = true\n[text]\nfg = '#010203'\nbg = 'default'";
        let own = Palette::read(own, Depth::True).unwrap();
        let dark = Palette::shipped(Shipped::Dark, Depth::True);
        assert_eq!(own.critical, Style::new().fg(Color::Indexed(201)).add_modifier(Modifier::UNDERLINED));
        assert_eq!(own.text, Style::new().fg(Color::Rgb(1, 2, 3)).bg(Color::Reset));
        assert_eq!((own.warning, own.banner), (dark.warning, dark.banner));
        let default = Palette::shipped(Shipped::Default, Depth::True);
        assert_eq!(Palette::read("", Depth::True).unwrap(), default);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_the_right_name() {
        let table = [
            ("\n[criticl]", 2, "unknown key `criticl`; did you mean `critical`? known here: base, text, critical"),
            ("[text]\nfgg = 'red'", 2, "unknown key `fgg`; did you mean `fg`? known here: fg, bg, bold"),
            ("[text]\nfg = 'rde'", 2, "fg: `rde` is no colour; did you mean `red`?"),
            ("[text]\nfg = 'bright_blue'", 2, "fg: `bright_blue` is no colour; did you mean `bright-blue`?"),
            ("[text]\nfg = '#12345g'", 2, "fg: `#12345g` is no colour; write black, red, green"),
            ("[text]\nfg = '#+12345'", 2, "is no colour"),
            ("[text]\nfg = 256", 2, "fg: 256 is no colour; they end at 255"),
            ("[text]\nfg = true", 2, "fg: true or false came, expected a colour: a name"),
            ("[text]\nbold = 'yes'", 2, "bold: text came, expected a boolean"),
            ("text = 'red'", 1, "text: text came, expected"),
            ("\nbase = 'drak'", 2, "base: there is no theme `drak` to build on; there are default, light, dark"),
            ("[text", 1, ""),
        ];
        for (text, line, part) in table {
            let wrong = Palette::read(text, Depth::True).unwrap_err();
            assert!(wrong.line == line && wrong.reason.contains(part), "{text}\n{wrong}");
        }
    }
}
