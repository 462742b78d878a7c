//! The notes' table: what people wrote on transactions, and when.
//!
//! It is read here; notes are written as edits, so that they can be taken back.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, params};

use super::{columns, error::StoreError};
use crate::domain::ids::RowId;

/// What a person wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When.
    pub at: DateTime<Utc>,
    /// Their words.
    pub text: String,
}

/// The newest notes of one transaction, so many at most, the oldest of them first.
pub(super) fn of_transaction(db: &Connection, row: RowId, most: usize) -> Result<Vec<Note>, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT at, text FROM notes WHERE transaction_row = ? AND taken_back_at IS NULL ORDER BY id DESC LIMIT ?",
    )?;
    let note = |row: &rusqlite::Row<'_>| Ok(Note { at: columns::moment_from(row.get(0)?), text: row.get(1)? });
    let mut notes: Vec<Note> = statement.query_map(params![row.0, most], note)?.collect::<Result<_, _>>()?;
    notes.reverse();
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::{
        domain::{fixtures, transaction::NewTransaction},
        store::{Edit, Store},
    };

    #[test]
    fn the_newest_notes_come_with_their_times_and_without_what_was_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("notes.db")).unwrap();
        let at = |seconds| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        let new = NewTransaction { notes: vec!["first".into()], ..fixtures::new(1) };
        store.import("p", vec![new], at(1)).wait().unwrap();
        for (seconds, text) in [(2, "second"), (3, "third"), (4, "wrong")] {
            store.edit("p", Edit::Note { rows: vec![RowId(1)], text: text.into() }, at(seconds)).wait().unwrap();
        }
        store.take_back("p", at(5)).wait().unwrap();
        let reader = store.reader().unwrap();
        let note = |seconds, text: &str| Note { at: at(seconds), text: text.into() };
        assert_eq!(reader.notes(RowId(1), 9).unwrap(), [note(1, "first"), note(2, "second"), note(3, "third")]);
        assert_eq!(reader.notes(RowId(1), 2).unwrap(), [note(2, "second"), note(3, "third")]);
    }
}
