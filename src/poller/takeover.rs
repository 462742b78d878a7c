//! Taking over from another process: of those on one profile of one store exactly one polls.
//!
//! A kernel lock beside the store says who; it goes with its process. It sends nothing itself, and decides nothing about the
//! budget, which processes on other stores share.

use std::time::Duration;

use tokio::task::spawn_blocking;

use super::{
    report::{self, SILENT},
    setup::{PollerError, Setup},
    wire::Wire,
};
use crate::{
    domain::poller::{PollerHealth, PollerReport},
    process::lock::KernelLock,
};

/// Between two tries to take over: with what a request of a dead process may still cost, less than 10 s pass until the next
/// one is sent.
const INTERVAL: Duration = Duration::from_millis(500);

/// Waits until this process is the one that polls; nothing if the store is nobody else's.
pub(super) async fn take_role<W: Wire>(setup: &Setup<W>) -> Result<Option<KernelLock>, PollerError> {
    if setup.shared.is_none() {
        return Ok(None);
    }
    let path = KernelLock::beside(setup.store.path(), "poller", &setup.profile);
    let mut tries = 0;
    loop {
        let path = path.clone();
        if let Some(role) = spawn_blocking(move || KernelLock::try_take(&path)).await?? {
            return Ok(Some(role));
        }
        // At first the other may be about to say that it polls.
        tries += 1;
        if tries > 4 {
            report_waiting(setup).await?;
        }
        setup.clock.sleep_until(setup.clock.now().mono + INTERVAL).await;
    }
}

/// Says that another process should poll and doesn't, if it has said nothing for long: it may be stopped.
async fn report_waiting<W: Wire>(setup: &Setup<W>) -> Result<(), PollerError> {
    let (store, profile, at) = (setup.store.clone(), setup.profile.clone(), setup.clock.now().wall);
    let last = spawn_blocking(move || store.reader()?.poller(&profile)).await??;
    if last.is_some_and(|last| last.is_live(at) && last.health != PollerHealth::Waiting) {
        return Ok(());
    }
    let waiting = PollerReport {
        at,
        id: setup.shown_id.clone(),
        fingerprint: setup.fingerprint.clone(),
        rps: setup.rps,
        health: PollerHealth::Waiting,
        valid_until: at + setup.clock.on_the_wall(SILENT),
        ..PollerReport::default()
    };
    report::submit(&setup.store, &setup.clock, &setup.profile, waiting);
    Ok(())
}
