//! Statistics of durations: how long transfers and indexing took so far, by route and by source chain.
//!
//! An answer teaches something only if it came soon enough after the one before: what settled somewhere between two looks
//! that lie far apart took nobody knows how long.

use std::{collections::HashMap, time::Duration};

use chrono::{DateTime, Utc};

use super::{
    forecast::{self, Evidence, Lognormal, Quantile},
    ids::ChainId,
    record::RecordView,
    span,
    status::RouterStatus,
    transaction::{Transaction, TransactionState},
};

/// A look that soon after the submission says when it was indexed, whatever came before.
const SOON: Duration = Duration::from_secs(15);

/// Transfers that go the same way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteKey {
    /// Source chain.
    pub from: ChainId,
    /// Destination chain.
    pub to: ChainId,
    /// Whether it carries a message (`isGMPTransaction`); not, as long as nobody knows.
    pub gmp: bool,
}

impl RouteKey {
    /// The way that this transaction goes.
    pub fn of<R: RecordView>(tx: &Transaction<R>) -> Self {
        let gmp = tx.state.record.as_ref().and_then(RecordView::is_gmp).unwrap_or(false);
        Self { from: tx.params.from_chain.clone(), to: tx.params.to_chain.clone(), gmp }
    }
}

/// An observed duration.
#[derive(Clone, Debug, PartialEq)]
pub enum DurationSample {
    /// A transfer on this route ended so, this long after its submission.
    Ended {
        /// The route.
        route: RouteKey,
        /// How.
        outcome: RouterStatus,
        /// How long it took.
        took: Duration,
    },
    /// A transaction of this source chain was indexed, this long after its submission.
    Indexed {
        /// The source chain.
        chain: ChainId,
        /// How long it took.
        took: Duration,
    },
}

/// Returns the durations that the answer at `at` showed: `before` is the transaction's state before the answer, `tx` the
/// transaction after it.
pub fn duration_samples(before: &TransactionState, tx: &Transaction, at: DateTime<Utc>) -> Vec<DurationSample> {
    let Some(submitted) = tx.params.submitted_at else { return Vec::new() };
    let Some(status) = tx.state.status.as_ref().filter(|status| before.status.as_ref() != Some(status)) else {
        return Vec::new();
    };
    let elapsed = span::between(submitted, at);
    // It happened between the last look and this one: in the middle, for want of better.
    let unseen = before.last_checked_at.map_or(elapsed, |last| span::between(last, at)).min(elapsed);
    let took = elapsed - unseen / 2;
    let is_sharp = unseen * 2 <= elapsed;
    let was_unknown = before.status.as_ref().is_none_or(|status| *status == RouterStatus::NotFound);
    let indexed = was_unknown && *status != RouterStatus::NotFound && (is_sharp || elapsed <= SOON);
    let ends = |status: &RouterStatus| status.is_final() || *status == RouterStatus::Refund;
    let ended = is_sharp && ends(status) && !before.status.as_ref().is_some_and(ends);
    let mut duration_samples = Vec::new();
    if indexed {
        duration_samples.push(DurationSample::Indexed { chain: tx.params.from_chain.clone(), took });
    }
    if ended {
        duration_samples.push(DurationSample::Ended { route: RouteKey::of(tx), outcome: status.clone(), took });
    }
    duration_samples
}

/// The statistics of all routes and source chains of a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DurationStats {
    /// Until transfers settle.
    pub routes: HashMap<RouteKey, Evidence>,
    /// Until transactions are indexed.
    pub chains: HashMap<ChainId, Evidence>,
}

impl DurationStats {
    /// Adds a duration.
    pub fn add(&mut self, sample: &DurationSample) {
        let (evidence, took) = match sample {
            DurationSample::Ended { route, took, .. } => (self.routes.entry(route.clone()).or_default(), took),
            DurationSample::Indexed { chain, took } => (self.chains.entry(chain.clone()).or_default(), took),
        };
        evidence.add(*took);
    }

    /// How long this transfer takes until it settles.
    pub fn settling<R: RecordView>(&self, tx: &Transaction<R>) -> Lognormal {
        let observed = self.routes.get(&RouteKey::of(tx)).copied().unwrap_or_default();
        forecast::settling(tx.params.estimate, &observed)
    }
}

/// How soon the service usually knows of a transaction of its source chain; nothing of one that it knows.
pub fn indexing_sentence(tx: &Transaction) -> Option<String> {
    let is_unseen = tx.state.status.as_ref().is_none_or(|status| *status == RouterStatus::NotFound);
    if !is_unseen || tx.is_settled() {
        return None;
    }
    let forecast = forecast::indexing(&tx.indexing);
    let [half, most] = [Quantile::P50, Quantile::P95].map(|quantile| span::long(forecast.quantile(quantile)));
    let basis = match tx.indexing.is_enough() {
        true => format!("from {} on its source chain", tx.indexing.count),
        false => "typical".to_owned(),
    };
    Some(format!("half are visible within {half}, 95 in 100 within {most} ({basis})"))
}

/// What was observed of one route: for a transfer that goes the same way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteDurations {
    /// What counts for the forecast.
    pub evidence: Evidence,
    /// How long transfers took, the quickest first.
    pub took: Vec<Duration>,
}

impl RouteDurations {
    /// How many of them had settled by this age.
    pub fn settled_by(&self, age: Duration) -> usize {
        self.took.partition_point(|took| *took <= age)
    }

