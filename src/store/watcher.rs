//! Wakes readers: at once for commits of this process, within 250 ms for those of others (`PRAGMA data_version`).
//!
//! It says only that something changed, or that there is news of the store's health; to those who ask for it, not that this
//! process polled something that is as it was, or not what its answers said. The thread that looks after other processes
//! starts with the first subscriber.

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
    changes, connection,
    error::StoreError,
    health::Health,
    writer::{Commit, Wrote},
};

/// How soon a commit of another process is seen (`DESIGN.md`, One picture).
const INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct Watcher {
    path: PathBuf,
    health: Arc<Health>,
    bells: Bells,
    /// The number of the last commit of our writer; -1 before the first.
    own: Arc<AtomicI64>,
    /// The looking thread ends when this sender goes.
    looking: Mutex<Option<Sender<()>>>,
}

/// What those who follow the store wait for.
#[derive(Clone, Default)]
struct Bells {
    /// Rings for everything.
    commits: watch::Sender<u64>,
    /// Rings but for polls of our own that changed nothing.
    news: watch::Sender<u64>,
    /// Rings but for answers of our own.
    but_answers: watch::Sender<u64>,
}

impl Bells {
    fn ring(&self, wrote: Wrote) {
        let bells = [(&self.commits, Wrote::Nothing), (&self.news, Wrote::Answer), (&self.but_answers, Wrote::News)];
        for (bell, least) in bells {
            if wrote >= least {
                bell.send_modify(|count| *count += 1);
            }
        }
    }
}

impl Watcher {
    pub(super) fn new(path: PathBuf, health: Arc<Health>) -> Self {
        Self { path, health, bells: Bells::default(), own: Arc::new(AtomicI64::new(-1)), looking: Mutex::new(None) }
    }

    /// Our writer has ended a batch, with a commit if it wrote anything.
    pub(super) fn batch_ended(&self, commit: Option<Commit>) {
        let wrote = commit.map_or(Wrote::News, |Commit { number, wrote }| {
            let last = self.own.swap(number, Ordering::AcqRel);
            // What another process wrote between our commits is taken for ours from now on, and is news.
            if number == last + 1 { wrote } else { Wrote::News }
        });
        self.bells.ring(wrote);
    }

    pub(super) fn subscribe(&self) -> Result<watch::Receiver<u64>, StoreError> {
        self.look_after_others()?;
        Ok(self.bells.commits.subscribe())
    }

    pub(super) fn subscribe_to_news(&self) -> Result<watch::Receiver<u64>, StoreError> {
        self.look_after_others()?;
        Ok(self.bells.news.subscribe())
    }

    pub(super) fn subscribe_but_for_answers(&self) -> Result<watch::Receiver<u64>, StoreError> {
        self.look_after_others()?;
        Ok(self.bells.but_answers.subscribe())
    }

    fn look_after_others(&self) -> Result<(), StoreError> {
        let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        if looking.is_none() {
            let (alive, end) = mpsc::channel();
            // Here, so that a file that goes away from now on is missed.
            let connection = connection::open_for_reading(&self.path)?;
            let health = Arc::downgrade(&self.health);
            let lookout = Lookout { connection, health, bells: self.bells.clone(), own: Arc::clone(&self.own) };
            let last = lookout.look().unwrap_or_default();
            thread::Builder::new()
                .name("store-watcher".into())
                .spawn(move || lookout.run(&end, last))
                .map_err(StoreError::Thread)?;
            *looking = Some(alive);
        }
        Ok(())
    }
}

/// Looks after other processes.
struct Lookout {
    connection: Connection,
    health: Weak<Health>,
    bells: Bells,
    own: Arc<AtomicI64>,
}

impl Lookout {
    fn run(self, end: &Receiver<()>, mut last: Seen) {
        while end.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            let has_committed = self.has_another_committed(&mut last);
            if self.health.upgrade().is_some_and(|health| health.look()) || has_committed {
                self.bells.ring(Wrote::News);
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
    use crate::{
        domain::{fixtures, status::RouterStatus},
        store::{Seen as Answer, Store},
    };

    fn track(store: &Store, number: i64) {
        store.import("default", vec![fixtures::new(number)], DateTime::UNIX_EPOCH).wait().unwrap();
    }

    #[test]
    fn a_poll_that_brought_nothing_is_no_news_and_hides_none_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let (here, there) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
        track(&here, 1);
        let poll = |store: &Store, status: RouterStatus| {
            let row = store.reader().unwrap().known("default", &fixtures::new(1).told.transaction_id).unwrap().unwrap();
            let seen = Answer { transaction: row, observation: fixtures::says(status), at: DateTime::UNIX_EPOCH };
            store.observe(seen, |_, _, _| Vec::new()).wait().unwrap();
        };
        poll(&here, RouterStatus::Ongoing);
        let bells = &here.watcher.bells;
        let mut waiting = [bells.commits.subscribe(), bells.news.subscribe(), bells.but_answers.subscribe()];
        let mut rang = || {
            waiting.each_mut().map(|bell| {
                let rang = bell.has_changed().unwrap();
                bell.mark_unchanged();
                rang
            })
        };
        poll(&here, RouterStatus::Ongoing);
        assert_eq!(rang(), [true, false, false]);
        poll(&here, RouterStatus::NeedsGas);
        assert_eq!(rang(), [true, true, false]);
        track(&here, 2);
        assert_eq!(rang(), [true, true, true]);
        // Between two looks after others somebody else wrote, and then we did.
        track(&there, 3);
        poll(&here, RouterStatus::NeedsGas);
        assert_eq!(rang(), [true, true, true]);
        poll(&here, RouterStatus::NeedsGas);
        assert_eq!(rang(), [true, false, false]);
    }

    #[test]
    fn who_was_woken_for_a_commit_of_our_own_is_not_woken_for_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let (here, there) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
        let lookout = Lookout {
            connection: connection::open_for_reading(&path).unwrap(),
            health: Weak::new(),
            bells: here.watcher.bells.clone(),
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
