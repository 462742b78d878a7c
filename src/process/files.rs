//! Private files and folders: mode 0600 and 0700 where the system has modes (`cases.md` 57).
//!
//! Only paths and the creation of files and folders and their permissions belong here. This module must never know the
//! content of a file.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions},
    io,
    path::{Path, PathBuf},
};

/// Creates a private folder and its missing parents. A folder that exists stays as it is.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    if folder.exists() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Returns the folder of a file; `.` for a bare name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether the path leads to this open file. If not, the file was deleted or renamed.
///
/// # Errors
/// If the path can't be read, except that nothing is there.
pub(crate) fn is_at_path(file: &File, path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(is_same_file(&metadata, &file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether both are the same file.
pub(crate) fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Returns an error if another user can change the content of the folder. Files in such a folder prove nothing, and a
/// link could make hoptop write elsewhere.
///
/// # Errors
/// If the folder belongs to another user, or others can write to it, or its metadata can't be read.
pub(crate) fn refuse_shared_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = folder.metadata()?;
    let process = OwnerIds { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() };
    match shared_by(metadata.mode(), OwnerIds { user: metadata.uid(), group: metadata.gid() }, process) {
        Some(reason) => Err(io::Error::new(io::ErrorKind::PermissionDenied, reason)),
        None => Ok(()),
    }
}

/// The user and the group of a process or a folder.
#[derive(Clone, Copy, Debug)]
struct OwnerIds {
    user: u32,
    group: u32,
}

/// Returns why other users can change the content of a folder of this mode and owner; `None` if they can't. A sticky
/// folder such as /tmp is shared too, since others can create files there first. Root may use a folder of any user: in
/// a container the owner of a volume is often another one. A folder that the own group can write is private where each
/// user has a group of that name.
fn shared_by(mode: u32, folder: OwnerIds, process: OwnerIds) -> Option<String> {
    const ROOT: u32 = 0;
    const WRITABLE_BY_GROUP: u32 = 0o020;
    const WRITABLE_BY_OTHERS: u32 = 0o002;
    if mode & WRITABLE_BY_OTHERS != 0 {
        return Some(
            "all users can write to it; choose a folder of your own, or remove this right (chmod o-w)".to_owned(),
        );
    }
    if folder.user != process.user && process.user != ROOT {
        return Some(format!("it belongs to another user (ID {})", folder.user));
    }
    let is_shared = mode & WRITABLE_BY_GROUP != 0 && folder.group != process.group && process.user != ROOT;
    is_shared.then(|| format!("the group {} can write to it; remove this right (chmod g-w)", folder.group))
}

/// Returns options for opening a file. A file that is created with these options is private.
pub(crate) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Returns the path of a typed name. As in a shell, `~/` stands for the home folder.
pub(crate) fn expand_home(path: &str) -> PathBuf {
    let home = path.strip_prefix("~/").zip(std::env::home_dir());
    home.map_or_else(|| PathBuf::from(path), |(rest, home)| home.join(rest))
}

/// Whether other users of this machine can read, change or run a file.
pub(crate) fn others_can_use(file: &Metadata) -> bool {
    has_mode(file, 0o077)
}

/// Whether other users of this machine can read a file.
pub(crate) fn others_can_read(file: &Metadata) -> bool {
    has_mode(file, 0o044)
}

/// Whether other users of this machine can change a file. A group of its owner alone, as many systems make one for each
/// user, doesn't count.
pub(crate) fn others_can_write(file: &Metadata) -> bool {
    let is_of_own_group = std::os::unix::fs::MetadataExt::gid(file) == rustix::process::getegid().as_raw();
    has_mode(file, if is_of_own_group { 0o002 } else { 0o022 })
}

/// Whether the permissions of a file have one of these bits.
fn has_mode(file: &Metadata, bits: u32) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & bits != 0
}

/// Whether an error says that this process or this machine has too many open files.
pub(crate) fn is_descriptor_shortage(error: &io::Error) -> bool {
    let shortages = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
    shortages.iter().any(|shortage| error.raw_os_error() == Some(shortage.raw_os_error()))
}

/// Whether fewer than `count` more files can be opened now.
pub(crate) fn lacks_descriptors(count: usize) -> bool {
    let opened: io::Result<Vec<_>> = (0..count).map(|_| File::open("/dev/null")).collect();
    opened.is_err_and(|error| is_descriptor_shortage(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_that_another_user_can_change_is_refused() {
        let (own, root) = (OwnerIds { user: 1000, group: 1000 }, OwnerIds { user: 0, group: 0 });
        let other = OwnerIds { user: 1001, group: 100 };
        let table = [
            (0o700, own, own, None),
            (0o755, own, own, None),
            (0o775, own, own, None),
            (0o770, OwnerIds { group: 100, ..own }, own, Some("the group 100")),
            (0o777, own, own, Some("all users")),
            (0o1777, root, own, Some("all users")),
            (0o1777, root, root, Some("all users")),
            (0o700, other, own, Some("another user (ID 1001)")),
            (0o755, root, own, Some("another user (ID 0)")),
            (0o700, other, root, None),
            (0o775, other, root, None),
        ];
        for (mode, folder, process, part) in table {
            let reason = shared_by(mode, folder, process);
            let is_expected = match part {
                Some(part) => reason.as_ref().is_some_and(|reason| reason.contains(part)),
                None => reason.is_none(),
            };
            assert!(is_expected, "{mode:o} {folder:?} {process:?}: {reason:?}");
        }
    }
}
