//! A body as lines that fold: its values in its own order and letters, with what changed since another body.
//!
//! It is made once and read by the line, so that a body of a mebibyte costs a screen no more than a small one. The text that
//! it holds is as it came; what comes out for a screen is clean.

mod marks;
mod scan;

use std::ops::Range;

use serde::de::IgnoredAny;

pub use self::scan::Path;
use self::{
    marks::Marked,
    scan::{Entry, Token},
};
use super::text;

/// Lines of a text that isn't JSON are broken after so many bytes.
const LINE: usize = 1_000;
/// So many bytes of a value that isn't there any more are kept.
const REMOVED: usize = 4_096;
/// The sanitiser takes so many characters at a time.
const PIECE: usize = 256;

/// What became of a line since the body before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    #[default]
    Same,
    /// It wasn't there.
    Added,
    /// It had another value.
    Changed,
    /// It was there, and isn't any more.
    Removed,
}

impl Mark {
    /// As it is shown.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Same => " ",
            Self::Added => "+",
            Self::Changed => "~",
            Self::Removed => "-",
        }
    }
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value, or a line of a text that isn't JSON.
    Value,
    /// An array or object begins.
    Open {
        /// How many entries it has.
        entries: usize,
        /// The line of its end.
        end: usize,
        /// Whether anything in it changed.
        changed: bool,
    },
    /// It ends.
    Close,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub kind: Kind,
    /// How deep it stands.
    pub depth: usize,
    /// The line of what it stands in.
    pub parent: Option<usize>,
    /// By this it is found again in a later body.
    pub path: Path,
    /// What became of it.
    pub mark: Mark,
    range: Range<usize>,
    /// Where its value begins, behind the key.
    value: usize,
    /// The value that it had before.
    was: Range<usize>,
}

/// A body, line by line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonTree {
    text: String,
    lines: Vec<Line>,
    changes: usize,
    is_json: bool,
}

impl JsonTree {
    /// Of a body, compared with the one before if there was one and both are JSON.
    pub fn new(body: &str, before: Option<&str>) -> Self {
        if !is_json(body) {
            let lines = (0..).zip(plain_lines(body)).map(|(path, range)| plain(path, range)).collect();
            return Self { text: body.to_owned(), lines, changes: 0, is_json: false };
        }
        let before = before.filter(|before| is_json(before));
        let (text, entries) = marks::compare(body, before);
        let lines = link(entries);
        Self { text, changes: count_changes(&lines), lines, is_json: true }
    }

    /// Whether it is JSON.
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// All lines, folded or not.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// How many lines are marked, those of whole arrays and objects as one.
    pub fn changes(&self) -> usize {
        self.changes
    }

    /// A line's text as it came, with its key.
    pub fn raw(&self, line: &Line) -> &str {
        self.text.get(line.range.clone()).unwrap_or_default()
    }

    /// The beginning of a line's text, clean; at most so many bytes of it are looked at.
    pub fn excerpt(&self, line: &Line, bytes: usize) -> String {
        let key = self.text.get(line.range.start..line.value).unwrap_or_default();
        let value = self.text.get(line.value..line.range.end).unwrap_or_default();
        let (key, value) = (excerpt(key, bytes), excerpt(value, bytes));
        if key.is_empty() { value } else { format!("{key} {value}") }
    }

    /// The same of the value that it had before, if it had another.
    pub fn excerpt_before(&self, line: &Line, bytes: usize) -> Option<String> {
        let was = self.text.get(line.was.clone()).filter(|was| !was.is_empty())?;
        Some(excerpt(was, bytes))
    }

    /// A line's value, clean, to be put elsewhere: without its key, a text without its quotes, all of an array or object.
    pub fn value(&self, line: &Line, bytes: usize) -> String {
        let end = match line.kind {
            Kind::Open { end, .. } => self.lines.get(end).map(|end| end.range.end),
            Kind::Value | Kind::Close => None,
        };
        let value = self.text.get(line.value..end.unwrap_or(line.range.end)).unwrap_or_default();
        let unquoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        excerpt(unquoted.unwrap_or(value), bytes)
    }

