//! Whether the store can keep what it is given, for whoever shows it: the writer and the watcher say, others ask.
//!
//! It must never touch the store's file but by asking for its metadata.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::open_marker::{Left, OpenMarker};
use crate::store::error::{self, StoreError};

/// After so many looks it is asked whether the file is still there: every second.
const LOOKS_FOR_FILE: u64 = 4;
/// After so many looks it is asked whether another process has found damage: every five seconds.
const LOOKS_FOR_DAMAGE: u64 = 20;
/// For so many looks in a row, of 250 ms each, the writer is at the same batch before it counts as waiting.
const LOOKS: u32 = 12;

/// What stands in the way of keeping things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The file isn't where it was when it was opened.
    Gone(PathBuf),
    /// The file is damaged.
    Broken(String),
    /// The file can only be read.
    ReadOnly(PathBuf),
    /// The last write failed; the next one is tried all the same.
    NotKept(String),
    /// Another process holds the store's lock.
    Waiting,
}

impl fmt::Display for Trouble {
    /// One sentence for the person.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => {
                out.write_str("another process has locked the store; what is to be kept waits until it is done")
            }
            known => StoreError::from(known.clone()).fmt(out),
        }
    }
}

impl From<Trouble> for StoreError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Gone(path) => Self::Gone { path },
            Trouble::Broken(reason) => Self::Broken(reason),
            Trouble::ReadOnly(path) => Self::ReadOnly { path },
            Trouble::NotKept(reason) => Self::Commit(reason),
            Trouble::Waiting => Self::Commit("another process has locked it".to_owned()),
        }
    }
}

impl Trouble {
    fn of(error: &StoreError) -> Self {
        match error {
            StoreError::Broken(reason) => Self::Broken(reason.clone()),
            StoreError::Gone { path } => Self::Gone(path.clone()),
            StoreError::Sql(error) => Self::NotKept(error::reason(error)),
            StoreError::Commit(reason) => Self::NotKept(reason.clone()),
            other => Self::NotKept(other.to_string()),
        }
    }
}

/// What is known of a store that this process has open.
#[derive(Debug)]
pub(in crate::store) struct Health {
    path: PathBuf,
    file: Option<Identity>,
    /// Says to whoever comes next how the store was left. Given up with the last handle.
    marker: Option<OpenMarker>,
    state: Mutex<State>,
    /// Counts the writer's batches: odd while it is at one.
    turn: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    trouble: Option<Trouble>,
    /// The writer's turn at the last look, and for how many looks it has been that.
    seen: (u64, u32),
    looks: u64,
}

impl Health {
    pub(in crate::store) fn new(path: &Path, marker: Option<OpenMarker>) -> Self {
        let file = identity(path).ok().flatten();
        Self { path: path.to_owned(), file, marker, state: Mutex::default(), turn: AtomicU64::new(0) }
    }

