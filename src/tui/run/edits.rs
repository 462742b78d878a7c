//! The dashboard's writes to the store; each returns a sentence about its result.
//!
//! The functions block for the disk. Nothing here decides what to write.

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    domain::{
        alert::Alert,
        chains,
        ids::RowId,
        operation::{Edit, EditTargets, LocalEdit, Operation},
        span, text,
    },
    store::{AlertQuery, ImportToUndo, Reader, Reversal, Store, StoreError},
    tui::{
        command::CommandId,
        effect::{AlertTarget, ScreenEdit},
        model::DashboardSettings,
    },
};

/// What each write needs: the store, the settings with the profile and the keys that sentences name, and the moment.
pub(crate) struct WriteContext {
    pub(crate) store: Store,
    pub(crate) setting: DashboardSettings,
    pub(crate) at: DateTime<Utc>,
}

pub(crate) fn edit(context: &WriteContext, edit: ScreenEdit) -> Result<String, StoreError> {
    let of_one = transaction_of_alerts(&edit);
    let is_wanted: fn(&Alert) -> bool = match &edit {
        Edit::Acknowledge { .. } => |alert| alert.acknowledged().is_none(),
        Edit::Unacknowledge { .. } => |alert| alert.handling.is_some(),
        Edit::Snooze { .. }
        | Edit::Untrack { .. }
        | Edit::AddNote { .. }
        | Edit::RemoveNote { .. }
        | Edit::SetTicket { .. }
        | Edit::CorrectSource { .. }
        | Edit::ChangeLabels { .. } => |_| true,
    };
    let reader = context.store.reader()?;
    let mut has_active = false;
    let alerts = |target| match target {
        AlertTarget::Alert(alert) => Ok(vec![alert]),
        AlertTarget::OfTransaction(row) => {
            let alerts = reader.alerts(AlertQuery::OfTransaction(row))?;
            has_active |= !alerts.is_empty();
            Ok::<_, StoreError>(alerts.iter().filter(|alert| is_wanted(alert)).map(|alert| alert.id).collect())
        }
    };
    let edit: LocalEdit = edit.resolve(|row| Ok(Some(row)), alerts)?;
    let operation = Operation::Edit { profile: context.setting.profile.clone(), edit: reader.resolve(edit.clone())? };
    Ok(match context.store.apply(operation, context.at).wait()?.changed()? {
        0 if is_about_deleted(&edit, &reader)? => "No change: the transaction no longer exists.".to_owned(),
        0 => unchanged_reason(&edit, has_active).to_owned(),
        changed => {
            let mut limit = "";
            if let Edit::CorrectSource { transactions, .. } = &edit {
                // The key has changed with the chain.
                let transactions = context.store.reader()?.keys(transactions)?;
                context.store.apply(Operation::RequestPoll { transactions }, context.at).wait()?;
                limit = " until the service finds the transaction there";
            }
            // The row may have moved away from the cursor.
            let name = match of_one.map(|row| reader.header(row)).transpose()?.flatten() {
                Some(tx) => format!("{}: ", tx.params.transaction_id.short("…")),
                None => String::new(),
            };
            let (outcome, key) = (edit_outcome(&edit, changed), context.setting.keys.shown(CommandId::Undo));
            format!("{name}{outcome}; {key} undoes this{limit}.")
        }
    })
}

/// Whether all transactions of an edit were deleted meanwhile.
fn is_about_deleted(edit: &LocalEdit, reader: &Reader) -> Result<bool, StoreError> {
    let EditTargets::Transactions(rows) = edit.targets() else { return Ok(false) };
    Ok(reader.keys(rows)?.is_empty())
}

/// Returns the transaction whose alerts an edit handles, if it handles those of one.
fn transaction_of_alerts(edit: &ScreenEdit) -> Option<RowId> {
    match edit.targets() {
        EditTargets::Alerts([alert]) => alert.transaction(),
        EditTargets::Alerts(_) | EditTargets::Transactions(_) => None,
    }
}

/// Pauses polling of all shown profiles for this many minutes, or resumes it.
pub(crate) fn pause(context: &WriteContext, minutes: Option<i64>) -> Result<String, StoreError> {
    let WriteContext { store, setting, at } = context;
    let until = minutes.map(|minutes| *at + TimeDelta::minutes(minutes));
    for profile in setting.profiles() {
        store.apply(Operation::Pause { profile: profile.to_owned(), until }, *at).wait()?;
    }
    let Some(until) = until else { return Ok("Polling resumed.".into()) };
    let profiles = match setting.profiles().count() {
        ..=1 => "this profile".to_owned(),
        2 => "both profiles".to_owned(),
        all => format!("all {all} profiles"),
    };
    let (until, key) = (span::clock_time(until, *at, setting.zone), setting.keys.shown(CommandId::Pause));
    Ok(format!("Polling is paused until {until} for {profiles}, in every process; {key} resumes."))
}

/// Deletes transactions permanently.
pub(crate) fn delete(context: &WriteContext, rows: &[RowId]) -> Result<String, StoreError> {
    let transactions = context.store.reader()?.keys(rows)?;
    Ok(match context.store.apply(Operation::Delete { transactions }, context.at).wait()?.changed()? {
        0 => "Nothing to delete: the transaction is already deleted.".into(),
        1 => "Deleted permanently.".into(),
        many => format!("{many} transactions deleted permanently."),
    })
}

