//! Following the store: everything once, then what changed. One way for the poller, the dashboard and `watch`.
//!
//! It never misses a change: who fell behind gets everything again.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use super::{Store, changes::Feed, error::StoreError, reader::Reader};
use crate::domain::{
    alert::Alert,
    change::{Change, What},
    ids::RowId,
    transaction::Transaction,
};

/// Entries of the feed that are read at a time.
const PAGE: usize = 1_000;

/// Which changes bring a transaction along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Every one, also that it was polled.
    Everything,
    /// Those that say something new.
    NewsOnly,
}

/// What changed since the last look.
#[derive(Debug, Default)]
pub struct News {
    /// Whether `transactions` is all there is, and what was known before is to be dropped.
    pub anew: bool,
    /// What happened, in order; empty after `anew`.
    pub changes: Vec<Change>,
    /// The transactions concerned, as they are now.
    pub transactions: Vec<Transaction>,
    /// Everything that stands as an alert, if that may have changed.
    pub alerts: Option<Vec<Alert>>,
}

/// A reader with its place in the feed. Clones share both.
#[derive(Clone)]
pub struct Follower(Arc<Mutex<Place>>);

struct Place {
    reader: Reader,
    /// What was read of the feed; `None` before the first look.
    seq: Option<i64>,
    interest: Interest,
}

impl Follower {
    /// A follower that has seen nothing yet: its first news are everything.
    pub fn new(store: &Store, interest: Interest) -> Result<Self, StoreError> {
        Ok(Self(Arc::new(Mutex::new(Place { reader: store.reader()?, seq: None, interest }))))
    }

    /// What changed since the last look. Blocks for the disk; not for async code.
    pub fn news(&self) -> Result<News, StoreError> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match place.seq {
            None => place.load(),
            Some(seq) => place.catch_up(seq),
        }
    }

    /// Reads something else over the same connection.
    pub fn read<T>(&self, work: impl FnOnce(&Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        work(&self.0.lock().unwrap_or_else(PoisonError::into_inner).reader)
    }
}

impl Place {
    fn load(&mut self) -> Result<News, StoreError> {
        let (transactions, alerts, seq) = self.reader.load()?;
        self.seq = Some(seq);
        Ok(News { anew: true, changes: Vec::new(), transactions, alerts: Some(alerts) })
    }

    fn catch_up(&mut self, mut seq: i64) -> Result<News, StoreError> {
        let mut changes = Vec::new();
        loop {
            let Feed::Changes(page) = self.reader.changes_after(seq, PAGE)? else { return self.load() };
            let whole = page.len() < PAGE;
            seq = page.last().map_or(seq, |change| change.seq);
            changes.extend(page);
            if whole {
                break;
            }
        }
        let wanted = |change: &&Change| self.interest == Interest::Everything || change.what != What::Polled;
        let rows: BTreeSet<RowId> = changes.iter().filter(wanted).filter_map(|change| change.transaction).collect();
        let transactions = rows.into_iter().filter_map(|row| self.reader.transaction(row).transpose());
        let transactions = transactions.collect::<Result<_, _>>()?;
        let alerting = |change: &Change| matches!(change.what, What::AlertRaised { .. } | What::AlertCleared { .. });
        let alerts = changes.iter().any(alerting).then(|| self.reader.alerts()).transpose()?;
        self.seq = Some(seq);
        Ok(News { anew: false, changes, transactions, alerts })
    }
}
