//! Statistics of durations: how long transfers and indexing took so far, per route and per source chain.
//!
//! A transfer that ended yields the interval between two answers. An indexing yields a sample only if its moment is
//! known well enough: soon after the previous answer, or soon after the submission.

use std::{collections::HashMap, time::Duration};

use chrono::{DateTime, Utc};

use super::{
    evidence::{self, Evidence, RouteEvidence, SettledWithin, SettlingEvidence},
    forecast::{Lognormal, Quantile},
    ids::ChainId,
    record::RecordView,
    status::RouterStatus,
    transaction::{Transaction, TransactionState},
};

/// A first record up to this age of the transaction yields an indexing sample, however old the previous answer is.
const PRECISE_INDEXING_AGE: Duration = Duration::from_secs(15);

/// The route by which durations are grouped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteKey {
    /// The source chain.
    pub from: ChainId,
    /// The destination chain.
    pub to: ChainId,
    /// Whether the route carries a message (`isGMPTransaction`); `false` while unknown.
    pub is_gmp: bool,
}

impl RouteKey {
    /// Returns the route of this transaction.
    pub fn of<R: RecordView>(tx: &Transaction<R>) -> Self {
        let is_gmp = tx.record.as_ref().and_then(RecordView::is_gmp).unwrap_or(false);
        Self { from: tx.params.from_chain.clone(), to: tx.params.to_chain.clone(), is_gmp }
    }
}

/// An observed duration.
#[derive(Clone, Debug, PartialEq)]
pub enum DurationSample {
    /// A transfer on this route ended.
    Ended {
        /// The route of the transfer.
        route: RouteKey,
        /// The status with which the transfer ended.
        outcome: RouterStatus,
        /// The interval that contains the end, as time since the submission.
        settled: SettledWithin,
        /// The estimated duration, if it is known.
        estimate: Option<Duration>,
    },
    /// A transaction on this source chain was indexed, this long after its submission.
    Indexed {
        /// The source chain of the transaction.
        chain: ChainId,
        /// The time from the submission to the first answer other than "not found".
        duration: Duration,
    },
}

/// Returns the samples that the answer at `at` yields. `before` is the transaction's state before the answer, `tx` the
/// transaction after the answer.
pub(crate) fn duration_samples(before: &TransactionState, tx: &Transaction, at: DateTime<Utc>) -> Vec<DurationSample> {
    let Some(submitted) = tx.params.submitted_at.filter(|submitted| *submitted <= at) else { return Vec::new() };
    let Some(status) = tx.state.status.as_ref().filter(|status| before.status.as_ref() != Some(status)) else {
        return Vec::new();
    };
    let change = before.interval_of_change(submitted, at);
    let is_indexed = before.is_unknown_to_service() && *status != RouterStatus::NotFound;
    let is_end = |status: &RouterStatus| status.is_final() || *status == RouterStatus::Refund;
    let has_ended = is_end(status) && !before.status.as_ref().is_some_and(is_end);
    let mut samples = Vec::new();
    if is_indexed && let Some(duration) = change.duration_or_within(PRECISE_INDEXING_AGE) {
        samples.push(DurationSample::Indexed { chain: tx.params.from_chain.clone(), duration });
    }
    if has_ended {
        samples.push(DurationSample::Ended {
            route: RouteKey::of(tx),
            outcome: status.clone(),
            settled: change,
            estimate: tx.params.estimate,
        });
    }
    samples
}

/// The duration statistics of a profile, for all routes and source chains.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DurationStats {
    /// Durations until transfers settle, per route.
    pub routes: HashMap<RouteKey, RouteEvidence>,
    /// Durations until transfers settle, of all routes.
    pub pooled: RouteEvidence,
    /// Durations until transactions are indexed, per source chain.
    pub chains: HashMap<ChainId, Evidence>,
}

impl DurationStats {
    /// Adds a sample.
    pub fn add(&mut self, sample: &DurationSample) {
        match sample {
            DurationSample::Ended { route, settled, estimate, .. } => {
                let mut evidence = self.evidence(route);
                evidence.add(*settled, *estimate);
                self.pooled = evidence.pooled;
                self.routes.insert(route.clone(), evidence.route);
            }
            DurationSample::Indexed { chain, duration } => self.chains.entry(chain.clone()).or_default().add(*duration),
        }
    }

