//! What the chain itself says: a person's request to ask the chain, and the effects of the chain's answer.
//!
//! The chain's answer must never change the service's data: only an unknown submission time, and one alert.

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::alerts as alert_changes;
use crate::{
    alerts::evaluate_chain_answer,
    domain::{
        change::ChangeKind, ids::TransactionKey, on_chain::OnChainState, operation::Stamp,
        transaction::TransactionParams,
    },
    store::{
        error::Result,
        tables::{
            alerts,
            changes::{self, FeedEntry},
            on_chain, transactions,
        },
    },
};

/// Applies a chain's reading: writes the reading, the block's time as submission time, the feed and the alert.
pub(super) fn observe(db: &Connection, key: &TransactionKey, reading: &OnChainState, at: DateTime<Utc>) -> Result<()> {
    let Some(header) = transactions::header_of(db, key)? else { return Ok(()) };
    let before = header.on_chain.as_ref();
    let was_requested = on_chain::is_requested(db, header.id)?;
    // A time that the chain gave before is replaced: the block may have been replaced, too.
    let was_given = header.params.submitted_at.is_some() && !header.is_submission_from_chain();
    let reading = OnChainState { checked_at: at, is_submission_given: was_given, ..reading.clone() };
    let reading = reading.or_previous_verdict(before);
    on_chain::write(db, header.id, &reading)?;
    let submitted_at = reading.submitted_at().or(header.params.submitted_at.filter(|_| was_given));
    if !was_given && submitted_at != header.params.submitted_at {
        let params = TransactionParams { submitted_at, ..header.params.clone() };
        transactions::write_params(db, &header, &params, None)?;
    }
    let entry = FeedEntry::of_row(header.id, at);
    // The feed reports the answer to the person who asked.
    if was_requested || reading.has_changed_since(before) {
        let verdict = &reading.source.verdict;
        let chain = verdict.elsewhere().unwrap_or(&key.from_chain);
        let (state, block) = (verdict.name().to_owned(), verdict.mined().map(|mined| mined.block));
        changes::append(db, &entry, &ChangeKind::ChainChecked { state, chain: chain.clone(), block })?;
    }
    let Some(transaction) = transactions::whole_of(db, key)? else { return Ok(()) };
    let active = alerts::active_for(db, &key.profile, transaction.id)?;
    let steps = evaluate_chain_answer(&transaction, &active, at);
    alert_changes::carry_out(db, &steps, &FeedEntry { profile: &key.profile, ..entry })
}

/// Asks the poller to ask the chains about these transactions now.
pub(super) fn request(db: &Connection, keys: &[TransactionKey], stamp: &Stamp) -> Result<()> {
    for key in keys {
        if let Some(row) = transactions::row_of(db, key)? {
            let entry = FeedEntry::of_row(row, stamp.at).with_author(stamp.author.as_deref());
            changes::append(db, &entry, &ChangeKind::ChainRequested)?;
            on_chain::request(db, row, stamp.at)?;
        }
    }
    Ok(())
}
