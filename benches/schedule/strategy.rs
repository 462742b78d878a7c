//! The strategies that are compared: hoptop's, as the product runs it, and common alternatives.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use hoptop::internals::{
    clock::{MonotonicTime, Now},
    domain::{
        ChainId, DurationSample, DurationStats, Evidence, Forecast, Lognormal, RouteKey, RouterStatus, RowId,
        SettledWithin, indexing_forecast,
    },
    schedule::{Expectation, NextPoll, PollContext, PollResult, Scheduler},
};

use crate::world::{BenchTransfer, MIN_INTERVAL, SIGMA, StatusResult};

/// Decides which transfer is polled next. Times are in seconds.
pub(crate) trait Strategy {
    /// Adds a transfer to poll. If it begins under way, its arrival counts as its first answer.
    fn add(&mut self, id: usize, transfer: &BenchTransfer);
    /// Returns the transfer to poll now, or the time at which one becomes due.
    fn next(&mut self, now: f64) -> Decision;
    fn on_sent(&mut self, id: usize, now: f64);
    /// Handles the answer to a transfer's request.
    fn on_answered(&mut self, id: usize, answer: StatusResult, now: f64);
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Decision {
    Poll(usize),
    WaitUntil(f64),
    Idle,
}

pub(crate) fn moment(seconds: f64) -> Now {
    Now { mono: MonotonicTime(Duration::from_secs_f64(seconds)), wall: wall_time(seconds) }
}

/// Returns the wall time of a moment, which may be before the start.
fn wall_time(seconds: f64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::microseconds((seconds * 1e6) as i64)
}

/// The product's scheduler, with the product's forecasts from observed durations.
#[derive(Default)]
pub(crate) struct HoptopStrategy {
    scheduler: Scheduler,
    duration_stats: DurationStats,
    transfers: HashMap<usize, TrackedTransfer>,
    /// Whether the forecast is the estimate with the world's spread, and nothing is learned.
    has_fixed_forecast: bool,
    /// When the source chains say when transfers were submitted, in microseconds, the earliest first.
    chains_say: BinaryHeap<Reverse<(u64, usize)>>,
}

/// A transfer, its last answer, and when that arrived; `None` before the first.
struct TrackedTransfer {
    transfer: BenchTransfer,
    last: Option<(StatusResult, f64)>,
}

/// The route from the chain with this number.
fn route(number: usize) -> RouteKey {
    RouteKey { from: ChainId::new(number.to_string()), to: ChainId::new("8453"), is_gmp: false }
}

impl HoptopStrategy {
    /// Returns the product's scheduler with the forecast that [`FullComparison`] has. Where estimates are right, what it
    /// misses against the index is the price of a cheap decision and of its rules.
    pub(crate) fn without_learning() -> Self {
        Self { has_fixed_forecast: true, ..Self::default() }
    }

    fn reschedule(&mut self, id: usize, now: f64) {
        let TrackedTransfer { transfer, last } = &self.transfers[&id];
        let estimate = Duration::from_secs_f64(transfer.estimate);
        let forecast = match self.has_fixed_forecast {
            true => Lognormal::new(estimate, SIGMA),
            false => self.duration_stats.evidence(&route(transfer.route)).forecast(Some(estimate)),
        };
        let is_unseen = last.is_none_or(|(answer, _)| answer == StatusResult::NotFound);
        let since = wall_time(transfer.since());
        let wait = TimeDelta::from_std((2 * estimate).max(Duration::from_secs(900))).unwrap();
        let deadline = since + wait;
        let poll_context = PollContext {
            last_answer: last.map(|(_, at)| moment(at).wall),
            deadline: (moment(now).wall < deadline).then_some(deadline),
            expectation: Expectation {
                since,
                forecast: Forecast::Lognormal(forecast),
                first_answer: is_unseen.then(|| indexing_forecast(&Evidence::default())),
                weight: 1.0,
            },
            young_until: None,
        };
        self.scheduler.watch(RowId(id as i64), poll_context, moment(now));
    }

    /// Adds the duration of a transfer that settled between its last answer and `now`. Ignored without a submission
    /// time.
    fn learn(&mut self, TrackedTransfer { transfer, last }: &TrackedTransfer, now: f64) {
        if transfer.is_submission_known {
            let age = |at: f64| Duration::from_secs_f64((at - transfer.submitted).max(0.0));
            let settled = SettledWithin { after: last.map_or(Duration::ZERO, |(_, at)| age(at)), by: age(now) };
            self.duration_stats.add(&DurationSample::Ended {
                route: route(transfer.route),
                outcome: RouterStatus::Success,
                settled,
                estimate: Some(Duration::from_secs_f64(transfer.estimate)),
            });
        }
    }
}

impl Strategy for HoptopStrategy {
    fn add(&mut self, id: usize, transfer: &BenchTransfer) {
        let last = transfer.indexed.is_none().then_some((StatusResult::UnderWay, transfer.arrives));
        self.transfers.insert(id, TrackedTransfer { transfer: *transfer, last });
        self.chains_say.extend(transfer.chain_says_at.map(|at| Reverse(((at * 1e6) as u64, id))));
        self.reschedule(id, transfer.arrives);
    }

