//! Which process holds a kernel lock on a file, as far as the system says so.
//!
//! The module must never open the locked file: closing the file would drop this process's own locks on it.

use std::{fmt, fs, path::Path};

/// A process that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// The ID of the process.
    pub process: u32,
    /// The name of its program; empty if it can't be read.
    pub program: String,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.program.as_str() {
            "" => write!(out, "process {}", self.process),
            program => write!(out, "{program}, process {}", self.process),
        }
    }
}

/// Returns another process that holds an exclusive lock on one of these files; `None` if that isn't known: only Linux
/// has a list of locks.
pub(crate) fn find(files: &[&Path]) -> Option<LockHolder> {
    let ids: Vec<String> = files.iter().filter_map(|file| file_id(file)).collect();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let process = locks.lines().find_map(|line| holder_of(line, &ids).filter(|id| *id != std::process::id()))?;
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    // A program chooses its name itself.
    let program = name.trim().chars().filter(|letter| letter.is_ascii_graphic() || *letter == ' ').collect();
    Some(LockHolder { process, program })
}

/// Returns the process of a line of `/proc/locks` if the line is an exclusive lock on one of the files.
fn holder_of(line: &str, files: &[String]) -> Option<u32> {
    // 1: POSIX  ADVISORY  WRITE 31260 fe:00:10119079 120 120
    let mut words = line.split_whitespace().skip(1);
    // A line of a process that waits begins with an arrow.
    let kind = words.next().filter(|kind| matches!(*kind, "POSIX" | "FLOCK" | "OFDLCK"))?;
    let mut words = words.skip(1);
    let (access, process, file) = (words.next()?, words.next()?, words.next()?);
    let is_exclusive = access == "WRITE" && files.iter().any(|known| known == file);
    // The kernel doesn't know the process of a lock that belongs to an open file.
    (is_exclusive && kind != "OFDLCK").then(|| process.parse().ok()).flatten()
}

/// Returns how `/proc/locks` names a file.
#[cfg(target_os = "linux")]
fn file_id(file: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().ok()?;
    let device = metadata.dev();
    Some(format!("{:02x}:{:02x}:{}", rustix::fs::major(device), rustix::fs::minor(device), metadata.ino()))
}

#[cfg(not(target_os = "linux"))]
fn file_id(_file: &Path) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exclusive_lock_on_the_file_names_a_holder() {
        let files = ["fe:00:7".to_owned(), "fe:00:8".to_owned()];
        let holder = |line| holder_of(line, &files);
        assert_eq!(holder("1: POSIX  ADVISORY  WRITE 31260 fe:00:7 120 120"), Some(31_260));
        assert_eq!(holder("2: FLOCK  ADVISORY  WRITE 12 fe:00:8 0 EOF"), Some(12));
        assert_eq!(holder("2: POSIX  ADVISORY  READ 31260 fe:00:7 124 124"), None);
        assert_eq!(holder("1: -> POSIX  ADVISORY  WRITE 31 fe:00:7 120 120"), None, "this process waits");
        assert_eq!(holder("1: POSIX  ADVISORY  WRITE 31260 fe:00:9 120 120"), None);
        assert_eq!(holder("1: OFDLCK ADVISORY  WRITE -1 fe:00:7 120 120"), None);
        assert_eq!(holder(""), None);
    }
}
