//! Carries out the steps of an edit, reverses them, and applies them again.
//!
//! A step changes a value only if the present value is the expected one. A later change of the value is kept.
//! People undo only their own edits, and never a value that another person's edit set since.

use std::{
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
};

use rusqlite::{Connection, params};

use super::alerts as alert_changes;
use crate::{
    domain::{
        alert::Handling,
        change::{ChangeKind, NOTE_FIELD, PARAMS_FIELD, REMOVED_NOTE_FIELD, ReversalKind},
        ids::{ChainId, RowId, TransactionKey, TxHash},
        operation::Stamp,
        status::RouterStatus,
        transaction::Tracking,
    },
    store::{
        error::Result,
        reader::Reader,
        row_checksum,
        statement::CachedStatements,
        tables::{
            alerts,
            changes::{self, FeedEntry},
            notes, on_chain, transaction_keys, transactions,
            undo_history::{self, EditStep, EditTarget, RecordedEdit, StoredTracking, WrittenHandling},
        },
    },
};

/// The result of undoing or redoing an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reversal {
    /// The edit in words.
    pub summary: String,
    /// The hash of the edit's transaction, if the edit concerns exactly one.
    pub about: Option<TxHash>,
    /// The number of steps that were carried out.
    pub done: usize,
    /// The number of steps that were skipped ([`Reversal::SKIP_REASON`]).
    pub left: usize,
    /// Whether an import was undone. Its transactions are kept but no longer polled.
    pub has_stopped_import: bool,
}

/// One pass over the steps of an edit.
#[derive(Clone, Copy, Debug)]
pub(super) struct EditPass<'a> {
    /// How the edit is carried out again; `None` the first time.
    pub(super) reversal: Option<ReversalKind>,
    /// The moment, and the author of the edit.
    pub(super) stamp: &'a Stamp,
    /// The values that other people changed since the edit. They are left as they are.
    pub(super) kept: &'a HashSet<EditTarget>,
    /// The earlier steps of other people that the edit repeats and that were reversed since, by the value that they
    /// set.
    pub(super) originals: &'a HashMap<EditTarget, EditStep>,
}

impl<'a> EditPass<'a> {
    fn author(self) -> Option<&'a str> {
        self.stamp.author.as_deref()
    }

    /// Returns an entry of the feed about a transaction.
    fn entry(self, row: RowId) -> FeedEntry<'a> {
        FeedEntry::of_row(row, self.stamp.at).with_author(self.author())
    }

    /// Returns the state that a step expects and the state that it writes, from the states before and after the edit.
    fn in_direction<T>(self, before: T, after: T) -> (T, T) {
        if self.is_undo() { (after, before) } else { (before, after) }
    }

    fn is_undo(self) -> bool {
        self.reversal == Some(ReversalKind::Undone)
    }
}

/// Reverses the last edit of a person in a profile that isn't reversed yet. Returns `None` if there is none.
pub(super) fn undo(db: &Connection, profile: &str, stamp: &Stamp) -> Result<Option<Reversal>> {
    let edit = undo_history::last_applied(db, profile, stamp.author.as_deref())?;
    edit.map(|edit| replay(db, profile, edit, ReversalKind::Undone, stamp)).transpose()
}

/// Applies again the edit of a person in a profile that was reversed last. Returns `None` if there is none, or the
/// person made another edit since.
pub(super) fn redo(db: &Connection, profile: &str, stamp: &Stamp) -> Result<Option<Reversal>> {
    let edit = undo_history::last_reversed(db, profile, stamp.author.as_deref())?;
    edit.map(|edit| replay(db, profile, edit, ReversalKind::Redone, stamp)).transpose()
}

/// The edit that an undo would reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportToUndo {
    /// The number of the edit in this store.
    pub edit: i64,
    /// How many transactions the edit imported; 0 if it is no import.
    pub transactions: u64,
}

