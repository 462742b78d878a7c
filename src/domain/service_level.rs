//! Service levels: how many transfers settled within their deadline, by route and by week.
//!
//! The module knows the times of a transfer, and counts. It must never count a transfer as met or missed if its end may
//! have come before its deadline without being observed.

use std::{collections::BTreeMap, ops::AddAssign};

use chrono::{DateTime, Datelike, IsoWeek, Utc};

use super::{
    deadline::Deadline, duration_stats::RouteKey, settled_duration::SettledDuration, transaction::Transaction,
};

/// Whether a transfer settled within its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlineResult {
    /// It settled in time.
    Met,
    /// It settled too late, or is overdue.
    Missed,
    /// It was seen settled too late, but tracking began so late that it may have settled in time.
    Unknown,
}

impl DeadlineResult {
    /// Returns the result of a settled transfer.
    pub(crate) fn of_settled(deadline: &Deadline, settled_at: DateTime<Utc>, took: SettledDuration) -> Self {
        if settled_at <= deadline.at {
            Self::Met
        } else if took.is_upper_bound() == Some(true) {
            Self::Unknown
        } else {
            Self::Missed
        }
    }

    /// Returns the result of a transfer; `None` while it can still settle in time, or waits for a person.
    pub(crate) fn of<R>(tx: &Transaction<R>, now: DateTime<Utc>) -> Option<Self> {
        let deadline = tx.deadline();
        match (tx.state.settled_at, SettledDuration::of(tx)) {
            (Some(at), Some(took)) => Some(Self::of_settled(&deadline, at, took)),
            _ => (tx.is_waiting() && deadline.at < now).then_some(Self::Missed),
        }
    }

    /// Returns the name in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Unknown => "unknown",
        }
    }
}

/// The number of transfers with each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceLevel {
    /// The number of transfers that settled in time.
    pub met: u64,
    /// The number of those that didn't.
    pub missed: u64,
    /// The number of those for which it isn't known.
    pub unknown: u64,
}

impl ServiceLevel {
    /// Returns the share of transfers that settled in time, from 0 to 1; `None` if it is known for none.
    pub(crate) fn share(self) -> Option<f64> {
        let known = self.met + self.missed;
        (known > 0).then(|| self.met as f64 / known as f64)
    }

    /// Returns the share as a sentence's part: `97 % of 120 settled within their deadline (3 unknown)`; `None` if it is
    /// known for none.
    pub(crate) fn sentence(self) -> Option<String> {
        let unknown = if self.unknown > 0 { format!(" ({} unknown)", self.unknown) } else { String::new() };
        Some(format!("{} of {} settled within their deadline{unknown}", self.percent()?, self.met + self.missed))
    }

    /// Returns the share in whole per cent for people; 100 only if none missed its deadline.
    pub(crate) fn percent(self) -> Option<String> {
        let share = self.share()?;
        let percent = if self.missed > 0 { (share * 100.0).floor() } else { 100.0 };
        Some(format!("{percent:.0} %"))
    }
}

impl AddAssign for ServiceLevel {
    fn add_assign(&mut self, other: Self) {
        self.met += other.met;
        self.missed += other.missed;
        self.unknown += other.unknown;
    }
}

impl AddAssign<DeadlineResult> for ServiceLevel {
    fn add_assign(&mut self, result: DeadlineResult) {
        match result {
            DeadlineResult::Met => self.met += 1,
            DeadlineResult::Missed => self.missed += 1,
            DeadlineResult::Unknown => self.unknown += 1,
        }
    }
}

/// The service levels of a set of transfers. Costs a few bytes for each route and week, not for each transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceLevels {
    /// By route.
    pub by_route: BTreeMap<RouteKey, ServiceLevel>,
    /// By the ISO week of the submission, in UTC.
    pub by_week: BTreeMap<IsoWeek, ServiceLevel>,
}

impl ServiceLevels {
    /// Returns the level of all transfers.
    pub(crate) fn total(&self) -> ServiceLevel {
        let mut total = ServiceLevel::default();
        self.by_week.values().for_each(|level| total += *level);
        total
    }

