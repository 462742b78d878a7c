//! The state of the last response body as a tree: folded nodes, cursor, search.
//!
//! The visible lines are computed when folding changes. They must never be computed for each frame.

use std::collections::HashSet;

use chrono::{DateTime, Utc};

use crate::{
    domain::{filter::Direction, ids::RowId},
    presentation::json_tree::{JsonTree, LineKind, PathHash, TreeLine},
};

/// The depth from which large nodes without a change are folded at first.
const LARGE_FOLD_DEPTH: usize = 2;
/// The depth from which all nodes without a change are folded at first.
const FOLD_DEPTH: usize = 4;
/// A node with more entries is large. A step has four.
const LARGE: usize = 6;

/// A response body, compared with the body before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseBody {
    /// When the body arrived.
    pub at: DateTime<Utc>,
    /// The HTTP status of the response.
    pub http_status: Option<u16>,
    /// The length in bytes.
    pub bytes: usize,
    /// When the earlier body arrived with which this body is compared; `None` if there is none.
    pub before: Option<DateTime<Utc>>,
    /// The body as a tree of lines.
    pub json_tree: JsonTree,
}

/// The last body, as far as it was loaded.
#[derive(Debug, Default)]
pub enum LoadedBody {
    /// The body wasn't loaded yet.
    #[default]
    Unread,
    /// No body is stored.
    Missing,
    /// The body was loaded.
    Body(Box<ResponseBody>),
}

/// The last body, with folds, cursor and search.
#[derive(Debug, Default)]
pub struct RawTabState {
    loaded: LoadedBody,
    /// The transaction whose body was requested and isn't stale.
    requested_for: Option<RowId>,
    /// The nodes whose fold a person toggled.
    toggled: HashSet<PathHash>,
    /// The indexes of the visible lines, in order.
    visible: Vec<usize>,
    /// The cursor, as an index into `visible`.
    cursor: usize,
    /// The first line on the screen, as an index into `visible`.
    top: usize,
    /// Whether long lines are wrapped.
    pub is_wrapped: bool,
    search_text: String,
    matches: Vec<usize>,
}

impl RawTabState {
    /// Drops the body of the transaction that was open before; keeps wrapping and search.
    pub fn forget(&mut self) {
        *self =
            Self { is_wrapped: self.is_wrapped, search_text: std::mem::take(&mut self.search_text), ..Self::default() };
    }

    /// Marks the body as stale, so that it is loaded again.
    pub fn mark_stale(&mut self) {
        self.requested_for = None;
    }

    /// Returns the open transaction if its body must be loaded, and records the request.
    pub fn next_request(&mut self, open: Option<RowId>) -> Option<RowId> {
        let row = open.filter(|row| self.requested_for != Some(*row))?;
        self.requested_for = Some(row);
        Some(row)
    }

    /// Shows a body that was loaded. The cursor and the folds stay.
    pub fn set_body(&mut self, body: Option<ResponseBody>) {
        let path = self.line().map(|(_, line)| line.path);
        self.loaded = body.map_or(LoadedBody::Missing, |body| LoadedBody::Body(Box::new(body)));
        self.update_visible();
        self.matches = self.json_tree().map_or_else(Vec::new, |json_tree| json_tree.matches(&self.search_text));
        let lines = self.lines();
        let same = |line: &usize| lines.get(*line).map(|line| line.path) == path;
        self.cursor = self.visible.iter().position(same).unwrap_or(self.cursor);
        self.move_by(0);
    }

    /// Returns the body, as far as it was loaded.
    pub fn loaded(&self) -> &LoadedBody {
        &self.loaded
    }

    fn json_tree(&self) -> Option<&JsonTree> {
        match &self.loaded {
            LoadedBody::Body(body) => Some(&body.json_tree),
            LoadedBody::Unread | LoadedBody::Missing => None,
        }
    }

    /// Returns all lines of the body, folded or not; none without a body.
    fn lines(&self) -> &[TreeLine] {
        self.json_tree().map_or(&[], JsonTree::lines)
    }

    /// Returns the tree and the line under the cursor.
    pub fn line(&self) -> Option<(&JsonTree, &TreeLine)> {
        let json_tree = self.json_tree()?;
        Some((json_tree, json_tree.lines().get(*self.visible.get(self.cursor)?)?))
    }

    /// Whether the array or object of this line is folded.
    pub fn is_folded(&self, line: &TreeLine) -> bool {
        match line.kind {
            LineKind::Open { has_changes, entries, .. } => {
                let least = if entries > LARGE { LARGE_FOLD_DEPTH } else { FOLD_DEPTH };
                (line.depth >= least && !has_changes) != self.toggled.contains(&line.path)
            }
            LineKind::Value | LineKind::Close => false,
        }
    }

