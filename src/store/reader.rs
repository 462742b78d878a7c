//! A connection for reading. What it reads stands in `impl Reader` blocks beside the table or the view that is read.
//!
//! One reader belongs to one thread at a time. It must never write, so that showing something can't change it.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rusqlite::{Connection, InterruptHandle};

use super::{error::StoreError, file::connection};

/// A connection for reading.
pub struct Reader {
    connection: Connection,
}

impl Reader {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: connection::open_for_reading(path)? })
    }

    /// A reader of an existing store for a quick look, such as completion: a lock that is held for a fifth of a second makes it
    /// fail. It changes and repairs nothing in the file, though SQLite may leave an empty log beside it; a store of another
    /// schema can't be read.
    ///
    /// # Errors
    /// If there is no store, or it can't be opened.
    pub fn quick(path: &Path) -> Result<Self, StoreError> {
        let reader = Self::open(path)?;
        reader.connection.busy_timeout(Duration::from_millis(200))?;
        Ok(reader)
    }

    /// Does several reads in one snapshot of the store, whatever is written meanwhile.
    pub fn snapshot<T>(&self, read: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        connection::snapshot(&self.connection, read)
    }

    /// The connection, for the tables and queries of the store.
    pub(super) fn db(&self) -> &Connection {
        &self.connection
    }
}

/// A reader that several threads use in turn, and whose reads can be cancelled.
#[derive(Clone)]
pub struct SharedReader {
    reader: Arc<Mutex<Reader>>,
    interrupt: Arc<InterruptHandle>,
}

impl SharedReader {
    /// Shares a reader.
    pub fn new(reader: Reader) -> Self {
        Self { interrupt: Arc::new(reader.connection.get_interrupt_handle()), reader: Arc::new(Mutex::new(reader)) }
    }

    /// Cancels the read that runs now, if one does: it fails. Later reads aren't affected.
    pub fn cancel(&self) {
        self.interrupt.interrupt();
    }

    /// Reads; waits while another thread does. Blocks for the disk; not for async code.
    pub fn read<T>(&self, work: impl FnOnce(&Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        work(&self.reader.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
