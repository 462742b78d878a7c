//! Colours as a theme file writes them, and their replacements on a terminal with fewer colours.
//!
//! On a terminal with 256 colours, a colour must never become one of the first sixteen: a person can redefine these
//! sixteen.

use std::{ffi::OsString, fmt};

use ratatui::style::Color;
use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};

use crate::domain::{text::clean, toml_text};

/// The names of colours: the terminal's sixteen with their usual red, green and blue, and the terminal's default.
const NAMED: [(&str, Color, Option<[u8; 3]>); 17] = [
    ("black", Color::Black, Some([0, 0, 0])),
    ("red", Color::Red, Some([205, 0, 0])),
    ("green", Color::Green, Some([0, 205, 0])),
    ("yellow", Color::Yellow, Some([205, 205, 0])),
    ("blue", Color::Blue, Some([0, 0, 238])),
    ("magenta", Color::Magenta, Some([205, 0, 205])),
    ("cyan", Color::Cyan, Some([0, 205, 205])),
    ("white", Color::Gray, Some([229, 229, 229])),
    ("bright-black", Color::DarkGray, Some([127, 127, 127])),
    ("bright-red", Color::LightRed, Some([255, 0, 0])),
    ("bright-green", Color::LightGreen, Some([0, 255, 0])),
    ("bright-yellow", Color::LightYellow, Some([255, 255, 0])),
    ("bright-blue", Color::LightBlue, Some([92, 92, 255])),
    ("bright-magenta", Color::LightMagenta, Some([255, 0, 255])),
    ("bright-cyan", Color::LightCyan, Some([0, 255, 255])),
    ("bright-white", Color::White, Some([255, 255, 255])),
    ("default", Color::Reset, None),
];

/// The number of colours that a terminal shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorDepth {
    /// All colours (24 bits).
    #[default]
    True,
    /// 256 colours.
    Indexed,
    /// The terminal's own sixteen.
    Sixteen,
}

impl ColorDepth {
    /// Returns the depth that the variables `COLORTERM` and `TERM` announce.
    pub fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name| variable(name).and_then(|value| value.into_string().ok()).unwrap_or_default();
        let term = text("TERM");
        match text("COLORTERM").as_str() {
            "truecolor" | "24bit" => Self::True,
            _ if term.ends_with("-direct") => Self::True,
            _ if term.contains("256color") => Self::Indexed,
            _ => Self::Sixteen,
        }
    }

    /// Returns the most similar colour at this depth.
    pub(super) fn nearest(self, color: Color) -> Color {
        match (self, color) {
            (Self::Indexed, Color::Rgb(red, green, blue)) => Color::Indexed(index_near([red, green, blue])),
            (Self::Sixteen, Color::Rgb(red, green, blue)) => usual_near([red, green, blue]),
            // An index below 16 is nearest to itself.
            (Self::Sixteen, Color::Indexed(index)) => usual_near(shown(index)),
            _ => color,
        }
    }
}

/// Returns red, green and blue of an index: from 16 on a cube of six steps, then greys.
pub(super) fn shown(index: u8) -> [u8; 3] {
    let step = |level: u8| if level == 0 { 0 } else { 55 + 40 * level };
    match index {
        232.. => [8 + 10 * (index - 232); 3],
        16.. => [(index - 16) / 36, (index - 16) / 6 % 6, (index - 16) % 6].map(step),
        _ => NAMED.get(usize::from(index)).and_then(|(.., usual)| *usual).unwrap_or_default(),
    }
}

fn index_near(color: [u8; 3]) -> u8 {
    (16..=u8::MAX).min_by_key(|index| distance(color, shown(*index))).unwrap_or(u8::MAX)
}

fn usual_near(color: [u8; 3]) -> Color {
    let usual = NAMED.iter().filter_map(|(_, named, usual)| Some((*named, (*usual)?)));
    usual.min_by_key(|(_, usual)| distance(color, *usual)).map_or(Color::Reset, |(named, _)| named)
}

