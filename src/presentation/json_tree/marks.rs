//! Compares two bodies, entry by entry.
//!
//! This module compares values literally, character by character, and must never guess what a field means.

use std::{collections::HashMap, ops::Range};

use super::scan::{JsonEntry, JsonToken, PathHash, scan};
use crate::domain::named::named;

/// The number of bytes that are kept of a removed value.
const MAX_KEPT_BYTES: usize = 4_096;

named! {
    /// How a line changed since the previous body, with the symbol on screen.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ChangeMark: symbol {
        /// Unchanged.
        Same " ",
        /// The entry is new.
        Added "+",
        /// The value differs.
        Changed "~",
        /// The entry was removed.
        Removed "-",
    }
}

/// An entry and how it changed.
pub(crate) struct ComparedEntry {
    pub(crate) entry: JsonEntry,
    pub(crate) mark: ChangeMark,
    /// The byte range of the previous value; empty if the value is unchanged or new.
    pub(crate) was: Range<usize>,
}

/// Returns a text, and the changed, unchanged and removed entries of a body as ranges of that text.
pub(crate) fn compare(body: &str, before: Option<&str>) -> (String, Vec<ComparedEntry>) {
    let entries = scan(body);
    let Some(before) = before else {
        let same = |entry| ComparedEntry { entry, mark: ChangeMark::Same, was: 0..0 };
        return (body.to_owned(), entries.into_iter().map(same).collect());
    };
    let old = scan(before);
    let known = by_path(&old);
    let mut removed = removed(&old, &by_path(&entries));
    let (mut text, mut marked) = (body.to_owned(), Vec::with_capacity(entries.len()));
    for entry in entries {
        if entry.token == JsonToken::Close {
            // Removed entries go to the end of their array or object.
            for entry in removed.remove(&entry.path).unwrap_or_default() {
                let range = append_excerpt(&mut text, before, entry.range.clone());
                let value = (range.start + (entry.value - entry.range.start)).min(range.end);
                let entry = JsonEntry { range, value, ..entry };
                marked.push(ComparedEntry { entry, mark: ChangeMark::Removed, was: 0..0 });
            }
        }
        // The children of arrays and objects are compared separately.
        let is_same = |was: &Range<usize>| body.get(entry.value..entry.range.end) == before.get(was.clone());
        let (mark, was) = match known.get(&entry.path).map(|was| was.value..was.range.end) {
            None => (ChangeMark::Added, 0..0),
            Some(was) if entry.token == JsonToken::Close || is_same(&was) => (ChangeMark::Same, 0..0),
            Some(was) => (ChangeMark::Changed, append_excerpt(&mut text, before, was)),
        };
        marked.push(ComparedEntry { entry, mark, was });
    }
    (text, marked)
}

/// Appends the beginning of a range of the previous body to `text`, and returns its range in `text`.
fn append_excerpt(text: &mut String, before: &str, range: Range<usize>) -> Range<usize> {
    let start = text.len();
    let piece = before.get(range).unwrap_or_default();
    text.push_str(piece.get(..piece.floor_char_boundary(MAX_KEPT_BYTES)).unwrap_or_default());
    start..text.len()
}

fn by_path(entries: &[JsonEntry]) -> HashMap<PathHash, &JsonEntry> {
    entries.iter().filter(|entry| entry.token != JsonToken::Close).map(|entry| (entry.path, entry)).collect()
}

/// Returns the removed entries by their parent. A removed array or object is one entry that covers all of its text.
fn removed(old: &[JsonEntry], present: &HashMap<PathHash, &JsonEntry>) -> HashMap<PathHash, Vec<JsonEntry>> {
    let closes = old.iter().filter(|entry| entry.token == JsonToken::Close);
    let ends: HashMap<PathHash, usize> = closes.map(|entry| (entry.path, entry.range.end)).collect();
    let mut removed: HashMap<PathHash, Vec<JsonEntry>> = HashMap::new();
    let is_open = |path: &PathHash| present.get(path).is_some_and(|entry| entry.token == JsonToken::Open);
    for entry in old.iter().filter(|entry| entry.token != JsonToken::Close) {
        if !present.contains_key(&entry.path) && is_open(&entry.parent) {
            let end = ends.get(&entry.path).copied().unwrap_or(entry.range.end);
            let whole = JsonEntry { token: JsonToken::Value, range: entry.range.start..end, ..entry.clone() };
            removed.entry(entry.parent).or_default().push(whole);
        }
    }
    removed
}