impl Reader {
    /// Returns the edit that `undo` would reverse, as an import; `None` if there is none.
    pub fn last_import(&self, profile: &str, author: Option<&str>) -> Result<Option<ImportToUndo>> {
        let Some(edit) = undo_history::last_applied(self.db(), profile, author)? else { return Ok(None) };
        let imported = |step: &EditStep| match step {
            EditStep::Tracked { first, last, .. } => u64::try_from(last - first + 1).unwrap_or_default(),
            EditStep::Params { .. }
            | EditStep::Tracking { .. }
            | EditStep::Ticket { .. }
            | EditStep::Label { .. }
            | EditStep::Note { .. }
            | EditStep::Source { .. }
            | EditStep::Acknowledged { .. } => 0,
        };
        Ok(Some(ImportToUndo { edit: edit.id, transactions: edit.steps.iter().map(imported).sum() }))
    }
}

/// Carries out the steps of a recorded edit and records this in the feed.
fn replay(
    db: &Connection,
    profile: &str,
    mut edit: RecordedEdit,
    reversal: ReversalKind,
    stamp: &Stamp,
) -> Result<Reversal> {
    let kept = undo_history::changed_by_others(db, edit.id, stamp.author.as_deref())?;
    let originals = undo_history::reversed_originals(db, &edit, stamp.author.as_deref())?;
    let pass = EditPass { reversal: Some(reversal), stamp, kept: &kept, originals: &originals };
    let (about, is_undo) = (single_transaction(db, &edit.steps)?, pass.is_undo());
    let is_import = edit.steps.iter().any(|step| matches!(step, EditStep::Tracked { .. }));
    // Undo reverses the last step first, and the tracking at the end: it was that of the parameters before the edit.
    edit.steps.sort_by_key(|step| !matches!(step, EditStep::Tracking { .. }));
    let steps: &mut dyn Iterator<Item = &mut EditStep> =
        if is_undo { &mut edit.steps.iter_mut().rev() } else { &mut edit.steps.iter_mut() };
    let mut done = 0;
    for step in steps {
        done += usize::from(carry_out(db, step, pass)?);
    }
    undo_history::update(db, profile, &edit, is_undo.then_some(stamp.at))?;
    let summary = edit.summary.clone();
    let kind = if is_undo { ChangeKind::Undone { summary } } else { ChangeKind::Redone { summary } };
    changes::append(db, &FeedEntry::of_profile(profile, stamp.at).with_author(pass.author()), &kind)?;
    // The steps of a very large edit aren't kept: they count as one skipped step.
    let left = edit.steps.len().max(1) - done;
    Ok(Reversal { summary: edit.summary, about, done, left, has_stopped_import: is_undo && is_import })
}

impl Reversal {
    /// Why a step may have been skipped.
    pub(crate) const SKIP_REASON: &str =
        "the values have changed since, or the transaction was deleted, or found by the service on the corrected chain";
}

/// Returns the hash of the transaction that every step concerns, if there is exactly one.
fn single_transaction(db: &Connection, steps: &[EditStep]) -> Result<Option<TxHash>> {
    let mut about = None;
    for step in steps {
        let row = match step {
            EditStep::Tracked { first, last, .. } => (first == last).then_some(RowId(*first)),
            EditStep::Acknowledged { alert, .. } => alerts::by_id(db, *alert)?.and_then(|alert| alert.transaction),
            step => step.row(),
        };
        if row.is_none() || about.is_some_and(|about| Some(about) != row) {
            return Ok(None);
        }
        about = row;
    }
    let key = about.map(|row| transaction_keys::key(db, row)).transpose()?.flatten();
    Ok(key.map(|key| key.hash))
}

