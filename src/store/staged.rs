//! Rows in waiting: a temporary file of their own, apart from the store, and what tells which of them are the same.
//!
//! It goes with its handle, or with the process, and nobody else can see it. Memory must not grow with the rows; whether
//! a row is good is decided before it comes here.

use std::{
    fs::File,
    hash::{BuildHasher, RandomState},
    io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    mem,
    ops::ControlFlow,
    sync::mpsc::{self, SyncSender},
    thread,
};

use rusqlite::{Connection, Row};

use super::error::StoreError;
use crate::domain::{ids::TxHash, transaction::NewTransaction};

/// Rows in waiting, in the order of their file.
pub struct Staged {
    /// One after the other: how many bytes it takes, where it stands, and the row.
    spool: BufWriter<File>,
    length: u64,
    rows: u64,
    /// What tells two rows of the same transaction: a hash of it, and where it begins.
    held: Vec<(i64, i64)>,
    /// The same of those for which there was no room.
    index: Connection,
    room: usize,
    hash: Hash,
}

/// So many rows can be told apart in memory: sixteen mebibytes.
const ROOM: usize = 1 << 20;

type Hash = Box<dyn Fn((&str, String)) -> u64 + Send>;

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

impl Staged {
    /// An empty one, in the folder for temporary files.
    pub(super) fn new() -> Result<Self, StoreError> {
        let hasher = RandomState::new();
        Self::hashing(Box::new(move |key| hasher.hash_one(key)), ROOM)
    }

    fn hashing(hash: Hash, room: usize) -> Result<Self, StoreError> {
        let spool = BufWriter::with_capacity(1 << 16, tempfile::tempfile().map_err(StoreError::Staging)?);
        let index = index().map_err(fault)?;
        Ok(Self { spool, length: 0, rows: 0, held: Vec::new(), index, room, hash })
    }

    /// Takes a row; `place` says in words where in its file it stands.
    pub(super) fn put(&mut self, place: &str, new: &NewTransaction) -> Result<(), StoreError> {
        let mut write = || -> io::Result<usize> {
            let row = postcard::to_stdvec(&(place, new)).map_err(io::Error::other)?;
            let size = u32::try_from(row.len()).map_err(io::Error::other)?;
            self.spool.write_all(&size.to_le_bytes())?;
            self.spool.write_all(&row)?;
            Ok(SIZE + row.len())
        };
        let length = write().map_err(StoreError::Staging)?;
        let hash = (self.hash)(key(new)).cast_signed();
        self.held.push((hash, at(self.length)));
        if self.held.len() == self.room {
            self.spill().map_err(fault)?;
        }
        self.length += length as u64;
        self.rows += 1;
        Ok(())
    }

    /// How many rows came.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Sees that no transaction is left twice, and tells of each that was, in the order of the file. To be called once,
    /// after the last row.
    pub(super) fn settle(&mut self, tell: &mut dyn FnMut(Duplicate)) -> Result<(), StoreError> {
        self.spool.flush().map_err(StoreError::Staging)?;
        self.pair()?;
        let mut pairs = self.index.prepare("SELECT earlier, later FROM replaced ORDER BY later").map_err(fault)?;
        let mut rows = pairs.query([]).map_err(fault)?;
        while let Some(row) = rows.next().map_err(fault)? {
            let (old, new) = (self.row(row, 0)?, self.row(row, 1)?);
            let same = old.1 == new.1;
            tell(Duplicate { earlier: old.0, later: new.0, hash: new.1.told.transaction_id, same });
        }
        Ok(())
    }

    fn spill(&mut self) -> rusqlite::Result<()> {
        let mut put = self.index.prepare_cached("INSERT INTO staged VALUES (?, ?)")?;
        self.held.drain(..).try_for_each(|(hash, at)| put.execute([at, hash]).map(drop))
    }

    /// Finds the rows that a later one replaces: sorted once by a hash at the end, a fraction of the cost of an index that
    /// grows with each row.
    fn pair(&mut self) -> Result<(), StoreError> {
        if self.rows >= self.room as u64 {
            self.spill().map_err(fault)?;
        }
        let mut held = mem::take(&mut self.held);
        held.sort_unstable();
        let mut by_hash = self.index.prepare("SELECT hash, at FROM staged ORDER BY hash, at").map_err(fault)?;
        let spilled = by_hash.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(fault)?;
        let mut replace = self.index.prepare("INSERT INTO replaced VALUES (?, ?)").map_err(fault)?;
        // The last rows of the transactions that share a hash, which are hardly ever two.
        let (mut shared, mut before) = (Vec::new(), None);
        for row in held.into_iter().map(Ok).chain(spilled) {
            let (hash, this): (i64, i64) = row.map_err(fault)?;
            if before.replace(hash) != Some(hash) {
                shared.clear();
            }
            match self.same_as(this, &mut shared)? {
                Some(last) => {
                    replace.execute([*last, this]).map_err(fault)?;
                    *last = this;
                }
                None => shared.push(this),
            }
        }
        Ok(())
    }