    /// The lines with this in their text, small letters or capitals.
    pub fn matches(&self, wanted: &str) -> Vec<usize> {
        if wanted.is_empty() {
            return Vec::new();
        }
        let (lower, wanted) = (self.text.to_ascii_lowercase(), wanted.to_ascii_lowercase());
        let holds = |line: &Line| {
            line.kind != Kind::Close && lower.get(line.range.clone()).is_some_and(|text| text.contains(&wanted))
        };
        self.lines.iter().enumerate().filter(|(_, line)| holds(line)).map(|(index, _)| index).collect()
    }
}

fn excerpt(raw: &str, bytes: usize) -> String {
    let mut rest = raw.get(..raw.floor_char_boundary(bytes)).unwrap_or_default();
    let mut shown = String::new();
    while !rest.is_empty() {
        let end = rest.char_indices().nth(PIECE).map_or(rest.len(), |(end, _)| end);
        let (piece, more) = rest.split_at(end);
        // The sanitiser takes the blanks at either end, which here may stand between two words.
        let gap = piece.starts_with(char::is_whitespace) && !shown.is_empty() && !shown.ends_with(' ');
        shown.extend(gap.then_some(' '));
        shown.push_str(&text::clean(piece));
        shown.extend((piece.ends_with(char::is_whitespace) && !more.is_empty()).then_some(' '));
        rest = more;
    }
    shown
}

/// Whether a text is one JSON value, however deep.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// A line of a text that isn't JSON.
fn plain(path: Path, range: Range<usize>) -> Line {
    let (kind, value) = (Kind::Value, range.start);
    Line { kind, depth: 0, parent: None, path, mark: Mark::Same, range, value, was: 0..0 }
}

fn plain_lines(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        while start < end {
            let cut = text.floor_char_boundary(start + LINE).min(end);
            ranges.push(start..cut);
            start = cut;
        }
    }
    ranges
}

/// Entries with what each of them stands in.
fn link(entries: Vec<Marked>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::with_capacity(entries.len());
    let mut open: Vec<usize> = Vec::new();
    for (index, Marked { entry, mark, was }) in entries.into_iter().enumerate() {
        if entry.token == Token::Close {
            let begin = open.pop().and_then(|begin| lines.get_mut(begin));
            if let Some(Kind::Open { end, .. }) = begin.map(|line| &mut line.kind) {
                *end = index;
            }
        }
        let kind = match entry.token {
            Token::Value => Kind::Value,
            Token::Open => Kind::Open { entries: 0, end: index, changed: false },
            Token::Close => Kind::Close,
        };
        let parent = open.last().copied();
        let counts = entry.token != Token::Close && mark != Mark::Removed;
        if let Some(Kind::Open { entries, .. }) =
            parent.and_then(|parent| lines.get_mut(parent)).map(|line| &mut line.kind)
        {
            *entries += usize::from(counts);
        }
        if entry.token == Token::Open {
            open.push(index);
        }
        let Entry { depth, path, range, value, .. } = entry;
        lines.push(Line { kind, depth, parent, path, mark, range, value, was });
    }
    spread_changes(&mut lines);
    lines
}

/// Says of each array and object whether anything in it changed. From the end, where what stands deeper comes first.
fn spread_changes(lines: &mut [Line]) {
    for index in (0..lines.len()).rev() {
        let Some(line) = lines.get(index) else { continue };
        let is_news = line.mark != Mark::Same || matches!(line.kind, Kind::Open { changed: true, .. });
        let parent = line.parent.filter(|_| is_news);
        if let Some(Kind::Open { changed, .. }) =
            parent.and_then(|parent| lines.get_mut(parent)).map(|line| &mut line.kind)
        {
            *changed = true;
        }
    }
}

fn count_changes(lines: &[Line]) -> usize {
    let inside = |line: &Line| {
        let parent = line.parent.and_then(|parent| lines.get(parent));
        parent.is_some_and(|parent| parent.mark == line.mark)
    };
    lines.iter().filter(|line| line.mark != Mark::Same && line.kind != Kind::Close && !inside(line)).count()
}

#[cfg(test)]
mod tests;