    fn next(&mut self, now: f64) -> Decision {
        while let Some(Reverse((at, id))) =
            self.chains_say.peek().copied().filter(|Reverse((at, _))| *at as f64 <= now * 1e6)
        {
            self.chains_say.pop();
            if let Some(tracked) = self.transfers.get_mut(&id) {
                tracked.transfer.is_submission_known = true;
                self.reschedule(id, at as f64 / 1e6);
            }
        }
        match self.scheduler.next_poll(moment(now)) {
            NextPoll::Poll(id) => Decision::Poll(id.0 as usize),
            NextPoll::WaitUntil(at) => Decision::WaitUntil(at.0.as_secs_f64()),
            NextPoll::Idle => Decision::Idle,
        }
    }

    fn on_sent(&mut self, id: usize, now: f64) {
        self.scheduler.record_sent(RowId(id as i64), moment(now));
    }

    fn on_answered(&mut self, id: usize, answer: StatusResult, now: f64) {
        self.scheduler.record_result(RowId(id as i64), PollResult::Answered, moment(now));
        if answer == StatusResult::Settled {
            let tracked = self.transfers.remove(&id).unwrap();
            self.learn(&tracked, now);
            self.scheduler.forget(RowId(id as i64));
        } else {
            self.transfers.get_mut(&id).unwrap().last = Some((answer, now));
            self.reschedule(id, now);
        }
    }
}

/// A strategy with a rule for the time of a transfer's next poll. Of the due transfers, the one that has been due
/// longest is polled first.
pub(crate) struct RuleStrategy {
    rule: PollingRule,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    transfers: HashMap<usize, (BenchTransfer, u32)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum PollingRule {
    /// The least recently answered transfer first.
    RoundRobin,
    /// Each transfer every 5 s.
    Every5Seconds,
    /// Each transfer after 5, 10, 20 … s, at most 5 min.
    Backoff,
    /// Each transfer when its estimate has passed, then every 30 s.
    WaitForEstimate,
    /// Each transfer when it settles: a reference that no real strategy can reach.
    Oracle,
}

impl RuleStrategy {
    pub(crate) fn new(rule: PollingRule) -> Self {
        Self { rule, due: BinaryHeap::new(), transfers: HashMap::new() }
    }

    fn next_due(&self, transfer: &BenchTransfer, polls: u32, last: f64) -> f64 {
        match self.rule {
            PollingRule::RoundRobin | PollingRule::Every5Seconds => last + MIN_INTERVAL,
            PollingRule::Backoff => last + (MIN_INTERVAL * 2_f64.powi(polls.min(10) as i32)).min(300.0),
            PollingRule::WaitForEstimate if polls == 0 => {
                (last + MIN_INTERVAL).max(transfer.since() + transfer.estimate)
            }
            PollingRule::WaitForEstimate => last + 30.0,
            PollingRule::Oracle => (last + if polls == 0 { 0.0 } else { MIN_INTERVAL }).max(transfer.settles),
        }
    }

    fn push(&mut self, id: usize, last: f64) {
        let (transfer, polls) = self.transfers[&id];
        self.due.push(Reverse(((self.next_due(&transfer, polls, last) * 1e6) as u64, id)));
    }
}

impl Strategy for RuleStrategy {
    fn add(&mut self, id: usize, transfer: &BenchTransfer) {
        self.transfers.insert(id, (*transfer, 0));
        self.push(id, transfer.last_rest());
    }

    fn next(&mut self, now: f64) -> Decision {
        match self.due.peek() {
            None => Decision::Idle,
            Some(Reverse((due, id))) if *due as f64 <= now * 1e6 => Decision::Poll(*id),
            Some(Reverse((due, _))) => Decision::WaitUntil((*due + 1) as f64 / 1e6),
        }
    }

    fn on_sent(&mut self, id: usize, _now: f64) {
        assert_eq!(self.due.pop().map(|Reverse((_, due))| due), Some(id));
        self.transfers.get_mut(&id).unwrap().1 += 1;
    }

