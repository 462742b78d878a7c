//! Where the rows of a file wait until the whole file was read: a temporary database, apart from the store.
//!
//! It goes with its handle, or with the process, and nobody else can see it. Memory must not grow with the rows; whether
//! a row is good is decided before it comes here.

use std::hash::{BuildHasher, RandomState};

use rusqlite::{Connection, Row, params};

use super::{columns, error::StoreError};
use crate::domain::{ids::TxHash, transaction::NewTransaction};

/// Rows in waiting, in the order of their file.
pub struct Staging {
    db: Connection,
    hasher: RandomState,
}

/// Two rows of the same transaction. The later one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Where the earlier one stands.
    pub earlier: String,
    /// Where the later one stands.
    pub later: String,
    /// The transaction, as the later one has it.
    pub hash: TxHash,
    /// Whether they say the same.
    pub same: bool,
}

impl Staging {
    /// An empty one, in the folder for temporary files once it is too large for the memory that it may have.
    pub fn new() -> Result<Self, StoreError> {
        // A file without a name: SQLite's for a database that is on disk, private, and gone when it is closed.
        let db = Connection::open("").map_err(StoreError::Staging)?;
        db.execute_batch(
            "PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA temp_store = file; PRAGMA cache_size = -8192;
             CREATE TABLE staged (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, place TEXT NOT NULL, new TEXT NOT NULL) STRICT;
             CREATE TABLE replaced (earlier INTEGER PRIMARY KEY, later INTEGER NOT NULL) STRICT;
             BEGIN",
        )
        .map_err(StoreError::Staging)?;
        Ok(Self { db, hasher: RandomState::new() })
    }

    /// Takes a row; `place` says in words where in its file it stands.
    pub fn put(&self, place: &str, new: &NewTransaction) -> Result<(), StoreError> {
        let json = serde_json::to_string(new).map_err(|error| columns::unreadable(2, error))?;
        let hash = self.hasher.hash_one(key(new)).cast_signed();
        let put = || {
            let mut statement = self.db.prepare_cached("INSERT INTO staged (hash, place, new) VALUES (?, ?, ?)")?;
            statement.execute(params![hash, place, json])
        };
        put().map(drop).map_err(StoreError::Staging)
    }

    /// Sees that no transaction is left twice, and tells of each that was, in the order of the file. To be called once,
    /// after the last row.
    pub fn settle(&self, tell: &mut dyn FnMut(Duplicate)) -> Result<(), StoreError> {
        self.pair().map_err(StoreError::Staging)?;
        let mut pairs = || {
            let mut pairs = self.db.prepare(
                "SELECT old.place, new.place, old.new = new.new, new.new
                 FROM replaced JOIN staged AS old ON old.id = earlier JOIN staged AS new ON new.id = later ORDER BY later",
            )?;
            let mut rows = pairs.query([])?;
            while let Some(row) = rows.next()? {
                let hash = decode(row, 3)?.told.transaction_id;
                tell(Duplicate { earlier: row.get(0)?, later: row.get(1)?, same: row.get(2)?, hash });
            }
            Ok(())
        };
        pairs().map_err(StoreError::Staging)
    }

    /// Finds the rows that a later one replaces: sorted once by a hash at the end, a fraction of the cost of an index that
    /// grows with each row. Should two transactions ever share a hash, a duplicate between them may be missed; the store
    /// then takes the second one as an update, as it does with a second file.
    fn pair(&self) -> rusqlite::Result<()> {
        let mut by_hash = self.db.prepare("SELECT hash, id FROM staged ORDER BY hash, id")?;
        let mut replace = self.db.prepare("INSERT INTO replaced VALUES (?, ?)")?;
        let mut rows = by_hash.query([])?;
        let mut before: Option<(i64, i64)> = None;
        while let Some(row) = rows.next()? {
            let this: (i64, i64) = (row.get(0)?, row.get(1)?);
            if let Some((_, earlier)) = before.filter(|(hash, _)| *hash == this.0)
                && key(&self.row(earlier)?) == key(&self.row(this.1)?)
            {
                replace.execute([earlier, this.1])?;
            }
            before = Some(this);
        }
        Ok(())
    }

    fn row(&self, id: i64) -> rusqlite::Result<NewTransaction> {
        self.db.prepare_cached("SELECT new FROM staged WHERE id = ?")?.query_row([id], |row| decode(row, 0))
    }

    /// Hands out each transaction, in the order of the file.
    pub(super) fn for_each(
        &self,
        each: &mut dyn FnMut(NewTransaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql =
            "SELECT new FROM staged WHERE NOT EXISTS (SELECT 1 FROM replaced WHERE earlier = staged.id) ORDER BY id";
        let mut statement = self.db.prepare(sql).map_err(StoreError::Staging)?;
        let mut rows = statement.query([]).map_err(StoreError::Staging)?;
        while let Some(row) = rows.next().map_err(StoreError::Staging)? {
            each(decode(row, 0).map_err(StoreError::Staging)?)?;
        }
        Ok(())
    }
}

/// What makes two rows the same transaction.
fn key(new: &NewTransaction) -> (&str, String) {
    (new.told.from_chain.as_str(), new.told.transaction_id.key())
}

fn decode(row: &Row<'_>, column: usize) -> rusqlite::Result<NewTransaction> {
    let json = row.get_ref(column)?.as_str()?;
    serde_json::from_str(json).map_err(|error| columns::unreadable(column, error))
}
