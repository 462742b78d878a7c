//! A day in virtual time: suspends, jumps of the wall clock, storms of 429, outages, a refused ID. The core decides; the
//! latencies are random.

use std::collections::{BTreeMap, VecDeque};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::{
    budget::{Budget, SlotPermit},
    clock::Now,
    domain::forecast::{Forecast, Lognormal},
    poller::core::{Action, Core, EndedRequest, ServiceRequest},
    schedule::{Expectation, MOST_SWEEPS, PollContext},
};

const DAY: u64 = 24 * 60 * 60 * 1_000;
const RPS: f64 = 4.0;

/// The state of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServiceState {
    Answering,
    Throttling,
    Outage,
    Refusing,
    /// Accepts requests, and never answers.
    Silent,
}

fn service_state(millis: u64) -> ServiceState {
    let minute = millis / 60_000;
    match minute % 240 {
        60..=64 => ServiceState::Throttling,
        120..=122 => ServiceState::Outage,
        160 => ServiceState::Silent,
        200..=203 => ServiceState::Refusing,
        _ => ServiceState::Answering,
    }
}

struct Day {
    core: Core,
    random: Pcg64Mcg,
    millis: u64,
    /// The error of the wall clock, in milliseconds.
    wall_offset: i64,
    /// When each unsettled transfer settles, in milliseconds.
    settles: BTreeMap<RowId, u64>,
    /// The last poll of each transfer and `false`, or its beginning and `true` before the first poll.
    last_polls: BTreeMap<RowId, (u64, bool)>,
    in_flight: Vec<(u64, RowId, SlotPermit, Option<Failure>)>,
    /// The arrivals of the last 20 seconds at the service.
    arrivals: VecDeque<u64>,
    most_in_a_second: usize,
    sent: u64,
    longest_wait: u64,
}

impl Day {
    fn now(&self) -> Now {
        let wall = start() + TimeDelta::milliseconds(self.millis as i64 + self.wall_offset);
        Now { mono: Mono(Duration::from_millis(self.millis)), wall }
    }

    fn add_transfer(&mut self, id: i64) {
        let median = [60, 300, 900][self.random.random_range(0..3)];
        let takes = (median as f64 * 1_000.0 * (0.2 + 3.0 * self.random.random::<f64>())) as u64;
        let takes = if self.random.random::<f64>() < 0.05 { takes * 10 } else { takes };
        self.settles.insert(RowId(id), self.millis + takes);
        self.last_polls.insert(RowId(id), (self.millis, true));
        let forecast = Forecast::Lognormal(Lognormal::new(Duration::from_secs(median), 0.8));
        let since = self.now().wall;
        let poll_context = PollContext {
            last_answer: None,
            deadline: Some(since + TimeDelta::minutes(15)),
            expectation: Expectation { since, forecast, first_answer: None, weight: 1.0 },
            young_until: None,
        };
        self.core.scheduler.watch(RowId(id), poll_context, self.now());
    }

    fn send(&mut self, id: RowId, permit: SlotPermit) {
        let (last, is_first) = self.last_polls.insert(id, (self.millis, false)).unwrap();
        let waited = self.millis - last;
        assert!(waited >= 5_000 || is_first, "{id:?} was polled twice within five seconds");
        self.longest_wait = self.longest_wait.max(waited);
        self.sent += 1;
        let there = self.random.random_range(10..400);
        let back = self.random.random_range(10..400);
        let failure = match service_state(self.millis) {
            ServiceState::Answering => None,
            ServiceState::Throttling => Some(Failure::Throttled { message: None, retry_after: None }),
            ServiceState::Outage => Some(Failure::Transport("reset".into())),
            ServiceState::Refusing => Some(Failure::Unauthorized("no".into())),
            ServiceState::Silent => Some(Failure::TimedOut(Duration::from_secs(8))),
        };
        self.record_arrival(self.millis + there);
        let ends = if service_state(self.millis) == ServiceState::Silent { 8_000 } else { there + back };
        self.in_flight.push((self.millis + ends, id, permit, failure));
    }

