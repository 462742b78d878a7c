//! The state of the charts: the loaded outcomes, durations and budget, and the chosen route.
//!
//! The size of the loaded data depends on the number of routes, not of transactions. The selection must follow the
//! route, never the row.

use std::{cmp::Reverse, collections::BTreeMap, slice, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};

pub(crate) use crate::store::MinuteStats;
use crate::{
    clock::MonotonicTime,
    domain::{
        duration_stats::RouteKey,
        histogram::{Histogram, percentile},
        named::named,
        span,
        status::RouterStatus,
        text,
    },
    store::RouteStats,
};

/// The outcomes and durations of the transactions of one route, or of all routes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteSummary {
    /// The route; `None` for all routes.
    pub route: Option<RouteKey>,
    /// The number of transactions in each status, in the shown order; `None` means no answer.
    pub outcomes: Vec<(Option<RouterStatus>, u64)>,
    /// The number of tracked transactions.
    pub tracked: u64,
    /// The number of settled transactions.
    pub settled: u64,
    /// The number of transactions in progress.
    pub open: u64,
    /// The age of the oldest transaction in progress, when it was loaded.
    pub oldest_open: Option<Duration>,
    /// The durations of timed transfers.
    pub durations: Histogram,
    pub median: Option<Duration>,
    /// The time within which nine in ten settled; `None` for fewer than two timed transfers.
    pub nine_in_ten: Option<Duration>,
}

impl RouteSummary {
    /// Returns the number of timed transfers.
    pub fn timed(&self) -> u64 {
        self.durations.total()
    }

    /// Returns the number of successful transactions.
    pub fn succeeded(&self) -> u64 {
        let is_success = |(status, _): &&(Option<RouterStatus>, u64)| *status == Some(RouterStatus::Success);
        self.outcomes.iter().filter(is_success).map(|(_, count)| count).sum()
    }

    /// Returns the key of the order by slowness: the median. Routes without a median come after the others, in the
    /// order of their oldest transfer in progress.
    fn slowness(&self) -> (Option<Duration>, Option<Duration>) {
        (self.median, self.oldest_open.filter(|_| self.median.is_none()))
    }

    /// Sums up the statistics of these routes. `route` names a single route; `None` for all routes.
    fn new(routes: &[RouteStats], route: Option<RouteKey>, now: DateTime<Utc>) -> Self {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for (status, count) in routes.iter().flat_map(|stats| &stats.outcomes) {
            *counts.entry(status).or_default() += count;
        }
        let status = |text: &str| (!text.is_empty()).then(|| RouterStatus::from(text::clean(text)));
        let mut outcomes: Vec<_> = counts.into_iter().map(|(text, count)| (status(text), count)).collect();
        outcomes.sort_by_key(|(status, count)| (status_rank(status.as_ref()), Reverse(*count)));
        let mut durations: Vec<Duration> = routes.iter().flat_map(|stats| &stats.past.durations).copied().collect();
        durations.sort_unstable();
        let oldest_open = routes.iter().filter_map(|stats| stats.oldest_open).min();
        Self {
            route,
            tracked: outcomes.iter().map(|(_, count)| count).sum(),
            settled: routes.iter().map(|stats| stats.settled).sum(),
            open: routes.iter().map(|stats| stats.open).sum(),
            oldest_open: oldest_open.map(|oldest| span::between(oldest, now)),
            outcomes,
            durations: Histogram::of(&durations),
            median: percentile(&durations, 50),
            nine_in_ten: percentile(&durations, 90).filter(|_| durations.len() > 1),
        }
    }
}

/// Returns the rank of a status in the shown order: final statuses, then statuses in progress, then unknown ones.
fn status_rank(status: Option<&RouterStatus>) -> u8 {
    match status {
        Some(RouterStatus::Success) => 0,
        Some(RouterStatus::PartialSuccess) => 1,
        Some(RouterStatus::Refund) => 2,
        Some(RouterStatus::NeedsGas) => 3,
        Some(RouterStatus::Ongoing) => 4,
        Some(RouterStatus::NotFound) => 5,
        Some(RouterStatus::Unknown(_)) => 6,
        None => 7,
    }
}

/// The data of the charts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// All routes together, then each route, the route with the most transactions first.
    pub summaries: Vec<RouteSummary>,
    /// The budget's use in the last hour, the oldest minute first.
    pub minutes: Vec<MinuteStats>,
}