/// Carries out a step in one direction. Returns `false` and changes nothing if the present state isn't the expected
/// one.
pub(super) fn carry_out(db: &Connection, step: &mut EditStep, pass: EditPass<'_>) -> Result<bool> {
    if step.targets().iter().any(|target| pass.kept.contains(target)) {
        return Ok(false);
    }
    if step.is_repetition() {
        if pass.reversal.is_none() {
            return record_repetition(db, step, pass);
        }
        let original = step.targets().iter().find_map(|target| pass.originals.get(target)).cloned();
        return original.map_or(Ok(true), |mut original| carry_out(db, &mut original, pass));
    }
    match step {
        EditStep::Tracked { first, last, stopped } => {
            let rows = *first..=*last;
            if pass.is_undo() {
                let entries = stop_polling(db, rows, pass)?;
                // An empty range of entries: no row was stopped, so redo must resume none.
                *stopped = Some(entries.unwrap_or((1, 0)));
                Ok(entries.is_some())
            } else {
                resume_polling(db, rows, *stopped, pass)
            }
        }
        EditStep::Params { row, before, after, ticket_by } => {
            let (from, to) = pass.in_direction(before, after);
            let known = transactions::header(db, RowId(*row))?;
            let changed = known.and_then(|known| Some((known.params.with_change(from, to)?, known)));
            if let Some((params, known)) = &changed {
                let (_, ticket_author) = pass.in_direction(ticket_by.as_deref(), pass.author());
                transactions::write_params(db, known, params, ticket_author)?;
                // The service refused another request.
                if matches!(known.tracking, Tracking::Parked(_)) && !params.has_same_request(&known.params) {
                    transactions::resume(db, known.id)?;
                }
            }
            record_edit(db, changed.is_some(), *row, PARAMS_FIELD, pass)
        }
        EditStep::Tracking { row, before, after } => {
            let (from, to) = pass.in_direction(&*before, &*after);
            set_polling(db, RowId(*row), from, to, pass)
        }
        EditStep::Ticket { row, before, after, by } => {
            let (from, to) = pass.in_direction(before, after);
            let (_, author) = pass.in_direction(by.as_deref(), pass.author());
            let author = author.filter(|_| to.is_some());
            let set = row_checksum::assignments(transactions::CHECKED, &[("ticket", "?3"), ("ticket_by", "?4")]);
            let sql = format!("UPDATE transactions SET {set} WHERE id = ?1 AND ticket IS ?2");
            let done = db.change(&sql, params![*row, *from, *to, author])? > 0;
            record_edit(db, done, *row, &ticket_field(to.as_deref()), pass)
        }
        EditStep::Label { row, label, is_added, by, .. } => {
            let (_, is_present) = pass.in_direction(!*is_added, *is_added);
            let done = match is_present {
                true => {
                    let (_, author) = pass.in_direction(by.as_deref(), pass.author());
                    let sql = "INSERT OR IGNORE INTO labels (transaction_row, label, author, checksum)
                               SELECT id, ?2, ?3, row_checksum(id, ?2, ?3) FROM transactions WHERE id = ?1";
                    db.change(sql, params![*row, *label, author])?
                }
                false => {
                    let sql = "DELETE FROM labels WHERE transaction_row = ?1 AND label = ?2";
                    db.change(sql, params![*row, *label])?
                }
            };
            record_edit(db, done > 0, *row, &label_field(label, is_present), pass)
        }
        EditStep::Note { row, note, is_removed } => {
            let (_, is_gone) = pass.in_direction(!*is_removed, *is_removed);
            let done = notes::set_withdrawn(db, *note, is_gone.then_some(pass.stamp.at))?;
            record_edit(db, done, *row, if is_gone { REMOVED_NOTE_FIELD } else { NOTE_FIELD }, pass)
        }
        EditStep::Source { row, before, after, was_stopped } => {
            let (from, to) = pass.in_direction(&*before, &*after);
            let tracking = was_stopped.then(|| pass.in_direction(Tracking::Untracked, Tracking::Active));
            let done = correct_source(db, RowId(*row), from, to, tracking, pass)?;
            record_edit(db, done, *row, &format!("source chain {to}"), pass)
        }
        EditStep::Acknowledged { alert, before, after } => {
            let (from, to) = pass.in_direction(before, after);
            let Some(active) = alerts::by_id(db, *alert)? else { return Ok(false) };
            if active.handling.as_ref().map(WrittenHandling::from) != *from {
                return Ok(false);
            }
            alert_changes::change_handling(db, &active, to.as_ref().map(Handling::from).as_ref(), pass.stamp)?;
            Ok(true)
        }
    }
}

