//! Measures the request rate that the budget allows: `cargo bench --bench budget`. Time is virtual and seeds are fixed.
//!
//! The benchmark drives the product's own ledger: in one process, and as a file that four processes share. In the
//! shared case processes are killed or stopped 500 times. The yardsticks are the limit itself and N / (1 s + round
//! trip). The last table gives the processor time per request.
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
use hoptop::internals::{
    budget::{Budget, RequestEnd, SlotPermit, SlotRefusal},
    clock::{MonotonicTime, Now},
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

const REQUESTS: usize = 1_000_000;
const DISRUPTIONS: usize = 500;
/// A limit, in requests per second, at which processes reserve slots in blocks.
const FAST_LIMIT: f64 = 200.0;
const TIMEOUT: f64 = 8.0;

fn moment(seconds: f64) -> MonotonicTime {
    MonotonicTime(Duration::from_secs_f64(seconds))
}

/// A simulated process and its requests in flight.
struct SimulatedProcess {
    budget: Budget,
    in_flight: BTreeMap<u64, (SlotPermit, bool)>,
    /// The time at which the process may send again, according to its budget.
    wakes_at: f64,
    /// The time until which the process is stopped.
    stopped_until: f64,
    /// The number of requests that the process has sent.
    sent: usize,
}

/// Returns the seconds to the service, the seconds back, and whether the answer is lost. A round trip takes 100 to 200
/// ms; 2 % take ten times as long, and one in ten thousand answers is lost.
fn random_trip(random: &mut Pcg64Mcg) -> (f64, f64, bool) {
    let tail = if random.random::<f64>() < 0.02 { 10.0 } else { 1.0 };
    let mut draw = || tail * (0.05 + 0.05 * random.random::<f64>());
    let (there, back) = (draw(), draw());
    (there, back, random.random::<f64>() < 1e-4)
}

impl SimulatedProcess {
    fn new(budget: Budget, wakes_at: f64) -> Self {
        Self { budget, in_flight: BTreeMap::new(), wakes_at, stopped_until: 0.0, sent: 0 }
    }
}

struct BudgetSimulation<F> {
    processes: Vec<SimulatedProcess>,
    start: F,
    random: Pcg64Mcg,
    /// The answers in flight: arrival time in microseconds, index of the process, number of the request.
    answers: BinaryHeap<Reverse<(u64, usize, u64)>>,
    received_at: Vec<f64>,
    trip_seconds: f64,
    now: f64,
}

impl<F: Fn(f64) -> Budget> BudgetSimulation<F> {
    fn new(processes: usize, start: F) -> Self {
        Self {
            processes: (0..processes).map(|_| SimulatedProcess::new(start(0.0), 0.0)).collect(),
            start,
            random: Pcg64Mcg::seed_from_u64(7),
            answers: BinaryHeap::new(),
            received_at: Vec::new(),
            trip_seconds: 0.0,
            now: 0.0,
        }
    }

    /// Lets every process send as soon as its budget allows, until `requests` are sent. Meanwhile processes are killed
    /// or stopped `disruptions` times.
    fn run(&mut self, requests: usize, disruptions: usize) {
        let mut disruption_count = 0;
        while self.received_at.len() < requests {
            if disruptions > 0 && self.received_at.len() >= disruption_count * requests / disruptions {
                self.disrupt(disruption_count);
                disruption_count += 1;
            }
            self.handle_answers();
            (0..self.processes.len()).for_each(|index| self.send(index));
            let answer = self.answers.peek().map_or(f64::INFINITY, |Reverse((at, ..))| *at as f64 / 1e6);
            let wake = self.processes.iter().map(|process| process.wakes_at).fold(f64::INFINITY, f64::min);
            self.now = answer.min(wake).max(self.now + 1e-6);
        }
    }

    fn disrupt(&mut self, disruption_count: usize) {
        let index = self.random.random_range(0..self.processes.len());
        let process = &mut self.processes[index];
        if disruption_count.is_multiple_of(2) {
            // The killed process's lock is released before the next process joins.
            process.budget = Budget::unshared(1.0, moment(0.0));
            let sent = process.sent;
            *process = SimulatedProcess { sent, ..SimulatedProcess::new((self.start)(self.now), self.now) };
        } else {
            process.stopped_until = self.now + 30.0;
            process.wakes_at = process.stopped_until;
        }
    }

    /// Delivers the answers that have arrived. A stopped process receives its answers when it continues.
    fn handle_answers(&mut self) {
        while let Some(Reverse((due, index, request))) = self.answers.peek().copied() {
            if due as f64 / 1e6 > self.now {
                return;
            }
            self.answers.pop();
            let process = &mut self.processes[index];
            if process.stopped_until > self.now {
                self.answers.push(Reverse(((process.stopped_until * 1e6) as u64 + 1, index, request)));
                continue;
            }
            // The answers of a killed process are dropped.
            let Some((permit, is_lost)) = process.in_flight.remove(&request) else { continue };
            let timeout = RequestEnd::TimedOut(Duration::from_secs_f64(TIMEOUT));
            let (returned, now) = (if is_lost { timeout } else { RequestEnd::Answered }, moment(self.now));
            process.budget.release(permit, returned, now, now);
            process.wakes_at = process.wakes_at.min(self.now);
        }
    }

    fn send(&mut self, index: usize) {
        let process = &mut self.processes[index];
        while process.wakes_at <= self.now && process.stopped_until <= self.now {
            match process.budget.take(moment(self.now)) {
                Ok(permit) => {
                    let (there, back, is_lost) = random_trip(&mut self.random);
                    let request = self.received_at.len() as u64;
                    self.received_at.push(self.now + there);
                    process.sent += 1;
                    let seconds = if is_lost { TIMEOUT } else { there + back };
                    self.trip_seconds += seconds;
                    process.in_flight.insert(request, (permit, is_lost));
                    self.answers.push(Reverse((((self.now + seconds) * 1e6) as u64, index, request)));
                }
                Err(SlotRefusal::Until(ready)) => process.wakes_at = ready.0.as_secs_f64().max(self.now + 1e-6),
                Err(SlotRefusal::UntilAnswered) => process.wakes_at = f64::INFINITY,
            }
        }
        // The poller also syncs before it waits.
        if process.stopped_until <= self.now
            && let Some(sync) = process.budget.sync(moment(self.now))
        {
            process.wakes_at = process.wakes_at.min(sync.0.as_secs_f64().max(self.now + 1e-6));
        }
    }

    /// Prints the number of one-second windows at the service with more than `rps` requests, and the rate beside the
    /// possible rate.
    fn print(&mut self, label: &str, rps: f64) {
        self.received_at.sort_by(f64::total_cmp);
        let limit = rps as usize;
        let over = self.received_at.windows(limit + 1).filter(|window| window[limit] - window[0] < 1.0 - 1e-6).count();
        assert_eq!(over, 0, "{label}: windows over the limit");
        let measured_rate = self.received_at.len() as f64 / self.now;
        let possible_rate = rps / (1.0 + self.trip_seconds / self.received_at.len() as f64);
        let count = self.received_at.len();
        let (ratio, share) = (measured_rate / possible_rate, self.lowest_share());
        println!(
            "| {label} | {rps} | {count} | {over} | {measured_rate:.3} | {possible_rate:.3} | {ratio:.3} | {share:.3} |"
        );
    }

    /// Returns the share of the process that sent the fewest requests, relative to an equal share. With kills and stops
    /// the result mostly shows which process was stopped longest.
    fn lowest_share(&self) -> f64 {
        let fewest = self.processes.iter().map(|process| process.sent).min().unwrap_or_default();
        (fewest * self.processes.len()) as f64 / self.received_at.len() as f64
    }
}

/// Returns the processor time of this process.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// Runs a simulation and returns the processor time per request, in microseconds.
fn cost(mut simulation: BudgetSimulation<impl Fn(f64) -> Budget>, requests: usize) -> f64 {
    let start = processor_time();
    simulation.run(requests, 0);
    (processor_time() - start).as_secs_f64() * 1e6 / requests as f64
}

fn main() {
    println!(
        "| what | limit | requests | windows over | requests/s | N / (1 s + round trip) | ratio | lowest share |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    let own_budget = |rps: f64| move |now: f64| Budget::unshared(rps, moment(now));
    for rps in [1.0, 10.0, 50.0] {
        let mut simulation = BudgetSimulation::new(1, own_budget(rps));
        simulation.run(REQUESTS, 0);
        simulation.print("one process", rps);
    }
    let folder = tempfile::tempdir().unwrap();
    // Each row has its own file because virtual time restarts from zero.
    let shared_budget = |rps: f64, row: &'static str| {
        let folder = folder.path();
        move |now: f64| {
            let now = Now { mono: moment(now), wall: DateTime::UNIX_EPOCH };
            Budget::shared(folder, row, rps, now).unwrap()
        }
    };
    let mut simulation = BudgetSimulation::new(1, shared_budget(FAST_LIMIT, "alone"));
    simulation.run(REQUESTS, 0);
    simulation.print("one process on a file", FAST_LIMIT);
    for (rps, undisrupted, disrupted) in [(10.0, "calm-10", "struck-10"), (FAST_LIMIT, "calm-200", "struck-200")] {
        let mut simulation = BudgetSimulation::new(4, shared_budget(rps, undisrupted));
        simulation.run(50_000, 0);
        simulation.print("four processes on one file", rps);
        let mut simulation = BudgetSimulation::new(4, shared_budget(rps, disrupted));
        simulation.run(REQUESTS, DISRUPTIONS);
        simulation.print(&format!("the same, {DISRUPTIONS} kills and stops"), rps);
    }
    println!("\n| processes on one file | limit | processor time per request |\n| ---: | ---: | ---: |");
    for (row, processes, rps) in [("cost-1-10", 1, 10.0), ("cost-1-200", 1, FAST_LIMIT), ("cost-4-200", 4, FAST_LIMIT)]
    {
        println!(
            "| {processes} | {rps} | {:.1} µs |",
            cost(BudgetSimulation::new(processes, shared_budget(rps, row)), 100_000)
        );
    }
}
