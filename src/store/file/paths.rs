//! The paths of the files that belong to a store, and how the files are created.
//!
//! This module must never open the live file by ordinary I/O: closing the file would drop SQLite's locks.

use std::{
    ffi::OsString,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use crate::process::files;

/// The name of the folder of a store's backups, beside the store.
pub(crate) const BACKUP_FOLDER: &str = "backups";
/// The endings of the files that SQLite keeps beside a store: the log, and the index of the log.
pub(crate) const COMPANIONS: [&str; 2] = ["-wal", "-shm"];
/// The format of moments in file names: in UTC, and in the order of time.
pub(crate) const TIMESTAMP_FORMAT: &str = "%Y%m%dT%H%M%SZ";

/// Returns the sizes in bytes of a store's file and of its write-ahead log.
pub(crate) fn file_sizes(store: &Path) -> (u64, u64) {
    (store.metadata().map_or(0, |file| file.len()), wal_size(store))
}

/// Returns the size of the store's log in bytes; 0 if there is none.
pub(crate) fn wal_size(store: &Path) -> u64 {
    companion(store, "-wal").metadata().map_or(0, |log| log.len())
}

/// Returns the path of a file that belongs to the store: the store's path with an ending.
pub(crate) fn companion(store: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(store);
    name.push(ending);
    PathBuf::from(name)
}

/// Returns the path of the store's open marker.
pub(crate) fn marker(store: &Path) -> PathBuf {
    companion(store, ".presence")
}

/// Creates the folder (0700) and an empty file (0600) if they don't exist.
pub(crate) fn create_private_file(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    files::create_private_folder(files::folder_of(path))?;
    match files::private_options().write(true).create_new(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Syncs the folder of a file, so that the file's name is on the disk.
pub(crate) fn sync_folder(of: &Path) -> io::Result<()> {
    File::open(files::folder_of(of))?.sync_all()
}

/// Whether a file is a store's backup, by its name and its folder.
pub(crate) fn is_backup(path: &Path) -> bool {
    let is_in_backup_folder =
        path.ancestors().skip(1).any(|folder| folder.file_name().is_some_and(|name| name == BACKUP_FOLDER));
    is_in_backup_folder && path.extension().is_some_and(|ending| ending == "backup")
}
