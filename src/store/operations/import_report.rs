//! The report of an import: the added, changed and unchanged transactions.
//!
//! A report lists at most a thousand items of each kind, so that its size doesn't grow with the batch.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::{
    domain::{ids::RowId, text},
    store::{error::Result, statement::CachedStatements, tables::transactions::POLLED},
};

/// The most items of each kind that a report lists.
const MAX_LISTED: usize = 1_000;

/// The number of items; `listed` has the first thousand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemCount<T> {
    pub count: usize,
    pub listed: Vec<T>,
}

impl<T> Default for ItemCount<T> {
    fn default() -> Self {
        Self { count: 0, listed: Vec::new() }
    }
}

impl<T> ItemCount<T> {
    pub(super) fn push(&mut self, item: T) {
        self.count += 1;
        if self.listed.len() < MAX_LISTED {
            self.listed.push(item);
        }
    }
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Transactions that are tracked from now on.
    pub added: ItemCount<RowId>,
    /// Known transactions that were changed, with the names of the changed fields.
    pub updated: ItemCount<(RowId, Vec<String>)>,
    /// Known transactions that were not changed.
    pub unchanged: ItemCount<RowId>,
    /// Added transactions with missing fields that were filled in from the route's quote.
    pub completed: ItemCount<(RowId, Vec<&'static str>)>,
    /// The number of added transactions that another profile polls too, by that profile's name.
    pub elsewhere: BTreeMap<String, usize>,
}

impl ImportReport {
    /// Returns one transaction of the batch: the first that was added, else updated, else unchanged.
    pub fn first(&self) -> Option<RowId> {
        let updated = self.updated.listed.first().map(|(row, _)| row);
        self.added.listed.first().or(updated).or(self.unchanged.listed.first()).copied()
    }

    /// Returns a text about transactions that other profiles poll too, each at the cost of its own ID.
    pub fn other_profiles_notice(&self) -> Option<String> {
        let others = self.elsewhere.iter();
        let others: Vec<_> = others.map(|(profile, count)| format!("{count} in {}", text::clean(profile))).collect();
        (!others.is_empty()).then(|| format!("also tracked in other profiles: {}", others.join(", ")))
    }

    /// Counts the added transactions, up to `last`, that other profiles poll too. The indexes must be complete. The
    /// cost is linear in the added rows, unless no other profile polls anything.
    pub(super) fn count_in_other_profiles(mut self, db: &Connection, last: Option<RowId>) -> Result<Self> {
        let (Some(first), Some(last)) = (self.added.listed.first(), last) else { return Ok(self) };
        let others = format!(
            "SELECT EXISTS (SELECT 1 FROM transactions WHERE {POLLED} AND profile < own.profile)
             OR EXISTS (SELECT 1 FROM transactions WHERE {POLLED} AND profile > own.profile)
             FROM transactions AS own WHERE id = ?"
        );
        if !db.one(&others, [first.0], |row| row.get::<_, bool>(0))? {
            return Ok(self);
        }
        let sql = "SELECT other.profile, count(*) FROM transactions AS own JOIN transactions AS other USING (transaction_key, from_chain)
                   WHERE own.id BETWEEN ? AND ? AND own.untracked = 0 AND other.profile <> own.profile
                   AND other.settled_at IS NULL AND other.untracked = 0 AND other.parked_reason IS NULL
                   GROUP BY other.profile";
        self.elsewhere = db.all(sql, [first.0, last.0], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect();
        Ok(self)
    }
}

#[cfg(test)]
mod testing {
    use super::ItemCount;

    impl<T> FromIterator<T> for ItemCount<T> {
        fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
            let mut counted = Self::default();
            all.into_iter().for_each(|item| counted.push(item));
            counted
        }
    }
}
