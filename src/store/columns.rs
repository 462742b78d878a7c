//! How values stand in columns: moments and spans as milliseconds.

use std::time::Duration;

use chrono::{DateTime, Utc};

pub(super) fn moment(at: DateTime<Utc>) -> i64 {
    at.timestamp_millis()
}

pub(super) fn moment_from(milliseconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(milliseconds).unwrap_or(DateTime::UNIX_EPOCH)
}

pub(super) fn span(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn span_from(milliseconds: i64) -> Duration {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}

/// A JSON column that can't be read, as the error of the statement that read it.
pub(super) fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