/// Writes another source chain of a transaction, unless the hash is tracked on that chain already. `tracking` is the
/// tracking that changes with the chain, before and after. Returns whether the chain was written.
fn correct_source(
    db: &Connection,
    row: RowId,
    from: &ChainId,
    to: &ChainId,
    tracking: Option<(Tracking, Tracking)>,
    pass: EditPass<'_>,
) -> Result<bool> {
    let Some(key) = transaction_keys::key(db, row)?.filter(|key| key.from_chain == *from) else { return Ok(false) };
    if transactions::row_of(db, &TransactionKey { from_chain: to.clone(), ..key })?.is_some() {
        return Ok(false);
    }
    // What the service has found is on the right chain.
    let Some(header) = transactions::header(db, row)? else { return Ok(false) };
    if header.state.status.is_some_and(|status| status != RouterStatus::NotFound) {
        return Ok(false);
    }
    let tracking = match (header.tracking, tracking) {
        (current, Some((from, to))) if current == from => to,
        (Tracking::Untracked, _) => Tracking::Untracked,
        // A refusal by the service was about the other chain.
        (Tracking::Active | Tracking::Parked(_), _) => Tracking::Active,
    };
    alert_changes::clear_all(db, row, pass.stamp.at)?;
    on_chain::remove(db, row)?;
    transactions::write_source(db, row, to, tracking)?;
    Ok(true)
}

/// Records in the feed that a person did what another person had done before. Returns `true`.
fn record_repetition(db: &Connection, step: &EditStep, pass: EditPass<'_>) -> Result<bool> {
    match step {
        EditStep::Ticket { row, after, .. } => record_edit(db, true, *row, &ticket_field(after.as_deref()), pass),
        EditStep::Label { row, label, is_added, .. } => {
            record_edit(db, true, *row, &label_field(label, *is_added), pass)
        }
        EditStep::Acknowledged { alert, .. } => {
            if let Some(active) = alerts::by_id(db, *alert)? {
                alert_changes::record_repetition(db, &active, pass.stamp)?;
            }
            Ok(true)
        }
        EditStep::Tracked { .. }
        | EditStep::Params { .. }
        | EditStep::Tracking { .. }
        | EditStep::Note { .. }
        | EditStep::Source { .. } => Ok(true),
    }
}

fn ticket_field(ticket: Option<&str>) -> String {
    ticket.map_or_else(|| "no ticket".to_owned(), |ticket| format!("ticket {ticket}"))
}

fn label_field(label: &str, is_present: bool) -> String {
    format!("label {}{label}", if is_present { '+' } else { '-' })
}

fn set_polling(
    db: &Connection,
    row: RowId,
    from: &StoredTracking,
    to: &StoredTracking,
    pass: EditPass<'_>,
) -> Result<bool> {
    let sql = "UPDATE transactions SET untracked = ?4, parked_reason = ?5
               WHERE id = ?1 AND untracked = ?2 AND parked_reason IS ?3";
    let values = params![row.0, from.is_untracked, from.parked, to.is_untracked, to.parked];
    if db.change(sql, values)? == 0 {
        return Ok(false);
    }
    if to.is_untracked {
        changes::append(db, &pass.entry(row), &ChangeKind::Untracked)?;
        // Without polls nothing shows whether the alerts still hold.
        alert_changes::clear_all(db, row, pass.stamp.at)?;
        Ok(true)
    } else {
        alert_changes::reactivate(db, row, pass.stamp.at)?;
        record_edit(db, true, row.0, if to.parked.is_some() { "parked again" } else { "polled again" }, pass)
    }
}

