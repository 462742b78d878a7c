//! Polls: a person's request to poll now, and the effects of an observation on its transaction and the derived data.

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::alerts as alert_changes;
use crate::{
    alerts::evaluate_answer,
    domain::{
        change::ChangeKind,
        duration_stats::{self, DurationSample},
        ids::TransactionKey,
        observation::Observation,
        operation::Stamp,
        transaction::Transaction,
    },
    store::{
        body_storage::BodyStorage,
        error::Result,
        tables::{
            alerts, chains,
            changes::{self, FeedEntry},
            durations, identifiers, observations, records, transactions,
        },
    },
};

/// The result of an observation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppliedObservation {
    /// The transaction after the observation; `None` if it was deleted while the request was in flight.
    pub transaction: Option<Transaction>,
    /// Whether anything changed except the count of polls and the moment of the last poll.
    pub has_changes: bool,
    pub samples: Vec<DurationSample>,
}

/// Applies an observation: writes the observation, the transaction, its record, chains, durations, the feed and alerts.
pub(super) fn observe(
    db: &Connection,
    key: &TransactionKey,
    observation: &Observation,
    storage: BodyStorage,
    at: DateTime<Utc>,
) -> Result<AppliedObservation> {
    let Some(mut transaction) = transactions::whole_of(db, key)? else { return Ok(AppliedObservation::default()) };
    let before = transaction.clone();
    let changes = transaction.apply(observation, at);
    let (entry_id, last_body) = observations::insert_or_repeat(db, &transaction, observation, storage, at)?;
    records::write(db, &transaction, before.record.as_ref(), entry_id, last_body)?;
    if let Some(record) = transaction.record.as_ref().filter(|now| before.record.as_ref() != Some(*now)) {
        identifiers::write(db, transaction.id, &transaction.params.transaction_id, record)?;
    }
    transactions::write_answer(db, &before, &transaction)?;
    for chain in &observation.chains {
        chains::save(db, &key.profile, chain, at)?;
    }
    let samples = duration_stats::duration_samples(&before.state, &transaction, at);
    for sample in &samples {
        durations::add(db, &key.profile, sample, at)?;
    }
    let entry = FeedEntry::of_row(transaction.id, at);
    let entry = FeedEntry { profile: &key.profile, observation: Some(entry_id), ..entry };
    changes::append_all(db, &entry, &changes)?;
    let active = alerts::active_for(db, &key.profile, transaction.id)?;
    let steps = evaluate_answer(&transaction, &active, at);
    alert_changes::carry_out(db, &steps, &entry)?;
    let has_changes = changes != [ChangeKind::Polled] || !steps.is_empty();
    Ok(AppliedObservation { transaction: Some(transaction), has_changes, samples })
}

/// Asks the poller to poll these transactions now.
pub(super) fn request(db: &Connection, keys: &[TransactionKey], stamp: &Stamp) -> Result<()> {
    for key in keys {
        if let Some(row) = transactions::row_of(db, key)? {
            let entry = FeedEntry::of_row(row, stamp.at).with_author(stamp.author.as_deref());
            changes::append(db, &entry, &ChangeKind::PollRequested)?;
            transactions::request_poll(db, row, stamp.at)?;
        }
    }
    Ok(())
}
