//! How far alerts have been told outside: a row for each way of each profile.
//!
//! The feed is the queue: its entries of alerts are never dropped but with their transaction, so that a place in it is all that is
//! to be kept.

use rusqlite::{Connection, OptionalExtension, params};

use super::error::StoreError;

/// How far one way is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeraldState {
    /// Which way it is.
    pub way: String,
    /// The last entry of the feed that was told, or that there was nothing to tell of.
    pub seq: i64,
    /// Why the last one wasn't told, or the last that was given up; clean.
    pub error: Option<String>,
}

pub(super) fn write(db: &Connection, profile: &str, state: &HeraldState) -> Result<(), StoreError> {
    let sql = "INSERT INTO heralds (profile, way, seq, error) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT DO UPDATE SET seq = ?3, error = ?4";
    db.prepare_cached(sql)?.execute(params![profile, state.way, state.seq, state.error])?;
    Ok(())
}

/// How far this way is, if it was ever gone.
pub(super) fn read(db: &Connection, profile: &str, way: &str) -> Result<Option<HeraldState>, StoreError> {
    let sql = "SELECT way, seq, error FROM heralds WHERE profile = ? AND way = ?";
    let read = |row: &rusqlite::Row<'_>| Ok(HeraldState { way: row.get(0)?, seq: row.get(1)?, error: row.get(2)? });
    Ok(db.prepare_cached(sql)?.query_row([profile, way], read).optional()?)
}

/// What keeps a profile's alerts from being told, a line for each of these ways that has trouble.
pub(super) fn troubles(db: &Connection, profile: &str, ways: &[&str]) -> Result<Vec<String>, StoreError> {
    if ways.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "SELECT way, error FROM heralds WHERE profile = ? AND error IS NOT NULL ORDER BY way";
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map([profile], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let rows: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
    let known = rows.into_iter().filter(|(way, _)| ways.contains(&way.as_str()));
    Ok(known.map(|(way, error)| format!("{way}: {error}")).collect())
}
