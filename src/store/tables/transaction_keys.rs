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
pub(crate) fn key(db: &Connection, row: RowId) -> Result<Option<TransactionKey>> {
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
