//! The daily backup of a long-running process, on a thread of its own.
//!
//! The thread must never hold the store open: a process that ends doesn't wait for an unfinished copy.

use std::{
    path::{Path, PathBuf},
    sync::{
        Weak,
        mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError},
    },
    thread,
    time::Duration,
};

use super::{
    backup,
    health::{Health, Trouble},
};
use crate::clock::Clock;
use crate::store::error::StoreError;

/// How long after the start it looks first: by then the first screen is drawn.
const FIRST: Duration = Duration::from_secs(5);
/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(600);

/// Makes backups until it is dropped.
#[derive(Debug)]
pub struct BackupSchedule {
    _alive: Sender<()>,
}

impl BackupSchedule {
    pub(in crate::store) fn start(path: PathBuf, health: Weak<Health>, clock: Clock) -> Result<Self, StoreError> {
        let (alive, end) = mpsc::channel();
        let keep = move || {
            let mut wait = FIRST;
            while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                run(&path, &health, &clock, &end);
                wait = INTERVAL;
            }
        };
        thread::Builder::new().name("store-keeper".into()).spawn(keep).map_err(StoreError::Thread)?;
        Ok(Self { _alive: alive })
    }
}

fn run(path: &Path, health: &Weak<Health>, clock: &Clock, end: &Receiver<()>) {
    let goes_on = || end.try_recv() == Err(TryRecvError::Empty);
    match backup::daily(path, clock.now().wall, &goes_on) {
        Ok(Some(report)) => tracing::info!(?report, "the day's backup is made"),
        Ok(None) => {}
        Err(error) => {
            tracing::error!("{error}");
            // The copy is verified: what it says of damage is true of the store.
            if let (StoreError::Broken(reason), Some(health)) = (error, health.upgrade()) {
                health.note(&Trouble::Broken(reason));
            }
        }
    }
}
