//! Whether the store can be written. The writer and the watcher report faults; screens and commands read them.
//!
//! This module must never touch the store's file, except to read its metadata.

use std::{
    fs::Metadata,
    io, mem,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    lock_wait,
    open_marker::{ExitState, OpenMarker},
    paths::{self, COMPANIONS},
};
use crate::{
    process::{files, lock_holder::LockHolder},
    store::error::{Result, StoreFault},
};

/// The file's existence is tested once in this many checks: every second.
const CHECKS_PER_FILE_TEST: u64 = 4;
/// The marker is read for damage that another process found once in this many checks: every five seconds.
const CHECKS_PER_DAMAGE_TEST: u64 = 20;
/// The writer counts as waiting after it is at the same batch for this many checks in a row, 250 ms apart.
const CHECKS_UNTIL_WAITING: u32 = 8;

/// The health of a store that this process has open.
#[derive(Debug)]
pub(crate) struct StoreHealth {
    path: PathBuf,
    /// The store's file, and if this process writes to it, its log and the index of the log; as they were opened.
    files: Mutex<Vec<(PathBuf, Option<Metadata>)>>,
    /// Records for the next process how the store was left. Dropped with the last handle.
    marker: Option<OpenMarker>,
    state: Mutex<HealthState>,
    /// Counts the starts and ends of the writer's batches: odd during a batch.
    batch_phase: AtomicU64,
}

#[derive(Debug, Default)]
struct HealthState {
    fault: Option<StoreFault>,
    /// Why the team's log can't be appended to, if so.
    log_fault: Option<String>,
    /// Whether `log_fault` was set since the last check.
    has_log_changed: bool,
    /// `batch_phase` at the last check, and the number of checks since it changed.
    last_phase: (u64, u32),
    /// The process that the writer waits for, if that is known.
    lock_holder: Option<LockHolder>,
    checks: u64,
}

impl StoreHealth {
    /// Remembers the files of an open store. With `is_written` this process writes to the store.
    pub(crate) fn new(path: &Path, marker: Option<OpenMarker>, is_written: bool) -> Self {
        let files = Mutex::new(vec![with_metadata(path.to_owned())]);
        let health =
            Self { path: path.to_owned(), files, marker, state: Mutex::default(), batch_phase: AtomicU64::new(0) };
        // A process that only reads doesn't keep the log from being removed.
        if is_written {
            health.remember_log();
        }
        health
    }

    /// Returns the path of the store's file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Records that this process writes from now on to a store that it couldn't write when it opened the store.
    pub(crate) fn begin_writing(&self) -> io::Result<()> {
        self.marker.as_ref().map_or(Ok(()), OpenMarker::begin_writing)?;
        self.remember_log();
        Ok(())
    }

    fn remember_log(&self) {
        let companions = COMPANIONS.iter().map(|ending| with_metadata(paths::companion(&self.path, ending)));
        self.files.lock().unwrap_or_else(PoisonError::into_inner).extend(companions);
    }

    /// Reports and returns a fault if the file isn't the store any more.
    pub(crate) fn refuse_if_gone(&self) -> Result<(), StoreFault> {
        self.check_files().inspect_err(|fault| self.report(fault))
    }

    /// Returns the present fault, if there is one.
    pub(crate) fn fault(&self) -> Option<StoreFault> {
        let state = self.state();
        let is_waiting = state.last_phase.1 >= CHECKS_UNTIL_WAITING
            && state.last_phase.0 == self.batch_phase.load(Ordering::Relaxed);
        state
            .fault
            .clone()
            .or_else(|| is_waiting.then(|| StoreFault::Waiting(state.lock_holder.clone())))
            .or_else(|| state.log_fault.clone().map(StoreFault::Log))
    }

    /// Sets why the team's log can't be appended to; `None` if it can.
    pub(crate) fn set_log_fault(&self, reason: Option<String>) {
        let mut state = self.state();
        state.has_log_changed |= state.log_fault != reason;
        state.log_fault = reason;
    }

    /// Called when the writer begins a batch. Refuses if the file is damaged, or isn't the store any more.
    pub(crate) fn begin_batch(&self) -> Result<(), StoreFault> {
        self.batch_phase.fetch_add(1, Ordering::Relaxed);
        self.refuse_if_gone()?;
        let fault = self.state().fault.clone();
        fault.filter(StoreFault::needs_restart).map_or(Ok(()), Err)
    }

    /// Called when the writer has ended a batch. Returns the outcome for the batch's writes.
    pub(crate) fn end_batch(&self, outcome: Result<()>) -> Result<(), StoreFault> {
        self.batch_phase.fetch_add(1, Ordering::Relaxed);
        // A commit to a file that is gone is lost.
        let outcome = outcome.map_err(StoreFault::from).and_then(|()| self.check_files());
        match &outcome {
            Ok(()) => {
                let mut state = self.state();
                // Another part of this process may have reported a permanent fault during the batch.
                state.fault = state.fault.take().filter(StoreFault::needs_restart);
            }
            Err(fault) => self.report(fault),
        }
        outcome
    }

