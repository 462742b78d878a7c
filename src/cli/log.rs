//! The log in the state folder: whole bodies of failures go in, so it is kept from growing without bound.
//!
//! It must never stop the program: what can't be written is lost, as at the end of a disk.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Mutex,
};

use color_eyre::eyre::{Result, WrapErr};
use tracing_subscriber::fmt::{format::Writer, time::FormatTime};

use crate::{clock::Clock, domain::span, process::files};

/// A longer log starts anew; the one before it is kept.
const LONGEST: u64 = 4 << 20;

/// Writes the log into the state folder from now on, with the moments of this clock; where it is.
pub fn start(state_dir: &Path, clock: Clock) -> Result<PathBuf> {
    let path = state_dir.join("hoptop.log");
    let log = files::create_private_folder(state_dir).and_then(|()| Log::open(path.clone())).wrap_err_with(|| {
        let path = path.display();
        format!("the log {path} can't be written; check its permissions or name another folder with --state-dir")
    })?;
    let format = tracing_subscriber::fmt().with_timer(Stamp(clock)).with_ansi(false).with_target(false);
    format.with_writer(Mutex::new(log)).init();
    Ok(path)
}

/// The moments of a clock, as the log has them.
struct Stamp(Clock);

impl FormatTime for Stamp {
    fn format_time(&self, out: &mut Writer<'_>) -> fmt::Result {
        out.write_str(&span::rfc3339(self.0.now().wall))
    }
}

struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    fn open(path: PathBuf) -> io::Result<Self> {
        let file = files::private_options().append(true).create(true).open(&path)?;
        Ok(Self { path, file })
    }

    /// Puts a log aside that has grown too long. Another process may have done so a moment ago: then the path leads to a
    /// new file already, and only ours is opened anew.
    fn turn(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() <= LONGEST {
            return Ok(());
        }
        if fs::metadata(&self.path).is_ok_and(|there| there.len() > LONGEST) {
            fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        *self = Self::open(std::mem::take(&mut self.path))?;
        Ok(())
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.turn()?;
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
    fn a_long_log_is_put_aside_and_the_next_line_starts_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.log");
        let [mut one, mut other] = [(); 2].map(|()| Log::open(path.clone()).unwrap());
        one.write_all(&vec![b'x'; LONGEST as usize + 1]).unwrap();
        one.write_all(b"one\n").unwrap();
        other.write_all(b"other\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\nother\n");
        assert_eq!(fs::metadata(folder.path().join("hoptop.log.1")).unwrap().len(), LONGEST + 1);
    }
}
