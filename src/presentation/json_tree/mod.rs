//! A body as a tree of lines that can be folded: its values in the original order and spelling, with the changes since
//! another body.
//!
//! The tree is built once and read line by line, so that a body of a mebibyte is drawn as fast as a small body. The
//! stored text is as received; text returned for a screen is clean.

mod marks;
mod scan;
use std::ops::Range;

use serde::de::IgnoredAny;

pub(crate) use self::marks::ChangeMark;
pub(crate) use self::scan::PathHash;
use self::{
    marks::ComparedEntry,
    scan::{JsonEntry, JsonToken},
};
use crate::domain::text;

/// The length in bytes after which lines of a text that isn't JSON are broken.
const MAX_LINE_BYTES: usize = 1_000;
/// The number of characters that are passed to the sanitiser at a time.
const SANITISED_CHARS: usize = 256;

/// The kind of a line of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// A value, or a line of a text that isn't JSON.
    Value,
    /// The beginning of an array or object.
    Open {
        /// The number of entries.
        entries: usize,
        /// The index of the closing line.
        end: usize,
        /// Whether anything inside changed.
        has_changes: bool,
    },
    /// The end of an array or object.
    Close,
}

/// A line of the tree, as ranges of the tree's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLine {
    pub kind: LineKind,
    /// The nesting depth, from 0.
    pub depth: usize,
    /// The index of the opening line of the enclosing array or object.
    pub parent: Option<usize>,
    /// The path, by which the line is found again in a later body.
    pub path: PathHash,
    /// How the line changed.
    pub mark: ChangeMark,
    range: Range<usize>,
    /// The byte offset of the value, after the key.
    value: usize,
    /// The byte range of the previous value; empty if the value is unchanged or new.
    was: Range<usize>,
}

/// A body, line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonTree {
    text: String,
    lines: Vec<TreeLine>,
    changes: usize,
    is_json: bool,
}

impl JsonTree {
    /// Builds the tree of a body, compared with the previous body if there is one and both are JSON.
    pub fn new(body: &str, before: Option<&str>) -> Self {
        if !is_json(body) {
            let lines = (0..).zip(plain_lines(body)).map(|(path, range)| plain(path, range)).collect();
            return Self { text: body.to_owned(), lines, changes: 0, is_json: false };
        }
        let (text, entries) = marks::compare(body, before.filter(|before| is_json(before)));
        let lines = link(entries);
        Self { text, changes: count_changes(&lines), lines, is_json: true }
    }

    /// Whether the body is JSON.
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// Returns all lines, folded or not.
    pub fn lines(&self) -> &[TreeLine] {
        &self.lines
    }

    /// Returns the number of changes; an added or removed array or object counts once.
    pub fn changes(&self) -> usize {
        self.changes
    }

    /// Returns a line's text as received, with its key.
    pub fn raw(&self, line: &TreeLine) -> &str {
        self.text.get(line.range.clone()).unwrap_or_default()
    }

    /// Returns the beginning of a line's text, clean: at most `bytes` bytes of the key and of the value are read.
    pub fn excerpt(&self, line: &TreeLine, bytes: usize) -> String {
        let key = self.text.get(line.range.start..line.value).unwrap_or_default();
        let value = self.text.get(line.value..line.range.end).unwrap_or_default();
        let (key, value) = (excerpt(key, bytes), excerpt(value, bytes));
        if key.is_empty() { value } else { format!("{key} {value}") }
    }

    /// Like [`excerpt`](Self::excerpt), for the previous value; `None` if the value is unchanged or new.
    pub fn excerpt_before(&self, line: &TreeLine, bytes: usize) -> Option<String> {
        let was = self.text.get(line.was.clone()).filter(|was| !was.is_empty())?;
        Some(excerpt(was, bytes))
    }

    /// Returns the first `bytes` bytes of a line's value as clean text for copying: without its key, a string without
    /// its quotes, an array or object with its contents.
    pub fn value(&self, line: &TreeLine, bytes: usize) -> String {
        let end = match line.kind {
            LineKind::Open { end, .. } => self.lines.get(end).map(|end| end.range.end),
            LineKind::Value | LineKind::Close => None,
        };
        let value = self.text.get(line.value..end.unwrap_or(line.range.end)).unwrap_or_default();
        let unquoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        excerpt(unquoted.unwrap_or(value), bytes)
    }

