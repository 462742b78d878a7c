//! The lock under which one process of a machine appends to the log and applies it. So each process gets the results of
//! its own writes.
//!
//! A process that is suspended must never hold up the others: they wait only while the holder writes heartbeats. The
//! store's own lock keeps the order of the entries in either case.

use std::{path::Path, time::Duration};

use tokio::task::JoinHandle;

use super::session_error::SessionError;
use crate::{
    clock::Clock,
    process::lock::KernelLock,
    store::{StoreError, StoreFault},
};

/// The pause before the second try to take the lock, and the longest pause.
const FIRST_RETRY: Duration = Duration::from_millis(1);
const LAST_RETRY: Duration = Duration::from_millis(50);
/// How long a process waits for a holder that writes no heartbeat.
const WAIT_LIMIT: Duration = Duration::from_secs(2);
/// How often a holder writes a heartbeat.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);

/// The lock, or the right to go on without it.
pub(super) struct LogLock {
    _lock: Option<KernelLock>,
    heartbeats: Option<JoinHandle<()>>,
}

impl Drop for LogLock {
    fn drop(&mut self) {
        self.heartbeats.iter().for_each(JoinHandle::abort);
    }
}

/// Waits for the lock, or until its holder has written no heartbeat for [`WAIT_LIMIT`].
pub(super) async fn lock(path: &Path, clock: &Clock) -> Result<LogLock, SessionError> {
    let (mut until, mut pause) = (clock.now().mono + WAIT_LIMIT, FIRST_RETRY);
    let mut heartbeat = KernelLock::last_heartbeat(path);
    loop {
        let taken = KernelLock::try_take(path).map_err(|error| StoreError::from(StoreFault::Log(error.to_string())))?;
        if let Some(taken) = taken {
            let heartbeats = tokio::spawn(write_heartbeats(path.to_owned(), clock.clone()));
            return Ok(LogLock { _lock: Some(taken), heartbeats: Some(heartbeats) });
        }
        let now = clock.now().mono;
        let latest = KernelLock::last_heartbeat(path);
        if latest != heartbeat {
            (heartbeat, until) = (latest, now + WAIT_LIMIT);
        }
        if now >= until {
            return Ok(LogLock { _lock: None, heartbeats: None });
        }
        clock.sleep_until(now + pause).await;
        pause = (pause * 2).min(LAST_RETRY);
    }
}

async fn write_heartbeats(path: std::path::PathBuf, clock: Clock) {
    loop {
        clock.sleep_until(clock.now().mono + HEARTBEAT_INTERVAL).await;
        if let Err(error) = KernelLock::write_heartbeat(&path) {
            tracing::warn!("{} can't be written: {error}", path.display());
        }
    }
}
