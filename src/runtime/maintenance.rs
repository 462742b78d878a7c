//! Maintenance in the background: drops response bodies of transfers that settled long ago, if the config sets
//! `keep_bodies`.
//!
//! The maintenance works in small batches, so that no other writer waits long. This module must never drop a body of an
//! unsettled transfer.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use color_eyre::eyre::Result;
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

/// Starts the task, which ends after its current batch when the returned value is dropped. Without `keep_bodies`, bodies
/// are kept for ever and the task does nothing.
#[must_use]
pub(crate) fn start(store: &Store, keep_bodies: Option<Duration>, clock: &Clock) -> JoinSet<()> {
    let mut task = JoinSet::new();
    if let Some(keep) = keep_bodies {
        task.spawn(run(store.clone(), keep, clock.clone()));
    }
    task
}

async fn run(store: Store, keep: Duration, clock: Clock) {
    let mut position = OldBodyCursor::default();
    loop {
        let now = clock.now();
        match drop_old_bodies(&store, keep, now.wall, &mut position).await {
            Ok(DroppedBodies { transactions: 0, .. }) => {}
            Ok(DroppedBodies { transactions, bodies }) => {
                tracing::info!("dropped {bodies} bodies of {transactions} settled transactions, as set by keep_bodies");
            }
            Err(error) => tracing::warn!("old bodies couldn't be dropped; the next try is in an hour: {error}"),
        }
        clock.sleep_until(now.mono + INTERVAL).await;
    }
}

/// Drops bodies of transfers that settled at least `keep` ago, from a position in the order of settling on, which it
/// moves. Returns the numbers of dropped transactions and bodies.
async fn drop_old_bodies(
    store: &Store,
    keep: Duration,
    now: DateTime<Utc>,
    position: &mut OldBodyCursor,
) -> Result<DroppedBodies> {
    let mut all = DroppedBodies::default();
    let before = TimeDelta::from_std(keep).ok().and_then(|keep| now.checked_sub_signed(keep));
    let Some(before) = before else { return Ok(all) };
    loop {
        let (store, from) = (store.clone(), *position);
        let Some((reached, dropped)) = spawn_blocking(move || drop_batch(&store, before, now, from)).await?? else {
            return Ok(all);
        };
        *position = reached;
        all.transactions += dropped.transactions;
        all.bodies += dropped.bodies;
    }
}

/// Drops the bodies of one batch from a position on. Returns the position that it reached and what it dropped; `None`
/// if no bodies are left.
fn drop_batch(
    store: &Store,
    before: DateTime<Utc>,
    now: DateTime<Utc>,
    from: OldBodyCursor,
) -> Result<Option<(OldBodyCursor, DroppedBodies)>, StoreError> {
    let reader = store.reader()?;
    let (reached, rows) = reader.with_old_bodies(from, before, BATCH_SIZE)?;
    if rows.is_empty() {
        return Ok(None);
    }
    let transactions = reader.keys(&rows)?;
    Ok(Some((reached, store.apply(Operation::DropBodies { transactions }, now).wait()?.dropped()?)))
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
        let before = now - TimeDelta::seconds(60);
        let drop = |position| drop_batch(&fixture.store, before, now, position).unwrap();
        let (reached, dropped) = drop(OldBodyCursor::default()).unwrap();
        assert_eq!(dropped, DroppedBodies { transactions: 1, bodies: 2 });
        assert_eq!(drop(OldBodyCursor::default()), None);
        assert_eq!(drop(reached), None);
        let bodies = [old, new, open].map(|row| reader.last_body(row).unwrap().is_some());
        assert_eq!(bodies, [false, true, true]);
        let last = crate::store::HistoryLine::at(reader.history(old).unwrap().last().unwrap());
        assert_eq!(last, now);
        let record = reader.list_row(old).unwrap().unwrap().transaction.record;
        assert_eq!(record.map(|record| record.status), Some(RouterStatus::Success));
    }
}