    /// Returns the indexes of the lines whose text contains `wanted`, ignoring ASCII case.
    pub fn matches(&self, wanted: &str) -> Vec<usize> {
        if wanted.is_empty() {
            return Vec::new();
        }
        let (lower, wanted) = (self.text.to_ascii_lowercase(), wanted.to_ascii_lowercase());
        let has_match = |line: &TreeLine| {
            line.kind != LineKind::Close && lower.get(line.range.clone()).is_some_and(|text| text.contains(&wanted))
        };
        self.lines.iter().enumerate().filter(|(_, line)| has_match(line)).map(|(index, _)| index).collect()
    }
}

fn excerpt(raw: &str, bytes: usize) -> String {
    let mut rest = raw.get(..raw.floor_char_boundary(bytes)).unwrap_or_default();
    let mut shown = String::new();
    while !rest.is_empty() {
        let end = rest.char_indices().nth(SANITISED_CHARS).map_or(rest.len(), |(end, _)| end);
        let (piece, more) = rest.split_at(end);
        // The sanitiser removes blanks at both ends of a piece, but here they may separate two words.
        let gap = piece.starts_with(char::is_whitespace) && !shown.is_empty() && !shown.ends_with(' ');
        shown.extend(gap.then_some(' '));
        shown.push_str(&text::clean(piece));
        shown.extend((piece.ends_with(char::is_whitespace) && !more.is_empty()).then_some(' '));
        rest = more;
    }
    shown
}

/// Whether a text is one JSON value, at any depth.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Returns a line of a text that isn't JSON.
fn plain(path: PathHash, range: Range<usize>) -> TreeLine {
    let (kind, value) = (LineKind::Value, range.start);
    TreeLine { kind, depth: 0, parent: None, path, mark: ChangeMark::Same, range, value, was: 0..0 }
}

fn plain_lines(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        while start < end {
            let cut = text.floor_char_boundary(start + MAX_LINE_BYTES).min(end);
            ranges.push(start..cut);
            start = cut;
        }
    }
    ranges
}

/// Turns entries into lines, each with the index of its enclosing line.
fn link(entries: Vec<ComparedEntry>) -> Vec<TreeLine> {
    let mut lines: Vec<TreeLine> = Vec::with_capacity(entries.len());
    let mut open: Vec<usize> = Vec::new();
    for (index, ComparedEntry { entry, mark, was }) in entries.into_iter().enumerate() {
        let mut changes = mark != ChangeMark::Same;
        if entry.token == JsonToken::Close {
            let begin = open.pop().and_then(|begin| lines.get_mut(begin));
            if let Some(LineKind::Open { end, has_changes, .. }) = begin.map(|line| &mut line.kind) {
                *end = index;
                // A change inside counts for the enclosing array or object too.
                changes |= *has_changes;
            }
        }
        let kind = match entry.token {
            JsonToken::Value => LineKind::Value,
            JsonToken::Open => LineKind::Open { entries: 0, end: index, has_changes: false },
            JsonToken::Close => LineKind::Close,
        };
        let parent = open.last().copied();
        let counts = entry.token != JsonToken::Close && mark != ChangeMark::Removed;
        if let Some(LineKind::Open { entries, has_changes, .. }) =
            parent.and_then(|parent| lines.get_mut(parent)).map(|line| &mut line.kind)
        {
            *entries += usize::from(counts);
            *has_changes |= changes;
        }
        if entry.token == JsonToken::Open {
            open.push(index);
        }
        let JsonEntry { depth, path, range, value, .. } = entry;
        lines.push(TreeLine { kind, depth, parent, path, mark, range, value, was });
    }
    lines
}

fn count_changes(lines: &[TreeLine]) -> usize {
    let parent = |line: &TreeLine| line.parent.and_then(|parent| lines.get(parent));
    let is_inside = |line: &TreeLine| parent(line).is_some_and(|parent| parent.mark == line.mark);
    let counts = |line: &&TreeLine| line.mark != ChangeMark::Same && line.kind != LineKind::Close && !is_inside(line);
    lines.iter().filter(counts).count()
}

#[cfg(test)]
mod tests;
