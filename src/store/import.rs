//! Tracking a batch: new ones are added, known ones are updated where what we are told differs.
//!
//! A batch is kept whole or not at all; an empty field never erases what is known.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    changes::{self, Entry},
    columns,
    error::StoreError,
    quotes, transactions,
};
use crate::domain::{
    change::What,
    deadline::Deadline,
    ids::RowId,
    transaction::{NewTransaction, Told, Tracking, Transaction},
};

/// What an import did, a row of the store for each of the batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Tracked from now on.
    pub added: Vec<RowId>,
    /// Known, and changed; with the fields that differ.
    pub updated: Vec<(RowId, Vec<String>)>,
    /// Known, and nothing new.
    pub unchanged: Vec<RowId>,
    /// Of those that were added: what wasn't told and is known from the route's quote.
    pub completed: Vec<(RowId, Vec<&'static str>)>,
}

pub(super) fn import(
    db: &Connection,
    profile: &str,
    batch: &[NewTransaction],
    at: DateTime<Utc>,
) -> Result<ImportReport, StoreError> {
    let mut report = ImportReport::default();
    for new in batch {
        match known(db, profile, &new.told)? {
            None => {
                let mut new = new.clone();
                let completed = quotes::complete(db, profile, &mut new.told)?;
                let row = add(db, profile, &new, at)?;
                report.added.push(row);
                report.completed.extend((!completed.is_empty()).then_some((row, completed)));
            }
            Some(before) => {
                let fields = update(db, &before, new, at)?;
                if fields.is_empty() {
                    report.unchanged.push(before.id);
                } else {
                    report.updated.push((before.id, fields));
                }
            }
        }
    }
    Ok(report)
}

fn known(db: &Connection, profile: &str, told: &Told) -> Result<Option<Transaction>, StoreError> {
    let sql = format!("{} WHERE profile = ? AND from_chain = ? AND transaction_key = ?", transactions::SELECT);
    let key = told.transaction_id.key();
    let mut statement = db.prepare_cached(&sql)?;
    Ok(statement.query_row(params![profile, told.from_chain.as_str(), key], transactions::read).optional()?)
}

fn add(db: &Connection, profile: &str, new: &NewTransaction, at: DateTime<Utc>) -> Result<RowId, StoreError> {
    let told = &new.told;
    db.prepare_cached(
        "INSERT INTO transactions (profile, transaction_id, from_chain, to_chain, quote_id, request_id, estimate,
         submitted_at, from_address, ticket, first_seen_at, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        profile,
        told.transaction_id.as_str(),
        told.from_chain.as_str(),
        told.to_chain.as_str(),
        told.quote_id,
        told.request_id,
        told.estimate.map(columns::span),
        told.submitted_at.map(columns::moment),
        told.from_address,
        told.ticket,
        columns::moment(at),
        columns::moment(Deadline::new(told.submitted_at, at, told.estimate).at),
    ])?;
    let row = RowId(db.last_insert_rowid());
    add_words(db, row, new, at)?;
    let entry = Entry { at, profile, transaction: Some(row), observation: None };
    changes::append(db, &entry, &What::Imported)?;
    Ok(row)
}

fn add_words(db: &Connection, row: RowId, new: &NewTransaction, at: DateTime<Utc>) -> Result<(), StoreError> {
    for label in &new.labels {
        db.prepare_cached("INSERT OR IGNORE INTO labels VALUES (?, ?)")?.execute(params![row.0, label])?;
    }
    if let Some(note) = &new.note {
        db.prepare_cached("INSERT INTO notes (transaction_row, at, text) VALUES (?, ?, ?)")?.execute(params![
            row.0,
            columns::moment(at),
            note
        ])?;
    }
    Ok(())
}

/// Writes what differs, and returns the names of these fields as the files call them.
fn update(
    db: &Connection,
    before: &Transaction,
    new: &NewTransaction,
    at: DateTime<Utc>,
) -> Result<Vec<String>, StoreError> {
    let mut merged = merge(&before.told, &new.told);
    quotes::complete(db, &before.profile, &mut merged)?;
    let note = new.note.clone().filter(|note| !before.notes.contains(note));
    let labels: Vec<_> = new.labels.iter().filter(|label| !before.labels.contains(label)).cloned().collect();
    let mut fields = differences(&before.told, &merged);
    fields.extend((!labels.is_empty()).then_some("labels"));
    fields.extend(note.is_some().then_some("note"));
    // Adding it again is how a person resumes what they or the service stopped.
    let resumed = before.tracking == Tracking::Untracked || (before.tracking != Tracking::Active && !fields.is_empty());
    fields.extend(resumed.then_some("tracking"));
    if fields.is_empty() {
        return Ok(Vec::new());
    }
    write_told(db, before.id, &merged, resumed)?;
    add_words(db, before.id, &NewTransaction { told: merged, labels, note }, at)?;
    let fields: Vec<String> = fields.into_iter().map(str::to_owned).collect();
    let entry = Entry::of(before, at);
    changes::append(db, &entry, &What::Edited { fields: fields.clone() })?;
    Ok(fields)
}

fn merge(before: &Told, new: &Told) -> Told {
    Told {
        transaction_id: before.transaction_id.clone(),
        from_chain: before.from_chain.clone(),
        to_chain: new.to_chain.clone(),
        quote_id: new.quote_id.clone(),
        request_id: new.request_id.clone().or_else(|| before.request_id.clone()),
        estimate: new.estimate.or(before.estimate),
        submitted_at: new.submitted_at.or(before.submitted_at),
        from_address: new.from_address.clone().or_else(|| before.from_address.clone()),
        ticket: new.ticket.clone().or_else(|| before.ticket.clone()),
    }
}

fn differences(before: &Told, after: &Told) -> Vec<&'static str> {
    // The store keeps milliseconds: what differs by less is the same.
    let same_moment = before.submitted_at.map(columns::moment) == after.submitted_at.map(columns::moment);
    let same_estimate = before.estimate.map(columns::span) == after.estimate.map(columns::span);
    [
        ("toChainId", before.to_chain == after.to_chain),
        ("quoteId", before.quote_id == after.quote_id),
        ("requestId", before.request_id == after.request_id),
        ("estimatedRouteDuration", same_estimate),
        ("submittedAt", same_moment),
        ("fromAddress", before.from_address == after.from_address),
        ("ticket", before.ticket == after.ticket),
    ]
    .into_iter()
    .filter_map(|(field, same)| (!same).then_some(field))
    .collect()
}

fn write_told(db: &Connection, row: RowId, told: &Told, resumed: bool) -> Result<(), StoreError> {
    db.prepare_cached(
        "UPDATE transactions SET to_chain = ?, quote_id = ?, request_id = ?, estimate = ?, submitted_at = ?,
         from_address = ?, ticket = ? WHERE id = ?",
    )?
    .execute(params![
        told.to_chain.as_str(),
        told.quote_id,
        told.request_id,
        told.estimate.map(columns::span),
        told.submitted_at.map(columns::moment),
        told.from_address,
        told.ticket,
        row.0,
    ])?;
    if resumed {
        db.prepare_cached("UPDATE transactions SET untracked = 0, parked_reason = NULL WHERE id = ?")?
            .execute([row.0])?;
    }
    transactions::refresh(db, row)
}
