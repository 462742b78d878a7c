//! What goes on beside polling: bodies of transfers that settled long ago are dropped, if the config asks for it.
//!
//! It does little at a time, so that nobody waits for it, and never touches what hasn't settled.

use std::time::Duration;

use chrono::TimeDelta;
use tokio::task::{JoinSet, spawn_blocking};

use crate::{
    clock::Clock,
    store::{Dropped, Store, StoreError},
};

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(60 * 60);
/// So many transactions at a time.
const PORTION: usize = 500;

/// The task; it ends with this.
pub struct Housekeeping {
    _task: JoinSet<()>,
}

impl Housekeeping {
    /// Starts it. Without a time to keep bodies for there is nothing to do.
    pub fn start(store: &Store, keep_bodies: Option<Duration>, clock: &Clock) -> Self {
        let mut task = JoinSet::new();
        if let Some(keep) = keep_bodies {
            task.spawn(look_again_and_again(store.clone(), keep, clock.clone()));
        }
        Self { _task: task }
    }
}

async fn look_again_and_again(store: Store, keep: Duration, clock: Clock) {
    loop {
        let (own, now) = (store.clone(), clock.now());
        match spawn_blocking(move || drop_old(&own, keep, now.wall)).await {
            Ok(Ok(Dropped { transactions: 0, .. })) => {}
            Ok(Ok(Dropped { transactions, bodies })) => {
                tracing::info!("{bodies} bodies of {transactions} settled transactions dropped, as keep_bodies asks");
            }
            Ok(Err(error)) => tracing::warn!("old bodies weren't dropped, later again: {error}"),
            Err(error) => tracing::error!("dropping old bodies failed: {error}"),
        }
        clock.sleep_until(now.mono + INTERVAL).await;
    }
}

fn drop_old(store: &Store, keep: Duration, now: chrono::DateTime<chrono::Utc>) -> Result<Dropped, StoreError> {
    let mut all = Dropped::default();
    let Some(before) = TimeDelta::from_std(keep).ok().and_then(|keep| now.checked_sub_signed(keep)) else {
        return Ok(all);
    };
    let reader = store.reader()?;
    loop {
        let rows = reader.with_old_bodies(before, PORTION)?;
        if rows.is_empty() {
            return Ok(all);
        }
        let dropped = store.drop_bodies(rows, now).wait()?;
        all = Dropped { transactions: all.transactions + dropped.transactions, bodies: all.bodies + dropped.bodies };
    }
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
        let now = reader.transaction(new).unwrap().unwrap().learned.settled_at.unwrap();
        let keep = Duration::from_secs(60);
        assert_eq!(drop_old(&bench.store, keep, now).unwrap(), Dropped { transactions: 1, bodies: 2 });
        assert_eq!(drop_old(&bench.store, keep, now).unwrap(), Dropped::default());
        let bodies = [old, new, open].map(|row| reader.last_body(row).unwrap().is_some());
        assert_eq!(bodies, [false, true, true]);
        let last = crate::store::HistoryLine::at(reader.history(old).unwrap().last().unwrap());
        assert_eq!(last, now);
        let record = reader.transaction(old).unwrap().unwrap().learned.record;
        assert_eq!(record.map(|record| record.status), Some(RouterStatus::Success));
    }
}
