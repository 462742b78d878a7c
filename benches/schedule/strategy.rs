//! The strategies that are compared: hoptop's, as the product runs it, and common alternatives.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    time::Duration,
};

use chrono::{DateTime, TimeDelta};
use hoptop::internals::{
    clock::{Mono, Now},
    domain::{
        forecast::{self, Evidence, Forecast, Lognormal},
        ids::RowId,
    },
    schedule::{Expectation, Next, PollContext, PollResult, Scheduler},
};

use crate::world::{MEDIANS, SIGMA, Transfer};

/// Decides which transfer is polled next. Times are in seconds.
pub(crate) trait Strategy {
    /// Adds a transfer to poll. Its submission counts as the first time that it was seen in progress.
    fn add(&mut self, id: usize, transfer: &Transfer);
    /// Returns the transfer to poll now, or the time at which one becomes due.
    fn next(&mut self, now: f64) -> Decision;
    fn on_sent(&mut self, id: usize, now: f64);
    /// Handles the answer to a transfer's request.
    fn on_answered(&mut self, id: usize, settled: bool, now: f64);
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Decision {
    Poll(usize),
    WaitUntil(f64),
    Idle,
}

/// The shortest time between two polls of a transfer, in seconds, for every strategy.
const MIN_INTERVAL: f64 = 5.0;

pub(crate) fn moment(seconds: f64) -> Now {
    Now {
        mono: Mono(Duration::from_secs_f64(seconds)),
        wall: DateTime::UNIX_EPOCH + TimeDelta::microseconds((seconds * 1e6) as i64),
    }
}

/// The product's scheduler, with forecasts learned as in the product.
#[derive(Default)]
pub(crate) struct HoptopStrategy {
    pub scheduler: Scheduler,
    evidence: [Evidence; MEDIANS.len()],
    transfers: HashMap<usize, Transfer>,
    last_answers: HashMap<usize, f64>,
}

impl HoptopStrategy {
    pub(crate) fn with_rate(rate: f64) -> Self {
        let mut strategy = Self::default();
        strategy.scheduler.set_rate(rate);
        strategy
    }

    fn reschedule(&mut self, id: usize, now: f64) {
        let transfer = self.transfers[&id];
        let estimate = Duration::from_secs_f64(transfer.estimate);
        let forecast = forecast::settling(Some(estimate), &self.evidence[transfer.route]);
        let submitted = moment(transfer.submitted).wall;
        let wait = TimeDelta::from_std((2 * estimate).max(Duration::from_secs(900))).unwrap();
        let deadline = submitted + wait;
        let poll_context = PollContext {
            last_answer: Some(moment(self.last_answers[&id]).wall),
            deadline: (moment(now).wall < deadline).then_some(deadline),
            expectation: Expectation { since: submitted, forecast: Forecast::Lognormal(forecast), weight: 1.0 },
            young_until: None,
        };
        self.scheduler.watch(RowId(id as i64), poll_context, moment(now));
    }
}

impl Strategy for HoptopStrategy {
    fn add(&mut self, id: usize, transfer: &Transfer) {
        self.transfers.insert(id, *transfer);
        self.last_answers.insert(id, transfer.submitted);
        self.reschedule(id, transfer.submitted);
    }

    fn next(&mut self, now: f64) -> Decision {
        match self.scheduler.next_poll(moment(now)) {
            Next::Poll(id) => Decision::Poll(id.0 as usize),
            Next::WaitUntil(at) => Decision::WaitUntil(at.0.as_secs_f64()),
            Next::Idle => Decision::Idle,
        }
    }

    fn on_sent(&mut self, id: usize, now: f64) {
        self.scheduler.record_sent(RowId(id as i64), moment(now));
    }