    /// When this transfer will probably settle, and how many that went the same way had settled by its age; nothing of one
    /// that doesn't wait for time.
    pub fn sentence(&self, tx: &Transaction, now: DateTime<Utc>) -> Option<String> {
        if !tx.is_waiting() {
            return None;
        }
        let forecast = forecast::settling(tx.params.estimate, &self.evidence);
        let [half, most] = [Quantile::P50, Quantile::P90].map(|quantile| span::long(forecast.quantile(quantile)));
        let basis = match (self.evidence.is_enough(), tx.params.estimate) {
            (true, _) => format!("from {} transfers", self.evidence.count),
            (false, Some(_)) => "from the estimate".to_owned(),
            (false, None) => "a guess: there is no estimate".to_owned(),
        };
        let similar = match self.took.len() {
            0 => String::new(),
            all => format!("; {} of {all} on this route had finished by this age", self.settled_by(tx.age(now))),
        };
        // Of what took longer than that already, how long half of them take says nothing any more.
        Some(match tx.age(now) > forecast.quantile(Quantile::P90) {
            true => {
                format!("9 in 10 transfers on this route finish within {most} ({basis}); this one is slower{similar}")
            }
            false => format!("half finish within {half}, 9 in 10 within {most} ({basis}){similar}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::{super::fixtures, *};

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    /// Returns the samples of these answers at these seconds, for a transaction that was submitted at 0.
    fn state(answers: &[(i64, RouterStatus)]) -> Vec<DurationSample> {
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
        DurationSample::Indexed { chain: ChainId::new("42161"), took: Duration::from_secs(seconds) }
    }

    fn ended(outcome: RouterStatus, seconds: u64) -> DurationSample {
        let route = RouteKey { from: ChainId::new("42161"), to: ChainId::new("8453"), gmp: false };
        DurationSample::Ended { route, outcome, took: Duration::from_secs(seconds) }
    }

    #[test]
    fn it_happened_between_two_looks() {
        use RouterStatus::{NotFound, Ongoing, Refund, Success};
        assert_eq!(
            state(&[(5, NotFound), (9, Ongoing), (80, Ongoing), (100, Success)]),
            [indexed(7), ended(Success, 90)]
        );
        assert_eq!(state(&[(100, Ongoing), (140, Refund)]), [ended(Refund, 120)]);
    }

    #[test]
    fn what_was_looked_at_too_late_teaches_nothing() {
        use RouterStatus::{NotFound, Ongoing, Success};
        assert_eq!(state(&[(600, Success)]), []);
        assert_eq!(state(&[(100, Ongoing), (1_000, Success)]), []);
        assert_eq!(state(&[(12, Ongoing), (14, NotFound)]), [indexed(6)]);
        let mut tx = fixtures::transaction(1);
        tx.apply(&fixtures::says(Success), at(5));
        assert_eq!(duration_samples(&TransactionState::default(), &tx, at(5)), []);
    }

    #[test]
    fn the_forecast_in_words_says_what_it_rests_on() {
        let mut tx = fixtures::transaction(1);
        tx.params.submitted_at = Some(at(0));
        let said = |past: &RouteDurations, tx: &Transaction| past.sentence(tx, at(300)).unwrap();
        let mut past = RouteDurations::default();
        assert!(said(&past, &tx).ends_with("(a guess: there is no estimate)"));
        tx.params.estimate = Some(Duration::from_secs(600));
        assert_eq!(said(&past, &tx), "half finish within 10m, 9 in 10 within 27m 52s (from the estimate)");
        let late = past.sentence(&tx, at(1_673)).unwrap();
        assert_eq!(
            late,
            "9 in 10 transfers on this route finish within 27m 52s (from the estimate); this one is slower"
        );
        past.took = vec![Duration::from_secs(200), Duration::from_secs(400)];
        (0..40).for_each(|_| past.evidence.add(Duration::from_secs(300)));
        assert_eq!(
            said(&past, &tx),
            "half finish within 6m 17s, 9 in 10 within 11m 23s (from 40 transfers); 1 of 2 on this route had finished by this age"
        );
        tx.apply(&fixtures::says(RouterStatus::NeedsGas), at(300));
        assert_eq!(past.sentence(&tx, at(300)), None);
    }

    #[test]
    fn how_soon_it_becomes_visible_is_said_until_it_is() {
        let mut tx = fixtures::transaction(1);
        let common = "half are visible within 7s, 95 in 100 within 15s (typical)";
        assert_eq!(indexing_sentence(&tx).as_deref(), Some(common));
        (0..40).for_each(|_| tx.indexing.add(Duration::from_secs(60)));
        assert!(indexing_sentence(&tx).is_some_and(|said| said.contains("(from 40 on its source chain)")));
        tx.apply(&fixtures::says(RouterStatus::Ongoing), at(9));
        assert_eq!(indexing_sentence(&tx), None);
    }

    #[test]
    fn the_past_counts_those_that_were_as_quick() {
        let took = [10, 20, 30, 40].map(Duration::from_secs).to_vec();
        let past = RouteDurations { evidence: Evidence::default(), took };
        assert_eq!([9, 10, 35, 99].map(|age| past.settled_by(Duration::from_secs(age))), [0, 1, 3, 4]);
    }
}
