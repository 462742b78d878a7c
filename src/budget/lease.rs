//! The lease on an ID's budget: one process of the machine spends it at a time, whatever store it uses.
//!
//! A kernel lock on a small file, named by a fingerprint of base URL and ID, that a killed process gives up by dying. The
//! file's content is a hint to the next holder, in Unix milliseconds; one that can't be read counts as none.

use std::{
    fs::{File, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};

use crate::private;

/// The right to spend the budget, until it is dropped.
#[derive(Debug)]
pub struct Lease {
    locked: File,
}

/// The lease's file can't be used.
#[derive(Debug, thiserror::Error)]
#[error("the budget file {} can't be used: {source}; check its permissions or name another folder with --state-dir", path.display())]
pub struct LeaseError {
    path: PathBuf,
    source: io::Error,
}

impl Lease {
    /// Takes the lease of this fingerprint in `folder`, or returns `None` if another process holds it. Whoever gets it
    /// must wait a window before the first request: the one before may just have sent its last.
    pub fn try_take(folder: &Path, fingerprint: &str) -> Result<Option<Self>, LeaseError> {
        let path = folder.join(format!("budget-{fingerprint}.lock"));
        Self::lock(&path).map_err(|source| LeaseError { path, source })
    }

    /// Before which moment the last holder wanted nothing to be sent: requests whose arrival it doesn't know, a rest that the
    /// service asked for. `None` if it said nothing, as one that was killed.
    pub fn not_before(&self) -> Option<DateTime<Utc>> {
        let mut text = String::new();
        let mut file = &self.locked;
        file.rewind().and_then(|()| file.take(32).read_to_string(&mut text)).ok()?;
        DateTime::from_timestamp_millis(text.trim().parse().ok()?)
    }

    /// Tells the next holder to send nothing before `moment`.
    pub fn leave_word(&self, moment: DateTime<Utc>) -> io::Result<()> {
        let mut file = &self.locked;
        file.rewind()?;
        file.set_len(0)?;
        file.write_all(moment.timestamp_millis().to_string().as_bytes())
    }

    fn lock(path: &Path) -> io::Result<Option<Self>> {
        path.parent().map_or(Ok(()), private::make_folder)?;
        let file = private::file_options().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { locked: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_last_holder_s_word_reaches_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let take = || Lease::try_take(folder.path(), "aa").unwrap().unwrap();
        assert_eq!(take().not_before(), None);
        let moment = DateTime::from_timestamp_millis(1_700_000_000_123).unwrap();
        take().leave_word(DateTime::<Utc>::MAX_UTC).unwrap();
        take().leave_word(moment).unwrap();
        assert_eq!(take().not_before(), Some(moment));
        fs::write(folder.path().join("budget-aa.lock"), b"\xff garbage").unwrap();
        assert_eq!(take().not_before(), None);
    }

    #[test]
    fn one_holds_it_at_a_time_and_it_goes_with_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("state");
        let first = Lease::try_take(&inside, "aa").unwrap();
        assert!(first.is_some());
        assert!(Lease::try_take(&inside, "aa").unwrap().is_none());
        assert!(Lease::try_take(&inside, "bb").unwrap().is_some());
        drop(first);
        assert!(Lease::try_take(&inside, "aa").unwrap().is_some());
    }

    #[test]
    fn a_folder_that_is_a_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Lease::try_take(&file, "aa").unwrap_err();
        assert!(error.to_string().contains("--state-dir"), "{error}");
    }
}
