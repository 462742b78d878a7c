//! Which transactions a person has marked, so that one action works on all of them.
//!
//! Marks are on transactions, never on rows or pages: they stay through another order, filter or saved view, so that a queue can
//! be gathered from several; they stay while something is written on them, and leave when they are all dealt with, or with what is
//! deleted.

use std::collections::BTreeSet;

use crate::domain::ids::RowId;

/// The marks' state.
#[derive(Debug, Default)]
pub struct Marks {
    rows: BTreeSet<RowId>,
    /// Where a range begins that hasn't been ended; it goes as far as what is selected.
    pub range: Option<RowId>,
}

impl Marks {
    /// The most that is marked at once.
    pub const MOST: usize = 10_000;

    /// How many are marked.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Whether nothing is marked, and no range begun.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.range.is_none()
    }

    /// Whether one is marked.
    pub fn contains(&self, row: RowId) -> bool {
        self.rows.contains(&row)
    }

    /// Those that are marked.
    pub fn rows(&self) -> Vec<RowId> {
        self.rows.iter().copied().collect()
    }

    /// Marks one, or takes its mark away.
    pub fn toggle(&mut self, row: RowId) {
        if !self.rows.remove(&row) {
            self.rows.insert(row);
        }
    }

    /// Marks these too, unless that would be too many; whether they are marked.
    pub fn add(&mut self, rows: &[RowId]) -> bool {
        let new = rows.iter().filter(|row| !self.contains(**row)).count();
        let fits = self.count() + new <= Self::MOST;
        if fits {
            self.rows.extend(rows);
        }
        fits
    }

    /// Takes all marks away.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// These are dealt with: if they are what is marked, the marks have served.
    pub fn served(&mut self, rows: &[RowId]) {
        if !self.rows.is_empty() && self.rows.iter().eq(rows) {
            self.clear();
        }
    }

    /// One isn't there any more.
    pub fn forget(&mut self, row: RowId) {
        self.rows.remove(&row);
        self.range = self.range.filter(|begin| *begin != row);
    }
}

/// The rows from one to another, whichever comes first, if both are among these.
pub fn between(rows: &[RowId], one: RowId, other: RowId) -> Option<&[RowId]> {
    let place = |wanted| rows.iter().position(|row| *row == wanted);
    let (one, other) = (place(one)?, place(other)?);
    rows.get(one.min(other)..=one.max(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(ids: impl IntoIterator<Item = i64>) -> Vec<RowId> {
        ids.into_iter().map(RowId).collect()
    }

    #[test]
    fn a_mark_goes_the_second_time() {
        let mut marks = Marks::default();
        [1, 2, 1].into_iter().for_each(|row| marks.toggle(RowId(row)));
        assert_eq!(marks.rows(), rows([2]));
    }

    #[test]
    fn all_of_them_are_marked_or_none() {
        let mut marks = Marks::default();
        assert!(marks.add(&rows(1..=9_999)));
        assert!(!marks.add(&rows(9_999..=10_001)));
        assert_eq!(marks.count(), 9_999);
        assert!(marks.add(&rows(1..=10_000)));
    }

    #[test]
    fn a_range_goes_both_ways_and_only_over_what_is_known() {
        let all = rows([5, 3, 9, 1]);
        assert_eq!(between(&all, RowId(9), RowId(3)), Some(&rows([3, 9])[..]));
        assert_eq!(between(&all, RowId(1), RowId(1)), Some(&rows([1])[..]));
        assert_eq!(between(&all, RowId(1), RowId(2)), None);
    }

    #[test]
    fn what_is_deleted_begins_no_range() {
        let mut marks = Marks { range: Some(RowId(1)), ..Marks::default() };
        marks.forget(RowId(1));
        assert!(marks.is_empty());
    }
}
