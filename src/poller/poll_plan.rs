//! Poll plans: the forecast, weight and deadline of a transaction for the scheduler.
//!
//! Only this module turns a status into a forecast. The scheduler must never see a status.

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
        change::{Change, ChangeKind},
        duration_stats::DurationStats,
        filter::{
            Filter,
            term::{FilterState, Term},
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

/// The mean time until a gas problem ends: somebody adds gas, or the price falls, at any moment.
const NEEDS_GAS_MEAN: Duration = Duration::from_secs(10 * 60);
/// The mean time until a refund ends. A refund under way needs no fast answers.
const REFUND_MEAN: Duration = Duration::from_secs(15 * 60);

/// The inputs of one poller's plans.
#[derive(Clone)]
pub(super) struct PlanContext {
    /// The profile that the poller polls.
    pub(super) profile: String,
    /// The requests that the poller sends without being asked.
    pub(super) scope: Scope,
    /// The weight of a second of delay, by label.
    pub(super) weights: BTreeMap<String, f64>,
    /// The observed durations, by route.
    pub(super) duration_stats: Arc<DurationStats>,
}

/// The plan for polling one transaction.
pub(super) struct PollPlan {
    /// The transaction.
    pub(super) id: RowId,
    /// The scheduler's view, and the data for a request; `None` if the transaction isn't polled.
    pub(super) polled: Option<(PollContext, PollTarget)>,
    /// Whether a person asked for a poll.
    pub(super) is_requested: bool,
    /// Whether the transaction is polled only because a person asked.
    pub(super) is_requested_only: bool,
}

/// The data for a status request about one transaction.
#[derive(Clone, Debug)]
pub(super) struct PollTarget {
    /// The parameters of the request.
    pub(super) params: Arc<TransactionParams>,
    /// The last known status.
    pub(super) status: Option<RouterStatus>,
}

impl PollPlan {
    fn of_deleted(change: &Change) -> Option<Self> {
        match change.what {
            ChangeKind::Deleted { row } => {
                Some(Self { id: RowId(row), polled: None, is_requested: false, is_requested_only: false })
            }
            _ => None,
        }
    }
}

/// The changes of the store that concern a poller.
pub(super) struct StoreChanges {
    /// The entries of the feed.
    pub(super) changes: Changes,
    /// The new plans of the changed transactions.
    pub(super) plans: Vec<PollPlan>,
    /// The requests of people to the poller.
    pub(super) requests: PollerRequests,
    /// The observed durations, by route.
    pub(super) duration_stats: Arc<DurationStats>,
}

impl StoreChanges {
    /// Reads one batch of the changes since the last read. The first read streams every polled transaction. Blocks for
    /// the disk.
    pub(super) fn read(feed: &FeedReader, mut context: PlanContext, now: Now) -> Result<Self, StoreError> {
        feed.changes_with(|changes, reader| {
            let mut plans = Vec::new();
            if changes.resync {
                context.duration_stats = Arc::new(reader.duration_stats(&context.profile)?);
                reader.each_polled(&context.profile, |tx| plans.extend(context.plan(&tx, now)))?;
            } else {
                let own = changes.changes.iter().filter(|change| change.profile == context.profile);
                let rows: BTreeSet<RowId> =
                    own.filter(|change| !is_from_answer(change)).filter_map(|change| change.transaction).collect();
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

/// Returns whether a change comes from an answer. The poller applies such a change from the operation's receipt.
fn is_from_answer(change: &Change) -> bool {
    change.observation.is_some() || change.what == ChangeKind::Polled
}

impl PlanContext {
    /// Returns the plan of a transaction, or `None` if the transaction belongs to another profile.
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

    /// Loads the transactions that are overdue without an active overdue alert, to be polled again soon.
    pub(super) fn load_unconfirmed(&self, reader: &Reader, now: Now) -> Result<Vec<(RowId, PollContext)>, StoreError> {
        let overdue = Filter::of_terms([
            Term::is(FilterState::Overdue),
            Term::is(FilterState::Active),
            Term::is_not(FilterState::Parked),
        ]);
        let mut unconfirmed = Vec::new();
        reader.each(&reader.listing(&overdue, now.wall).all()?, |tx, alerts| {
            let is_raised = alerts.iter().any(|alert| alert.rule == Rule::Overdue);
            if tx.profile == self.profile && tx.is_overdue() && tx.wants_polling() && !is_raised {
                let poll_context = poll_context(tx, &self.duration_stats, &self.weights, now);
                unconfirmed.push((tx.id, PollContext { deadline: Some(tx.deadline().at), ..poll_context }));
            }
            Ok::<_, StoreError>(())
        })?;
        Ok(unconfirmed)
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
        Some(RouterStatus::NeedsGas) => Forecast::AnyTime(NEEDS_GAS_MEAN),
        Some(RouterStatus::Refund) => Forecast::AnyTime(REFUND_MEAN),
        Some(RouterStatus::NotFound) => Forecast::Lognormal(forecast::indexing(&tx.indexing)),
        // An old transaction without any answer is probably indexed: the awaited event is its settling.
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

    fn context_for(status: Option<RouterStatus>, seconds: i64) -> PollContext {
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
    fn forecast_depends_on_the_status() {
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
            assert_eq!(median(&context_for(status.clone(), seconds)), expected, "{status:?} after {seconds} s");
        }
    }

    #[test]
    fn heaviest_label_sets_the_weight_and_only_unseen_transactions_are_young() {
        assert_eq!(context_for(None, 3).expectation.weight, 4.0);
        let young = [None, Some(RouterStatus::Ongoing)]
            .map(|status| context_for(status, 3).young_until.map(|at| at.timestamp()));
        assert_eq!(young, [Some(60), None]);
    }
}
