//! Stores rows in a temporary file, and finds the rows that a later row replaces.

use std::{
    fs::File,
    hash::{BuildHasher, RandomState},
    io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    mem,
    ops::ControlFlow,
    sync::mpsc::{self, SyncSender},
    thread,
};

use crate::domain::{
    batch::{Batch, SpoolError},
    ids::TxHash,
    transaction::NewTransaction,
};

/// The rows decoded at a time: enough that passing them on costs nothing, and few enough to need little memory.
const CHUNK_ROWS: usize = 500;
/// The bytes of the length that precedes each row.
const LENGTH_BYTES: usize = size_of::<u32>();

type HashFn = Box<dyn Fn((&str, String)) -> u64 + Send>;

/// Two rows of the same transaction. The later row replaces the earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Duplicate {
    /// The position of the earlier row in its file, in words.
    pub earlier: String,
    /// The position of the later row in its file, in words.
    pub later: String,
    /// The transaction hash as the later row writes it.
    pub hash: TxHash,
    /// Whether all values of both rows are equal.
    pub is_same: bool,
}

/// The rows of a file, in the order of the file.
pub(super) struct SpooledBatch {
    /// The encoded rows, each preceded by its length.
    file: BufWriter<File>,
    length: u64,
    hash: HashFn,
    /// The hash value of each row's transaction, and the offset of the row.
    by_hash: Vec<(u64, u64)>,
    /// The offsets of the rows that a later row replaces, in ascending order.
    replaced: Vec<u64>,
}

impl SpooledBatch {
    pub(super) fn new() -> io::Result<Self> {
        let hasher = RandomState::new();
        Self::with_hash_fn(Box::new(move |key| hasher.hash_one(key)))
    }

    fn with_hash_fn(hash: HashFn) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 16, tempfile::tempfile()?);
        Ok(Self { file, length: 0, hash, by_hash: Vec::new(), replaced: Vec::new() })
    }

    pub(super) fn put(&mut self, position: &str, new: &NewTransaction) -> io::Result<()> {
        let row = postcard::to_stdvec(&(position, new)).map_err(io::Error::other)?;
        let length = u32::try_from(row.len()).map_err(io::Error::other)?;
        self.file.write_all(&length.to_le_bytes())?;
        self.file.write_all(&row)?;
        self.by_hash.push(((self.hash)(transaction_key(new)), self.length));
        self.length += (LENGTH_BYTES + row.len()) as u64;
        Ok(())
    }

    /// Finds the rows that a later row replaces, and passes each pair to `report` in the order of the later rows. Must
    /// be called once, after the last row.
    pub(super) fn drop_duplicates(&mut self, report: &mut dyn FnMut(Duplicate)) -> io::Result<()> {
        self.file.flush()?;
        self.by_hash.sort_unstable();
        let mut pairs = Vec::new();
        for same_hash in self.by_hash.chunk_by(|one, other| one.0 == other.0) {
            // The last row of each transaction with this hash value; two transactions rarely share one.
            let mut last_rows = Vec::new();
            for &(_, this) in same_hash {
                match self.find_same_transaction(this, &mut last_rows)? {
                    Some(last) => pairs.push((this, mem::replace(last, this))),
                    None => last_rows.push(this),
                }
            }
        }
        pairs.sort_unstable();
        for &(later, earlier) in &pairs {
            let (old, new) = (self.read_row_at(earlier)?, self.read_row_at(later)?);
            let is_same = old.1 == new.1;
            report(Duplicate { earlier: old.0, later: new.0, hash: new.1.params.transaction_id, is_same });
        }
        self.replaced = pairs.into_iter().map(|(_, earlier)| earlier).collect();
        self.replaced.sort_unstable();
        Ok(())
    }

    /// Returns the one of `rows` that has the same transaction as the row at `this`.
    fn find_same_transaction<'a>(&self, this: u64, rows: &'a mut [u64]) -> io::Result<Option<&'a mut u64>> {
        for row in rows {
            if transaction_key(&self.read_row_at(*row)?.1) == transaction_key(&self.read_row_at(this)?.1) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn read_row_at(&self, start: u64) -> io::Result<(String, NewTransaction)> {
        let mut file = BufReader::with_capacity(1 << 10, self.file.get_ref());
        file.seek(SeekFrom::Start(start))?;
        let mut row = Vec::new();
        read_row(&mut file, &mut row)?;
        decode_row(&row).map(|(position, new)| (position.to_owned(), new))
    }
}

