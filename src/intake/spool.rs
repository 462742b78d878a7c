//! The import spool: holds the rows of a file until the whole file is read, and finds the rows that a later row
//! replaces. The store is changed only if every row is valid.
//!
//! Rows are kept in a temporary file that no other process can see and that disappears with its handle. Memory must hold
//! no more of a row than a few numbers.

use std::{
    fs::File,
    hash::{BuildHasher, RandomState},
    io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    iter, mem,
};

use crate::domain::{
    batch::{Batch, BatchRows, SpoolError},
    ids::TxHash,
    transaction::NewTransaction,
};

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

/// A spool that receives the rows of one file in order.
pub(crate) struct ImportSpool {
    /// The encoded rows, each preceded by its length.
    file: BufWriter<File>,
    length: u64,
    hash: HashFn,
    /// The hash value of each row's transaction, and the offset of the row.
    by_hash: Vec<(u64, u64)>,
    /// The offsets of the rows that a later row replaces, in ascending order.
    replaced: Vec<u64>,
}

impl ImportSpool {
    /// Creates an empty spool in the folder for temporary files.
    ///
    /// # Errors
    /// If the file can't be created.
    pub(crate) fn new() -> Result<Self, SpoolError> {
        let hasher = RandomState::new();
        Self::with_hash_fn(Box::new(move |key| hasher.hash_one(key)))
    }

    fn with_hash_fn(hash: HashFn) -> Result<Self, SpoolError> {
        let file = BufWriter::with_capacity(1 << 16, tempfile::tempfile()?);
        Ok(Self { file, length: 0, hash, by_hash: Vec::new(), replaced: Vec::new() })
    }

    /// Adds a row; `position` is the row's position in its file, in words.
    ///
    /// # Errors
    /// If the row can't be written.
    pub(crate) fn put(&mut self, position: String, new: NewTransaction) -> Result<(), SpoolError> {
        let row = postcard::to_stdvec(&(position, &new)).map_err(io::Error::other)?;
        let length = u32::try_from(row.len()).map_err(io::Error::other)?;
        self.file.write_all(&length.to_le_bytes())?;
        self.file.write_all(&row)?;
        self.by_hash.push(((self.hash)(transaction_key(&new)), self.length));
        self.length += (LENGTH_BYTES + row.len()) as u64;
        Ok(())
    }

    /// Returns the batch without the rows that a later row replaces, and passes each such pair to `report`, in the
    /// order of the file. Must be called after the last row.
    ///
    /// # Errors
    /// If the rows can't be written or read again.
    pub(crate) fn finish(mut self, report: &mut dyn FnMut(Duplicate)) -> Result<Box<dyn Batch>, SpoolError> {
        self.drop_duplicates(report)?;
        Ok(Box::new(self))
    }

    /// Finds the rows that a later row replaces, and passes each pair to `report` in the order of the later rows. Must
    /// be called once, after the last row.
    fn drop_duplicates(&mut self, report: &mut dyn FnMut(Duplicate)) -> io::Result<()> {
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

impl Batch for ImportSpool {
    fn rows(&self) -> u64 {
        self.by_hash.len() as u64
    }

    fn transactions(&self) -> Result<BatchRows<'_>, SpoolError> {
        let mut file = BufReader::with_capacity(1 << 16, self.file.get_ref());
        file.rewind()?;
        let (mut start, mut row, mut replaced) = (0, Vec::new(), self.replaced.iter().peekable());
        let mut next = move || -> Result<Option<NewTransaction>, SpoolError> {
            while start < self.length {
                read_row(&mut file, &mut row)?;
                let is_replaced = replaced.next_if_eq(&&start).is_some();
                start += (LENGTH_BYTES + row.len()) as u64;
                if !is_replaced {
                    return Ok(Some(decode_row(&row)?.1));
                }
            }
            Ok(None)
        };
        Ok(Box::new(iter::from_fn(move || next().transpose())))
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
        let mut batch = ImportSpool::with_hash_fn(Box::new(|_| 7)).unwrap();
        let positions = ["a", "b", "a again", "b again", "a at last", "c"];
        for (position, number) in positions.into_iter().zip([1, 2, 1, 2, 1, 3]) {
            batch.put(position.to_owned(), fixtures::new(number)).unwrap();
        }
        let mut pairs = Vec::new();
        batch.drop_duplicates(&mut |Duplicate { earlier, later, .. }| pairs.push([earlier, later])).unwrap();
        assert_eq!(pairs, [["a", "a again"], ["b", "b again"], ["a again", "a at last"]]);
        let rows: Vec<_> = batch.transactions().unwrap().map(|new| new.unwrap().params.transaction_id).collect();
        assert_eq!(rows, [2, 1, 3].map(|number| fixtures::new(number).params.transaction_id));
    }
}
