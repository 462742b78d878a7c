//! The store's errors, worded for the person who has to act.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::ErrorCode;

use super::file::filesystem;
use crate::domain::batch::SpoolError;

/// How long a writer waits for another process's; a reader of a WAL never has to.
pub(super) const PATIENCE: Duration = Duration::from_secs(45);

/// Why nothing can be kept on a full disk.
pub(super) const NO_ROOM: &str = "there is no room left on the disk";
/// With less than that what SQLite keeps beside a store can't be made.
const LEAST_ROOM: u64 = 256 << 10;

/// A fault of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder or the file can't be made.
    #[error("the store {} can't be made: {source}; check the folder's permissions or name another with --db", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file can't be opened as a store.
    #[error("the store {} can't be opened: {reason}; check that it is a hoptop store and can be written, or name another with --db", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file is damaged, and couldn't be recovered now.
    #[error("the store {} is damaged: {reason}; it is left as it is", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found, and the way out.
        reason: String,
    },
    /// The file is damaged, which was found while it was open.
    #[error(
        "the store is damaged ({0}): nothing more is written to it; end every hoptop that has it open, and the next start recovers it"
    )]
    Broken(String),
    /// The file can be read, but not written.
    #[error("the store {} can only be read; check the permissions of the file and its folder, or name another with --db", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// There is no room for what SQLite needs beside the file.
    #[error("the store {} can't be opened for writing: {NO_ROOM}; make room, or name another with --db", path.display())]
    NoRoom {
        /// The file.
        path: PathBuf,
    },
    /// The file isn't where it was when it was opened.
    #[error("the store {} was removed or replaced while it was open; nothing more is written: start hoptop again", path.display())]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// The file lies where SQLite's locks can't be relied on.
    #[error("the store {} lies on a network file system ({kind}), where two machines could damage it; name a file on a local disk with --db", path.display())]
    Network {
        /// The file.
        path: PathBuf,
        /// The file system.
        kind: String,
    },
    /// The file is another program's.
    #[error("{} is a database, but not hoptop's; name another file with --db", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later hoptop.
    #[error("the store {} has schema {found}, this hoptop knows {known}; it is left untouched: use the newer hoptop, or another file with --db", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// There is no backup, because the copy couldn't be made or isn't sound.
    #[error("the backup {} was not made: {reason}", path.display())]
    Backup {
        /// Where it was to be.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The store wasn't brought to a new schema, because the backup that comes first couldn't be made.
    #[error("the store {} was left at schema {from}, since no backup could be made before the change: {reason}", path.display())]
    NotMigrated {
        /// The file.
        path: PathBuf,
        /// Its schema.
        from: i64,
        /// Why there is no backup.
        reason: String,
    },
    /// The SQLite library is one with a known fault.
    #[error("SQLite {0} can damage a store with two writers; hoptop needs 3.51.3 or later")]
    OldLibrary(&'static str),
    /// A statement failed.
    #[error("the store failed: {}", reason(.0))]
    Sql(rusqlite::Error),
    /// The temporary file that holds a batch can't be read.
    #[error(transparent)]
    ImportSpool(#[from] SpoolError),
    /// The commit failed, so that nothing of the batch was kept.
    #[error("the store couldn't keep what it was given: {0}")]
    Commit(String),
    /// A compressed text can't be read.
    #[error("a text in the store can't be unpacked: {0}")]
    Unpack(String),
    /// An operation came to something that its caller doesn't know: a fault of the program.
    #[error("the store answered another question than was asked")]
    UnexpectedOutcome,
    /// The writer or the watcher isn't there any more.
    #[error("the store's thread has ended")]
    Closed,
    /// The operating system gave no thread.
    #[error("the store's thread can't be started: {0}")]
    Thread(io::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        if is_damage(&error) { Self::Broken(error.to_string()) } else { Self::Sql(error) }
    }
}

impl StoreError {
    /// What a failure to open the file means.
    pub(super) fn opening(path: &Path, error: &rusqlite::Error) -> Self {
        let has_room = !wants_room(path, error);
        let path = path.to_owned();
        match error.sqlite_error_code() {
            _ if !has_room => Self::NoRoom { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, reason: error.to_string() },
            // In a folder that can't be written the files beside it can't be made.
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) if path.exists() => Self::ReadOnly { path },
            _ => Self::Open { path, reason: reason(error) },
        }
    }

    /// Whether nothing can be kept any more, however often it is tried.
    pub fn is_lasting(&self) -> bool {
        self.is_damage() || matches!(self, Self::Closed | Self::Gone { .. } | Self::ReadOnly { .. })
    }

    /// Whether the file itself is damaged, so that nothing may be written to it any more.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Broken(_))
    }
}

/// Whether an error comes of a disk that is full: of the files beside the store SQLite doesn't say so.
pub(super) fn wants_room(path: &Path, error: &rusqlite::Error) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => true,
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
            path.exists() && filesystem::free(folder).is_some_and(|free| free < LEAST_ROOM)
        }
        _ => false,
    }
}

/// Whether SQLite says that the file is damaged.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// SQLite's error in words that say the way out.
pub(super) fn reason(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let seconds = PATIENCE.as_secs();
            format!("another process has kept the store locked for {seconds} s; wait until it is done, or end it")
        }
        Some(ErrorCode::DiskFull) => NO_ROOM.to_owned(),
        Some(ErrorCode::SystemIoFailure) => format!("the disk failed ({error})"),
        Some(ErrorCode::ReadOnly) => "the file or its folder can't be written; check their permissions".to_owned(),
        _ => error.to_string(),
    }
}
