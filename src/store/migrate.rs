//! The schema's history: append-only SQL files, each applied in one transaction, counted by `user_version`.
//!
//! A migration that has landed is never edited, so that every store out there goes the same way.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::error::StoreError;

const MIGRATIONS: &[&str] = &[
    include_str!("../../assets/migrations/0001_first.sql"),
    include_str!("../../assets/migrations/0002_routes.sql"),
    include_str!("../../assets/migrations/0003_forecasts.sql"),
    include_str!("../../assets/migrations/0004_history.sql"),
];

/// The schema that this hoptop knows.
pub(super) const LATEST: i64 = MIGRATIONS.len() as i64;

/// Brings the store to [`LATEST`]. Killed at any step it is at the schema before or after that step.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let fault = |source| StoreError::Open { path: path.to_owned(), source };
    // A table that is made anew must not take along what refers to it.
    connection.pragma_update(None, "foreign_keys", false).map_err(fault)?;
    while step(connection).map_err(fault)? {}
    connection.pragma_update(None, "foreign_keys", true).map_err(fault)
}

/// Takes one step, if there is one left.
fn step(connection: &mut Connection) -> rusqlite::Result<bool> {
    // The version is read under the lock: another process may be migrating too.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let Some(step) = usize::try_from(version).ok().and_then(|step| MIGRATIONS.get(step)) else {
        return Ok(false);
    };
    transaction.execute_batch(step)?;
    transaction.pragma_update(None, "user_version", version + 1)?;
    transaction.commit()?;
    Ok(true)
}
