//! The strategies that are compared: ours, as the product runs it, and what others do.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    time::Duration,
};

use chrono::{DateTime, TimeDelta};
use hoptop::{
    clock::{Mono, Now},
    domain::{
        forecast::{self, Evidence, Forecast, Lognormal},
        ids::RowId,
    },
    schedule::{Ending, Expectation, Next, PollContext, Scheduler},
};

use crate::world::{MEDIANS, SIGMA, Transfer};

/// Says which transfer is asked about next. Moments are seconds.
pub trait Strategy {
    /// This one is to be followed from now on; at this moment it was seen under way.
    fn add(&mut self, id: usize, transfer: &Transfer);
    /// The next one, or from when on there is one.
    fn next(&mut self, now: f64) -> Turn;
    fn sent(&mut self, id: usize, now: f64);
    /// Its answer came.
    fn ended(&mut self, id: usize, settled: bool, now: f64);
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turn {
    Ask(usize),
    WaitUntil(f64),
    Idle,
}

/// Nothing is asked about more often, whoever asks.
const REST: f64 = 5.0;

pub fn moment(seconds: f64) -> Now {
    Now {
        mono: Mono(Duration::from_secs_f64(seconds)),
        wall: DateTime::UNIX_EPOCH + TimeDelta::microseconds((seconds * 1e6) as i64),
    }
}

/// The product's scheduler, with the forecasts that the product learns.
#[derive(Default)]
pub struct Ours {
    pub scheduler: Scheduler,
    evidence: [Evidence; MEDIANS.len()],
    transfers: HashMap<usize, Transfer>,
    last: HashMap<usize, f64>,
}

impl Ours {
    pub fn with_rate(rate: f64) -> Self {
        let mut ours = Self::default();
        ours.scheduler.set_rate(rate);
        ours
    }

    fn watch(&mut self, id: usize, now: f64) {
        let transfer = self.transfers[&id];
        let estimate = Duration::from_secs_f64(transfer.estimate);
        let forecast = forecast::settling(Some(estimate), &self.evidence[transfer.route]);
        let submitted = moment(transfer.submitted).wall;
        let wait = TimeDelta::from_std((2 * estimate).max(Duration::from_secs(900))).unwrap();
        let deadline = submitted + wait;
        let poll_context = PollContext {
            last_answer: Some(moment(self.last[&id]).wall),
            deadline: (moment(now).wall < deadline).then_some(deadline),
            expectation: Expectation { since: submitted, forecast: Forecast::Lognormal(forecast), weight: 1.0 },
            young_until: None,
        };
        self.scheduler.watch(RowId(id as i64), poll_context, moment(now));
    }
}

impl Strategy for Ours {
    fn add(&mut self, id: usize, transfer: &Transfer) {
        self.transfers.insert(id, *transfer);
        self.last.insert(id, transfer.submitted);
        self.watch(id, transfer.submitted);
    }

    fn next(&mut self, now: f64) -> Turn {
        match self.scheduler.next(moment(now)) {
            Next::Poll(id) => Turn::Ask(id.0 as usize),
            Next::WaitUntil(at) => Turn::WaitUntil(at.0.as_secs_f64()),
            Next::Idle => Turn::Idle,
        }
    }

    fn sent(&mut self, id: usize, now: f64) {
        self.scheduler.sent(RowId(id as i64), moment(now));
    }

    fn ended(&mut self, id: usize, settled: bool, now: f64) {
        self.scheduler.ended(RowId(id as i64), Ending::Answered, moment(now));
        let last = self.last.insert(id, now).unwrap();
        if settled {
            let transfer = self.transfers[&id];
            let took = 0.5 * (last + now) - transfer.submitted;
            self.evidence[transfer.route].add(Duration::from_secs_f64(took));
            self.scheduler.forget(RowId(id as i64));
        } else {
            self.watch(id, now);
        }
    }
}

/// When a transfer is asked about again after an answer, as a rule of its own; of those that are due the one that is due
/// longest comes first.
pub struct ByRule {
    rule: Rule,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    state: HashMap<usize, (Transfer, u32)>,
}

#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// The least recently answered first.
    RoundRobin,
    /// Each every five seconds.
    Every5Seconds,
    /// Each after 5, 10, 20 … s, at most 5 min.
    Backoff,
    /// Each when its estimate has passed, then every 30 s.
    WaitForEstimate,
    /// Each when it settles: nobody can know that.
    Oracle,
}

