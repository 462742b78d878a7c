//! Lists of any length, a page at a time: which rows pass a filter, in its order, from one row on.
//!
//! Each page is one query that begins at a row's place in the order (keyset), so that the millionth costs what the first does
//! wherever an index has the order: all of them do but age, which goes on, and route, whose names the chains bring. Of these two
//! a page costs n in what passes. It never holds a snapshot longer than its page takes.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter, types::Value};

use super::{
    condition::Condition,
    order::{self, Direction, Stretch},
};
use crate::{
    domain::{
        alert::Alert,
        filter::{
            Filter,
            term::{Term, Test},
        },
        ids::RowId,
        record::{RecordSummary, StatusRecord},
        status::RouterStatus,
        transaction::Transaction,
    },
    store::{
        error::StoreError,
        file::connection,
        reader::Reader,
        tables::{
            alerts::{self, AlertQuery},
            changes,
            transactions::{self, POLLED},
        },
    },
};

/// A transaction with its active alerts.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed<R = StatusRecord> {
    /// The transaction, with as much of its record as `R` holds.
    pub transaction: Transaction<R>,
    /// Its alerts, the oldest first.
    pub alerts: Vec<Alert>,
}

/// Where a page lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the beginning.
    First,
    /// At the end.
    Last,
    /// Around the first of these rows that is in the list; at the beginning if none is.
    Around {
        /// The rows, the most wanted first.
        rows: Vec<RowId>,
        /// At most so many rows before it; with it the others.
        before: usize,
    },
}

/// How far a transaction is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Its status; `None` before the first answer.
    pub status: Option<RouterStatus>,
    /// Whether it is to be polled.
    pub is_polled: bool,
}

impl<R> From<&Transaction<R>> for Progress {
    fn from(tx: &Transaction<R>) -> Self {
        Self { status: tx.state.status.clone(), is_polled: tx.wants_polling() }
    }
}

/// What who reads a page has already, so that it isn't read again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// The rows.
    pub rows: BTreeSet<RowId>,
    /// How far the feed was when they were read.
    pub as_of: i64,
}

/// A part of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The numbers of its rows, in order.
    pub order: Vec<RowId>,
    /// The rows in that order, but for those that were known and haven't changed since.
    pub rows: Vec<Listed>,
    /// How far the feed was when it was read.
    pub as_of: i64,
    /// Whether there are rows before these.
    pub more_before: bool,
    /// Whether there are rows behind these.
    pub more_behind: bool,
}

/// A list: what passes a filter at a moment, in its order.
pub struct Listing<'a> {
    db: &'a Connection,
    condition: Condition,
    stretches: Vec<Stretch>,
}

impl Reader {
    /// What passes a filter at a moment, in the filter's order.
    pub fn listing(&self, filter: &Filter, now: DateTime<Utc>) -> Listing<'_> {
        Listing::new(self.db(), filter, now)
    }

    /// One transaction with its active alerts.
    pub fn listed(&self, row: RowId) -> Result<Option<Listed>, StoreError> {
        listed(self.db(), row)
    }

    /// Adds the record to a transaction that [`Self::listed_header`] read.
    pub fn with_record(&self, listed: Listed<RecordSummary>) -> Result<Listed, StoreError> {
        with_record(self.db(), listed)
    }

    /// One transaction without its record, with its active alerts.
    pub fn listed_header(&self, row: RowId) -> Result<Option<Listed<RecordSummary>>, StoreError> {
        listed_header(self.db(), row)
    }

    /// Hands out each of these transactions that is still there, in their order; ends at the first error. Each is read by itself,
    /// so that a slow taker holds nobody up.
    pub fn each<E: From<StoreError>>(
        &self,
        rows: &[RowId],
        mut each: impl FnMut(&Transaction, &[Alert]) -> Result<(), E>,
    ) -> Result<(), E> {
        for row in rows {
            if let Some(Listed { transaction, alerts }) = self.listed(*row)? {
                each(&transaction, &alerts)?;
            }
        }
        Ok(())
    }
}

