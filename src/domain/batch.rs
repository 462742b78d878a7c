//! A batch of transfers to track, of any size.

use std::{io, ops::ControlFlow};

use super::transaction::NewTransaction;

/// The temporary file that holds a batch can't be written or read.
#[derive(Debug, thiserror::Error)]
#[error(
    "the temporary file for what is imported failed: {0}; make room for temporary files, or name another folder in TMPDIR"
)]
pub struct SpoolError(#[from] io::Error);

/// Rows of an import, of which no two are the same transaction. Reading them takes memory that doesn't grow with their number.
pub trait Batch: Send {
    /// How many rows there are at most: rows that a later one replaces count as well.
    fn rows(&self) -> u64;

    /// Hands out the rows in their order, until there are no more or `each` breaks.
    ///
    /// # Errors
    /// If the rows can't be read from where they are kept.
    fn for_each(&self, each: &mut dyn FnMut(NewTransaction) -> ControlFlow<()>) -> Result<(), SpoolError>;
}
