//! Poll plans: what a transaction waits for, in the scheduler's terms.
//!
//! The one place that turns a status into an urgency; the schedule itself never sees one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use super::setup::Scope;
use crate::{
    clock::Now,
    domain::{
        alert::Rule,
        change::{Change, What},
        duration_stats::DurationStats,
        filter::{
            Filter,
            term::{State, Term},
        },
        forecast::{self, Forecast, Quantile},
        ids::RowId,
        need,
        record::RecordView,
        status::RouterStatus,
        transaction::{Transaction, TransactionParams},
    },
    schedule::{Expectation, PollContext},
    store::{Changes, FeedReader, PollerRequests, Reader, StoreError},
};

/// Somebody has to add gas, or the price has to fall: at any time.
const GAS: Duration = Duration::from_secs(10 * 60);
/// A refund that was seen needs only to be watched.
const REFUND: Duration = Duration::from_secs(15 * 60);

/// What one poller's plans depend on.
#[derive(Clone)]
pub(super) struct PlanContext {
    /// The profile that it polls.
    pub(super) profile: String,
    /// What it sends of its own accord.
    pub(super) scope: Scope,
    /// How much more a delay costs for transactions with these labels.
    pub(super) weights: BTreeMap<String, f64>,
    /// What is known of durations.
    pub(super) duration_stats: Arc<DurationStats>,
}

/// How one transaction is polled.
pub(super) struct PollPlan {
    /// Which transaction.
    pub(super) id: RowId,
    /// What the scheduler is told, with what a request needs; `None` if the transaction isn't polled.
    pub(super) polled: Option<(PollContext, PollTarget)>,
    /// Whether a person asked to poll it.
    pub(super) is_requested: bool,
    /// Whether it is polled only because a person asked.
    pub(super) is_requested_only: bool,
}

/// What a request for the status of one transaction needs.
#[derive(Clone, Debug)]
pub(super) struct PollTarget {
    /// The parameters.
    pub(super) params: Arc<TransactionParams>,
    /// The status before the request.
    pub(super) status: Option<RouterStatus>,
}

impl PollPlan {
    fn of_deleted(change: &Change) -> Option<Self> {
        match change.what {
            What::Deleted { row } => {
                Some(Self { id: RowId(row), polled: None, is_requested: false, is_requested_only: false })
            }
            _ => None,
        }
    }
}

/// What changed in the store, as far as it concerns a poller.
pub(super) struct StoreChanges {
    /// The entries of the feed.
    pub(super) changes: Changes,
    /// How whatever changed is polled from now on.
    pub(super) plans: Vec<PollPlan>,
    /// What people want of the poller.
    pub(super) requests: PollerRequests,
    /// What is known of durations.
    pub(super) duration_stats: Arc<DurationStats>,
}

impl StoreChanges {
    /// Reads what changed since the last read, in portions; the first time everything that is polled, one after the other. Blocks
    /// for the disk.
    pub(super) fn read(feed: &FeedReader, mut context: PlanContext, now: Now) -> Result<Self, StoreError> {
        feed.changes_with(|changes, reader| {
            let mut plans = Vec::new();
            if changes.resync {
                context.duration_stats = Arc::new(reader.duration_stats(&context.profile)?);
                reader.each_polled(&context.profile, |tx| plans.extend(context.plan(&tx, now)))?;
            } else {
                let own = changes.changes.iter().filter(|change| change.profile == context.profile);
                let rows: BTreeSet<RowId> =
                    own.filter(|change| !is_answer(change)).filter_map(|change| change.transaction).collect();
                for row in rows {
                    plans.extend(reader.header(row)?.and_then(|tx| context.plan(&tx, now)));
                }
                plans.extend(changes.changes.iter().filter_map(PollPlan::of_deleted));
            }
            let requests = reader.poller_requests(&context.profile, now.wall)?;
            Ok(Self { plans, requests, duration_stats: context.duration_stats, changes })
        })
    }
}

/// Whether a change comes from an answer: the profile's poller took it in with the answer's receipt.
fn is_answer(change: &Change) -> bool {
    change.observation.is_some() || change.what == What::Polled
}

impl PlanContext {
    /// How a transaction is polled; `None` if it is another profile's.
    pub(super) fn plan<R: RecordView>(&self, tx: &Transaction<R>, now: Now) -> Option<PollPlan> {
        if tx.profile != self.profile {
            return None;
        }
        let is_wanted = tx.wants_polling() && self.scope == Scope::Everything;
        let is_requested = tx.poll_requested_at.is_some();
        let polled = (is_wanted || is_requested).then(|| {
            let target = PollTarget { params: Arc::new(tx.params.clone()), status: tx.state.status.clone() };
            (poll_context(tx, &self.duration_stats, &self.weights, now), target)
        });
        Some(PollPlan { id: tx.id, polled, is_requested, is_requested_only: !is_wanted && is_requested })
    }

