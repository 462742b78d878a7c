//! The store's errors, worded for the person who has to act.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::ErrorCode;

use super::file::filesystem;
use crate::{
    domain::batch::SpoolError,
    process::{files, lock_holder::LockHolder},
};

/// How long a connection waits for another process's write lock. A reader of a WAL never has to wait.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(45);

/// The reason shown when the disk is full.
pub(super) const DISK_FULL: &str = "the disk is full";
/// The number of files that opening a store may need: two connections with their logs and the indexes of these.
const SQLITE_FILES: usize = 8;
/// With less free space than this, in bytes, SQLite can't create its files beside a store.
const MIN_FREE_BYTES: u64 = 256 << 10;

/// The result of work on the store.
pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder or the file can't be created.
    #[error("can't create the store {}: {source}; check the folder's permissions, or choose another file with --db", path.display())]
    Create { path: PathBuf, source: io::Error },
    /// The file can't be opened as a store.
    #[error("can't open the store {}: {reason}; check that it is a hoptop store and writable, or choose another file with --db", path.display())]
    Open { path: PathBuf, reason: String },
    /// The file is damaged, and couldn't be recovered now.
    #[error("the store {} is damaged: {reason}; its contents were not changed", path.display())]
    Damaged { path: PathBuf, reason: String },
    /// The file is a backup of an older schema, which can't be read before it is migrated.
    #[error("the backup {} has the older schema {found}, so it can't be read as it is: put it in the place of the store with `hoptop restore`, or open a copy of it with --db", path.display())]
    OldBackup { path: PathBuf, found: i64 },
    /// The disk has no space for the files that SQLite needs beside the store.
    #[error("can't open the store {} for writing: {DISK_FULL}; free some space, or choose another file with --db", path.display())]
    DiskFull { path: PathBuf },
    /// The log was removed while another process has the store open. What this process writes to a new log would be
    /// lost.
    #[error("the write-ahead log of the store {} was removed while another process has the store open; quit all hoptop processes that use it, then try again", path.display())]
    LogGone { path: PathBuf },
    /// The file is on a network file system, where SQLite's locks aren't reliable.
    #[error("the store {} is on a network file system ({kind}), where access from two machines can damage it; choose a file on a local disk with --db", path.display())]
    Network { path: PathBuf, kind: String },
    /// The file is another program's database.
    #[error("{} is the database of another program; choose another file with --db", path.display())]
    Foreign { path: PathBuf },
    /// The file was written by a newer hoptop.
    #[error("the store {} has schema {found}, but this hoptop supports schemas up to {known}; the file was not changed: use the newer hoptop, or choose another file with --db", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    /// No backup was made, because the copy failed or isn't sound.
    #[error("the backup {} was not made: {reason}", path.display())]
    Backup { path: PathBuf, reason: String },
    /// The backup wasn't restored, so the store is as it was.
    #[error("{} was not restored: {reason}", path.display())]
    Restore { path: PathBuf, reason: String },
    /// The store wasn't migrated, because the backup before the migration failed.
    #[error("the store {} was not upgraded from schema {from}: the backup before the upgrade failed: {reason}", path.display())]
    NotMigrated { path: PathBuf, from: i64, reason: String },
    /// The SQLite library has a known fault.
    #[error("SQLite {0} can damage a store with two writers; hoptop needs 3.51.3 or later")]
    OldLibrary(&'static str),
    /// A SQL statement failed.
    #[error("the store failed: {}", reason(.0))]
    Sql(rusqlite::Error),
    /// The temporary file that holds a batch can't be read.
    #[error(transparent)]
    ImportSpool(#[from] SpoolError),
    /// The store can't be written.
    #[error(transparent)]
    Fault(#[from] StoreFault),
    /// A compressed text can't be decompressed.
    #[error("a stored text can't be decompressed: {0}")]
    Unpack(String),
    /// A line of a file of operations can't be read.
    #[error("line {line}: {reason}")]
    UnreadableLine { line: usize, reason: String },
    /// A newer hoptop wrote to the team's log.
    #[error(
        "update hoptop on this machine: the team's store has format {found} and this hoptop knows formats up to {known}"
    )]
    NewerFormat { found: u16, known: u16 },
    /// The store is a replica of another team's log.
    #[error(
        "the file is the replica of another team's store; choose another file with --db, or, if the store was emptied, move this file and its -wal and -shm away"
    )]
    OtherTeam,
    /// The store holds data that isn't in any log.
    #[error(
        "the file holds transactions of its own; move them into the team's store with `hoptop store move`, or choose another file with --db"
    )]
    NotReplica,
    /// The store is a replica, and was opened without its team's store.
    #[error(
        "the file is the replica of a team's store, so nothing is written to it alone; name the team's store with --store"
    )]
    ReplicaAlone,
    /// The body of an answer was left in the log of a team that this store doesn't belong to.
    #[error(
        "the body is only in the database of the team's store from which this store was copied; open that store with --store"
    )]
    BodyElsewhere,
    /// An operation had a result that its caller doesn't expect: a bug in hoptop.
    #[error("internal error: the store returned an unexpected result")]
    UnexpectedResult,
    /// The thread of the writer or the watcher has ended.
    #[error("the store's thread has ended")]
    Closed,
    /// The operating system refused to start a thread.
    #[error("the store's thread can't be started: {0}")]
    Thread(io::Error),
}

