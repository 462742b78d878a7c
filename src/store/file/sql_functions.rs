//! SQL functions for comparisons that SQLite lacks: words without case, patterns, names of chains.
//!
//! Each function is pure and treats a text as `domain::filter` does, so that SQL and the filter in memory find the same
//! transactions.

use std::sync::Arc;

use regex::Regex;
use rusqlite::{
    Connection, Result,
    functions::{Context, FunctionFlags},
    types::{FromSqlError, ValueRef},
};

use crate::{
    domain::{chains, filter::term, people},
    store::{row_checksum, tables::columns},
};

/// Registers the functions on a connection.
pub(crate) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    row_checksum::register(connection)?;
    let comparisons: [(&str, i32, Comparison); 4] = [
        ("contains_ignoring_case", -1, term::contains_ignoring_case),
        ("contains_exactly", -1, |text, part| text.contains(part)),
        ("equals_ignoring_case", 2, term::equals_ignoring_case),
        ("is_author", 2, people::is_author),
    ];
    for (name, arguments, matches) in comparisons {
        connection.create_scalar_function(name, arguments, flags, move |call| any_argument_matches(call, matches))?;
    }
    connection.create_scalar_function("matches_pattern", -1, flags, |call| {
        let pattern = call.get_or_create_aux(0, |value| Ok::<_, BoxError>(Regex::new(value.as_str()?)?))?;
        any_matches(call, |text| pattern.is_match(text))
    })?;
    connection.create_scalar_function("is_chain_called", 3, flags, |call| {
        let [wanted, id, name] = [0, 1, 2].map(|argument| columns::readable(call.get_raw(argument)));
        Ok(term::is_chain_called(&wanted, &id, &name))
    })?;
    connection.create_scalar_function("lower_case", 1, flags, |call| match call.get_raw(0) {
        ValueRef::Null => Ok(None),
        text => Ok(Some(columns::readable(text).to_lowercase())),
    })?;
    connection.create_scalar_function("is_readable", 1, flags, |call| match call.get_raw(0) {
        ValueRef::Text(bytes) => Ok(std::str::from_utf8(bytes).is_ok()),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => Ok(false),
    })?;
    connection.create_scalar_function("known_chain_name", 1, flags, |call| {
        Ok(chains::find_by_id(&columns::readable(call.get_raw(0))).map(|chain| chain.name.as_str()))
    })
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Compares a text with the wanted text.
type Comparison = fn(&str, &str) -> bool;

/// Whether one of the texts after the first argument matches the first argument.
fn any_argument_matches(call: &Context<'_>, matches: Comparison) -> Result<bool> {
    let wanted: Arc<String> = call.get_or_create_aux(0, |value| Ok::<_, FromSqlError>(value.as_str()?.to_owned()))?;
    any_matches(call, |text| matches(text, &wanted))
}

fn any_matches(call: &Context<'_>, matches: impl Fn(&str) -> bool) -> Result<bool> {
    let mut texts = (1..call.len()).map(|argument| call.get_raw(argument)).filter(|value| *value != ValueRef::Null);
    Ok(texts.any(|text| matches(&columns::readable(text))))
}
