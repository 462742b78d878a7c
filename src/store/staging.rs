//! Where the rows of a file wait until the whole file was read: a temporary database, apart from the store.
//!
//! It goes with its handle, or with the process, and nobody else can see it. Memory must not grow with the rows; whether
//! a row is good is decided before it comes here.

use rusqlite::{Connection, params};

use super::{columns, error::StoreError};
use crate::domain::{ids::TxHash, transaction::NewTransaction};

/// Rows in waiting, in the order of their file.
pub struct Staging(Connection);

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
             CREATE TABLE staged (id INTEGER PRIMARY KEY, key TEXT NOT NULL, place TEXT NOT NULL, new TEXT NOT NULL) STRICT;
             CREATE TABLE replaced (earlier INTEGER PRIMARY KEY, later INTEGER NOT NULL) STRICT;
             BEGIN",
        )
        .map_err(StoreError::Staging)?;
        Ok(Self(db))
    }

    /// Takes a row; `place` says in words where in its file it stands.
    pub fn put(&self, place: &str, new: &NewTransaction) -> Result<(), StoreError> {
        let json = serde_json::to_string(new).map_err(|error| columns::unreadable(2, error))?;
        // Clean text has no line feed in it.
        let key = format!("{}\n{}", new.told.from_chain, new.told.transaction_id.key());
        let put = || {
            let mut statement = self.0.prepare_cached("INSERT INTO staged (key, place, new) VALUES (?, ?, ?)")?;
            statement.execute(params![key, place, json])
        };
        put().map(drop).map_err(StoreError::Staging)
    }

    /// Sees that no transaction is left twice, and tells of each that was, in the order of the file. To be called once,
    /// after the last row.
    pub fn settle(&self, tell: &mut dyn FnMut(Duplicate)) -> Result<(), StoreError> {
        let mut settle = || {
            // Sorted once at the end, which is many times cheaper than an index that grows with each row.
            self.0.execute_batch(
                "CREATE INDEX staged_by_key ON staged (key);
                 INSERT INTO replaced SELECT earlier, id FROM
                 (SELECT id, lag(id) OVER (PARTITION BY key ORDER BY id) AS earlier FROM staged) WHERE earlier IS NOT NULL",
            )?;
            let mut pairs = self.0.prepare(
                "SELECT old.place, new.place, old.new = new.new, json_extract(new.new, '$.told.transaction_id')
                 FROM replaced JOIN staged AS old ON old.id = earlier JOIN staged AS new ON new.id = later ORDER BY later",
            )?;
            let mut rows = pairs.query([])?;
            while let Some(row) = rows.next()? {
                let hash = TxHash::new(row.get::<_, String>(3)?);
                tell(Duplicate { earlier: row.get(0)?, later: row.get(1)?, same: row.get(2)?, hash });
            }
            Ok(())
        };
        settle().map_err(StoreError::Staging)
    }

    /// Hands out each transaction, in the order of the file.
    pub(super) fn for_each(
        &self,
        each: &mut dyn FnMut(NewTransaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql =
            "SELECT new FROM staged WHERE NOT EXISTS (SELECT 1 FROM replaced WHERE earlier = staged.id) ORDER BY id";
        let mut statement = self.0.prepare(sql).map_err(StoreError::Staging)?;
        let mut rows = statement.query([]).map_err(StoreError::Staging)?;
        while let Some(row) = rows.next().map_err(StoreError::Staging)? {
            let new = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
            each(serde_json::from_str(new).map_err(|error| columns::unreadable(0, error))?)?;
        }
        Ok(())
    }
}
