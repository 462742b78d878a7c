//! Following the store: what changed since the last look. One way for the poller, the dashboard and `watch`.
//!
//! It never misses a change, however far it fell behind: it is told in portions. Who looks for the first time is told to load;
//! what, is theirs to say, so that nobody holds a million transactions who shows forty.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::InterruptHandle;

use super::{Store, changes::Feed, error::StoreError, reader::Reader};
use crate::domain::{
    change::{Change, What},
    ids::RowId,
};

/// Entries of the feed that are read at a time.
const PAGE: usize = 1_000;
/// More isn't told at once, so that whoever fell behind needs no more memory than others.
const MOST: usize = 5_000;

/// What changed since the last look.
#[derive(Debug, Default)]
pub struct News {
    /// Whether this is the first look: everything is news.
    pub anew: bool,
    /// What happened, in order; empty after `anew`.
    pub changes: Vec<Change>,
    /// Whether more was polled than is told.
    pub polls_dropped: bool,
    /// Whether there is more to be told at once.
    pub more: bool,
}

impl News {
    /// The transactions that something happened to; with those that were only polled, or without.
    pub fn rows(&self, polled: bool) -> BTreeSet<RowId> {
        let wanted = |change: &&Change| polled || change.what != What::Polled;
        self.changes.iter().filter(wanted).filter_map(|change| change.transaction).collect()
    }
}

/// A reader that several threads use in turn, and that can be called off.
#[derive(Clone)]
pub struct SharedReader {
    reader: Arc<Mutex<Reader>>,
    interrupt: Arc<InterruptHandle>,
}

impl SharedReader {
    /// Over a connection of its own.
    pub(super) fn new(reader: Reader) -> Self {
        Self { interrupt: Arc::new(reader.interrupt_handle()), reader: Arc::new(Mutex::new(reader)) }
    }

    /// Calls off what is being read now, if anything is: it fails. What is read after it isn't concerned.
    pub fn call_off(&self) {
        self.interrupt.interrupt();
    }

    /// Reads; waits while another thread does. Blocks for the disk; not for async code.
    pub fn read<T>(&self, work: impl FnOnce(&Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        work(&self.reader.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A reader with its place in the feed. Clones share both.
#[derive(Clone)]
pub struct Follower(Arc<Mutex<Place>>);

struct Place {
    reader: Reader,
    /// What was read of the feed; `None` before the first look.
    seq: Option<i64>,
}

impl Follower {
    /// A follower that has seen nothing yet: its first news are that everything is.
    pub fn new(store: &Store) -> Result<Self, StoreError> {
        Ok(Self(Arc::new(Mutex::new(Place { reader: store.reader()?, seq: None }))))
    }

    /// What changed since the last look. Blocks for the disk; not for async code.
    pub fn news(&self) -> Result<News, StoreError> {
        self.news_with(|news, _| Ok(news))
    }

    /// The same with what is read because of it, at the same moment of the store: if that fails, the same news come again.
    pub fn news_with<T>(&self, work: impl FnOnce(News, &Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (seq, done) = place.reader.at_one_moment(|| {
            let (seq, news) = match place.seq {
                None => place.begin(),
                Some(seq) => place.catch_up(seq),
            }?;
            Ok((seq, work(news, &place.reader)?))
        })?;
        place.seq = Some(seq);
        Ok(done)
    }

    /// Reads something else over the same connection.
    pub fn read<T>(&self, work: impl FnOnce(&Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        work(&self.0.lock().unwrap_or_else(PoisonError::into_inner).reader)
    }
}

impl Place {
    fn begin(&self) -> Result<(i64, News), StoreError> {
        Ok((self.reader.last_change()?, News { anew: true, ..News::default() }))
    }

    fn catch_up(&self, mut seq: i64) -> Result<(i64, News), StoreError> {
        let mut news = News::default();
        loop {
            let Feed { changes: page, whole: is_whole } = self.reader.changes_after(seq, PAGE)?;
            let whole = page.len() < PAGE;
            seq = page.last().map_or(seq, |change| change.seq);
            news.polls_dropped |= !is_whole;
            news.changes.extend(page);
            news.more = !whole && news.changes.len() >= MOST;
            if whole || news.more {
                break;
            }
        }
        Ok((seq, news))
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::domain::fixtures;

    #[test]
    fn news_and_what_is_read_because_of_them_are_of_one_moment() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let import =
            |number| store.import("default", vec![fixtures::new(number)], DateTime::UNIX_EPOCH).wait().unwrap();
        let follower = Follower::new(&store).unwrap();
        let counted = follower.news_with(|_, reader| {
            let before = reader.tracked()?;
            import(1);
            // A reading within is of the same moment, and doesn't end it.
            let Feed { changes, .. } = reader.changes_after(0, 10)?;
            Ok((before, changes.len(), reader.tracked()?))
        });
        assert_eq!(counted.unwrap(), (0, 0, 0));
        // After a fault it is over too.
        follower.news_with(|_, _| Err::<(), _>(StoreError::Closed)).unwrap_err();
        assert_eq!(follower.read(Reader::tracked).unwrap(), 1);
        assert_eq!(follower.news().unwrap().changes.len(), 1);
    }

    #[test]
    fn news_that_nothing_could_be_made_of_come_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let follower = Follower::new(&store).unwrap();
        let fail = || follower.news_with(|_, _| Err::<(), _>(StoreError::Closed)).unwrap_err();
        fail();
        assert!(follower.news().unwrap().anew);
        store.import("default", vec![fixtures::new(1)], DateTime::UNIX_EPOCH).wait().unwrap();
        fail();
        assert_eq!(follower.news().unwrap().changes.len(), 1);
        assert_eq!(follower.news().unwrap().changes.len(), 0);
    }
}
