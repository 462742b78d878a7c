//! A day in virtual time: suspends, jumps of the wall clock, storms of 429, outages, a refused ID. The core decides;
//! the latencies are random.
//!
//! Waits are measured in sweeps, as in the schedule. A bound in time would depend on the number of watched transfers
//! and on the outages during the wait.

use std::collections::{BTreeMap, VecDeque};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::{
    budget::{Budget, SlotPermit},
    clock::Now,
    domain::forecast::{Forecast, Lognormal},
    poller::core::{EndedRequest, PollerAction, PollerCore, ServiceRequest},
    schedule::{Expectation, MAX_SWEEPS, PollContext},
};

const DAY: u64 = 24 * 60 * 60 * 1_000;
const RPS: f64 = 4.0;
/// The time from a transfer's beginning to its deadline.
const UNTIL_DEADLINE: TimeDelta = TimeDelta::minutes(15);
/// The longest time after a request in which its transfer isn't polled: after an answer, and after a failure.
const REST: u64 = 5_000;
const MAX_BACKOFF: u64 = 60_000;

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

/// The wait of a transfer for its next poll.
struct PollWait {
    /// When the wait began.
    since: u64,
    /// The number of sweeps, and of polls, when the wait began.
    sweeps: f64,
    /// From when on the transfer may certainly be polled.
    ready: u64,
    /// The number of polls, of watched transfers and of polls for a deadline when the wait first exceeded the longest.
    exceeded: Option<(u64, usize, u64)>,
}

struct SimulatedDay {
    core: PollerCore,
    /// The sweeps so far: each poll is one part of as many as there are watched transfers.
    sweeps: f64,
    /// The waits of all transfers without a request in flight, in the order of their beginning.
    waits: BTreeMap<u64, (RowId, PollWait)>,
    /// The place of each transfer's wait.
    wait_of: BTreeMap<RowId, u64>,
    next_wait: u64,
    /// The deadlines that no answer has confirmed.
    deadlines: BTreeMap<RowId, DateTime<Utc>>,
    /// The polls of transfers whose deadline had passed.
    deadline_polls: u64,
    random: Pcg64Mcg,
    millis: u64,
    /// The error of the wall clock, in milliseconds.
    wall_offset: i64,
    /// When each unsettled transfer settles, in milliseconds.
    settles: BTreeMap<RowId, u64>,
    /// The last poll of each transfer and `false`, or its beginning and `true` before the first poll.
    last_polls: BTreeMap<RowId, (u64, bool)>,
    in_flight: Vec<(u64, RowId, SlotPermit, Option<RequestFailure>)>,
    /// The arrivals of the last 20 seconds at the service.
    arrivals: VecDeque<u64>,
    most_in_a_second: usize,
    sent: u64,
    /// The longest wait, in sweeps and in milliseconds, and the most watched transfers.
    longest_wait: f64,
    longest_millis: u64,
    most_watched: usize,
}

