//! Colours and symbols by meaning, from the themes in `assets/themes` or a person's own theme.
//!
//! A colour must never be the only carrier of a meaning: every status has a symbol and a word, every severity a mark.

mod color;
mod file;
mod shipped;

use ratatui::{
    style::Style,
    symbols::{bar, border},
};

pub(crate) use self::file::Palette;
pub(crate) use self::{color::ColorDepth, shipped::ShippedTheme};
use crate::{
    domain::{alert::Severity, status::RouterStatus, text, toml_text},
    presentation::glyphs::Glyphs,
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

/// Bars of `#`, with `.` and `:` for a part of a cell.
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

/// Why a theme can't be loaded: the theme or its file, the reason and the way out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ThemeError(String);

impl ThemeError {
    /// Returns the error about the file of a person's own theme that can't be read.
    pub fn unreadable(path: &str, error: &std::io::Error) -> Self {
        Self(format!("can't read the theme {}: {error}", text::clean(path)))
    }
}

/// The display options that hold for every theme: abilities of the terminal, and choices of the person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DisplayOptions {
    /// Whether colours are shown.
    pub color: bool,
    /// The number of colours.
    pub depth: ColorDepth,
    /// Whether only ASCII is drawn.
    pub ascii: bool,
    /// Whether links are clickable in the terminal (OSC 8).
    pub hyperlinks: bool,
}

/// The styles and symbols of the screen.
#[derive(Clone, Debug)]
pub struct Theme {
    name: String,
    palette: Palette,
    display: DisplayOptions,
    /// The mark of cut text.
    pub ellipsis: &'static str,
    /// Lines around panes.
    pub border: border::Set<'static>,
}

macro_rules! styles {
    ($($meaning:ident)*) => {
        /// The styles by their meaning; `Palette` says what each means.
        impl Theme {
            $(#[doc = concat!("Returns the style `", stringify!($meaning), "`.")]
            pub fn $meaning(&self) -> Style { self.palette.$meaning })*
        }
    };
}

styles! { text critical warning info good progress accent tint dim label key selected wrong banner }

impl Theme {
    /// Returns the default theme.
    pub fn new(color: bool, ascii: bool) -> Self {
        Self::shipped(ShippedTheme::Default, DisplayOptions { color, ascii, ..DisplayOptions::default() })
    }

    /// Returns the separator between the parts of a line.
    pub fn separator(&self) -> &'static str {
        self.glyphs().choose(" · ", "  ")
    }

    /// Returns a shipped theme. Without colours it looks like mono, with 16 like default, under its own name.
    pub fn shipped(shipped: ShippedTheme, display: DisplayOptions) -> Self {
        let shown = match (display.color, display.depth, shipped) {
            (false, ..) => ShippedTheme::Mono,
            // The nearest of so few colours would be the same for different meanings.
            (true, ColorDepth::Sixteen, ShippedTheme::Light | ShippedTheme::Dark | ShippedTheme::ColorBlind) => {
                ShippedTheme::Default
            }
            (true, _, shipped) => shipped,
        };
        Self::of(shipped.name(), Palette::shipped(shown, display.depth), display)
    }

    /// Returns a shipped theme by its name.
    ///
    /// # Errors
    /// If no theme has this name.
    pub fn named(name: &str, display: DisplayOptions) -> Result<Self, ThemeError> {
        let Some(shipped) = ShippedTheme::named(name) else {
            let known = ShippedTheme::ALL.map(ShippedTheme::name);
            let hint = toml_text::nearest(name, &known).map(|name| format!(", did you mean `{name}`?"));
            let (name, hint, known) = (text::clean(name), hint.unwrap_or_default(), known.join(", "));
            return Err(ThemeError(format!(
                "unknown theme `{name}`{hint}; choose one of {known}, or give the path of your own theme, such as ./own.toml"
            )));
        };
        Ok(Self::shipped(shipped, display))
    }

    /// Returns a person's own theme, from the text of the file at this path.
    ///
    /// # Errors
    /// If the text is not a theme.
    pub fn custom(path: &str, text: &str, display: DisplayOptions) -> Result<Self, ThemeError> {
        let palette = Palette::read(text, display.depth);
        let palette = palette.map_err(|wrong| ThemeError(format!("{}, {wrong}", text::clean(path))))?;
        let palette = if display.color { palette } else { Palette::shipped(ShippedTheme::Mono, display.depth) };
        Ok(Self::of(path, palette, display))
    }

    fn of(name: &str, palette: Palette, display: DisplayOptions) -> Self {
        let glyphs = if display.ascii { Glyphs::Ascii } else { Glyphs::Unicode };
        let border = glyphs.choose(border::ROUNDED, ASCII_BORDER);
        Self { name: name.to_owned(), palette, display, ellipsis: glyphs.ellipsis(), border }
    }

    /// Returns the name, or the path of a person's own theme.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the display options.
    pub fn display(&self) -> DisplayOptions {
        self.display
    }

    /// Returns the symbols of bars, from an eighth of a cell to a whole cell.
    pub fn bars(&self) -> bar::Set<'static> {
        self.glyphs().choose(bar::NINE_LEVELS, ASCII_BARS)
    }

    /// Returns the symbols.
    pub(crate) fn glyphs(&self) -> Glyphs {
        if self.display.ascii { Glyphs::Ascii } else { Glyphs::Unicode }
    }

    /// Returns the style of a severity.
    pub fn severity(&self, severity: Severity) -> Style {
        match severity {
            Severity::Critical => self.critical(),
            Severity::Warning => self.warning(),
            Severity::Info => self.info(),
        }
    }

    /// Returns the style of a router status.
    pub fn status(&self, status: Option<&RouterStatus>) -> Style {
        match status {
            Some(RouterStatus::Success) => self.good(),
            Some(RouterStatus::PartialSuccess) => self.critical(),
            Some(RouterStatus::NeedsGas | RouterStatus::Unknown(_)) => self.warning(),
            Some(RouterStatus::Refund) => self.info(),
            Some(RouterStatus::Ongoing) => self.progress(),
            Some(RouterStatus::NotFound) => Style::new(),
            None => self.dim(),
        }
    }
}

#[cfg(test)]
mod tests;
