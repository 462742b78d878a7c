//! The lock under which one process of a machine appends to the log and applies it, so that each process gets the results of
//! its own writes.
//!
//! A process that is suspended must never hold up the others: they wait only while the holder gives signs. The store's own
//! lock keeps the order of the entries in either case.

use std::{path::Path, time::Duration};

use tokio::task::JoinHandle;

use super::session_error::SessionError;
use crate::{clock::Clock, process::lock::KernelLock, store::StoreError};

/// The pause before the second try to take the lock, and the longest pause.
const FIRST_RETRY: Duration = Duration::from_millis(1);
const LAST_RETRY: Duration = Duration::from_millis(50);
/// How long a process waits for a holder that gives no sign.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a holder gives a sign.
const SIGN_INTERVAL: Duration = Duration::from_millis(500);

/// The lock, or the right to go on without it.
pub(super) struct LogLock {
    _lock: Option<KernelLock>,
    signs: Option<JoinHandle<()>>,
}

impl Drop for LogLock {
    fn drop(&mut self) {
        self.signs.iter().for_each(JoinHandle::abort);
    }
}

/// Waits for the lock, or until its holder has given no sign for [`PATIENCE`].
pub(super) async fn lock(path: &Path, clock: &Clock) -> Result<LogLock, SessionError> {
    let (mut until, mut pause) = (clock.now().mono + PATIENCE, FIRST_RETRY);
    let mut sign = KernelLock::last_sign(path);
    loop {
        let taken = KernelLock::try_take(path).map_err(|error| StoreError::Log(error.to_string()))?;
        if let Some(taken) = taken {
            let signs = tokio::spawn(give_signs(path.to_owned(), clock.clone()));
            return Ok(LogLock { _lock: Some(taken), signs: Some(signs) });
        }
        let now = clock.now().mono;
        let latest = KernelLock::last_sign(path);
        if latest != sign {
            (sign, until) = (latest, now + PATIENCE);
        }
        if now >= until {
            return Ok(LogLock { _lock: None, signs: None });
        }
        clock.sleep_until(now + pause).await;
        pause = (pause * 2).min(LAST_RETRY);
    }
}

async fn give_signs(path: std::path::PathBuf, clock: Clock) {
    loop {
        clock.sleep_until(clock.now().mono + SIGN_INTERVAL).await;
        if let Err(error) = KernelLock::give_sign(&path) {
            tracing::warn!("{} can't be written: {error}", path.display());
        }
    }
}
