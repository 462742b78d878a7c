//! The `notes` table: the notes of people on transactions. A note that is undone or removed stays in the table, marked
//! as withdrawn.

use chrono::{DateTime, Utc};
use rusqlite::{Connection, params};

use super::columns;
use crate::{
    domain::{ids::RowId, operation::Stamp, people},
    store::{error::Result, reader::Reader, statement::CachedStatements},
};

/// The columns of the checksum.
pub(crate) const CHECKED: &str = "transaction_row, at, text, author";

/// A note that a person wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When the note was written.
    pub at: DateTime<Utc>,
    pub text: String,
    /// Who wrote the note; `None` if the person set no name.
    pub author: Option<String>,
}

impl Note {
    /// Returns the text, after the author's name if it is known.
    pub fn attributed(&self) -> String {
        format!("{}{}", people::author_prefix(self.author.as_deref()), self.text)
    }
}

impl Reader {
    /// Returns the newest `limit` notes of one transaction, oldest first.
    pub fn notes(&self, row: RowId, limit: usize) -> Result<Vec<Note>> {
        let sql = "SELECT at, text, author FROM notes WHERE transaction_row = ? AND taken_back_at IS NULL
                   ORDER BY id DESC LIMIT ?";
        let note = |row: &rusqlite::Row<'_>| {
            let at = columns::moment_from(columns::lenient(row, 0)?);
            Ok(Note { at, text: columns::lenient(row, 1)?, author: columns::lenient(row, 2)? })
        };
        let mut notes = self.db().all(sql, params![row.0, limit], note)?;
        notes.reverse();
        Ok(notes)
    }
}

/// Inserts a note; returns its number.
pub(crate) fn insert(db: &Connection, row: RowId, text: &str, stamp: &Stamp) -> Result<i64> {
    let values = params![row.0, columns::moment(stamp.at), text, stamp.author];
    let sql = "INSERT INTO notes (transaction_row, at, text, author, checksum)
               VALUES (?1, ?2, ?3, ?4, row_checksum(?1, ?2, ?3, ?4))";
    Ok(db.prepare_cached(sql)?.insert(values)?)
}

/// Returns the number of the newest note of a transaction that has exactly this text and isn't withdrawn.
pub(crate) fn newest_with_text(db: &Connection, row: RowId, text: &str) -> Result<Option<i64>> {
    let sql = "SELECT id FROM notes WHERE transaction_row = ? AND text = ? AND taken_back_at IS NULL ORDER BY id DESC LIMIT 1";
    db.first(sql, params![row.0, text], |row| row.get(0))
}

/// Withdraws a note, or restores it with `None`. Returns `false` if nothing changed.
pub(crate) fn set_withdrawn(db: &Connection, note: i64, withdrawn_at: Option<DateTime<Utc>>) -> Result<bool> {
    let sql = "UPDATE notes SET taken_back_at = ?2 WHERE id = ?1 AND (taken_back_at IS NULL) <> (?2 IS NULL)";
    Ok(db.change(sql, params![note, withdrawn_at.map(columns::moment)])? > 0)
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
    fn newest_notes_have_their_times_and_exclude_undone_notes() {
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
        let note = |seconds, text: &str| Note { at: at(seconds), text: text.into(), author: None };
        assert_eq!(reader.notes(RowId(1), 9).unwrap(), [note(1, "first"), note(2, "second"), note(3, "third")]);
        assert_eq!(reader.notes(RowId(1), 2).unwrap(), [note(2, "second"), note(3, "third")]);
    }
}
