//! How values stand in columns: moments and durations as whole milliseconds.

use std::time::Duration;

use chrono::{DateTime, Utc};
use rusqlite::{Row, RowIndex};

pub(in crate::store) fn moment(at: DateTime<Utc>) -> i64 {
    at.timestamp_millis()
}

pub(in crate::store) fn moment_from(milliseconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(milliseconds).unwrap_or(DateTime::UNIX_EPOCH)
}

/// A moment that may be absent.
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

/// A JSON column that can't be parsed, as the error of the statement that read it.
pub(in crate::store) fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
