//! A batch of transfers to track, of any size.

use std::{io, ops::ControlFlow};

use super::transaction::NewTransaction;

/// The temporary file that holds a batch can't be written or read.
#[derive(Debug, thiserror::Error)]
#[error(
    "the temporary file for the import failed: {0}; free some space for temporary files, or set TMPDIR to another folder"
)]
pub struct SpoolError(#[from] io::Error);

/// The rows of an import, without duplicate transactions. Reading uses an amount of memory that doesn't depend on the
/// number of rows.
pub trait Batch: Send {
    /// Returns an upper bound of the number of rows: rows that a later row replaces are counted too.
    fn rows(&self) -> u64;

    /// Passes the rows to `each` in order, until there are no more or `each` breaks.
    ///
    /// # Errors
    /// If the rows can't be read from their storage.
    fn for_each(&self, each: &mut dyn FnMut(NewTransaction) -> ControlFlow<()>) -> Result<(), SpoolError>;
}

impl Batch for Vec<NewTransaction> {
    fn rows(&self) -> u64 {
        self.len() as u64
    }

    fn for_each(&self, each: &mut dyn FnMut(NewTransaction) -> ControlFlow<()>) -> Result<(), SpoolError> {
        for new in self.iter().cloned() {
            if each(new).is_break() {
                break;
            }
        }
        Ok(())
    }
}
