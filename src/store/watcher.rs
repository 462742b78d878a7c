//! Wakes subscribers: at once for commits of this process, within 250 ms for those of others (`PRAGMA data_version`), and when the
//! store's health changes.
//!
//! A wakeup carries no changes. The thread that watches other processes starts with the first subscriber.

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

use super::{
    error::StoreError,
    file::{connection, health::Health},
    tables::changes,
    writer::{Commit, Interest},
};

/// How soon a commit of another process is seen (`DESIGN.md`, One picture).
const INTERVAL: Duration = Duration::from_millis(250);

/// Which commits wake a subscriber. Those of other processes, and changes of the store's health, wake every subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Every commit.
    AnyCommit,
    /// Commits of this process that hold more than polls which changed nothing.
    Changes,
    /// Commits of this process that hold more than its own answers.
    NotAnswers,
}

pub(super) struct Watcher {
    path: PathBuf,
    health: Arc<Health>,
    wakeups: Wakeups,
    /// The number of the last commit of this process's writer; -1 before the first.
    own: Arc<AtomicI64>,
    /// The thread that polls for other processes' commits ends when this sender is dropped.
    polling: Mutex<Option<Sender<()>>>,
}

/// What the subscribers wait for.
#[derive(Clone, Default)]
struct Wakeups {
    any_commit: watch::Sender<u64>,
    changes: watch::Sender<u64>,
    not_answers: watch::Sender<u64>,
}

impl Wakeups {
    fn of(&self, wake: Wake) -> &watch::Sender<u64> {
        match wake {
            Wake::AnyCommit => &self.any_commit,
            Wake::Changes => &self.changes,
            Wake::NotAnswers => &self.not_answers,
        }
    }

    fn wake(&self, interest: Interest) {
        let least = [
            (Wake::AnyCommit, Interest::Nothing),
            (Wake::Changes, Interest::Answers),
            (Wake::NotAnswers, Interest::Everything),
        ];
        for (wake, least) in least {
            if interest >= least {
                self.of(wake).send_modify(|count| *count += 1);
            }
        }
    }
}

impl Watcher {
    pub(super) fn new(path: PathBuf, health: Arc<Health>) -> Self {
        let (wakeups, own, polling) = (Wakeups::default(), Arc::new(AtomicI64::new(-1)), Mutex::new(None));
        Self { path, health, wakeups, own, polling }
    }

    /// The writer has ended a transaction, with a commit if it wrote anything.
    pub(super) fn committed(&self, commit: Option<Commit>) {
        let interest = commit.map_or(Interest::Everything, |Commit { number, interest }| {
            let last = self.own.swap(number, Ordering::AcqRel);
            // What another process wrote between two commits of this one counts with the later of them.
            if number == last + 1 { interest } else { Interest::Everything }
        });
        self.wakeups.wake(interest);
    }

    pub(super) fn subscribe(&self, wake: Wake) -> Result<watch::Receiver<u64>, StoreError> {
        self.watch_others()?;
        Ok(self.wakeups.of(wake).subscribe())
    }

    fn watch_others(&self) -> Result<(), StoreError> {
        let mut polling = self.polling.lock().unwrap_or_else(PoisonError::into_inner);
        if polling.is_none() {
            let (alive, end) = mpsc::channel();
            // Here, so that a file that goes away from now on is missed.
            let connection = connection::open_for_reading(&self.path)?;
            let health = Arc::downgrade(&self.health);
            let others =
                OtherProcesses { connection, health, wakeups: self.wakeups.clone(), own: Arc::clone(&self.own) };
            let last = others.read().unwrap_or_default();
            thread::Builder::new()
                .name("store-watcher".into())
                .spawn(move || others.run(&end, last))
                .map_err(StoreError::Thread)?;
            *polling = Some(alive);
        }
        Ok(())
    }
}

/// Watches for commits of other processes.
struct OtherProcesses {
    connection: Connection,
    health: Weak<Health>,
    wakeups: Wakeups,
    own: Arc<AtomicI64>,
}

