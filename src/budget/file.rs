//! The ledger's file, which all processes of a user share: read and written under a kernel lock.
//!
//! Each process is a member with a number and a lock of its own, which the kernel releases when the process dies. The
//! requests of a dead member count as lost. The content of the file counts only if its checksum is right, it is of this
//! boot and can be true. This module must never wait for a lock: the process that holds the lock may be stopped.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use crate::{
    clock::{self, MonotonicTime, Now},
    process::{
        files,
        lock::{self, KernelLock, LockError},
    },
};

/// The highest number of processes on one ID.
const MAX_MEMBERS: u32 = 256;
/// A larger file is not a ledger.
const MAX_BYTES: u64 = 1 << 20;
/// The most bytes of an older, longer content that may stay behind the line.
const MAX_LEFT_OVER: usize = 512;

/// The version of the content. Another version counts as lost: an older hoptop reads this version in the same way.
const VERSION: u32 = 2;

/// The content of the file: one line of JSON, a blank, and the checksum of the JSON (CRC32, eight hexadecimal digits).
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LedgerRecord {
    version: u32,
    /// The boot of the machine to which the moments belong.
    boot: String,
    ledger: Ledger,
}

/// The ledger's file, and this process's membership.
#[derive(Debug)]
pub(super) struct LedgerFile {
    path: PathBuf,
    file: File,
    boot: String,
    member: u32,
    /// The lock of this member. The kernel releases the lock when this process dies.
    membership: KernelLock,
    /// The limit that this process was started with.
    own_limit: f64,
    /// The limit that a member set last.
    limit: f64,
    /// That member, if it isn't this one.
    limit_owner: Option<u32>,
    /// Whether the ledger has this member's limit, and no requests of an earlier member with the same number.
    has_joined: bool,
    /// The line that this process read or wrote last, and the ledger in it.
    known: Option<(Vec<u8>, Ledger)>,
    /// Kept between two reads.
    buffer: Vec<u8>,
}

impl LedgerFile {
    /// Joins the ledger: sets the limit, and releases the slots of an earlier member with the same number.
    pub(super) fn open(folder: &Path, fingerprint: &str, limit: f64, now: Now) -> Result<(Self, Ledger), LockError> {
        let path = file_name(folder, fingerprint);
        let fault = |source| LockError::new(&path, source);
        files::create_private_folder(folder).map_err(fault)?;
        files::refuse_shared_folder(folder).map_err(|source| LockError::new(folder, source))?;
        let file = lock::open(&path).map_err(fault)?;
        let (member, membership) = claim_membership(&path)?;
        let mut opened = Self {
            path: path.clone(),
            file,
            boot: clock::boot(),
            member,
            membership,
            own_limit: limit,
            limit,
            limit_owner: None,
            has_joined: false,
            known: None,
            buffer: Vec::new(),
        };
        // While another process writes, nothing is known. The first update joins then.
        let ledger = match opened.update(now.mono, |_, _| ()).map_err(fault)? {
            Some(((), ledger)) => ledger,
            None => Ledger::new(limit, now.mono + Ledger::slot_window(limit)),
        };
        Ok((opened, ledger))
    }

    pub(super) fn member(&self) -> u32 {
        self.member
    }

    /// Reads the file without a lock. Returns `None` if the file hasn't changed since this process read or wrote it,
    /// else the ledger if it is whole and sound.
    pub(super) fn read_if_changed(&mut self, now: MonotonicTime) -> io::Result<Option<Option<Ledger>>> {
        if let Some((line, _)) = &self.known {
            read_up_to(&mut self.file, line.len() as u64, &mut self.buffer)?;
            // The line ends with a line feed, so that later bytes are no part of it.
            if self.buffer == *line {
                return Ok(None);
            }
        }
        self.known = None;
        let (found, _) = self.read()?;
        Ok(Some(found.filter(|ledger| ledger.is_sound(now))))
    }

