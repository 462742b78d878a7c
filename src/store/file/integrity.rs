//! Integrity checks of a store's file.

use rusqlite::Connection;

use super::migrate;
use crate::store::error;

/// The depth of an integrity check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckDepth {
    /// Every page.
    Quick,
    /// Every page, every index entry, every reference.
    Full,
}

/// Returns the first fault of a store, if there is one. Reads the whole file.
pub(crate) fn find_fault(connection: &Connection, depth: CheckDepth) -> rusqlite::Result<Option<String>> {
    let check = if depth == CheckDepth::Full { "PRAGMA integrity_check(1)" } else { "PRAGMA quick_check(1)" };
    let verdict: String = match connection.query_row(check, [], |row| row.get(0)) {
        Err(error) if error::is_damage(&error) => return Ok(Some(error.to_string())),
        verdict => verdict?,
    };
    if verdict != "ok" {
        // The verdict begins with headings; its last line says what was found.
        return Ok(Some(verdict.lines().last().unwrap_or_default().to_owned()));
    }
    let orphaned = if depth == CheckDepth::Full { migrate::find_table_with_orphans(connection)? } else { None };
    Ok(orphaned.map(|table| format!("rows of `{table}` refer to missing rows")))
}

pub(crate) fn count_transactions(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT count(*) FROM transactions", [], |row| row.get(0))
}
