//! The `records` table: the last record of each transaction, as far as it could be parsed, and the last body.
//!
//! A row holds the present state and is overwritten. Earlier states are in the observations, which are never
//! overwritten.

use std::borrow::Cow;

use rusqlite::{Connection, params};

use super::{
    bodies::{self, PackedText, StoredBody},
    columns,
    observations::{self, LastBody},
};
use crate::{
    domain::{ids::RowId, record::StatusRecord, transaction::Transaction},
    store::{error::Result, reader::Reader, statement::CachedStatements},
};

/// Returns the packed `record` or `body` of a transaction.
fn read_packed(db: &Connection, text: &str, transaction: RowId) -> Result<Option<PackedText>> {
    let sql = format!("SELECT {text}, {text}_dictionary, {text}_base FROM records WHERE transaction_row = ?");
    db.first(&sql, [transaction.0], |row| PackedText::read(row, 0))
}

/// Writes the packed `record` or `body` of a transaction.
fn write_packed(db: &Connection, text: &str, transaction: RowId, packed: &PackedText) -> Result<()> {
    let sql = format!(
        "INSERT INTO records (transaction_row, {text}, {text}_dictionary, {text}_base) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET {text} = ?2, {text}_dictionary = ?3, {text}_base = ?4"
    );
    db.run(&sql, params![transaction.0, packed, packed.dictionary, packed.base])
}

/// Returns the last record of a transaction; `None` also if it can't be read, since the next answer replaces it.
pub(crate) fn record(db: &Connection, transaction: RowId) -> Result<Option<StatusRecord>> {
    let Some(packed) = read_packed(db, "record", transaction)? else { return Ok(None) };
    let description = format_args!("the record of transaction {}", transaction.0);
    let json = bodies::none_if_unreadable(observations::unpack(db, &packed), description)?;
    Ok(json.and_then(|json| columns::parse_or_omit(&json, description)))
}

/// Whether the stored record of a transaction changed on the disk.
pub(crate) fn is_damaged(db: &Connection, transaction: RowId) -> Result<bool> {
    let sql = "SELECT 1 FROM records WHERE transaction_row = ? AND typeof(record) = 'blob'
               AND NOT is_intact(record, record_dictionary, record_base)";
    db.has_row(sql, [transaction.0])
}

/// Returns the transactions whose record may be unreadable: the record or a text of its packing changed on the disk.
pub(crate) fn maybe_unreadable(db: &Connection) -> Result<Vec<RowId>> {
    let sql = "SELECT transaction_row FROM records WHERE typeof(record) NOT IN ('blob', 'null')
                   OR typeof(record) = 'blob' AND NOT is_intact(record, record_dictionary, record_base)
                   OR record_dictionary NOT IN (SELECT id FROM dictionaries WHERE is_intact(content, NULL, NULL))
                   OR record_base NOT IN (SELECT id FROM observations WHERE is_intact(body, body_dictionary, body_base))";
    db.all(sql, [], |row| row.get(0).map(RowId))
}

/// Removes the record and the last body of a transaction. Its history keeps the answers.
pub(crate) fn remove(db: &Connection, transaction: RowId) -> Result<()> {
    db.run("DELETE FROM records WHERE transaction_row = ?", [transaction.0])
}

/// Writes the record as an answer changed it, and the last body if no observation holds the same body.
pub(crate) fn write(
    db: &Connection,
    transaction: &Transaction,
    before: Option<&StatusRecord>,
    entry: i64,
    last: LastBody<'_>,
) -> Result<()> {
    if transaction.record.as_ref() != before {
        let base = match &last {
            LastBody::InHistory(text) => Some(Cow::Borrowed(*text)),
            LastBody::InLog(_) => None,
            LastBody::Separate(..) | LastBody::Unchanged => observations::readable_body(db, entry)?.map(Cow::Owned),
        };
        write_record(db, transaction, base.as_deref().map(|text| (entry, text)))?;
    }
    let last = match last {
        LastBody::InHistory(_) => PackedText::NONE,
        LastBody::InLog(packed) => packed,
        LastBody::Unchanged => return Ok(()),
        LastBody::Separate(body, is_record) => observations::pack_body(db, transaction, body, is_record)?,
    };
    match last == PackedText::NONE {
        true => clear_body(db, transaction.id).map(drop),
        false => write_packed(db, "body", transaction.id, &last),
    }
}

/// Packs the record with an answer's body as the base, if one is given, because the body has much of the same content.
/// Without a dictionary no base is used.
fn write_record(db: &Connection, transaction: &Transaction, base: Option<(i64, &str)>) -> Result<()> {
    let dictionary = bodies::newest_dictionary(db, &transaction.params)?;
    let base = base.filter(|_| dictionary.is_some());
    let packed = match bodies::record_json(transaction)? {
        Some(json) => bodies::pack(&json, dictionary.as_ref(), base)?,
        None => PackedText::NONE,
    };
    write_packed(db, "record", transaction.id, &packed)
}

/// Packs a transaction's record again without a body as its base, so that bodies can be deleted.
pub(crate) fn pack_without_base(db: &Connection, transaction: &Transaction) -> Result<()> {
    if transaction.record.is_none() { Ok(()) } else { write_record(db, transaction, None) }
}

/// Clears the last body of a transaction in this table; returns the number of cleared bodies.
pub(crate) fn clear_body(db: &Connection, transaction: RowId) -> Result<usize> {
    let sql = "UPDATE records SET body = NULL, body_dictionary = NULL, body_base = NULL
               WHERE transaction_row = ? AND body IS NOT NULL";
    db.change(sql, [transaction.0])
}

/// Keeps only the digest of the last body: the team's database has the body.
pub(crate) fn leave_body_out(db: &Connection, transaction: RowId) -> Result<()> {
    let Some(StoredBody::Text(text)) = last_body(db, transaction)? else { return Ok(()) };
    write_packed(db, "body", transaction, &PackedText::in_log(0, &text))
}

impl Reader {
    /// Returns the last body about a transaction.
    pub fn last_body(&self, row: RowId) -> Result<Option<StoredBody>> {
        match last_body(self.db(), row)? {
            Some(body) => Ok(Some(body)),
            None => observations::last_body(self.db(), row),
        }
    }
}

/// Returns the last body; `None` if an observation holds it.
fn last_body(db: &Connection, transaction: RowId) -> Result<Option<StoredBody>> {
    let Some(packed) = read_packed(db, "body", transaction)? else { return Ok(None) };
    observations::text_or_place(db, &packed, transaction)
}
