//! A day in virtual time: suspends, jumps of the wall clock, storms of 429, outages, a refused ID. The core decides; the
//! network is the adversary's.

use std::collections::{BTreeMap, VecDeque};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use crate::{
    budget::{Budget, Ticket},
    clock::Now,
    domain::forecast::{Forecast, Lognormal},
    poller::core::Ended,
    schedule::{Expectation, MOST_SWEEPS, PollContext},
};

const DAY: u64 = 24 * 60 * 60 * 1_000;
const RPS: f64 = 4.0;

/// What the service does at a time of the day, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weather {
    Fine,
    Storm,
    Outage,
    Refusing,
    /// Requests are accepted, and nothing comes.
    Silent,
}

fn weather(millis: u64) -> Weather {
    let minute = millis / 60_000;
    match minute % 240 {
        60..=64 => Weather::Storm,
        120..=122 => Weather::Outage,
        160 => Weather::Silent,
        200..=203 => Weather::Refusing,
        _ => Weather::Fine,
    }
}

struct Day {
    core: Core,
    random: Pcg64Mcg,
    millis: u64,
    /// How far the wall clock is off, in milliseconds.
    wall_off: i64,
    /// When each transfer settles; when it was last asked about, or arrived and was never asked about.
    settles: BTreeMap<RowId, u64>,
    asked: BTreeMap<RowId, (u64, bool)>,
    under_way: Vec<(u64, RowId, Ticket, Option<Failure>)>,
    /// When the service saw the last requests.
    seen: VecDeque<u64>,
    worst: usize,
    sent: u64,
    longest: u64,
}

impl Day {
    fn now(&self) -> Now {
        let wall = start() + TimeDelta::milliseconds(self.millis as i64 + self.wall_off);
        Now { mono: Mono(Duration::from_millis(self.millis)), wall }
    }

    fn arrive(&mut self, id: i64) {
        let median = [60, 300, 900][self.random.random_range(0..3)];
        let takes = (median as f64 * 1_000.0 * (0.2 + 3.0 * self.random.random::<f64>())) as u64;
        let takes = if self.random.random::<f64>() < 0.05 { takes * 10 } else { takes };
        self.settles.insert(RowId(id), self.millis + takes);
        self.asked.insert(RowId(id), (self.millis, true));
        let forecast = Forecast::Lognormal(Lognormal::new(Duration::from_secs(median), 0.8));
        let since = self.now().wall;
        let poll_context = PollContext {
            last_answer: None,
            deadline: Some(since + TimeDelta::minutes(15)),
            expectation: Expectation { since, forecast, weight: 1.0 },
            young_until: None,
        };
        self.core.scheduler.watch(RowId(id), poll_context, self.now());
    }

    fn send(&mut self, id: RowId, ticket: Ticket) {
        let (last, is_first) = self.asked.insert(id, (self.millis, false)).unwrap();
        let waited = self.millis - last;
        assert!(waited >= 5_000 || is_first, "{id:?} was asked about twice within five seconds");
        self.longest = self.longest.max(waited);
        self.sent += 1;
        let there = self.random.random_range(10..400);
        let back = self.random.random_range(10..400);
        let failure = match weather(self.millis) {
            Weather::Fine => None,
            Weather::Storm => Some(Failure::Throttled { message: None, retry_after: None }),
            Weather::Outage => Some(Failure::Transport("reset".into())),
            Weather::Refusing => Some(Failure::Unauthorized("no".into())),
            Weather::Silent => Some(Failure::TimedOut(Duration::from_secs(8))),
        };
        self.saw(self.millis + there);
        let ends = if weather(self.millis) == Weather::Silent { 8_000 } else { there + back };
        self.under_way.push((self.millis + ends, id, ticket, failure));
    }

