//! Kernel locks on files: one holder at a time, who gives it up by letting go, or by dying.
//!
//! It must never wait: who can't have the lock is told so.

use std::{
    ffi::OsString,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use crate::private;

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct KernelLock {
    /// The lock is the open file's.
    _file: File,
}

/// A file of the budget can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{} can't be used: {source}; check its permissions or name another folder with --state-dir or --db", path.display())]
pub struct LockError {
    pub(super) path: PathBuf,
    pub(super) source: io::Error,
}

impl KernelLock {
    /// The file whose lock is a role that a file's users share, as to poll a profile of a store: beside it, named after the role
    /// and whose it is.
    pub fn beside(file: &Path, role: &str, whose: &str) -> PathBuf {
        let mut name = OsString::from(file);
        name.push(format!(".{role}-"));
        for byte in whose.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => name.push(char::from(byte).to_string()),
                other => name.push(format!("_{other:02x}")),
            }
        }
        PathBuf::from(name)
    }

    /// Takes the lock on this file, which is made if it isn't there; `None` if somebody else holds it.
    ///
    /// # Errors
    /// If the file can't be made or opened, or its file system has no locks.
    pub fn try_take(path: &Path) -> Result<Option<Self>, LockError> {
        let fault = |source| LockError { path: path.to_owned(), source };
        let file = open(path).map_err(fault)?;
        Ok(try_lock(&file).map_err(fault)?.then_some(Self { _file: file }))
    }

    /// Whether somebody holds the lock on this file; not if there is none.
    pub(super) fn is_held(path: &Path) -> io::Result<bool> {
        match File::open(path) {
            // Several may ask at once, so that they don't take each other for the holder.
            Ok(file) => match file.try_lock_shared() {
                Ok(()) => Ok(false),
                Err(TryLockError::WouldBlock) => Ok(true),
                Err(TryLockError::Error(error)) => Err(error),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Opens a file for reading and writing that is the user's alone.
pub(super) fn open(path: &Path) -> io::Result<File> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).map_or(Ok(()), private::make_folder)?;
    private::file_options().read(true).write(true).create(true).truncate(false).open(path)
}

/// Whether the lock could be had.
pub(super) fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn one_holds_it_at_a_time_and_it_goes_with_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inside/lock");
        let take = || KernelLock::try_take(&path).unwrap();
        assert!(!KernelLock::is_held(&path).unwrap());
        let first = take();
        assert!(first.is_some() && take().is_none() && KernelLock::is_held(&path).unwrap());
        drop(first);
        assert!(!KernelLock::is_held(&path).unwrap() && take().is_some());
    }

    #[test]
    fn each_role_of_each_profile_has_its_own_file_beside_the_store() {
        let beside = |role, whose| KernelLock::beside(Path::new("/tmp/a/hoptop.db"), role, whose);
        assert_eq!(beside("poller", "prod-1"), Path::new("/tmp/a/hoptop.db.poller-prod-1"));
        assert_eq!(beside("webhook", "../x y"), Path::new("/tmp/a/hoptop.db.webhook-_2e_2e_2fx_20y"));
    }

    #[test]
    fn a_folder_that_is_a_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = KernelLock::try_take(&file.join("lock")).unwrap_err();
        assert!(error.to_string().contains("--state-dir"), "{error}");
    }
}