impl<'a> Listing<'a> {
    fn new(db: &'a Connection, filter: &Filter, now: DateTime<Utc>) -> Self {
        // A label may be on a hundred thousand.
        let is_of_few = |term: &Term| !term.negated && matches!(term.test, Test::Ticket(_));
        let mut stretches = order::stretches(filter.sort(), now);
        if filter.terms().iter().any(is_of_few) {
            stretches = stretches.into_iter().map(Stretch::of_few).collect();
        }
        Self { db, condition: Condition::new(filter, now), stretches }
    }

    /// The page at a place, of at most `length` rows. Costs what it holds that isn't known wherever an index has the order, and
    /// else n in what passes.
    pub fn page(&self, place: Place, length: usize, known: &Known) -> Result<Page, StoreError> {
        // Or a row that moves meanwhile would be there twice.
        connection::snapshot(self.db, || {
            let mut page = match place {
                Place::First => self.begin(length),
                Place::Last => self.end(length),
                Place::Around { rows, before } => match self.first_of(&rows)? {
                    Some(row) => self.around(row, (before, length.saturating_sub(before))),
                    None => self.begin(length),
                },
            }?;
            self.read(&mut page, known)?;
            Ok(page)
        })
    }

    fn begin(&self, length: usize) -> Result<Page, StoreError> {
        // One more says whether there are more.
        let rows = self.rows(None, Direction::Forwards, length + 1)?;
        Ok(page_of((Vec::new(), 0), (rows, length)))
    }

    fn end(&self, length: usize) -> Result<Page, StoreError> {
        let rows = self.rows(None, Direction::Backwards, length + 1)?;
        Ok(page_of((rows, length), (Vec::new(), 0)))
    }

    fn around(&self, row: RowId, (before, behind): (usize, usize)) -> Result<Page, StoreError> {
        let Some(standing) = self.standing(row)? else { return self.begin(before + behind) };
        let others = self.rows(Some(&standing), Direction::Forwards, behind)?;
        let rows_before = self.rows(Some(&standing), Direction::Backwards, before + 1)?;
        Ok(page_of((rows_before, before), ([vec![row], others].concat(), behind)))
    }

    /// Reads the rows of a page that aren't known as they are now.
    fn read(&self, page: &mut Page, known: &Known) -> Result<(), StoreError> {
        page.as_of = changes::last(self.db)?;
        let changed = match known.rows.is_empty() {
            true => None,
            false => changes::rows_after(self.db, known.as_of)?,
        };
        let is_known =
            |row: &RowId| known.rows.contains(row) && changed.as_ref().is_some_and(|changed| !changed.contains(row));
        for row in page.order.iter().filter(|row| !is_known(row)) {
            page.rows.extend(listed(self.db, *row)?);
        }
        Ok(())
    }

    /// The numbers of all rows, in order: 8 bytes each.
    pub fn all(&self) -> Result<Vec<RowId>, StoreError> {
        self.rows(None, Direction::Forwards, usize::MAX)
    }

    /// The same of a list that isn't longer than `most`; `None` of one that is.
    pub fn at_most(&self, most: usize) -> Result<Option<Vec<RowId>>, StoreError> {
        let rows = self.rows(None, Direction::Forwards, most.saturating_add(1))?;
        Ok((rows.len() <= most).then_some(rows))
    }

    /// The rows from one to another, both with them, whichever comes first; `None` if they are more than `most`. The one counts
    /// where it stands, in the list or not any more.
    pub fn between(&self, one: RowId, other: RowId, most: usize) -> Result<Option<Vec<RowId>>, StoreError> {
        // Or a row that moves meanwhile would hide the other end.
        connection::snapshot(self.db, || {
            let mut found = self.reach((one, other), Direction::Forwards, most)?;
            if found.is_none() {
                found = self.reach((one, other), Direction::Backwards, most)?;
                found.iter_mut().for_each(|rows| rows.reverse());
            }
            Ok(found)
        })
    }

