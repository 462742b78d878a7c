//! The dashboard's writes to the store; each returns a sentence about its result.
//!
//! The functions block for the disk. Nothing here decides what to write.

use chrono::{DateTime, Utc};

use crate::{
    domain::{
        alert::{Alert, Snooze},
        ids::RowId,
        operation::{Edit, LocalEdit, Operation},
        text,
    },
    store::{AlertQuery, Reversal, Store, StoreError},
    tui::{command::Id, keys::Keys},
};

/// What each write needs: the store, the profile, the moment, and the keys for sentences that name some.
pub(super) struct WriteContext {
    pub(super) store: Store,
    pub(super) profile: String,
    /// Whose it all is, before what is said of it; nothing where only one profile is shown.
    pub(super) whose: String,
    pub(super) at: DateTime<Utc>,
    /// The keys, for sentences that name some.
    pub(super) keys: Keys,
}

/// Changes what is kept.
pub(super) fn edit(context: &WriteContext, edit: LocalEdit) -> Result<String, StoreError> {
    let operation =
        Operation::Edit { profile: context.profile.clone(), edit: context.store.reader()?.resolve(edit.clone())? };
    Ok(match context.store.apply(operation, context.at).wait()?.changed()? {
        0 => nothing(&edit).to_owned(),
        changed => format!("{}; {} undoes this.", done(&edit, changed), context.keys.shown(Id::Undo)),
    })
}

/// Pauses polling until then, or goes on.
pub(super) fn pause(
    store: &Store,
    profiles: &[String],
    until: Option<DateTime<Utc>>,
    at: DateTime<Utc>,
) -> Result<String, StoreError> {
    for profile in profiles {
        store.apply(Operation::Pause { profile: profile.clone(), until }, at).wait()?;
    }
    Ok(match (until, profiles.len()) {
        (Some(_), ..=1) => "Polling is paused for this profile, wherever it is polled.".into(),
        (Some(_), 2) => "Polling is paused for both profiles, wherever they are polled.".into(),
        (Some(_), all) => format!("Polling is paused for all {all} profiles, wherever they are polled."),
        (None, _) => "Polling resumed.".into(),
    })
}

/// Removes transactions for good.
pub(super) fn delete(store: &Store, rows: Vec<RowId>, at: DateTime<Utc>) -> Result<String, StoreError> {
    let transactions = store.reader()?.keys(&rows)?;
    Ok(match store.apply(Operation::Delete { transactions }, at).wait()?.changed()? {
        0 => "Nothing to delete: the transaction is already deleted.".into(),
        1 => "Deleted permanently.".into(),
        many => format!("{many} are removed for good."),
    })
}

/// Takes on whatever stands for transactions and isn't taken on yet.
pub(super) fn acknowledge(
    context: &WriteContext,
    rows: Vec<RowId>,
    note: Option<String>,
) -> Result<String, StoreError> {
    let alerts = standing(&context.store, rows, |alert| alert.acknowledged().is_none())?;
    edit(context, Edit::Acknowledge { alerts, note })
}

/// Snoozes whatever stands for transactions.
pub(super) fn snooze(context: &WriteContext, rows: Vec<RowId>, until: Snooze) -> Result<String, StoreError> {
    let alerts = standing(&context.store, rows, |_| true)?;
    edit(context, Edit::Snooze { alerts, until })
}

/// Lets whatever stands for transactions and is set aside fire again.
pub(super) fn unacknowledge(context: &WriteContext, rows: Vec<RowId>) -> Result<String, StoreError> {
    let alerts = standing(&context.store, rows, |alert| alert.handling.is_some())?;
    edit(context, Edit::Unacknowledge { alerts })
}

/// The numbers of what stands for transactions and is wanted.
fn standing(store: &Store, rows: Vec<RowId>, wanted: fn(&Alert) -> bool) -> Result<Vec<i64>, StoreError> {
    let reader = store.reader()?;
    let mut alerts = Vec::new();
    for row in rows {
        alerts.extend(
            reader.alerts(AlertQuery::OfTransaction(row))?.iter().filter(|alert| wanted(alert)).map(|alert| alert.id),
        );
    }
    Ok(alerts)
}

/// What an edit has done, so many times.
fn done(edit: &LocalEdit, count: usize) -> String {
    match edit {
        Edit::Untrack { .. } if count == 1 => "Polling stopped; the transaction is kept".into(),
        Edit::Untrack { .. } => format!("Polling stopped for {count}; they are kept"),
        Edit::AddNote { .. } => counted(count, "note added", "notes added"),
        Edit::SetTicket { ticket: Some(ticket), .. } => format!("Ticket {} on {count}", text::clean(ticket)),
        Edit::SetTicket { ticket: None, .. } => format!("Ticket removed from {count}"),
        Edit::ChangeLabels { .. } => counted(count, "label changed", "labels changed"),
        Edit::Acknowledge { .. } => counted(count, "alert acknowledged", "alerts acknowledged"),
        Edit::Snooze { .. } => counted(count, "alert snoozed", "alerts snoozed"),
        Edit::Unacknowledge { .. } => counted(count, "alert fires again", "alerts fire again"),
    }
}

/// Why an edit has done nothing.
fn nothing(edit: &LocalEdit) -> &'static str {
    match edit {
        Edit::Untrack { .. } => "No change: it was not polled.",
        Edit::AddNote { .. } => "No change: the transaction no longer exists.",
        Edit::SetTicket { .. } => "No change: this is already the ticket.",
        Edit::ChangeLabels { .. } => "No change: the labels are already set.",
        Edit::Acknowledge { .. } => "No change: already acknowledged. A note is replaced only by another note.",
        Edit::Snooze { .. } => "No alert to snooze.",
        Edit::Unacknowledge { .. } => "No acknowledged or snoozed alert here.",
    }
}

fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// Takes back what was done last.
pub(super) fn take_back(context: &WriteContext) -> Result<String, StoreError> {
    let turned =
        context.store.apply(Operation::Undo { profile: context.profile.clone() }, context.at).wait()?.reversed()?;
    Ok(turned.map_or_else(
        || "Nothing to undo.".into(),
        |turned| {
            // Taking back an import is much, for a key.
            let stopped = turned.done > 0 && turned.stopped_import;
            let until = || format!("; they are kept, and not polled until {}", context.keys.shown(Id::Redo));
            sentence(("Undone", &context.whose), &turned, &if stopped { until() } else { String::new() })
        },
    ))
}

/// Does again what was taken back last.
pub(super) fn do_again(context: &WriteContext) -> Result<String, StoreError> {
    let turned =
        context.store.apply(Operation::Redo { profile: context.profile.clone() }, context.at).wait()?.reversed()?;
    Ok(turned.map_or_else(|| "Nothing to redo.".into(), |turned| sentence(("Redone", &context.whose), &turned, "")))
}

fn sentence((done, whose): (&str, &str), turned: &Reversal, stopped: &str) -> String {
    if turned.done == 0 {
        return format!("No change: something else happened since ({}).", text::clean(&turned.summary));
    }
    let left = match turned.left {
        0 => String::new(),
        left => format!(" ({left} of it stay as they are: something else happened to them since)"),
    };
    let about = turned.about.as_ref().map_or_else(String::new, |hash| format!(" ({})", text::clean(&hash.short("…"))));
    format!("{done}: {whose}{}{about}{stopped}{left}", text::clean(&turned.summary))
}
