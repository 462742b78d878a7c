//! The parts that every pane draws with: the context, lines of text, the area of the screen.
//!
//! This module must never know what a pane shows.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use ratatui::{
    Frame,
    buffer::Buffer,
    layout::Rect,
    style::{Color, Style},
    text::{Line, Span},
    widgets::{Block, Clear},
};

use super::{command::CommandId, model::Model, theme::Theme};
use crate::{clock::Now, presentation::width};

/// Draws lines below one another, left-aligned and cut at the right end of the pane. Lines aren't wrapped: a
/// `Paragraph` wraps, and costs three times as much.
pub(crate) fn put_lines<'a>(lines: impl IntoIterator<Item = Line<'a>>, pane: Rect, frame: &mut Frame<'_>) {
    let pane = pane.intersection(frame.area());
    for (y, line) in (pane.y..pane.bottom()).zip(lines) {
        let (mut x, end) = (pane.x, pane.right());
        for span in &line {
            let start = x;
            let room = usize::from(end - x);
            x = put_text(frame.buffer_mut(), (x, y), &span.content, room, line.style.patch(span.style));
            // A wide letter that doesn't fit ends the line, even if one column is left.
            if x == end || (x + 1 == end && width::display_width(&span.content) > usize::from(x - start)) {
                break;
            }
        }
    }
}

/// Whether a letter takes one column and never joins its neighbours: ASCII, box lines, block elements, braille, our
/// symbols.
fn is_simple(letter: char) -> bool {
    matches!(letter, ' '..='~' | '\u{2500}'..='\u{259f}' | '\u{2800}'..='\u{28ff}')
        || matches!(letter, '…' | '·' | '→' | '–' | '●' | '○' | '◐' | '◆' | '◇' | '▶' | '▲' | '▼' | '✓' | '✗' | '↩')
}

/// Draws a text in at most `room` columns; returns the column after the text. Most texts consist of letters that take
/// one column each, and aren't measured.
pub(crate) fn put_text(buffer: &mut Buffer, (x, y): (u16, u16), text: &str, room: usize, style: Style) -> u16 {
    if text.is_empty() || room == 0 {
        return x;
    }
    let length = text.chars().count().min(room);
    let begin = buffer.index_of(x, y);
    match buffer.content.get_mut(begin..begin + length).filter(|_| text.chars().all(is_simple)) {
        None => buffer.set_stringn(x, y, text, room, style).0,
        Some(cells) => {
            for (cell, letter) in cells.iter_mut().zip(text.chars()) {
                // Most letters are blanks on cells that are blank already.
                if letter != ' ' || cell.symbol() != " " {
                    cell.set_char(letter);
                }
                cell.set_style(style);
            }
            x + length as u16
        }
    }
}

/// The values that every pane draws with.
pub(crate) struct DrawContext<'a> {
    pub(crate) model: &'a Model,
    pub(crate) theme: &'a Theme,
    pub(crate) now: Now,
}

impl DrawContext<'_> {
    /// Returns the key of a command, as a sentence names the key.
    pub(crate) fn key(&self, id: CommandId) -> String {
        self.model.setting.keys.shown(id)
    }

    /// Returns a moment in the person's time zone: in the format `today` if the moment is today, else in `other`.
    pub(crate) fn local_time(&self, at: DateTime<Utc>, today: &str, other: &str) -> String {
        let [there, here] = [at, self.now.wall].map(|moment| moment.with_timezone(&self.model.setting.zone));
        there.format(if there.date_naive() == here.date_naive() { today } else { other }).to_string()
    }

    /// Returns a frame with a title.
    pub(crate) fn titled_block<'t>(&self, title: impl Into<Cow<'t, str>>) -> Block<'t> {
        Block::bordered().border_set(self.theme.border).title(Span::styled(title, self.theme.label()))
    }

    /// Returns the frame of a pane that is no dialog.
    pub(crate) fn dim_block<'t>(&self, title: impl Into<Cow<'t, str>>) -> Block<'t> {
        self.pane_block(Span::styled(title, self.theme.label()))
    }

    /// Like [`dim_block`](Self::dim_block), with a title in several styles.
    pub(crate) fn pane_block<'t>(&self, title: impl Into<Line<'t>>) -> Block<'t> {
        let block = Block::bordered().border_set(self.theme.border).border_style(self.theme.dim());
        // A title on a dim frame is as bright as other text.
        block.title_style(Style::new().fg(Color::Reset)).title(title)
    }
}

/// Returns the index of the span at a column of a line.
pub(crate) fn span_at(line: &Line<'_>, column: usize) -> Option<usize> {
    let mut end = 0;
    line.spans.iter().position(|span| {
        end += span.width();
        column < end
    })
}

/// Returns which lines of a longer list are shown, for the lower edge of its frame; blank if all are shown.
pub(crate) fn shown_lines(theme: &Theme, first: usize, rows: usize, total: usize) -> Line<'static> {
    let text = match (1..total).contains(&rows) {
        true => format!(" {}-{} of {total} ", first + 1, first + rows),
        false => String::new(),
    };
    Line::styled(text, theme.label()).right_aligned()
}

/// Draws the frame of a dialog over what lies below. Returns the area inside.
pub(crate) fn put_dialog(block: Block<'_>, pane: Rect, frame: &mut Frame<'_>) -> Rect {
    frame.render_widget(Clear, pane);
    put_block(block, pane, frame)
}

/// Whether the panes of the alerts and of the log have frames: in a body of at least 100 columns and 14 rows.
pub(crate) fn has_frames(body: Rect) -> bool {
    const MIN_SIZE: (u16, u16) = (100, 14);
    body.width >= MIN_SIZE.0 && body.height >= MIN_SIZE.1
}

/// Draws a frame. Returns the area inside.
pub(crate) fn put_block(block: Block<'_>, pane: Rect, frame: &mut Frame<'_>) -> Rect {
    let inner = block.inner(pane);
    frame.render_widget(block, pane);
    inner
}

/// Returns the area of the whole screen, by the size in the model.
pub(crate) fn area(model: &Model) -> Rect {
    let (width, height) = model.size;
    Rect::new(0, 0, width, height)
}

/// Returns a label and a text that is wrapped beside the label. Without a label, the text has the label's style.
pub(crate) fn labelled_at(at: usize, label: &str, text: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    let wrapped = width::wrap(text, columns.saturating_sub(at));
    let mut label = format!("{label:<at$}");
    let text_style = if label.trim().is_empty() { style } else { Style::new() };
    let mut lines = Vec::new();
    for line in wrapped {
        lines.push(Line::from(vec![Span::styled(label, style), Span::styled(line, text_style)]));
        label = " ".repeat(at);
    }
    lines
}
