//! Lists of any length in pages: the rows that pass a filter, in the filter's order, from a given row on.
//!
//! Each page is a query that begins at a row's position in the order (keyset pagination). With an index, the millionth
//! page costs as much as the first. Two orders have no index: age, which changes with time, and route, whose names come
//! from the chains. A page in these orders costs O(n) in the rows that pass. A snapshot must never be held for longer
//! than a page takes.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use rusqlite::{Row, params_from_iter, types::Value};

use super::{
    condition::SqlCondition,
    order::{self, OrderSegment},
};
use crate::{
    domain::{
        alert::Alert,
        filter::{Direction, Filter},
        ids::RowId,
        record::StatusRecord,
        status::RouterStatus,
        transaction::Transaction,
    },
    store::{
        error::{Result, StoreError},
        reader::Reader,
        statement::CachedStatements,
        tables::{
            alerts::{self, AlertQuery},
            changes, columns,
            search_index::SearchPlan,
            transactions::{self, POLLED},
        },
    },
};

/// A transaction with its active alerts.
#[derive(Clone, Debug, PartialEq)]
pub struct ListRow<R = StatusRecord> {
    /// The transaction, with its record of type `R`.
    pub transaction: Transaction<R>,
    /// The active alerts, oldest first.
    pub alerts: Vec<Alert>,
}

/// The position of a page in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PagePosition {
    /// At the start of the list.
    First,
    /// At the end of the list.
    Last,
    /// Around the first of these rows that is in the list; at the start if none is.
    Around {
        /// The candidate rows, most wanted first.
        rows: Vec<RowId>,
        /// The maximum number of rows before the found row. The found row and the rows after it fill the rest of the
        /// page.
        before: usize,
    },
}

/// The progress of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionOutcome {
    /// The status; `None` before the first answer.
    pub status: Option<RouterStatus>,
    pub is_polled: bool,
    pub is_settled: bool,
    /// Whether a later answer contradicts the status.
    pub is_contradicted: bool,
    /// When the last answer came that was a record or a "not found".
    pub last_checked_at: Option<DateTime<Utc>>,
    /// When the first of the requests failed that got no usable answer since then.
    pub failing_since: Option<DateTime<Utc>>,
}

impl<R> From<&Transaction<R>> for TransactionOutcome {
    fn from(tx: &Transaction<R>) -> Self {
        let state = &tx.state;
        Self {
            status: state.status.clone(),
            is_polled: tx.needs_polling(),
            is_settled: tx.is_settled(),
            is_contradicted: state.conflict.is_some(),
            last_checked_at: state.last_checked_at,
            failing_since: state.failing_since,
        }
    }
}

/// The rows that the caller already has, so that they aren't read again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedRows {
    /// The rows.
    pub rows: BTreeSet<RowId>,
    /// The number of the feed's last entry when the rows were read.
    pub as_of: i64,
}

/// A page of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListPage {
    /// The row numbers of the page, in order.
    pub order: Vec<RowId>,
    /// The rows in the same order, without those that were known and haven't changed.
    pub rows: Vec<ListRow>,
    /// The number of the feed's last entry when the page was read.
    pub as_of: i64,
    /// Whether the list has rows before the page.
    pub has_more_before: bool,
    /// Whether the list has rows after the page.
    pub has_more_behind: bool,
}

/// A list: the rows that pass a filter at a given time, in the filter's order.
pub struct TransactionList<'a> {
    reader: &'a Reader,
    condition: SqlCondition,
    segments: Vec<OrderSegment>,
}

