//! The table of open transactions (`attention`): a row for each dashboard on this machine, read by the poller.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, params};

use super::columns;
use crate::{
    domain::ids::RowId,
    store::{error::Result, statement::CachedStatements},
};

/// The transaction that one dashboard shows. Not an operation, because it means nothing on another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenMark {
    /// The process ID of the dashboard.
    pub dashboard: u32,
    /// The open transaction and the end of this mark's validity; `None` if no transaction is open.
    pub open: Option<(RowId, DateTime<Utc>)>,
    /// When the mark was made.
    pub at: DateTime<Utc>,
}

pub(crate) fn write(db: &Connection, mark: &OpenMark) -> Result<()> {
    // Marks of ended dashboards expire.
    db.run("DELETE FROM attention WHERE until <= ?", [columns::moment(mark.at)])?;
    match mark.open {
        // The transaction may be deleted by now.
        Some((row, until)) => db.run(
            "INSERT INTO attention (viewer, transaction_row, until)
             SELECT ?1, id, ?3 FROM transactions WHERE id = ?2
             ON CONFLICT DO UPDATE SET transaction_row = ?2, until = ?3",
            params![mark.dashboard, row.0, columns::moment(until)],
        ),
        None => db.run("DELETE FROM attention WHERE viewer = ?", [mark.dashboard]),
    }
}

/// Returns the transactions that are open at `at`.
pub(crate) fn open_at(db: &Connection, at: DateTime<Utc>) -> Result<Vec<RowId>> {
    let sql = "SELECT DISTINCT transaction_row FROM attention WHERE until > ? ORDER BY transaction_row";
    db.all(sql, [columns::moment(at)], |row| row.get(0).map(RowId))
}
