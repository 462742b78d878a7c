//! The keys of transactions, which are valid in every store, by their row numbers.
//!
//! A file of its own, so that tables that belong to a transaction need not know the table of the transactions.

use rusqlite::{Connection, Row};

use super::columns;
use crate::{
    domain::ids::{ChainId, RowId, TransactionKey, TxHash},
    store::{error::Result, statement::CachedStatements},
};

/// Returns the key of a transaction, which is valid in every store.
pub(in crate::store) fn key(db: &Connection, row: RowId) -> Result<Option<TransactionKey>> {
    let sql = "SELECT profile, from_chain, transaction_id FROM transactions WHERE id = ?";
    let read = |row: &Row<'_>| {
        Ok(TransactionKey {
            profile: columns::lenient(row, 0)?,
            from_chain: ChainId::new(columns::lenient::<String>(row, 1)?),
            hash: TxHash::new(columns::lenient::<String>(row, 2)?),
        })
    };
    db.first(sql, [row.0], read)
}

/// Returns the source chains on which a profile tracks a hash, whose case doesn't count.
pub(in crate::store) fn chains_of(db: &Connection, profile: &str, hash: &TxHash) -> Result<Vec<ChainId>> {
    let sql = "SELECT from_chain FROM transactions WHERE profile = ? AND transaction_key = ?";
    db.all(sql, [profile, &hash.key()], |row| Ok(ChainId::new(columns::lenient::<String>(row, 0)?)))
}