    /// Records when the service sees a request. Requests may arrive in another order than they were sent.
    fn record_arrival(&mut self, at: u64) {
        let index = self.arrivals.partition_point(|seen| *seen <= at);
        self.arrivals.insert(index, at);
        while self.arrivals.front().is_some_and(|first| first + 20_000 < self.millis) {
            self.arrivals.pop_front();
        }
        // Check every window of a second that contains this arrival.
        let before = |index: &usize| self.arrivals.get(*index).is_some_and(|seen| seen + 1_000 > at);
        let firsts = (0..=index).rev().take_while(before);
        let within = |first: usize| {
            let begins = self.arrivals[first];
            self.arrivals.iter().skip(first).take_while(|seen| **seen < begins + 1_000).count()
        };
        self.most_in_a_second = self.most_in_a_second.max(firsts.map(within).max().unwrap_or(0));
    }

    fn finish_requests(&mut self) {
        while let Some(index) = self.in_flight.iter().position(|(end, ..)| *end <= self.millis) {
            let (_, id, permit, failure) = self.in_flight.swap_remove(index);
            let settled = failure.is_none() && self.settles[&id] <= self.millis;
            let (at, now) = (self.now(), self.now().mono);
            let ended =
                EndedRequest { request: ServiceRequest::Status(id), permit, at, now, failure: failure.as_ref() };
            let jitter = self.random.random();
            self.core.finish_request(ended, jitter);
            if settled {
                self.core.scheduler.forget(id);
                self.settles.remove(&id);
            }
        }
    }

    /// Runs until this moment.
    fn run_until(&mut self, millis: u64) {
        while self.millis < millis {
            self.finish_requests();
            let next = match self.core.next(self.now()) {
                Action::Send(ServiceRequest::Status(id), permit) => {
                    self.send(id, permit);
                    continue;
                }
                Action::Send(other, _) => panic!("{other:?}"),
                Action::WaitUntil(moment) => u64::try_from(moment.0.as_nanos().div_ceil(1_000_000)).unwrap(),
                Action::WaitForEvent => millis,
            };
            let answer = self.in_flight.iter().map(|(end, ..)| *end).min().unwrap_or(millis);
            self.millis = next.min(answer).clamp(self.millis + 1, millis.max(self.millis + 1));
        }
    }
}

#[test]
fn day_of_suspends_clock_jumps_and_outages_has_no_bursts_and_polls_every_transfer() {
    let from = Mono::default();
    let mut day = Day {
        core: Core::new(Budget::unshared(RPS, from), from),
        random: Pcg64Mcg::seed_from_u64(24),
        millis: 0,
        wall_offset: 0,
        settles: BTreeMap::new(),
        last_polls: BTreeMap::new(),
        in_flight: Vec::new(),
        arrivals: VecDeque::new(),
        most_in_a_second: 0,
        sent: 0,
        longest_wait: 0,
    };
    for minute in 0..DAY / 60_000 {
        for transfer in 0..12 {
            day.add_transfer((minute * 12 + transfer) as i64 + 1);
        }
        match minute {
            // A suspend of eight hours: the wall clock advances, the monotonic clock does not.
            300 => day.wall_offset += 8 * 60 * 60 * 1_000,
            500 | 1_100 => day.wall_offset += 365 * 24 * 60 * 60 * 1_000,
            700 | 900 => day.wall_offset -= 365 * 24 * 60 * 60 * 1_000,
            _ => {}
        }
        let sent = day.sent;
        day.run_until((minute + 1) * 60_000);
        assert!(day.sent - sent <= (RPS * 60.0) as u64 + 1, "a burst in minute {minute}");
    }
    assert!(day.most_in_a_second <= RPS as usize, "{} within a second", day.most_in_a_second);
    assert!(day.sent as f64 > 0.8 * RPS / 1.4 * 24.0 * 3_600.0 * 0.85, "{}", day.sent);
    // Each unsettled transfer was polled within four sweeps, plus the time of the outages.
    let unsettled = day.settles.len() as f64;
    let limit = MOST_SWEEPS * unsettled.max(400.0) / (RPS / 1.4) * 1_000.0 + 6.0 * 60_000.0;
    assert!((day.longest_wait as f64) < limit, "{} s, {unsettled} unsettled", day.longest_wait / 1_000);
    let late = |(id, settles): (&RowId, &u64)| (settles + limit as u64) < day.millis && day.last_polls.contains_key(id);
    assert_eq!(day.settles.iter().filter(|entry| late(*entry)).count(), 0, "a transfer was not polled");
}
