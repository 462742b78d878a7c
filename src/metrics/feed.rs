//! The metrics from the change feed: detection delays, durations of transfers, and transfers within their deadline.
//! They count the answers of every process.
//!
//! Counts begin when this process starts: a start never reads earlier changes. Routes are labels, so the number of
//! routes must be bounded.

use std::{cmp::Reverse, collections::HashSet, sync::Arc};

use chrono::{DateTime, Utc};
use prometheus_client::{
    metrics::{
        counter::Counter,
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use tokio::{sync::watch, task::spawn_blocking};

use super::gauges::{Labels, profile_label};
use crate::{
    domain::{
        change::{Change, ChangeKind},
        ids::ChainId,
        record::RecordSummary,
        service_level::DeadlineResult,
        settled_duration::SettledDuration,
        status::RouterStatus,
        transaction::Transaction,
    },
    store::{FeedReader, Reader, StoreError},
};

/// The upper bounds of the durations of transfers, in seconds: from 15 s to a day.
const DURATION_BUCKETS: [f64; 13] =
    [15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 43_200.0, 86_400.0];
/// The number of routes that have a label of their own. Later routes share one.
const MAX_ROUTES: usize = 200;
/// The longest name of a chain that becomes a label, in bytes.
const MAX_CHAIN_LENGTH: usize = 40;
/// The label of both chains of a route that has no label of its own.
const OTHER: &str = "other";

/// The status of settled transfers, and whether they met their deadline.
type SettledLabels = [(&'static str, &'static str); 2];

/// What a page of the feed holds for the metrics.
#[derive(Default)]
struct PageFigures {
    /// The seconds between the last answer with the old status and the first one with the new status.
    delays: Vec<(Labels<1>, f64)>,
    settled: Vec<(Transaction<RecordSummary>, DeadlineResult)>,
    has_more: bool,
}

/// The metrics that come from the change feed. Clones share the counts.
#[derive(Clone)]
pub(super) struct FeedMetrics {
    profiles: Arc<[String]>,
    /// Earlier changes aren't counted, though they enter the feed of a replica later, when it reads the log from before
    /// its start.
    earliest: Option<DateTime<Utc>>,
    delays: Family<Labels<1>, Histogram, fn() -> Histogram>,
    durations: Family<Labels<3>, Histogram, fn() -> Histogram>,
    settled: Family<(Labels<3>, SettledLabels), Counter>,
}

impl FeedMetrics {
    /// Creates the metrics of these profiles from the moment `earliest`, and registers them.
    pub(super) fn new(profiles: &[String], earliest: Option<DateTime<Utc>>, registry: &mut Registry) -> Self {
        let metrics = Self {
            profiles: profiles.into(),
            earliest,
            delays: Family::new_with_constructor(|| Histogram::new(exponential_buckets(5.0, 2.0, 11))),
            durations: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            settled: Family::default(),
        };
        for profile in profiles {
            drop(metrics.delays.get_or_create(&profile_label(profile)));
        }
        let help = "Time between the last answer with the old status and the first with the new one";
        registry.register_with_unit("detection_delay", help, Unit::Seconds, metrics.delays.clone());
        let help = "Time from the submission of a transfer to its end, by route, where it was measured";
        registry.register_with_unit("transfer_duration", help, Unit::Seconds, metrics.durations.clone());
        let help =
            "Transfers that settled since this process started, by route, status and whether their deadline was met";
        registry.register("settled_transfers", help, metrics.settled.clone());
        metrics
    }

    /// Reads the feed until its store is closed.
    pub(super) async fn watch(self, mut wakeups: watch::Receiver<u64>, feed: FeedReader) {
        let mut routes = HashSet::new();
        self.create_known_series(&feed, &mut routes).await;
        loop {
            let (feed, profiles, earliest) = (feed.clone(), Arc::clone(&self.profiles), self.earliest);
            let read = spawn_blocking(move || {
                feed.changes_with(|page, reader| {
                    let mut figures = PageFigures { has_more: page.has_more, ..PageFigures::default() };
                    let own = page.changes.iter().filter(|change| profiles.contains(&change.profile));
                    own.filter(|change| earliest.is_none_or(|earliest| change.at >= earliest))
                        .try_for_each(|change| figures.add(change, reader))?;
                    Ok(figures)
                })
            });
            match read.await {
                Ok(Ok(figures)) => {
                    let has_more = figures.has_more;
                    self.count(figures, &mut routes);
                    if has_more {
                        continue;
                    }
                }
                // The poller reports errors of the store. The next read returns the same changes again.
                Ok(Err(error)) => tracing::debug!("failed to read changes for the metrics: {error}"),
                Err(panicked) => return tracing::error!("the metrics no longer follow the changes: {panicked}"),
            }
            if wakeups.changed().await.is_err() {
                return;
            }
        }
    }

    /// Creates the series of the routes that have settled transfers. A series that begins with its first transfer would
    /// hide this transfer from a rate.
    async fn create_known_series(&self, feed: &FeedReader, routes: &mut HashSet<(ChainId, ChainId)>) {
        let (feed, profiles) = (feed.clone(), Arc::clone(&self.profiles));
        let read = spawn_blocking(move || {
            feed.read(|reader| {
                let stats = |profile: &String| Ok((profile.clone(), reader.duration_stats(profile)?));
                profiles.iter().map(stats).collect::<Result<Vec<_>, StoreError>>()
            })
        });
        // A store that can't be read yet has its series later.
        for (profile, stats) in read.await.ok().and_then(Result::ok).unwrap_or_default() {
            let mut known: Vec<_> = stats.routes.into_iter().collect();
            known.sort_by_key(|(_, evidence)| Reverse(evidence.durations.count));
            for (route, _) in known {
                // Routes that are new or used again need labels, too.
                if routes.len() >= MAX_ROUTES / 2 {
                    return;
                }
                let route = route_labels(&profile, route.from, route.to, routes);
                drop(self.durations.get_or_create(&route));
                self.create_settled_series(&route, RouterStatus::Success.name());
            }
        }
    }

    /// Creates the counts of a route and status: a share needs all of them, also those that are 0.
    fn create_settled_series(&self, route: &Labels<3>, status: &'static str) {
        for result in DeadlineResult::ALL {
            drop(self.settled.get_or_create(&(route.clone(), settled_labels(status, result))));
        }
    }

    fn count(&self, figures: PageFigures, routes: &mut HashSet<(ChainId, ChainId)>) {
        for (profile, seconds) in figures.delays {
            self.delays.get_or_create(&profile).observe(seconds);
        }
        for (tx, deadline) in figures.settled {
            let duration = SettledDuration::of(&tx).and_then(SettledDuration::measured);
            let route = route_labels(&tx.profile, tx.params.from_chain, tx.params.to_chain, routes);
            if let Some(duration) = duration {
                self.durations.get_or_create_owned(&route).observe(duration.as_secs_f64());
            }
            let status = tx.state.status.as_ref().map_or("unanswered", RouterStatus::name);
            self.create_settled_series(&route, status);
            self.settled.get_or_create(&(route, settled_labels(status, deadline))).inc();
        }
    }
}

impl PageFigures {
    fn add(&mut self, change: &Change, reader: &Reader) -> Result<(), StoreError> {
        if let ChangeKind::StatusChanged { previous: Some(_), .. } = change.kind {
            let gap = change.observation.map(|answer| reader.gap_before(answer)).transpose()?.flatten();
            self.delays.extend(gap.map(|gap| (profile_label(&change.profile), gap.as_secs_f64())));
        }
        if let (ChangeKind::Settled, Some(row)) = (&change.kind, change.transaction)
            && let Some(tx) = reader.header(row)?
            && let Some(result) = reader.deadline_result(&tx)?
        {
            self.settled.push((tx, result));
        }
        Ok(())
    }
}

fn settled_labels(status: &'static str, deadline: DeadlineResult) -> SettledLabels {
    [("status", status), ("deadline", deadline.name())]
}

/// Returns the labels of a route: its chains, or `other` if too many routes have labels already or a name is too long.
fn route_labels(profile: &str, from: ChainId, to: ChainId, routes: &mut HashSet<(ChainId, ChainId)>) -> Labels<3> {
    let is_short = |chain: &ChainId| chain.as_str().len() <= MAX_CHAIN_LENGTH;
    let route = (from, to);
    let is_known = routes.contains(&route);
    let has_labels = is_known || routes.len() < MAX_ROUTES && is_short(&route.0) && is_short(&route.1);
    let name = |chain: &ChainId| if has_labels { chain.to_string() } else { OTHER.to_owned() };
    let labels = [("profile", profile.to_owned()), ("from_chain", name(&route.0)), ("to_chain", name(&route.1))];
    if has_labels && !is_known {
        routes.insert(route);
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_routes_with_labels_is_bounded() {
        let mut routes = HashSet::new();
        let mut label = |from: &str| {
            let [_, (_, from), _] = route_labels("default", ChainId::new(from), ChainId::new("1"), &mut routes);
            from
        };
        let labels: HashSet<String> = (0..MAX_ROUTES + 50).map(|number| label(&number.to_string())).collect();
        assert_eq!(labels.len(), MAX_ROUTES + 1);
        assert!(labels.contains(OTHER) && label("0") == "0");
        let long = route_labels("default", ChainId::new("x".repeat(99)), ChainId::new("1"), &mut HashSet::new());
        assert_eq!(long[1].1, OTHER);
    }
}
