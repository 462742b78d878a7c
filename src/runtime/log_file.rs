//! The log file in the state folder. Its entries can hold whole response bodies, so it is rotated at a maximum size.
//!
//! A failed write must never stop the program: the entry is lost, for example when the disk is full.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Mutex,
};

use color_eyre::eyre::{Result, WrapErr};
use sha2::{Digest, Sha256};
use tracing_subscriber::fmt::{format::Writer, time::FormatTime};

use crate::{
    clock::Clock,
    domain::{span, text},
    process::{files, lock},
    tui::run::LogSource,
};

/// The size above which the log is rotated. One earlier file is kept.
const MAX_BYTES: u64 = 4 << 20;

/// Starts to write the log into the state folder, with the times of `clock` and the tag of the store in this file.
pub(crate) fn start(state_dir: &Path, store: &Path, clock: Clock) -> Result<LogSource> {
    let path = state_dir.join("hoptop.log");
    let log =
        files::create_private_folder(state_dir).and_then(|()| RotatingLog::open(path.clone())).wrap_err_with(|| {
            let path = path.display();
            format!("the log {path} can't be written; check its permissions or choose another folder with --state-dir")
        })?;
    let store = store_tag(store);
    let prefix = EntryPrefix { clock, store: store.clone() };
    let format = tracing_subscriber::fmt().with_timer(prefix).with_ansi(false).with_target(false);
    format.with_writer(Mutex::new(log)).init();
    Ok(LogSource { path, store })
}

/// Returns the tag that distinguishes the entries of a store from those of other stores in the same folder.
fn store_tag(store: &Path) -> String {
    let path = std::path::absolute(store).unwrap_or_else(|_| store.to_owned());
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    text::hex(&digest).chars().take(8).collect()
}

/// The beginning of each log entry: the time from a clock, and the tag of the store.
struct EntryPrefix {
    clock: Clock,
    store: String,
}

impl FormatTime for EntryPrefix {
    fn format_time(&self, out: &mut Writer<'_>) -> fmt::Result {
        write!(out, "{} store={}", span::rfc3339(self.clock.now().wall), self.store)
    }
}

/// A log file that is rotated when it is too long. Several processes may write to the same file.
struct RotatingLog {
    path: PathBuf,
    file: File,
}

impl RotatingLog {
    fn open(path: PathBuf) -> io::Result<Self> {
        let file = files::private_options().append(true).create(true).open(&path)?;
        Ok(Self { path, file })
    }

    /// Renames the log file if it is too long, and opens a new one. Only one process renames it.
    fn rotate(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() <= MAX_BYTES || !lock::try_lock(&self.file)? {
            return Ok(());
        }
        let replaced = self.replace();
        if replaced.is_err() {
            self.file.unlock()?;
        }
        replaced
    }

    /// Renames the file unless another process has renamed it already: then the path leads to another file, which is
    /// only opened. Closing the old file releases its lock.
    fn replace(&mut self) -> io::Result<()> {
        if files::is_at_path(&self.file, &self.path)? && fs::metadata(&self.path)?.len() > MAX_BYTES {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        *self = Self::open(self.path.clone())?;
        Ok(())
    }
}

impl Write for RotatingLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A file that is too long is better than a lost entry. The next entry tries again.
        self.rotate().unwrap_or_default();
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_stores_differ_and_relative_and_absolute_path_have_the_same_tag() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(store_tag(Path::new("hoptop.db")), store_tag(&here.join("hoptop.db")));
        assert_ne!(store_tag(Path::new("hoptop.db")), store_tag(Path::new("other.db")));
    }

    #[test]
    fn log_above_the_maximum_is_renamed_and_the_next_line_starts_a_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.log");
        let [mut one, mut other] = [(); 2].map(|()| RotatingLog::open(path.clone()).unwrap());
        one.write_all(&vec![b'x'; MAX_BYTES as usize + 1]).unwrap();
        one.write_all(b"one\n").unwrap();
        other.write_all(b"other\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\nother\n");
        assert_eq!(fs::metadata(folder.path().join("hoptop.log.1")).unwrap().len(), MAX_BYTES + 1);
    }

    #[test]
    fn log_that_cannot_be_rotated_grows_and_stops_no_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.log");
        fs::create_dir_all(folder.path().join("hoptop.log.1/occupied")).unwrap();
        let [mut one, mut other] = [(); 2].map(|()| RotatingLog::open(path.clone()).unwrap());
        one.write_all(&vec![b'x'; MAX_BYTES as usize + 1]).unwrap();
        one.write_all(b"one\n").unwrap();
        other.write_all(b"other\n").unwrap();
        assert!(fs::read_to_string(&path).unwrap().ends_with("xone\nother\n"));
        fs::remove_dir_all(folder.path().join("hoptop.log.1")).unwrap();
        one.write_all(b"new\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new\n");
    }
}
