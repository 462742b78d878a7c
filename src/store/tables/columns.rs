//! The encoding of values in columns: points in time and durations are whole milliseconds.

use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::{Row, RowIndex};

pub(in crate::store) fn moment(at: DateTime<Utc>) -> i64 {
    at.timestamp_millis()
}

pub(in crate::store) fn moment_from(milliseconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(milliseconds).unwrap_or(DateTime::UNIX_EPOCH)
}

/// Reads a point in time that may be NULL.
pub(in crate::store) fn optional_moment(
    row: &Row<'_>,
    column: impl RowIndex,
) -> rusqlite::Result<Option<DateTime<Utc>>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(moment_from))
}

pub(in crate::store) fn span(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

pub(in crate::store) fn span_from(milliseconds: i64) -> Duration {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}

/// Converts the error of a JSON column that can't be parsed into an error of the statement that read the column.
pub(in crate::store) fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
