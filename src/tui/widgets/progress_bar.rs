//! A bar from a start to an end in eighths of a cell, with marks at positions in between.
//!
//! A position is a part of the bar, from 0 to 1. This module must never know what a bar measures.

use ratatui::{
    style::{Modifier, Style},
    text::Span,
};

use crate::tui::theme::Theme;

/// A bar to draw.
pub(crate) struct ProgressBar<'a> {
    /// The filled part; more than 1 is drawn as an arrow at the end.
    pub(crate) filled: f64,
    /// Symbols at positions; a mark outside the bar isn't drawn.
    pub(crate) marks: &'a [(f64, &'static str)],
    /// The style of the filled part.
    pub(crate) fill_style: Style,
    /// The position up to which cells that aren't filled have a dot; the cells after it are blank.
    pub(crate) scale_end: f64,
}

impl ProgressBar<'_> {
    /// Returns the bar in so many columns.
    pub(crate) fn spans(&self, columns: usize, theme: &Theme) -> Vec<Span<'static>> {
        let glyphs = theme.glyphs();
        let bars = glyphs.choose(["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"], ["", "", "", "#", "#", "#", "#", "#"]);
        let eighths = (self.filled.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize;
        let mark_at = |column: usize| {
            let is_here = |(position, _): &&(f64, &str)| (position * columns as f64).floor() == column as f64;
            self.marks.iter().find(is_here).map(|(_, symbol)| *symbol)
        };
        // A mark inside the filled part is cut out of it.
        let cut_out = self.fill_style.add_modifier(Modifier::REVERSED);
        let mut spans: Vec<Span<'static>> = Vec::new();
        for column in 0..columns {
            let part = eighths.saturating_sub(column * 8).min(8);
            let is_on_scale = (column as f64) < self.scale_end * columns as f64;
            let rest = if is_on_scale { glyphs.choose("·", ".") } else { " " };
            let (symbol, style) = match (mark_at(column), part) {
                _ if column + 1 == columns && self.filled > 1.0 => (glyphs.beyond(), self.fill_style),
                (Some(mark), 8) => (mark, cut_out),
                (Some(mark), _) => (mark, theme.dim()),
                (None, 0) => (rest, theme.dim()),
                (None, part) => match bars.get(part - 1).copied().unwrap_or_default() {
                    "" => (rest, theme.dim()),
                    bar => (bar, self.fill_style),
                },
            };
            match spans.last_mut().filter(|span| span.style == style) {
                Some(span) => span.content.to_mut().push_str(symbol),
                None => spans.push(Span::styled(symbol, style)),
            }
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_filled_in_eighths_with_its_marks_at_any_width() {
        let drawn = |filled, ascii, columns| {
            let bar =
                ProgressBar { filled, marks: &[(0.5, "|"), (0.8, ":")], fill_style: Style::new(), scale_end: 1.0 };
            let spans = bar.spans(columns, &Theme::new(true, ascii));
            spans.iter().map(|span| span.content.as_ref()).collect::<String>()
        };
        assert_eq!(drawn(0.0, false, 10), "·····|··:·");
        assert_eq!(drawn(0.25, false, 10), "██▌··|··:·");
        assert_eq!(drawn(1.0, false, 10), "█████|██:█");
        assert_eq!(drawn(7.0, false, 10), "█████|██:▶");
        assert_eq!(drawn(0.25, true, 10), "###..|..:.");
        assert_eq!((drawn(0.5, false, 0), drawn(0.5, false, 1)), (String::new(), "|".to_owned()));
    }

    #[test]
    fn a_mark_is_drawn_inside_the_filled_part_and_nothing_after_the_scale() {
        let fill_style = Style::new().red();
        let bar = |filled| ProgressBar { filled, marks: &[(0.25, "|")], fill_style, scale_end: 0.75 };
        let theme = Theme::new(true, false);
        assert_eq!(bar(0.25).spans(8, &theme).iter().map(|span| span.content.as_ref()).collect::<String>(), "██|···  ");
        let spans = bar(2.0).spans(8, &theme);
        let drawn: Vec<_> = spans.iter().map(|span| (span.content.as_ref(), span.style)).collect();
        let mark = fill_style.add_modifier(Modifier::REVERSED);
        assert_eq!(drawn, [("██", fill_style), ("|", mark), ("████▶", fill_style)]);
    }
}
