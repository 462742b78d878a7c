//! The import spool: holds the rows of a file until the whole file is read. The store is changed only if every row is
//! valid.
//!
//! Rows are kept in a temporary file that no other process can see and that disappears with its handle. A separate
//! thread writes them while the input is read. Memory must hold no more of a row than a few numbers.

mod batch;

use std::{
    io, mem,
    sync::mpsc::{self, Receiver, SyncSender},
    thread::{self, JoinHandle},
};

pub(crate) use self::batch::Duplicate;
use self::batch::SpooledBatch;
use crate::domain::{
    batch::{Batch, SpoolError},
    transaction::NewTransaction,
};

/// The rows sent to the writer at a time: enough that sending costs nothing, and few enough to need little memory.
const CHUNK_ROWS: usize = 500;

/// Rows, each with its position in the file, in words.
type PositionedRows = Vec<(String, NewTransaction)>;

/// A spool that receives the rows of one file in order.
pub(crate) struct ImportSpool {
    chunk: PositionedRows,
    chunks: SyncSender<PositionedRows>,
    /// The writing thread; `None` after it was joined.
    writer: Option<JoinHandle<Result<SpooledBatch, SpoolError>>>,
}

impl ImportSpool {
    /// Creates an empty spool in the folder for temporary files.
    ///
    /// # Errors
    /// If the file can't be created or the thread can't be started.
    pub(crate) fn new() -> Result<Self, SpoolError> {
        let batch = SpooledBatch::new()?;
        let (chunks, receiver) = mpsc::sync_channel(2);
        let writer =
            thread::Builder::new().name("import-spool".into()).spawn(move || write_chunks(batch, &receiver))?;
        Ok(Self { chunk: Vec::new(), chunks, writer: Some(writer) })
    }

    /// Adds a row; `position` is the row's position in its file, in words.
    ///
    /// # Errors
    /// If an earlier row couldn't be written.
    pub(crate) fn put(&mut self, position: String, new: NewTransaction) -> Result<(), SpoolError> {
        self.chunk.push((position, new));
        if self.chunk.len() < CHUNK_ROWS { Ok(()) } else { self.send_chunk() }
    }

    /// Returns the batch without the rows that a later row replaces, and passes each such pair to `report`, in the
    /// order of the file. Must be called after the last row.
    ///
    /// # Errors
    /// If the rows can't be written or read again.
    pub(crate) fn finish(mut self, report: &mut dyn FnMut(Duplicate)) -> Result<Box<dyn Batch>, SpoolError> {
        self.send_chunk()?;
        let Self { chunks, writer, .. } = self;
        drop(chunks);
        let mut batch = join_writer(writer)?;
        batch.drop_duplicates(report)?;
        Ok(Box::new(batch))
    }

    fn send_chunk(&mut self) -> Result<(), SpoolError> {
        let chunk = mem::replace(&mut self.chunk, PositionedRows::with_capacity(CHUNK_ROWS));
        // The channel is closed because the writer failed; joining the writer returns its error.
        self.chunks.send(chunk).or_else(|_| join_writer(self.writer.take()).map(drop))
    }
}

/// Writes chunks until the channel is closed or writing fails.
fn write_chunks(mut batch: SpooledBatch, receiver: &Receiver<PositionedRows>) -> Result<SpooledBatch, SpoolError> {
    for chunk in receiver {
        for (position, new) in chunk {
            batch.put(&position, &new)?;
        }
    }
    Ok(batch)
}

fn join_writer(writer: Option<JoinHandle<Result<SpooledBatch, SpoolError>>>) -> Result<SpooledBatch, SpoolError> {
    let ended = writer.and_then(|writer| writer.join().ok());
    ended.unwrap_or_else(|| Err(io::Error::other("the writer thread has stopped").into()))
}
