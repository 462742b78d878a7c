//! The open marker: a small file beside the store, locked by each process that has the store open. Its text is the
//! state in which the last process left the store.
//!
//! A kernel lock ends with its process, so the marker distinguishes a crash from a graceful shutdown. The marker is the only
//! proof that no other process uses a store that is to be moved. This module must never touch the store's own files.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use super::{lock_wait, paths};
use crate::process::{files, lock};

/// The most bytes that are read from a marker.
const MAX_BYTES: u64 = 4_096;

/// How the last process left the store. The marker's text is its first line; any other lines remain from longer texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExitState {
    /// Closed in order.
    Clean,
    /// Not closed in order: the process was killed, or the machine went down.
    Unclean,
    /// Damaged, for this reason.
    Damaged(String),
    /// During a recovery: the damaged file is moved, or is to be moved, to this name.
    Recovering(String),
}

impl ExitState {
    fn text(&self) -> String {
        match self {
            Self::Clean => "clean\n".to_owned(),
            Self::Unclean => "open\n".to_owned(),
            Self::Damaged(reason) => format!("suspect {}\n", reason.replace('\n', " ")),
            Self::Recovering(name) => format!("mending {name}\n"),
        }
    }

    /// Whether this state must be synced: a loss of power may neither remove this state nor bring it back.
    fn must_sync(&self) -> bool {
        match self {
            Self::Recovering(_) | Self::Damaged(_) => true,
            Self::Clean | Self::Unclean => false,
        }
    }

    fn parse(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        match line.split_once(' ') {
            Some(("suspect", reason)) => Self::Damaged(reason.to_owned()),
            Some(("mending", name)) => Self::Recovering(name.to_owned()),
            // An empty file was never written to: the first text is synced before the store is written.
            _ if text.is_empty() || line == "clean" => Self::Clean,
            _ => Self::Unclean,
        }
    }
}

/// A marker that this process has locked. The lock ends when the value is dropped or the process dies.
#[derive(Debug)]
pub(crate) struct OpenMarker {
    file: File,
    /// How the store was left, if no other process has it open. None can open it before [`OpenMarker::share`].
    exclusive_state: Option<ExitState>,
    /// Whether this process writes the store. Another process leaves the recorded state as it is.
    is_writing: AtomicBool,
}

