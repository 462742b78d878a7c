//! Wakes subscribers: at once for commits of this process, within 250 ms for commits of other processes
//! (`PRAGMA data_version`), and when the store's health changes.
//!
//! A wakeup carries no changes. The thread that polls for other processes' commits starts with the first subscriber.

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicI64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use tokio::sync::watch;

use super::{
    commit::{Commit, CommitContent},
    error::{Result, StoreError},
    file::health::StoreHealth,
    reader::Reader,
    tables::changes,
};

/// The interval of checks for other processes' commits (`DESIGN.md`, One picture).
const INTERVAL: Duration = Duration::from_millis(250);

/// Which commits of this process wake a subscriber. Commits of other processes and changes of the store's health wake
/// every subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeKind {
    /// Every commit.
    AnyCommit,
    /// Commits that contain more than polls without changes.
    Changes,
    /// Commits that contain more than observations.
    ExceptOwnObservations,
}

pub(super) struct Watcher {
    health: Arc<StoreHealth>,
    wakeups: Wakeups,
    /// The number of the last commit by this process's writer; -1 before the first.
    last_own_commit: Arc<AtomicI64>,
    /// Asks the thread that polls for other processes' commits to do it now. Dropping this sender ends the thread.
    poll_thread: Mutex<Option<Sender<()>>>,
}

/// One channel for each kind of [`WakeKind`]; its value counts the wakeups.
#[derive(Clone, Default)]
struct Wakeups {
    any_commit: watch::Sender<u64>,
    changes: watch::Sender<u64>,
    except_own_observations: watch::Sender<u64>,
}

impl Wakeups {
    fn sender(&self, wake: WakeKind) -> &watch::Sender<u64> {
        match wake {
            WakeKind::AnyCommit => &self.any_commit,
            WakeKind::Changes => &self.changes,
            WakeKind::ExceptOwnObservations => &self.except_own_observations,
        }
    }

    fn wake(&self, content: CommitContent) {
        let thresholds = [
            (WakeKind::AnyCommit, CommitContent::Nothing),
            (WakeKind::Changes, CommitContent::Observations),
            (WakeKind::ExceptOwnObservations, CommitContent::Everything),
        ];
        for (wake, minimum) in thresholds {
            if content >= minimum {
                self.sender(wake).send_modify(|count| *count += 1);
            }
        }
    }
}

impl Watcher {
    pub(super) fn new(health: Arc<StoreHealth>) -> Self {
        let last_own_commit = Arc::new(AtomicI64::new(-1));
        Self { health, wakeups: Wakeups::default(), last_own_commit, poll_thread: Mutex::default() }
    }

    /// Called by the writer after each transaction that wrote something or failed, with its commit if something was
    /// written.
    pub(super) fn on_commit(&self, commit: Option<Commit>) {
        let content = commit.map_or(CommitContent::Everything, |Commit { number, content }| {
            let last = self.last_own_commit.swap(number, Ordering::AcqRel);
            // A gap in the numbers means that another process committed in between. The wakeup must cover that commit
            // too.
            if number == last + 1 { content } else { CommitContent::Everything }
        });
        self.wakeups.wake(content);
    }

    pub(super) fn subscribe(&self, wake: WakeKind) -> Result<watch::Receiver<u64>> {
        self.start_polling()?;
        Ok(self.wakeups.sender(wake).subscribe())
    }

    /// Wakes the subscribers now if another process has committed.
    pub(super) fn wake_if_changed(&self) {
        if let Some(thread) = &*self.poll_thread.lock().unwrap_or_else(PoisonError::into_inner) {
            thread.send(()).ok();
        }
    }

    fn start_polling(&self) -> Result<()> {
        let mut poll_thread = self.poll_thread.lock().unwrap_or_else(PoisonError::into_inner);
        if poll_thread.is_none() {
            let (sender, requests) = mpsc::channel();
            // Opened here, not in the thread, so that a file that disappears from now on is noticed.
            let others = self.open_others()?;
            thread::Builder::new()
                .name("store-watcher".into())
                .spawn(move || others.run(&requests))
                .map_err(StoreError::Thread)?;
            *poll_thread = Some(sender);
        }
        Ok(())
    }

    fn open_others(&self) -> Result<OtherProcesses> {
        let reader = Reader::open(self.health.path())?;
        Ok(OtherProcesses {
            last: LastCommit::read(&reader).unwrap_or_default(),
            reader,
            health: Arc::downgrade(&self.health),
            wakeups: self.wakeups.clone(),
            last_own_commit: Arc::clone(&self.last_own_commit),
        })
    }

    /// Returns the checks of the thread as steps of a simulation. No thread starts from now on.
    pub(super) fn in_steps(&self) -> Result<WatcherSteps> {
        let others = self.open_others()?;
        *self.poll_thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(mpsc::channel().0);
        Ok(WatcherSteps(others))
    }
}