/// Stops polling a range of rows with one statement, since there may be a million. Returns the first and the last feed
/// entry about this, if any row was stopped.
fn stop_polling(db: &Connection, rows: RangeInclusive<i64>, pass: EditPass<'_>) -> Result<Option<(i64, i64)>> {
    let tracked = format!("untracked = 0{}", except_kept(&rows, pass));
    let entries = changes::append_to_each(db, rows.clone(), &tracked, &ChangeKind::Untracked, pass.stamp)?;
    let which = format!("id BETWEEN ? AND ? AND {tracked}");
    let alerting = format!("SELECT id FROM transactions WHERE {which} AND calm < 3");
    let alerting = db.all(&alerting, [rows.start(), rows.end()], |row| row.get(0).map(RowId))?;
    alerting.into_iter().try_for_each(|row| alert_changes::clear_all(db, row, pass.stamp.at))?;
    // The reason for parking stays: it holds again when polling resumes.
    let stopped = format!("UPDATE transactions SET untracked = 1 WHERE {which}");
    let is_stopped = db.change(&stopped, [rows.start(), rows.end()])? > 0;
    Ok(is_stopped.then_some(entries.into_inner()))
}

/// Resumes polling of the rows that [`stop_polling`] stopped, except rows that a person stopped since.
fn resume_polling(
    db: &Connection,
    rows: RangeInclusive<i64>,
    stopped: Option<(i64, i64)>,
    pass: EditPass<'_>,
) -> Result<bool> {
    let which = stopped.map_or_else(
        || "untracked = 1".to_owned(),
        |(first, last)| {
            let entry = "SELECT max(seq) FROM changes WHERE transaction_row = transactions.id AND event";
            format!("untracked = 1 AND ({entry} = '{}') BETWEEN {first} AND {last}", ChangeKind::Untracked.name())
        },
    );
    let which = format!("{which}{}", except_kept(&rows, pass));
    let resumed = ChangeKind::Edited { fields: vec!["polled again".to_owned()], reversal: Some(ReversalKind::Redone) };
    changes::append_to_each(db, rows.clone(), &which, &resumed, pass.stamp)?;
    // An alert was cleared with the end of the polling, or an answer came since.
    let may_alert = format!(
        "SELECT id FROM transactions WHERE id BETWEEN ? AND ? AND {which}
         AND (EXISTS (SELECT 1 FROM alerts WHERE transaction_row = transactions.id AND cleared_at IS NOT NULL)
              OR last_checked_at >= (SELECT at FROM changes WHERE transaction_row = transactions.id AND event = '{}'
                                     ORDER BY seq DESC LIMIT 1))",
        ChangeKind::Untracked.name()
    );
    let mut may_alert = db.prepare(&may_alert)?;
    let may_alert = may_alert.query_map([rows.start(), rows.end()], |row| row.get(0).map(RowId))?;
    let may_alert = may_alert.collect::<Result<Vec<_>, _>>()?;
    let polled = format!("UPDATE transactions SET untracked = 0 WHERE id BETWEEN ? AND ? AND {which}");
    let done = db.prepare(&polled)?.execute([rows.start(), rows.end()])? > 0;
    may_alert.into_iter().try_for_each(|row| alert_changes::reactivate(db, row, pass.stamp.at))?;
    Ok(done)
}

/// Returns the SQL condition that excludes rows whose polling another person stopped or resumed since; empty if there
/// are none.
fn except_kept(rows: &RangeInclusive<i64>, pass: EditPass<'_>) -> String {
    let row = |target: &EditTarget| match target {
        EditTarget::Tracking(row) => rows.contains(row).then(|| row.to_string()),
        EditTarget::Params(_)
        | EditTarget::Ticket(_)
        | EditTarget::Label(..)
        | EditTarget::Note(_)
        | EditTarget::Source(_)
        | EditTarget::Handling(_) => None,
    };
    let kept: Vec<String> = pass.kept.iter().filter_map(row).collect();
    if kept.is_empty() { String::new() } else { format!(" AND id NOT IN ({})", kept.join(", ")) }
}

/// Appends an edit to the feed if `is_done`. Returns `is_done`.
fn record_edit(db: &Connection, is_done: bool, row: i64, field: &str, pass: EditPass<'_>) -> Result<bool> {
    if is_done {
        let kind = ChangeKind::Edited { fields: vec![field.to_owned()], reversal: pass.reversal };
        changes::append(db, &pass.entry(RowId(row)), &kind)?;
    }
    Ok(is_done)
}
