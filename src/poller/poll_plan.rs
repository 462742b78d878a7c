//! Poll plans: the forecast, weight and deadline of a transaction for the scheduler.
//!
//! Only this module selects a forecast by status. `domain/evidence.rs` computes the forecasts. The scheduler must never
//! see a status.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use super::setup::PollScope;
use crate::{
    clock::Now,
    domain::{
        alert::Rule,
        change::{Change, ChangeKind},
        duration_stats::DurationStats,
        evidence,
        filter::{Expression, Filter, term::FilterState},
        forecast::{Forecast, Lognormal},
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
    pub(super) scope: PollScope,
    /// The weight of a second of delay, by label.
    pub(super) weights: BTreeMap<String, f64>,
    /// The observed durations, by route.
    pub(super) duration_stats: Arc<DurationStats>,
}

/// The plan for one transaction: how it is polled, if it is.
pub(super) struct PollPlan {
    pub(super) id: RowId,
    /// The scheduler's view, and the data for a request; `None` if the transaction isn't polled.
    pub(super) polled: Option<(PollContext, PollTarget)>,
    /// Whether a person asked for a poll.
    pub(super) is_requested: bool,
}

/// The data for a status request about one transaction.
#[derive(Clone, Debug)]
pub(super) struct PollTarget {
    /// The parameters of the request.
    pub(super) params: Arc<TransactionParams>,
    /// The last known status.
    pub(super) status: Option<RouterStatus>,
    /// Whether the transaction is polled only because a person asked.
    pub(super) is_requested_only: bool,
}

/// The changes of the store that concern a poller.
pub(super) struct StoreChanges {
    /// The entries of the feed.
    pub(super) changes: Changes,
    /// The new plans of the changed transactions.
    pub(super) plans: Vec<PollPlan>,
    /// The requests of people to this poller.
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
            if changes.needs_resync {
                context.duration_stats = Arc::new(reader.duration_stats(&context.profile)?);
                reader.each_polled(&context.profile, |tx| plans.extend(context.plan(&tx)))?;
            } else {
                let own = changes.changes.iter().filter(|change| change.profile == context.profile);
                let rows: BTreeSet<RowId> =
                    own.filter(|change| !is_from_answer(change)).filter_map(|change| change.transaction).collect();
                for row in rows {
                    plans.extend(reader.header(row)?.and_then(|tx| context.plan(&tx)));
                }
                plans.extend(changes.changes.iter().filter_map(|change| match change.kind {
                    ChangeKind::Deleted { row } => Some(PollPlan { id: RowId(row), polled: None, is_requested: false }),
                    _ => None,
                }));
            }
            let requests = reader.poller_requests(&context.profile, now.wall)?;
            Ok(Self { plans, requests, duration_stats: context.duration_stats, changes })
        })
    }
}

/// Returns whether a change comes from an answer. The poller applies such a change from the operation's receipt.
fn is_from_answer(change: &Change) -> bool {
    change.observation.is_some() || change.kind == ChangeKind::Polled
}

impl PlanContext {
    /// Returns the plan of a transaction, or `None` if the transaction belongs to another profile.
    pub(super) fn plan<R: RecordView>(&self, tx: &Transaction<R>) -> Option<PollPlan> {
        if tx.profile != self.profile {
            return None;
        }
        let is_wanted = tx.needs_polling() && self.scope == PollScope::Everything;
        let is_requested = tx.poll_requested_at.is_some();
        let polled = (is_wanted || is_requested).then(|| {
            let target = PollTarget {
                params: Arc::new(tx.params.clone()),
                status: tx.state.status.clone(),
                is_requested_only: !is_wanted,
            };
            (self.poll_context(tx), target)
        });
        Some(PollPlan { id: tx.id, polled, is_requested })
    }

    /// Loads the transactions that are overdue without an active overdue alert, to be polled again soon.
    pub(super) fn load_unconfirmed(&self, reader: &Reader, now: Now) -> Result<Vec<(RowId, PollContext)>, StoreError> {
        let overdue = Filter::all([
            Expression::is(FilterState::Overdue),
            Expression::is(FilterState::Active),
            Expression::is_not(FilterState::Parked),
        ])
        .limited_to_profile(&self.profile);
        let mut unconfirmed = Vec::new();
        reader.for_each_row(&reader.listing(&overdue, now.wall).all()?, |tx, alerts| {
            let is_raised = alerts.iter().any(|alert| alert.rule == Rule::Overdue);
            if !is_raised {
                let poll_context = PollContext { deadline: Some(tx.deadline().at), ..self.poll_context(tx) };
                unconfirmed.push((tx.id, poll_context));
            }
            Ok::<_, StoreError>(())
        })?;
        Ok(unconfirmed)
    }

