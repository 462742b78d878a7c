//! The file of an export while it is written: a private file in the target's folder, removed if the export fails.
//!
//! A killed process leaves its file behind; the next export to the folder removes it. The module must never remove a
//! file that is still being written.

use std::{
    fs::{self, DirEntry, File},
    io::{self, BufWriter, Write},
    path::Path,
};

use chrono::{DateTime, TimeDelta, Utc};
use color_eyre::eyre::{Result, eyre};
use tempfile::NamedTempFile;

/// The beginning of the names of partial files.
const PREFIX: &str = ".hoptop-export-";
/// The minimum age of a file to remove. A younger file may not be locked yet.
const MIN_AGE: TimeDelta = TimeDelta::minutes(1);

/// Lets `write` write a partial file in the folder. Returns the file, which is then on the disk, and the number of
/// written transactions.
pub(super) fn write(
    folder: &Path,
    now: DateTime<Utc>,
    write: impl FnOnce(&mut dyn Write) -> Result<usize>,
) -> Result<(NamedTempFile, usize)> {
    let partial = create(folder, now).map_err(|error| error_reason(&error))?;
    let count = write_buffered(partial.as_file(), write)?;
    partial.as_file().sync_all()?;
    Ok((partial, count))
}

/// Lets `write` write to a file through a buffer.
pub(super) fn write_buffered(file: &File, write: impl FnOnce(&mut dyn Write) -> Result<usize>) -> Result<usize> {
    let mut out = BufWriter::new(file);
    let count = write(&mut out)?;
    out.flush()?;
    Ok(count)
}

/// Returns the reason why a file can't be created, and the way out.
pub(super) fn error_reason(error: &io::Error) -> color_eyre::Report {
    match error.kind() {
        io::ErrorKind::NotFound => eyre!("there is no such folder; create it or choose another name"),
        io::ErrorKind::PermissionDenied => eyre!("permission to write to its folder is denied; choose another name"),
        _ => eyre!("{error}"),
    }
}

/// Creates a partial file in the folder, after removing abandoned ones.
fn create(folder: &Path, now: DateTime<Utc>) -> io::Result<NamedTempFile> {
    remove_abandoned(folder, now);
    let file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)?;
    // On a file system without locks, abandoned files aren't removed either.
    file.as_file().try_lock().ok();
    Ok(file)
}

/// Removes the partial files that no process writes any more. A file that can't be removed stays.
fn remove_abandoned(folder: &Path, now: DateTime<Utc>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        if is_abandoned(&entry, now).unwrap_or_default() {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// Whether a partial file is old and no process holds its lock.
fn is_abandoned(entry: &DirEntry, now: DateTime<Utc>) -> io::Result<bool> {
    let metadata = entry.metadata()?;
    let is_old = now - DateTime::<Utc>::from(metadata.modified()?) >= MIN_AGE;
    Ok(is_old && metadata.is_file() && File::open(entry.path())?.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_abandoned_partial_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
        let file = |name: &str, age: TimeDelta| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified((now - age).into()).unwrap();
            file
        };
        for (name, age) in [(".hoptop-export-killed", 61), (".hoptop-export-young", 59), ("hoptop-export-mine", 900)] {
            file(name, TimeDelta::seconds(age));
        }
        let written = create(folder.path(), now).unwrap();
        written.as_file().set_modified((now - TimeDelta::hours(1)).into()).unwrap();
        let other = create(folder.path(), now).unwrap();
        let exists = |name: &str| folder.path().join(name).exists();
        assert!(!exists(".hoptop-export-killed"));
        assert!(exists(".hoptop-export-young") && exists("hoptop-export-mine"));
        assert!(written.path().exists() && other.path().exists());
    }
}
