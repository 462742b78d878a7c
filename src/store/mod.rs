//! The store, a SQLite database: the only channel between the poller and the screens and commands, and the only user of
//! rusqlite.
//!
//! ```text
//!   Operation ──► Store::apply ──► writer ──► operations ──► tables      one thread, a transaction for what waits
//!                                                              │
//!   Reader  ◄── queries ◄──────────────────────────────────────┘         any thread, a snapshot each
//!                                                            file        open, migrate, back up, recover
//! ```
//!
//! Every lasting change is an operation ([`crate::domain::operation`]), which says what happened. What follows from an
//! operation is derived here and nowhere else, identically in every store. This module must never decide when to poll.

mod body_storage;
mod commit;
mod error;
mod file;
mod operations;
mod queries;
mod reader;
mod replica;
mod row_checksum;
mod statement;
mod tables;
mod watcher;
mod writer;

use std::{path::Path, sync::Arc};

use chrono::{DateTime, Utc};
use rusqlite::Connection;
use tokio::sync::watch;

pub(crate) use self::{
    error::{Result, StoreError, StoreFault},
    file::{
        backup::{BackupDue, BackupReport, ExistingFilePolicy, backups},
        backup_schedule::BackupSchedule,
        filesystem,
        lock_wait::LockAnnouncement,
        paths::{BACKUP_FOLDER, file_sizes},
        recovery::Recovery,
        restore::RestoreReport,
    },
    operations::{
        AppliedEntries, AppliedObservation, DecodeRecord, DroppedBodies, ImportPreview, ImportToUndo, OperationResult,
        QuoteSubmission, Reversal,
    },
    queries::{
        checksum::{LEFT_OUT, TableChecksum},
        damage::DamagedValue,
        list::{ListPage, ListRow, TransactionOutcome},
    },
    reader::SharedReader,
    replica::{LogEntries, LogQueue, LogWrite, Submission, own_entries, payload},
    tables::{
        bodies::StoredBody,
        changes::Changes,
        durations::RouteStats,
        minutes::MinuteStats,
        notes::Note,
        observations::{OldBodyCursor, StoredObservation},
        open_transactions::OpenMark,
        pollers::PollerRequests,
        quotes::StoredQuote,
    },
};
use self::{
    file::{
        backup, connection,
        health::StoreHealth,
        integrity::{self, CheckDepth},
        open::{self, OpenStore},
        open_marker::OpenMarker,
        recovery, restore,
    },
    watcher::Watcher,
    writer::{RunningWriter, WriteJob, Writer, WriterRestart},
};
pub use self::{
    operations::ImportReport,
    queries::{
        feed::FeedReader,
        history::HistoryLine,
        list::{LoadedRows, PagePosition},
    },
    reader::Reader,
    tables::alerts::{AlertCounts, AlertQuery},
    watcher::{WakeKind, WatcherSteps},
    writer::{OnOperationKept, Receipt, steps::WriterSteps},
};
use crate::{
    clock::Clock,
    domain::{
        batch::Batch,
        ids::TransactionKey,
        operation::{Envelope, Operation, Stamp},
        team::{self, TeamStatus},
    },
};

/// A handle to one store. Cheap to clone. Dropping the last handle waits for the submitted writes.
#[derive(Clone)]
pub struct Store {
    writer: Arc<Writer>,
    watcher: Arc<Watcher>,
    /// Dropped after the writer: its marker records that the store was closed in order.
    health: Arc<StoreHealth>,
    /// How the store was recovered, if it was damaged when it was opened.
    recovery: Option<Arc<Recovery>>,
    notice: Option<Arc<str>>,
    /// Where operations go first, if the store is a replica of a team's log. Dropped before the writer.
    log: Option<LogQueue>,
    /// The author of the operations that are applied through this handle.
    author: Option<Arc<str>>,
}

impl Store {
    /// Whether no store ever existed at `path`. Returns `false` if that can't be determined; opening the store reports
    /// the error.
    pub fn has_no_store_at(path: &Path) -> bool {
        matches!(path.try_exists(), Ok(false)) && !OpenMarker::exists_for(path)
    }

