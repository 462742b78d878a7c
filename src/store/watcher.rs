//! Wakes readers: at once for commits of this process, within 250 ms for those of others (`PRAGMA data_version`).
//!
//! It says only that something changed. The thread that looks after other processes starts with the first subscriber.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use tokio::sync::watch;

use super::{connection, error::StoreError};

/// How soon a commit of another process is seen (`DESIGN.md`, One picture).
const INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct Watcher {
    path: PathBuf,
    commits: watch::Sender<u64>,
    /// The looking thread ends when this sender goes.
    looking: Mutex<Option<Sender<()>>>,
}

impl Watcher {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, commits: watch::Sender::new(0), looking: Mutex::new(None) }
    }

    pub(super) fn notify(&self) {
        self.commits.send_modify(|count| *count += 1);
    }

    pub(super) fn subscribe(&self) -> Result<watch::Receiver<u64>, StoreError> {
        let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        if looking.is_none() {
            let (alive, end) = mpsc::channel();
            let (path, commits) = (self.path.clone(), self.commits.clone());
            thread::Builder::new()
                .name("store-watcher".into())
                .spawn(move || {
                    if let Err(error) = look(&path, &commits, &end) {
                        tracing::error!("changes of other processes aren't seen any more: {error}");
                    }
                })
                .map_err(StoreError::Thread)?;
            *looking = Some(alive);
        }
        Ok(self.commits.subscribe())
    }
}

fn look(path: &Path, commits: &watch::Sender<u64>, end: &Receiver<()>) -> Result<(), StoreError> {
    let connection = connection::open_for_reading(path)?;
    let version = || connection.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0));
    let mut last = version()?;
    while end.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        let next = version()?;
        if next != last {
            last = next;
            commits.send_modify(|count| *count += 1);
        }
    }
    Ok(())
}
