//! Colours and symbols by meaning. ANSI-16 on the terminal's own background; mono with bold and reverse only.
//!
//! It must never be the only carrier of a meaning: every status is a symbol and a word, every severity a mark.

use ratatui::{
    style::{Color, Modifier, Style},
    symbols::{bar, border},
};

use crate::domain::{alert::Severity, status::RouterStatus};

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

/// How things look.
#[derive(Clone, Debug)]
pub struct Theme {
    color: bool,
    /// What stands for left-out text.
    pub ellipsis: &'static str,
    /// Lines around panes.
    pub border: border::Set<'static>,
}

impl Theme {
    /// With colours or without, with ASCII only or not.
    pub fn new(color: bool, ascii: bool) -> Self {
        let (ellipsis, border) = if ascii { ("..", ASCII_BORDER) } else { ("…", border::PLAIN) };
        Self { color, ellipsis, border }
    }

    /// What bars are made of, from an eighth of a cell to a whole one.
    pub fn bars(&self) -> bar::Set<'static> {
        // Without anything but ASCII, text is left out by ASCII too.
        if self.ellipsis.is_ascii() { ASCII_BARS } else { bar::NINE_LEVELS }
    }

    fn paint(&self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    /// Act now.
    pub fn critical(&self) -> Style {
        self.paint(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Look.
    pub fn warning(&self) -> Style {
        self.paint(Color::Yellow)
    }

    /// For information.
    pub fn info(&self) -> Style {
        self.paint(Color::Cyan)
    }

    /// All is well.
    pub fn good(&self) -> Style {
        self.paint(Color::Green)
    }

    /// Less important.
    pub fn dim(&self) -> Style {
        if self.color { Style::new().fg(Color::DarkGray) } else { Style::new() }
    }

    /// Labels and titles.
    pub fn label(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Keys.
    pub fn key(&self) -> Style {
        self.paint(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// The selected row: seen without colours too.
    pub fn selected(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// What is wrong with what was typed.
    pub fn wrong(&self) -> Style {
        self.paint(Color::Red).add_modifier(Modifier::UNDERLINED)
    }

    /// A banner across the screen.
    pub fn banner(&self) -> Style {
        self.critical().add_modifier(Modifier::REVERSED)
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