    /// Reads the ledger, applies `change` with the number of this member, and writes the ledger. Returns `None` while
    /// another process writes.
    pub(super) fn update<T>(
        &mut self,
        now: MonotonicTime,
        change: impl FnOnce(&mut Ledger, u32) -> T,
    ) -> io::Result<Option<(T, Ledger)>> {
        if !self.lock()? {
            return Ok(None);
        }
        let changed = self.rewrite(now, change);
        self.file.unlock()?;
        changed.map(Some)
    }

    /// Locks the file that the path names now. The file may have been deleted and created again.
    fn lock(&mut self) -> io::Result<bool> {
        for _ in 0..3 {
            if !lock::try_lock(&self.file)? {
                return Ok(false);
            }
            if files::is_at_path(&self.file, &self.path)? {
                return Ok(true);
            }
            self.file.unlock()?;
            let file = lock::open(&self.path)?;
            // The process that deleted the file may have deleted the members' lock files too. Until a new number is
            // claimed, the old file stays, so that no slot is taken under a number that another process has claimed.
            (self.member, self.membership) = claim_membership(&self.path).map_err(LockError::into_source)?;
            (self.file, self.has_joined) = (file, false);
        }
        Ok(false)
    }

    fn rewrite<T>(
        &mut self,
        now: MonotonicTime,
        change: impl FnOnce(&mut Ledger, u32) -> T,
    ) -> io::Result<(T, Ledger)> {
        let (found, length) = self.read()?;
        let found = found.filter(|ledger| ledger.is_sound(now));
        // Without a sound ledger the requests of the last window aren't known.
        let fresh = || Ledger::new(self.limit, now + Ledger::slot_window(self.limit));
        let mut ledger = found.clone().unwrap_or_else(fresh);
        // A set, so that each member's lock is checked once.
        let others: BTreeSet<u32> = ledger.slot_members().filter(|member| *member != self.member).collect();
        for member in others {
            if !KernelLock::is_held(&membership_path(&self.path, member))? {
                ledger.release_dead_member(member, now);
            }
        }
        if !self.has_joined {
            // An earlier member with this number is dead: this process holds its lock.
            ledger.release_dead_member(self.member, now);
            ledger.end_limit(self.member);
            match self.limit_owner {
                // Nobody else has joined the new file yet. The other member sets its limit again when it joins.
                Some(owner) if ledger.limit_owner().is_none() && owner != self.member => {
                    ledger.set_limit(self.limit, owner);
                }
                Some(_) if ledger.limit_owner().is_some() => {}
                Some(_) | None => ledger.set_limit(self.own_limit, self.member),
            }
        }
        // A limit of another member may end, and an older version of hoptop keeps only the one that holds.
        ledger.keep_limit(self.own_limit, self.member);
        // The limit of a member that has ended no longer counts, such as that of a single check.
        while let Some(member) = ledger.limit_owner().filter(|member| *member != self.member)
            && !KernelLock::is_held(&membership_path(&self.path, member))?
        {
            ledger.end_limit(member);
        }
        let changed = change(&mut ledger, self.member);
        // Most refused requests change nothing.
        if found.as_ref() != Some(&ledger) {
            self.write(&ledger, length)?;
        }
        self.has_joined = true;
        // A process that creates the file again sets the limit that a member set last.
        self.limit = ledger.limit();
        self.limit_owner = ledger.limit_owner().filter(|owner| *owner != self.member);
        Ok((changed, ledger))
    }

    /// Returns the ledger in the file, if it is of this boot and readable, and the length of the file.
    fn read(&mut self) -> io::Result<(Option<Ledger>, usize)> {
        read_up_to(&mut self.file, MAX_BYTES, &mut self.buffer)?;
        let length = self.buffer.len();
        if let Some((line, ledger)) = &self.known
            && self.buffer.starts_with(line)
        {
            return Ok((Some(ledger.clone()), length));
        }
        let found = parse(&self.buffer, &self.boot);
        self.known = found.clone().and_then(|ledger| Some((first_line(&self.buffer)?.to_vec(), ledger)));
        Ok((found, length))
    }