/// Returns how different two colours look: green has the highest weight, blue the lowest.
fn distance(one: [u8; 3], other: [u8; 3]) -> u32 {
    let squares = one.iter().zip(other).zip([2, 4, 1]);
    squares.map(|((one, other), weight)| weight * u32::from(one.abs_diff(other)).pow(2)).sum()
}

/// A colour of a theme file: a name, `#rrggbb`, or an index from 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThemeColor(pub(super) Color);

impl<'de> Deserialize<'de> for ThemeColor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ThemeColorVisitor)
    }
}

struct ThemeColorVisitor;

impl Visitor<'_> for ThemeColorVisitor {
    type Value = ThemeColor;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(r##"a colour: a name such as "red" or "bright-blue", "#rrggbb", or a number from 0 to 255"##)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ThemeColor, E> {
        let of_name = || NAMED.iter().find(|(name, ..)| *name == text).map(|(_, color, _)| *color);
        of_name().or_else(|| hexadecimal(text)).map(ThemeColor).ok_or_else(|| E::custom(unknown(text)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<ThemeColor, E> {
        let index = u8::try_from(number)
            .map_err(|_| E::custom(format!("{number} is not a colour; use a number from 0 to 255")))?;
        Ok(ThemeColor(Color::Indexed(index)))
    }
}

fn hexadecimal(text: &str) -> Option<Color> {
    let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii())?;
    let number = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
    let [_, red, green, blue] = number.to_be_bytes();
    Some(Color::Rgb(red, green, blue))
}

fn unknown(text: &str) -> String {
    let names = NAMED.map(|(name, ..)| name);
    let hint = match toml_text::nearest(text, &names) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("use {}, #rrggbb, or a number from 0 to 255", names.join(", ")),
    };
    format!("`{}` is not a colour; {hint}", clean(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_depth_follows_the_environment() {
        let from_environment = |variables: &[(&str, &str)]| {
            let found = |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| value.into());
            ColorDepth::from_environment(found)
        };
        assert_eq!(from_environment(&[("COLORTERM", "truecolor"), ("TERM", "xterm")]), ColorDepth::True);
        assert_eq!(from_environment(&[("COLORTERM", "24bit")]), ColorDepth::True);
        assert_eq!(from_environment(&[("TERM", "xterm-direct")]), ColorDepth::True);
        assert_eq!(from_environment(&[("COLORTERM", "yes"), ("TERM", "tmux-256color")]), ColorDepth::Indexed);
        assert_eq!(from_environment(&[("TERM", "linux")]), ColorDepth::Sixteen);
        assert_eq!(from_environment(&[]), ColorDepth::Sixteen);
    }

    #[test]
    fn a_terminal_with_fewer_colours_shows_the_nearest() {
        let vermillion = Color::Rgb(0xd5, 0x5e, 0x00);
        assert_eq!(ColorDepth::True.nearest(vermillion), vermillion);
        assert_eq!(ColorDepth::Indexed.nearest(vermillion), Color::Indexed(166));
        assert_eq!(ColorDepth::Indexed.nearest(Color::Rgb(0, 0, 0)), Color::Indexed(16));
        assert_eq!(ColorDepth::Indexed.nearest(Color::Rgb(0x80, 0x80, 0x80)), Color::Indexed(244));
        assert_eq!(ColorDepth::Sixteen.nearest(Color::Rgb(0xf0, 0xe4, 0x42)), Color::LightYellow);
        assert_eq!(ColorDepth::Sixteen.nearest(Color::Indexed(9)), Color::LightRed);
        assert_eq!(ColorDepth::Sixteen.nearest(Color::Indexed(231)), Color::White);
        // A named colour stays as the person defined it.
        for depth in [ColorDepth::True, ColorDepth::Indexed, ColorDepth::Sixteen] {
            assert_eq!(depth.nearest(Color::Red), Color::Red);
        }
    }
}
