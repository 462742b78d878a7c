//! Service levels: how many transfers settled within their deadline, by route and by week.
//!
//! The module knows the times of a transfer, and counts. It must never count a transfer as met or missed if its end may
//! have come before its deadline without being observed.

use std::{collections::BTreeMap, ops::AddAssign};

use chrono::{DateTime, Datelike, IsoWeek, Utc};

use super::{deadline::Deadline, duration_stats::RouteKey, named::named};

named! {
    /// Whether a transfer ended within its deadline.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DeadlineResult: name, ALL {
        /// An answer within the deadline showed the end.
        Met "met",
        /// An answer after the deadline showed the transfer still under way.
        Missed "missed",
        /// No answer shows on which side of the deadline the end was.
        Unknown "unknown",
    }
}

impl DeadlineResult {
    /// Returns the result of a transfer that ended at `ended_at` (`Transaction::ended_at`). `waited_until` is the time
    /// of the last answer that showed the transfer under way. Returns `None` for a transfer that may still end in time,
    /// or whose answers all came before the deadline.
    pub(crate) fn of(
        deadline: &Deadline,
        ended_at: Option<DateTime<Utc>>,
        waited_until: Option<DateTime<Utc>>,
    ) -> Option<Self> {
        if waited_until.is_some_and(|at| at >= deadline.at) {
            return Some(Self::Missed);
        }
        let is_known = |end| !deadline.is_from_first_seen && (deadline.submitted..=deadline.at).contains(&end);
        ended_at.map(|end| if is_known(end) { Self::Met } else { Self::Unknown })
    }
}

/// The number of transfers with each result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceLevel {
    /// The number of transfers that ended in time.
    pub met: u64,
    /// The number of transfers that didn't.
    pub missed: u64,
    /// The number of ended transfers for which it isn't known.
    pub unknown: u64,
}

impl ServiceLevel {
    /// Returns the share of transfers that settled in time, from 0 to 1; `None` if it is known for none.
    pub(crate) fn share(self) -> Option<f64> {
        let known = self.met + self.missed;
        (known > 0).then(|| self.met as f64 / known as f64)
    }

    /// Returns the share as a sentence's part: `97 % of 120 that settled or passed their deadline were in time (3
    /// unknown)`; `None` if it is known for none.
    pub(crate) fn sentence(self) -> Option<String> {
        let unknown = if self.unknown > 0 { format!(" ({} unknown)", self.unknown) } else { String::new() };
        Some(format!(
            "{} of {} that settled or passed their deadline were in time{unknown}",
            self.percent()?,
            self.met + self.missed
        ))
    }

    /// Returns the share in whole per cent, rounded down: 100 only if none missed its deadline.
    pub(crate) fn whole_percent(self) -> Option<u64> {
        (self.met * 100).checked_div(self.met + self.missed)
    }

    /// Returns the share in whole per cent for people: `97 %`.
    pub(crate) fn percent(self) -> Option<String> {
        self.whole_percent().map(|percent| format!("{percent} %"))
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
        for ServiceLevel { met, missed, unknown } in self.by_week.values() {
            total.met += met;
            total.missed += missed;
            total.unknown += unknown;
        }
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
    format!("{:04}-W{:02}", week.year(), week.week())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::TimeDelta;

    use super::*;
    use crate::domain::fixtures;

    /// Returns the result of a transfer with a deadline 15 minutes after its submission. `ended` and `waited` are the
    /// minutes until its end and until the last answer that showed it under way.
    fn result(ended: Option<i64>, waited: Option<i64>) -> Option<DeadlineResult> {
        let submitted = DateTime::UNIX_EPOCH;
        let deadline = Deadline::new(Some(submitted), submitted, Some(Duration::from_secs(450)));
        let at = |minutes| submitted + TimeDelta::minutes(minutes);
        DeadlineResult::of(&deadline, ended.map(at), waited.map(at))
    }

    #[test]
    fn an_end_within_the_deadline_is_met_whatever_came_before() {
        for waited in [None, Some(1), Some(14)] {
            assert_eq!(result(Some(15), waited), Some(DeadlineResult::Met));
        }
    }

    #[test]
    fn only_an_answer_after_the_deadline_shows_that_it_was_missed() {
        assert_eq!(result(Some(20), Some(15)), Some(DeadlineResult::Missed));
        assert_eq!(result(None, Some(15)), Some(DeadlineResult::Missed));
        // Nobody asked between the last answer and the end, or ever before the end.
        assert_eq!(result(Some(20), Some(14)), Some(DeadlineResult::Unknown));
        assert_eq!(result(Some(20), None), Some(DeadlineResult::Unknown));
    }

    #[test]
    fn a_transfer_without_an_end_has_no_result_before_an_answer_after_its_deadline() {
        assert_eq!((result(None, None), result(None, Some(14))), (None, None));
    }

    #[test]
    fn an_end_is_unknown_without_a_submission_before_it() {
        assert_eq!(result(Some(-1), None), Some(DeadlineResult::Unknown));
        let seen = DateTime::UNIX_EPOCH;
        let deadline = Deadline::new(None, seen, None);
        let of = |ended, waited| DeadlineResult::of(&deadline, ended, waited);
        let at = |minutes| Some(seen + TimeDelta::minutes(minutes));
        assert_eq!(of(at(1), None), Some(DeadlineResult::Unknown));
        // The submission was before hoptop first saw the transfer, so this deadline is later than the true one.
        assert_eq!(of(at(20), at(15)), Some(DeadlineResult::Missed));
    }

    #[test]
    fn the_share_counts_only_known_results_and_is_never_rounded_up_to_all() {
        let level = ServiceLevel { met: 999, missed: 1, unknown: 50 };
        assert_eq!((level.share(), level.percent().as_deref()), (Some(0.999), Some("99 %")));
        let counted = |met| ServiceLevel { met, missed: 100 - met, unknown: 0 }.percent().unwrap();
        assert_eq!([29, 57, 58].map(counted), ["29 %", "57 %", "58 %"]);
        let sentence = "99 % of 1000 that settled or passed their deadline were in time (50 unknown)";
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
