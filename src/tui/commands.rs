//! What the dashboard writes into the store for its person, each with a sentence on what became of it.
//!
//! It blocks for the disk; nothing here decides what is to be done.

use chrono::{DateTime, Utc};

use crate::{
    domain::{ids::RowId, text},
    store::{Edit, Store, StoreError, TakenBack},
};

/// Stops polling a transaction.
pub(super) fn untrack(store: &Store, profile: &str, row: RowId, at: DateTime<Utc>) -> Result<String, StoreError> {
    let changed = store.edit(profile, Edit::Untrack(vec![row]), at).wait()?;
    Ok(match changed {
        0 => "It wasn't polled before.".into(),
        _ => "It is polled no more, and kept; u takes this back.".into(),
    })
}

/// Removes a transaction for good.
pub(super) fn delete(store: &Store, row: RowId, at: DateTime<Utc>) -> Result<String, StoreError> {
    Ok(match store.delete(vec![row], at).wait()? {
        0 => "It was removed already.".into(),
        _ => "It is removed for good.".into(),
    })
}

/// Takes back what was done last.
pub(super) fn take_back(store: &Store, profile: &str, at: DateTime<Utc>) -> Result<String, StoreError> {
    let turned = store.take_back(profile, at).wait()?;
    Ok(turned.map_or_else(|| "There is nothing to take back.".into(), |turned| sentence("Taken back", &turned)))
}

/// Does again what was taken back last.
pub(super) fn do_again(store: &Store, profile: &str, at: DateTime<Utc>) -> Result<String, StoreError> {
    let turned = store.do_again(profile, at).wait()?;
    Ok(turned.map_or_else(|| "There is nothing to do again.".into(), |turned| sentence("Done again", &turned)))
}

fn sentence(done: &str, turned: &TakenBack) -> String {
    if turned.done == 0 {
        return format!("Nothing was changed: something else happened since ({}).", text::clean(&turned.summary));
    }
    let left = match turned.left {
        0 => String::new(),
        left => format!(" ({left} of it stay as they are: something else happened to them since)"),
    };
    format!("{done}: {}{left}", text::clean(&turned.summary))
}
