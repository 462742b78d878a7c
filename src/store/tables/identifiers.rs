//! The `identifiers` table: the hashes and IDs of a transaction besides its source hash, so that any hash or ID of a
//! ticket finds the transaction.
//!
//! The table is derived from the records. An identifier that a later record no longer has stays: a person may still
//! send it.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use super::{records, transaction_keys};
use crate::{
    domain::{
        ids::{RowId, TxHash},
        record::StatusRecord,
    },
    store::{error::Result, statement::CachedStatements},
};

/// The SQL condition for the transactions with the identifier `?1`, which must be in lower case.
pub(crate) const BY_IDENTIFIER: &str = "id IN (SELECT transaction_row FROM identifiers WHERE value = ?1)";

/// The most identifiers of one transaction: a service that sends new hashes in each answer must not fill the disk.
const MAX_IDENTIFIERS: usize = 32;
/// The shortest identifier, in bytes.
const MIN_LENGTH: usize = 6;

/// Whether a value can tell transactions apart: placeholders such as `0x` and a hash of zeros can't.
fn is_specific(value: &str) -> bool {
    value.len() >= MIN_LENGTH && value.trim_start_matches("0x").bytes().any(|byte| byte != b'0')
}

/// Adds the identifiers of a record. The hash by which the transaction is tracked isn't one of them.
pub(crate) fn write(db: &Connection, transaction: RowId, tracked: &TxHash, record: &StatusRecord) -> Result<()> {
    let steps = record.steps.iter().filter_map(|step| step.transaction_id.as_ref());
    let hashes = [&record.from, &record.to].into_iter().filter_map(|side| side.transaction_id.as_ref()).chain(steps);
    let values = hashes.map(TxHash::as_str).chain(record.request_id.as_deref());
    let mut values: BTreeSet<String> = values.map(str::to_lowercase).collect();
    let tracked = tracked.as_str().to_lowercase();
    let known = "SELECT value FROM identifiers WHERE transaction_row = ?";
    let known: Vec<String> = db.all(known, [transaction.0], |row| row.get(0))?;
    values.retain(|value| is_specific(value) && *value != tracked && !known.contains(value));
    for value in values.into_iter().take(MAX_IDENTIFIERS.saturating_sub(known.len())) {
        let sql = "INSERT OR IGNORE INTO identifiers (value, transaction_row) VALUES (?, ?)";
        db.run(sql, params![value, transaction.0])?;
    }
    Ok(())
}

/// Whether there are records of an earlier version whose identifiers are missing.
pub(crate) fn are_missing(db: &Connection) -> Result<bool> {
    db.has_row("SELECT 1 FROM unindexed_records", [])
}

/// Adds the identifiers of at most `count` records that an earlier version wrote.
pub(crate) fn add_missing(db: &Connection, count: usize) -> Result<()> {
    let sql = "SELECT transaction_row FROM unindexed_records LIMIT ?";
    let rows = db.all(sql, [count], |row| row.get(0).map(RowId))?;
    for row in &rows {
        // A record that can't be read is replaced by the next answer.
        if let (Ok(Some(record)), Some(key)) = (records::record(db, *row), transaction_keys::key(db, *row)?) {
            write(db, *row, &key.hash, &record)?;
        }
        db.run("DELETE FROM unindexed_records WHERE transaction_row = ?", [row.0])?;
    }
    Ok(())
}