    /// Of some rows the one that is of the same transaction as that at `this`.
    fn same_as<'a>(&self, this: i64, rows: &'a mut [i64]) -> Result<Option<&'a mut i64>, StoreError> {
        for row in rows {
            if key(&self.row_at(*row)?.1) == key(&self.row_at(this)?.1) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn row(&self, row: &Row<'_>, column: usize) -> Result<(String, NewTransaction), StoreError> {
        self.row_at(row.get(column).map_err(fault)?)
    }

    fn row_at(&self, at: i64) -> Result<(String, NewTransaction), StoreError> {
        let read = || {
            let mut spool = BufReader::with_capacity(1 << 10, self.spool.get_ref());
            spool.seek(SeekFrom::Start(at.cast_unsigned()))?;
            let mut row = Vec::new();
            read_row(&mut spool, &mut row)?;
            decode(&row).map(|(place, new)| (place.to_owned(), new))
        };
        read().map_err(StoreError::Staging)
    }

    /// Hands out each transaction, in the order of the file.
    pub(super) fn for_each(
        &self,
        each: &mut dyn FnMut(NewTransaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.for_each_until(&mut |new| each(new).map(ControlFlow::Continue))
    }

    /// The same until it is enough.
    pub(super) fn for_each_until(
        &self,
        each: &mut dyn FnMut(NewTransaction) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let mut replaced = self.index.prepare("SELECT earlier FROM replaced ORDER BY earlier").map_err(fault)?;
        let mut replaced = replaced.query_map([], |row| row.get::<_, i64>(0)).map_err(fault)?;
        let mut next_replaced = replaced.next().transpose().map_err(fault)?;
        let (spool, length) = (self.spool.get_ref(), self.length);
        let (portions, rows) = mpsc::sync_channel(2);
        thread::scope(|scope| {
            // Whoever takes the rows has enough to do with them.
            scope.spawn(move || decode_all(spool, length, &portions));
            for portion in rows {
                for (start, new) in portion.map_err(StoreError::Staging)? {
                    if next_replaced == Some(at(start)) {
                        next_replaced = replaced.next().transpose().map_err(fault)?;
                    } else if each(new)?.is_break() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        })
    }
}

/// Some rows, each with the place where it begins.
type Portion = Vec<(u64, NewTransaction)>;

/// Reads the spool from its start and hands its rows on in portions, until its end, a fault, or nobody takes them any more.
fn decode_all(spool: &File, length: u64, portions: &SyncSender<io::Result<Portion>>) {
    /// Enough that handing them on costs nothing, and few enough to take no room.
    const ROWS: usize = 500;
    let mut spool = BufReader::with_capacity(1 << 16, spool);
    let (mut start, mut row, mut rewound) = (0, Vec::new(), spool.rewind());
    while start < length {
        let mut portion = || {
            mem::replace(&mut rewound, Ok(()))?;
            let mut portion = Portion::with_capacity(ROWS);
            while start < length && portion.len() < ROWS {
                read_row(&mut spool, &mut row)?;
                portion.push((start, decode(&row)?.1));
                start += (SIZE + row.len()) as u64;
            }
            Ok(portion)
        };
        let portion = portion();
        let failed = portion.is_err();
        if portions.send(portion).is_err() || failed {
            return;
        }
    }
}

/// A file without a name: SQLite's for a database that is on disk, private, and gone when it is closed.
fn index() -> rusqlite::Result<Connection> {
    let index = Connection::open("")?;
    index.execute_batch(
        "PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA temp_store = file; PRAGMA cache_size = -4096;
         CREATE TABLE staged (at INTEGER PRIMARY KEY, hash INTEGER NOT NULL) STRICT;
         CREATE TABLE replaced (earlier INTEGER PRIMARY KEY, later INTEGER NOT NULL) STRICT;
         BEGIN",
    )?;
    Ok(index)
}

fn fault(error: rusqlite::Error) -> StoreError {
    StoreError::Staging(io::Error::other(error))
}

/// A place in a file as a column has it.
fn at(place: u64) -> i64 {
    place.cast_signed()
}

/// What makes two rows the same transaction.
fn key(new: &NewTransaction) -> (&str, String) {
    (new.told.from_chain.as_str(), new.told.transaction_id.key())
}

/// What the number of a row's bytes takes.
const SIZE: usize = size_of::<u32>();

/// Reads the bytes of the row that comes next.
fn read_row(spool: &mut impl Read, row: &mut Vec<u8>) -> io::Result<()> {
    let mut size = [0; SIZE];
    spool.read_exact(&mut size)?;
    row.clear();
    let size = u32::from_le_bytes(size);
    match spool.take(size.into()).read_to_end(row)? == size as usize {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Where a row stands, and the row.
fn decode(row: &[u8]) -> io::Result<(&str, NewTransaction)> {
    postcard::from_bytes(row).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures;

    #[test]
    fn transactions_that_share_a_hash_are_told_apart() {
        for room in [1, 2, 4, 6, 7] {
            share_a_hash(room);
        }
    }

    fn share_a_hash(room: usize) {
        let mut staged = Staged::hashing(Box::new(|_| 7), room).unwrap();
        for (place, number) in ["a", "b", "a again", "b again", "a at last", "c"].into_iter().zip([1, 2, 1, 2, 1, 3]) {
            staged.put(place, &fixtures::new(number)).unwrap();
        }
        let mut pairs = Vec::new();
        staged.settle(&mut |Duplicate { earlier, later, .. }| pairs.push([earlier, later])).unwrap();
        assert_eq!(pairs, [["a", "a again"], ["b", "b again"], ["a again", "a at last"]]);
        let mut left = Vec::new();
        let mut take = |new: NewTransaction| {
            left.push(new.told.transaction_id);
            Ok(())
        };
        staged.for_each(&mut take).unwrap();
        assert_eq!(left, [2, 1, 3].map(|number| fixtures::new(number).told.transaction_id));
    }
}