/// Returns the result of an edit that changed `count` items.
fn edit_outcome(edit: &LocalEdit, count: usize) -> String {
    match edit {
        Edit::Untrack { .. } if count == 1 => "Polling stopped; the transaction is kept".into(),
        Edit::Untrack { .. } => format!("Polling stopped for {count} transactions; they are kept"),
        Edit::AddNote { .. } => format!("{} added", text::counted(count, "note")),
        Edit::RemoveNote { .. } => format!("{} removed", text::counted(count, "note")),
        Edit::SetTicket { ticket: Some(ticket), .. } => format!("Ticket {} set{}", text::clean(ticket), on_many(count)),
        Edit::SetTicket { ticket: None, .. } => format!("Ticket removed{}", on_many(count)),
        Edit::ChangeLabels { .. } => format!("{} changed", text::counted(count, "label")),
        Edit::Acknowledge { .. } => format!("{} acknowledged", text::counted(count, "alert")),
        Edit::Snooze { .. } => format!("{} snoozed", text::counted(count, "alert")),
        Edit::Unacknowledge { .. } if count == 1 => "1 alert fires again".into(),
        Edit::Unacknowledge { .. } => format!("{count} alerts fire again"),
        Edit::CorrectSource { chain, .. } => {
            format!("Source chain corrected to {}; polled next", chains::name(chain))
        }
    }
}

/// Returns why an edit changed nothing. `has_active` says whether its transactions have active alerts.
fn unchanged_reason(edit: &LocalEdit, has_active: bool) -> &'static str {
    match edit {
        Edit::Untrack { .. } => "No change: it is not being polled.",
        Edit::AddNote { .. } => "No change: the note wasn't added.",
        Edit::RemoveNote { .. } => "No change: the note is already removed.",
        Edit::SetTicket { .. } => "No change: this is already the ticket.",
        Edit::ChangeLabels { .. } => "No change: the labels are already set.",
        // The edit names only the alerts that aren't acknowledged.
        Edit::Acknowledge { alerts, .. } if alerts.is_empty() && has_active => "Already acknowledged.",
        Edit::Acknowledge { alerts, .. } if alerts.is_empty() => "No alert to acknowledge.",
        Edit::Acknowledge { .. } => "Already acknowledged. Type a new note to replace the old one.",
        Edit::Snooze { .. } => "No alert to snooze.",
        Edit::Unacknowledge { .. } => "No acknowledged or snoozed alert here.",
        Edit::CorrectSource { .. } => {
            "No change: this hash is tracked on that chain already, or the service knows it here."
        }
    }
}

/// Returns on how many transactions an edit was made; nothing for one.
fn on_many(count: usize) -> String {
    if count == 1 { String::new() } else { format!(" on {count} transactions") }
}

/// Returns the edit that an undo would revert, with the number of transactions that it imported; `None` if there is
/// nothing to undo.
pub(crate) fn last_import(context: &WriteContext) -> Result<Option<ImportToUndo>, StoreError> {
    context.store.reader()?.last_import(&context.setting.profile, context.store.author().as_deref())
}

/// Undoes the last edit.
pub(crate) fn undo(context: &WriteContext) -> Result<String, StoreError> {
    let operation = Operation::Undo { profile: context.setting.profile.clone() };
    let Some(reversal) = context.store.apply(operation, context.at).wait()?.reversed()? else {
        return Ok("Nothing to undo.".into());
    };
    let mut stopped = String::new();
    // Undoing an import stops polling of many transactions, so the sentence names the key that reverts it.
    if reversal.done > 0 && reversal.has_stopped_import {
        let kept = if reversal.about.is_some() { "it is" } else { "they are" };
        let key = context.setting.keys.shown(CommandId::Redo);
        stopped = format!("; {kept} kept but not polled ({key} redoes this)");
    }
    Ok(reversal_sentence(context, "Undone", &reversal, &stopped))
}

/// Redoes the edit that was undone last.
pub(crate) fn redo(context: &WriteContext) -> Result<String, StoreError> {
    let operation = Operation::Redo { profile: context.setting.profile.clone() };
    let reversal = context.store.apply(operation, context.at).wait()?.reversed()?;
    let sentence = reversal.map(|reversal| reversal_sentence(context, "Redone", &reversal, ""));
    Ok(sentence.unwrap_or_else(|| "Nothing to redo.".into()))
}

fn reversal_sentence(context: &WriteContext, done: &str, reversal: &Reversal, stopped: &str) -> String {
    if reversal.done == 0 {
        return format!("Not {}: {} ({}).", done.to_lowercase(), Reversal::SKIP_REASON, text::clean(&reversal.summary));
    }
    let left = match reversal.left {
        0 => String::new(),
        left => format!(" ({left} not {}: {})", done.to_lowercase(), Reversal::SKIP_REASON),
    };
    let about =
        reversal.about.as_ref().map_or_else(String::new, |hash| format!(" ({})", text::clean(&hash.short("…"))));
    let profile_prefix = context.setting.profile_prefix(&context.setting.profile);
    format!("{done}: {profile_prefix}{}{about}{stopped}{left}", text::clean(&reversal.summary))
}
