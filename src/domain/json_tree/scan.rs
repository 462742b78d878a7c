//! A JSON text as a flat list of what stands in it, in its own order and in its own letters.
//!
//! It takes what `serde_json` has found sound, however deep; it must never call itself, and never keep more than places.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    ops::Range,
};

/// Where something stands among its likes: the way from the top, as a number. The same way in two bodies is the same number.
pub type Path = u64;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A text, a number, a word, or an array or object with nothing in it.
    Value,
    /// An array or object begins.
    Open,
    /// It ends.
    Close,
}

/// One entry.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) token: Token,
    pub(super) depth: usize,
    /// Of an end it is that of what ends.
    pub(super) path: Path,
    /// The path of what it stands in.
    pub(super) parent: Path,
    /// With its key; of what opens, to the bracket.
    pub(super) range: Range<usize>,
    /// Where its value begins, behind the key.
    pub(super) value: usize,
}

/// An array or object that isn't closed yet.
struct Level {
    path: Path,
    /// Where it stands among the entries.
    entry: usize,
    is_object: bool,
    children: usize,
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    entries: Vec<Entry>,
    levels: Vec<Level>,
    /// A key that waits for its value: where it begins, and its path.
    key: Option<(usize, Path)>,
    /// How often each path occurred, since a key may stand twice in one object.
    seen: HashMap<Path, usize>,
}

/// All that stands in a text that is sound JSON.
pub(super) fn scan(text: &str) -> Vec<Entry> {
    let (entries, levels) = (Vec::new(), Vec::new());
    let mut scan = Scan { text, at: 0, entries, levels, key: None, seen: HashMap::new() };
    while let Some(byte) = scan.byte(scan.at) {
        match byte {
            b'{' | b'[' => scan.open(byte == b'{'),
            b'}' | b']' => scan.close(),
            b'"' => scan.text(),
            b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => scan.at += 1,
            _ => scan.word(),
        }
    }
    scan.entries
}

fn under(parent: Path, step: impl Hash) -> Path {
    let mut hasher = DefaultHasher::new();
    (parent, step).hash(&mut hasher);
    hasher.finish()
}

impl Scan<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn parent(&self) -> Path {
        self.levels.last().map_or(0, |level| level.path)
    }

    /// A path of its own, even if that key was there before.
    fn fresh(&mut self, path: Path) -> Path {
        let count = self.seen.entry(path).or_default();
        *count += 1;
        if *count == 1 { path } else { under(path, *count) }
    }

    /// Where the next value begins with its key, and its path.
    fn place(&mut self) -> (usize, Path) {
        if let Some(level) = self.levels.last_mut() {
            level.children += 1;
        }
        if let Some(key) = self.key.take() {
            return key;
        }
        let path = self.levels.last().map_or(0, |level| under(level.path, level.children));
        (self.at, path)
    }

    fn push(&mut self, token: Token, (start, path): (usize, Path), end: usize) {
        let (depth, parent) = (self.levels.len(), self.parent());
        let value = self.at;
        self.entries.push(Entry { token, depth, path, parent, range: start..end, value });
        self.at = end;
    }

    fn open(&mut self, is_object: bool) {
        let place = self.place();
        let entry = self.entries.len();
        self.push(Token::Open, place, self.at + 1);
        self.levels.push(Level { path: place.1, entry, is_object, children: 0 });
    }

    fn close(&mut self) {
        let Some(level) = self.levels.pop() else { return self.at += 1 };
        if level.children > 0 {
            return self.push(Token::Close, (self.at, level.path), self.at + 1);
        }
        self.at += 1;
        if let Some(entry) = self.entries.get_mut(level.entry) {
            (entry.token, entry.range.end) = (Token::Value, self.at);
        }
    }

    /// A text: a key where one is due, else a value.
    fn text(&mut self) {
        let mut end = self.at + 1;
        while let Some(byte) = self.byte(end).filter(|byte| *byte != b'"') {
            end += if byte == b'\\' { 2 } else { 1 };
        }
        let end = (end + 1).min(self.text.len());
        if self.key.is_none() && self.levels.last().is_some_and(|level| level.is_object) {
            let path = under(self.parent(), self.text.get(self.at..end));
            self.key = Some((self.at, self.fresh(path)));
            self.at = end;
        } else {
            let place = self.place();
            self.push(Token::Value, place, end);
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let ends = |byte: &u8| matches!(byte, b',' | b':' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let place = self.place();
        self.push(Token::Value, place, self.at + length);
    }
}
