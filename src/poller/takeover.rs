//! Taking the budget over from another process: waiting for its lease, and for what it left behind.
//!
//! It sends nothing itself, and must never let two processes spend the same second.

use std::time::Duration;

use tokio::task::spawn_blocking;

use super::{
    driver::{PollerError, SILENT, Setup},
    wire::Wire,
};
use crate::{budget::Lease, clock::Now, domain::span, store::PollerReport};

/// The longest that a lease's last holder may make the next one wait.
const LONGEST_HANDOVER: Duration = Duration::from_secs(11 * 60);
/// Between two tries to take the lease that another process holds.
const LEASE_INTERVAL: Duration = Duration::from_secs(2);

/// Waits until the lease is ours; nothing if the budget is nobody else's.
pub(super) async fn take_lease<W: Wire>(setup: &Setup<W>) -> Result<Option<Lease>, PollerError> {
    let Some(folder) = &setup.lease else { return Ok(None) };
    let mut tries = 0;
    loop {
        let (folder, fingerprint) = (folder.clone(), setup.fingerprint.clone());
        if let Some(lease) = spawn_blocking(move || Lease::try_take(&folder, &fingerprint)).await?? {
            return Ok(Some(lease));
        }
        // At first the holder may be about to say that it polls this very store.
        tries += 1;
        if tries > 1 {
            report_waiting(setup).await?;
        }
        setup.clock.sleep_until(setup.clock.now().mono + LEASE_INTERVAL).await;
    }
}

/// Says that another process spends the ID's budget, unless that process polls this very profile and says so itself.
async fn report_waiting<W: Wire>(setup: &Setup<W>) -> Result<(), PollerError> {
    let (store, profile, at) = (setup.store.clone(), setup.profile.clone(), setup.clock.now().wall);
    let waiting = PollerReport {
        at,
        id: setup.shown_id.clone(),
        fingerprint: setup.fingerprint.clone(),
        rps: setup.rps,
        health: "waiting".into(),
        valid_until: at + setup.clock.on_the_wall(SILENT),
        ..PollerReport::default()
    };
    spawn_blocking(move || {
        let last = store.reader()?.poller(&profile)?;
        if last.is_none_or(|last| !last.is_live(at) || last.health == waiting.health) {
            store.report(&profile, waiting).wait()?;
        }
        Ok(())
    })
    .await?
}

/// How long the new holder of a lease waits. The process before may just have sent its last request, so at least until its
/// window has passed; longer if it left word.
pub(super) fn handover(lease: &Lease, rps: f64, now: Now) -> Duration {
    let window = Duration::try_from_secs_f64(1.0 / rps.min(1.0)).unwrap_or(Duration::MAX);
    let word = lease.not_before().map_or(Duration::ZERO, |moment| span::between(now.wall, moment));
    window.max(word.min(LONGEST_HANDOVER))
}
