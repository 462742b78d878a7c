//! Maintenance in the background: drops response bodies of transfers that settled long ago, if the config sets
//! `keep_bodies`.
//!
//! The maintenance works in small batches, so that no other writer waits long. This module must never drop a body of an
//! unsettled transfer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::task::{JoinSet, spawn_blocking};

use crate::{
    clock::Clock,
    domain::operation::Operation,
    store::{DroppedBodies, OldBodyCursor, Store, StoreError},
};

/// The time between two runs.
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// The number of transactions in one batch.
const BATCH_SIZE: usize = 500;

/// The maintenance task, which ends when this value is dropped.
pub(crate) struct Maintenance {
    _task: JoinSet<()>,
    is_ended: Arc<AtomicBool>,
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        // Work on the blocking pool ends after its current batch, so that the end of the process isn't delayed.
        self.is_ended.store(true, Ordering::Relaxed);
    }
}

impl Maintenance {
    /// Starts the task. Without `keep_bodies`, bodies are kept for ever and the task does nothing.
    pub(crate) fn start(store: &Store, keep_bodies: Option<Duration>, clock: &Clock) -> Self {
        let (mut task, is_ended) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
        if let Some(keep) = keep_bodies {
            task.spawn(run(store.clone(), keep, clock.clone(), Arc::clone(&is_ended)));
        }
        Self { _task: task, is_ended }
    }
}

async fn run(store: Store, keep: Duration, clock: Clock, is_ended: Arc<AtomicBool>) {
    let mut position = OldBodyCursor::default();
    loop {
        let (task_store, is_ended, now, from) = (store.clone(), Arc::clone(&is_ended), clock.now(), position);
        let drop = move || drop_old_bodies(&task_store, keep, now.wall, from, &is_ended);
        match spawn_blocking(drop).await {
            Ok(Ok((reached, dropped))) => {
                position = reached;
                let DroppedBodies { transactions, bodies } = dropped;
                if transactions > 0 {
                    tracing::info!(
                        "dropped {bodies} bodies of {transactions} settled transactions, as set by keep_bodies"
                    );
                }
            }
            Ok(Err(error)) => tracing::warn!("old bodies couldn't be dropped; the next try is in an hour: {error}"),
            Err(error) => tracing::error!("dropping old bodies failed: {error}"),
        }
        clock.sleep_until(now.mono + INTERVAL).await;
    }
}

/// Drops bodies of transfers that settled at least `keep` ago, from a position in the order of settling on. Returns the
/// position that it reached, and the numbers of dropped transactions and bodies.
fn drop_old_bodies(
    store: &Store,
    keep: Duration,
    now: DateTime<Utc>,
    mut position: OldBodyCursor,
    is_ended: &AtomicBool,
) -> Result<(OldBodyCursor, DroppedBodies), StoreError> {
    let mut all = DroppedBodies::default();
    let before = TimeDelta::from_std(keep).ok().and_then(|keep| now.checked_sub_signed(keep));
    let Some(before) = before else { return Ok((position, all)) };
    let reader = store.reader()?;
    while !is_ended.load(Ordering::Relaxed) {
        let (reached, rows) = reader.with_old_bodies(position, before, BATCH_SIZE)?;
        if rows.is_empty() {
            break;
        }
        let transactions = reader.keys(&rows)?;
        let dropped = store.apply(Operation::DropBodies { transactions }, now).wait()?.dropped()?;
        all = DroppedBodies {
            transactions: all.transactions + dropped.transactions,
            bodies: all.bodies + dropped.bodies,
        };
        position = reached;
    }
    Ok((position, all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::context::testing::CommandFixture,
        domain::{fixtures, observation::Observation, status::RouterStatus},
    };

    #[test]
    fn bodies_of_long_settled_transfers_are_dropped_and_the_history_reports_the_drop() {
        let fixture = CommandFixture::new();
        let with_body = |status| Observation { body: Some("{}".into()), ..fixtures::says(status) };
        let (old, new, open) =
            (fixture.track(fixtures::new(1)), fixture.track(fixtures::new(2)), fixture.track(fixtures::new(3)));
        fixture.observe(old, with_body(RouterStatus::Ongoing), 1);
        fixture.observe(old, with_body(RouterStatus::Success), 2);
        fixture.observe(new, with_body(RouterStatus::Success), 100);
        fixture.observe(open, with_body(RouterStatus::Ongoing), 1);
        let reader = fixture.store.reader().unwrap();
        let now = reader.list_row(new).unwrap().unwrap().transaction.state.settled_at.unwrap();
        let keep = Duration::from_secs(60);
        let is_ended = AtomicBool::new(false);
        let drop = |position| drop_old_bodies(&fixture.store, keep, now, position, &is_ended).unwrap();
        let (reached, dropped) = drop(OldBodyCursor::default());
        assert_eq!(dropped, DroppedBodies { transactions: 1, bodies: 2 });
        assert_eq!(drop(OldBodyCursor::default()), (OldBodyCursor::default(), DroppedBodies::default()));
        assert_eq!(drop(reached), (reached, DroppedBodies::default()));
        let bodies = [old, new, open].map(|row| reader.last_body(row).unwrap().is_some());
        assert_eq!(bodies, [false, true, true]);
        let last = crate::store::HistoryLine::at(reader.history(old).unwrap().last().unwrap());
        assert_eq!(last, now);
        let record = reader.list_row(old).unwrap().unwrap().transaction.record;
        assert_eq!(record.map(|record| record.status), Some(RouterStatus::Success));
    }
}
