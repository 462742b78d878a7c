//! The last body as a tree: what is folded, where the cursor stands, what is looked for.
//!
//! Which lines are seen is worked out when that changes, never for a frame.

use std::collections::HashSet;

use chrono::{DateTime, Utc};

use crate::domain::{
    ids::RowId,
    json_tree::{JsonTree, Kind, Line, Path},
};

/// From this depth on what didn't change is folded at first if it is large, and from the other on however small it is.
const FOLDED: usize = 2;
const DEEP: usize = 4;
/// A step has four keys.
const LARGE: usize = 6;

/// A body that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// When it came.
    pub at: DateTime<Utc>,
    /// The HTTP status that it came with.
    pub http_status: Option<u16>,
    /// Its length.
    pub bytes: usize,
    /// When the body came that it is compared with, if there is one.
    pub before: Option<DateTime<Utc>>,
    /// Its lines.
    pub json_tree: JsonTree,
}

/// What is known of the last body.
#[derive(Debug, Default)]
pub enum Reading {
    /// It wasn't read yet.
    #[default]
    Unread,
    /// There is none.
    Nothing,
    /// It is there.
    Body(Box<Body>),
}

/// The last body, and how the person looks at it.
#[derive(Debug, Default)]
pub struct Raw {
    reading: Reading,
    /// The transaction whose body was asked for, and isn't out of date as far as we know.
    asked: Option<RowId>,
    /// What is folded if it is open at first, and open if it is folded at first.
    turned: HashSet<Path>,
    /// The lines that are seen, in their order.
    seen: Vec<usize>,
    /// Where among these the cursor stands.
    cursor: usize,
    top: usize,
    /// Whether long lines are wrapped.
    pub wrap: bool,
    wanted: String,
    matches: Vec<usize>,
}

impl Raw {
    /// Forgets the body of another transaction.
    pub fn forget(&mut self) {
        *self = Self { wrap: self.wrap, wanted: std::mem::take(&mut self.wanted), ..Self::default() };
    }

    /// Marks the body as stale: it is read again.
    pub fn mark_stale(&mut self) {
        self.asked = None;
    }

    /// The transaction whose body is to be read, if it is this one's turn.
    pub fn to_read(&mut self, open: Option<RowId>) -> Option<RowId> {
        let row = open.filter(|row| self.asked != Some(*row))?;
        self.asked = Some(row);
        Some(row)
    }

    /// Takes in the body that was read. The cursor stays where it was, and so does what was folded.
    pub fn take(&mut self, body: Option<Body>) {
        let path = self.line().map(|(_, line)| line.path);
        self.reading = body.map_or(Reading::Nothing, |body| Reading::Body(Box::new(body)));
        self.see();
        self.matches.clear();
        let Reading::Body(body) = &self.reading else { return self.cursor = 0 };
        self.matches = body.json_tree.matches(&self.wanted);
        let same = |line: &usize| body.json_tree.lines().get(*line).map(|line| line.path) == path;
        self.cursor = self.seen.iter().position(same).unwrap_or(self.cursor);
        self.move_by(0);
    }

