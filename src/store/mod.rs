//! The store, a SQLite database: the only channel between the poller and what shows or prints, and the only user of rusqlite.
//!
//! ```text
//!   Operation ──► Store::apply ──► writer ──► operations ──► tables      one thread, a transaction for what waits
//!                                                              │
//!   Reader  ◄── queries ◄──────────────────────────────────────┘         any thread, a snapshot each
//!                                                            file        open, migrate, back up, recover
//! ```
//!
//! Everything that lasts is written by an operation ([`crate::domain::operation`]), which says what happened; what follows
//! from it is decided here and nowhere else, alike in every store. It must never decide when to poll.

mod error;
mod file;
mod operations;
mod queries;
mod reader;
mod tables;
mod watcher;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use chrono::{DateTime, Utc};
use tokio::sync::watch;

pub use self::{
    error::StoreError,
    file::{
        backup::{Backup, BackupDue, BackupReport, Existing},
        backup_schedule::BackupSchedule,
        filesystem,
        health::Trouble,
        recovery::Recovery,
    },
    operations::{Asked, Dropped, ImportPreview, ImportReport, Observed, Outcome, Reversal, Tally},
    queries::{
        checksum::TableChecksum,
        feed::{Changes, FeedReader},
        find::Lookup,
        history::HistoryLine,
        list::{Known, Listed, Listing, Page, Place, Progress},
        overview::PollingLoad,
    },
    reader::{Reader, SharedReader},
    tables::{
        alerts::{AlertCounts, AlertQuery},
        changes::Feed,
        durations::RouteStats,
        minutes::Minute,
        notes::Note,
        observations::{OldBodies, StoredObservation},
        open_transactions::OpenMark,
        pollers::PollerRequests,
        quotes::StoredQuote,
    },
    watcher::Wake,
    writer::Receipt,
};
use self::{
    file::{
        backup, connection,
        health::Health,
        integrity::{self, Depth},
        open::{self, Opened},
        open_marker::OpenMarker,
        paths,
    },
    watcher::Watcher,
    writer::{Write, Writer},
};
use crate::{
    clock::Clock,
    domain::{
        batch::Batch,
        operation::{Envelope, Operation, Stamp},
    },
};

/// A handle to one store. Cheap to clone; the last one to go waits for the writes that were begun.
#[derive(Clone)]
pub struct Store {
    path: Arc<PathBuf>,
    writer: Arc<Writer>,
    watcher: Arc<Watcher>,
    /// Dropped after the writer: it says that the store was left in order.
    health: Arc<Health>,
    recovery: Option<Arc<Recovery>>,
    notice: Option<Arc<str>>,
}

impl Store {
    /// Whether no store was ever at `path`. Where that can't be told it is `false`: opening the store says why.
    pub fn was_never_at(path: &Path) -> bool {
        matches!(path.try_exists(), Ok(false)) && !OpenMarker::was_at(path)
    }

