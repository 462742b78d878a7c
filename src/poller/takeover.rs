//! The lock by which exactly one process polls a profile of a store, and the takeover after that process ended.
//!
//! The lock is a kernel lock on a file beside the store, and ends with its process. This module sends no request, and
//! must never decide about the budget, which processes on other stores share.

use std::time::Duration;

use super::{
    report::{self, REPORT_VALIDITY},
    setup::{PollerError, PollerSetup},
    transport::ServiceTransport,
};
use crate::{
    domain::poller::{PollerHealth, PollerReport},
    process::lock::KernelLock,
    store::{SharedReader, StoreError},
};

/// The time between two attempts to take over. The slot of a dead process expires after 9 s (at 1 RPS or more), so the next
/// request is sent within 10 s.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

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