/// What prevents the store from being written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFault {
    /// This file of the store isn't where it was when it was opened.
    #[error("the store's file {} was removed or replaced while it was open; writing has stopped, and the last changes may be lost: restart hoptop", .0.display())]
    Gone(PathBuf),
    /// The file is damaged.
    #[error(
        "the store is damaged ({0}): it is read-only until it is recovered; quit all hoptop processes that use it; the next start recovers it"
    )]
    Damaged(String),
    /// The file can only be read.
    #[error("the store {} is read-only; check the permissions of the file and its folder, or choose another file with --db", .0.display())]
    ReadOnly(PathBuf),
    /// The file is a backup, which is never changed.
    #[error("{} is a backup, and hoptop doesn't change backups: choose another file with --db, or put the backup in the place of the store with `hoptop restore`", .0.display())]
    IsBackup(PathBuf),
    /// The last write failed, so nothing of it was stored. The next write is tried all the same.
    #[error("the write to the store failed: {0}")]
    CommitFailed(String),
    /// Another process holds the store's lock; the process, if it is known.
    #[error("{}", waiting_text(.0.as_ref()))]
    Waiting(Option<LockHolder>),
    /// The team's log can't be appended to, for this reason.
    #[error("{0}")]
    Log(String),
    /// The team's log takes no writes of this person or this version of hoptop, for this reason.
    #[error("{0}")]
    WriteRefused(String),
}

impl StoreFault {
    /// Whether the fault lasts until a restart. Nothing more is written until then.
    pub(super) fn needs_restart(&self) -> bool {
        match self {
            Self::Gone(_) | Self::Damaged(_) => true,
            Self::ReadOnly(_)
            | Self::IsBackup(_)
            | Self::CommitFailed(_)
            | Self::Waiting(_)
            | Self::Log(_)
            | Self::WriteRefused(_) => false,
        }
    }
}

/// Returns a sentence about a wait for a lock that this process holds.
pub(super) fn waiting_text(holder: Option<&LockHolder>) -> String {
    let holder = holder.map_or_else(String::new, |holder| format!(" ({holder})"));
    format!("another process{holder} has locked the store; waiting until it finishes")
}

impl From<StoreError> for StoreFault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Fault(fault) => fault,
            StoreError::Sql(error) => Self::CommitFailed(reason(&error)),
            other => Self::CommitFailed(other.to_string()),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        if is_damage(&error) { StoreFault::Damaged(error.to_string()).into() } else { Self::Sql(error) }
    }
}

