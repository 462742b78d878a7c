//! Colours and symbols by meaning: those of the themes in `assets/themes`, or of a person's own.
//!
//! It must never be the only carrier of a meaning: every status is a symbol and a word, every severity a mark.

mod color;
mod file;

pub use self::{color::Depth, file::Palette};

use ratatui::{
    style::Style,
    symbols::{bar, border},
};

use crate::domain::{
    alert::Severity,
    status::RouterStatus,
    text,
    toml_text::{self, Wrong},
};

/// Borders of `+`, `-` and `|`.
const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

/// Bars of `#`, with `.` and `:` for less than a whole cell.
const ASCII_BARS: bar::Set<'static> = bar::Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "#",
    five_eighths: "#",
    half: ":",
    three_eighths: ":",
    one_quarter: ".",
    one_eighth: ".",
    empty: " ",
};

/// A theme that hoptop has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shipped {
    /// The terminal's own sixteen colours on its own background.
    Default,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
    /// Told apart with any kind of colour vision (Okabe and Ito).
    ColourBlind,
    /// Without colours.
    Mono,
}

impl Shipped {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Default, Self::Light, Self::Dark, Self::ColourBlind, Self::Mono];

    /// Its name, as in a config file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Light => "light",
            Self::Dark => "dark",
            Self::ColourBlind => "colour-blind",
            Self::Mono => "mono",
        }
    }

    /// What it is for, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Default => "the terminal's own colours and background",
            Self::Light => "dark on light",
            Self::Dark => "light on dark",
            Self::ColourBlind => "told apart with any kind of colour vision",
            Self::Mono => "without colours",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|shipped| shipped.name() == name)
    }

    /// The file that it is.
    fn text(self) -> &'static str {
        match self {
            Self::Default => include_str!("../../assets/themes/default.toml"),
            Self::Light => include_str!("../../assets/themes/light.toml"),
            Self::Dark => include_str!("../../assets/themes/dark.toml"),
            Self::ColourBlind => include_str!("../../assets/themes/colour-blind.toml"),
            Self::Mono => include_str!("../../assets/themes/mono.toml"),
        }
    }
}

/// Why there is no such theme.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// No theme has this name.
    #[error("there is no theme `{name}`{hint}; there are {known}, or give the path of your own, as ./own.toml")]
    NoTheme {
        /// The name.
        name: String,
        /// The most similar one.
        hint: String,
        /// Those that there are.
        known: String,
    },
    /// The file can't be read.
    #[error("the theme {path} can't be read: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why not.
        error: std::io::Error,
    },
    /// The file says something that it can't say.
    #[error("{path}, {wrong}")]
    Wrong {
        /// The file.
        path: String,
        /// What is wrong, and where.
        wrong: Wrong,
    },
}

/// What a terminal shows, or a person wants of it, whatever the theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Whether there are colours.
    pub color: bool,
    /// How many.
    pub depth: Depth,
    /// Whether only ASCII is drawn.
    pub ascii: bool,
    /// Whether links are links to the terminal too (OSC 8).
    pub hyperlinks: bool,
}

/// How things look.
#[derive(Clone, Debug)]
pub struct Theme {
    name: String,
    palette: Palette,
    abilities: Abilities,
    /// What stands for left-out text.
    pub ellipsis: &'static str,
    /// Lines around panes.
    pub border: border::Set<'static>,
}

impl Theme {
    /// The default one, with colours or without, with ASCII only or not.
    pub fn new(color: bool, ascii: bool) -> Self {
        Self::shipped(Shipped::Default, Abilities { color, ascii, ..Abilities::default() })
    }

    /// One that hoptop has. Where there are no colours it is mono whatever it is called.
    pub fn shipped(shipped: Shipped, abilities: Abilities) -> Self {
        let shown = if abilities.color { shipped } else { Shipped::Mono };
        Self::of(shipped.name(), Palette::shipped(shown, abilities.depth), abilities)
    }

    /// One that hoptop has, by its name.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn named(name: &str, abilities: Abilities) -> Result<Self, ThemeError> {
        let Some(shipped) = Shipped::named(name) else {
            let known = Shipped::ALL.map(Shipped::name);
            let hint = toml_text::nearest(name, &known).map(|name| format!(", did you mean `{name}`?"));
            let (hint, known) = (hint.unwrap_or_default(), known.join(", "));
            return Err(ThemeError::NoTheme { name: text::clean(name), hint, known });
        };
        Ok(Self::shipped(shipped, abilities))
    }

    /// A person's own, from the text of the file at this path.
    ///
    /// # Errors
    /// If the text is no theme.
    pub fn own(path: &str, text: &str, abilities: Abilities) -> Result<Self, ThemeError> {
        let palette = Palette::read(text, abilities.depth);
        let palette = palette.map_err(|wrong| ThemeError::Wrong { path: text::clean(path), wrong })?;
        let palette = if abilities.color { palette } else { Palette::shipped(Shipped::Mono, abilities.depth) };
        Ok(Self::of(path, palette, abilities))
    }

    fn of(name: &str, palette: Palette, abilities: Abilities) -> Self {
        let (ellipsis, border) = if abilities.ascii { ("..", ASCII_BORDER) } else { ("…", border::PLAIN) };
        Self { name: name.to_owned(), palette, abilities, ellipsis, border }
    }

    /// Its name, or its path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the terminal shows, whatever the theme.
    pub fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// What bars are made of, from an eighth of a cell to a whole one.
    pub fn bars(&self) -> bar::Set<'static> {
        // Without anything but ASCII, text is left out by ASCII too.
        if self.ellipsis.is_ascii() { ASCII_BARS } else { bar::NINE_LEVELS }
    }

    /// What has no other meaning, and the ground of the screen.
    pub fn text(&self) -> Style {
        self.palette.text
    }

    /// Act now.
    pub fn critical(&self) -> Style {
        self.palette.critical
    }

    /// Look.
    pub fn warning(&self) -> Style {
        self.palette.warning
    }

    /// For information.
    pub fn info(&self) -> Style {
        self.palette.info
    }

    /// All is well.
    pub fn good(&self) -> Style {
        self.palette.good
    }

    /// Less important.
    pub fn dim(&self) -> Style {
        self.palette.dim
    }

    /// Labels and titles.
    pub fn label(&self) -> Style {
        self.palette.label
    }

    /// Keys.
    pub fn key(&self) -> Style {
        self.palette.key
    }

    /// The selected row: seen without colours too.
    pub fn selected(&self) -> Style {
        self.palette.selected
    }

    /// What is wrong with what was typed.
    pub fn wrong(&self) -> Style {
        self.palette.wrong
    }

    /// A banner across the screen.
    pub fn banner(&self) -> Style {
        self.palette.banner
    }

    /// By how soon a person should look.
    pub fn severity(&self, severity: Severity) -> Style {
        match severity {
            Severity::Critical => self.critical(),
            Severity::Warning => self.warning(),
            Severity::Info => self.info(),
        }
    }

    /// By router status.
    pub fn status(&self, status: Option<&RouterStatus>) -> Style {
        match status {
            Some(RouterStatus::Success) => self.good(),
            Some(RouterStatus::PartialSuccess) => self.critical(),
            Some(RouterStatus::NeedsGas | RouterStatus::Unknown(_)) => self.warning(),
            Some(RouterStatus::Refund) => self.info(),
            Some(RouterStatus::Ongoing | RouterStatus::NotFound) => Style::new(),
            None => self.dim(),
        }
    }
}

#[cfg(test)]
mod tests;