impl OtherProcesses {
    fn run(self, end: &Receiver<()>, mut last: LastCommit) {
        while end.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let has_committed = self.has_another_committed(&mut last);
            if self.health.upgrade().is_some_and(|health| health.check()) || has_committed {
                self.wakeups.wake(Interest::Everything);
            }
        }
    }

    /// Whether another process has committed since the `last` time, and no subscriber was woken after that.
    fn has_another_committed(&self, last: &mut LastCommit) -> bool {
        // A file that can't be read now may be read again; what ails it is the health's to say.
        let Some(version) = self.version().ok().filter(|version| *version != last.version) else { return false };
        let number = changes::last_commit(&self.connection).unwrap_or(-1);
        // Earlier versions don't count: where the version moves and the number doesn't, it was one of these.
        let is_own = number != last.number && number == self.own.load(Ordering::Acquire);
        *last = LastCommit { version, number };
        !is_own
    }

    fn read(&self) -> rusqlite::Result<LastCommit> {
        Ok(LastCommit { version: self.version()?, number: changes::last_commit(&self.connection)? })
    }

    fn version(&self) -> rusqlite::Result<i64> {
        // Kept: to prepare it costs more than to ask.
        self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
    }
}

/// The last commit that was seen.
#[derive(Clone, Copy, Default)]
struct LastCommit {
    /// Another one after each commit of another connection.
    version: i64,
    /// The number of the last commit.
    number: i64,
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::{
        domain::{fixtures, status::RouterStatus},
        store::{Store, testing},
    };

    fn track(store: &Store, number: i64) {
        testing::track(store, "default", vec![fixtures::new(number)], DateTime::UNIX_EPOCH);
    }

    #[test]
    fn a_poll_that_brought_nothing_is_no_news_and_hides_none_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let (here, there) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
        track(&here, 1);
        let poll = |store: &Store, status: RouterStatus| {
            let row = store
                .reader()
                .unwrap()
                .find_exact("default", &fixtures::new(1).params.transaction_id)
                .unwrap()
                .unwrap();
            testing::observe(store, row, fixtures::says(status), DateTime::UNIX_EPOCH);
        };
        poll(&here, RouterStatus::Ongoing);
        let mut subscribers =
            [Wake::AnyCommit, Wake::Changes, Wake::NotAnswers].map(|wake| here.watcher.wakeups.of(wake).subscribe());
        let mut woken = || {
            subscribers.each_mut().map(|subscriber| {
                let is_woken = subscriber.has_changed().unwrap();
                subscriber.mark_unchanged();
                is_woken
            })
        };
        poll(&here, RouterStatus::Ongoing);
        assert_eq!(woken(), [true, false, false]);
        poll(&here, RouterStatus::NeedsGas);
        assert_eq!(woken(), [true, true, false]);
        track(&here, 2);
        assert_eq!(woken(), [true, true, true]);
        // Between two looks after others somebody else wrote, and then we did.
        track(&there, 3);
        poll(&here, RouterStatus::NeedsGas);
        assert_eq!(woken(), [true, true, true]);
        poll(&here, RouterStatus::NeedsGas);
        assert_eq!(woken(), [true, false, false]);
    }

    #[test]
    fn who_was_woken_for_a_commit_of_our_own_is_not_woken_for_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let (here, there) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
        let others = OtherProcesses {
            connection: connection::open_for_reading(&path).unwrap(),
            health: Weak::new(),
            wakeups: here.watcher.wakeups.clone(),
            own: Arc::clone(&here.watcher.own),
        };
        let (mut last, mut tracked) = (others.read().unwrap(), 0);
        let mut sees = |last: &mut LastCommit, by: &[&Store]| {
            for store in by {
                tracked += 1;
                track(store, tracked);
            }
            others.has_another_committed(last)
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
        assert!(others.has_another_committed(&mut last) && !others.has_another_committed(&mut last));
    }
}
