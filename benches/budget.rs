//! What the budget lets through, in virtual time and with fixed seeds: `cargo bench --bench budget`.
//!
//! It drives the product's own ledger, alone and as a file that four processes share while 500 times one of them is killed or
//! stopped; the yardsticks are the limit itself and N / (1 s + round trip). The last table gives the processor time per request.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends by panicking"
)]

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    time::Duration,
};

use chrono::DateTime;
use hoptop::{
    budget::{Budget, Refused, Returned, Ticket},
    clock::{Mono, Now},
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const REQUESTS: usize = 1_000_000;
const BLOWS: usize = 500;
/// A limit at which members reserve slots in blocks, in requests a second.
const FAST: f64 = 200.0;
const TIMEOUT: f64 = 8.0;

fn at(seconds: f64) -> Mono {
    Mono(Duration::from_secs_f64(seconds))
}

/// A process, with what it has under way.
struct Process {
    budget: Budget,
    under_way: BTreeMap<u64, (Ticket, bool)>,
    /// From when on it may send, as it was told.
    wakes: f64,
    /// Until when it is stopped.
    stopped: f64,
    /// How many requests it sent.
    sent: usize,
}

/// A network with a tail: 100 to 200 ms there and back, two in a hundred ten times that, one in ten thousand never.
fn trip(random: &mut Pcg64Mcg) -> (f64, f64, bool) {
    let tail = if random.random::<f64>() < 0.02 { 10.0 } else { 1.0 };
    let mut way = || tail * (0.05 + 0.05 * random.random::<f64>());
    let (there, back) = (way(), way());
    (there, back, random.random::<f64>() < 1e-4)
}

struct Race<F> {
    processes: Vec<Process>,
    start: F,
    random: Pcg64Mcg,
    /// When answers come: in microseconds, whose, which request.
    answers: BinaryHeap<Reverse<(u64, usize, u64)>>,
    seen: Vec<f64>,
    trips: f64,
    now: f64,
}

impl<F: Fn(f64) -> Budget> Race<F> {
    fn new(processes: usize, start: F) -> Self {
        let process = |_| Process { budget: start(0.0), under_way: BTreeMap::new(), wakes: 0.0, stopped: 0.0, sent: 0 };
        let processes = (0..processes).map(process).collect();
        let random = Pcg64Mcg::seed_from_u64(7);
        Self { processes, start, random, answers: BinaryHeap::new(), seen: Vec::new(), trips: 0.0, now: 0.0 }
    }

    /// Everybody sends as soon as it may, until so many requests are out; `blows` times somebody is killed or stopped.
    fn run(&mut self, requests: usize, blows: usize) {
        let mut struck = 0;
        while self.seen.len() < requests {
            if blows > 0 && self.seen.len() >= struck * requests / blows {
                self.strike(struck);
                struck += 1;
            }
            self.take_answers();
            (0..self.processes.len()).for_each(|index| self.send(index));
            let answer = self.answers.peek().map_or(f64::INFINITY, |Reverse((at, ..))| *at as f64 / 1e6);
            let wake = self.processes.iter().map(|process| process.wakes).fold(f64::INFINITY, f64::min);
            self.now = answer.min(wake).max(self.now + 1e-6);
        }
    }

    fn strike(&mut self, struck: usize) {
        let index = self.random.random_range(0..self.processes.len());
        let process = &mut self.processes[index];
        if struck.is_multiple_of(2) {
            // The lock of the dead process is free before the next process joins.
            process.budget = Budget::own(1.0, at(0.0));
            let (budget, sent) = ((self.start)(self.now), process.sent);
            *process = Process { budget, under_way: BTreeMap::new(), wakes: self.now, stopped: 0.0, sent };
        } else {
            process.stopped = self.now + 30.0;
            process.wakes = process.stopped;
        }
    }

    /// What has come; a stopped process takes it when it goes on.
    fn take_answers(&mut self) {
        while let Some(Reverse((due, index, request))) = self.answers.peek().copied() {
            if due as f64 / 1e6 > self.now {
                return;
            }
            self.answers.pop();
            let process = &mut self.processes[index];
            if process.stopped > self.now {
                self.answers.push(Reverse(((process.stopped * 1e6) as u64 + 1, index, request)));
                continue;
            }
            // A killed one's answers come to nobody.
            let Some((ticket, lost)) = process.under_way.remove(&request) else { continue };
            let timeout = Returned::TimedOut(Duration::from_secs_f64(TIMEOUT));
            let (returned, now) = (if lost { timeout } else { Returned::Answered }, at(self.now));
            process.budget.hand_back(ticket, returned, (now, now));
            process.wakes = process.wakes.min(self.now);
        }
    }

    fn send(&mut self, index: usize) {
        let process = &mut self.processes[index];
        while process.wakes <= self.now && process.stopped <= self.now {
            match process.budget.take(at(self.now)) {
                Ok(ticket) => {
                    let (there, back, lost) = trip(&mut self.random);
                    let request = self.seen.len() as u64;
                    self.seen.push(self.now + there);
                    process.sent += 1;
                    let takes = if lost { TIMEOUT } else { there + back };
                    self.trips += takes;
                    process.under_way.insert(request, (ticket, lost));
                    self.answers.push(Reverse((((self.now + takes) * 1e6) as u64, index, request)));
                }
                Err(Refused::Until(ready)) => process.wakes = ready.0.as_secs_f64().max(self.now + 1e-6),
                Err(Refused::UntilAnswered) => process.wakes = f64::INFINITY,
            }
        }
        // As the poller does before it waits.
        if process.stopped <= self.now
            && let Some(sync) = process.budget.sync(at(self.now))
        {
            process.wakes = process.wakes.min(sync.0.as_secs_f64().max(self.now + 1e-6));
        }
    }

    /// Windows of a second at the service with more than `rps` requests, and the requests a second beside what slots allow.
    fn print(&mut self, what: &str, rps: f64) {
        self.seen.sort_by(f64::total_cmp);
        let limit = rps as usize;
        let over = self.seen.windows(limit + 1).filter(|window| window[limit] - window[0] < 1.0 - 1e-6).count();
        assert_eq!(over, 0, "{what}: windows over the limit");
        let rate = self.seen.len() as f64 / self.now;
        let possible = rps / (1.0 + self.trips / self.seen.len() as f64);
        let count = self.seen.len();
        let (ratio, share) = (rate / possible, self.lowest_share());
        println!("| {what} | {rps} | {count} | {over} | {rate:.3} | {possible:.3} | {ratio:.3} | {share:.3} |");
    }

    /// The share of the process that sent the fewest requests; 1 if each sent as many as the others. With kills and stops the
    /// share mostly tells which process was stopped longest.
    fn lowest_share(&self) -> f64 {
        let fewest = self.processes.iter().map(|process| process.sent).min().unwrap_or_default();
        (fewest * self.processes.len()) as f64 / self.seen.len() as f64
    }
}

/// Processor time of this process.
#[cfg(unix)]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// Elsewhere the time that passes, on a machine that does nothing else.
#[cfg(not(unix))]
fn processor_time() -> Duration {
    hoptop::clock::Clock::system().now().mono.0
}

/// Runs a race and returns the processor time per request, in microseconds.
fn cost(mut race: Race<impl Fn(f64) -> Budget>, requests: usize) -> f64 {
    let start = processor_time();
    race.run(requests, 0);
    (processor_time() - start).as_secs_f64() * 1e6 / requests as f64
}

fn main() {
    println!(
        "| what | limit | requests | windows over | requests/s | N / (1 s + round trip) | ratio | lowest share |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    let own = |rps: f64| move |now: f64| Budget::own(rps, at(now));
    for rps in [1.0, 10.0, 50.0] {
        let mut race = Race::new(1, own(rps));
        race.run(REQUESTS, 0);
        race.print("one process", rps);
    }
    let folder = tempfile::tempdir().unwrap();
    // One file for each row: virtual time starts anew.
    let shared = |rps: f64, row: &'static str| {
        let folder = folder.path();
        move |now: f64| {
            let now = Now { mono: at(now), wall: DateTime::UNIX_EPOCH };
            Budget::shared(folder, row, rps, now).unwrap()
        }
    };
    let mut race = Race::new(1, shared(FAST, "alone"));
    race.run(REQUESTS, 0);
    race.print("one process on a file", FAST);
    for (rps, calm, struck) in [(10.0, "calm-10", "struck-10"), (FAST, "calm-200", "struck-200")] {
        let mut race = Race::new(4, shared(rps, calm));
        race.run(50_000, 0);
        race.print("four processes on one file", rps);
        let mut race = Race::new(4, shared(rps, struck));
        race.run(REQUESTS, BLOWS);
        race.print(&format!("the same, {BLOWS} kills and stops"), rps);
    }
    println!("\n| processes on one file | limit | processor time per request |\n| ---: | ---: | ---: |");
    for (row, processes, rps) in [("cost-1-10", 1, 10.0), ("cost-1-200", 1, FAST), ("cost-4-200", 4, FAST)] {
        println!("| {processes} | {rps} | {:.1} µs |", cost(Race::new(processes, shared(rps, row)), 100_000));
    }
}
