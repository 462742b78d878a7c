//! A batch of transfers to track, of any size.

use std::io;

use super::transaction::NewTransaction;

/// The temporary file that holds a batch can't be written or read.
#[derive(Debug, thiserror::Error)]
#[error(
    "the temporary file for the import failed: {0}; free some space for temporary files, or set TMPDIR to another folder"
)]
pub struct SpoolError(#[from] io::Error);

/// The transactions of a batch, in order.
pub(crate) type BatchRows<'a> = Box<dyn Iterator<Item = Result<NewTransaction, SpoolError>> + 'a>;

/// The rows of an import, without duplicate transactions. Reading uses an amount of memory that doesn't depend on the
/// number of rows.
pub trait Batch: Send {
    /// Returns an upper bound of the number of rows: rows that a later row replaces are counted too.
    fn rows(&self) -> u64;

    /// Returns the rows in order. After an error nothing more may be read.
    ///
    /// # Errors
    /// If the storage can't be read.
    fn transactions(&self) -> Result<BatchRows<'_>, SpoolError>;
}

impl Batch for Vec<NewTransaction> {
    fn rows(&self) -> u64 {
        self.len() as u64
    }

    fn transactions(&self) -> Result<BatchRows<'_>, SpoolError> {
        Ok(Box::new(self.iter().cloned().map(Ok)))
    }
}
