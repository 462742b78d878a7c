//! What a transaction waits for, in the scheduler's terms: a forecast, a weight.
//!
//! The one place that turns a status into an urgency; the schedule itself never sees one.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    clock::Now,
    domain::{
        experience::Experience,
        forecast::{self, Forecast, Quantile},
        need,
        status::RouterStatus,
        transaction::Transaction,
    },
    schedule::{Outlook, Standing},
};

/// Somebody has to add gas, or the price has to fall: at any time.
const GAS: Duration = Duration::from_secs(10 * 60);
/// A refund that was seen needs only to be watched.
const REFUND: Duration = Duration::from_secs(15 * 60);

/// What the scheduler is told of a transaction at `now`.
pub(super) fn standing(
    tx: &Transaction,
    experience: &Experience,
    weights: &BTreeMap<String, f64>,
    now: Now,
) -> Standing {
    let deadline = tx.deadline();
    let last_answer = tx.learned.last_checked_at;
    let confirmed = last_answer.is_some_and(|answer| answer >= deadline.at) || !tx.is_waiting();
    let weight = tx.labels.iter().filter_map(|label| weights.get(label)).copied().reduce(f64::max).unwrap_or(1.0);
    Standing {
        last_answer,
        deadline: (!confirmed).then_some(deadline.at),
        outlook: Outlook { since: deadline.submitted, forecast: forecast(tx, experience, now), weight },
        young_until: need::young_until(tx),
    }
}

fn forecast(tx: &Transaction, experience: &Experience, now: Now) -> Forecast {
    match &tx.learned.status {
        Some(RouterStatus::NeedsGas) => Forecast::AnyTime(GAS),
        Some(RouterStatus::Refund) => Forecast::AnyTime(REFUND),
        Some(RouterStatus::NotFound) => Forecast::Lognormal(forecast::indexing(&tx.indexing)),
        // Of an old one that was never asked about, it is news how it ended rather than that it is there.
        None => {
            let indexing = forecast::indexing(&tx.indexing);
            let is_new = tx.age(now.wall) <= indexing.quantile(Quantile::P95);
            Forecast::Lognormal(if is_new { indexing } else { experience.settling(tx) })
        }
        Some(_) => Forecast::Lognormal(experience.settling(tx)),
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

    fn told(status: Option<RouterStatus>, seconds: i64) -> Standing {
        let mut tx = fixtures::transaction(1);
        tx.told.estimate = Some(Duration::from_secs(300));
        tx.labels = vec!["batch".into(), "vip".into()];
        if let Some(status) = status {
            tx.apply(&fixtures::says(status), at(&tx, 1).wall);
        }
        let weights = BTreeMap::from([("vip".to_owned(), 4.0), ("batch".to_owned(), 0.5)]);
        standing(&tx, &Experience::default(), &weights, at(&tx, seconds))
    }

    fn median(standing: &Standing) -> u64 {
        match standing.outlook.forecast {
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
            assert_eq!(median(&told(status.clone(), seconds)), expected, "{status:?} after {seconds} s");
        }
    }

    #[test]
    fn the_heaviest_label_counts_and_the_young_and_unseen_are_to_be_fresh() {
        assert_eq!(told(None, 3).outlook.weight, 4.0);
        let young =
            [None, Some(RouterStatus::Ongoing)].map(|status| told(status, 3).young_until.map(|at| at.timestamp()));
        assert_eq!(young, [Some(60), None]);
    }
}