impl Reader {
    /// Returns the list of a filter at `now`.
    pub fn listing(&self, filter: &Filter, now: DateTime<Utc>) -> TransactionList<'_> {
        let condition = SqlCondition::new(filter, now, &|text| SearchPlan::plan(self.db(), text));
        let mut segments = order::segments(filter.sort(), now);
        if condition.is_selective {
            segments = segments.into_iter().map(OrderSegment::without_order_index).collect();
        }
        TransactionList { reader: self, condition, segments }
    }

    /// Returns one transaction with its record and its active alerts.
    pub fn list_row(&self, row: RowId) -> Result<Option<ListRow>> {
        let Some(header) = transactions::header(self.db(), row)? else { return Ok(None) };
        let transaction = transactions::whole(self.db(), header)?;
        Ok(Some(ListRow { transaction, alerts: alerts::load(self.db(), AlertQuery::OfTransaction(row))? }))
    }

    /// Calls `visit` for each of these transactions that still exists, in their order; stops at the first error. Some
    /// rows at a time are read in one snapshot, which costs a third less than single reads. A slow `visit` blocks no
    /// writer and no checkpoint.
    pub fn for_each_row<E: From<StoreError>>(
        &self,
        rows: &[RowId],
        mut visit: impl FnMut(&Transaction, &[Alert]) -> Result<(), E>,
    ) -> Result<(), E> {
        const AT_ONCE: usize = 32;
        for rows in rows.chunks(AT_ONCE) {
            let read = || Ok(rows.iter().filter_map(|row| self.list_row(*row).transpose()).collect());
            let read: Vec<Result<ListRow>> = self.snapshot(read)?;
            for row in read {
                let ListRow { transaction, alerts } = row?;
                visit(&transaction, &alerts)?;
            }
        }
        Ok(())
    }
}

