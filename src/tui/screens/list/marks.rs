//! The marked transactions, on which a command works together.
//!
//! A mark belongs to a transaction, never to a row. Marks stay when order, filter or saved view change: a person can
//! mark transactions of several views. Marks end when a command completes all marked transactions, or when a
//! transaction is deleted.

use std::collections::BTreeSet;

use crate::domain::ids::RowId;

/// The marked transactions.
#[derive(Debug, Default)]
pub struct Marks {
    rows: BTreeSet<RowId>,
    /// The first transaction of an open range, which ends at the selected transaction.
    pub range: Option<RowId>,
}

impl Marks {
    /// The most transactions that can be marked at once.
    pub const MAX_MARKS: usize = 10_000;

    /// Returns the number of marked transactions.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// Whether no transaction is marked and no range is open.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.range.is_none()
    }

    /// Whether a transaction is marked.
    pub fn contains(&self, row: RowId) -> bool {
        self.rows.contains(&row)
    }

    /// Returns the marked transactions.
    pub fn rows(&self) -> Vec<RowId> {
        self.rows.iter().copied().collect()
    }

    /// Marks a transaction, or removes its mark.
    pub fn toggle(&mut self, row: RowId) {
        if !self.rows.remove(&row) {
            self.rows.insert(row);
        }
    }

    /// Marks these transactions too. Returns `false` and marks none if there would be more than [`Self::MAX_MARKS`] marks.
    pub fn add(&mut self, rows: &[RowId]) -> bool {
        let new = rows.iter().filter(|row| !self.contains(**row)).count();
        let fits = self.count() + new <= Self::MAX_MARKS;
        if fits {
            self.rows.extend(rows);
        }
        fits
    }

    /// Removes all marks.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Removes all marks if a command completed exactly the marked transactions.
    pub fn clear_if_completed(&mut self, rows: &[RowId]) {
        if !self.rows.is_empty() && self.rows.iter().eq(rows) {
            self.clear();
        }
    }

    /// Removes the mark of a deleted transaction.
    pub fn forget(&mut self, row: RowId) {
        self.rows.remove(&row);
        self.range = self.range.filter(|begin| *begin != row);
    }
}

/// Returns the rows between two rows, in either order, both included; `None` if one of the two isn't in `rows`.
pub(crate) fn between(rows: &[RowId], one: RowId, other: RowId) -> Option<&[RowId]> {
    let position = |wanted| rows.iter().position(|row| *row == wanted);
    let (one, other) = (position(one)?, position(other)?);
    rows.get(one.min(other)..=one.max(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(ids: impl IntoIterator<Item = i64>) -> Vec<RowId> {
        ids.into_iter().map(RowId).collect()
    }

    #[test]
    fn a_second_toggle_removes_the_mark() {
        let mut marks = Marks::default();
        [1, 2, 1].into_iter().for_each(|row| marks.toggle(RowId(row)));
        assert_eq!(marks.rows(), rows([2]));
    }

    #[test]
    fn either_all_rows_are_marked_or_none() {
        let mut marks = Marks::default();
        assert!(marks.add(&rows(1..=9_999)));
        assert!(!marks.add(&rows(9_999..=10_001)));
        assert_eq!(marks.count(), 9_999);
        assert!(marks.add(&rows(1..=10_000)));
    }

    #[test]
    fn a_range_works_in_both_directions_and_only_within_the_rows() {
        let all = rows([5, 3, 9, 1]);
        assert_eq!(between(&all, RowId(9), RowId(3)), Some(&rows([3, 9])[..]));
        assert_eq!(between(&all, RowId(1), RowId(1)), Some(&rows([1])[..]));
        assert_eq!(between(&all, RowId(1), RowId(2)), None);
    }

    #[test]
    fn a_deleted_transaction_ends_its_range() {
        let mut marks = Marks { range: Some(RowId(1)), ..Marks::default() };
        marks.forget(RowId(1));
        assert!(marks.is_empty());
    }
}
