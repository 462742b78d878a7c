//! Kernel locks on files: one holder at a time. The kernel releases a lock when its holder drops it or dies.
//!
//! This module must never wait for a lock: a caller that can't have the lock gets that answer at once.

use std::{
    ffi::OsString,
    fs::{File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::files;

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct KernelLock {
    /// The kernel ties the lock to the open file.
    _file: File,
}

/// A file that processes share can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{} can't be used: {source}{}", path.display(), way_out(source))]
pub struct LockError {
    path: PathBuf,
    source: io::Error,
}

/// Returns the way out of a fault of the folder; other faults that hoptop finds name their own.
fn way_out(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::Other => "",
        _ => "; check its permissions, or choose another folder with --state-dir or --db",
    }
}

impl LockError {
    /// Creates the error of this file.
    pub fn new(path: &Path, source: io::Error) -> Self {
        Self { path: path.to_owned(), source }
    }

    /// Returns the error of the system, without the file's path.
    pub fn into_source(self) -> io::Error {
        self.source
    }
}

impl KernelLock {
    /// Returns the path of the lock file for a role among the users of `file`, for example to poll a profile of a
    /// store. The lock file lies beside `file` and is named after the role and `owner`.
    pub(crate) fn beside(file: &Path, role: &str, owner: &str) -> PathBuf {
        let mut name = OsString::from(file);
        name.push(format!(".{role}-"));
        for byte in owner.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => name.push(char::from(byte).to_string()),
                other => name.push(format!("_{other:02x}")),
            }
        }
        PathBuf::from(name)
    }

    /// Takes the lock on this file, and creates the file if it is missing. Returns `None` while another holds the lock.
    ///
    /// # Errors
    /// If the file can't be created or opened, or the file system has no locks.
    pub(crate) fn try_take(path: &Path) -> Result<Option<Self>, LockError> {
        let fault = |source| LockError::new(path, source);
        let file = open(path).map_err(fault)?;
        Ok(try_lock(&file).map_err(fault)?.then_some(Self { _file: file }))
    }

    /// Records that the holder of the lock on this file is at work. See [`KernelLock::last_heartbeat`].
    ///
    /// # Errors
    /// If the file can't be written.
    pub(crate) fn write_heartbeat(path: &Path) -> io::Result<()> {
        open(path)?.write_all(b".")
    }

    /// Returns when the holder of the lock on this file last wrote a heartbeat, on the file system's clock. Another
    /// value than before means that the holder is at work; `None` if the file is missing.
    pub(crate) fn last_heartbeat(path: &Path) -> Option<SystemTime> {
        path.metadata().and_then(|file| file.modified()).ok()
    }

    /// Returns whether a process holds the lock on this file. Nobody holds the lock on a missing file.
    ///
    /// # Errors
    /// If the file can't be opened, or the file system has no locks.
    pub(crate) fn is_held(path: &Path) -> io::Result<bool> {
        match File::open(path) {
            // A shared lock, so that two processes that check at the same time don't mistake each other for the holder.
            Ok(file) => Ok(!try_lock_shared(&file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Opens a private file for reading and writing. Creates the file and its folder if they are missing.
///
/// # Errors
/// If the file can't be created or opened, or is a symbolic link: hoptop's writes would land elsewhere.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    files::create_private_folder(files::folder_of(path))?;
    let mut options = files::private_options();
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    let opened = options.read(true).write(true).create(true).truncate(false).open(path);
    opened.map_err(
        |error| if path.is_symlink() { io::Error::other("it is a symbolic link; remove the link") } else { error },
    )
}

/// Locks an open file until it is unlocked or closed. Returns `false` while another holds the lock.
///
/// # Errors
/// If the file system has no locks.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    is_acquired(file.try_lock())
}

/// Like [`try_lock`], but shares the lock with others that share it.
pub(crate) fn try_lock_shared(file: &File) -> io::Result<bool> {
    is_acquired(file.try_lock_shared())
}

fn is_acquired(attempt: Result<(), TryLockError>) -> io::Result<bool> {
    match attempt {
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
    fn lock_has_one_holder_and_ends_with_its_holder() {
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
    fn each_role_of_each_profile_has_its_own_lock_file() {
        let beside = |role, owner| KernelLock::beside(Path::new("/tmp/a/hoptop.db"), role, owner);
        assert_eq!(beside("poller", "prod-1"), Path::new("/tmp/a/hoptop.db.poller-prod-1"));
        assert_eq!(beside("webhook", "../x y"), Path::new("/tmp/a/hoptop.db.webhook-_2e_2e_2fx_20y"));
    }

    #[test]
    fn symbolic_link_is_refused_and_its_target_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [target, link] = ["target", "link"].map(|name| folder.path().join(name));
        for create_target in [false, true] {
            if create_target {
                fs::write(&target, "theirs").unwrap();
            }
            fs::remove_file(&link).ok();
            std::os::unix::fs::symlink(&target, &link).unwrap();
            let error = KernelLock::try_take(&link).unwrap_err().to_string();
            assert!(error.contains("it is a symbolic link; remove the link"), "{error}");
            assert_eq!(target.exists(), create_target);
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "theirs");
    }

    #[test]
    fn error_names_the_path_and_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = KernelLock::try_take(&file.join("lock")).unwrap_err();
        assert!(error.to_string().contains("--state-dir"), "{error}");
    }
}
