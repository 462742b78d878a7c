//! Following the change feed: what changed since the last read. The poller, the dashboard and `watch` all use it.
//!
//! A reader never misses a change, however far it falls behind: changes come in portions. The first read says to load
//! everything; what that is, is the caller's to say, so that nobody holds a million transactions who shows forty.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    domain::{
        change::{Change, What},
        ids::RowId,
    },
    store::{error::StoreError, reader::Reader, tables::changes::Feed},
};

/// Entries of the feed that are read at a time.
const PAGE: usize = 1_000;
/// The most changes of one read, so that a reader that fell behind needs no more memory than others.
const MOST: usize = 5_000;

/// What changed since the last read.
#[derive(Debug, Default)]
pub struct Changes {
    /// Whether this is the first read: everything is to be loaded.
    pub resync: bool,
    /// What happened, in order; empty after `resync`.
    pub changes: Vec<Change>,
    /// Whether entries that only said that something was polled are missing.
    pub polls_dropped: bool,
    /// Whether more changes can be read at once.
    pub more: bool,
}

impl Changes {
    /// The transactions that changed; with those that were only polled, or without.
    pub fn rows(&self, polled: bool) -> BTreeSet<RowId> {
        let wanted = |change: &&Change| polled || change.what != What::Polled;
        self.changes.iter().filter(wanted).filter_map(|change| change.transaction).collect()
    }
}

/// A reader with its position in the feed. Clones share both.
#[derive(Clone)]
pub struct FeedReader(Arc<Mutex<Cursor>>);

struct Cursor {
    reader: Reader,
    /// The number of the last entry that was read; `None` before the first read.
    seq: Option<i64>,
}

impl FeedReader {
    /// A reader that has read nothing yet.
    pub fn new(reader: Reader) -> Self {
        Self(Arc::new(Mutex::new(Cursor { reader, seq: None })))
    }

    /// What changed since the last read. Blocks for the disk; not for async code.
    pub fn changes(&self) -> Result<Changes, StoreError> {
        self.changes_with(|changes, _| Ok(changes))
    }

    /// The same with what `work` reads because of it, in the same snapshot: if that fails, the same changes come again.
    pub fn changes_with<T>(
        &self,
        work: impl FnOnce(Changes, &Reader) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut cursor = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (seq, done) = cursor.reader.snapshot(|| {
            let (seq, changes) = match cursor.seq {
                None => (cursor.reader.last_change()?, Changes { resync: true, ..Changes::default() }),
                Some(seq) => cursor.catch_up(seq)?,
            };
            Ok((seq, work(changes, &cursor.reader)?))
        })?;
        cursor.seq = Some(seq);
        Ok(done)
    }

    /// Reads something else over the same connection.
    pub fn read<T>(&self, work: impl FnOnce(&Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        work(&self.0.lock().unwrap_or_else(PoisonError::into_inner).reader)
    }
}

impl Cursor {
    fn catch_up(&self, mut seq: i64) -> Result<(i64, Changes), StoreError> {
        let mut read = Changes::default();
        loop {
            let Feed { changes: page, whole: is_whole } = self.reader.changes_after(seq, PAGE)?;
            let is_last = page.len() < PAGE;
            seq = page.last().map_or(seq, |change| change.seq);
            read.polls_dropped |= !is_whole;
            read.changes.extend(page);
            read.more = !is_last && read.changes.len() >= MOST;
            if is_last || read.more {
                return Ok((seq, read));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::{
        domain::fixtures,
        store::{Store, testing},
    };

    #[test]
    fn news_and_what_is_read_because_of_them_are_of_one_moment() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let track = |number| testing::track(&store, "default", vec![fixtures::new(number)], DateTime::UNIX_EPOCH);
        let feed = FeedReader::new(store.reader().unwrap());
        let tracked = |reader: &Reader| Ok::<_, StoreError>(reader.load()?.0.len());
        let counted = feed.changes_with(|_, reader| {
            let before = tracked(reader)?;
            track(1);
            // A read within is of the same snapshot, and doesn't end it.
            let Feed { changes, .. } = reader.changes_after(0, 10)?;
            Ok((before, changes.len(), tracked(reader)?))
        });
        assert_eq!(counted.unwrap(), (0, 0, 0));
        // An error ends the snapshot too.
        feed.changes_with(|_, _| Err::<(), _>(StoreError::Closed)).unwrap_err();
        assert_eq!(feed.read(tracked).unwrap(), 1);
        assert_eq!(feed.changes().unwrap().changes.len(), 1);
    }

    #[test]
    fn news_that_nothing_could_be_made_of_come_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let feed = FeedReader::new(store.reader().unwrap());
        let fail = || feed.changes_with(|_, _| Err::<(), _>(StoreError::Closed)).unwrap_err();
        fail();
        assert!(feed.changes().unwrap().resync);
        testing::track(&store, "default", vec![fixtures::new(1)], DateTime::UNIX_EPOCH);
        fail();
        assert_eq!(feed.changes().unwrap().changes.len(), 1);
        assert_eq!(feed.changes().unwrap().changes.len(), 0);
    }
}
