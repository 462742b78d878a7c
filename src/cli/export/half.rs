//! The file of an export while it is written: beside what it will be, private, and gone if it is never done.
//!
//! Who is killed leaves it behind; the next export into that folder takes it away. It must never take away one that is being
//! written.

use std::{
    fs::{self, DirEntry, File},
    io,
    path::Path,
};

use chrono::{DateTime, TimeDelta, Utc};
use tempfile::NamedTempFile;

const PREFIX: &str = ".hoptop-export-";
/// One that is younger may have been made a moment ago, and not be locked yet.
const YOUNG: TimeDelta = TimeDelta::minutes(1);

/// Makes one in the folder.
pub(super) fn make(folder: &Path, now: DateTime<Utc>) -> io::Result<NamedTempFile> {
    sweep(folder, now);
    let half = tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)?;
    // Where there are no locks there is no sweeping either.
    half.as_file().try_lock().ok();
    Ok(half)
}

/// Takes away what nobody writes any more. What can't be taken away stays.
fn sweep(folder: &Path, now: DateTime<Utc>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        if is_abandoned(&entry, now).unwrap_or_default() {
            fs::remove_file(entry.path()).ok();
        }
    }
}

fn is_abandoned(entry: &DirEntry, now: DateTime<Utc>) -> io::Result<bool> {
    let about = entry.metadata()?;
    let is_old = now - DateTime::<Utc>::from(about.modified()?) >= YOUNG;
    Ok(is_old && about.is_file() && File::open(entry.path())?.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_writes_any_more_is_taken_away_and_nothing_else() {
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
        let written = make(folder.path(), now).unwrap();
        written.as_file().set_modified((now - TimeDelta::hours(1)).into()).unwrap();
        let other = make(folder.path(), now).unwrap();
        let left = |name: &str| folder.path().join(name).exists();
        assert!(!left(".hoptop-export-killed"));
        assert!(left(".hoptop-export-young") && left("hoptop-export-mine"));
        assert!(written.path().exists() && other.path().exists());
    }
}
