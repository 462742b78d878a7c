//! Rows in a temporary file, and which of them a later row replaces.

use std::{
    fs::File,
    hash::{BuildHasher, RandomState},
    io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    mem,
    ops::ControlFlow,
    sync::mpsc::{self, SyncSender},
    thread,
};

use super::sorter::PairSorter;
use crate::domain::{
    batch::{Batch, SpoolError},
    ids::TxHash,
    transaction::NewTransaction,
};

/// So many rows can be told apart in memory: sixteen mebibytes.
const ROOM: usize = 1 << 20;
/// So many rows are decoded at a time: enough that handing them over costs nothing, and few enough to take no room.
const PORTION: usize = 500;
/// What the length of a row takes before it.
const LENGTH: usize = size_of::<u32>();

type Hash = Box<dyn Fn((&str, String)) -> u64 + Send>;

/// Two rows of the same transaction. The later one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The place of the earlier row.
    pub earlier: String,
    /// The place of the later row.
    pub later: String,
    /// The hash, as the later row has it.
    pub hash: TxHash,
    /// Whether both rows say the same.
    pub same: bool,
}

/// Rows in the order of their file.
pub(super) struct SpooledBatch {
    /// One row after the other, each behind its length.
    file: BufWriter<File>,
    length: u64,
    rows: u64,
    hash: Hash,
    /// A hash of each row's transaction, and where the row begins.
    by_hash: PairSorter,
    /// Where each row begins that a later one replaces.
    replaced: PairSorter,
    room: usize,
}

impl SpooledBatch {
    pub(super) fn new() -> io::Result<Self> {
        let hasher = RandomState::new();
        Self::hashing(Box::new(move |key| hasher.hash_one(key)), ROOM)
    }

    fn hashing(hash: Hash, room: usize) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 16, tempfile::tempfile()?);
        let (by_hash, replaced) = (PairSorter::new(room), PairSorter::new(room));
        Ok(Self { file, length: 0, rows: 0, hash, by_hash, replaced, room })
    }

    pub(super) fn put(&mut self, place: &str, new: &NewTransaction) -> io::Result<()> {
        let row = postcard::to_stdvec(&(place, new)).map_err(io::Error::other)?;
        let length = u32::try_from(row.len()).map_err(io::Error::other)?;
        self.file.write_all(&length.to_le_bytes())?;
        self.file.write_all(&row)?;
        self.by_hash.push(((self.hash)(key(new)), self.length))?;
        self.length += (LENGTH + row.len()) as u64;
        self.rows += 1;
        Ok(())
    }

    /// Finds the rows that a later one replaces, and tells of each in the order of the file. To be called once, after the last
    /// row.
    pub(super) fn drop_duplicates(&mut self, tell: &mut dyn FnMut(Duplicate)) -> io::Result<()> {
        self.file.flush()?;
        self.by_hash.finish();
        let mut by_later = PairSorter::new(self.room);
        // The last rows of the transactions that share a hash, which are hardly ever two.
        let (mut sharing, mut previous) = (Vec::new(), None);
        for pair in self.by_hash.iter()? {
            let (hash, this) = pair?;
            if previous.replace(hash) != Some(hash) {
                sharing.clear();
            }
            match self.same_as(this, &mut sharing)? {
                Some(last) => {
                    self.replaced.push((*last, this))?;
                    by_later.push((this, *last))?;
                    *last = this;
                }
                None => sharing.push(this),
            }
        }
        self.replaced.finish();
        by_later.finish();
        for pair in by_later.iter()? {
            let (later, earlier) = pair?;
            let (old, new) = (self.row_at(earlier)?, self.row_at(later)?);
            let same = old.1 == new.1;
            tell(Duplicate { earlier: old.0, later: new.0, hash: new.1.params.transaction_id, same });
        }
        Ok(())
    }

    /// Of some rows the one of the same transaction as the row at `this`.
    fn same_as<'a>(&self, this: u64, rows: &'a mut [u64]) -> io::Result<Option<&'a mut u64>> {
        for row in rows {
            if key(&self.row_at(*row)?.1) == key(&self.row_at(this)?.1) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn row_at(&self, start: u64) -> io::Result<(String, NewTransaction)> {
        let mut file = BufReader::with_capacity(1 << 10, self.file.get_ref());
        file.seek(SeekFrom::Start(start))?;
        let mut row = Vec::new();
        read_row(&mut file, &mut row)?;
        decode(&row).map(|(place, new)| (place.to_owned(), new))
    }
}

impl Batch for SpooledBatch {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn for_each(&self, each: &mut dyn FnMut(NewTransaction) -> ControlFlow<()>) -> Result<(), SpoolError> {
        let mut replaced = self.replaced.iter()?;
        let mut next_replaced = replaced.next().transpose()?;
        let (file, length) = (self.file.get_ref(), self.length);
        let (portions, rows) = mpsc::sync_channel(2);
        thread::scope(|scope| {
            // Decoding goes on beside the work that the rows are for.
            scope.spawn(move || decode_all(file, length, &portions));
            for portion in rows {
                for (start, new) in portion? {
                    if next_replaced.is_some_and(|(replaced, _)| replaced == start) {
                        next_replaced = replaced.next().transpose()?;
                    } else if each(new).is_break() {
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

/// Reads the file from its start and hands its rows over in portions, until its end, a fault, or nobody takes them any more.
fn decode_all(file: &File, length: u64, portions: &SyncSender<io::Result<Portion>>) {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let (mut start, mut row, mut rewound) = (0, Vec::new(), file.rewind());
    while start < length {
        let mut portion = || {
            mem::replace(&mut rewound, Ok(()))?;
            let mut portion = Portion::with_capacity(PORTION);
            while start < length && portion.len() < PORTION {
                read_row(&mut file, &mut row)?;
                portion.push((start, decode(&row)?.1));
                start += (LENGTH + row.len()) as u64;
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

/// What makes two rows the same transaction.
fn key(new: &NewTransaction) -> (&str, String) {
    (new.params.from_chain.as_str(), new.params.transaction_id.key())
}

/// Reads the bytes of the next row.
fn read_row(file: &mut impl Read, row: &mut Vec<u8>) -> io::Result<()> {
    let mut length = [0; LENGTH];
    file.read_exact(&mut length)?;
    row.clear();
    let length = u32::from_le_bytes(length);
    match file.take(length.into()).read_to_end(row)? == length as usize {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// A row and its place in the imported file.
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
            let mut batch = SpooledBatch::hashing(Box::new(|_| 7), room).unwrap();
            let places = ["a", "b", "a again", "b again", "a at last", "c"];
            for (place, number) in places.into_iter().zip([1, 2, 1, 2, 1, 3]) {
                batch.put(place, &fixtures::new(number)).unwrap();
            }
            let mut pairs = Vec::new();
            batch.drop_duplicates(&mut |Duplicate { earlier, later, .. }| pairs.push([earlier, later])).unwrap();
            assert_eq!(pairs, [["a", "a again"], ["b", "b again"], ["a again", "a at last"]], "room {room}");
            let mut left = Vec::new();
            let take = &mut |new: NewTransaction| {
                left.push(new.params.transaction_id);
                ControlFlow::Continue(())
            };
            batch.for_each(take).unwrap();
            assert_eq!(left, [2, 1, 3].map(|number| fixtures::new(number).params.transaction_id));
        }
    }
}
