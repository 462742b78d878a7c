//! The header of a store's file, read without SQLite (<https://www.sqlite.org/fileformat.html>, 1.3).
//!
//! This module must never be used on a file that this process has open: closing the file would drop SQLite's locks.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// The offset of SQLite's file format write version, and its value in WAL mode.
const WRITE_VERSION: (usize, u8) = (18, 2);
/// The offsets of `PRAGMA user_version` and `PRAGMA application_id`.
const USER_VERSION: usize = 60;
const APPLICATION_ID: usize = 68;

/// The fields of a header that hoptop uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHeader {
    /// Whether the file is in WAL mode. A backup isn't.
    pub(super) is_wal_mode: bool,
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
        let (offset, wal_mode) = WRITE_VERSION;
        Ok(Self {
            is_wal_mode: bytes.get(offset) == Some(&wal_mode),
            schema: number(USER_VERSION),
            application_id: number(APPLICATION_ID),
        })
    }
}
