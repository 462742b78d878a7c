//! Resolves the name of an output: a file to create or replace, or a device to write to.
//!
//! The output must never be the store or one of the store's companion files, nor replace a daily backup with something
//! else.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{process::files::folder_of, store::BACKUP_FOLDER};

/// The maximum length of a chain of symbolic links. A longer chain counts as a loop.
const MAX_LINKS: usize = 40;
/// What the names of the store's companion files begin with, after the store's name.
const COMPANIONS: [&str; 15] = [
    "-wal",
    "-shm",
    "-journal",
    ".presence",
    ".poller-",
    ".on_alert-",
    ".webhook-",
    ".log-",
    ".lease-",
    ".damaged-",
    ".lost-",
    ".without-log-",
    ".mending",
    ".before-restore-",
    ".restoring-",
];
const BELONGS: &str = "it belongs to the store; choose another name";

/// A resolved output.
#[derive(Debug)]
pub(crate) enum OutputTarget {
    /// A file, existing or not, and its folder.
    File { path: PathBuf, folder: PathBuf },
    /// A device that must not be replaced by a file: a terminal, a pipe, `/dev/null`.
    Device(PathBuf),
}

impl OutputTarget {
    /// Resolves `file`, or returns the reason why it can't be written. `store` is the path of the store.
    pub(crate) fn of(file: &Path, store: &Path) -> Result<Self, &'static str> {
        match Self::of_backup(file, store)? {
            Self::File { path, .. } if applies_to_store(&path, store, is_in_backups) => Err(BELONGS),
            target => Ok(target),
        }
    }

    /// Like [`Self::of`], but a file in the folder of the daily backups is allowed.
    pub(crate) fn of_backup(file: &Path, store: &Path) -> Result<Self, &'static str> {
        // A symbolic link is kept: its target is replaced or created.
        let path = match fs::metadata(file) {
            Ok(about) if about.is_dir() => return Err("it is a folder; choose a file in that folder"),
            Ok(about) if !about.is_file() => return Ok(Self::Device(file.to_owned())),
            Ok(_) => fs::canonicalize(file).unwrap_or_else(|_| file.to_owned()),
            Err(_) => follow_links(file).ok_or("its symbolic links form a loop; choose another name")?,
        };
        if applies_to_store(&path, store, is_companion) {
            return Err(BELONGS);
        }
        Ok(Self::File { folder: folder_of(&path).to_owned(), path })
    }
}

/// Returns the path at the end of a chain of symbolic links, existing or not. Returns `None` for a loop.
fn follow_links(file: &Path) -> Option<PathBuf> {
    let mut path = file.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = folder_of(&path).join(to),
            Err(_) => return Some(with_canonical_folder(&path).unwrap_or(path)),
        }
    }
    None
}

fn with_canonical_folder(path: &Path) -> io::Result<PathBuf> {
    let folder = fs::canonicalize(folder_of(path))?;
    path.file_name().map_or_else(|| fs::canonicalize(path), |name| Ok(folder.join(name)))
}

/// Whether a rule about a file and the store applies, by the store's name or by the name that it links to.
fn applies_to_store(path: &Path, store: &Path, rule: fn(&Path, &Path) -> bool) -> bool {
    let names = [Some(store.to_owned()), follow_links(store)];
    names.into_iter().flatten().filter_map(|store| with_canonical_folder(&store).ok()).any(|store| rule(path, &store))
}

fn is_in_backups(path: &Path, store: &Path) -> bool {
    let folder = folder_of(store).join(BACKUP_FOLDER);
    // The folder may be a link, also to a folder with other files. Its backups are directly in it.
    path.starts_with(&folder) || fs::canonicalize(folder).is_ok_and(|linked| folder_of(path) == linked)
}

/// Whether a file is the store or one of its companion files, of hoptop or SQLite.
fn is_companion(path: &Path, store: &Path) -> bool {
    let names = path.file_name().zip(store.file_name()).filter(|_| folder_of(path) == folder_of(store));
    let Some((name, store)) = names else { return false };
    let rest = name.as_encoded_bytes().strip_prefix(store.as_encoded_bytes());
    rest.is_some_and(|rest| rest.is_empty() || COMPANIONS.iter().any(|ending| rest.starts_with(ending.as_bytes())))
}
