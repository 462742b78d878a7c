//! The records' table: of each transaction the last record, as far as it could be read, and the last body.
//!
//! It holds what is true now and is written anew; what was true before stands in the observations, which never are.

use std::borrow::Cow;

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    bodies::{self, Packed},
    columns,
    observations::{self, LastBody},
};
use crate::domain::{ids::RowId, record::StatusRecord, transaction::Transaction};
use crate::store::{error::StoreError, reader::Reader};

/// The last record of a transaction. One that can't be unpacked any more is as good as none: the next answer brings another.
pub(in crate::store) fn record(db: &Connection, transaction: RowId) -> Result<Option<StatusRecord>, StoreError> {
    let packed = db
        .prepare_cached("SELECT record, record_dictionary, record_base FROM records WHERE transaction_row = ?")?
        .query_row([transaction.0], |row| Packed::read(row, 0))
        .optional()?;
    let Some(packed) = packed else { return Ok(None) };
    let unpacked = bodies::unpack(db, &packed, |base| observations::body(db, base));
    let json = bodies::readable(unpacked, format_args!("the record of transaction {}", transaction.0))?;
    let record = json.map(|json| serde_json::from_str(&json)).transpose();
    Ok(record.map_err(|error| columns::unreadable(0, error))?)
}

/// Writes what an answer made of the record, and the last body where no observation has the same.
pub(in crate::store) fn write(
    db: &Connection,
    transaction: &Transaction,
    before: Option<&StatusRecord>,
    (entry, last): (i64, LastBody<'_>),
) -> Result<(), StoreError> {
    if transaction.state.record.as_ref() != before {
        let like = match &last {
            LastBody::InHistory(text) => Some(Cow::Borrowed(*text)),
            LastBody::Apart(..) | LastBody::Unchanged => observations::readable_body(db, entry)?.map(Cow::Owned),
        };
        write_record(db, transaction, (entry, like.as_deref()))?;
    }
    let last = match last {
        LastBody::InHistory(_) => Packed::NONE,
        LastBody::Unchanged => return Ok(()),
        LastBody::Apart(body, is_record) => observations::pack(db, transaction, (body, is_record))?,
    };
    let sql = if last == Packed::NONE {
        "UPDATE records SET body = ?2, body_dictionary = ?3, body_base = ?4 WHERE transaction_row = ?1 AND body IS NOT NULL"
    } else {
        "INSERT INTO records (transaction_row, body, body_dictionary, body_base) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET body = ?2, body_dictionary = ?3, body_base = ?4"
    };
    db.prepare_cached(sql)?.execute(params![transaction.id.0, last, last.dictionary, last.base])?;
    Ok(())
}

/// Packs the record like the body of its entry: what a body says the record says too, in other words.
fn write_record(
    db: &Connection,
    transaction: &Transaction,
    (entry, like): (i64, Option<&str>),
) -> Result<(), StoreError> {
    let packed = match (bodies::record_json(transaction)?, bodies::dictionary(db, &transaction.params)?) {
        (None, _) => Packed::NONE,
        (Some(json), Some(dictionary)) => match like {
            Some(like) => bodies::pack_like(&json, Some(&dictionary), (entry, like))?,
            None => bodies::pack(&json, Some(&dictionary))?,
        },
        (Some(json), None) => bodies::pack(&json, None)?,
    };
    write_packed(db, transaction.id, &packed)
}

fn write_packed(db: &Connection, row: RowId, packed: &Packed) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO records (transaction_row, record, record_dictionary, record_base) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET record = ?2, record_dictionary = ?3, record_base = ?4",
    )?
    .execute(params![row.0, packed, packed.dictionary, packed.base])?;
    Ok(())
}

/// Packs a transaction's record so that it needs no body any more.
pub(in crate::store) fn pack_alone(db: &Connection, transaction: &Transaction) -> Result<(), StoreError> {
    let Some(json) = bodies::record_json(transaction)? else { return Ok(()) };
    let dictionary = bodies::dictionary(db, &transaction.params)?;
    write_packed(db, transaction.id, &bodies::pack(&json, dictionary.as_ref())?)
}

/// Clears the last body of a transaction where no observation has the same; returns how many there were.
pub(in crate::store) fn clear_body(db: &Connection, transaction: RowId) -> Result<usize, StoreError> {
    let sql = "UPDATE records SET body = NULL, body_dictionary = NULL, body_base = NULL
               WHERE transaction_row = ? AND body IS NOT NULL";
    Ok(db.prepare_cached(sql)?.execute([transaction.0])?)
}

impl Reader {
    /// The last body that came about a transaction, as it came.
    pub fn last_body(&self, row: RowId) -> Result<Option<String>, StoreError> {
        match last_body(self.db(), row)? {
            Some(body) => Ok(Some(body)),
            None => observations::last_body(self.db(), row),
        }
    }
}

/// The last body, if no observation has the same.
fn last_body(db: &Connection, transaction: RowId) -> Result<Option<String>, StoreError> {
    let packed = db
        .prepare_cached("SELECT body, body_dictionary, body_base FROM records WHERE transaction_row = ?")?
        .query_row([transaction.0], |row| Packed::read(row, 0))
        .optional()?;
    packed.map_or(Ok(None), |packed| bodies::unpack(db, &packed, |base| observations::body(db, base)))
}