    /// What is overdue without an alert that says so: to be polled again soon.
    pub(super) fn unconfirmed(&self, reader: &Reader, now: Now) -> Result<Vec<(RowId, PollContext)>, StoreError> {
        let overdue =
            Filter::of_terms([Term::is(State::Overdue), Term::is(State::Active), Term::is_not(State::Parked)]);
        let mut found = Vec::new();
        reader.each(&reader.listing(&overdue, now.wall).all()?, |tx, alerts| {
            let is_raised = alerts.iter().any(|alert| alert.rule == Rule::Overdue);
            if tx.profile == self.profile && tx.is_overdue() && tx.wants_polling() && !is_raised {
                let poll_context = poll_context(tx, &self.duration_stats, &self.weights, now);
                found.push((tx.id, PollContext { deadline: Some(tx.deadline().at), ..poll_context }));
            }
            Ok::<_, StoreError>(())
        })?;
        Ok(found)
    }
}

/// Returns the scheduler's view of a transaction at `now`.
fn poll_context<R: RecordView>(
    tx: &Transaction<R>,
    duration_stats: &DurationStats,
    weights: &BTreeMap<String, f64>,
    now: Now,
) -> PollContext {
    let deadline = tx.deadline();
    let last_answer = tx.state.last_checked_at;
    let confirmed = last_answer.is_some_and(|answer| answer >= deadline.at) || !tx.is_waiting();
    let weight = tx.labels.iter().filter_map(|label| weights.get(label)).copied().reduce(f64::max).unwrap_or(1.0);
    PollContext {
        last_answer,
        deadline: (!confirmed).then_some(deadline.at),
        expectation: Expectation { since: deadline.submitted, forecast: forecast(tx, duration_stats, now), weight },
        young_until: need::young_until(tx),
    }
}

fn forecast<R: RecordView>(tx: &Transaction<R>, duration_stats: &DurationStats, now: Now) -> Forecast {
    match &tx.state.status {
        Some(RouterStatus::NeedsGas) => Forecast::AnyTime(GAS),
        Some(RouterStatus::Refund) => Forecast::AnyTime(REFUND),
        Some(RouterStatus::NotFound) => Forecast::Lognormal(forecast::indexing(&tx.indexing)),
        // Of an old one that was never asked about, it is news how it ended rather than that it is there.
        None => {
            let indexing = forecast::indexing(&tx.indexing);
            let is_new = tx.age(now.wall) <= indexing.quantile(Quantile::P95);
            Forecast::Lognormal(if is_new { indexing } else { duration_stats.settling(tx) })
        }
        Some(
            RouterStatus::Ongoing | RouterStatus::Success | RouterStatus::PartialSuccess | RouterStatus::Unknown(_),
        ) => Forecast::Lognormal(duration_stats.settling(tx)),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::{clock::Mono, domain::fixtures};

    fn at(tx: &Transaction, seconds: i64) -> Now {
        Now { mono: Mono::default(), wall: tx.first_seen_at + TimeDelta::seconds(seconds) }
    }

    fn params(status: Option<RouterStatus>, seconds: i64) -> PollContext {
        let mut tx = fixtures::transaction(1);
        tx.params.estimate = Some(Duration::from_secs(300));
        tx.labels = vec!["batch".into(), "vip".into()];
        if let Some(status) = status {
            tx.apply(&fixtures::says(status), at(&tx, 1).wall);
        }
        let weights = BTreeMap::from([("vip".to_owned(), 4.0), ("batch".to_owned(), 0.5)]);
        poll_context(&tx, &DurationStats::default(), &weights, at(&tx, seconds))
    }

    fn median(poll_context: &PollContext) -> u64 {
        match poll_context.expectation.forecast {
            Forecast::Lognormal(lognormal) => lognormal.quantile(Quantile::P50).as_millis() as u64 / 100,
            Forecast::AnyTime(mean) => mean.as_millis() as u64,
        }
    }

    #[test]
    fn each_status_waits_for_something_else() {
        use RouterStatus::{NeedsGas, NotFound, Ongoing, Refund, Unknown};
        let table = [
            (None, 3, 70),
            (None, 100, 3_000),
            (Some(NotFound), 100, 70),
            (Some(Ongoing), 100, 3_000),
            (Some(Unknown("settling".into())), 100, 3_000),
            (Some(NeedsGas), 100, 600_000),
            (Some(Refund), 100, 900_000),
        ];
        for (status, seconds, expected) in table {
            assert_eq!(median(&params(status.clone(), seconds)), expected, "{status:?} after {seconds} s");
        }
    }

    #[test]
    fn the_heaviest_label_counts_and_the_young_and_unseen_are_to_be_fresh() {
        assert_eq!(params(None, 3).expectation.weight, 4.0);
        let young =
            [None, Some(RouterStatus::Ongoing)].map(|status| params(status, 3).young_until.map(|at| at.timestamp()));
        assert_eq!(young, [Some(60), None]);
    }
}
