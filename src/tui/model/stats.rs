//! What the charts show: what was read of outcomes, durations and the budget, and which route a person looks at.
//!
//! What was read is as large as the routes are many, however many transactions there are. The selection follows the route,
//! never the row.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

pub use crate::store::Minute;
use crate::{
    clock::Mono,
    domain::{
        duration_stats::RouteKey,
        histogram::{Histogram, percentile},
        status::RouterStatus,
        text,
    },
    store::RouteStats,
};

/// What became of transactions that go the same way, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread {
    /// The route; `None` for all of them.
    pub route: Option<RouteKey>,
    /// How many have each status, in the order in which they are shown; `None` for those without an answer.
    pub outcomes: Vec<(Option<RouterStatus>, u64)>,
    /// How many are tracked.
    pub tracked: u64,
    /// How many of these are settled.
    pub settled: u64,
    /// How long transfers took, of those of which it is known.
    pub took: Histogram,
    /// So long took half of them at most.
    pub median: Option<Duration>,
    /// So long took 95 in 100 at most.
    pub p95: Option<Duration>,
}

impl Spread {
    /// Of how many it is known how long they took.
    pub fn timed(&self) -> u64 {
        self.took.total()
    }

    fn new(route: Option<RouteKey>, outcomes: &BTreeMap<String, u64>, (settled, sorted): (u64, &[Duration])) -> Self {
        let status = |text: &String| (!text.is_empty()).then(|| RouterStatus::from(text::clean(text)));
        let mut outcomes: Vec<_> = outcomes.iter().map(|(text, count)| (status(text), *count)).collect();
        outcomes.sort_by_key(|(status, count)| (rank(status.as_ref()), Reverse(*count)));
        Self {
            route,
            tracked: outcomes.iter().map(|(_, count)| count).sum(),
            settled,
            outcomes,
            took: Histogram::of(sorted),
            median: percentile(sorted, 50),
            p95: percentile(sorted, 95),
        }
    }
}

/// Where a status stands: how things end first, then what is under way, then what nobody expected.
fn rank(status: Option<&RouterStatus>) -> u8 {
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

/// What was read for the charts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// All routes together, then each, the busiest first.
    pub spreads: Vec<Spread>,
    /// The last hour of the budget, the oldest minute first.
    pub minutes: Vec<Minute>,
}

impl Statistics {
    /// From what the store has.
    pub fn new(mut routes: Vec<RouteStats>, minutes: Vec<Minute>) -> Self {
        routes.sort_by_key(|stats| Reverse(stats.outcomes.values().sum::<u64>()));
        let mut took: Vec<Duration> = routes.iter().flat_map(|stats| &stats.past.took).copied().collect();
        took.sort_unstable();
        let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
        for (status, count) in routes.iter().flat_map(|stats| &stats.outcomes) {
            *outcomes.entry(status.clone()).or_default() += count;
        }
        let settled = routes.iter().map(|stats| stats.settled).sum();
        let all = Spread::new(None, &outcomes, (settled, &took));
        let each = routes
            .into_iter()
            .map(|stats| Spread::new(Some(stats.route), &stats.outcomes, (stats.settled, &stats.past.took)));
        Self { spreads: [all].into_iter().chain(each).collect(), minutes }
    }
}

/// The charts' state.
#[derive(Debug, Default)]
pub struct Charts {
    /// What was read; `None` until then.
    pub read: Option<Statistics>,
    /// The chosen route; `None` for all of them.
    pub chosen: Option<RouteKey>,
    /// The first row of the list of routes that is shown.
    pub top: usize,
    /// Rows that there is room for; set before each change.
    pub height: usize,
    /// Whether they may look otherwise by now.
    pub stale: bool,
    /// Whether they are being read.
    pub reading: bool,
    /// Until when they aren't read again.
    pub rest: Mono,
}

impl Charts {
    /// All routes together, then each.
    pub fn spreads(&self) -> &[Spread] {
        self.read.as_ref().map_or(&[], |read| &read.spreads)
    }

    /// Where the chosen one stands; the first if it isn't there any more.
    pub fn place(&self) -> usize {
        self.spreads().iter().position(|spread| spread.route == self.chosen).unwrap_or(0)
    }

    /// The chosen one.
    pub fn spread(&self) -> Option<&Spread> {
        self.spreads().get(self.place())
    }

    /// Takes in what was read.
    pub fn take_in(&mut self, read: Statistics) {
        self.read = Some(read);
        self.move_by(0);
    }

    /// Chooses the route so many further down, or up; stops at the ends.
    pub fn move_by(&mut self, rows: isize) {
        let last = self.spreads().len().saturating_sub(1);
        let place = self.place().saturating_add_signed(rows).min(last);
        self.chosen = self.spreads().get(place).and_then(|spread| spread.route.clone());
        let height = self.height.max(1);
        self.top = self.top.clamp(place.saturating_sub(height - 1), place).min((last + 1).saturating_sub(height));
    }
}
