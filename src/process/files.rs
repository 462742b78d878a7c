//! Private files and folders: mode 0600 and 0700 where the system has modes (`cases.md` 57).
//!
//! Only the creation of files and folders belongs here. This module must never know what a file contains.

use std::{
    fs::{DirBuilder, OpenOptions},
    io,
    path::Path,
};

/// Creates a private folder and its missing parents. A folder that exists stays as it is.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    if folder.exists() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Returns options for opening a file. A file that is created with these options is private.
pub(crate) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
