//! The encoding of values in columns: points in time and durations are whole milliseconds.
//!
//! A file can hold values that hoptop never writes: a text that isn't UTF-8, a text where a number belongs. One such
//! value must not hide the rows beside it, so [`lenient`] reads what can be read of it.

use std::{borrow::Cow, time::Duration};

use chrono::{DateTime, Utc};
use rusqlite::{
    Row, RowIndex,
    types::{Value, ValueRef},
};
use serde::{Serialize, de::DeserializeOwned};

/// Returns a point in time as whole milliseconds, for a column.
pub(crate) fn moment(at: DateTime<Utc>) -> i64 {
    at.timestamp_millis()
}

pub(crate) fn moment_from(milliseconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(milliseconds).unwrap_or(DateTime::UNIX_EPOCH)
}

/// Reads a point in time that may be NULL.
pub(crate) fn optional_moment(row: &Row<'_>, column: impl RowIndex) -> rusqlite::Result<Option<DateTime<Utc>>> {
    Ok(lenient::<Option<i64>>(row, column)?.map(moment_from))
}

/// Returns a duration as whole milliseconds, for a column.
pub(crate) fn span(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn span_from(milliseconds: i64) -> Duration {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}

/// Returns the JSON of a value, for a column.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// Reads a value from a JSON column.
pub(crate) fn from_json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| unreadable(column, error))
}

/// Converts the error of a JSON column that can't be parsed into an error of the statement that read the column.
pub(crate) fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

/// Returns the text of a value, with the replacement character where it isn't UTF-8; empty for a number.
pub(crate) fn readable(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => Cow::Borrowed(""),
    }
}

/// A type that reads something from every value.
pub(crate) trait LenientValue: Sized {
    /// Returns the value, or the nearest that this type has.
    fn from_value(value: ValueRef<'_>) -> Self;
}

impl LenientValue for Option<String> {
    fn from_value(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => None,
            text @ (ValueRef::Text(_) | ValueRef::Blob(_)) => Some(readable(text).into_owned()),
            ValueRef::Integer(number) => Some(number.to_string()),
            ValueRef::Real(number) => Some(number.to_string()),
        }
    }
}

impl LenientValue for Value {
    fn from_value(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            text @ ValueRef::Text(_) => Self::Text(readable(text).into_owned()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

impl LenientValue for Option<i64> {
    fn from_value(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Integer(number) => Some(number),
            ValueRef::Null | ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => None,
        }
    }
}

impl LenientValue for Option<bool> {
    fn from_value(value: ValueRef<'_>) -> Self {
        Option::<i64>::from_value(value).map(|number| number != 0)
    }
}

macro_rules! lenient_or_default {
    ($($type:ty as $read:ty),*) => {
        $(impl LenientValue for $type {
            fn from_value(value: ValueRef<'_>) -> Self {
                <$read>::from_value(value).and_then(|value| value.try_into().ok()).unwrap_or_default()
            }
        })*
    };
}

lenient_or_default!(
    String as Option<String>,
    i64 as Option<i64>,
    u64 as Option<i64>,
    u32 as Option<i64>,
    bool as Option<bool>
);

/// Reads a column whatever it holds.
pub(crate) fn lenient<T: LenientValue>(row: &Row<'_>, column: impl RowIndex) -> rusqlite::Result<T> {
    Ok(T::from_value(row.get_ref(column)?))
}

/// Parses a JSON text. Returns `None` and logs it if that can't be done; `description` names the text in the log.
pub(crate) fn parse_or_omit<T: DeserializeOwned>(json: &str, description: std::fmt::Arguments<'_>) -> Option<T> {
    let parsed = serde_json::from_str(json);
    parsed.inspect_err(|error| tracing::warn!("{description} is omitted: {error}")).ok()
}
