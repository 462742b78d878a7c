//! The names of the files that belong to a store, and how they are made.
//!
//! It must never open the live file by ordinary I/O: closing it would drop SQLite's locks.

use std::{
    ffi::OsString,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use crate::process::files;

/// The folder of a store's backups, beside the store.
pub(in crate::store) const BACKUPS: &str = "backups";
/// How moments stand in names: in UTC, and in the order of time.
pub(in crate::store) const STAMP: &str = "%Y%m%dT%H%M%SZ";

/// The bytes of the store's log.
pub(in crate::store) fn log_size(store: &Path) -> u64 {
    companion(store, "-wal").metadata().map_or(0, |log| log.len())
}

/// A file that belongs to the store, named after it.
pub(in crate::store) fn companion(store: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(store);
    name.push(ending);
    PathBuf::from(name)
}

/// Makes the folder (0700) and an empty file (0600) where there is none.
pub(in crate::store) fn make_private(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        files::create_private_folder(folder)?;
    }
    match files::private_options().write(true).create_new(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Makes sure that a file's name is on the disk.
pub(in crate::store) fn sync_folder(of: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder_of(of))?.sync_all() } else { Ok(()) }
}

/// The folder that a file lies in.
pub(in crate::store) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether a file is one of a store's backups, by its name and where it lies.
pub(in crate::store) fn is_backup(path: &Path) -> bool {
    let lies_with_them = path.ancestors().skip(1).any(|folder| folder.file_name().is_some_and(|name| name == BACKUPS));
    lies_with_them && path.extension().is_some_and(|ending| ending == "backup")
}
