//! Cached statements: one call for a write, for one row, and for all rows.
//!
//! Statements stay prepared, so a caller must never put a value into the text of one: a value is a parameter.

use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::error::Result;

/// Runs a statement that the connection keeps prepared.
pub(crate) trait CachedStatements {
    fn connection(&self) -> &Connection;

    /// Runs a statement that returns no rows.
    fn run(&self, sql: &str, params: impl Params) -> Result<()> {
        self.change(sql, params).map(drop)
    }

    /// Like [`Self::run`]; returns the number of changed rows.
    fn change(&self, sql: &str, params: impl Params) -> Result<usize> {
        Ok(self.connection().prepare_cached(sql)?.execute(params)?)
    }

    /// Whether a query has a row.
    fn has_row(&self, sql: &str, params: impl Params) -> Result<bool> {
        Ok(self.connection().prepare_cached(sql)?.exists(params)?)
    }

    /// Returns the row of a query that always has one.
    fn one<T>(&self, sql: &str, params: impl Params, read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>) -> Result<T> {
        Ok(self.connection().prepare_cached(sql)?.query_row(params, read)?)
    }

    /// Returns the first row, if there is one.
    fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.connection().prepare_cached(sql)?.query_row(params, read).optional()?)
    }

    /// Returns all rows.
    fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        Ok(self.connection().prepare_cached(sql)?.query_map(params, read)?.collect::<rusqlite::Result<_>>()?)
    }

    /// Like [`Self::all`], without the rows that have a value that can't be read. `description` names such a row in the
    /// log.
    fn all_readable<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        description: &str,
    ) -> Result<Vec<T>> {
        use rusqlite::Error::{FromSqlConversionFailure, InvalidColumnType};
        let mut found = Vec::new();
        for row in self.connection().prepare_cached(sql)?.query_map(params, read)? {
            match row {
                Err(error @ (FromSqlConversionFailure(..) | InvalidColumnType(..))) => {
                    tracing::warn!("{description} is omitted: {error}");
                }
                row => found.push(row?),
            }
        }
        Ok(found)
    }
}

impl CachedStatements for Connection {
    fn connection(&self) -> &Connection {
        self
    }
}