    /// Returns the forecast of the time until this transfer settles.
    pub fn settling_forecast<R: RecordView>(&self, tx: &Transaction<R>) -> Lognormal {
        self.evidence(&RouteKey::of(tx)).forecast(tx.params.estimate)
    }

    /// Returns the evidence for transfers on this route.
    pub fn evidence(&self, route: &RouteKey) -> SettlingEvidence {
        SettlingEvidence { route: self.routes.get(route).copied().unwrap_or_default(), pooled: self.pooled }
    }
}

/// Returns a sentence on how soon transactions of this source chain become visible to the service. `None` if the
/// service already knows the transaction, or if the transaction is settled or failed on its source chain.
pub(crate) fn indexing_sentence(tx: &Transaction) -> Option<String> {
    if !tx.state.is_unknown_to_service() || tx.is_settled() || tx.failure_on_source().is_some() {
        return None;
    }
    let forecast = evidence::indexing_forecast(&tx.indexing);
    let [half, most] = [Quantile::P50, Quantile::P95].map(|quantile| forecast.in_words(quantile));
    let basis = match tx.indexing.is_enough() {
        true => format!("from {} on its source chain", tx.indexing.count),
        false => "typical".to_owned(),
    };
    Some(format!("half are visible within {half}, 95 in 100 within {most} ({basis})"))
}

/// The observed durations of one route, for the forecast of a transfer on the same route.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteDurations {
    pub evidence: SettlingEvidence,
    /// The durations, shortest first.
    pub durations: Vec<Duration>,
}

impl RouteDurations {
    /// Returns the number of transfers that had settled by this age.
    pub fn settled_by(&self, age: Duration) -> usize {
        self.durations.partition_point(|duration| *duration <= age)
    }

