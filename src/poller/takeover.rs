//! The lock by which exactly one process polls a profile of a store, and the takeover after that process ended.
//!
//! The lock is a kernel lock on a file beside the store, and ends with its process. This module sends no request, and
//! must never decide about the budget, which processes on other stores share.

use std::time::Duration;

use chrono::TimeDelta;

use super::{
    report::{self, REPORT_VALIDITY},
    setup::{PollerError, PollerSetup},
    transport::ServiceTransport,
};
use crate::{
    clock::{Mono, Now},
    domain::poller::{PollerHealth, PollerReport},
    process::lock::KernelLock,
    schedule,
    store::{SharedReader, StoreError},
};

/// The time between two attempts to take over. The slot of a dead process expires after 9 s (at 1 RPS or more), so the
/// next request is sent within 10 s.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The largest difference between the clocks that isn't a change of the wall clock, but of its rate.
const CLOCK_TOLERANCE: TimeDelta = TimeDelta::milliseconds(20);

/// Returns the moment from which this process may poll, if the last report of another process says that it must wait:
/// no transaction is polled twice within five seconds.
pub(super) fn begin_after(last: &PollerReport, now: Now) -> Option<Mono> {
    match last.health {
        PollerHealth::Waiting => None,
        PollerHealth::Stopped => {
            // After a restart of the machine the uptime is smaller.
            let since_stop = now.mono.0.checked_sub(last.uptime?)?;
            let was_set_forward = now.wall - last.at > TimeDelta::from_std(since_stop).ok()? + CLOCK_TOLERANCE;
            // The moments of the stored answers are too far in the past by the new time.
            was_set_forward.then(|| now.mono + schedule::LEAST_INTERVAL.saturating_sub(since_stop))
        }
        // It has died. It may have asked about any transaction just before, and its answers aren't stored.
        PollerHealth::Live
        | PollerHealth::Paused
        | PollerHealth::Throttled
        | PollerHealth::Unreachable
        | PollerHealth::Unauthorized
        | PollerHealth::Unknown => Some(now.mono + schedule::LEAST_INTERVAL),
    }
}

/// Waits until this process may poll. Returns `None` at once if no other process uses the store.
pub(super) async fn acquire_poller_lock<W: ServiceTransport>(
    setup: &PollerSetup<W>,
) -> Result<Option<KernelLock>, PollerError> {
    if setup.shared.is_none() {
        return Ok(None);
    }
    let path = KernelLock::beside(setup.store.path(), "poller", &setup.profile);
    let (mut tries, mut reader) = (0, None);
    loop {
        setup.heartbeat.beat();
        let path = path.clone();
        if let Some(role) = setup.clock.run_blocking(move || KernelLock::try_take(&path)).await?? {
            return Ok(Some(role));
        }
        // The other process may have started so recently that its first report is still missing.
        tries += 1;
        if tries > 4 {
            report_waiting(setup, &mut reader).await?;
        }
        setup.clock.sleep_until(setup.clock.now().mono + RETRY_INTERVAL).await;
    }
}

/// Reports that this process waits, if the process that holds the lock hasn't reported for long: it may be suspended.
/// `reader` is kept for the next call: opening one costs more than the read.
async fn report_waiting<W: ServiceTransport>(
    setup: &PollerSetup<W>,
    reader: &mut Option<SharedReader>,
) -> Result<(), PollerError> {
    let (store, profile, at) = (setup.store.clone(), setup.profile.clone(), setup.clock.now().wall);
    let known = reader.take();
    let read = move || {
        let reader = known.map_or_else(|| store.reader().map(SharedReader::new), Ok)?;
        let last = reader.read(|reader| reader.poller(&profile))?;
        Ok::<_, StoreError>((reader, last))
    };
    let (kept, last) = setup.clock.run_blocking(read).await??;
    *reader = Some(kept);
    if last.is_some_and(|last| last.is_live(at) && last.health != PollerHealth::Waiting) {
        return Ok(());
    }
    let waiting = PollerReport {
        at,
        id: setup.shown_id.clone(),
        fingerprint: setup.shown_fingerprint(),
        rps: setup.rps,
        health: PollerHealth::Waiting,
        valid_until: at + setup.clock.to_wall_duration(REPORT_VALIDITY),
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
        let mono = Mono(STOPPED_AT + after);
        let wall = last.at + TimeDelta::from_std(after).unwrap() + set_forward;
        begin_after(last, Now { mono, wall }).map(|moment| moment.since(mono))
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
        assert_eq!(wait_after(&stopped, seconds(60), hour), Some(seconds(0)));
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
