//! Removing: transactions with everything that is known of them, and bodies of answers that nobody needs any more.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use crate::{
    domain::{change::What, ids::RowId, operation::TransactionKey},
    store::{
        error::StoreError,
        tables::{
            changes::{self, Entry},
            observations, records, transactions, undo_history,
        },
    },
};

/// How much was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Of how many transactions.
    pub transactions: usize,
    /// How many bodies.
    pub bodies: u64,
}

/// Removes transactions for good; returns how many there were. Samples of durations stay. What was removed leaves no trace in
/// the file.
pub(super) fn delete(db: &Connection, keys: &[TransactionKey], at: DateTime<Utc>) -> Result<usize, StoreError> {
    db.pragma_update(None, "secure_delete", true)?;
    let deleted = delete_rows(db, keys, at);
    db.pragma_update(None, "secure_delete", false)?;
    deleted
}

fn delete_rows(db: &Connection, keys: &[TransactionKey], at: DateTime<Utc>) -> Result<usize, StoreError> {
    // A transaction may be named twice.
    let (mut known, mut seen): (Vec<(RowId, &str)>, _) = (Vec::new(), HashSet::new());
    for key in keys {
        let row = transactions::row_of(db, key)?.filter(|row| seen.insert(*row));
        known.extend(row.map(|row| (row, key.profile.as_str())));
    }
    // First: afterwards nothing says to which transaction an alert belonged.
    undo_history::forget(db, known.iter().map(|(row, _)| *row))?;
    for (row, profile) in &known {
        transactions::delete(db, *row)?;
        changes::append(db, &Entry::of_profile(profile, at), &What::Deleted { row: row.0 })?;
    }
    changes::forget_polls_of_deleted(db)?;
    Ok(known.len())
}

/// Drops the bodies of transactions; their history says so. What else is known of them stays.
pub(super) fn drop_bodies(db: &Connection, keys: &[TransactionKey], at: DateTime<Utc>) -> Result<Dropped, StoreError> {
    let mut dropped = Dropped::default();
    for key in keys {
        let Some(transaction) = transactions::whole_of(db, key)? else { continue };
        // The record must not need a body that is dropped.
        records::pack_alone(db, &transaction)?;
        let bodies = observations::clear_bodies(db, transaction.id)? + records::clear_body(db, transaction.id)?;
        // Another process may have done it already.
        let Some(bodies) = u64::try_from(bodies).ok().filter(|bodies| *bodies > 0) else { continue };
        changes::append(db, &Entry::of_row(transaction.id, at), &What::BodiesDropped { bodies })?;
        dropped = Dropped { transactions: dropped.transactions + 1, bodies: dropped.bodies + bodies };
    }
    Ok(dropped)
}