    fn write(&mut self, ledger: &Ledger, length: usize) -> io::Result<()> {
        // If the write fails half way, the content is unknown.
        self.known = None;
        let record = LedgerRecord { version: VERSION, boot: self.boot.clone(), ledger: ledger.clone() };
        let line = with_checksum(serde_json::to_vec(&record)?);
        self.file.rewind()?;
        self.file.write_all(&line)?;
        // Readers ignore the bytes after the line. The file is cut when they cost time to read.
        if line.len() + MAX_LEFT_OVER < length
            && let Err(error) = self.file.set_len(line.len() as u64)
        {
            tracing::debug!("failed to shorten the budget file: {error}");
        }
        self.known = Some((line, ledger.clone()));
        Ok(())
    }
}

/// Reads at most `most` bytes from the start of a file, in one go: this happens many times a second.
fn read_up_to(file: &mut File, most: u64, into: &mut Vec<u8>) -> io::Result<()> {
    into.clear();
    file.rewind()?;
    file.take(most).read_to_end(into).map(drop)
}

/// Returns the ledger of this fingerprint for display, or `None` if the file has no ledger of this boot.
pub(crate) fn read_for_display(folder: &Path, fingerprint: &str) -> Option<Ledger> {
    parse(&read_file(folder, fingerprint)?, &clock::boot())
}

/// Whether the file of this fingerprint counts as lost: it was altered, or is of another version of hoptop.
pub(crate) fn is_lost(folder: &Path, fingerprint: &str) -> bool {
    read_file(folder, fingerprint).is_some_and(|text| !text.is_empty() && parse_record(&text).is_none())
}

fn read_file(folder: &Path, fingerprint: &str) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    File::open(file_name(folder, fingerprint)).ok()?.take(MAX_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

fn parse(text: &[u8], boot: &str) -> Option<Ledger> {
    parse_record(text).filter(|record| record.boot == boot).map(|record| record.ledger)
}

/// Parses the first line. A longer content of before may follow the line.
fn parse_record(text: &[u8]) -> Option<LedgerRecord> {
    let line = first_line(text)?;
    let json = line.get(..line.len().checked_sub(CHECKSUM_BYTES)?)?;
    if with_checksum(json.to_vec()) != line {
        return None;
    }
    serde_json::from_slice::<LedgerRecord>(json).ok().filter(|record| record.version == VERSION)
}

/// The bytes after the JSON: a blank, the checksum, a line feed.
const CHECKSUM_BYTES: usize = 10;

/// Returns the line with this JSON.
pub(super) fn with_checksum(mut json: Vec<u8>) -> Vec<u8> {
    let checksum = crc32fast::hash(&json);
    json.extend(format!(" {checksum:08x}\n").into_bytes());
    json
}

/// Returns the first line with its line feed, or `None` if the line has no end.
fn first_line(text: &[u8]) -> Option<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').next().filter(|line| line.ends_with(b"\n"))
}

fn file_name(folder: &Path, fingerprint: &str) -> PathBuf {
    folder.join(format!("budget-{fingerprint}.json"))
}

/// Takes the first number that no living process has.
fn claim_membership(path: &Path) -> Result<(u32, KernelLock), LockError> {
    for member in 0..MAX_MEMBERS {
        if let Some(lock) = KernelLock::try_take(&membership_path(path, member))? {
            return Ok((member, lock));
        }
    }
    let source = io::Error::other(format!("{MAX_MEMBERS} processes already use this integrator ID; end some of them"));
    Err(LockError::new(path, source))
}

/// Returns the path of a member's lock file. Earlier builds use the same name.
fn membership_path(path: &Path, member: u32) -> PathBuf {
    path.with_extension(format!("seat-{member}"))
}