    /// The service sees a request, in no order.
    fn saw(&mut self, at: u64) {
        let place = self.seen.partition_point(|seen| *seen <= at);
        self.seen.insert(place, at);
        while self.seen.front().is_some_and(|first| first + 20_000 < self.millis) {
            self.seen.pop_front();
        }
        // The windows that this one lies in.
        let before = |place: &usize| self.seen.get(*place).is_some_and(|seen| seen + 1_000 > at);
        let firsts = (0..=place).rev().take_while(before);
        let within = |first: usize| {
            let begins = self.seen[first];
            self.seen.iter().skip(first).take_while(|seen| **seen < begins + 1_000).count()
        };
        self.worst = self.worst.max(firsts.map(within).max().unwrap_or(0));
    }

    fn end(&mut self) {
        while let Some(index) = self.under_way.iter().position(|(end, ..)| *end <= self.millis) {
            let (_, id, ticket, failure) = self.under_way.swap_remove(index);
            let settled = failure.is_none() && self.settles[&id] <= self.millis;
            let (at, now) = (self.now(), self.now().mono);
            let ended = Ended { question: Question::Status(id), ticket, at, now, failure: failure.as_ref() };
            let jitter = self.random.random();
            self.core.ended(ended, jitter);
            if settled {
                self.core.scheduler.forget(id);
                self.settles.remove(&id);
            }
        }
    }

    /// Until this moment, whatever comes.
    fn until(&mut self, millis: u64) {
        while self.millis < millis {
            self.end();
            let next = match self.core.next(self.now()) {
                Action::Send(Question::Status(id), ticket) => {
                    self.send(id, ticket);
                    continue;
                }
                Action::Send(other, _) => panic!("{other:?}"),
                Action::WaitUntil(moment) => u64::try_from(moment.0.as_nanos().div_ceil(1_000_000)).unwrap(),
                Action::WaitForNews => millis,
            };
            let answer = self.under_way.iter().map(|(end, ..)| *end).min().unwrap_or(millis);
            self.millis = next.min(answer).clamp(self.millis + 1, millis.max(self.millis + 1));
        }
    }
}

#[test]
fn a_day_of_suspends_jumps_and_storms_forgets_nobody_and_bursts_never() {
    let from = Mono::default();
    let mut day = Day {
        core: Core::new(Budget::own(RPS, from), from),
        random: Pcg64Mcg::seed_from_u64(24),
        millis: 0,
        wall_off: 0,
        settles: BTreeMap::new(),
        asked: BTreeMap::new(),
        under_way: Vec::new(),
        seen: VecDeque::new(),
        worst: 0,
        sent: 0,
        longest: 0,
    };
    for minute in 0..DAY / 60_000 {
        for transfer in 0..12 {
            day.arrive((minute * 12 + transfer) as i64 + 1);
        }
        match minute {
            // Asleep for eight hours: the wall clock goes on, the monotonic one stands still.
            300 => day.wall_off += 8 * 60 * 60 * 1_000,
            500 | 1_100 => day.wall_off += 365 * 24 * 60 * 60 * 1_000,
            700 | 900 => day.wall_off -= 365 * 24 * 60 * 60 * 1_000,
            _ => {}
        }
        let sent = day.sent;
        day.until((minute + 1) * 60_000);
        assert!(day.sent - sent <= (RPS * 60.0) as u64 + 1, "a burst in minute {minute}");
    }
    assert!(day.worst <= RPS as usize, "{} within a second", day.worst);
    assert!(day.sent as f64 > 0.8 * RPS / 1.4 * 24.0 * 3_600.0 * 0.85, "{}", day.sent);
    // Whoever is still under way was asked about within four sweeps, what stood in the way aside.
    let unsettled = day.settles.len() as f64;
    let patience = MOST_SWEEPS * unsettled.max(400.0) / (RPS / 1.4) * 1_000.0 + 6.0 * 60_000.0;
    assert!((day.longest as f64) < patience, "{} s, {unsettled} unsettled", day.longest / 1_000);
    let late = |(id, settles): (&RowId, &u64)| (settles + patience as u64) < day.millis && day.asked.contains_key(id);
    assert_eq!(day.settles.iter().filter(|entry| late(*entry)).count(), 0, "some were forgotten");
}
