//! Wakes readers: at once for commits of this process, within 250 ms for those of others (`PRAGMA data_version`).
//!
//! It says only that something changed, or that there is news of the store's health. The thread that looks after other
//! processes starts with the first subscriber.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::watch;

use super::{connection, error::StoreError, health::Health};

/// How soon a commit of another process is seen (`DESIGN.md`, One picture).
const INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct Watcher {
    path: PathBuf,
    health: Arc<Health>,
    commits: watch::Sender<u64>,
    /// The looking thread ends when this sender goes.
    looking: Mutex<Option<Sender<()>>>,
}

impl Watcher {
    pub(super) fn new(path: PathBuf, health: Arc<Health>) -> Self {
        Self { path, health, commits: watch::Sender::new(0), looking: Mutex::new(None) }
    }

    pub(super) fn notify(&self) {
        self.commits.send_modify(|count| *count += 1);
    }

    pub(super) fn subscribe(&self) -> Result<watch::Receiver<u64>, StoreError> {
        let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        if looking.is_none() {
            let (alive, end) = mpsc::channel();
            // Here, so that a file that goes away from now on is missed.
            let connection = connection::open_for_reading(&self.path)?;
            let (health, commits) = (Arc::downgrade(&self.health), self.commits.clone());
            thread::Builder::new()
                .name("store-watcher".into())
                .spawn(move || look((&connection, &health), &commits, &end))
                .map_err(StoreError::Thread)?;
            *looking = Some(alive);
        }
        Ok(self.commits.subscribe())
    }
}

fn look((connection, health): (&Connection, &Weak<Health>), commits: &watch::Sender<u64>, end: &Receiver<()>) {
    // Kept: to prepare it costs more than to ask.
    let version = || connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get::<_, i64>(0));
    let mut last = version().unwrap_or_default();
    while end.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        // A file that can't be read now may be read again; what ails it is the health's to say.
        let next = version().unwrap_or(last);
        let has_news = health.upgrade().is_some_and(|health| health.look());
        if next != last || has_news {
            last = next;
            commits.send_modify(|count| *count += 1);
        }
    }
}