impl SimulatedDay {
    fn now(&self) -> Now {
        let wall = start() + TimeDelta::milliseconds(self.millis as i64 + self.wall_offset);
        Now { mono: MonotonicTime(Duration::from_millis(self.millis)), wall }
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
            deadline: Some(since + UNTIL_DEADLINE),
            expectation: Expectation { since, forecast, first_answer: None, weight: 1.0 },
            young_until: None,
        };
        self.core.scheduler.watch(RowId(id), poll_context, self.now());
        self.deadlines.insert(RowId(id), since + UNTIL_DEADLINE);
        self.begin_wait(RowId(id), self.millis);
        self.most_watched = self.most_watched.max(self.settles.len());
    }

    fn begin_wait(&mut self, id: RowId, ready: u64) {
        let wait = PollWait { since: self.millis, sweeps: self.sweeps, ready, exceeded: None };
        self.waits.insert(self.next_wait, (id, wait));
        self.wait_of.insert(id, self.next_wait);
        self.next_wait += 1;
    }

    /// Ends the wait of a transfer that is polled now, and checks its turn.
    ///
    /// A transfer that has waited for longer than [`MAX_SWEEPS`] is polled before all whose wait began later. Polls
    /// for a deadline are an exception. So each other transfer is polled at most once before it from then on, and the
    /// polls for deadlines come on top.
    fn end_wait(&mut self, id: RowId) {
        let wait_key = self.wait_of.remove(&id).unwrap();
        let is_too_long = |wait: &PollWait| self.sweeps - wait.sweeps > MAX_SWEEPS;
        let passed = self.deadlines.get(&id).is_some_and(|deadline| *deadline <= self.now().wall);
        let since = self.waits[&wait_key].1.since;
        for (_, (earlier, wait)) in self.waits.range(..wait_key) {
            if !is_too_long(wait) || wait.since == since {
                break;
            }
            assert!(
                passed || wait.ready > self.millis,
                "{id:?} is polled before {earlier:?}, which waits for too long"
            );
        }
        let (_, wait) = self.waits.remove(&wait_key).unwrap();
        self.longest_wait = self.longest_wait.max(self.sweeps - wait.sweeps);
        if let Some((sent, watched, deadline_polls)) = wait.exceeded {
            let most = watched as u64 + self.deadline_polls - deadline_polls;
            assert!(self.sent - sent <= most, "{id:?} waited for {} more polls of {most}", self.sent - sent);
        }
        self.deadline_polls += u64::from(passed);
    }

    /// Counts a poll, and notes which waits exceed the longest from now on.
    fn count_poll(&mut self) {
        let watched = self.settles.len();
        self.sweeps += 1.0 / watched as f64;
        self.sent += 1;
        let (sweeps, now) = (self.sweeps, (self.sent, watched, self.deadline_polls));
        for (_, wait) in self.waits.values_mut().take_while(|(_, wait)| sweeps - wait.sweeps > MAX_SWEEPS) {
            wait.exceeded.get_or_insert(now);
        }
    }

    fn send(&mut self, id: RowId, permit: SlotPermit) {
        let (last, is_first) = self.last_polls.insert(id, (self.millis, false)).unwrap();
        let waited = self.millis - last;
        assert!(waited >= 5_000 || is_first, "{id:?} was polled twice within five seconds");
        self.longest_millis = self.longest_millis.max(waited);
        self.end_wait(id);
        self.count_poll();
        let there = self.random.random_range(10..400);
        let back = self.random.random_range(10..400);
        let failure = match service_state(self.millis) {
            ServiceState::Answering => None,
            ServiceState::Throttling => Some(RequestFailure::Throttled { message: None, retry_after: None }),
            ServiceState::Outage => Some(RequestFailure::Transport("reset".into())),
            ServiceState::Refusing => Some(RequestFailure::Unauthorized("no".into())),
            ServiceState::Silent => Some(RequestFailure::TimedOut(Duration::from_secs(8))),
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
            let now = self.now().wall;
            if failure.is_none() && self.deadlines.get(&id).is_some_and(|deadline| *deadline <= now) {
                self.deadlines.remove(&id);
            }
            if settled {
                self.core.scheduler.forget(id);
                self.settles.remove(&id);
                self.deadlines.remove(&id);
            } else {
                let rest = if failure.is_none() { REST } else { MAX_BACKOFF };
                self.begin_wait(id, self.millis + rest);
            }
        }
    }

    fn run_until(&mut self, millis: u64) {
        while self.millis < millis {
            self.finish_requests();
            let next = match self.core.next(self.now()) {
                PollerAction::Send(ServiceRequest::Status(id), permit) => {
                    self.send(id, permit);
                    continue;
                }
                PollerAction::Send(other, _) => panic!("{other:?}"),
                PollerAction::WaitUntil(moment) => u64::try_from(moment.0.as_nanos().div_ceil(1_000_000)).unwrap(),
                PollerAction::WaitForEvent => millis,
            };
            let answer = self.in_flight.iter().map(|(end, ..)| *end).min().unwrap_or(millis);
            self.millis = next.min(answer).clamp(self.millis + 1, millis.max(self.millis + 1));
        }
    }
}

/// Plays a day, and checks all that must hold. Returns a line of figures.
fn play(seed: u64) -> String {
    let from = MonotonicTime::default();
    let mut day = SimulatedDay {
        core: PollerCore::new(Budget::unshared(RPS, from), from),
        sweeps: 0.0,
        waits: BTreeMap::new(),
        wait_of: BTreeMap::new(),
        next_wait: 0,
        deadlines: BTreeMap::new(),
        deadline_polls: 0,
        random: Pcg64Mcg::seed_from_u64(seed),
        millis: 0,
        wall_offset: 0,
        settles: BTreeMap::new(),
        last_polls: BTreeMap::new(),
        in_flight: Vec::new(),
        arrivals: VecDeque::new(),
        most_in_a_second: 0,
        sent: 0,
        longest_wait: 0.0,
        longest_millis: 0,
        most_watched: 0,
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
    // Every unsettled transfer waits, and none for longer than its turn takes, or it has a request in flight.
    assert_eq!(day.waits.len() + day.in_flight.len(), day.settles.len());
    let waits = day.waits.values().filter_map(|(_, wait)| Some((wait, wait.exceeded?)));
    for (wait, (sent, watched, deadline_polls)) in waits {
        let most = watched as u64 + day.deadline_polls - deadline_polls;
        assert!(wait.ready > day.millis || day.sent - sent <= most, "a transfer was not polled");
    }
    let (sweeps, seconds) = (day.longest_wait, day.longest_millis / 1_000);
    format!(
        "seed {seed}: {} polls, {} watched at most, longest wait {sweeps:.2} sweeps, {seconds} s",
        day.sent, day.most_watched
    )
}

#[test]
fn day_of_suspends_clock_jumps_and_outages_has_no_bursts_and_polls_every_transfer() {
    for seed in [24, 25, 26] {
        println!("{}", play(seed));
    }
}

#[test]
#[ignore = "takes minutes"]
fn fifty_days_have_no_bursts_and_poll_every_transfer() {
    (0..50).for_each(|seed| println!("{}", play(seed)));
}
