//! What people look at now: a row for each dashboard, for whoever polls.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, params};

use super::{columns, error::StoreError};
use crate::domain::ids::RowId;

/// A dashboard, by its process, has this one open until a moment; nothing any more if there is none.
pub(super) fn look_at(
    db: &Connection,
    viewer: u32,
    open: Option<(RowId, DateTime<Utc>)>,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    // Of dashboards that are gone.
    db.prepare_cached("DELETE FROM attention WHERE until <= ?")?.execute([columns::moment(at)])?;
    match open {
        // It may have been deleted meanwhile.
        Some((row, until)) => db
            .prepare_cached(
                "INSERT INTO attention (viewer, transaction_row, until)
                 SELECT ?1, id, ?3 FROM transactions WHERE id = ?2
                 ON CONFLICT DO UPDATE SET transaction_row = ?2, until = ?3",
            )?
            .execute(params![viewer, row.0, columns::moment(until)])?,
        None => db.prepare_cached("DELETE FROM attention WHERE viewer = ?")?.execute([viewer])?,
    };
    Ok(())
}

/// What is open at `at`.
pub(super) fn open(db: &Connection, at: DateTime<Utc>) -> Result<Vec<RowId>, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT DISTINCT transaction_row FROM attention WHERE until > ? ORDER BY transaction_row")?;
    let rows = statement.query_map([columns::moment(at)], |row| row.get(0).map(RowId))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