    /// Opens the store at `path`, and makes it with its folder if there is none. A damaged store is refused: this is for
    /// throw-away stores and tests.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::start(open::open(path, None)?)
    }

    /// Opens a store that is to last, at the moment `at`: a damaged one is recovered ([`Store::recovery`] says how), a backup
    /// precedes each change of the schema, and a store that can't be written can be read.
    pub fn open_lasting(path: &Path, at: DateTime<Utc>) -> Result<Self, StoreError> {
        Self::start(open::open(path, Some(at))?)
    }

    fn start(opened: Opened) -> Result<Self, StoreError> {
        let path = opened.path.as_path();
        let health = Arc::new(Health::new(path, opened.marker));
        let watcher = Arc::new(Watcher::new(path.to_owned(), Arc::clone(&health)));
        let woken = Arc::clone(&watcher);
        let writer = match opened.connection {
            Ok(connection) => Writer::spawn(connection, path.to_owned(), Arc::clone(&health), move |commit| {
                woken.committed(commit);
            })?,
            Err(trouble) => {
                health.note(&trouble);
                Writer::refusing(trouble)
            }
        };
        Ok(Self {
            path: Arc::new(path.to_owned()),
            writer: Arc::new(writer),
            watcher,
            health,
            recovery: opened.recovery.map(Arc::new),
            notice: opened.notice.map(Arc::from),
        })
    }

    /// Where the store is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Applies an operation that happens at `at`: the only way into the lasting tables.
    pub fn apply(&self, operation: Operation, at: DateTime<Utc>) -> Receipt {
        self.writer.submit(Write::Apply(Box::new(Envelope::new(operation, Stamp::new(at, None)))))
    }

    /// Applies [`Operation::Track`] for a batch of any size, in bounded memory.
    pub fn track_batch(&self, profile: &str, batch: Box<dyn Batch>, at: DateTime<Utc>) -> Receipt {
        self.writer.submit(Write::Track { profile: profile.to_owned(), batch, stamp: Stamp::new(at, None) })
    }

    /// Says what a dashboard of this machine has open, for the poller.
    pub fn mark_open(&self, mark: OpenMark) -> Receipt {
        self.writer.submit(Write::MarkOpen(mark))
    }

    /// Waits for everything that was submitted before: afterwards this process holds no lock on the store.
    pub fn flush(&self) -> Receipt {
        self.writer.submit(Write::Flush)
    }

    /// A connection for reading, for one thread at a time.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        Reader::open(&self.path)
    }

    /// Wakes the receiver after commits, of this process at once, of others within 250 ms, and when [`Store::trouble`]
    /// changes. It carries no changes itself; read the feed.
    pub fn subscribe(&self, wake: Wake) -> Result<watch::Receiver<u64>, StoreError> {
        self.watcher.subscribe(wake)
    }

    /// How the store was recovered if it was damaged when it was opened.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_deref()
    }

    /// What a person should know of how the store was found when it was opened: that it was recovered, or that something is
    /// missing.
    pub fn notice(&self) -> Option<String> {
        let recovery = self.recovery().map(ToString::to_string);
        let notices: Vec<String> = self.notice.iter().map(|notice| notice.to_string()).chain(recovery).collect();
        (!notices.is_empty()).then(|| notices.join("; "))
    }

    /// What keeps the store from being written, if anything does.
    pub fn trouble(&self) -> Option<Trouble> {
        self.health.trouble()
    }

    /// Takes a fault into account that a reader met: a damaged store isn't written to any more, and the next start recovers it.
    pub fn report_fault(&self, error: &StoreError) {
        if let StoreError::Broken(reason) = error {
            self.health.note(&Trouble::Broken(reason.clone()));
        }
    }

    /// Checks every page, and returns what is wrong. A second for each gigabyte or so.
    pub fn check(&self) -> Result<Option<String>, StoreError> {
        let found = integrity::unsound(&connection::open_for_reading(&self.path)?, Depth::Quick)?;
        found.iter().for_each(|reason| self.health.note(&Trouble::Broken(reason.clone())));
        Ok(found)
    }

    /// The bytes of the store's file and of the log beside it.
    pub fn sizes(&self) -> (u64, u64) {
        (self.path.metadata().map_or(0, |file| file.len()), paths::log_size(&self.path))
    }

    /// Writes a verified copy of the store to a file. `goes_on` is asked from time to time; a cancelled copy leaves nothing.
    pub fn backup(
        &self,
        to: &Path,
        existing: Existing,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<BackupReport, StoreError> {
        let copied = backup::copy(&connection::open_for_reading(&self.path)?, to, existing, goes_on);
        copied.inspect_err(|error| self.report_fault(error))
    }

    /// Makes the daily backup of the store at `path` if it is due. `None` if it isn't, or there is nothing to keep yet. `goes_on`
    /// is asked from time to time.
    pub fn backup_if_due(
        path: &Path,
        at: DateTime<Utc>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<BackupReport>, StoreError> {
        backup::daily(path, at, goes_on)
    }

    /// Whether a process that did something else should make the daily backup.
    pub fn backup_due(&self, at: DateTime<Utc>) -> Result<BackupDue, StoreError> {
        backup::due(&self.path, at)
    }

    /// The backups beside the store, the newest first; those dated after `now` come last.
    pub fn backups(&self, now: DateTime<Utc>) -> Vec<Backup> {
        backup::kept(&self.path, now)
    }

    /// Makes the daily backup whenever it is due, as long as the schedule is held.
    pub fn schedule_backups(&self, clock: Clock) -> Result<BackupSchedule, StoreError> {
        BackupSchedule::start(self.path.to_path_buf(), Arc::downgrade(&self.health), clock)
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
