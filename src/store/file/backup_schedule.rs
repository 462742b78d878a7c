//! The daily backup of a long-running process, on its own thread.
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

use super::{backup, health::StoreHealth};
use crate::clock::Clock;
use crate::store::error::{Result, StoreError, StoreFault};

/// The time from the start to the first check: by then the first screen is drawn.
const FIRST_CHECK: Duration = Duration::from_secs(5);
/// The time between two checks.
const INTERVAL: Duration = Duration::from_secs(600);

/// Makes backups until it is dropped.
#[derive(Debug)]
pub struct BackupSchedule {
    _stop_sender: Sender<()>,
}

impl BackupSchedule {
    pub(in crate::store) fn start(path: PathBuf, health: Weak<StoreHealth>, clock: Clock) -> Result<Self> {
        let (stop_sender, stop_receiver) = mpsc::channel();
        let run_schedule = move || {
            let mut wait = FIRST_CHECK;
            while stop_receiver.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                back_up_if_due(&path, &health, &clock, &stop_receiver);
                wait = INTERVAL;
            }
        };
        thread::Builder::new().name("store-backups".into()).spawn(run_schedule).map_err(StoreError::Thread)?;
        Ok(Self { _stop_sender: stop_sender })
    }
}

fn back_up_if_due(path: &Path, health: &Weak<StoreHealth>, clock: &Clock, stop_receiver: &Receiver<()>) {
    let should_continue = || stop_receiver.try_recv() == Err(TryRecvError::Empty);
    match backup::make_daily(path, clock.now().wall, &should_continue) {
        Ok(Some(report)) => {
            tracing::info!(transactions = report.transactions, bytes = report.bytes, "daily backup created")
        }
        Ok(None) => {}
        // The program ends: the copy was cancelled, and the backup stays due.
        Err(StoreError::Backup { .. }) if !should_continue() => {}
        Err(error) => {
            tracing::error!("{error}");
            // The copy is verified, so damage of the copy is damage of the store.
            if let (StoreError::Fault(fault @ StoreFault::Damaged(_)), Some(health)) = (error, health.upgrade()) {
                health.report(&fault);
            }
        }
    }
}