impl OpenMarker {
    /// Locks the marker if a hoptop has opened the store before; waits for a process that recovers the store. Returns
    /// `None` if there is no marker.
    pub(crate) fn open(store: &Path) -> io::Result<Option<Self>> {
        match files::private_options().read(true).write(true).open(paths::marker(store)) {
            Ok(file) => Self::lock(file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a store of that name was ever open, so that its marker exists.
    pub(crate) fn exists_for(store: &Path) -> bool {
        paths::marker(store).exists()
    }

    /// Creates and locks the marker of a new store.
    pub(crate) fn create(store: &Path) -> io::Result<Self> {
        Self::lock(
            files::private_options().read(true).write(true).create(true).truncate(false).open(paths::marker(store))?,
        )
    }

    fn lock(file: File) -> io::Result<Self> {
        let mut marker = Self { file, exclusive_state: None, is_writing: AtomicBool::new(false) };
        loop {
            if lock::try_lock(&marker.file)? {
                marker.exclusive_state = Some(marker.read()?);
                return Ok(marker);
            }
            // Until no process has the lock alone: while it opens, migrates or recovers the store. A recovery may take
            // minutes, so the wait has no limit; a long wait is announced.
            lock_wait::wait_until(|| lock::try_lock_shared(&marker.file))?;
            match marker.read()? {
                // The recovering process has died or failed. Its unfinished store must be recovered, not used.
                ExitState::Recovering(_) => marker.file.unlock()?,
                ExitState::Clean | ExitState::Unclean | ExitState::Damaged(_) => return Ok(marker),
            }
        }
    }

    /// Returns how the store was left, if no other process has it open.
    pub(crate) fn exclusive_state(&self) -> Option<&ExitState> {
        self.exclusive_state.as_ref()
    }

    /// Assumes that the store was closed in order, unless damage or a recovery is recorded.
    pub(crate) fn assume_closed(&mut self) {
        if self.exclusive_state == Some(ExitState::Unclean) {
            self.exclusive_state = Some(ExitState::Clean);
        }
    }

    /// Returns the damage that another process has recorded; that process may still be running.
    pub(crate) fn reported_damage(&self) -> Option<String> {
        match self.exclusive_state.is_none().then(|| self.read()) {
            Some(Ok(ExitState::Damaged(reason))) => Some(reason),
            _ => None,
        }
    }

    /// Records that this process writes the store: if it dies, it leaves the state [`ExitState::Unclean`]. Damage that
    /// another process has recorded remains.
    pub(crate) fn begin_writing(&self) -> io::Result<()> {
        // The last process may have closed the store in order while this process opened it.
        if self.exclusive_state.is_some() || self.read()? == ExitState::Clean {
            self.write(&ExitState::Unclean)?;
        }
        self.is_writing.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Admits other processes.
    pub(crate) fn share(&mut self) -> io::Result<()> {
        if self.exclusive_state.take().is_some() { self.file.lock_shared() } else { Ok(()) }
    }

    /// Writes the state for the next process. If the process is killed or the disk is full, the old state remains.
    pub(crate) fn write(&self, exit_state: &ExitState) -> io::Result<()> {
        let (mut file, text) = (&self.file, exit_state.text());
        let is_first = file.metadata()?.len() == 0;
        let must_sync = is_first || exit_state.must_sync() || self.read()?.must_sync();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())?;
        file.set_len(u64::try_from(text.len()).unwrap_or(MAX_BYTES))?;
        // The marker must reach the disk before the move that it announces, and before any later write.
        if must_sync { file.sync_all() } else { Ok(()) }
    }

    fn read(&self) -> io::Result<ExitState> {
        let (mut file, mut text) = (&self.file, Vec::new());
        file.seek(SeekFrom::Start(0))?;
        file.take(MAX_BYTES).read_to_end(&mut text)?;
        Ok(ExitState::parse(&String::from_utf8_lossy(&text)))
    }
}

impl Drop for OpenMarker {
    /// The last process that writes records that the store was closed cleanly, unless damage or a recovery is recorded.
    fn drop(&mut self) {
        let is_shared = self.exclusive_state.is_none();
        if is_shared
            && self.is_writing.load(Ordering::Relaxed)
            && self.file.try_lock().is_ok()
            && self.read().is_ok_and(|exit_state| exit_state == ExitState::Unclean)
            && let Err(error) = self.write(&ExitState::Clean)
        {
            tracing::debug!(
                "failed to record that the store was closed properly, so the next start checks it: {error}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_marker(store: &Path) -> OpenMarker {
        OpenMarker::open(store).unwrap().unwrap()
    }

    #[test]
    fn next_process_knows_the_exit_state_of_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("hoptop.db");
        assert!(OpenMarker::open(&store).unwrap().is_none());
        let mut first = OpenMarker::create(&store).unwrap();
        assert_eq!(first.exclusive_state(), Some(&ExitState::Clean));
        first.begin_writing().unwrap();
        first.share().unwrap();
        let second = open_marker(&store);
        assert_eq!(second.exclusive_state(), None);
        second.begin_writing().unwrap();
        // The marker as a killed process leaves it.
        let abandoned = std::fs::read(paths::marker(&store)).unwrap();
        drop((first, second));
        assert_eq!(open_marker(&store).exclusive_state(), Some(&ExitState::Clean));
        std::fs::write(paths::marker(&store), abandoned).unwrap();
        assert_eq!(open_marker(&store).exclusive_state(), Some(&ExitState::Unclean));
    }

    #[test]
    fn closing_keeps_recorded_damage_and_recovery() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("hoptop.db");
        for exit_state in
            [ExitState::Damaged("a torn page".into()), ExitState::Recovering("hoptop.db.damaged-1".into())]
        {
            let mut marker = OpenMarker::create(&store).unwrap();
            marker.share().unwrap();
            marker.write(&exit_state).unwrap();
            drop(marker);
            assert_eq!(open_marker(&store).exclusive_state(), Some(&exit_state));
        }
    }

    #[test]
    fn process_that_saw_another_close_the_store_takes_it_for_closed() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("hoptop.db");
        for (recorded, assumed) in [
            (ExitState::Unclean, ExitState::Clean),
            (ExitState::Damaged("a torn page".into()), ExitState::Damaged("a torn page".into())),
        ] {
            OpenMarker::create(&store).unwrap().write(&recorded).unwrap();
            let mut marker = open_marker(&store);
            marker.assume_closed();
            assert_eq!(marker.exclusive_state(), Some(&assumed));
        }
    }

    #[test]
    fn process_that_does_not_write_leaves_the_recorded_state() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("hoptop.db");
        for exit_state in [ExitState::Damaged("a torn page".into()), ExitState::Unclean, ExitState::Clean] {
            OpenMarker::create(&store).unwrap().write(&exit_state).unwrap();
            let mut reader = open_marker(&store);
            reader.share().unwrap();
            drop(reader);
            assert_eq!(open_marker(&store).exclusive_state(), Some(&exit_state));
        }
        // A process that can write later, because the disk was only full, records that.
        let mut late = open_marker(&store);
        late.share().unwrap();
        late.begin_writing().unwrap();
        assert_eq!(late.read().unwrap(), ExitState::Unclean);
        drop(late);
        assert_eq!(open_marker(&store).exclusive_state(), Some(&ExitState::Clean));
    }

    #[test]
    fn next_process_recovers_if_the_recovering_one_dies() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("hoptop.db");
        let recovering = ExitState::Recovering("hoptop.db.damaged-1".into());
        let recoverer = OpenMarker::create(&store).unwrap();
        recoverer.write(&recovering).unwrap();
        let waiting = std::thread::spawn({
            let store = store.clone();
            move || open_marker(&store).exclusive_state().cloned()
        });
        // The other thread may open the marker before or after this. Both ways it must notice the recovery.
        std::thread::yield_now();
        drop(recoverer);
        assert_eq!(waiting.join().unwrap(), Some(recovering.clone()));
        // A process that completes the recovery records this.
        let mut recoverer = open_marker(&store);
        assert_eq!(recoverer.exclusive_state(), Some(&recovering));
        recoverer.write(&ExitState::Unclean).unwrap();
        recoverer.share().unwrap();
        assert_eq!(open_marker(&store).exclusive_state(), None);
    }

    #[test]
    fn partly_written_text_keeps_recorded_damage() {
        let suspect = ExitState::Damaged("a torn page".into());
        assert_eq!(ExitState::parse(&suspect.text()), suspect);
        // The process was killed before it cut off the rest of the longer text.
        assert_eq!(ExitState::parse("open\nct a torn page\n"), ExitState::Unclean);
        assert_eq!(ExitState::parse("suspect a torn page\nwords"), suspect);
        assert_eq!(ExitState::parse("clean\n"), ExitState::Clean);
        assert_eq!(ExitState::parse("cl"), ExitState::Unclean);
    }
}
