//! The lock by which exactly one process polls a profile of a store, and the takeover after that process ended.
//!
//! The lock is a kernel lock on a file beside the store, and ends with its process. This module sends no request, and
//! must never decide about the budget, which processes on other stores share.

use std::time::Duration;

use chrono::TimeDelta;

use super::{
    report,
    setup::{PollerError, PollerSetup},
};
use crate::{
    clock::{MonotonicTime, Now},
    domain::{
        poller::{PollerHealth, PollerReport},
        span,
    },
    process::lock::KernelLock,
    schedule,
    store::SharedReader,
};

/// The time between two attempts to take over. The slot of a dead process expires after 9 s (at 1 RPS or more), so the
/// next request is sent within 10 s.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The largest difference between the clocks that isn't a change of the wall clock, but of its rate.
const CLOCK_TOLERANCE: TimeDelta = TimeDelta::milliseconds(20);

/// Remembers until when transactions may have been asked about later than the store says.
#[derive(Debug)]
pub(super) struct UnrecordedRequests {
    pub(super) last_at: Option<MonotonicTime>,
    compared_at: Now,
}

impl UnrecordedRequests {
    pub(super) fn new(now: Now) -> Self {
        Self { last_at: None, compared_at: now }
    }

    /// Adds a moment at which the answer to a request about a transaction wasn't stored.
    pub(super) fn add(&mut self, at: MonotonicTime) {
        self.last_at = self.last_at.max(Some(at));
    }

    /// Compares the clocks at `now` with those of the last call: when the wall clock is set forward, the moments of
    /// earlier answers seem to lie longer ago.
    pub(super) fn compare_clocks(&mut self, now: Now) {
        if was_set_forward(now.wall - self.compared_at.wall, now.mono.since(self.compared_at.mono)) {
            self.add(now.mono);
        }
        self.compared_at = now;
    }
}

/// Whether the wall clock was set forward in a time in which it went on by `wall`, and the monotonic clock by `mono`.
fn was_set_forward(wall: TimeDelta, mono: Duration) -> bool {
    TimeDelta::from_std(mono).is_ok_and(|mono| wall > mono + CLOCK_TOLERANCE)
}

/// Returns the last moment at which another process may have sent a request that the store doesn't know, if that was
/// less than five seconds ago: no transaction is polled twice within this time.
pub(super) fn unrecorded_by(last: &PollerReport, now: Now) -> Option<MonotonicTime> {
    match last.health {
        PollerHealth::Waiting => None,
        PollerHealth::Stopped => {
            let stopped_at = last.uptime?;
            // After a restart of the machine the uptime is smaller.
            let since_stop = now.mono.0.checked_sub(stopped_at)?;
            // The moments of the answers that were stored before are too far in the past by the new time.
            let is_set_since = was_set_forward(now.wall - last.at, since_stop);
            let unrecorded_at = if is_set_since { Some(stopped_at) } else { last.unrecorded_at };
            unrecorded_at.map(MonotonicTime).filter(|moment| *moment + schedule::MIN_INTERVAL > now.mono)
        }
        // The process died. It may have sent requests whose answers aren't stored.
        PollerHealth::Live
        | PollerHealth::Paused
        | PollerHealth::Throttled
        | PollerHealth::Unreachable
        | PollerHealth::Unauthorized
        | PollerHealth::Unknown => Some(now.mono),
    }
}

/// Waits until this process may poll. Returns `None` at once if no other process uses the store.
pub(super) async fn acquire_poller_lock<T>(setup: &PollerSetup<T>) -> Result<Option<KernelLock>, PollerError> {
    if setup.budget_folder.is_none() {
        return Ok(None);
    }
    let path = KernelLock::beside(setup.store.path(), "poller", &setup.profile);
    let (mut tries, mut reader) = (0, None);
    loop {
        setup.heartbeat.beat();
        let path = path.clone();
        if let Some(poller_lock) = setup.clock.run_blocking(move || KernelLock::try_take(&path)).await?? {
            return Ok(Some(poller_lock));
        }
        // The other process may have started so recently that its first report is still missing.
        tries += 1;
        if tries > 4 {
            // Opening a reader costs more than a read, so that it is kept.
            let opened = match reader.take() {
                Some(opened) => opened,
                None => SharedReader::new(setup.store.reader()?),
            };
            report_waiting(setup, reader.insert(opened).clone()).await?;
        }
        setup.clock.sleep_until(setup.clock.now().mono + RETRY_INTERVAL).await;
    }
}