    /// What stands in the way now.
    pub(in crate::store) fn trouble(&self) -> Option<Trouble> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = state.seen.1 >= LOOKS && state.seen.0 == self.turn.load(Ordering::Relaxed);
        state.trouble.clone().or(waits.then_some(Trouble::Waiting))
    }

    /// The writer begins a batch. It may not, if the file is damaged or isn't the store any more.
    pub(in crate::store) fn begin(&self) -> Result<(), Trouble> {
        self.turn.fetch_add(1, Ordering::Relaxed);
        if self.is_gone() {
            self.note(&Trouble::Gone(self.path.clone()));
        }
        match self.state.lock().unwrap_or_else(PoisonError::into_inner).trouble.clone() {
            Some(trouble @ (Trouble::Gone(_) | Trouble::Broken(_))) => Err(trouble),
            _ => Ok(()),
        }
    }

    /// The writer has ended a batch: what becomes of it.
    pub(in crate::store) fn end(&self, outcome: Result<(), StoreError>) -> Result<(), Trouble> {
        self.turn.fetch_add(1, Ordering::Relaxed);
        // What was committed to a file that is gone is lost with it.
        let outcome = outcome.and_then(|()| match self.is_gone() {
            true => Err(StoreError::Gone { path: self.path.clone() }),
            false => Ok(()),
        });
        let outcome = outcome.map_err(|error| Trouble::of(&error));
        match &outcome {
            Ok(()) => self.state.lock().unwrap_or_else(PoisonError::into_inner).trouble = None,
            Err(trouble) => self.note(trouble),
        }
        outcome
    }

    /// Somebody met a fault.
    pub(in crate::store) fn note(&self, trouble: &Trouble) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // A fault that can't be recovered now stays, whatever follows.
        if matches!(state.trouble, Some(Trouble::Gone(_) | Trouble::Broken(_))) {
            return;
        }
        tracing::error!("{trouble}");
        state.trouble = Some(trouble.clone());
        if let (Trouble::Broken(reason), Some(marker)) = (trouble, &self.marker)
            && let Err(error) = marker.write(&Left::Suspect(reason.clone()))
        {
            tracing::error!("the next start may not know of it: {error}");
        }
    }

    /// Checks whether the writer makes progress, and now and then whether the file is there and known to be sound. The watcher
    /// calls this every 250 ms. Returns whether the state changed.
    pub(in crate::store) fn check(&self) -> bool {
        let before = self.trouble();
        let turn = self.turn.load(Ordering::Relaxed);
        let (looks, suspicion) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let same = state.seen.0 == turn && turn % 2 == 1;
            state.seen = (turn, if same { state.seen.1.saturating_add(1) } else { 0 });
            state.looks += 1;
            // Not while somebody of this process writes there, who holds the state meanwhile.
            let marker = self.marker.as_ref().filter(|_| state.looks.is_multiple_of(LOOKS_FOR_DAMAGE));
            (state.looks, marker.and_then(OpenMarker::suspicion))
        };
        if looks.is_multiple_of(LOOKS_FOR_FILE) && self.is_gone() {
            self.note(&Trouble::Gone(self.path.clone()));
        }
        if let Some(reason) = suspicion {
            self.note(&Trouble::Broken(reason));
        }
        self.trouble() != before
    }

    /// Whether the path leads to another file than the one that was opened, or to none.
    fn is_gone(&self) -> bool {
        match identity(&self.path) {
            Ok(file) => file != self.file,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }
}

/// What tells a file from every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    file: u64,
}

#[cfg(unix)]
fn identity(path: &Path) -> io::Result<Option<Identity>> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().map(|file| Some(Identity { device: file.dev(), file: file.ino() }))
}

/// Elsewhere a file that is open can't be removed.
#[cfg(not(unix))]
fn identity(_path: &Path) -> io::Result<Option<Identity>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_does_not_get_on_is_waiting() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let health = Health::new(file.path(), None);
        health.begin().unwrap();
        assert!((0..LOOKS).all(|_| !health.check()));
        assert!(health.check() && health.trouble() == Some(Trouble::Waiting));
        assert_eq!(health.end(Ok(())), Ok(()));
        assert_eq!(health.trouble(), None);
        // Between batches nobody waits, however long that is.
        assert!((0..LOOKS * 2).all(|_| !health.check()));
    }

    #[test]
    fn damage_that_another_process_found_is_known_within_five_seconds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        std::fs::write(&path, "").unwrap();
        let health = || {
            let mut marker = OpenMarker::create(&path).unwrap();
            marker.share().unwrap();
            Health::new(&path, Some(marker))
        };
        let (one, other) = (health(), health());
        let damage = Trouble::Broken("a torn page".into());
        one.note(&damage);
        let news = (0..LOOKS_FOR_DAMAGE).filter(|_| other.check()).count();
        assert_eq!((news, other.trouble()), (1, Some(damage)));
        assert!(other.begin().is_err(), "and nothing more is written");
    }

    #[test]
    fn what_fails_once_is_forgotten_and_damage_is_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let health = Health::new(file.path(), None);
        let full = Trouble::NotKept("no room".into());
        health.begin().unwrap();
        assert_eq!(health.end(Err(StoreError::Commit("no room".into()))), Err(full.clone()));
        assert_eq!(health.trouble(), Some(full.clone()));
        health.begin().unwrap();
        health.end(Ok(())).unwrap();
        assert_eq!(health.trouble(), None);
        health.note(&Trouble::Broken("a torn page".into()));
        health.note(&full);
        assert!(health.begin().is_err() && health.trouble() == Some(Trouble::Broken("a torn page".into())));
    }
}