    /// Opens the store at `path`; creates the store and its folder if there is none. Refuses a damaged store: this is
    /// for throw-away stores and tests.
    pub fn open(path: &Path) -> Result<Self> {
        Self::start(open::open(path, None)?)
    }

    /// Opens a permanent store at the moment `at`. A damaged store is recovered (see [`Store::notice`]). A backup
    /// precedes each change of the schema. A store that can't be written is opened for reading.
    pub fn open_permanent(path: &Path, at: DateTime<Utc>) -> Result<Self> {
        Self::start(open::open(path, Some(at))?)
    }

    /// Opens a backup for reading, if the file at `path` is one that no hoptop has opened for writing. Nothing is
    /// written to the file or beside it.
    pub fn open_unused_backup(path: &Path) -> Result<Option<Self>> {
        match open::is_unused_backup(path) {
            true => Self::start(open::open_backup(path)?).map(Some),
            false => Ok(None),
        }
    }

    /// Puts a backup in the place of the store at `path`, at the moment `at`. The store that was there is kept beside
    /// it.
    ///
    /// # Errors
    /// If the backup isn't sound, or a process has the store open. The store is then as it was.
    pub fn restore(backup: &Path, path: &Path, at: DateTime<Utc>) -> Result<RestoreReport> {
        restore::restore(backup, path, at)
    }

    /// Like [`Store::open_permanent`], but a simulation runs the writer and the watcher, instead of threads. Each
    /// operation that is kept is passed to `on_kept`, in the order of the commits. There is no writer if the store
    /// can't be written.
    pub fn open_in_steps(
        path: &Path,
        at: DateTime<Utc>,
        on_kept: OnOperationKept,
    ) -> Result<(Self, Option<WriterSteps>, WatcherSteps)> {
        let mut writer_steps = None;
        // A simulation has no threads, so the writer isn't started later.
        let opened = OpenStore { reconnect: None, ..open::open(path, Some(at))? };
        let store = Self::start_with(opened, |connection, health, watcher| {
            let (writer, steps) = RunningWriter::in_steps(connection, health, watcher, on_kept);
            writer_steps = Some(steps);
            Ok(writer)
        })?;
        let watcher_steps = store.watcher.in_steps()?;
        Ok((store, writer_steps, watcher_steps))
    }

    fn start(opened: OpenStore) -> Result<Self> {
        Self::start_with(opened, RunningWriter::spawn)
    }

    fn start_with(
        opened: OpenStore,
        start_writer: impl FnOnce(Connection, Arc<StoreHealth>, Arc<Watcher>) -> Result<RunningWriter>,
    ) -> Result<Self> {
        let health = Arc::new(StoreHealth::new(&opened.path, opened.marker, opened.connection.is_ok()));
        let watcher = Arc::new(Watcher::new(Arc::clone(&health)));
        let writer = match opened.connection {
            Ok(connection) => Writer::Running(start_writer(connection, Arc::clone(&health), Arc::clone(&watcher))?),
            Err(fault) => {
                health.report(&fault);
                let restart = opened.reconnect.map(|reconnect| -> WriterRestart {
                    let (health, watcher) = (Arc::clone(&health), Arc::clone(&watcher));
                    Box::new(move || {
                        // Before a new store is created in the place of one that was moved away.
                        health.refuse_if_gone()?;
                        let connection = reconnect()?;
                        let create = |source| StoreError::Create { path: health.path().to_owned(), source };
                        health.begin_writing().map_err(create)?;
                        RunningWriter::spawn(connection, Arc::clone(&health), Arc::clone(&watcher))
                    })
                });
                Writer::refusing(fault, restart)
            }
        };
        Ok(Self {
            writer: Arc::new(writer),
            watcher,
            health,
            recovery: opened.recovery.map(Arc::new),
            notice: opened.notice.map(Arc::from),
            log: None,
            author: None,
        })
    }

    /// The path of the store's file.
    pub fn path(&self) -> &Path {
        self.health.path()
    }

