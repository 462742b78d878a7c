//! One ledger for all processes: a small file that is read and written under a kernel lock.
//!
//! Each process has a seat, a lock of its own that goes when it dies; requests of an empty seat are lost. What the file says
//! is believed only if it is of this boot and can be true. It must never wait for a lock: another process may be stopped.

use std::{
    collections::BTreeSet,
    fs::{self, File, Metadata},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use crate::{
    clock::{self, Mono, Now},
    process::lock::{self, KernelLock, LockError},
};

/// More processes than that on one ID can't sit down.
const SEATS: u32 = 256;
/// A file larger than that is none of ours.
const MOST_BYTES: u64 = 1 << 20;
/// So much may lie behind the line's end.
const MOST_LEFT_OVER: usize = 512;

/// What stands in the file: one line of JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// Of which boot of the machine the moments are.
    boot: String,
    ledger: Ledger,
}

/// The file, and this poller's seat at it.
#[derive(Debug)]
pub(super) struct Shared {
    path: PathBuf,
    file: File,
    boot: String,
    seat: u32,
    /// The seat's lock, given up when this process dies.
    chair: KernelLock,
    pub(super) limit: f64,
    /// Whether the ledger knows that this one sits here, and what it said of the limit.
    arrived: bool,
}

impl Shared {
    /// Sits down at the ledger, says the limit, and declares the requests of whoever sat here before lost.
    pub(super) fn open(folder: &Path, fingerprint: &str, limit: f64, now: Now) -> Result<(Self, Ledger), LockError> {
        let path = file_name(folder, fingerprint);
        let fault = |source| LockError::new(&path, source);
        let file = lock::open(&path).map_err(fault)?;
        let (seat, chair) = sit_down(&path)?;
        let mut shared = Self { file, boot: clock::boot(), seat, chair, limit, arrived: false, path: path.clone() };
        // Somebody may be writing; a moment later it is known.
        let ledger = match shared.update(now.mono, |_, _| ()).map_err(fault)? {
            Some(((), ledger)) => ledger,
            None => Ledger::new(limit, now.mono + Ledger::window_of(limit)),
        };
        Ok((shared, ledger))
    }

    /// Reads the ledger, changes it, and writes it. `None` if somebody else is writing just now.
    pub(super) fn update<T>(
        &mut self,
        now: Mono,
        change: impl FnOnce(&mut Ledger, u32) -> T,
    ) -> io::Result<Option<(T, Ledger)>> {
        if !self.lock()? {
            return Ok(None);
        }
        let changed = self.rewrite(now, change);
        self.file.unlock()?;
        changed.map(Some)
    }

    /// Locks the file that the path names now: it may have been deleted and made anew.
    fn lock(&mut self) -> io::Result<bool> {
        for _ in 0..3 {
            if !lock::try_lock(&self.file)? {
                return Ok(false);
            }
            match fs::metadata(&self.path) {
                Ok(there) if is_same(&there, &self.file.metadata()?) => return Ok(true),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                // With the file the seats may be gone.
                _ => {
                    self.file = lock::open(&self.path)?;
                    (self.seat, self.chair) = sit_down(&self.path).map_err(LockError::into_source)?;
                    self.arrived = false;
                }
            }
        }
        Ok(false)
    }

    fn rewrite<T>(&mut self, now: Mono, change: impl FnOnce(&mut Ledger, u32) -> T) -> io::Result<(T, Ledger)> {
        let (found, length) = self.read()?;
        let found = found.filter(|ledger| ledger.is_sound(now));
        // Gone or damaged: nobody knows what was sent in the last window.
        let fresh = || Ledger::new(self.limit, now + Ledger::window_of(self.limit));
        let mut ledger = found.clone().unwrap_or_else(fresh);
        // Each seat is looked at once, however many requests it has under way.
        let others: BTreeSet<u32> = ledger.seats().filter(|seat| *seat != self.seat).collect();
        for seat in others {
            if !KernelLock::is_held(&chair(&self.path, seat))? {
                ledger.bury(seat, now);
            }
        }
        if !self.arrived {
            // Whoever sat here before is gone.
            ledger.bury(self.seat, now);
            ledger.set_limit(self.limit);
        }
        let changed = change(&mut ledger, self.seat);
        // Most who ask too early change nothing.
        if found.as_ref() != Some(&ledger) {
            self.write(&ledger, length)?;
        }
        self.arrived = true;
        // Whoever makes the file anew goes by what was said last.
        self.limit = ledger.limit();
        Ok((changed, ledger))
    }

    /// What the file says, nothing if that is of another boot or can't be read; and how long it is.
    fn read(&mut self) -> io::Result<(Option<Ledger>, usize)> {
        // In one go: it is read some times a second, all day.
        let mut text = Vec::with_capacity(1_024);
        self.file.rewind()?;
        (&self.file).take(MOST_BYTES).read_to_end(&mut text)?;
        Ok((parse(&text, &self.boot), text.len()))
    }

    fn write(&mut self, ledger: &Ledger, length: usize) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Content { boot: self.boot.clone(), ledger: ledger.clone() })?;
        line.push(b'\n');
        self.file.rewind()?;
        self.file.write_all(&line)?;
        // What a longer one leaves behind the line's end is no part of it; it is cut once it costs something to read.
        if line.len() + MOST_LEFT_OVER < length
            && let Err(error) = self.file.set_len(line.len() as u64)
        {
            tracing::debug!("the budget's file stays longer than it need be: {error}");
        }
        Ok(())
    }
}

/// The ledger of this fingerprint as it stands, for what is shown; nothing if there is none of this boot.
pub fn peek(folder: &Path, fingerprint: &str) -> Option<Ledger> {
    let mut text = Vec::new();
    File::open(file_name(folder, fingerprint)).ok()?.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    parse(&text, &clock::boot())
}

/// The first line; behind it may be what a longer one left.
fn parse(text: &[u8], boot: &str) -> Option<Ledger> {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let content = serde_json::from_slice::<Content>(line).ok();
    content.filter(|content| content.boot == boot).map(|content| content.ledger)
}

fn file_name(folder: &Path, fingerprint: &str) -> PathBuf {
    folder.join(format!("budget-{fingerprint}.json"))
}

/// Takes the first seat that is free.
fn sit_down(path: &Path) -> Result<(u32, KernelLock), LockError> {
    for seat in 0..SEATS {
        if let Some(lock) = KernelLock::try_take(&chair(path, seat))? {
            return Ok((seat, lock));
        }
    }
    let source = io::Error::other(format!("{SEATS} processes use this integrator ID already"));
    Err(LockError::new(path, source))
}

fn chair(path: &Path, seat: u32) -> PathBuf {
    path.with_extension(format!("seat-{seat}"))
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    // An open file can't be deleted there.
    true
}