    /// Returns the number of visible lines.
    pub fn count(&self) -> usize {
        self.visible.len()
    }

    /// Returns the cursor's index among the visible lines.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns the index of the screen's first line among the visible lines.
    pub fn top(&self) -> usize {
        self.top
    }

    /// Returns at most `most` visible lines from an index on, each with whether it has the cursor.
    pub fn shown(&self, from: usize, most: usize) -> impl DoubleEndedIterator<Item = (&TreeLine, bool)> {
        let end = from.saturating_add(most).min(self.visible.len());
        let visible = self.visible.get(from.min(end)..end).unwrap_or_default();
        let cursor = self.visible.get(self.cursor).copied();
        visible.iter().filter_map(move |index| Some((self.lines().get(*index)?, cursor == Some(*index))))
    }

    /// Moves the cursor down by so many lines, or up; stops at the ends.
    pub fn move_by(&mut self, lines: isize) {
        self.cursor = self.cursor.saturating_add_signed(lines).min(self.visible.len().saturating_sub(1));
    }

    /// Scrolls so that the cursor is on a screen of so many rows.
    pub fn scroll_into_view(&mut self, rows: usize) {
        let lowest = (self.cursor + 1).saturating_sub(rows);
        self.top = self.top.clamp(lowest.min(self.cursor), self.cursor);
    }

    /// Folds or unfolds the array or object that begins at the cursor; on another line, folds the node around the line.
    pub fn toggle_fold(&mut self) {
        let Some((json_tree, line)) = self.line() else { return };
        let is_open = matches!(line.kind, LineKind::Open { .. });
        let target = if is_open { self.visible.get(self.cursor).copied() } else { line.parent };
        let found = target.and_then(|target| Some((target, json_tree.lines().get(target)?.path)));
        let Some((target, path)) = found else { return };
        self.toggled = &self.toggled ^ &HashSet::from([path]);
        self.reveal(target);
    }

    /// Computes the visible lines.
    fn update_visible(&mut self) {
        let mut visible = Vec::new();
        let mut index = 0;
        while let Some(line) = self.lines().get(index) {
            visible.push(index);
            index = match line.kind {
                LineKind::Open { end, .. } if self.is_folded(line) => end.max(index) + 1,
                _ => index + 1,
            };
        }
        self.visible = visible;
    }

    pub fn search_text(&self) -> &str {
        &self.search_text
    }

    /// Searches for a text: moves the cursor to the first match from the cursor on, and unfolds the nodes around the
    /// match.
    pub fn set_search(&mut self, text: &str) {
        text.clone_into(&mut self.search_text);
        self.matches = self.json_tree().map_or_else(Vec::new, |json_tree| json_tree.matches(text));
        let here = self.visible.get(self.cursor).copied().unwrap_or_default();
        let position = self.matches.partition_point(|line| *line < here);
        if let Some(line) = self.matches.get(position).or(self.matches.first()).copied() {
            self.reveal(line);
        }
    }

    /// Moves the cursor to the next or the previous match; the first comes after the last.
    pub fn go_to_match(&mut self, direction: Direction) {
        let Some(here) = self.visible.get(self.cursor).copied() else { return };
        let (before, after) = self.matches.split_at(self.matches.partition_point(|line| *line < here));
        let after = after.strip_prefix(&[here]).unwrap_or(after);
        let next = match direction {
            Direction::Forwards => after.first().or(self.matches.first()),
            Direction::Backwards => before.last().or(self.matches.last()),
        };
        if let Some(line) = next.copied() {
            self.reveal(line);
        }
    }

    /// Returns the number of the match under the cursor, from 1 on, and the number of matches.
    pub fn match_position(&self) -> (Option<usize>, usize) {
        let here = self.visible.get(self.cursor);
        let position = here.and_then(|line| self.matches.binary_search(line).ok());
        (position.map(|position| position + 1), self.matches.len())
    }