    /// What is known of the body.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    fn json_tree(&self) -> Option<&JsonTree> {
        match &self.reading {
            Reading::Body(body) => Some(&body.json_tree),
            Reading::Unread | Reading::Nothing => None,
        }
    }

    /// The line with the cursor.
    pub fn line(&self) -> Option<(&JsonTree, &Line)> {
        let json_tree = self.json_tree()?;
        Some((json_tree, json_tree.lines().get(*self.seen.get(self.cursor)?)?))
    }

    /// Whether an array or object is folded.
    pub fn is_folded(&self, line: &Line) -> bool {
        match line.kind {
            Kind::Open { changed, entries, .. } => {
                let least = if entries > LARGE { FOLDED } else { DEEP };
                (line.depth >= least && !changed) != self.turned.contains(&line.path)
            }
            Kind::Value | Kind::Close => false,
        }
    }

    /// How many lines are seen.
    pub fn count(&self) -> usize {
        self.seen.len()
    }

    /// Where among the seen lines the cursor stands.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Where among the seen lines the screen begins.
    pub fn top(&self) -> usize {
        self.top
    }

    /// Some of the seen lines, each with whether the cursor stands there.
    pub fn shown(&self, from: usize, most: usize) -> impl DoubleEndedIterator<Item = (&Line, bool)> {
        let lines = self.json_tree().map_or(&[][..], JsonTree::lines);
        let end = from.saturating_add(most).min(self.seen.len());
        let seen = self.seen.get(from.min(end)..end).unwrap_or_default();
        let cursor = self.seen.get(self.cursor).copied();
        seen.iter().filter_map(move |index| Some((lines.get(*index)?, cursor == Some(*index))))
    }

    /// Moves the cursor.
    pub fn move_by(&mut self, lines: isize) {
        self.cursor = self.cursor.saturating_add_signed(lines).min(self.seen.len().saturating_sub(1));
    }

    /// Keeps the cursor on a screen of so many rows.
    pub fn keep_in_sight(&mut self, rows: usize) {
        let lowest = (self.cursor + 1).saturating_sub(rows);
        self.top = self.top.clamp(lowest.min(self.cursor), self.cursor);
    }

    /// Folds what begins at the cursor, or unfolds it; at the end of something or in it, folds that.
    pub fn turn(&mut self) {
        let Some((json_tree, line)) = self.line() else { return };
        let parent = || json_tree.lines().get(line.parent?);
        let Some(target) = (if matches!(line.kind, Kind::Open { .. }) { Some(line) } else { parent() }) else { return };
        let path = target.path;
        if !self.turned.remove(&path) {
            self.turned.insert(path);
        }
        self.see();
        let lines = self.json_tree().map_or(&[][..], JsonTree::lines);
        let is_target = |line: &usize| {
            lines.get(*line).is_some_and(|line| line.path == path && matches!(line.kind, Kind::Open { .. }))
        };
        self.cursor = self.seen.iter().position(is_target).unwrap_or(self.cursor);
        self.move_by(0);
    }

    /// Works out which lines are seen.
    fn see(&mut self) {
        let lines = self.json_tree().map_or(&[][..], JsonTree::lines);
        let mut seen = Vec::new();
        let mut index = 0;
        while let Some(line) = lines.get(index) {
            seen.push(index);
            index = match line.kind {
                Kind::Open { end, .. } if self.is_folded(line) => end.max(index) + 1,
                _ => index + 1,
            };
        }
        self.seen = seen;
    }

    /// What is looked for.
    pub fn wanted(&self) -> &str {
        &self.wanted
    }

    /// Looks for something: the cursor goes to the first line with it that isn't above, unfolding what hides it.
    pub fn want(&mut self, text: &str) {
        text.clone_into(&mut self.wanted);
        self.matches = self.json_tree().map_or_else(Vec::new, |json_tree| json_tree.matches(text));
        let here = self.seen.get(self.cursor).copied().unwrap_or_default();
        let place = self.matches.partition_point(|line| *line < here);
        if let Some(line) = self.matches.get(place).or(self.matches.first()).copied() {
            self.reveal(line);
        }
    }

    /// Goes to the next line with what is looked for, or the one before; behind the last comes the first.
    pub fn to_match(&mut self, forwards: bool) {
        let Some(here) = self.seen.get(self.cursor).copied() else { return };
        let (before, behind) = self.matches.split_at(self.matches.partition_point(|line| *line < here));
        let behind = behind.strip_prefix(&[here]).unwrap_or(behind);
        let next = match forwards {
            true => behind.first().or(self.matches.first()),
            false => before.last().or(self.matches.last()),
        };
        if let Some(line) = next.copied() {
            self.reveal(line);
        }
    }

    /// The place of the cursor's line among those with what is looked for, if it is one of them, and how many there are.
    pub fn standing(&self) -> (Option<usize>, usize) {
        let here = self.seen.get(self.cursor);
        let place = here.and_then(|line| self.matches.binary_search(line).ok());
        (place.map(|place| place + 1), self.matches.len())
    }

    /// Puts the cursor on a line, unfolding what it stands in.
    fn reveal(&mut self, line: usize) {
        let lines = self.json_tree().map_or(&[][..], JsonTree::lines);
        let (mut folded, mut parent) = (Vec::new(), lines.get(line).and_then(|line| line.parent));
        while let Some(around) = parent.and_then(|parent| lines.get(parent)) {
            folded.extend(self.is_folded(around).then_some(around.path));
            parent = around.parent;
        }
        for path in folded {
            if !self.turned.remove(&path) {
                self.turned.insert(path);
            }
        }
        self.see();
        self.cursor = self.seen.binary_search(&line).unwrap_or_else(|place| place);
        self.move_by(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str, before: Option<&str>) -> Option<Body> {
        let json_tree = JsonTree::new(text, before);
        let at = DateTime::UNIX_EPOCH;
        Some(Body { at, http_status: Some(200), bytes: text.len(), before: before.map(|_| at), json_tree })
    }

    fn seen(raw: &Raw) -> Vec<String> {
        let json_tree = raw.json_tree().unwrap();
        raw.shown(0, 100)
            .map(|(line, here)| format!("{}{}", if here { ">" } else { "" }, json_tree.raw(line)))
            .collect()
    }

    /// Two chains with seven keys each, which is large.
    const BODY: &str = concat!(
        r#"{"to":{"chain":{"id":"x","b":0,"c":0,"d":0,"e":0,"f":0,"g":0},"hash":""},"#,
        r#""from":{"chain":{"id":"y","b":0,"c":0,"d":0,"e":0,"f":0,"g":0}}}"#
    );

    #[test]
    fn what_is_large_or_lies_deep_and_did_not_change_is_folded_at_first() {
        let mut raw = Raw::default();
        raw.take(body(BODY, Some(&BODY.replace("\"y\"", "\"z\""))));
        let expected =
            r#">{ "to":{ "chain":{ "hash":"" } "from":{ "chain":{ "id":"y" "b":0 "c":0 "d":0 "e":0 "f":0 "g":0 } } }"#;
        assert_eq!(seen(&raw).join(" "), expected);
        raw.take(body("[[[{},[[[1]]],2]]]", None));
        assert_eq!(seen(&raw).join(" "), ">[ [ [ {} [ [ ] 2 ] ] ]");
    }

    #[test]
    fn folding_keeps_the_cursor_and_a_later_body_keeps_both() {
        let mut raw = Raw::default();
        raw.take(body(BODY, None));
        raw.move_by(3);
        raw.turn();
        let folded = ["{", r#">"to":{"#, r#""from":{"#, r#""chain":{"#, "}", "}"];
        assert_eq!(seen(&raw), folded);
        raw.take(body(&BODY.replace("\"x\"", "\"w\""), None));
        assert_eq!(seen(&raw), folded);
        raw.turn();
        assert_eq!((seen(&raw).len(), raw.cursor()), (9, 1));
        raw.take(None);
        assert!(matches!(raw.reading(), Reading::Nothing));
        raw.turn();
        assert_eq!((raw.count(), raw.cursor()), (0, 0));
    }

    #[test]
    fn a_search_unfolds_what_hides_its_match_and_goes_round() {
        let mut raw = Raw::default();
        raw.take(body(BODY, None));
        raw.want("ID");
        assert_eq!((raw.standing(), raw.line().unwrap().0.raw(raw.line().unwrap().1)), ((Some(1), 2), r#""id":"x""#));
        raw.to_match(true);
        assert_eq!(raw.standing(), (Some(2), 2));
        raw.to_match(true);
        assert_eq!(raw.standing(), (Some(1), 2));
        raw.to_match(false);
        assert_eq!(raw.standing(), (Some(2), 2));
        raw.want("nowhere");
        assert_eq!(raw.standing(), (None, 0));
        raw.to_match(true);
    }

    #[test]
    fn the_cursor_stays_on_the_screen() {
        let mut raw = Raw::default();
        raw.take(body(&format!("[{}0]", "0,".repeat(50)), None));
        raw.move_by(isize::MAX);
        raw.keep_in_sight(10);
        assert_eq!((raw.cursor(), raw.top()), (52, 43));
        raw.move_by(-5);
        raw.keep_in_sight(10);
        assert_eq!((raw.cursor(), raw.top()), (47, 43));
        raw.keep_in_sight(0);
        raw.move_by(isize::MIN);
        raw.keep_in_sight(3);
        assert_eq!((raw.cursor(), raw.top()), (0, 0));
    }

    #[test]
    fn a_body_is_read_once_for_each_transaction_and_again_when_it_is_out_of_date() {
        let mut raw = Raw::default();
        let row = Some(RowId(1));
        assert_eq!((raw.to_read(None), raw.to_read(row), raw.to_read(row)), (None, row, None));
        raw.mark_stale();
        assert_eq!(raw.to_read(row), row);
    }
}
