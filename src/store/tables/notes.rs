//! The notes' table: what people wrote on transactions, and when. A note that is undone stays, and is withdrawn.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, params};

use super::columns;
use crate::{
    domain::ids::RowId,
    store::{error::StoreError, reader::Reader},
};

/// What a person wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When.
    pub at: DateTime<Utc>,
    /// Their words.
    pub text: String,
}

impl Reader {
    /// The newest notes of one transaction, at most so many, the oldest of them first.
    pub fn notes(&self, row: RowId, most: usize) -> Result<Vec<Note>, StoreError> {
        let mut statement = self.db().prepare_cached(
            "SELECT at, text FROM notes WHERE transaction_row = ? AND taken_back_at IS NULL ORDER BY id DESC LIMIT ?",
        )?;
        let note = |row: &rusqlite::Row<'_>| Ok(Note { at: columns::moment_from(row.get(0)?), text: row.get(1)? });
        let mut notes: Vec<Note> = statement.query_map(params![row.0, most], note)?.collect::<Result<_, _>>()?;
        notes.reverse();
        Ok(notes)
    }
}

/// Inserts a note; its number.
pub(in crate::store) fn insert(db: &Connection, row: RowId, text: &str, at: DateTime<Utc>) -> Result<i64, StoreError> {
    db.prepare_cached("INSERT INTO notes (transaction_row, at, text) VALUES (?, ?, ?)")?.execute(params![
        row.0,
        columns::moment(at),
        text
    ])?;
    Ok(db.last_insert_rowid())
}

/// Inserts a note that counts as withdrawn until its step is carried out; its number.
pub(in crate::store) fn insert_withdrawn(
    db: &Connection,
    row: RowId,
    text: &str,
    at: DateTime<Utc>,
) -> Result<i64, StoreError> {
    let note = insert(db, row, text, at)?;
    set_withdrawn(db, note, Some(at))?;
    Ok(note)
}

/// Withdraws a note, or lets it count again; `false` if it was so before.
pub(in crate::store) fn set_withdrawn(
    db: &Connection,
    note: i64,
    withdrawn_at: Option<DateTime<Utc>>,
) -> Result<bool, StoreError> {
    let sql = "UPDATE notes SET taken_back_at = ?2 WHERE id = ?1 AND (taken_back_at IS NULL) <> (?2 IS NULL)";
    Ok(db.prepare_cached(sql)?.execute(params![note, withdrawn_at.map(columns::moment)])? > 0)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::{
        domain::{fixtures, operation::Edit, transaction::NewTransaction},
        store::{Store, testing},
    };

    #[test]
    fn the_newest_notes_come_with_their_times_and_without_what_was_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("notes.db")).unwrap();
        let at = |seconds| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        let new = NewTransaction { notes: vec!["first".into()], ..fixtures::new(1) };
        testing::track(&store, "p", vec![new], at(1));
        for (seconds, text) in [(2, "second"), (3, "third"), (4, "wrong")] {
            let edit = Edit::AddNote { transactions: vec![RowId(1)], text: text.into() };
            testing::edit(&store, "p", edit, at(seconds));
        }
        testing::undo(&store, "p", at(5)).unwrap();
        let reader = store.reader().unwrap();
        let note = |seconds, text: &str| Note { at: at(seconds), text: text.into() };
        assert_eq!(reader.notes(RowId(1), 9).unwrap(), [note(1, "first"), note(2, "second"), note(3, "third")]);
        assert_eq!(reader.notes(RowId(1), 2).unwrap(), [note(2, "second"), note(3, "third")]);
    }
}