impl ByRule {
    pub fn new(rule: Rule) -> Self {
        Self { rule, due: BinaryHeap::new(), state: HashMap::new() }
    }

    fn due(&self, transfer: &Transfer, polls: u32, last: f64) -> f64 {
        match self.rule {
            Rule::RoundRobin | Rule::Every5Seconds => last + REST,
            Rule::Backoff => last + (REST * 2_f64.powi(polls.min(10) as i32)).min(300.0),
            Rule::WaitForEstimate if polls == 0 => (last + REST).max(transfer.submitted + transfer.estimate),
            Rule::WaitForEstimate => last + 30.0,
            Rule::Oracle => (last + if polls == 0 { 0.0 } else { REST }).max(transfer.settles),
        }
    }

    fn push(&mut self, id: usize, last: f64) {
        let (transfer, polls) = self.state[&id];
        self.due.push(Reverse(((self.due(&transfer, polls, last) * 1e6) as u64, id)));
    }
}

impl Strategy for ByRule {
    fn add(&mut self, id: usize, transfer: &Transfer) {
        self.state.insert(id, (*transfer, 0));
        self.push(id, transfer.submitted);
    }

    fn next(&mut self, now: f64) -> Turn {
        match self.due.peek() {
            None => Turn::Idle,
            Some(Reverse((due, id))) if *due as f64 <= now * 1e6 => Turn::Ask(*id),
            Some(Reverse((due, _))) => Turn::WaitUntil((*due + 1) as f64 / 1e6),
        }
    }

    fn sent(&mut self, id: usize, _now: f64) {
        assert_eq!(self.due.pop().map(|Reverse((_, due))| due), Some(id));
        self.state.get_mut(&id).unwrap().1 += 1;
    }

    fn ended(&mut self, id: usize, settled: bool, now: f64) {
        if settled {
            self.state.remove(&id);
        } else {
            self.push(id, now);
        }
    }
}

/// What looks natural: the highest probability that it has changed since its last answer. Knows the routes' true medians.
#[derive(Default)]
pub struct MostLikelyChanged {
    /// The transfer, its last answer, and whether its request is under way.
    followed: Vec<(usize, Transfer, f64, bool)>,
    places: HashMap<usize, usize>,
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
        self.places.insert(id, self.followed.len());
        self.followed.push((id, *transfer, transfer.submitted, false));
    }

    fn next(&mut self, now: f64) -> Turn {
        let free = self.followed.iter().filter(|(.., under_way)| !under_way);
        let rested = free.clone().filter(|(_, _, last, _)| last + REST <= now);
        let chance = |(id, transfer, last, _): &(usize, Transfer, f64, bool)| (Self::chance(transfer, *last, now), *id);
        match rested.map(chance).max_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((_, id)) => Turn::Ask(id),
            None => match free.map(|(_, _, last, _)| last + REST).min_by(f64::total_cmp) {
                Some(moment) => Turn::WaitUntil(moment),
                None => Turn::Idle,
            },
        }
    }

    fn sent(&mut self, id: usize, _now: f64) {
        let place = self.places[&id];
        self.followed[place].3 = true;
    }

    fn ended(&mut self, id: usize, settled: bool, now: f64) {
        let place = self.places[&id];
        if settled {
            self.places.remove(&id);
            self.followed.swap_remove(place);
            if let Some((moved, ..)) = self.followed.get(place) {
                self.places.insert(*moved, place);
            }
        } else {
            let (_, _, last, under_way) = &mut self.followed[place];
            (*last, *under_way) = (now, false);
        }
    }
}