    /// Returns the scheduler's view of a transaction.
    fn poll_context<R: RecordView>(&self, tx: &Transaction<R>) -> PollContext {
        let deadline = tx.deadline();
        let last_answer = tx.state.last_checked_at;
        let is_confirmed = last_answer.is_some_and(|answer| answer >= deadline.at) || !tx.is_waiting();
        let weights = tx.labels.iter().filter_map(|label| self.weights.get(label)).copied();
        let weight = weights.reduce(f64::max).unwrap_or(1.0);
        let (forecast, first_answer) = forecasts(tx, &self.duration_stats);
        PollContext {
            last_answer,
            deadline: (!is_confirmed).then_some(deadline.at),
            expectation: Expectation { since: deadline.submitted, forecast, first_answer, weight },
            young_until: need::young_until(tx),
        }
    }
}

/// Returns the forecast of the awaited event, and the forecast of the first answer while the service doesn't know the
/// transaction.
fn forecasts<R: RecordView>(tx: &Transaction<R>, duration_stats: &DurationStats) -> (Forecast, Option<Lognormal>) {
    let settling = || Forecast::Lognormal(duration_stats.settling_forecast(tx));
    match &tx.state.status {
        Some(RouterStatus::NeedsGas) => (Forecast::AnyTime(NEEDS_GAS_MEAN), None),
        Some(RouterStatus::Refund) => (Forecast::AnyTime(REFUND_MEAN), None),
        // Such a transaction may settle without ever being seen under way.
        None | Some(RouterStatus::NotFound) => (settling(), Some(evidence::indexing_forecast(&tx.indexing))),
        Some(
            RouterStatus::Ongoing | RouterStatus::Success | RouterStatus::PartialSuccess | RouterStatus::Unknown(_),
        ) => (settling(), None),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::domain::{fixtures, forecast::Quantile};

    fn context_for(status: Option<RouterStatus>) -> PollContext {
        let mut tx = fixtures::transaction(1);
        tx.params.estimate = Some(Duration::from_secs(300));
        tx.labels = vec!["batch".into(), "vip".into()];
        if let Some(status) = status {
            let at = tx.first_seen_at + TimeDelta::seconds(1);
            tx.apply(&fixtures::says(status), at);
        }
        let weights = BTreeMap::from([("vip".to_owned(), 4.0), ("batch".to_owned(), 0.5)]);
        let (profile, scope) = (tx.profile.clone(), PollScope::Everything);
        PlanContext { profile, scope, weights, duration_stats: Arc::default() }.poll_context(&tx)
    }

    #[test]
    fn forecast_depends_on_the_status() {
        use RouterStatus::{NeedsGas, NotFound, Ongoing, Refund, Unknown};
        let median = |forecast| match forecast {
            Forecast::Lognormal(lognormal) => lognormal.quantile(Quantile::P50).as_secs_f64().round(),
            Forecast::AnyTime(mean) => mean.as_secs_f64(),
        };
        let table = [
            (None, 300.0, Some(7.0)),
            (Some(NotFound), 300.0, Some(7.0)),
            (Some(Ongoing), 300.0, None),
            (Some(Unknown("settling".into())), 300.0, None),
            (Some(NeedsGas), 600.0, None),
            (Some(Refund), 900.0, None),
        ];
        for (status, settling, first_answer) in table {
            let Expectation { forecast, first_answer: first, .. } = context_for(status.clone()).expectation;
            let first = first.map(|forecast| median(Forecast::Lognormal(forecast)));
            assert_eq!((median(forecast), first), (settling, first_answer), "{status:?}");
        }
    }

    #[test]
    fn heaviest_label_sets_the_weight_and_only_unseen_transactions_are_young() {
        assert_eq!(context_for(None).expectation.weight, 4.0);
        let young =
            [None, Some(RouterStatus::Ongoing)].map(|status| context_for(status).young_until.map(|at| at.timestamp()));
        assert_eq!(young, [Some(60), None]);
    }
}
