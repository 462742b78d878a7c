//! Rebuilds records that can't be read from the newest answers in the history.
//!
//! The store can't decode an answer, so the caller does. A record that can be read must never be replaced, and no
//! record be made of an answer with another status than the transaction has.

use rusqlite::{Connection, TransactionBehavior};

use crate::{
    domain::{ids::RowId, record::StatusRecord, transaction::TransactionParams},
    store::{
        error::Result,
        tables::{observations, records, transactions},
    },
};

/// Decodes the body of an answer about the transaction with these parameters.
pub(crate) type DecodeRecord<'a> = &'a dyn Fn(&TransactionParams, &str) -> Option<StatusRecord>;

/// Rebuilds all records that can't be read and whose answer is in the history. Returns how many it rebuilt.
pub(crate) fn rebuild_records(db: &mut Connection, decode: DecodeRecord<'_>) -> Result<u64> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut rebuilt = 0;
    for row in records::maybe_unreadable(&transaction)? {
        let is_unreadable = records::record(&transaction, row)?.is_none();
        rebuilt += u64::from(is_unreadable && rebuild(&transaction, row, decode)?);
    }
    transaction.commit()?;
    Ok(rebuilt)
}

fn rebuild(db: &Connection, row: RowId, decode: DecodeRecord<'_>) -> Result<bool> {
    let Some(header) = transactions::header(db, row)? else { return Ok(false) };
    let Some(body) = observations::newest_record_body(db, row)? else { return Ok(false) };
    let record = decode(&header.params, &body).filter(|record| Some(&record.status) == header.state.status.as_ref());
    let Some(record) = record else { return Ok(false) };
    records::pack_without_base(db, &header.with_record(Some(record)))?;
    Ok(true)
}