    /// Records a fault that any part of this process met.
    pub(crate) fn report(&self, fault: &StoreFault) {
        let mut state = self.state();
        if state.fault.as_ref().is_some_and(StoreFault::needs_restart) {
            return;
        }
        tracing::error!("{fault}");
        state.fault = Some(fault.clone());
        if let (StoreFault::Damaged(reason), Some(marker)) = (fault, &self.marker)
            && let Err(error) = marker.write(&ExitState::Damaged(reason.clone()))
        {
            tracing::error!("failed to record the damage for the next start: {error}");
        }
    }

    /// Checks whether the writer makes progress, and from time to time whether the file exists and is known to be
    /// damaged. The watcher calls this every 250 ms. Returns whether the state changed.
    pub(crate) fn check(&self) -> bool {
        let before = self.fault();
        let batch_phase = self.batch_phase.load(Ordering::Relaxed);
        let (checks, reported_damage) = {
            let mut state = self.state();
            let is_same_batch = state.last_phase.0 == batch_phase && batch_phase % 2 == 1;
            state.last_phase = (batch_phase, if is_same_batch { state.last_phase.1.saturating_add(1) } else { 0 });
            state.checks += 1;
            if state.last_phase.1 == CHECKS_UNTIL_WAITING {
                state.lock_holder = lock_wait::holder(&self.path);
            }
            // The state stays locked meanwhile, so that no other thread of this process writes the marker.
            let marker = self.marker.as_ref().filter(|_| state.checks.is_multiple_of(CHECKS_PER_DAMAGE_TEST));
            (state.checks, marker.and_then(OpenMarker::reported_damage))
        };
        if checks.is_multiple_of(CHECKS_PER_FILE_TEST) {
            self.refuse_if_gone().ok();
        }
        if let Some(reason) = reported_damage {
            self.report(&StoreFault::Damaged(reason));
        }
        let has_log_changed = mem::take(&mut self.state().has_log_changed);
        self.fault() != before || has_log_changed
    }

    fn state(&self) -> MutexGuard<'_, HealthState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a fault if a path no longer leads to the opened file.
    fn check_files(&self) -> Result<(), StoreFault> {
        let is_gone = |(path, opened): &&(PathBuf, Option<Metadata>)| match path.metadata() {
            Ok(file) => !opened.as_ref().is_some_and(|opened| files::is_same_file(&file, opened)),
            Err(error) => error.kind() == io::ErrorKind::NotFound && opened.is_some(),
        };
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().find(is_gone).map_or(Ok(()), |(path, _)| Err(StoreFault::Gone(path.clone())))
    }
}

fn with_metadata(file: PathBuf) -> (PathBuf, Option<Metadata>) {
    let opened = file.metadata().ok();
    (file, opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalled_writer_counts_as_waiting() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let health = StoreHealth::new(file.path(), None, false);
        health.begin_batch().unwrap();
        assert!((0..CHECKS_UNTIL_WAITING).all(|_| !health.check()));
        assert!(health.check() && health.fault() == Some(StoreFault::Waiting(None)));
        assert_eq!(health.end_batch(Ok(())), Ok(()));
        assert_eq!(health.fault(), None);
        // Between batches the writer never counts as waiting.
        assert!((0..CHECKS_UNTIL_WAITING * 2).all(|_| !health.check()));
    }

    #[test]
    fn damage_that_another_process_found_is_known_within_five_seconds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        std::fs::write(&path, "").unwrap();
        let health = || {
            let mut marker = OpenMarker::create(&path).unwrap();
            marker.share().unwrap();
            StoreHealth::new(&path, Some(marker), false)
        };
        let (one, other) = (health(), health());
        let damage = StoreFault::Damaged("a torn page".into());
        one.report(&damage);
        let changes = (0..CHECKS_PER_DAMAGE_TEST).filter(|_| other.check()).count();
        assert_eq!((changes, other.fault()), (1, Some(damage)));
        assert!(other.begin_batch().is_err(), "and nothing more is written");
    }

    #[test]
    fn failed_write_is_forgotten_and_damage_is_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let health = StoreHealth::new(file.path(), None, false);
        let full = StoreFault::CommitFailed("no room".into());
        health.begin_batch().unwrap();
        assert_eq!(health.end_batch(Err(full.clone().into())), Err(full.clone()));
        assert_eq!(health.fault(), Some(full.clone()));
        health.begin_batch().unwrap();
        health.end_batch(Ok(())).unwrap();
        assert_eq!(health.fault(), None);
        // Met by another part of the process during a batch that succeeds.
        health.begin_batch().unwrap();
        health.report(&StoreFault::Damaged("a torn page".into()));
        health.end_batch(Ok(())).unwrap();
        health.report(&full);
        assert!(health.begin_batch().is_err() && health.fault() == Some(StoreFault::Damaged("a torn page".into())));
    }
}
