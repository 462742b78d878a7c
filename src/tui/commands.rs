//! What the dashboard writes into the store for its person, each with a sentence on what became of it.
//!
//! It blocks for the disk; nothing here decides what is to be done.

use chrono::{DateTime, Utc};

use crate::{
    domain::{
        alert::{Alert, Snooze},
        ids::RowId,
        text,
    },
    store::{Edit, Store, StoreError, TakenBack},
};

/// Changes what is kept.
pub(super) fn edit(store: &Store, profile: &str, edit: Edit, at: DateTime<Utc>) -> Result<String, StoreError> {
    let changed = store.edit(profile, edit.clone(), at).wait()?;
    Ok(match changed {
        0 => nothing(&edit).to_owned(),
        _ => format!("{}; u takes this back.", done(&edit, changed)),
    })
}

/// Pauses polling until then, or goes on.
pub(super) fn pause(store: &Store, profile: &str, until: Option<DateTime<Utc>>) -> Result<String, StoreError> {
    store.pause(profile, until).wait()?;
    Ok(match until {
        Some(_) => "Polling is paused for this profile, wherever it is polled.".into(),
        None => "Polling goes on.".into(),
    })
}

/// Removes transactions for good.
pub(super) fn delete(store: &Store, rows: Vec<RowId>, at: DateTime<Utc>) -> Result<String, StoreError> {
    Ok(match store.delete(rows, at).wait()? {
        0 => "Nothing was removed: it is gone already.".into(),
        1 => "It is removed for good.".into(),
        many => format!("{many} are removed for good."),
    })
}

/// Takes on whatever stands for transactions and isn't taken on yet.
pub(super) fn acknowledge(
    store: &Store,
    profile: &str,
    (rows, note): (Vec<RowId>, Option<String>),
    at: DateTime<Utc>,
) -> Result<String, StoreError> {
    let alerts = standing(store, rows, |alert| alert.acknowledged().is_none())?;
    edit(store, profile, Edit::Acknowledge { alerts, note }, at)
}

/// Snoozes whatever stands for transactions.
pub(super) fn snooze(
    store: &Store,
    profile: &str,
    (rows, until): (Vec<RowId>, Snooze),
    at: DateTime<Utc>,
) -> Result<String, StoreError> {
    let alerts = standing(store, rows, |_| true)?;
    edit(store, profile, Edit::Snooze { alerts, until }, at)
}

/// The numbers of what stands for transactions and is wanted.
fn standing(store: &Store, rows: Vec<RowId>, wanted: fn(&Alert) -> bool) -> Result<Vec<i64>, StoreError> {
    let reader = store.reader()?;
    let mut alerts = Vec::new();
    for row in rows {
        alerts.extend(reader.alerts_of(row)?.iter().filter(|alert| wanted(alert)).map(|alert| alert.id));
    }
    Ok(alerts)
}

/// What an edit has done, so many times.
fn done(edit: &Edit, count: usize) -> String {
    match edit {
        Edit::Untrack(_) if count == 1 => "It is polled no more, and kept".into(),
        Edit::Untrack(_) => format!("{count} are polled no more, and kept"),
        Edit::Note { .. } => counted(count, "note added", "notes added"),
        Edit::Ticket { ticket: Some(ticket), .. } => format!("Ticket {} on {count}", text::clean(ticket)),
        Edit::Ticket { ticket: None, .. } => format!("Ticket taken off {count}"),
        Edit::Labels { .. } => counted(count, "label changed", "labels changed"),
        Edit::Acknowledge { .. } => counted(count, "alert acknowledged", "alerts acknowledged"),
        Edit::Snooze { .. } => counted(count, "alert snoozed", "alerts snoozed"),
        Edit::Unacknowledge(_) => counted(count, "alert fires again", "alerts fire again"),
    }
}

/// Why an edit has done nothing.
fn nothing(edit: &Edit) -> &'static str {
    match edit {
        Edit::Untrack(_) => "Nothing was changed: it wasn't polled before.",
        Edit::Note { .. } => "Nothing was changed: it isn't there any more.",
        Edit::Ticket { .. } => "Nothing was changed: the ticket is that already.",
        Edit::Labels { .. } => "Nothing was changed: the labels are so already.",
        Edit::Acknowledge { .. } => "Nothing was changed: no alert here is new.",
        Edit::Snooze { .. } => "Nothing was changed: no alert stands here.",
        Edit::Unacknowledge(_) => "Nothing was changed: no alert here is set aside.",
    }
}

fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// Takes back what was done last.
pub(super) fn take_back(store: &Store, profile: &str, at: DateTime<Utc>) -> Result<String, StoreError> {
    let turned = store.take_back(profile, at).wait()?;
    Ok(turned.map_or_else(|| "There is nothing to take back.".into(), |turned| sentence(TAKEN_BACK, &turned)))
}

/// Does again what was taken back last.
pub(super) fn do_again(store: &Store, profile: &str, at: DateTime<Utc>) -> Result<String, StoreError> {
    let turned = store.do_again(profile, at).wait()?;
    Ok(turned.map_or_else(|| "There is nothing to do again.".into(), |turned| sentence("Done again", &turned)))
}

const TAKEN_BACK: &str = "Taken back";

fn sentence(done: &str, turned: &TakenBack) -> String {
    if turned.done == 0 {
        return format!("Nothing was changed: something else happened since ({}).", text::clean(&turned.summary));
    }
    let left = match turned.left {
        0 => String::new(),
        left => format!(" ({left} of it stay as they are: something else happened to them since)"),
    };
    // Taking back an import is much, for a key.
    let stopped = done == TAKEN_BACK && turned.summary.starts_with("track ");
    let stopped = if stopped { "; they are kept, and polled no more until U" } else { "" };
    format!("{done}: {}{stopped}{left}", text::clean(&turned.summary))
}
