//! Reads the end of the log from its file, which also has the lines of other processes and those before a crash.
//!
//! The size is bounded. Blocks for the disk. This module must never write.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use crate::tui::screens::log::state::LogTail;

/// The most bytes that are read. The log contains whole bodies of failures, so lines may be long.
const MAX_BYTES: u64 = 1 << 20;

/// The log of a store: a file that other stores may share.
#[derive(Clone, Debug)]
pub struct LogSource {
    /// The file.
    pub path: PathBuf,
    /// The mark of the store's entries.
    pub store: String,
}

/// Returns the end of the log, without the entries of other stores; `None` if its length is still `known`. After a
/// rotation the end of the previous log comes first.
pub(crate) fn read(LogSource { path, store }: &LogSource, known: Option<u64>) -> Result<Option<LogTail>, String> {
    let failed = |error: io::Error| format!("the log {} can't be read: {error}", path.display());
    let length = match path.metadata() {
        Ok(file) => file.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(failed(error)),
    };
    if known == Some(length) {
        return Ok(None);
    }
    let end = if length > 0 { end_of(path, MAX_BYTES).map_err(failed)? } else { Vec::new() };
    let before = path.with_extension("log.1");
    let room = MAX_BYTES.saturating_sub(length);
    let mut text = match room > 0 && before.exists() {
        true => end_of(&before, room).map_err(failed)?,
        false => Vec::new(),
    };
    let is_cut = length > MAX_BYTES || !text.is_empty();
    text.extend(end);
    let lines = LogTail::parse(&String::from_utf8_lossy(&text), store);
    Ok(Some(LogTail { is_cut: is_cut || lines.len() == LogTail::MAX_LINES, lines, length }))
}

/// Returns the last bytes of a file, at most `most`.
fn end_of(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn line(text: &str) -> String {
        format!("2026-11-20T14:03:10Z  WARN {text}\n")
    }

    #[test]
    fn a_log_of_unchanged_length_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.log");
        let log = LogSource { path: path.clone(), store: "1a2b".into() };
        assert_eq!(read(&log, None), Ok(Some(LogTail::default())));
        fs::write(&path, line("one")).unwrap();
        let tail = read(&log, Some(0)).unwrap().unwrap();
        assert_eq!((tail.lines.len(), tail.is_cut), (1, false));
        assert_eq!(read(&log, Some(tail.length)), Ok(None));
    }

    #[test]
    fn only_the_end_of_a_long_log_is_read_and_a_short_log_continues_the_previous_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.log");
        let log = LogSource { path: path.clone(), store: "1a2b".into() };
        fs::write(&path, format!("{}{}", line(&"x".repeat(2 << 20)), line("last"))).unwrap();
        let tail = read(&log, None).unwrap().unwrap();
        assert_eq!((tail.lines.len(), tail.lines[0].text.as_str(), tail.is_cut), (1, "last", true));
        fs::rename(&path, folder.path().join("hoptop.log.1")).unwrap();
        fs::write(&path, line("new")).unwrap();
        let tail = read(&log, None).unwrap().unwrap();
        let texts: Vec<_> = tail.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!((texts, tail.is_cut), (vec!["new", "last"], true));
    }
}