/// How often a waiting process reports that it waits.
const WAITING_REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// Reports that this process waits, if the process that holds the lock hasn't reported for long: it may be suspended.
async fn report_waiting<T>(setup: &PollerSetup<T>, reader: SharedReader) -> Result<(), PollerError> {
    let (profile, at) = (setup.profile.clone(), setup.clock.now().wall);
    let last = setup.clock.run_blocking(move || reader.read(|reader| reader.poller(&profile))).await??;
    let is_new = |last: &PollerReport| {
        last.health != PollerHealth::Waiting || span::between(last.at, at) < WAITING_REPORT_INTERVAL
    };
    if last.is_some_and(|last| last.is_live(at) && is_new(&last)) {
        return Ok(());
    }
    let waiting = PollerReport {
        at,
        id: setup.shown_id.clone(),
        fingerprint: setup.report_id(),
        rps: setup.rps,
        health: PollerHealth::Waiting,
        valid_until: at + setup.clock.to_wall_duration(PollerReport::VALIDITY),
        ..PollerReport::default()
    };
    report::submit(&setup.store, &setup.clock, &setup.profile, waiting);
    Ok(())
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    const STOPPED_AT: Duration = Duration::from_secs(1_000);

    /// Returns how long a process waits that starts after this time, with the wall clock set forward meanwhile.
    fn wait_after(last: &PollerReport, after: Duration, set_forward: TimeDelta) -> Option<Duration> {
        let mono = MonotonicTime(STOPPED_AT + after);
        let wall = last.at + TimeDelta::from_std(after).unwrap() + set_forward;
        unrecorded_by(last, Now { mono, wall }).map(|moment| (moment + schedule::MIN_INTERVAL).since(mono))
    }

    #[test]
    fn only_a_wall_clock_that_was_set_forward_is_noticed() {
        let now = |mono, wall| Now {
            mono: MonotonicTime(Duration::from_secs(mono)),
            wall: DateTime::from_timestamp(wall, 0).unwrap(),
        };
        let mut unrecorded = UnrecordedRequests::new(now(0, 100));
        for (mono, wall, expected) in
            [(1, 101, None), (2, 90, None), (3, 91, None), (4, 117, Some(4)), (9, 122, Some(4))]
        {
            unrecorded.compare_clocks(now(mono, wall));
            assert_eq!(unrecorded.last_at, expected.map(|at| MonotonicTime(Duration::from_secs(at))), "{mono}");
        }
    }

    #[test]
    fn poller_waits_out_what_the_last_one_may_have_asked() {
        let report =
            |health, uptime| PollerReport { at: DateTime::UNIX_EPOCH, health, uptime, ..PollerReport::default() };
        let seconds = Duration::from_secs;
        let (unchanged, hour) = (TimeDelta::zero(), TimeDelta::hours(1));
        let stopped = report(PollerHealth::Stopped, Some(STOPPED_AT));
        assert_eq!(wait_after(&stopped, seconds(1), unchanged), None, "the moments of the answers are right");
        assert_eq!(wait_after(&stopped, seconds(1), TimeDelta::milliseconds(2)), None, "the clock only runs faster");
        assert_eq!(wait_after(&stopped, seconds(1), hour), Some(seconds(4)));
        assert_eq!(wait_after(&stopped, seconds(60), hour), None);
        let unrecorded = PollerReport { unrecorded_at: Some(STOPPED_AT - seconds(1)), ..stopped.clone() };
        assert_eq!(wait_after(&unrecorded, seconds(1), unchanged), Some(seconds(3)), "failed before");
        assert_eq!(wait_after(&unrecorded, seconds(1), hour), Some(seconds(4)), "and set forward since");
        assert_eq!(wait_after(&unrecorded, seconds(9), unchanged), None);
        assert_eq!(wait_after(&stopped, seconds(1), -hour), None, "the answers are in the future: the schedule waits");
        let before_a_restart = report(PollerHealth::Stopped, Some(STOPPED_AT * 2));
        assert_eq!(wait_after(&before_a_restart, seconds(1), hour), None);
        assert_eq!(
            wait_after(&report(PollerHealth::Stopped, None), seconds(1), hour),
            None,
            "of a team, or an old one"
        );
        assert_eq!(wait_after(&report(PollerHealth::Waiting, None), seconds(1), unchanged), None);
        assert_eq!(wait_after(&report(PollerHealth::Live, None), seconds(1), unchanged), Some(seconds(5)));
    }
}
