//! Waits for locks that another process holds, and announces a long wait.
//!
//! The module must never take a lock itself, nor interpret a failed wait.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use rusqlite::Connection;

use super::paths;
use crate::{
    process::lock_holder::{self, LockHolder},
    store::error::{LOCK_TIMEOUT, waiting_text},
};

/// The wait after which it is announced.
const ANNOUNCED_AFTER: Duration = Duration::from_secs(2);
/// The pauses, in milliseconds, between the first attempts to take a lock; the last one repeats.
const PAUSES: [u64; 8] = [1, 2, 5, 10, 15, 20, 25, LAST_PAUSE];
const LAST_PAUSE: u64 = 50;

/// The path of a store, and the function that announces long waits for its locks.
type LockAnnouncer = (PathBuf, fn(&str));

/// The announcer of this process; `None` if long waits aren't announced.
static ANNOUNCER: Mutex<Option<LockAnnouncer>> = Mutex::new(None);

fn announcer() -> MutexGuard<'static, Option<LockAnnouncer>> {
    ANNOUNCER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While it exists, long waits of this process for a store's lock are announced.
#[derive(Debug)]
pub(crate) struct LockAnnouncement {
    /// The announcer before this one, which announces again afterwards.
    previous: Option<LockAnnouncer>,
}

impl LockAnnouncement {
    /// Announces waits for the locks of the store at `path`: `print` gets one sentence for each wait of two seconds.
    pub(crate) fn start(path: &Path, print: fn(&str)) -> Self {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { previous: announcer().replace((path, print)) }
    }
}

impl Drop for LockAnnouncement {
    fn drop(&mut self) {
        *announcer() = self.previous.take();
    }
}

/// Makes a connection wait for the locks of other processes, up to [`LOCK_TIMEOUT`].
pub(crate) fn wait_on(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(|attempts| wait(u32::try_from(attempts).unwrap_or(u32::MAX), LOCK_TIMEOUT)))
}

/// Waits a little before the next attempt. Returns `false` if the attempts have taken `limit` already. `attempts` is
/// the number of attempts before; 0 begins a wait.
pub(crate) fn wait(attempts: u32, limit: Duration) -> bool {
    let before = wait_duration(attempts);
    let pause = wait_duration(attempts.saturating_add(1)).saturating_sub(before);
    if before < ANNOUNCED_AFTER && before + pause >= ANNOUNCED_AFTER {
        announce();
    }
    if before + pause > limit {
        return false;
    }
    #[expect(clippy::disallowed_methods, reason = "SQLite asks on the thread that waits, and no lock wakes a thread")]
    thread::sleep(pause);
    true
}

/// Waits until `take` has taken a lock, however long that is.
pub(crate) fn wait_until(mut take: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let mut attempts = 0;
    while !take()? {
        wait(attempts, Duration::MAX);
        attempts = attempts.saturating_add(1);
    }
    Ok(())
}

/// Returns the sum of the pauses before this attempt.
fn wait_duration(attempts: u32) -> Duration {
    let known = PAUSES.iter().take(attempts as usize).sum::<u64>();
    let repeated = u64::from(attempts).saturating_sub(PAUSES.len() as u64);
    Duration::from_millis(known + repeated * LAST_PAUSE)
}

fn announce() {
    if let Some((path, print)) = &*announcer() {
        print(&waiting_text(holder(path).as_ref()));
    }
}

/// Returns the process that holds the lock of a store, if that is known.
pub(crate) fn holder(store: &Path) -> Option<LockHolder> {
    lock_holder::find(&[&paths::companion(store, "-shm"), store, &paths::marker(store)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_add_up_to_the_limit() {
        assert_eq!(wait_duration(0), Duration::ZERO);
        assert_eq!(wait_duration(3), Duration::from_millis(8));
        assert_eq!(wait_duration(10), Duration::from_millis(128 + 100));
        assert!(wait(0, Duration::from_secs(1)) && !wait(0, Duration::ZERO));
        assert!(!wait(u32::MAX, LOCK_TIMEOUT));
    }
}
