//! The bytes of a followed input: a stream, or a file that grows.
//!
//! The module knows no lines. A file that was replaced or truncated must never be read on as if it were the old file.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use tokio::sync::mpsc;

use crate::{cli::commands::import, clock::Clock, process::files};

/// The time between two checks of a file that has no more bytes.
pub(super) const INTERVAL: Duration = Duration::from_millis(250);
/// The number of checks of a replaced file before the new file is read, since its writer may still append to the old
/// file.
const CHECKS_AFTER_REPLACEMENT: u32 = 8;
/// The number of bytes before the position that are compared with the bytes that were read. A difference shows that the
/// file was truncated and filled again.
const COMPARED: usize = 4 * 1024;
/// The maximum number of bytes read at once.
const BUFFER: usize = 64 * 1024;

/// The next piece of an input.
#[derive(Debug, PartialEq)]
pub(crate) enum InputPiece {
    Bytes(Vec<u8>),
    /// The following bytes are from the start of the file, for this reason.
    Restart(RestartReason),
    End,
}

/// The reason why a file is read from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestartReason {
    /// Another file has the name. The old file was read to its end, so its last line is complete.
    Replaced,
    /// The file is shorter than before. Lines that were written after the last check and before the truncation are
    /// lost.
    Truncated,
    /// The file has other bytes than those that were read: it was truncated and filled again between two checks. Lines
    /// that were written after the last check and before the truncation are lost.
    Rewritten,
}

impl fmt::Display for RestartReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Replaced => "was replaced; it is read from its start",
            Self::Truncated => {
                "was truncated; it is read from its start, but lines that were written just before can be missing"
            }
            Self::Rewritten => {
                "was truncated and filled again; it is read from its start, but lines that were written just before can be missing"
            }
        })
    }
}

pub(crate) enum FollowedInput {
    /// A stream that ends by itself. Reading blocks, so a separate thread reads it.
    Stream(mpsc::Receiver<io::Result<Vec<u8>>>),
    Growing(GrowingFile),
}

impl FollowedInput {
    /// Opens standard input for `-`, else a file. A file that isn't on a disk, such as a pipe, is a stream. The error
    /// is the reason and the way out.
    pub(crate) fn open(file: &Path, clock: &Clock) -> Result<Self, String> {
        let reason = |error: io::Error| import::error_reason(&error);
        if file.as_os_str() == "-" {
            return Self::stream(|| Ok(io::stdin())).map_err(reason);
        }
        // Opening a pipe blocks until another process writes to it, which must not delay the handling of a signal.
        match fs::metadata(file) {
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
                let file = file.to_owned();
                Self::stream(move || File::open(file)).map_err(reason)
            }
            _ => Ok(Self::Growing(GrowingFile::new(file.into(), import::open(file)?, clock.clone()))),
        }
    }

    /// Starts a thread that opens an input and reads it.
    fn stream<R: Read>(open: impl FnOnce() -> io::Result<R> + Send + 'static) -> io::Result<Self> {
        let (pieces, receiver) = mpsc::channel(1);
        let read = move || {
            let mut input = match open() {
                Ok(input) => input,
                Err(error) => return pieces.blocking_send(Err(error)).unwrap_or_default(),
            };
            loop {
                let mut bytes = vec![0; BUFFER];
                let piece = match input.read(&mut bytes) {
                    Ok(0) => return,
                    Ok(count) => {
                        bytes.truncate(count);
                        Ok(bytes)
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                if pieces.blocking_send(piece).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("follow".into()).spawn(read)?;
        Ok(Self::Stream(receiver))
    }

    /// Waits for the next piece. The future can be dropped without a loss.
    pub(crate) async fn next(&mut self) -> io::Result<InputPiece> {
        match self {
            Self::Stream(pieces) => {
                pieces.recv().await.map_or(Ok(InputPiece::End), |piece| piece.map(InputPiece::Bytes))
            }
            Self::Growing(tail) => tail.next().await,
        }
    }
}

/// A file that grows, and the position up to which it was read.
pub(crate) struct GrowingFile {
    path: PathBuf,
    file: File,
    position: u64,
    /// The last bytes before the position, at most [`COMPARED`].
    tail: Vec<u8>,
    /// The number of checks since another file has the name.
    checks: u32,
    clock: Clock,
}

impl GrowingFile {
    fn new(path: PathBuf, file: File, clock: Clock) -> Self {
        Self { path, file, position: 0, tail: Vec::new(), checks: 0, clock }
    }

    async fn next(&mut self) -> io::Result<InputPiece> {
        loop {
            let mut bytes = vec![0; BUFFER];
            let count = self.file.read(&mut bytes)?;
            bytes.truncate(count);
            // Checked after the read, so that the bytes belong to those before them.
            let reason = match count {
                0 => self.restart_if_replaced()?,
                _ => self.restart_if_rewritten()?,
            };
            if let Some(reason) = reason {
                (self.position, self.checks) = (0, 0);
                self.tail.clear();
                return Ok(InputPiece::Restart(reason));
            }
            if count > 0 {
                self.position += u64::try_from(count).unwrap_or_default();
                self.tail.extend(&bytes);
                self.tail.drain(..self.tail.len().saturating_sub(COMPARED));
                return Ok(InputPiece::Bytes(bytes));
            }
            self.clock.sleep_until(self.clock.now().mono + INTERVAL).await;
        }
    }

    /// Goes to the start if the file was replaced, truncated or rewritten, and returns the reason. A missing file may
    /// appear again, and a replaced file is read to its end first.
    fn restart_if_replaced(&mut self) -> io::Result<Option<RestartReason>> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !files::is_same_file(&metadata, &self.file.metadata()?) {
            self.checks += 1;
            if self.checks <= CHECKS_AFTER_REPLACEMENT {
                return Ok(None);
            }
            self.file = match File::open(&self.path) {
                // It was replaced once more; the new file appears soon.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                opened => opened?,
            };
            return Ok(Some(RestartReason::Replaced));
        }
        if metadata.len() < self.position {
            self.file.rewind()?;
            return Ok(Some(RestartReason::Truncated));
        }
        self.restart_if_rewritten()
    }

    /// Goes to the start if the bytes before the position aren't those that were read, and returns the reason. Rows
    /// have hashes, so a file that was filled again has the same bytes there only if it has the same rows.
    fn restart_if_rewritten(&mut self) -> io::Result<Option<RestartReason>> {
        let next = self.file.stream_position()?;
        let mut found = Vec::with_capacity(self.tail.len());
        self.file.seek(SeekFrom::Start(self.position.saturating_sub(self.tail.len() as u64)))?;
        (&self.file).take(self.tail.len() as u64).read_to_end(&mut found)?;
        if found == self.tail {
            self.file.seek(SeekFrom::Start(next))?;
            return Ok(None);
        }
        self.file.rewind()?;
        let is_shorter = self.file.metadata()?.len() < self.position;
        Ok(Some(if is_shorter { RestartReason::Truncated } else { RestartReason::Rewritten }))
    }
}