    fn reach(&self, (from, to): (RowId, RowId), way: Direction, most: usize) -> Result<Option<Vec<RowId>>, StoreError> {
        let Some(standing) = self.standing(from)? else { return Ok(None) };
        let others = self.rows(Some(&standing), way, most.saturating_sub(1))?;
        let rows = [vec![from], others].concat();
        let end = rows.iter().position(|row| *row == to);
        Ok(end.and_then(|end| rows.get(..=end)).map(<[RowId]>::to_vec))
    }

    /// Of all rows how far each is, in no order.
    pub fn outcomes(&self) -> Result<Vec<(RowId, Progress)>, StoreError> {
        let mut found = Vec::new();
        let sql = format!("SELECT id, status, {POLLED} FROM transactions WHERE {}", self.condition.sql);
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(&self.condition.parameters))?;
        while let Some(row) = rows.next()? {
            let status = row.get::<_, Option<String>>(1)?.map(RouterStatus::from);
            found.push((RowId(row.get(0)?), Progress { status, is_polled: row.get(2)? }));
        }
        Ok(found)
    }

    /// How many rows there are. Costs n in what the filter's index leaves.
    pub fn count(&self) -> Result<u64, StoreError> {
        // SQLite counts the rows of a whole table by its pages, if it isn't asked to look at each of them.
        let sql = match self.condition.is_always_true() {
            true => "SELECT count(*) FROM transactions".to_owned(),
            false => format!("SELECT count(*) FROM transactions WHERE {}", self.condition.sql),
        };
        let parameters = params_from_iter(&self.condition.parameters);
        Ok(self.db.prepare_cached(&sql)?.query_row(parameters, |row| row.get(0))?)
    }

    /// How many rows there are before one; costs n in these.
    pub fn count_before(&self, row: RowId) -> Result<u64, StoreError> {
        let Some(standing) = self.standing(row)? else { return Ok(0) };
        let mut count = 0;
        for (index, stretch) in self.stretches.iter().enumerate().take(standing.stretch + 1) {
            let own = self.condition.clone().and(&stretch.condition, &[]);
            let conditions = match index == standing.stretch {
                true => behind(&own, stretch, &standing, Direction::Backwards),
                false => vec![own],
            };
            for Condition { sql, parameters } in conditions {
                let sql = format!("SELECT count(*) FROM transactions WHERE {sql}");
                let parameters = params_from_iter(parameters);
                count += self.db.prepare_cached(&sql)?.query_row(parameters, |row| row.get::<_, u64>(0))?;
            }
        }
        Ok(count)
    }

    /// The row that stands next to one, behind it or before it.
    pub fn next(&self, row: RowId, forwards: bool) -> Result<Option<RowId>, StoreError> {
        let way = if forwards { Direction::Forwards } else { Direction::Backwards };
        let Some(standing) = self.standing(row)? else { return Ok(None) };
        Ok(self.rows(Some(&standing), way, 1)?.first().copied())
    }

    /// The row that stands first, or last.
    pub fn outermost(&self, first: bool) -> Result<Option<RowId>, StoreError> {
        let way = if first { Direction::Forwards } else { Direction::Backwards };
        Ok(self.rows(None, way, 1)?.first().copied())
    }

    fn rows(&self, from: Option<&RowPosition>, way: Direction, most: usize) -> Result<Vec<RowId>, StoreError> {
        let mut found = Vec::new();
        let last = self.stretches.len().saturating_sub(1);
        for step in 0..self.stretches.len() {
            let index = if way == Direction::Forwards { step } else { last - step };
            let Some(stretch) = self.stretches.get(index) else { continue };
            let place = from.filter(|standing| standing.stretch == index);
            let passed = from.is_some_and(|standing| match way {
                Direction::Forwards => index < standing.stretch,
                Direction::Backwards => index > standing.stretch,
            });
            if passed {
                continue;
            }
            for query in self.queries(stretch, place, way) {
                if found.len() < most {
                    found.extend(self.read_rows(query, most - found.len())?);
                }
            }
        }
        Ok(found)
    }

    fn read_rows(&self, (sql, mut parameters): (String, Vec<Value>), most: usize) -> Result<Vec<RowId>, StoreError> {
        parameters.push(Value::Integer(i64::try_from(most).unwrap_or(i64::MAX)));
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(parameters), |row| row.get(0).map(RowId))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The queries for the rows of a stretch, one after the other; the last parameter of each is how many.
    fn queries(&self, stretch: &Stretch, from: Option<&RowPosition>, way: Direction) -> Vec<(String, Vec<Value>)> {
        let own = self.condition.clone().and(&stretch.condition, &[]);
        let conditions = match from {
            Some(standing) => behind(&own, stretch, standing, way),
            None => vec![own],
        };
        let query = |Condition { sql, parameters }| {
            (format!("SELECT id FROM transactions WHERE {sql} ORDER BY {} LIMIT ?", stretch.order(way)), parameters)
        };
        conditions.into_iter().map(query).collect()
    }

    /// Where a row stands, whether it passes or not; nothing of one that isn't there.
    fn standing(&self, row: RowId) -> Result<Option<RowPosition>, StoreError> {
        for (index, stretch) in self.stretches.iter().enumerate() {
            let sql = format!("SELECT {} FROM transactions WHERE id = ? AND {}", stretch.place(), stretch.condition);
            let mut statement = self.db.prepare_cached(&sql)?;
            let columns = statement.column_count();
            let read = |row: &Row<'_>| (0..columns).map(|column| row.get(column)).collect::<Result<Vec<Value>, _>>();
            if let Some(values) = statement.query_row([row.0], read).optional()? {
                return Ok(Some(RowPosition { stretch: index, values }));
            }
        }
        Ok(None)
    }

    /// The first of these rows that is in the list.
    fn first_of(&self, rows: &[RowId]) -> Result<Option<RowId>, StoreError> {
        let sql = format!("SELECT 1 FROM transactions WHERE {} AND id = ?", self.condition.sql);
        let mut statement = self.db.prepare_cached(&sql)?;
        for row in rows {
            let own = [Value::Integer(row.0)];
            if statement.exists(params_from_iter(self.condition.parameters.iter().chain(&own)))? {
                return Ok(Some(*row));
            }
        }
        Ok(None)
    }
}

