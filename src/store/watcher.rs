//! Wakes readers: at once for commits of this process, within 250 ms for those of others (`PRAGMA data_version`).
//!
//! It says only that something changed, or that there is news of the store's health. The thread that looks after other
//! processes starts with the first subscriber.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicI64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::watch;

use super::{changes, connection, error::StoreError, health::Health};

/// How soon a commit of another process is seen (`DESIGN.md`, One picture).
const INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct Watcher {
    path: PathBuf,
    health: Arc<Health>,
    commits: watch::Sender<u64>,
    /// The number of the last commit of our writer; -1 before the first.
    own: Arc<AtomicI64>,
    /// The looking thread ends when this sender goes.
    looking: Mutex<Option<Sender<()>>>,
}

impl Watcher {
    pub(super) fn new(path: PathBuf, health: Arc<Health>) -> Self {
        Self {
            path,
            health,
            commits: watch::Sender::new(0),
            own: Arc::new(AtomicI64::new(-1)),
            looking: Mutex::new(None),
        }
    }

    /// Our writer has ended a batch, with a commit of this number if it wrote anything.
    pub(super) fn batch_ended(&self, number: Option<i64>) {
        if let Some(number) = number {
            self.own.store(number, Ordering::Release);
        }
        self.commits.send_modify(|count| *count += 1);
    }

    pub(super) fn subscribe(&self) -> Result<watch::Receiver<u64>, StoreError> {
        let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        if looking.is_none() {
            let (alive, end) = mpsc::channel();
            // Here, so that a file that goes away from now on is missed.
            let connection = connection::open_for_reading(&self.path)?;
            let health = Arc::downgrade(&self.health);
            let lookout = Lookout { connection, health, commits: self.commits.clone(), own: Arc::clone(&self.own) };
            let last = lookout.look().unwrap_or_default();
            thread::Builder::new()
                .name("store-watcher".into())
                .spawn(move || lookout.run(&end, last))
                .map_err(StoreError::Thread)?;
            *looking = Some(alive);
        }
        Ok(self.commits.subscribe())
    }
}

/// Looks after other processes.
struct Lookout {
    connection: Connection,
    health: Weak<Health>,
    commits: watch::Sender<u64>,
    own: Arc<AtomicI64>,
}

impl Lookout {
    fn run(&self, end: &Receiver<()>, mut last: Seen) {
        while end.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let has_committed = self.has_another_committed(&mut last);
            if self.health.upgrade().is_some_and(|health| health.look()) || has_committed {
                self.commits.send_modify(|count| *count += 1);
            }
        }
    }

    /// Whether another process has committed since the `last` look, as far as those who follow the store weren't woken after it.
    fn has_another_committed(&self, last: &mut Seen) -> bool {
        // A file that can't be read now may be read again; what ails it is the health's to say.
        let Some(version) = self.version().ok().filter(|version| *version != last.version) else { return false };
        let number = changes::last_commit(&self.connection).unwrap_or(-1);
        // Earlier versions don't count: where the version moves and the number doesn't, it was one of these.
        let is_own = number != last.number && number == self.own.load(Ordering::Acquire);
        *last = Seen { version, number };
        !is_own
    }

    fn look(&self) -> rusqlite::Result<Seen> {
        Ok(Seen { version: self.version()?, number: changes::last_commit(&self.connection)? })
    }

    fn version(&self) -> rusqlite::Result<i64> {
        // Kept: to prepare it costs more than to ask.
        self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
    }
}

/// What was seen at a look.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Another one after each commit of another connection.
    version: i64,
    /// The number of the last commit.
    number: i64,
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::{domain::fixtures, store::Store};

    fn track(store: &Store, number: i64) {
        store.import("default", vec![fixtures::new(number)], DateTime::UNIX_EPOCH).wait().unwrap();
    }

    #[test]
    fn who_was_woken_for_a_commit_of_our_own_is_not_woken_for_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let (here, there) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
        let lookout = Lookout {
            connection: connection::open_for_reading(&path).unwrap(),
            health: Weak::new(),
            commits: here.watcher.commits.clone(),
            own: Arc::clone(&here.watcher.own),
        };
        let (mut last, mut tracked) = (lookout.look().unwrap(), 0);
        let mut sees = |last: &mut Seen, by: &[&Store]| {
            for store in by {
                tracked += 1;
                track(store, tracked);
            }
            lookout.has_another_committed(last)
        };
        assert!(!sees(&mut last, &[]) && !sees(&mut last, &[&here]) && !sees(&mut last, &[&here, &here]));
        assert!(sees(&mut last, &[&there]) && !sees(&mut last, &[]));
        // What others did before it was there for whoever was woken by it.
        assert!(!sees(&mut last, &[&there, &here]));
        assert!(sees(&mut last, &[&here, &there]) && sees(&mut last, &[&there, &there]) && !sees(&mut last, &[&here]));
        // An earlier version counts nothing.
        let earlier =
            || Connection::open(&path).unwrap().execute_batch("UPDATE transactions SET ticket = 'x'").unwrap();
        earlier();
        assert!(lookout.has_another_committed(&mut last) && !lookout.has_another_committed(&mut last));
    }
}