    fn on_answered(&mut self, id: usize, settled: bool, now: f64) {
        self.scheduler.record_result(RowId(id as i64), PollResult::Answered, moment(now));
        let last = self.last_answers.insert(id, now).unwrap();
        if settled {
            let transfer = self.transfers[&id];
            let duration = 0.5 * (last + now) - transfer.submitted;
            self.evidence[transfer.route].add(Duration::from_secs_f64(duration));
            self.scheduler.forget(RowId(id as i64));
        } else {
            self.reschedule(id, now);
        }
    }
}

/// A strategy with a rule for the time of a transfer's next poll. Of the due transfers, the one that has been due
/// longest is polled first.
pub(crate) struct RuleStrategy {
    rule: Rule,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    transfers: HashMap<usize, (Transfer, u32)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
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
    pub(crate) fn new(rule: Rule) -> Self {
        Self { rule, due: BinaryHeap::new(), transfers: HashMap::new() }
    }

    fn next_due(&self, transfer: &Transfer, polls: u32, last: f64) -> f64 {
        match self.rule {
            Rule::RoundRobin | Rule::Every5Seconds => last + MIN_INTERVAL,
            Rule::Backoff => last + (MIN_INTERVAL * 2_f64.powi(polls.min(10) as i32)).min(300.0),
            Rule::WaitForEstimate if polls == 0 => (last + MIN_INTERVAL).max(transfer.submitted + transfer.estimate),
            Rule::WaitForEstimate => last + 30.0,
            Rule::Oracle => (last + if polls == 0 { 0.0 } else { MIN_INTERVAL }).max(transfer.settles),
        }
    }

    fn push(&mut self, id: usize, last: f64) {
        let (transfer, polls) = self.transfers[&id];
        self.due.push(Reverse(((self.next_due(&transfer, polls, last) * 1e6) as u64, id)));
    }
}

impl Strategy for RuleStrategy {
    fn add(&mut self, id: usize, transfer: &Transfer) {
        self.transfers.insert(id, (*transfer, 0));
        self.push(id, transfer.submitted);
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

    fn on_answered(&mut self, id: usize, settled: bool, now: f64) {
        if settled {
            self.transfers.remove(&id);
        } else {
            self.push(id, now);
        }
    }
}

/// Polls the transfer that most probably changed since its last answer, the intuitive choice. Knows the routes' true
/// medians.
#[derive(Default)]
pub(crate) struct MostLikelyChanged {
    /// ID, transfer, time of the last answer, and whether a request is in flight.
    tracked: Vec<(usize, Transfer, f64, bool)>,
    position_by_id: HashMap<usize, usize>,
}

impl MostLikelyChanged {
    fn chance(transfer: &Transfer, last: f64, now: f64) -> f64 {
        let forecast = Forecast::Lognormal(Lognormal::new(Duration::from_secs_f64(transfer.estimate), SIGMA));
        let cumulative = |at: f64| forecast.hazard(at - transfer.submitted).cumulative;
        1.0 - (cumulative(last) - cumulative(now)).exp()
    }
}

impl Strategy for MostLikelyChanged {
    fn add(&mut self, id: usize, transfer: &Transfer) {
        self.position_by_id.insert(id, self.tracked.len());
        self.tracked.push((id, *transfer, transfer.submitted, false));
    }

    fn next(&mut self, now: f64) -> Decision {
        let idle = self.tracked.iter().filter(|(.., in_flight)| !in_flight);
        let rested = idle.clone().filter(|(_, _, last, _)| last + MIN_INTERVAL <= now);
        let chance = |(id, transfer, last, _): &(usize, Transfer, f64, bool)| (Self::chance(transfer, *last, now), *id);
        match rested.map(chance).max_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((_, id)) => Decision::Poll(id),
            None => match idle.map(|(_, _, last, _)| last + MIN_INTERVAL).min_by(f64::total_cmp) {
                Some(moment) => Decision::WaitUntil(moment),
                None => Decision::Idle,
            },
        }
    }

    fn on_sent(&mut self, id: usize, _now: f64) {
        let position = self.position_by_id[&id];
        self.tracked[position].3 = true;
    }

    fn on_answered(&mut self, id: usize, settled: bool, now: f64) {
        let position = self.position_by_id[&id];
        if settled {
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
