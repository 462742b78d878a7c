//! Changes of alerts: raising, clearing, handling by a person, and the end of that handling.
//!
//! This module writes every change of an alert to the feed. The rules in the crate's `alerts` module decide which
//! alerts are raised or cleared; this module must never decide that itself.

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use crate::{
    alerts::evaluate_answer,
    domain::{
        alert::{Alert, AlertStep, Handling, HandlingKind, Rule},
        change::ChangeKind,
        ids::RowId,
        operation::Stamp,
    },
    store::{
        error::Result,
        tables::{
            alerts::{self, AlertQuery},
            changes::{self, FeedEntry},
            transactions,
        },
    },
};

/// Carries out the decisions of the rules for one subject. `entry` holds the subject and the moment.
pub(super) fn carry_out(db: &Connection, steps: &[AlertStep], entry: &FeedEntry<'_>) -> Result<()> {
    let mut has_changed = false;
    for step in steps {
        match step {
            AlertStep::Raise { rule, message } => has_changed |= raise(db, *rule, message, entry)?,
            AlertStep::SetCleanCount { id, clean } => alerts::set_clean_count(db, *id, *clean)?,
            AlertStep::Clear { id, rule } => has_changed |= clear(db, *id, *rule, entry)?,
            AlertStep::EndHandling { id } => {
                if let Some(alert) = alerts::by_id(db, *id)?.filter(|alert| alert.handling.is_some()) {
                    write_handling(db, &alert, None, entry)?;
                    has_changed = true;
                }
            }
        }
    }
    match entry.transaction {
        Some(row) if has_changed => alerts::write_severity_rank(db, row),
        _ => Ok(()),
    }
}

fn raise(db: &Connection, rule: Rule, message: &str, entry: &FeedEntry<'_>) -> Result<bool> {
    let (is_flapping, was_flapping) = alerts::flapping_state(db, rule, entry)?;
    let is_raised = alerts::insert(db, rule, message, is_flapping, entry)?;
    if is_raised {
        let kind = match is_flapping && !was_flapping {
            true => ChangeKind::AlertFlapping { rule, severity: rule.severity() },
            false => feed_event(rule, true, is_flapping),
        };
        changes::append(db, entry, &kind)?;
    }
    Ok(is_raised)
}

fn clear(db: &Connection, id: i64, rule: Rule, entry: &FeedEntry<'_>) -> Result<bool> {
    let Some(is_flapping) = alerts::clear(db, id, entry.at)? else { return Ok(false) };
    changes::append(db, entry, &feed_event(rule, false, is_flapping))?;
    Ok(true)
}

/// Returns the feed's event for a raised or cleared alert.
fn feed_event(rule: Rule, is_raised: bool, is_flapping: bool) -> ChangeKind {
    match (is_flapping, is_raised) {
        (true, _) => ChangeKind::AlertFlipped { rule, is_raised },
        (false, true) => ChangeKind::AlertRaised { rule, severity: rule.severity() },
        (false, false) => ChangeKind::AlertCleared { rule, severity: rule.severity() },
    }
}

/// Clears every active alert of a transaction.
pub(super) fn clear_all(db: &Connection, row: RowId, at: DateTime<Utc>) -> Result<()> {
    let active = alerts::load(db, AlertQuery::OfTransaction(row))?;
    let steps: Vec<_> = active.iter().map(|alert| AlertStep::Clear { id: alert.id, rule: alert.rule }).collect();
    carry_out(db, &steps, &FeedEntry::of_row(row, at))
}

/// Raises again the alerts that were active when the polling of a transaction stopped, with their handling at that
/// time. An answer may have come since, to a request that was under way or that a person asked for; it raises and
/// clears alerts now.
pub(super) fn reactivate(db: &Connection, row: RowId, at: DateTime<Utc>) -> Result<()> {
    let entry = FeedEntry::of_row(row, at);
    let reactivated = alerts::reactivate(db, row)?;
    for (rule, is_flapping) in &reactivated {
        changes::append(db, &entry, &feed_event(*rule, true, *is_flapping))?;
    }
    if !reactivated.is_empty() {
        alerts::write_severity_rank(db, row)?;
    }
    let Some(header) = transactions::header(db, row)? else { return Ok(()) };
    let transaction = transactions::whole(db, header)?;
    let Some(answered_at) = transaction.state.last_checked_at else { return Ok(()) };
    let mut steps = evaluate_answer(&transaction, &alerts::active_for(db, &transaction.profile, row)?, answered_at);
    // No answer is counted twice.
    steps.retain(|step| matches!(step, AlertStep::Raise { .. } | AlertStep::Clear { .. }));
    carry_out(db, &steps, &FeedEntry { profile: &transaction.profile, ..entry })
}

/// Sets how an active alert is handled; `None` ends its handling. The stamp has the author.
pub(super) fn change_handling(
    db: &Connection,
    alert: &Alert,
    handling: Option<&Handling>,
    stamp: &Stamp,
) -> Result<()> {
    let entry = entry_of(alert, stamp);
    write_handling(db, alert, handling, &entry)?;
    entry.transaction.map_or(Ok(()), |row| alerts::write_severity_rank(db, row))
}

/// Ends the snoozes that have expired at `at`. Whether an alert counts as snoozed never depends on this call; only the
/// feed and the order of lists do.
pub(super) fn end_snoozes(db: &Connection, at: DateTime<Utc>) -> Result<()> {
    let stamp = Stamp::new(at, None);
    alerts::with_ended_snooze(db, at)?.iter().try_for_each(|alert| change_handling(db, alert, None, &stamp))
}

/// Records in the feed that a person handled an alert as another person had done before. A note counts as the other
/// person's.
pub(super) fn record_repetition(db: &Connection, alert: &Alert, stamp: &Stamp) -> Result<()> {
    let rule = alert.rule;
    let kind = match alert.handling.as_ref().map(|handling| &handling.kind) {
        Some(HandlingKind::Acknowledged(_)) => ChangeKind::AlertAcknowledged { rule, note: None },
        Some(HandlingKind::Snoozed(until)) => ChangeKind::AlertSnoozed { rule, until: until.moment() },
        None => return Ok(()),
    };
    changes::append(db, &entry_of(alert, stamp), &kind)
}

/// Returns an entry of the feed about a person's action on an alert.
fn entry_of<'a>(alert: &'a Alert, stamp: &'a Stamp) -> FeedEntry<'a> {
    let (at, author) = (stamp.at, stamp.author.as_deref());
    FeedEntry { at, profile: &alert.profile, transaction: alert.transaction, observation: None, author }
}

fn write_handling(db: &Connection, alert: &Alert, handling: Option<&Handling>, entry: &FeedEntry<'_>) -> Result<()> {
    alerts::set_handling(db, alert.id, handling)?;
    let rule = alert.rule;
    let kind = match handling.map(|handling| &handling.kind) {
        Some(HandlingKind::Snoozed(until)) => ChangeKind::AlertSnoozed { rule, until: until.moment() },
        Some(HandlingKind::Acknowledged(note)) => ChangeKind::AlertAcknowledged { rule, note: note.clone() },
        None if alert.snoozed().is_some() => ChangeKind::AlertUnsnoozed { rule },
        None => ChangeKind::AlertUnacknowledged { rule },
    };
    changes::append(db, entry, &kind)
}
