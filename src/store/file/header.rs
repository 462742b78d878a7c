//! The header of a store's file, read without SQLite (<https://www.sqlite.org/fileformat.html>, 1.3).
//!
//! This module must never be used on a file that this process has open: closing the file would drop SQLite's locks.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// The offset of the format of writes, and its value for a file with a write-ahead log.
const WRITE_FORMAT: (usize, u8) = (18, 2);
/// The offsets of `PRAGMA user_version` and `PRAGMA application_id`.
const USER_VERSION: usize = 60;
const APPLICATION_ID: usize = 68;

/// What the header says of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHeader {
    /// Whether the file is written with a write-ahead log. A backup isn't.
    pub(super) has_log: bool,
    pub(super) schema: i64,
    /// The number that says which program the file belongs to.
    pub(super) application_id: i64,
}

impl FileHeader {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// If the file can't be read, or is too short to have a header.
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = [0; APPLICATION_ID + 4];
        File::open(path)?.read_exact(&mut bytes)?;
        let number = |offset: usize| {
            let bytes = bytes.get(offset..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
            i64::from(u32::from_be_bytes(bytes))
        };
        let (offset, with_log) = WRITE_FORMAT;
        Ok(Self {
            has_log: bytes.get(offset) == Some(&with_log),
            schema: number(USER_VERSION),
            application_id: number(APPLICATION_ID),
        })
    }
}
