//! What goes on beside polling: bodies of transfers that settled long ago are dropped, if the config asks for it.
//!
//! It does little at a time, so that nobody waits for it, and never touches what hasn't settled.

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
    store::{Dropped, OldBodies, Store, StoreError},
};

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// So many transactions at a time.
const PORTION: usize = 500;

/// The task; it ends with this.
pub struct Maintenance {
    _task: JoinSet<()>,
    ended: Arc<AtomicBool>,
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        // What is under way on the pool is over after its portion, so that nobody's end waits for it.
        self.ended.store(true, Ordering::Relaxed);
    }
}

impl Maintenance {
    /// Starts it. Without a time to keep bodies for there is nothing to do.
    pub fn start(store: &Store, keep_bodies: Option<Duration>, clock: &Clock) -> Self {
        let (mut task, ended) = (JoinSet::new(), Arc::new(AtomicBool::new(false)));
        if let Some(keep) = keep_bodies {
            task.spawn(run(store.clone(), keep, (clock.clone(), Arc::clone(&ended))));
        }
        Self { _task: task, ended }
    }
}

async fn run(store: Store, keep: Duration, (clock, ended): (Clock, Arc<AtomicBool>)) {
    let mut place = OldBodies::default();
    loop {
        let (own, ended, now, from) = (store.clone(), Arc::clone(&ended), clock.now(), place);
        let drop = move || drop_old(&own, keep, now.wall, (from, &ended));
        match spawn_blocking(drop).await {
            Ok(Ok((reached, dropped))) => {
                place = reached;
                let Dropped { transactions, bodies } = dropped;
                if transactions > 0 {
                    tracing::info!(
                        "{bodies} bodies of {transactions} settled transactions dropped, as keep_bodies asks"
                    );
                }
            }
            Ok(Err(error)) => tracing::warn!("old bodies weren't dropped, later again: {error}"),
            Err(error) => tracing::error!("dropping old bodies failed: {error}"),
        }
        clock.sleep_until(now.mono + INTERVAL).await;
    }
}

/// Drops what is old, from a place in the order of settling on; the place that it reached.
fn drop_old(
    store: &Store,
    keep: Duration,
    now: DateTime<Utc>,
    (mut place, ended): (OldBodies, &AtomicBool),
) -> Result<(OldBodies, Dropped), StoreError> {
    let mut all = Dropped::default();
    let before = TimeDelta::from_std(keep).ok().and_then(|keep| now.checked_sub_signed(keep));
    let Some(before) = before else { return Ok((place, all)) };
    let reader = store.reader()?;
    while !ended.load(Ordering::Relaxed) {
        let (reached, rows) = reader.with_old_bodies(place, before, PORTION)?;
        if rows.is_empty() {
            break;
        }
        let transactions = reader.keys(&rows)?;
        let dropped = store.apply(Operation::DropBodies { transactions }, now).wait()?.dropped()?;
        all = Dropped { transactions: all.transactions + dropped.transactions, bodies: all.bodies + dropped.bodies };
        place = reached;
    }
    Ok((place, all))
}

#[cfg(test)]
mod tests {
    use super::{super::context::testing::Bench, *};
    use crate::domain::{fixtures, observation::Observation, status::RouterStatus};

    #[test]
    fn bodies_of_what_settled_long_ago_go_and_the_history_says_so() {
        let bench = Bench::new();
        let with_body = |status| Observation { body: Some("{}".into()), ..fixtures::says(status) };
        let (old, new, open) =
            (bench.track(fixtures::new(1)), bench.track(fixtures::new(2)), bench.track(fixtures::new(3)));
        bench.hear(old, with_body(RouterStatus::Ongoing), 1);
        bench.hear(old, with_body(RouterStatus::Success), 2);
        bench.hear(new, with_body(RouterStatus::Success), 100);
        bench.hear(open, with_body(RouterStatus::Ongoing), 1);
        let reader = bench.store.reader().unwrap();
        let now = reader.listed(new).unwrap().unwrap().transaction.state.settled_at.unwrap();
        let keep = Duration::from_secs(60);
        let goes_on = AtomicBool::new(false);
        let drop = |place| drop_old(&bench.store, keep, now, (place, &goes_on)).unwrap();
        let (reached, dropped) = drop(OldBodies::default());
        assert_eq!(dropped, Dropped { transactions: 1, bodies: 2 });
        assert_eq!(drop(OldBodies::default()), (OldBodies::default(), Dropped::default()));
        assert_eq!(drop(reached), (reached, Dropped::default()));
        let bodies = [old, new, open].map(|row| reader.last_body(row).unwrap().is_some());
        assert_eq!(bodies, [false, true, true]);
        let last = crate::store::HistoryLine::at(reader.history(old).unwrap().last().unwrap());
        assert_eq!(last, now);
        let record = reader.listed(old).unwrap().unwrap().transaction.state.record;
        assert_eq!(record.map(|record| record.status), Some(RouterStatus::Success));
    }
}