fn listed(db: &Connection, row: RowId) -> Result<Option<Listed>, StoreError> {
    listed_header(db, row)?.map(|listed| with_record(db, listed)).transpose()
}

fn with_record(db: &Connection, listed: Listed<RecordSummary>) -> Result<Listed, StoreError> {
    let Listed { transaction, alerts } = listed;
    Ok(Listed { alerts, transaction: transactions::whole(db, transaction)? })
}

fn listed_header(db: &Connection, row: RowId) -> Result<Option<Listed<RecordSummary>>, StoreError> {
    let Some(transaction) = transactions::header(db, row)? else { return Ok(None) };
    Ok(Some(Listed { transaction, alerts: alerts::load(db, AlertQuery::OfTransaction(row))? }))
}

/// The page of so many of the rows before a place, the nearest first, and so many of those from it on.
fn page_of(before: (Vec<RowId>, usize), behind: (Vec<RowId>, usize)) -> Page {
    let (more_before, more_behind) = (before.0.len() > before.1, behind.0.len() > behind.1);
    let order = before.0.into_iter().take(before.1).rev().chain(behind.0.into_iter().take(behind.1)).collect();
    Page { order, more_before, more_behind, ..Page::default() }
}

/// A condition for the rows behind one, in parts.
fn behind(own: &Condition, stretch: &Stretch, standing: &RowPosition, way: Direction) -> Vec<Condition> {
    let parts = stretch.behind(&standing.values, way).into_iter();
    parts.map(|(sql, parameters)| own.clone().and(&format!("({sql})"), &parameters)).collect()
}

/// Where a row stands in an order.
struct RowPosition {
    stretch: usize,
    values: Vec<Value>,
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
