//! What a transaction waits for, in the scheduler's terms: a forecast, a weight.
//!
//! The one place that turns a status into an urgency; the schedule itself never sees one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use chrono::{DateTime, Utc};

use super::driver::Scope;
use crate::{
    clock::Now,
    domain::{
        alert::Rule,
        change::{Change, What},
        experience::Experience,
        filter::Filter,
        forecast::{self, Forecast, Quantile},
        ids::RowId,
        need,
        status::RouterStatus,
        transaction::Transaction,
    },
    schedule::{Outlook, Standing},
    store::{Follower, News, Reader, StoreError},
};

/// Somebody has to add gas, or the price has to fall: at any time.
const GAS: Duration = Duration::from_secs(10 * 60);
/// A refund that was seen needs only to be watched.
const REFUND: Duration = Duration::from_secs(15 * 60);

/// How one poller looks at what is tracked.
pub(super) struct Eyes {
    /// The profile that it polls.
    pub(super) profile: String,
    /// What it sends of its own accord.
    pub(super) scope: Scope,
    /// How much more a delay costs for transactions with these labels.
    pub(super) weights: BTreeMap<String, f64>,
    /// What was learned of how long things take.
    pub(super) experience: Arc<Experience>,
}

/// What becomes of one transaction in the schedule.
pub(super) struct Turn {
    /// Which one.
    pub(super) id: RowId,
    /// How it stands, if it is to be asked about.
    pub(super) standing: Option<Standing>,
    /// Whether it is asked about once, since a person asked, and not of the poller's own accord.
    pub(super) once: bool,
    /// Whether a person asked.
    pub(super) asked_for: bool,
}

impl Turn {
    fn of_deleted(change: &Change) -> Option<Self> {
        match change.what {
            What::Deleted { row } => Some(Self { id: RowId(row), standing: None, once: false, asked_for: false }),
            _ => None,
        }
    }
}

/// What a look into the store brought.
pub(super) struct Seen {
    /// What changed.
    pub(super) news: News,
    /// What becomes of whatever changed.
    pub(super) turns: Vec<Turn>,
    /// What people have open.
    pub(super) open: Vec<RowId>,
    /// Until when a person wants nothing polled, if so.
    pub(super) paused_until: Option<DateTime<Utc>>,
    /// What was learned of how long things take.
    pub(super) experience: Arc<Experience>,
}

impl Seen {
    /// Looks at what changed since the last time; the first time, or if it fell behind, at all that is polled, one after the
    /// other. Blocks for the disk.
    pub(super) fn look(follower: &Follower, mut eyes: Eyes, now: Now) -> Result<Self, StoreError> {
        follower.news_with(|news, reader| {
            let mut turns = Vec::new();
            if news.anew {
                eyes.experience = Arc::new(reader.experience(&eyes.profile)?);
                reader.each_polled(&eyes.profile, |tx| turns.extend(eyes.turn(&tx, now)))?;
            } else {
                let other = news.changes.iter().filter(|change| change.profile == eyes.profile && !eyes.knows(change));
                let rows: BTreeSet<RowId> = other.filter_map(|change| change.transaction).collect();
                for row in rows {
                    turns.extend(reader.outline(row)?.and_then(|tx| eyes.turn(&tx, now)));
                }
                turns.extend(news.changes.iter().filter_map(Turn::of_deleted));
            }
            let (open, paused_until) = (reader.looked_at(now.wall)?, reader.paused_until(&eyes.profile, now.wall)?);
            Ok(Self { turns, open, paused_until, experience: eyes.experience, news })
        })
    }
}

impl Eyes {
    /// Whether this is an answer of the one who polls the profile, who has taken it in when it came, or says no more than that
    /// there was one.
    fn knows(&self, change: &Change) -> bool {
        change.observation.is_some() || change.what == What::Polled
    }

    /// What becomes of a transaction; nothing if it is another profile's.
    pub(super) fn turn(&self, tx: &Transaction, now: Now) -> Option<Turn> {
        let wanted = tx.wants_polling() && self.scope == Scope::Everything;
        let asked_for = tx.poll_requested_at.is_some();
        let standing = (wanted || asked_for).then(|| standing(tx, &self.experience, &self.weights, now));
        (tx.profile == self.profile).then_some(Turn { id: tx.id, standing, once: !wanted && asked_for, asked_for })
    }

    /// What is overdue without an alert that says so, each with how it stands: to be asked about again.
    pub(super) fn unconfirmed(&self, reader: &Reader, now: Now) -> Result<Vec<(RowId, Standing)>, StoreError> {
        let overdue = Filter::parse("is:overdue is:active -is:parked").unwrap_or_else(|_| Filter::everything());
        let mut found = Vec::new();
        reader.each(&reader.listing(&overdue, now.wall).all()?, |tx, alerts| {
            let raised = alerts.iter().any(|alert| alert.rule == Rule::Overdue);
            if tx.profile == self.profile && tx.is_overdue() && tx.wants_polling() && !raised {
                let standing = standing(tx, &self.experience, &self.weights, now);
                found.push((tx.id, Standing { deadline: Some(tx.deadline().at), ..standing }));
            }
            Ok::<_, StoreError>(())
        })?;
        Ok(found)
    }
}

/// What the scheduler is told of a transaction at `now`.
fn standing(tx: &Transaction, experience: &Experience, weights: &BTreeMap<String, f64>, now: Now) -> Standing {
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