/// The checks for other processes' commits, run by a simulation instead of a thread.
pub struct WatcherSteps(OtherProcesses);

impl WatcherSteps {
    /// Checks once, as the thread does every 250 ms.
    pub fn check(&mut self) {
        self.0.check();
    }
}

/// Polls for commits of other processes.
struct OtherProcesses {
    reader: Reader,
    health: Weak<StoreHealth>,
    wakeups: Wakeups,
    last_own_commit: Arc<AtomicI64>,
    last: LastCommit,
}

impl OtherProcesses {
    /// Checks at each interval, and whenever a message comes, until the sender is dropped.
    fn run(mut self, requests: &Receiver<()>) {
        loop {
            match requests.recv_timeout(INTERVAL) {
                Ok(()) => self.wake_if_another_committed(false),
                Err(RecvTimeoutError::Timeout) => self.check(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Checks the store at each interval. The health counts the intervals.
    fn check(&mut self) {
        self.reader.refresh();
        let is_faulty = self.health.upgrade().is_some_and(|health| health.check());
        self.wake_if_another_committed(is_faulty);
    }

    fn wake_if_another_committed(&mut self, is_faulty: bool) {
        if self.has_another_committed() || is_faulty {
            self.wakeups.wake(CommitContent::Everything);
        }
    }

    /// Whether another process has committed since the last check, and no later commit of this process has woken the
    /// subscribers.
    fn has_another_committed(&mut self) -> bool {
        // A failed read may succeed later. Reporting permanent faults is the task of [`StoreHealth`].
        let version = data_version(&self.reader).ok().filter(|version| *version != self.last.version);
        let Some(version) = version else { return false };
        let number = changes::last_commit(self.reader.db()).unwrap_or(-1);
        // Earlier versions of hoptop don't number their commits: then the data version changes and the number doesn't.
        let is_own = number != self.last.number && number == self.last_own_commit.load(Ordering::Acquire);
        self.last = LastCommit { version, number };
        !is_own
    }
}

/// The last commit that was seen.
#[derive(Clone, Copy, Default)]
struct LastCommit {
    /// `PRAGMA data_version`, which changes after each commit of another connection.
    version: i64,
    number: i64,
}

impl LastCommit {
    fn read(reader: &Reader) -> rusqlite::Result<Self> {
        Ok(Self { version: data_version(reader)?, number: changes::last_commit(reader.db())? })
    }
}

fn data_version(reader: &Reader) -> rusqlite::Result<i64> {
    // The statement is cached: preparing it costs more than running it.
    reader.db().prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
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
    fn unchanged_poll_wakes_few_subscribers_and_hides_no_commit_of_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let (here, there) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
        track(&here, 1);
        let poll = |store: &Store, status: RouterStatus| {
            let row = store
                .reader()
                .unwrap()
                .find_tracked("default", &fixtures::new(1).params.transaction_id)
                .unwrap()
                .unwrap();
            testing::observe(store, row, fixtures::says(status), DateTime::UNIX_EPOCH);
        };
        poll(&here, RouterStatus::Ongoing);
        let mut subscribers = [WakeKind::AnyCommit, WakeKind::Changes, WakeKind::ExceptOwnObservations]
            .map(|wake| here.watcher.wakeups.sender(wake).subscribe());
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
        // Between two checks another process commits, and then this process.
        track(&there, 3);
        poll(&here, RouterStatus::NeedsGas);
        assert_eq!(woken(), [true, true, true]);
        poll(&here, RouterStatus::NeedsGas);
        assert_eq!(woken(), [true, false, false]);
    }

    #[test]
    fn own_commit_does_not_wake_subscribers_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let (here, there) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
        let (mut others, mut tracked) = (here.watcher.open_others().unwrap(), 0);
        let mut sees = |by: &[&Store]| {
            for store in by {
                tracked += 1;
                track(store, tracked);
            }
            others.has_another_committed()
        };
        assert!(!sees(&[]) && !sees(&[&here]) && !sees(&[&here, &here]));
        assert!(sees(&[&there]) && !sees(&[]));
        // The later commit of this process has woken the subscribers, which then see the earlier commit too.
        assert!(!sees(&[&there, &here]));
        assert!(sees(&[&here, &there]) && sees(&[&there, &there]) && !sees(&[&here]));
        // An earlier version of hoptop doesn't number its commits.
        let earlier = || {
            rusqlite::Connection::open(&path).unwrap().execute_batch("UPDATE transactions SET ticket = 'x'").unwrap()
        };
        earlier();
        assert!(others.has_another_committed() && !others.has_another_committed());
    }
}
