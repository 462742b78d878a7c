//! Where the bytes of a followed input come from: a stream, or a file that grows.
//!
//! It knows no lines. A file that was replaced or cut must never be read on as if it were the old one.

use std::{
    fmt,
    fs::{self, File, Metadata},
    io::{self, Read, Seek},
    path::PathBuf,
    thread,
    time::Duration,
};

use tokio::sync::mpsc;

use super::super::import;
use crate::clock::Clock;

/// How often a file is looked at that has no more to give.
pub const INTERVAL: Duration = Duration::from_millis(250);
/// So often a file that was replaced is looked at once more, for what its writer still puts into it before it changes over.
const FAREWELLS: u32 = 8;
/// So much is read at a time.
const BUFFER: usize = 64 * 1024;

/// What comes next.
#[derive(Debug, PartialEq)]
pub enum Piece {
    /// Some bytes.
    Bytes(Vec<u8>),
    /// What comes is from the start of a file, for this reason.
    Anew(Why),
    /// Nothing more.
    End,
}

/// Why a file is read from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Another file has its name. Of the one before nothing more comes: its last line is whole.
    Replaced,
    /// It is shorter than it was. The line that was under way is lost.
    Truncated,
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Replaced => "was replaced",
            Self::Truncated => "was truncated",
        })
    }
}

/// An input that is followed.
pub enum Feed {
    /// Something that ends by itself. Reading it blocks, so a thread of its own does.
    Stream(mpsc::Receiver<io::Result<Vec<u8>>>),
    /// A file that grows.
    Growing(Tail),
}

impl Feed {
    /// Standard input for `-`, else a file; one that isn't on a disk, such as a pipe, is a stream. The error is the reason
    /// and the way out.
    pub fn open(file: &str, clock: &Clock) -> Result<Self, String> {
        let reason = |error: io::Error| import::reason(&error);
        if file == "-" {
            return Self::stream(io::stdin()).map_err(reason);
        }
        // A pipe is opened when somebody writes into it; that must not keep a signal from being heard.
        match fs::metadata(file) {
            Ok(about) if !about.is_file() && !about.is_dir() => {
                let file = PathBuf::from(file);
                Self::stream(Later { open: Some(file), opened: None }).map_err(reason)
            }
            _ => Ok(Self::Growing(Tail::new(file.into(), import::open(file)?, clock.clone()))),
        }
    }

    /// What a thread reads from `input`.
    pub fn stream(mut input: impl Read + Send + 'static) -> io::Result<Self> {
        let (pieces, taken) = mpsc::channel(1);
        let read = move || {
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
        Ok(Self::Stream(taken))
    }

    /// Waits for what comes next. Nothing is lost if the waiting is given up.
    pub async fn next(&mut self) -> io::Result<Piece> {
        match self {
            Self::Stream(pieces) => pieces.recv().await.map_or(Ok(Piece::End), |piece| piece.map(Piece::Bytes)),
            Self::Growing(tail) => tail.next().await,
        }
    }
}

/// A file that is opened by whoever reads it.
struct Later {
    open: Option<PathBuf>,
    opened: Option<File>,
}

impl Read for Later {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(path) = self.open.take() {
            self.opened = Some(File::open(path)?);
        }
        self.opened.as_mut().map_or(Ok(0), |file| file.read(buffer))
    }
}

/// A file that grows, and how far it was read.
pub struct Tail {
    path: PathBuf,
    file: File,
    at: u64,
    /// How often it was looked at since another file has its name.
    farewells: u32,
    clock: Clock,
}

impl Tail {
    fn new(path: PathBuf, file: File, clock: Clock) -> Self {
        Self { path, file, at: 0, farewells: 0, clock }
    }

    async fn next(&mut self) -> io::Result<Piece> {
        loop {
            let mut bytes = vec![0; BUFFER];
            let count = self.file.read(&mut bytes)?;
            if count > 0 {
                self.at += u64::try_from(count).unwrap_or_default();
                bytes.truncate(count);
                return Ok(Piece::Bytes(bytes));
            }
            if let Some(why) = self.renew()? {
                (self.at, self.farewells) = (0, 0);
                return Ok(Piece::Anew(why));
            }
            self.clock.sleep_until(self.clock.now().mono + INTERVAL).await;
        }
    }

    /// Goes to the start if the file is another one or shorter than before, and says which. One that is gone may come again,
    /// and one that was replaced is read to its end first.
    fn renew(&mut self) -> io::Result<Option<Why>> {
        let about = match fs::metadata(&self.path) {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !is_same(&about, &self.file.metadata()?) {
            self.farewells += 1;
            if self.farewells <= FAREWELLS {
                return Ok(None);
            }
            self.file = File::open(&self.path)?;
            return Ok(Some(Why::Replaced));
        }
        if about.len() < self.at {
            self.file.rewind()?;
            return Ok(Some(Why::Truncated));
        }
        Ok(None)
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Elsewhere files have no numbers to tell them apart by.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}
