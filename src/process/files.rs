//! Private files and folders: mode 0600 and 0700 where the system has modes (`cases.md` 57).
//!
//! Only the creation of files and folders, and who may use them, belong here. This module must never know what a file contains.

use std::{
    fs::{DirBuilder, Metadata, OpenOptions},
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

/// Whether other users of this machine can read a file.
pub(crate) fn others_can_read(file: &Metadata) -> bool {
    has_mode(file, 0o044)
}

/// Whether other users of this machine can change a file. A group of its owner alone, as many systems make one for each user,
/// doesn't count.
pub(crate) fn others_can_write(file: &Metadata) -> bool {
    #[cfg(unix)]
    let is_of_own_group = std::os::unix::fs::MetadataExt::gid(file) == rustix::process::getegid().as_raw();
    #[cfg(not(unix))]
    let is_of_own_group = true;
    has_mode(file, if is_of_own_group { 0o002 } else { 0o022 })
}

/// Whether the permissions of a file have one of these bits; `false` where the system has no such permissions.
fn has_mode(file: &Metadata, bits: u32) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & bits != 0;
    #[cfg(not(unix))]
    {
        let _ = (file, bits);
        false
    }
}

/// Whether an error says that this process or this machine has too many open files.
pub(crate) fn is_descriptor_shortage(error: &io::Error) -> bool {
    #[cfg(unix)]
    return [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE]
        .iter()
        .any(|shortage| error.raw_os_error() == Some(shortage.raw_os_error()));
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// Whether fewer than `count` more files can be opened now.
pub(crate) fn lacks_descriptors(count: usize) -> bool {
    let opened: io::Result<Vec<_>> = (0..count).map(|_| std::fs::File::open("/dev/null")).collect();
    opened.is_err_and(|error| is_descriptor_shortage(&error))
}