impl TransactionList<'_> {
    /// Returns the page at a position, with at most `length` rows. Costs O(n) in the rows that aren't known if an index
    /// has the order, else in the rows that pass.
    pub fn page(&self, position: PagePosition, length: usize, known: &LoadedRows) -> Result<ListPage> {
        // In one snapshot: otherwise a row that moves in between could appear twice.
        self.reader.snapshot(|| {
            let mut page = match position {
                PagePosition::First => self.first_page(length),
                PagePosition::Last => self.last_page(length),
                PagePosition::Around { rows, before } => match self.first_of(&rows)? {
                    Some(row) => self.page_around(row, before, length.saturating_sub(before)),
                    None => self.first_page(length),
                },
            }?;
            self.load_rows(&mut page, known)?;
            Ok(page)
        })
    }

    fn first_page(&self, length: usize) -> Result<ListPage> {
        // One extra row shows whether the list goes on.
        let rows = self.row_ids(None, Direction::Forwards, length + 1)?;
        Ok(build_page(Vec::new(), 0, rows, length))
    }

    fn last_page(&self, length: usize) -> Result<ListPage> {
        let rows = self.row_ids(None, Direction::Backwards, length + 1)?;
        Ok(build_page(rows, length, Vec::new(), 0))
    }

    fn page_around(&self, row: RowId, before: usize, behind: usize) -> Result<ListPage> {
        let Some(position) = self.position(row)? else { return self.first_page(before + behind) };
        let others = self.row_ids(Some(&position), Direction::Forwards, behind)?;
        let rows_before = self.row_ids(Some(&position), Direction::Backwards, before + 1)?;
        Ok(build_page(rows_before, before, [vec![row], others].concat(), behind))
    }

    /// Reads the current state of the page's rows that aren't known or have changed.
    fn load_rows(&self, page: &mut ListPage, known: &LoadedRows) -> Result<()> {
        page.as_of = changes::last(self.reader.db())?;
        let changed = match known.rows.is_empty() {
            true => None,
            false => changes::rows_after(self.reader.db(), known.as_of)?,
        };
        let is_known =
            |row: &RowId| known.rows.contains(row) && changed.as_ref().is_some_and(|changed| !changed.contains(row));
        for row in page.order.iter().filter(|row| !is_known(row)) {
            page.rows.extend(self.reader.list_row(*row)?);
        }
        Ok(())
    }

    /// Returns the numbers of all rows, in order. Takes 8 bytes per row.
    pub fn all(&self) -> Result<Vec<RowId>> {
        self.row_ids(None, Direction::Forwards, usize::MAX)
    }

    /// Like [`Self::all`], but returns `None` if the list has more than `limit` rows.
    pub fn at_most(&self, limit: usize) -> Result<Option<Vec<RowId>>> {
        let rows = self.row_ids(None, Direction::Forwards, limit.saturating_add(1))?;
        Ok((rows.len() <= limit).then_some(rows))
    }

    /// Returns the rows between two rows, including both, in the order of the list; `None` if there are more than
    /// `limit`. The row `from` is included even if it is no longer in the list.
    pub fn between(&self, from: RowId, to: RowId, limit: usize) -> Result<Option<Vec<RowId>>> {
        // In one snapshot: otherwise a row that moves in between could hide the row `to`.
        self.reader.snapshot(|| {
            let mut found = self.rows_to(from, to, Direction::Forwards, limit)?;
            if found.is_none() {
                found = self.rows_to(from, to, Direction::Backwards, limit)?;
                found.iter_mut().for_each(|rows| rows.reverse());
            }
            Ok(found)
        })
    }

    fn rows_to(&self, from: RowId, to: RowId, direction: Direction, limit: usize) -> Result<Option<Vec<RowId>>> {
        let Some(position) = self.position(from)? else { return Ok(None) };
        let others = self.row_ids(Some(&position), direction, limit.saturating_sub(1))?;
        let rows = [vec![from], others].concat();
        let end = rows.iter().position(|row| *row == to);
        Ok(end.and_then(|end| rows.get(..=end)).map(<[RowId]>::to_vec))
    }

    /// Returns the progress of all rows, in no particular order.
    pub fn outcomes(&self) -> Result<Vec<(RowId, TransactionOutcome)>> {
        let sql = format!(
            "SELECT id, status, {POLLED}, last_checked_at, failing_since, conflict IS NOT NULL,
             settled_at IS NOT NULL FROM transactions WHERE {}",
            self.condition.sql
        );
        self.reader.db().all(&sql, params_from_iter(&self.condition.parameters), |row| {
            let outcome = TransactionOutcome {
                status: columns::lenient::<Option<String>>(row, 1)?.map(RouterStatus::from),
                is_polled: row.get(2)?,
                last_checked_at: columns::optional_moment(row, 3)?,
                failing_since: columns::optional_moment(row, 4)?,
                is_contradicted: row.get(5)?,
                is_settled: row.get(6)?,
            };
            Ok((RowId(row.get(0)?), outcome))
        })
    }

    /// Returns the number of rows. Costs O(n) in the rows that the filter's index selects.
    pub fn count(&self) -> Result<u64> {
        // Without a `WHERE` clause SQLite counts entries page by page, without looking at each row.
        let sql = match self.condition.is_always_true() {
            true => "SELECT count(*) FROM transactions".to_owned(),
            false => format!("SELECT count(*) FROM transactions WHERE {}", self.condition.sql),
        };
        let parameters = params_from_iter(&self.condition.parameters);
        Ok(self.reader.db().prepare_cached(&sql)?.query_row(parameters, |row| row.get(0))?)
    }

    /// Returns the number of rows before a row. Costs O(n) in these rows.
    pub fn count_before(&self, row: RowId) -> Result<u64> {
        let Some(position) = self.position(row)? else { return Ok(0) };
        let count = |(_, SqlCondition { sql, parameters, .. }): (&OrderSegment, SqlCondition)| {
            let sql = format!("SELECT count(*) FROM transactions WHERE {sql}");
            let mut statement = self.reader.db().prepare_cached(&sql)?;
            Ok(statement.query_row(params_from_iter(parameters), |row| row.get::<_, u64>(0))?)
        };
        self.conditions(Some(&position), Direction::Backwards).into_iter().map(count).sum()
    }

    /// Returns the row that follows a row in this direction. After the last row comes the first; `None` if the list is
    /// empty.
    pub fn next_around(&self, row: RowId, direction: Direction) -> Result<Option<RowId>> {
        let first = |from: Option<&RowPosition>| Ok(self.row_ids(from, direction, 1)?.first().copied());
        match self.position(row)?.map_or(Ok(None), |position| first(Some(&position)))? {
            None => first(None),
            next => Ok(next),
        }
    }

    fn row_ids(&self, from: Option<&RowPosition>, direction: Direction, limit: usize) -> Result<Vec<RowId>> {
        let mut found = Vec::new();
        for (segment, SqlCondition { sql, mut parameters, .. }) in self.conditions(from, direction) {
            let missing = limit - found.len();
            if missing > 0 {
                let order = segment.order(direction);
                let sql = format!("SELECT id FROM transactions WHERE {sql} ORDER BY {order} LIMIT ?");
                parameters.push(Value::Integer(i64::try_from(missing).unwrap_or(i64::MAX)));
                found.extend(self.reader.db().all(&sql, params_from_iter(parameters), |row| row.get(0).map(RowId))?);
            }
        }
        Ok(found)
    }

    /// Returns the conditions for the rows of the list, or for those after a position, in the order of their rows; each
    /// with its segment.
    fn conditions(&self, from: Option<&RowPosition>, direction: Direction) -> Vec<(&OrderSegment, SqlCondition)> {
        let mut segments: Vec<_> = self.segments.iter().enumerate().collect();
        if direction == Direction::Backwards {
            segments.reverse();
        }
        let is_passed = |(index, _): &(usize, &OrderSegment)| from.is_some_and(|from| from.segment != *index);
        let mut conditions = Vec::new();
        for (index, segment) in segments.into_iter().skip_while(is_passed) {
            let own = self.condition.clone().and(&segment.condition, &[]);
            let Some(position) = from.filter(|from| from.segment == index) else {
                conditions.push((segment, own));
                continue;
            };
            let parts = segment.rows_after(&position.values, direction).into_iter();
            let part = |(sql, parameters): (String, Vec<Value>)| own.clone().and(&format!("({sql})"), &parameters);
            conditions.extend(parts.map(|rows| (segment, part(rows))));
        }
        conditions
    }

    /// Returns a row's position in the order, whether or not the row passes the filter; `None` if there is no such row.
    fn position(&self, row: RowId) -> Result<Option<RowPosition>> {
        for (index, segment) in self.segments.iter().enumerate() {
            let sql = format!(
                "SELECT {} FROM transactions WHERE id = ? AND {}",
                segment.position_columns(),
                segment.condition
            );
            let read = |row: &Row<'_>| {
                let count = row.as_ref().column_count();
                (0..count).map(|column| columns::lenient(row, column)).collect::<Result<Vec<Value>, _>>()
            };
            if let Some(values) = self.reader.db().first(&sql, [row.0], read)? {
                return Ok(Some(RowPosition { segment: index, values }));
            }
        }
        Ok(None)
    }

    /// Returns which of these rows the list has, with one query.
    pub fn among(&self, rows: &[RowId]) -> Result<BTreeSet<RowId>> {
        let sql = format!(
            "SELECT id FROM transactions WHERE id IN (SELECT value FROM json_each(?)) AND {}",
            self.condition.sql
        );
        let wanted = Value::Text(columns::to_json(&rows.iter().map(|row| row.0).collect::<Vec<_>>())?);
        let values = std::iter::once(&wanted).chain(&self.condition.parameters);
        let found = self.reader.db().all(&sql, params_from_iter(values), |row| row.get(0).map(RowId))?;
        Ok(found.into_iter().collect())
    }

    /// Returns the first of these rows that is in the list.
    fn first_of(&self, rows: &[RowId]) -> Result<Option<RowId>> {
        let sql = format!("SELECT 1 FROM transactions WHERE {} AND id = ?", self.condition.sql);
        let mut statement = self.reader.db().prepare_cached(&sql)?;
        for row in rows {
            let own = [Value::Integer(row.0)];
            if statement.exists(params_from_iter(self.condition.parameters.iter().chain(&own)))? {
                return Ok(Some(*row));
            }
        }
        Ok(None)
    }
}

/// Builds a page from the rows before a position (nearest first) and from it on, each with the maximum number to take.
fn build_page(before: Vec<RowId>, limit_before: usize, behind: Vec<RowId>, limit_behind: usize) -> ListPage {
    let (has_more_before, has_more_behind) = (before.len() > limit_before, behind.len() > limit_behind);
    let order = before.into_iter().take(limit_before).rev().chain(behind.into_iter().take(limit_behind)).collect();
    ListPage { order, has_more_before, has_more_behind, ..ListPage::default() }
}

/// The position of a row in an order: its segment, and its values of the sort keys.
struct RowPosition {
    segment: usize,
    values: Vec<Value>,
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