impl Batch for SpooledBatch {
    fn rows(&self) -> u64 {
        self.by_hash.len() as u64
    }

    fn for_each(&self, visit: &mut dyn FnMut(NewTransaction) -> ControlFlow<()>) -> Result<(), SpoolError> {
        let mut replaced = self.replaced.iter().peekable();
        let (file, length) = (self.file.get_ref(), self.length);
        let (chunks, rows) = mpsc::sync_channel(2);
        thread::scope(|scope| {
            // Rows are decoded in a separate thread while `visit` handles earlier ones.
            scope.spawn(move || decode_all(file, length, &chunks));
            for chunk in rows {
                for (start, new) in chunk? {
                    if replaced.next_if_eq(&&start).is_none() && visit(new).is_break() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        })
    }
}

/// Decoded rows, each with its offset in the file.
type DecodedRows = Vec<(u64, NewTransaction)>;

/// Decodes the file from its start and sends its rows in chunks, until the end, an error, or until the receiver is
/// gone.
fn decode_all(file: &File, length: u64, chunks: &SyncSender<io::Result<DecodedRows>>) {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let (mut start, mut row, mut rewound) = (0, Vec::new(), file.rewind());
    while start < length {
        let mut chunk = || {
            mem::replace(&mut rewound, Ok(()))?;
            let mut chunk = DecodedRows::with_capacity(CHUNK_ROWS);
            while start < length && chunk.len() < CHUNK_ROWS {
                read_row(&mut file, &mut row)?;
                chunk.push((start, decode_row(&row)?.1));
                start += (LENGTH_BYTES + row.len()) as u64;
            }
            Ok(chunk)
        };
        let chunk = chunk();
        let failed = chunk.is_err();
        if chunks.send(chunk).is_err() || failed {
            return;
        }
    }
}

/// Returns the source chain and the hash key, which identify a transaction.
fn transaction_key(new: &NewTransaction) -> (&str, String) {
    (new.params.from_chain.as_str(), new.params.transaction_id.key())
}

/// Reads the bytes of the next row into `row`.
fn read_row(file: &mut impl Read, row: &mut Vec<u8>) -> io::Result<()> {
    let mut length = [0; LENGTH_BYTES];
    file.read_exact(&mut length)?;
    row.clear();
    let length = u32::from_le_bytes(length);
    match file.take(length.into()).read_to_end(row)? == length as usize {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Decodes a row, and its position in the imported file.
fn decode_row(row: &[u8]) -> io::Result<(&str, NewTransaction)> {
    postcard::from_bytes(row).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures;

    #[test]
    fn transactions_with_equal_hash_values_are_distinguished() {
        let mut batch = SpooledBatch::with_hash_fn(Box::new(|_| 7)).unwrap();
        let positions = ["a", "b", "a again", "b again", "a at last", "c"];
        for (position, number) in positions.into_iter().zip([1, 2, 1, 2, 1, 3]) {
            batch.put(position, &fixtures::new(number)).unwrap();
        }
        let mut pairs = Vec::new();
        batch.drop_duplicates(&mut |Duplicate { earlier, later, .. }| pairs.push([earlier, later])).unwrap();
        assert_eq!(pairs, [["a", "a again"], ["b", "b again"], ["a again", "a at last"]]);
        let mut rows = Vec::new();
        let take = &mut |new: NewTransaction| {
            rows.push(new.params.transaction_id);
            ControlFlow::Continue(())
        };
        batch.for_each(take).unwrap();
        assert_eq!(rows, [2, 1, 3].map(|number| fixtures::new(number).params.transaction_id));
    }
}