    /// Moves the cursor to a line, and unfolds the nodes around the line.
    fn reveal(&mut self, line: usize) {
        let lines = self.lines();
        let (mut folded, mut parent) = (HashSet::<PathHash>::new(), lines.get(line).and_then(|line| line.parent));
        while let Some(around) = parent.and_then(|parent| lines.get(parent)) {
            folded.extend(self.is_folded(around).then_some(around.path));
            parent = around.parent;
        }
        // The symmetric difference toggles each of these nodes.
        self.toggled = &self.toggled ^ &folded;
        self.update_visible();
        self.cursor = self.visible.binary_search(&line).unwrap_or_else(|position| position);
        self.move_by(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str, before: Option<&str>) -> Option<ResponseBody> {
        let json_tree = JsonTree::new(text, before);
        let at = DateTime::UNIX_EPOCH;
        Some(ResponseBody { at, http_status: Some(200), bytes: text.len(), before: before.map(|_| at), json_tree })
    }

    fn visible(raw: &RawTabState) -> Vec<String> {
        let json_tree = raw.json_tree().unwrap();
        raw.shown(0, 100)
            .map(|(line, here)| format!("{}{}", if here { ">" } else { "" }, json_tree.raw(line)))
            .collect()
    }

    /// Two chains with seven keys each: both are large.
    const BODY: &str = concat!(
        r#"{"to":{"chain":{"id":"x","b":0,"c":0,"d":0,"e":0,"f":0,"g":0},"hash":""},"#,
        r#""from":{"chain":{"id":"y","b":0,"c":0,"d":0,"e":0,"f":0,"g":0}}}"#
    );

    #[test]
    fn large_or_deep_nodes_without_a_change_are_folded_at_first() {
        let mut raw = RawTabState::default();
        raw.set_body(body(BODY, Some(&BODY.replace("\"y\"", "\"z\""))));
        let expected =
            r#">{ "to":{ "chain":{ "hash":"" } "from":{ "chain":{ "id":"y" "b":0 "c":0 "d":0 "e":0 "f":0 "g":0 } } }"#;
        assert_eq!(visible(&raw).join(" "), expected);
        raw.set_body(body("[[[{},[[[1]]],2]]]", None));
        assert_eq!(visible(&raw).join(" "), ">[ [ [ {} [ [ ] 2 ] ] ]");
    }

    #[test]
    fn folding_keeps_the_cursor_and_a_later_body_keeps_both() {
        let mut raw = RawTabState::default();
        raw.set_body(body(BODY, None));
        raw.move_by(3);
        raw.toggle_fold();
        let folded = ["{", r#">"to":{"#, r#""from":{"#, r#""chain":{"#, "}", "}"];
        assert_eq!(visible(&raw), folded);
        raw.set_body(body(&BODY.replace("\"x\"", "\"w\""), None));
        assert_eq!(visible(&raw), folded);
        raw.toggle_fold();
        assert_eq!((visible(&raw).len(), raw.cursor()), (9, 1));
        raw.set_body(None);
        assert!(matches!(raw.loaded(), LoadedBody::Missing));
        raw.toggle_fold();
        assert_eq!((raw.count(), raw.cursor()), (0, 0));
    }

    #[test]
    fn a_search_unfolds_nodes_around_its_match_and_wraps_around() {
        let mut raw = RawTabState::default();
        raw.set_body(body(BODY, None));
        raw.set_search("ID");
        assert_eq!(
            (raw.match_position(), raw.line().unwrap().0.raw(raw.line().unwrap().1)),
            ((Some(1), 2), r#""id":"x""#)
        );
        raw.go_to_match(Direction::Forwards);
        assert_eq!(raw.match_position(), (Some(2), 2));
        raw.go_to_match(Direction::Forwards);
        assert_eq!(raw.match_position(), (Some(1), 2));
        raw.go_to_match(Direction::Backwards);
        assert_eq!(raw.match_position(), (Some(2), 2));
        raw.set_search("nowhere");
        assert_eq!(raw.match_position(), (None, 0));
        raw.go_to_match(Direction::Forwards);
    }

    #[test]
    fn the_cursor_stays_on_the_screen() {
        let mut raw = RawTabState::default();
        raw.set_body(body(&format!("[{}0]", "0,".repeat(50)), None));
        raw.move_by(isize::MAX);
        raw.scroll_into_view(10);
        assert_eq!((raw.cursor(), raw.top()), (52, 43));
        raw.move_by(-5);
        raw.scroll_into_view(10);
        assert_eq!((raw.cursor(), raw.top()), (47, 43));
        raw.scroll_into_view(0);
        raw.move_by(isize::MIN);
        raw.scroll_into_view(3);
        assert_eq!((raw.cursor(), raw.top()), (0, 0));
    }

    #[test]
    fn a_body_is_requested_once_for_each_transaction_and_again_when_stale() {
        let mut raw = RawTabState::default();
        let row = Some(RowId(1));
        assert_eq!((raw.next_request(None), raw.next_request(row), raw.next_request(row)), (None, row, None));
        raw.mark_stale();
        assert_eq!(raw.next_request(row), row);
    }
}
