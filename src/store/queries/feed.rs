//! Reading the change feed: the changes since the last read. The poller, the dashboard and `watch` use this module.
//!
//! A reader gets every change, however old its position is: changes come in batches. The first read asks the caller to
//! load its data. The caller decides what to load, so that a program that shows 40 rows needn't hold a million
//! transactions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::{error::Result, reader::Reader, tables::changes::Changes};

/// The most feed entries of one read, which limits the memory of a reader with an old position.
const MAX_ENTRIES: usize = 5_000;

/// A reader of the feed with its position. Clones share the connection and the position.
#[derive(Clone)]
pub struct FeedReader(Arc<Mutex<FeedCursor>>);

struct FeedCursor {
    reader: Reader,
    /// The number of the last entry read; `None` before the first read.
    seq: Option<i64>,
    /// How often a snapshot had taken the place of the store's content at the last read.
    loads: u64,
}

impl FeedReader {
    /// Creates a reader that has read nothing yet.
    pub fn new(reader: Reader) -> Self {
        Self(Arc::new(Mutex::new(FeedCursor { reader, seq: None, loads: 0 })))
    }

    /// Returns the changes since the last read. Blocks on the disk: not for async code.
    pub fn changes(&self) -> Result<Changes> {
        self.changes_with(|changes, _| Ok(changes))
    }

    /// Like [`Self::changes`], but calls `work` with the changes in the same snapshot. After an error the next read
    /// returns the same changes.
    pub fn changes_with<T>(&self, work: impl FnOnce(Changes, &Reader) -> Result<T>) -> Result<T> {
        let mut cursor = self.lock();
        let (seq, loads, done) = cursor.reader.snapshot(|| {
            let loads = cursor.reader.snapshot_loads()?;
            let changes = match cursor.seq.filter(|_| loads == cursor.loads) {
                None => Changes { needs_resync: true, last: cursor.reader.last_change()?, ..Changes::default() },
                Some(seq) => cursor.reader.changes_after(seq, MAX_ENTRIES)?,
            };
            Ok((changes.last, loads, work(changes, &cursor.reader)?))
        })?;
        (cursor.seq, cursor.loads) = (Some(seq), loads);
        Ok(done)
    }

    /// Calls `work` with the feed's connection, to read other data.
    pub fn read<T>(&self, work: impl FnOnce(&Reader) -> Result<T>) -> Result<T> {
        work(&self.lock().reader)
    }

    fn lock(&self) -> MutexGuard<'_, FeedCursor> {
        let mut cursor = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cursor.reader.refresh();
        cursor
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::{
        domain::fixtures,
        store::{Store, StoreError, testing},
    };

    #[test]
    fn changes_and_dependent_reads_share_one_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let track = |number| testing::track(&store, "default", vec![fixtures::new(number)], DateTime::UNIX_EPOCH);
        let feed = FeedReader::new(store.reader().unwrap());
        let tracked = |reader: &Reader| Ok::<_, StoreError>(reader.load()?.0.len());
        let counted = feed.changes_with(|_, reader| {
            let before = tracked(reader)?;
            track(1);
            // A nested read uses the same snapshot and doesn't end it.
            let changes = reader.changes_after(0, 10)?.changes;
            Ok((before, changes.len(), tracked(reader)?))
        });
        assert_eq!(counted.unwrap(), (0, 0, 0));
        // An error also ends the snapshot.
        feed.changes_with(|_, _| Err::<(), _>(StoreError::Closed)).unwrap_err();
        assert_eq!(feed.read(tracked).unwrap(), 1);
        assert_eq!(feed.changes().unwrap().changes.len(), 1);
    }

    #[test]
    fn changes_are_returned_again_after_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let feed = FeedReader::new(store.reader().unwrap());
        let fail = || feed.changes_with(|_, _| Err::<(), _>(StoreError::Closed)).unwrap_err();
        fail();
        assert!(feed.changes().unwrap().needs_resync);
        testing::track(&store, "default", vec![fixtures::new(1)], DateTime::UNIX_EPOCH);
        fail();
        assert_eq!(feed.changes().unwrap().changes.len(), 1);
        assert_eq!(feed.changes().unwrap().changes.len(), 0);
    }
}
