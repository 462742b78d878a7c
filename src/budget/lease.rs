//! The lease on an ID's budget: one process of the machine spends it at a time, whatever store it uses.
//!
//! A kernel lock on a small file, named by a fingerprint of base URL and ID, that a killed process gives up by dying. The
//! file's content means nothing, so that it can't be corrupt.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// The right to spend the budget, until it is dropped.
#[derive(Debug)]
pub struct Lease {
    _locked: File,
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

    fn lock(path: &Path) -> io::Result<Option<Self>> {
        if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(folder)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _locked: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