    /// Submits an operation that happens at `at`. Operations are the only way into the lasting tables. In a replica
    /// they go to the team's log first, except for operations that concern this machine alone.
    pub fn apply(&self, operation: Operation, at: DateTime<Utc>) -> Receipt {
        let log = self.log.as_ref().filter(|_| !operation.is_local());
        let envelope = Box::new(Envelope::new(operation, self.stamp(at)));
        match log {
            Some(log) => log.submit(LogWrite::Operation(envelope)),
            None => self.writer.submit(WriteJob::Apply(envelope)),
        }
    }

    /// Submits [`Operation::Track`] for a batch of any size. Needs bounded memory.
    pub fn track_batch(&self, profile: &str, batch: Box<dyn Batch>, at: DateTime<Utc>) -> Receipt {
        let (profile, stamp) = (profile.to_owned(), self.stamp(at));
        match &self.log {
            Some(log) => log.submit(LogWrite::Batch { profile, batch, stamp }),
            None => self.writer.submit(WriteJob::Track { profile, batch, stamp }),
        }
    }

    fn stamp(&self, at: DateTime<Utc>) -> Stamp {
        Stamp::new(at, self.author.as_deref().map(str::to_owned))
    }

    /// Sets the author of the operations that are applied through this handle and its clones; `None` for a person
    /// without a name.
    #[must_use]
    pub fn with_author(self, author: Option<String>) -> Self {
        Self { author: author.map(Arc::from), ..self }
    }

    /// The name under which this handle's operations are stored; `None` if the person set none. In a replica the name
    /// that the team's database verified is a part of it, once the database has been reached.
    pub fn author(&self) -> Option<String> {
        let verified = self.log.as_ref().and_then(|log| log.status().borrow().author.clone());
        team::author(verified.as_deref(), self.author.as_deref())
    }

    /// Applies entries of the team's log to this replica.
    pub(crate) fn replicate(&self, entries: LogEntries) -> Receipt {
        self.writer.submit(WriteJob::Replicate(entries))
    }

    /// Forgets the entries that this machine appended before entry `first` of the team's log: a snapshot has them.
    pub(crate) fn forget_own_entries(&self, first: u64) -> Receipt {
        self.writer.submit(WriteJob::ForgetOwnEntries(first))
    }

    /// Wakes the subscribers now if another process has written. Otherwise they wake within 250 ms.
    pub(crate) fn wake_if_changed(&self) {
        self.watcher.wake_if_changed();
    }

    /// Makes the store a replica, whose operations go to `log` first.
    pub(crate) fn with_log(self, log: LogQueue) -> Self {
        Self { log: Some(log), ..self }
    }

    /// The state of the team's store; `None` if the store isn't a replica.
    pub fn team(&self) -> Option<watch::Receiver<TeamStatus>> {
        let mut status = self.log.as_ref().map(LogQueue::status)?;
        // What was sent before counts as new.
        status.mark_changed();
        Some(status)
    }

    /// Sets why the team's log can't be appended to; `None` if it can. See [`Store::fault`].
    pub(crate) fn set_log_fault(&self, reason: Option<String>) {
        self.health.set_log_fault(reason);
    }

    /// Records which transaction a dashboard of this machine has open, for the poller, and tells the team.
    pub fn mark_open(&self, mark: OpenMark, transaction: Option<TransactionKey>) -> Receipt {
        if let Some(log) = &self.log {
            log.submit(LogWrite::Open(transaction)).detach();
        }
        self.writer.submit(WriteJob::MarkOpen(mark))
    }

    /// Returns the body of an answer; `None` if it no longer exists. A light replica asks the team's database, which
    /// may take seconds.
    ///
    /// # Errors
    /// If the team's database is away.
    pub fn body_text(&self, body: StoredBody) -> Result<Option<String>> {
        match (body, &self.log) {
            (StoredBody::Text(text), _) => Ok(Some(text)),
            (StoredBody::InLog { entry, transaction, digest }, Some(log)) => {
                log.submit(LogWrite::ReadBody { entry, transaction, digest }).wait()?.body()
            }
            (StoredBody::InLog { .. }, None) => Err(StoreError::BodyElsewhere),
        }
    }

