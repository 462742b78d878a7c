//! What can go wrong with the store, worded for the person who has to mend it.

use std::{io, path::PathBuf};

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
    #[error("the store {} can't be opened: {source}; check that it is a hoptop store and can be written, or name another with --db", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
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
    /// The SQLite library is one with a known fault.
    #[error("SQLite {0} can damage a store with two writers; hoptop needs 3.51.3 or later")]
    OldLibrary(&'static str),
    /// A statement failed.
    #[error("the store failed: {0}")]
    Sql(#[from] rusqlite::Error),
    /// The temporary file that holds a batch until it was read can't be written or read.
    #[error(
        "the temporary file for what is imported failed: {0}; make room for temporary files, or name another folder in TMPDIR"
    )]
    Staging(io::Error),
    /// The commit failed, so that nothing of the batch was kept.
    #[error("the store couldn't keep what it was given: {0}")]
    Commit(String),
    /// A compressed text can't be read.
    #[error("a text in the store can't be unpacked: {0}")]
    Unpack(String),
    /// The writer or the watcher isn't there any more.
    #[error("the store's thread has ended")]
    Closed,
    /// The operating system gave no thread.
    #[error("the store's thread can't be started: {0}")]
    Thread(io::Error),
}