    /// Counts the result of a transfer with this route and submission.
    pub(crate) fn count(&mut self, route: RouteKey, submitted: DateTime<Utc>, result: DeadlineResult) {
        *self.by_route.entry(route).or_default() += result;
        *self.by_week.entry(submitted.iso_week()).or_default() += result;
    }
}

/// Returns the name of an ISO week: `2026-W48`.
pub(crate) fn week_name(week: IsoWeek) -> String {
    format!("{}-W{:02}", week.year(), week.week())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::domain::{fixtures, status::RouterStatus};

    /// Returns a transfer that was submitted when it was first seen, and settled after these minutes.
    fn settled_after(minutes: i64) -> Transaction {
        let mut tx = fixtures::transaction(1);
        tx.params.submitted_at = Some(tx.first_seen_at);
        tx.apply(&fixtures::says(RouterStatus::Success), tx.first_seen_at + TimeDelta::minutes(minutes));
        tx
    }

    #[test]
    fn a_settled_transfer_met_or_missed_its_deadline() {
        let now = fixtures::transaction(1).first_seen_at + TimeDelta::days(1);
        // The deadline is 15 minutes after the submission.
        assert_eq!(DeadlineResult::of(&settled_after(15), now), Some(DeadlineResult::Met));
        assert_eq!(DeadlineResult::of(&settled_after(16), now), Some(DeadlineResult::Missed));
    }

    #[test]
    fn a_transfer_whose_end_wasnt_observed_is_unknown() {
        let mut tx = settled_after(20);
        let now = tx.first_seen_at + TimeDelta::days(1);
        tx.first_seen_at += TimeDelta::minutes(19);
        tx.state.polls = 1;
        assert_eq!(DeadlineResult::of(&tx, now), Some(DeadlineResult::Unknown));
    }

    #[test]
    fn an_unsettled_transfer_misses_its_deadline_once_that_has_passed() {
        let mut tx = fixtures::transaction(1);
        let submitted = tx.first_seen_at;
        tx.apply(&fixtures::says(RouterStatus::Ongoing), submitted + TimeDelta::minutes(1));
        assert_eq!(DeadlineResult::of(&tx, submitted + TimeDelta::minutes(15)), None);
        assert_eq!(DeadlineResult::of(&tx, submitted + TimeDelta::minutes(16)), Some(DeadlineResult::Missed));
    }

    #[test]
    fn the_share_counts_only_known_results_and_is_never_rounded_up_to_all() {
        let level = ServiceLevel { met: 999, missed: 1, unknown: 50 };
        assert_eq!((level.share(), level.percent().as_deref()), (Some(0.999), Some("99 %")));
        let sentence = "99 % of 1000 settled within their deadline (50 unknown)";
        assert_eq!(level.sentence().as_deref(), Some(sentence));
        assert_eq!(ServiceLevel { unknown: 3, ..ServiceLevel::default() }.percent(), None);
        assert_eq!(ServiceLevel { met: 2, ..ServiceLevel::default() }.percent().as_deref(), Some("100 %"));
    }

    #[test]
    fn transfers_are_counted_by_route_and_by_week() {
        let mut levels = ServiceLevels::default();
        let route = || RouteKey::of(&fixtures::transaction(1));
        let sunday = "2026-11-22T23:59:59Z".parse::<DateTime<Utc>>().unwrap();
        levels.count(route(), sunday, DeadlineResult::Met);
        levels.count(route(), sunday + TimeDelta::seconds(1), DeadlineResult::Missed);
        let both = ServiceLevel { met: 1, missed: 1, unknown: 0 };
        assert_eq!((levels.by_route[&route()], levels.total()), (both, both));
        let weeks: Vec<_> = levels.by_week.iter().map(|(week, level)| (week_name(*week), level.met)).collect();
        assert_eq!(weeks, [("2026-W47".to_owned(), 1), ("2026-W48".to_owned(), 0)]);
    }
}
