//! The `on_chain` table: the chains' readings of transactions, and people's requests for them.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, params};

use super::columns;
use crate::{
    domain::{ids::RowId, on_chain::OnChainState, status::RouterStatus},
    store::{error::Result, reader::Reader, row_checksum, statement::CachedStatements},
};

/// The columns of the checksum.
pub(crate) const CHECKED: &str = "transaction_row, verdict, reading, requested_at";

/// Returns the stored reading; `None` if it can't be read.
pub(crate) fn parse(reading: Option<&str>) -> Option<OnChainState> {
    columns::parse_or_omit(reading?, format_args!("the chain's reading of a transaction"))
}

/// Writes a reading, which also answers a person's request.
pub(crate) fn write(db: &Connection, row: RowId, on_chain: &OnChainState) -> Result<()> {
    let reading = columns::to_json(on_chain)?;
    let set = [("verdict", "?2"), ("reading", "?3"), ("requested_at", "NULL")];
    let set = row_checksum::assignments(CHECKED, &set);
    // A reading builds on the previous reading, so damage of the previous one stays known.
    let sql = format!(
        "INSERT INTO on_chain (transaction_row, verdict, reading, checksum) VALUES (?1, ?2, ?3, row_checksum(?1, ?2, ?3))
         ON CONFLICT (transaction_row) DO UPDATE SET {set}"
    );
    db.run(&sql, params![row.0, on_chain.source.verdict.name(), reading])
}

/// Records a person's request for a reading.
pub(crate) fn request(db: &Connection, row: RowId, at: DateTime<Utc>) -> Result<()> {
    let set = row_checksum::assignments(CHECKED, &[("requested_at", "?2")]);
    let sql = format!(
        "INSERT INTO on_chain (transaction_row, requested_at, checksum)
         VALUES (?1, ?2, row_checksum(?1, NULL, NULL, ?2))
         ON CONFLICT (transaction_row) DO UPDATE SET {set}"
    );
    db.run(&sql, params![row.0, columns::moment(at)])
}

/// Whether a person's request for a reading isn't answered yet.
pub(crate) fn is_requested(db: &Connection, row: RowId) -> Result<bool> {
    db.has_row("SELECT 1 FROM on_chain WHERE transaction_row = ? AND requested_at IS NOT NULL", [row.0])
}

/// Removes the reading of a transaction.
pub(crate) fn remove(db: &Connection, row: RowId) -> Result<()> {
    db.run("DELETE FROM on_chain WHERE transaction_row = ?", [row.0])
}

impl Reader {
    /// Returns the transactions of a profile that have had this status since this moment or later.
    pub fn rows_with_status_since(
        &self,
        profile: &str,
        status: &RouterStatus,
        since: DateTime<Utc>,
    ) -> Result<Vec<RowId>> {
        let sql = "SELECT id FROM transactions WHERE status = ? AND profile = ? AND status_since >= ?";
        let values = params![status.raw(), profile, columns::moment(since)];
        self.db().all(sql, values, |row| row.get(0).map(RowId))
    }

    /// Returns the transactions of a profile for which a person requested a reading.
    pub fn requested_chain_checks(&self, profile: &str) -> Result<Vec<RowId>> {
        let sql = "SELECT transaction_row FROM on_chain JOIN transactions ON transactions.id = transaction_row
                   WHERE requested_at IS NOT NULL AND profile = ? ORDER BY requested_at, transaction_row";
        self.db().all(sql, [profile], |row| row.get(0).map(RowId))
    }
}
