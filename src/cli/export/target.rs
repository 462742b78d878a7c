//! What a name for the output leads to: a file to be put in place, or a device to be written into.
//!
//! It must never lead to the store, to what lies beside it for it, or to its backups.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// More links than that, one leading to the next, lead in a circle.
const MOST_LINKS: usize = 40;
/// What the names of a store's own files go on with.
const COMPANIONS: [&str; 6] = ["-wal", "-shm", "-journal", ".presence", ".poller-", ".damaged-"];
/// The folder beside a store that holds its backups.
const BACKUPS: &str = "backups";

/// What a name for the output leads to.
#[derive(Debug)]
pub enum Target {
    /// A file, there or not, and its folder.
    File { path: PathBuf, folder: PathBuf },
    /// Something that must not be replaced by a file: a terminal, a pipe, `/dev/null`.
    Device(PathBuf),
}

impl Target {
    /// Where the output goes, or why it can't go there. `store` is where the store is.
    pub fn of(file: &Path, store: &Path) -> Result<Self, &'static str> {
        // A link stays one; what it leads to is replaced, or made.
        let path = match fs::metadata(file) {
            Ok(about) if about.is_dir() => return Err("it is a folder; name a file in it"),
            Ok(about) if !about.is_file() => return Ok(Self::Device(file.to_owned())),
            Ok(_) => fs::canonicalize(file).unwrap_or_else(|_| file.to_owned()),
            Err(_) => followed(file).ok_or("its links lead in a circle; name a file")?,
        };
        if belongs_to(&path, store) || followed(store).is_some_and(|store| belongs_to(&path, &store)) {
            return Err("it belongs to the store; name another file");
        }
        Ok(Self::File { folder: folder_of(&path).to_owned(), path })
    }
}

/// What a name leads to over links, be it there or not. `None` if it leads nowhere, in a circle.
fn followed(file: &Path) -> Option<PathBuf> {
    let mut path = file.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = folder_of(&path).join(to),
            Err(_) => return Some(whole(&path).unwrap_or(path)),
        }
    }
    None
}

/// A path whose folder is named as the system names it.
fn whole(path: &Path) -> io::Result<PathBuf> {
    let folder = fs::canonicalize(folder_of(path))?;
    path.file_name().map_or_else(|| fs::canonicalize(path), |name| Ok(folder.join(name)))
}

/// Whether a file is the store, one that hoptop or SQLite keeps beside it, or in the folder of its backups.
fn belongs_to(path: &Path, store: &Path) -> bool {
    let Ok(store) = whole(store) else { return false };
    if path.starts_with(folder_of(&store).join(BACKUPS)) {
        return true;
    }
    let names = path.file_name().zip(store.file_name()).filter(|_| folder_of(path) == folder_of(&store));
    let Some((name, store)) = names else { return false };
    let rest = name.as_encoded_bytes().strip_prefix(store.as_encoded_bytes());
    rest.is_some_and(|rest| rest.is_empty() || COMPANIONS.iter().any(|ending| rest.starts_with(ending.as_bytes())))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
