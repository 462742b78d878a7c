//! The import spool: where the rows of a file wait until the whole file was read, so that the store is touched only when every row
//! is known to be good.
//!
//! Rows go to a temporary file that no other process can see and that is gone with its handle. A thread of its own writes them,
//! beside the reading. Memory must not grow with the rows.

mod batch;
mod sorter;

use std::{
    io, mem,
    sync::mpsc::{self, Receiver, SyncSender},
    thread::{self, JoinHandle},
};

pub use self::batch::Duplicate;
use self::batch::SpooledBatch;
use crate::domain::{
    batch::{Batch, SpoolError},
    transaction::NewTransaction,
};

/// So many rows are handed over at a time: enough that it costs nothing, and few enough to take no room.
const ROWS: usize = 500;

/// Rows, each with its place in the file.
type Portion = Vec<(String, NewTransaction)>;

/// Takes the rows of a file, in their order.
pub struct ImportSpool {
    portion: Portion,
    portions: SyncSender<Portion>,
    /// `None` once it was joined.
    writer: Option<JoinHandle<Result<SpooledBatch, SpoolError>>>,
}

impl ImportSpool {
    /// An empty spool in the folder for temporary files.
    ///
    /// # Errors
    /// If the file can't be made, or there is no thread.
    pub fn new() -> Result<Self, SpoolError> {
        let batch = SpooledBatch::new()?;
        let (portions, inbox) = mpsc::sync_channel(2);
        let writer = thread::Builder::new().name("import-spool".into()).spawn(move || write(batch, &inbox))?;
        Ok(Self { portion: Vec::new(), portions, writer: Some(writer) })
    }

    /// Takes a row; `place` says in words where in its file it stands.
    ///
    /// # Errors
    /// If an earlier row could not be written.
    pub fn put(&mut self, place: String, new: NewTransaction) -> Result<(), SpoolError> {
        self.portion.push((place, new));
        if self.portion.len() < ROWS { Ok(()) } else { self.hand_over() }
    }

    /// After the last row: the batch, without rows that a later one replaces. `tell` hears of each of those, in the order of the
    /// file.
    ///
    /// # Errors
    /// If the rows can't be written or read again.
    pub fn finish(mut self, tell: &mut dyn FnMut(Duplicate)) -> Result<Box<dyn Batch>, SpoolError> {
        self.hand_over()?;
        let Self { portions, writer, .. } = self;
        drop(portions);
        let mut batch = join(writer)?;
        batch.drop_duplicates(tell)?;
        Ok(Box::new(batch))
    }

    fn hand_over(&mut self) -> Result<(), SpoolError> {
        let portion = mem::replace(&mut self.portion, Portion::with_capacity(ROWS));
        // The writer takes no more: it failed, and says why.
        self.portions.send(portion).or_else(|_| join(self.writer.take()).map(drop))
    }
}

/// Writes portions until there are no more, or there is no room.
fn write(mut batch: SpooledBatch, inbox: &Receiver<Portion>) -> Result<SpooledBatch, SpoolError> {
    for portion in inbox {
        for (place, new) in portion {
            batch.put(&place, &new)?;
        }
    }
    Ok(batch)
}

fn join(writer: Option<JoinHandle<Result<SpooledBatch, SpoolError>>>) -> Result<SpooledBatch, SpoolError> {
    let ended = writer.and_then(|writer| writer.join().ok());
    ended.unwrap_or_else(|| Err(io::Error::other("its writer has ended").into()))
}
