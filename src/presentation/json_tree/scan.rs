//! Reads a JSON text into a flat list of entries, in the original order and spelling.
//!
//! Expects text that `serde_json` has accepted, at any depth. This module must never recurse, and must store positions
//! only.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    ops::Range,
};

/// A hash of the keys and indexes that lead to an entry. The same keys and indexes give the same hash in every body.
pub(crate) type PathHash = u64;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonToken {
    /// A string, a number, a literal, or an empty array or object.
    Value,
    /// The beginning of an array or object.
    Open,
    /// The end of an array or object.
    Close,
}

/// One entry of the list.
#[derive(Clone, Debug)]
pub(crate) struct JsonEntry {
    pub(crate) token: JsonToken,
    pub(crate) depth: usize,
    /// The path; the end of an array or object has the path of its beginning.
    pub(crate) path: PathHash,
    /// The path of the enclosing array or object.
    pub(crate) parent: PathHash,
    /// The byte range, with the key; for the beginning of an array or object it ends with the bracket.
    pub(crate) range: Range<usize>,
    /// The byte offset of the value, after the key.
    pub(crate) value: usize,
}

/// An array or object that isn't closed yet.
struct OpenContainer {
    path: PathHash,
    /// The index of the opening entry.
    entry: usize,
    is_object: bool,
    children: usize,
}

struct JsonScanner<'a> {
    text: &'a str,
    at: usize,
    entries: Vec<JsonEntry>,
    levels: Vec<OpenContainer>,
    /// A key without its value so far: the byte offset of its beginning, and its path.
    key: Option<(usize, PathHash)>,
    /// The number of occurrences of each path, since a key may occur twice in one object.
    seen: HashMap<PathHash, usize>,
}

/// Returns all entries of a valid JSON text.
pub(crate) fn scan(text: &str) -> Vec<JsonEntry> {
    let (entries, levels) = (Vec::new(), Vec::new());
    let mut scan = JsonScanner { text, at: 0, entries, levels, key: None, seen: HashMap::new() };
    while let Some(byte) = scan.byte(scan.at) {
        match byte {
            b'{' | b'[' => scan.open(byte == b'{'),
            b'}' | b']' => scan.close(),
            b'"' => scan.scan_string(),
            b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => scan.at += 1,
            _ => scan.scan_literal(),
        }
    }
    scan.entries
}

fn under(parent: PathHash, step: impl Hash) -> PathHash {
    let mut hasher = DefaultHasher::new();
    (parent, step).hash(&mut hasher);
    hasher.finish()
}

impl JsonScanner<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn parent(&self) -> PathHash {
        self.levels.last().map_or(0, |level| level.path)
    }

    /// Returns a path that is unique even if the same key occurred before.
    fn unique_path(&mut self, path: PathHash) -> PathHash {
        let count = self.seen.entry(path).or_default();
        *count += 1;
        if *count == 1 { path } else { under(path, *count) }
    }

    /// Returns the byte offset of the next value, including its key, and the value's path.
    fn next_entry(&mut self) -> (usize, PathHash) {
        if let Some(level) = self.levels.last_mut() {
            level.children += 1;
        }
        if let Some(key) = self.key.take() {
            return key;
        }
        let path = self.levels.last().map_or(0, |level| under(level.path, level.children));
        (self.at, path)
    }

    fn push(&mut self, token: JsonToken, (start, path): (usize, PathHash), end: usize) {
        let (depth, parent) = (self.levels.len(), self.parent());
        let value = self.at;
        self.entries.push(JsonEntry { token, depth, path, parent, range: start..end, value });
        self.at = end;
    }

    fn open(&mut self, is_object: bool) {
        let (start, path) = self.next_entry();
        let entry = self.entries.len();
        self.push(JsonToken::Open, (start, path), self.at + 1);
        self.levels.push(OpenContainer { path, entry, is_object, children: 0 });
    }

    fn close(&mut self) {
        let Some(level) = self.levels.pop() else { return self.at += 1 };
        if level.children > 0 {
            return self.push(JsonToken::Close, (self.at, level.path), self.at + 1);
        }
        self.at += 1;
        if let Some(entry) = self.entries.get_mut(level.entry) {
            (entry.token, entry.range.end) = (JsonToken::Value, self.at);
        }
    }

    /// Reads a string: a key where a key is expected, else a value.
    fn scan_string(&mut self) {
        let mut end = self.at + 1;
        while let Some(byte) = self.byte(end).filter(|byte| *byte != b'"') {
            end += if byte == b'\\' { 2 } else { 1 };
        }
        let end = (end + 1).min(self.text.len());
        if self.key.is_none() && self.levels.last().is_some_and(|level| level.is_object) {
            let path = under(self.parent(), self.text.get(self.at..end));
            self.key = Some((self.at, self.unique_path(path)));
            self.at = end;
        } else {
            let start_and_path = self.next_entry();
            self.push(JsonToken::Value, start_and_path, end);
        }
    }

    /// Reads a number, `true`, `false` or `null`.
    fn scan_literal(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let ends = |byte: &u8| matches!(byte, b',' | b':' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let start_and_path = self.next_entry();
        self.push(JsonToken::Value, start_and_path, self.at + length);
    }
}