    /// Returns a text on when this transfer will probably settle, and how many transfers on the route had settled
    /// by its age. `None` if the transfer doesn't wait for time alone. `evidence` is that of the forecasts elsewhere on
    /// the screen, which may be newer than these durations.
    pub fn forecast_text(&self, evidence: &SettlingEvidence, tx: &Transaction, now: DateTime<Utc>) -> Option<String> {
        if !tx.is_waiting() || tx.failure_on_source().is_some() {
            return None;
        }
        let forecast = evidence.forecast(tx.params.estimate);
        let [half, most] = [Quantile::P50, Quantile::P90].map(|quantile| forecast.in_words(quantile));
        let basis = evidence.basis(tx.params.estimate);
        let similar = match self.durations.len() {
            0 => String::new(),
            all => format!("; {} of {all} on this route had finished by this age", self.settled_by(tx.age(now))),
        };
        // Once a transfer takes longer than nine in ten, the median is of no use.
        Some(match tx.age(now) > forecast.quantile(Quantile::P90) {
            true => {
                format!("9 in 10 transfers like this finish within {most} ({basis}); this one is slower{similar}")
            }
            false => format!("half finish within {half}, 9 in 10 within {most} ({basis}){similar}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::fixtures::{self, at},
        *,
    };

    /// Returns the samples of these answers at these seconds, for a transaction submitted at second 0.
    fn samples(answers: &[(i64, RouterStatus)]) -> Vec<DurationSample> {
        let mut tx = fixtures::transaction(1);
        tx.params.submitted_at = Some(at(0));
        let answer = |(seconds, status): &(i64, RouterStatus)| {
            let before = tx.state.clone();
            tx.apply(&fixtures::says(status.clone()), at(*seconds));
            duration_samples(&before, &tx, at(*seconds))
        };
        answers.iter().flat_map(answer).collect()
    }

    fn indexed(seconds: u64) -> DurationSample {
        DurationSample::Indexed { chain: ChainId::new("42161"), duration: Duration::from_secs(seconds) }
    }

    fn ended(outcome: RouterStatus, after: u64, by: u64) -> DurationSample {
        let route = RouteKey { from: ChainId::new("42161"), to: ChainId::new("8453"), is_gmp: false };
        let settled = SettledWithin { after: Duration::from_secs(after), by: Duration::from_secs(by) };
        DurationSample::Ended { route, outcome, settled, estimate: None }
    }

    #[test]
    fn a_change_is_dated_between_two_answers() {
        use RouterStatus::{NotFound, Ongoing, Refund, Success};
        assert_eq!(
            samples(&[(5, NotFound), (9, Ongoing), (80, Ongoing), (100, Success)]),
            [indexed(7), ended(Success, 80, 100)]
        );
        assert_eq!(samples(&[(100, Ongoing), (140, Refund)]), [ended(Refund, 100, 140)]);
        assert_eq!(samples(&[(12, Ongoing), (14, NotFound)]), [indexed(6)]);
    }

    #[test]
    fn an_answer_after_a_long_gap_yields_an_interval_but_no_duration() {
        use RouterStatus::{Ongoing, Success};
        assert_eq!(samples(&[(600, Success)]), [ended(Success, 0, 600)]);
        let late = samples(&[(100, Ongoing), (1_000, Success)]);
        assert_eq!(late, [ended(Success, 100, 1_000)]);
        let duration = |sample: &DurationSample| match sample {
            DurationSample::Ended { settled, .. } => settled.duration(),
            DurationSample::Indexed { .. } => None,
        };
        assert_eq!(duration(&late[0]), None);
        assert_eq!(duration(&ended(Success, 80, 100)), Some(Duration::from_secs(90)));
        let mut tx = fixtures::transaction(1);
        tx.apply(&fixtures::says(Success), at(5));
        assert_eq!(duration_samples(&TransactionState::default(), &tx, at(5)), [], "the submission time is unknown");
    }

    #[test]
    fn the_forecast_sentence_names_its_basis() {
        let mut tx = fixtures::transaction(1);
        tx.params.submitted_at = Some(at(0));
        let sentence = |durations: &RouteDurations, tx: &Transaction| {
            durations.forecast_text(&durations.evidence, tx, at(300)).unwrap()
        };
        let mut durations = RouteDurations::default();
        assert!(sentence(&durations, &tx).ends_with("(a guess: there is no estimate)"));
        tx.params.estimate = Some(Duration::from_secs(600));
        assert_eq!(sentence(&durations, &tx), "half finish within 10m, 9 in 10 within 28m (from the estimate)");
        let late = durations.forecast_text(&durations.evidence, &tx, at(1_673)).unwrap();
        assert_eq!(late, "9 in 10 transfers like this finish within 28m (from the estimate); this one is slower");
        durations.durations = vec![Duration::from_secs(200), Duration::from_secs(400)];
        let settled = SettledWithin { after: Duration::from_secs(298), by: Duration::from_secs(302) };
        (0..40).for_each(|_| durations.evidence.add(settled, Some(Duration::from_secs(600))));
        assert_eq!(
            sentence(&durations, &tx),
            "half finish within 5m, 9 in 10 within 8m (from the estimate and 40 transfers on this route); 1 of 2 on this route had finished by this age"
        );
        tx.apply(&fixtures::says(RouterStatus::NeedsGas), at(300));
        assert_eq!(durations.forecast_text(&durations.evidence, &tx, at(300)), None);
    }

    #[test]
    fn the_indexing_sentence_ends_once_the_transaction_is_indexed() {
        let mut tx = fixtures::transaction(1);
        let common = "half are visible within 7s, 95 in 100 within 15s (typical)";
        assert_eq!(indexing_sentence(&tx).as_deref(), Some(common));
        (0..40).for_each(|_| tx.indexing.add(Duration::from_secs(60)));
        assert!(indexing_sentence(&tx).is_some_and(|sentence| sentence.contains("(from 40 on its source chain)")));
        tx.apply(&fixtures::says(RouterStatus::Ongoing), at(9));
        assert_eq!(indexing_sentence(&tx), None);
    }

    #[test]
    fn settled_by_counts_transfers_up_to_the_age() {
        let settled = [10, 20, 30, 40].map(Duration::from_secs).to_vec();
        let durations = RouteDurations { evidence: SettlingEvidence::default(), durations: settled };
        assert_eq!([9, 10, 35, 99].map(|age| durations.settled_by(Duration::from_secs(age))), [0, 1, 3, 4]);
    }
}