impl Statistics {
    /// Builds the data from the store's statistics, as loaded at `now`.
    pub fn new(mut routes: Vec<RouteStats>, minutes: Vec<MinuteStats>, now: DateTime<Utc>) -> Self {
        routes.sort_by_key(|stats| Reverse(stats.outcomes.values().sum::<u64>()));
        let all = RouteSummary::new(&routes, None, now);
        let each = routes.iter().map(|stats| RouteSummary::new(slice::from_ref(stats), Some(stats.route.clone()), now));
        Self { summaries: [all].into_iter().chain(each).collect(), minutes }
    }
}

named! {
    /// The period that the charts cover, in the order in which its key shows the periods.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ChartRange: label, ALL {
        /// Everything that is tracked.
        #[default]
        All "all time",
        /// The last seven days.
        Week "in progress, or settled in 7 days",
        /// The last 24 hours.
        Day "in progress, or settled in 24 hours",
        /// The last hour.
        Hour "in progress, or settled in 1 hour",
    }
}

impl ChartRange {
    /// Returns the length; `None` for everything.
    pub fn length(self) -> Option<TimeDelta> {
        match self {
            Self::All => None,
            Self::Week => Some(TimeDelta::days(7)),
            Self::Day => Some(TimeDelta::hours(24)),
            Self::Hour => Some(TimeDelta::hours(1)),
        }
    }
}

named! {
    /// The order of the list of routes, in the order in which its key shows the orders.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RouteOrder: label, ALL {
        /// The route with the most transactions first.
        #[default]
        Number "most transfers first",
        /// The route with the longest median first.
        Slowest "longest median first",
        /// The route with the smallest share of success among its settled transactions first.
        Worst "least successful first",
    }
}

impl RouteOrder {
    /// Sorts routes; routes that are equal keep the order by number.
    fn sort(self, routes: &mut [RouteSummary]) {
        routes.sort_by_key(|summary| Reverse(summary.tracked));
        match self {
            Self::Number => {}
            Self::Slowest => routes.sort_by_key(|summary| Reverse(summary.slowness())),
            // Routes without a settled transaction come last.
            Self::Worst => routes.sort_by(|one, other| {
                let share = |summary: &RouteSummary| match summary.settled {
                    0 => 2.0,
                    settled => summary.succeeded() as f64 / settled as f64,
                };
                share(one).total_cmp(&share(other))
            }),
        }
    }
}

/// The charts' state.
#[derive(Debug, Default)]
pub struct StatsState {
    /// The loaded data; `None` before the first load.
    pub statistics: Option<Statistics>,
    /// The chosen route; `None` for all routes.
    pub chosen: Option<RouteKey>,
    /// The period that the charts cover.
    pub range: ChartRange,
    /// The order of the list of routes.
    pub order: RouteOrder,
    /// The first visible row of the list of routes.
    pub top: usize,
    /// The number of rows that fit on the screen; set before each change.
    pub height: usize,
    /// Whether the store may have changed since the last load.
    pub is_stale: bool,
    /// Whether a load is running.
    pub is_loading: bool,
    /// The earliest moment of the next load.
    pub next_load_at: MonotonicTime,
}

impl StatsState {
    /// Returns all routes together, then each route.
    pub fn summaries(&self) -> &[RouteSummary] {
        self.statistics.as_ref().map_or(&[], |statistics| &statistics.summaries)
    }

    /// Returns the index of the chosen route; 0 if the route is no longer in the data.
    pub fn position(&self) -> usize {
        self.summaries().iter().position(|summary| summary.route == self.chosen).unwrap_or(0)
    }

    /// Returns the chosen route's data.
    pub fn summary(&self) -> Option<&RouteSummary> {
        self.summaries().get(self.position())
    }

    /// Shows the loaded data.
    pub fn apply_statistics(&mut self, statistics: Statistics) {
        self.statistics = Some(statistics);
        self.sort_by(self.order);
    }

    /// Sorts the list of routes; all routes together stay first.
    pub fn sort_by(&mut self, order: RouteOrder) {
        self.order = order;
        let routes = self.statistics.as_mut().and_then(|statistics| statistics.summaries.get_mut(1..));
        routes.into_iter().for_each(|routes| order.sort(routes));
        self.move_by(0);
    }

    /// Moves the choice down by so many routes, or up; stops at the ends.
    pub fn move_by(&mut self, rows: isize) {
        let last = self.summaries().len().saturating_sub(1);
        let position = self.position().saturating_add_signed(rows).min(last);
        self.chosen = self.summaries().get(position).and_then(|summary| summary.route.clone());
        self.top = super::super::scroll(self.top, Some(position), self.height, last + 1);
    }
}
