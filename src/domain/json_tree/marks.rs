//! What changed from one body to the next, entry by entry.
//!
//! It compares what stands there, letter by letter, and must never guess what a field means.

use std::{collections::HashMap, ops::Range};

use super::{
    Mark, REMOVED,
    scan::{Entry, Path, Token, scan},
};

/// An entry with what became of it.
pub(super) struct Marked {
    pub(super) entry: Entry,
    pub(super) mark: Mark,
    /// Where the value stands that it had before; empty if it had the same, or none.
    pub(super) was: Range<usize>,
}

/// A body's entries with their marks, and those that aren't there any more; and the text that their places are in.
pub(super) fn compare(body: &str, before: Option<&str>) -> (String, Vec<Marked>) {
    let entries = scan(body);
    let Some(before) = before else {
        let same = |entry| Marked { entry, mark: Mark::Same, was: 0..0 };
        return (body.to_owned(), entries.into_iter().map(same).collect());
    };
    let old = scan(before);
    let known = by_path(&old);
    let mut removed = removed(&old, &by_path(&entries));
    let (mut text, mut marked) = (body.to_owned(), Vec::with_capacity(entries.len()));
    for entry in entries {
        if entry.token == Token::Close {
            // What is gone stands at the end of what it stood in.
            for Gone { entry, end } in removed.remove(&entry.path).unwrap_or_default() {
                let range = keep(&mut text, before, entry.range.start..end);
                let value = range.start + (entry.value - entry.range.start);
                let entry = Entry { token: Token::Value, range, value, ..entry.clone() };
                marked.push(Marked { entry, mark: Mark::Removed, was: 0..0 });
            }
        }
        let (mark, was) = match known.get(&entry.path) {
            None => (Mark::Added, 0..0),
            Some(was) if entry.token == Token::Close || is_same((body, &entry), (before, was)) => (Mark::Same, 0..0),
            Some(was) => (Mark::Changed, keep(&mut text, before, was.value..was.range.end)),
        };
        marked.push(Marked { entry, mark, was });
    }
    (text, marked)
}

/// Keeps the beginning of a piece of the body before; where it stands.
fn keep(text: &mut String, before: &str, range: Range<usize>) -> Range<usize> {
    let start = text.len();
    let piece = before.get(range).unwrap_or_default();
    text.push_str(piece.get(..piece.floor_char_boundary(REMOVED)).unwrap_or_default());
    start..text.len()
}

/// An entry that isn't there any more, with where it ended.
struct Gone<'a> {
    entry: &'a Entry,
    end: usize,
}

fn by_path(entries: &[Entry]) -> HashMap<Path, &Entry> {
    entries.iter().filter(|entry| entry.token != Token::Close).map(|entry| (entry.path, entry)).collect()
}

/// What is gone, by what it stood in; of whole arrays and objects only they themselves.
fn removed<'a>(old: &'a [Entry], present: &HashMap<Path, &Entry>) -> HashMap<Path, Vec<Gone<'a>>> {
    let closes = old.iter().filter(|entry| entry.token == Token::Close);
    let ends: HashMap<Path, usize> = closes.map(|entry| (entry.path, entry.range.end)).collect();
    let mut removed: HashMap<Path, Vec<Gone<'a>>> = HashMap::new();
    let is_open = |path: &Path| present.get(path).is_some_and(|entry| entry.token == Token::Open);
    for entry in old.iter().filter(|entry| entry.token != Token::Close) {
        if !present.contains_key(&entry.path) && is_open(&entry.parent) {
            let end = ends.get(&entry.path).copied().unwrap_or(entry.range.end);
            removed.entry(entry.parent).or_default().push(Gone { entry, end });
        }
    }
    removed
}

/// Whether two entries of one path say the same; of arrays and objects their own entries say the rest.
fn is_same((text, entry): (&str, &Entry), (other_text, other): (&str, &Entry)) -> bool {
    let (value, other_value) = (entry.value..entry.range.end, other.value..other.range.end);
    text.get(value) == other_text.get(other_value)
}