impl StoreError {
    /// Converts a failure to open the file.
    pub(super) fn from_open_error(path: &Path, error: &rusqlite::Error) -> Self {
        let is_full = is_disk_full(path, error);
        let path = path.to_owned();
        match error.sqlite_error_code() {
            _ if is_full => Self::DiskFull { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, reason: error.to_string() },
            // In a write-protected folder SQLite can't create its files beside the store.
            Some(ErrorCode::CannotOpen) if files::lacks_descriptors(SQLITE_FILES) => {
                Self::Open { path, reason: reason(error) }
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) if path.exists() => StoreFault::ReadOnly(path).into(),
            _ => Self::Open { path, reason: reason(error) },
        }
    }

    /// Whether every further write would fail too.
    pub fn is_permanent(&self) -> bool {
        use StoreFault::{Gone, IsBackup, ReadOnly, WriteRefused};
        match self {
            Self::Closed | Self::Fault(Gone(_) | ReadOnly(_) | IsBackup(_) | WriteRefused(_)) => true,
            error => error.is_damage(),
        }
    }

    /// Whether a read was cancelled, for example because a newer read replaces it.
    pub(in crate::store) fn is_interruption(&self) -> bool {
        matches!(self, Self::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted))
    }

    /// Whether the file itself is damaged, so that nothing may be written to it any more.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Fault(StoreFault::Damaged(_)))
    }
}

/// Whether a full disk caused an error. SQLite doesn't report this for its files beside the store, so the free space is
/// checked.
pub(super) fn is_disk_full(path: &Path, error: &rusqlite::Error) -> bool {
    let folder = files::folder_of(path);
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => true,
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
            path.exists() && filesystem::free(folder).is_some_and(|free| free < MIN_FREE_BYTES)
        }
        _ => false,
    }
}

/// Whether SQLite reports the file as damaged.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Returns SQLite's error as a text that says what to do.
pub(super) fn reason(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let seconds = LOCK_TIMEOUT.as_secs();
            format!("another process has locked the store for {seconds} s; wait until it finishes, or end it")
        }
        Some(ErrorCode::DiskFull) => DISK_FULL.to_owned(),
        Some(ErrorCode::SystemIoFailure) => match filesystem::file_size_limit() {
            Some(limit) => format!(
                "a file may not grow beyond {limit} bytes in this process, or the disk reported an error ({error}); raise the limit (`ulimit -f`)"
            ),
            None => format!("the disk reported an error ({error})"),
        },
        Some(ErrorCode::CannotOpen) if files::lacks_descriptors(SQLITE_FILES) => {
            "hoptop has too many open files; raise the limit (`ulimit -n`)".to_owned()
        }
        Some(ErrorCode::ReadOnly) => "the file or its folder is not writable; check their permissions".to_owned(),
        _ => error.to_string(),
    }
}

/// Whether an error comes from this machine's disk or memory, so that the same write may succeed elsewhere.
pub(in crate::store) fn is_local(error: &StoreError) -> bool {
    let code = match error {
        // A stored text that can't be decompressed was damaged here.
        StoreError::Unpack(_) => return true,
        StoreError::Sql(error) => error.sqlite_error_code(),
        _ => None,
    };
    let is_resource_error = matches!(
        code,
        Some(
            ErrorCode::OutOfMemory
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::OperationInterrupted
                | ErrorCode::SchemaChanged
                | ErrorCode::FileLockingProtocolFailed
        )
    );
    is_resource_error || is_disk_error(error)
}

/// Whether an error comes from the disk, not from the write.
pub(in crate::store) fn is_disk_error(error: &StoreError) -> bool {
    let StoreError::Sql(error) = error else { return error.is_damage() };
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::ReadOnly | ErrorCode::CannotOpen)
    )
}