    /// Waits for all writes submitted before. When the receipt resolves, this process holds no lock on the store.
    pub fn flush(&self) -> Receipt {
        match &self.log {
            Some(log) => log.submit(LogWrite::Flush),
            None => self.writer.submit(WriteJob::Flush),
        }
    }

    /// Opens a connection for reading, for one thread at a time.
    pub fn reader(&self) -> Result<Reader> {
        Reader::open(self.path())
    }

    /// Returns a receiver that wakes after commits and when [`Store::fault`] changes. Commits of this process wake
    /// the receiver at once, commits of other processes within 250 ms. A wakeup carries no changes; read the feed.
    pub fn subscribe(&self, wake: WakeKind) -> Result<watch::Receiver<u64>> {
        self.watcher.subscribe(wake)
    }

    /// Returns a notice for the person about the state in which the store was found: it was recovered, or something is
    /// missing.
    pub fn notice(&self) -> Option<String> {
        let recovery = self.recovery.as_deref().map(ToString::to_string);
        let notices: Vec<String> = self.notice.iter().map(|notice| notice.to_string()).chain(recovery).collect();
        (!notices.is_empty()).then(|| notices.join("; "))
    }

    /// Returns the fault that prevents writes to the store, if there is one.
    pub fn fault(&self) -> Option<StoreFault> {
        self.health.fault()
    }

    /// Records a fault that a reader met. A damaged store is no longer written to, and the next start recovers it.
    pub fn report_fault(&self, error: &StoreError) {
        if let StoreError::Fault(fault @ StoreFault::Damaged(_)) = error {
            self.health.report(fault);
        }
    }

    /// Checks every page and returns the first fault. Takes about one second per gigabyte.
    pub fn check(&self) -> Result<Option<String>> {
        let found = integrity::find_fault(&connection::open_for_reading(self.path())?, CheckDepth::Full)?;
        if let Some(reason) = &found {
            self.health.report(&StoreFault::Damaged(reason.clone()));
        }
        Ok(found)
    }

    /// Rebuilds the records that can't be read from the newest answers in the history, which `decode` decodes. Returns
    /// how many it rebuilt.
    ///
    /// # Errors
    /// If the store can't be read or written.
    pub(crate) fn rebuild_records(&self, decode: DecodeRecord<'_>) -> Result<u64> {
        operations::rebuild_records(&mut connection::open_for_writing(self.path(), None, true)?, decode)
    }

    /// Marks the store for repair: the next start takes damaged values from the newest backup. Until then nothing is
    /// written. `count` says how many values are damaged.
    pub fn mark_for_repair(&self, count: &str) {
        self.health.report(&StoreFault::Damaged(format!("{}: {count}", recovery::DAMAGED_VALUES)));
    }

    /// Writes a verified copy of the store to a file. `should_continue` is called from time to time: `false` cancels
    /// the copy. A cancelled copy leaves no file.
    pub fn backup(
        &self,
        to: &Path,
        existing: ExistingFilePolicy,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<BackupReport> {
        let copied = backup::copy(&connection::open_for_reading(self.path())?, to, existing, should_continue);
        copied.inspect_err(|error| self.report_fault(error))
    }

    /// Makes the daily backup of the store at `path` if it is due. Returns `None` if it isn't due, the store is empty,
    /// or another process makes it. `should_continue` is called from time to time: `false` cancels the backup.
    pub fn backup_if_due(
        path: &Path,
        at: DateTime<Utc>,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Option<BackupReport>> {
        backup::make_daily(path, at, should_continue)
    }

    /// Whether a process that has finished its own command should make the daily backup.
    pub fn backup_due(&self, at: DateTime<Utc>) -> Result<BackupDue> {
        backup::check_due(self.path(), at)
    }

    /// Makes the daily backup whenever it is due, until the returned schedule is dropped.
    pub fn schedule_backups(&self, clock: Clock) -> Result<BackupSchedule> {
        BackupSchedule::start(self.path().to_owned(), Arc::downgrade(&self.health), clock)
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
