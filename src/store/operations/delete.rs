//! Deletes transactions with all their data, and drops response bodies that are no longer needed.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use crate::{
    domain::{
        change::ChangeKind,
        ids::{RowId, TransactionKey},
        operation::Stamp,
    },
    store::{
        error::Result,
        tables::{
            changes::{self, FeedEntry},
            observations, records, search_index, status_requests, transactions, undo_history,
        },
    },
};

/// How much was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedBodies {
    /// The number of transactions that had bodies.
    pub transactions: usize,
    pub bodies: u64,
}

/// Deletes transactions permanently; returns how many existed. Duration samples stay. Nothing of the deleted data
/// remains in the file; the writer checkpoints the write-ahead log afterwards, which still has it.
pub(super) fn delete(db: &Connection, keys: &[TransactionKey], stamp: &Stamp) -> Result<usize> {
    with_secure_delete(db, || delete_rows(db, keys, stamp))
}

/// Runs deletions after which nothing of the deleted data remains in the file.
pub(crate) fn with_secure_delete<T>(db: &Connection, delete: impl FnOnce() -> Result<T>) -> Result<T> {
    db.pragma_update(None, "secure_delete", true)?;
    let deleted = delete();
    db.pragma_update(None, "secure_delete", false)?;
    deleted
}

fn delete_rows(db: &Connection, keys: &[TransactionKey], stamp: &Stamp) -> Result<usize> {
    // The same transaction may be named twice.
    let (mut known, mut seen): (Vec<(RowId, &str)>, _) = (Vec::new(), HashSet::new());
    for key in keys {
        let row = transactions::row_of(db, key)?.filter(|row| seen.insert(*row));
        known.extend(row.map(|row| (row, key.profile.as_str())));
        status_requests::delete_about(db, key)?;
    }
    // This comes first: after the deletion nothing links an alert to its transaction.
    let rows: Vec<RowId> = known.iter().map(|(row, _)| *row).collect();
    undo_history::forget(db, &rows)?;
    search_index::forget(db, &rows)?;
    for (row, profile) in &known {
        transactions::delete(db, *row)?;
        let entry = FeedEntry::of_profile(profile, stamp.at).with_author(stamp.author.as_deref());
        changes::append(db, &entry, &ChangeKind::Deleted { row: row.0 })?;
    }
    changes::forget_polls_of_deleted(db)?;
    Ok(known.len())
}

/// Drops the response bodies of transactions and records this in their history. All other data stays.
pub(super) fn drop_bodies(db: &Connection, keys: &[TransactionKey], at: DateTime<Utc>) -> Result<DroppedBodies> {
    let mut dropped = DroppedBodies::default();
    for key in keys {
        let Some(transaction) = transactions::whole_of(db, key)? else { continue };
        // The record must not depend on a body that is dropped.
        records::pack_without_base(db, &transaction)?;
        let bodies = observations::clear_bodies(db, transaction.id)? + records::clear_body(db, transaction.id)?;
        // Another process may have dropped the bodies already.
        let Some(bodies) = u64::try_from(bodies).ok().filter(|bodies| *bodies > 0) else { continue };
        changes::append(db, &FeedEntry::of_row(transaction.id, at), &ChangeKind::BodiesDropped { bodies })?;
        dropped = DroppedBodies { transactions: dropped.transactions + 1, bodies: dropped.bodies + bodies };
    }
    Ok(dropped)
}