    fn on_answered(&mut self, id: usize, answer: StatusResult, now: f64) {
        if answer == StatusResult::Settled {
            self.transfers.remove(&id);
        } else {
            self.push(id, now);
        }
    }
}

/// A strategy that compares all transfers for each decision, and knows the true spread of durations. It can't be used
/// in a product, because a decision costs O(n) and the spread isn't known.
pub(crate) struct FullComparison {
    rank: RankFormula,
    /// ID, transfer, time of the last answer, and whether a request is in flight.
    tracked: Vec<(usize, BenchTransfer, f64, bool)>,
    position_by_id: HashMap<usize, usize>,
    /// The price of a poll as a fast and as a slow average, and when they were updated.
    prices: Option<(f64, f64, f64)>,
}

/// The rank by which [`FullComparison`] chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RankFormula {
    /// The probability that the transfer settled since its last answer: the intuitive choice.
    Changed,
    /// The index that hoptop's scheduler uses: optimal if the price of a poll is constant.
    Index,
    /// The index for a price that falls at its present rate r, as when a batch drains. For a price λ(t), the derivative
    /// of the cost by the moment of a poll gives (e^ΔH · (1 − r) − 1 − ΔH) / h = λ instead of (e^ΔH − 1 − ΔH) / h = λ.
    LookAhead,
}

/// The time constants of the two averages of the price, in seconds.
const PRICE_TIMES: (f64, f64) = (60.0, 300.0);

impl FullComparison {
    pub(crate) fn new(rank: RankFormula) -> Self {
        Self { rank, tracked: Vec::new(), position_by_id: HashMap::new(), prices: None }
    }

    /// Returns the rank of a transfer if the price falls by `fall` in a second.
    fn rank(&self, transfer: &BenchTransfer, last: f64, now: f64, fall: f64) -> f64 {
        let forecast = Forecast::Lognormal(Lognormal::new(Duration::from_secs_f64(transfer.estimate), SIGMA));
        let hazard_at = |at: f64| forecast.hazard(at - transfer.since());
        let events = hazard_at(now).cumulative - hazard_at(last).cumulative;
        match self.rank {
            RankFormula::Changed => events,
            RankFormula::Index | RankFormula::LookAhead => {
                (events.exp_m1() - events - fall * events.exp()) / hazard_at(now).rate.max(1e-12)
            }
        }
    }

    /// Returns by how much the price falls in a second.
    fn price_fall(&self) -> f64 {
        let (fast, slow) = PRICE_TIMES;
        match (self.rank, self.prices) {
            (RankFormula::LookAhead, Some((at_fast, at_slow, _))) => {
                ((at_slow - at_fast) / (slow - fast)).clamp(0.0, 0.9)
            }
            _ => 0.0,
        }
    }

    fn update_prices(&mut self, paid: f64, now: f64) {
        let (fast, slow, before) = self.prices.unwrap_or((paid, paid, now));
        let towards = |average: f64, time: f64| average - (paid - average) * ((before - now) / time).exp_m1();
        self.prices = Some((towards(fast, PRICE_TIMES.0), towards(slow, PRICE_TIMES.1), now));
    }
}

impl Strategy for FullComparison {
    fn add(&mut self, id: usize, transfer: &BenchTransfer) {
        self.position_by_id.insert(id, self.tracked.len());
        self.tracked.push((id, *transfer, transfer.last_rest(), false));
    }

    fn next(&mut self, now: f64) -> Decision {
        let idle = self.tracked.iter().filter(|(.., in_flight)| !in_flight);
        let rested = idle.clone().filter(|(_, _, last, _)| last + MIN_INTERVAL <= now);
        let fall = self.price_fall();
        let rank =
            |(id, transfer, last, _): &(usize, BenchTransfer, f64, bool)| (self.rank(transfer, *last, now, fall), *id);
        match rested.map(rank).max_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((_, id)) => Decision::Poll(id),
            None => match idle.map(|(_, _, last, _)| last + MIN_INTERVAL).min_by(f64::total_cmp) {
                Some(moment) => Decision::WaitUntil(moment),
                None => Decision::Idle,
            },
        }
    }

    fn on_sent(&mut self, id: usize, now: f64) {
        let position = self.position_by_id[&id];
        let (_, transfer, last, in_flight) = &mut self.tracked[position];
        *in_flight = true;
        let (transfer, last) = (*transfer, *last);
        self.update_prices(self.rank(&transfer, last, now, 0.0), now);
    }

    fn on_answered(&mut self, id: usize, answer: StatusResult, now: f64) {
        let position = self.position_by_id[&id];
        if answer == StatusResult::Settled {
            self.position_by_id.remove(&id);
            self.tracked.swap_remove(position);
            if let Some((moved, ..)) = self.tracked.get(position) {
                self.position_by_id.insert(*moved, position);
            }
        } else {
            let (_, _, last, in_flight) = &mut self.tracked[position];
            (*last, *in_flight) = (now, false);
        }
    }
}
