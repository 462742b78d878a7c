//! A connection for reading. The `impl Reader` blocks are in the files of the tables and queries.
//!
//! One reader belongs to one thread at a time. A reader must never write, so that showing data can't change it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use rusqlite::{Connection, InterruptHandle};

use super::{
    error::Result,
    file::{connection, paths},
};

/// A connection for reading.
pub struct Reader {
    connection: Connection,
    /// The file as it was when opened, if SQLite opened it as immutable.
    immutable: Option<ImmutableFile>,
}

struct ImmutableFile {
    path: PathBuf,
    /// The time of the last change.
    modified: Option<SystemTime>,
}

impl ImmutableFile {
    /// Whether the file changed since it was opened, or a write-ahead log exists.
    fn is_outdated(&self) -> bool {
        paths::companion(&self.path, "-wal").exists() || modified(&self.path) != self.modified
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|file| file.modified()).ok()
}

impl Reader {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = ImmutableFile { path: path.to_owned(), modified: modified(path) };
        let (connection, is_immutable) = connection::open_maybe_immutable(path)?;
        Ok(Self { connection, immutable: is_immutable.then_some(file) })
    }

    /// Opens the file again if it was opened as immutable (for example, because the disk was full) and a process has
    /// written to the store since. Returns whether it did.
    pub(crate) fn refresh(&mut self) -> bool {
        if let Some(file) = self.immutable.as_ref().filter(|file| file.is_outdated())
            && let Ok(reader) = Self::open(&file.path)
        {
            *self = reader;
            return true;
        }
        false
    }

    /// Opens an existing store for a short read, such as shell completion. A read fails if a lock lasts longer than 200
    /// ms. The reader changes and repairs nothing in the file, though SQLite may leave an empty log beside it. A store
    /// of another schema can't be read.
    ///
    /// # Errors
    /// If there is no store, or it can't be opened.
    pub fn open_for_short_read(path: &Path) -> Result<Self> {
        let reader = Self::open(path)?;
        reader.connection.busy_timeout(Duration::from_millis(200))?;
        Ok(reader)
    }

    /// Runs several reads in one snapshot of the store, unaffected by concurrent writes.
    pub fn snapshot<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        connection::snapshot(&self.connection, read)
    }

    /// Returns the connection, for the tables and queries of the store.
    pub(super) fn db(&self) -> &Connection {
        &self.connection
    }
}

/// A reader that several threads use in turn. Its reads can be cancelled.
#[derive(Clone)]
pub(crate) struct SharedReader {
    reader: Arc<Mutex<Reader>>,
    interrupt: Arc<Mutex<InterruptHandle>>,
}

impl SharedReader {
    /// Wraps a reader for sharing.
    pub(crate) fn new(reader: Reader) -> Self {
        let interrupt = Mutex::new(reader.connection.get_interrupt_handle());
        Self { interrupt: Arc::new(interrupt), reader: Arc::new(Mutex::new(reader)) }
    }

    /// Cancels the read in progress, if there is one: it fails. Later reads aren't affected.
    pub(crate) fn cancel(&self) {
        self.interrupt.lock().unwrap_or_else(PoisonError::into_inner).interrupt();
    }

    /// Runs a read; waits while another thread reads. Blocks on the disk, so async code must not call this.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Reader) -> Result<T>) -> Result<T> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if reader.refresh() {
            // The former handle belongs to the closed connection.
            *self.interrupt.lock().unwrap_or_else(PoisonError::into_inner) = reader.connection.get_interrupt_handle();
        }
        work(&reader)
    }
}
