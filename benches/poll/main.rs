//! What one poll costs, end to end, beside programs that do less: `cargo bench --bench poll`.
//!
//! One local HTTP/1.1 server with keep-alive answers all of them, with a rendered status record that settles the transfer. It runs in
//! the benchmark's own process, so its processor time is never counted.
//!
//! - Cost of a poll: the built program runs as `hoptop watch --until-settled --rps 200`, once for a small and once for a large batch.
//!   User and system time and context switches come from the operating system's accounting of finished children. The difference
//!   between the batches, divided by the difference in polls, is the cost of one poll without the cost of starting the program.
//! - Yardstick: `keep_alive.py` asks the same server for the same transfers at the same rate, and is measured in the same way.
//! - Throughput: the pipeline of a poll (request, decode, store, read of the change feed) in this process, with a fixed number of
//!   polls in flight, beside a loop that only sends the requests and reads the bodies, with as many in flight. The budget takes no
//!   part, since it spaces requests. Rows without a target show the same with a slower server, and the poller with its budget.
//! - Observations: the store alone keeps three answers of each transaction that all bring news.
//!
//! Each figure is the best of several runs. The batches are fixed; words after `--` pick parts whose names contain them: `cost`,
//! `throughput`, `observations`. The benchmark fails if a figure misses its target in `DESIGN.md` (Numbers).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends by panicking"
)]

mod bare;
mod batch;
mod cost;
mod library;
#[path = "../../tests/material/mod.rs"]
mod material;
mod server;
mod table;

use std::{process::ExitCode, time::Duration};

use hoptop::clock::Clock;
use mimalloc::MiMalloc;

use batch::Batch;
use server::Server;
use table::{Row, Table, Target};

/// As in the program.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Polls in flight at a time.
const IN_FLIGHT: usize = 64;
/// Polls of one run of the throughput.
const POLLS: usize = 6_000;
/// Transactions of one run of the observations, with three answers each.
const TRANSACTIONS: usize = 5_000;
/// How long the server waits before it answers: as long as this machine takes, and long enough that the pipeline isn't bound by
/// the processor alone.
const LATENCIES: [Duration; 2] = [Duration::ZERO, Duration::from_millis(20)];
/// The highest limit that hoptop accepts, in requests a second, and how many transfers the poller polls at that limit.
const HIGHEST: (f64, usize) = (1_000.0, 5_000);
const RUNS: usize = 3;
/// The integrator ID of all requests.
const ID: &str = "an-integrator-of-the-benchmark";

fn main() -> ExitCode {
    let parts: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let is_wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()));
    let (clock, mut table) = (Clock::system(), Table::default());
    if is_wanted("cost") {
        cost::measure(&clock, &mut table);
    }
    if is_wanted("throughput") {
        measure_throughput(&clock, &mut table);
    }
    if is_wanted("observations") {
        let rates = (0..RUNS).map(|_| library::observations_per_second(&clock, TRANSACTIONS));
        let rate = rates.fold(0.0, f64::max);
        table.push(Row {
            what: format!("observations kept a second, {IN_FLIGHT} in flight"),
            measured: format!("{rate:.0}"),
            target: Some(Target::AtLeast(rate, 6_000.0, "")),
            ..Row::default()
        });
    }
    table.end()
}

fn measure_throughput(clock: &Clock, table: &mut Table) {
    let batch = Batch::new(POLLS, clock);
    for latency in LATENCIES {
        let server = Server::start(&batch, latency);
        // In turn, so that what else the machine does slows down both.
        let (mut ours, mut bare) = (0.0_f64, 0.0_f64);
        for _ in 0..RUNS {
            bare = bare.max(bare::requests_per_second(&batch, &server, clock));
            ours = ours.max(library::polls_per_second(&batch, &server, clock));
        }
        let milliseconds = latency.as_millis();
        table.push(Row {
            what: format!("polls a second of the pipeline, {IN_FLIGHT} in flight, answers after {milliseconds} ms"),
            measured: format!("{ours:.0}"),
            yardstick: format!("{bare:.0}: bare reqwest loop"),
            ratio: Some(ours / bare),
            target: latency.is_zero().then_some(Target::AtLeast(ours / bare, 0.7, "")),
        });
    }
    let (limit, count) = HIGHEST;
    let batch = Batch::new(count, clock);
    let server = Server::start(&batch, Duration::ZERO);
    let rate = library::poller_rate(&batch, &server, (clock, limit));
    table.push(Row {
        what: format!("polls a second of the poller at a limit of {limit:.0}"),
        measured: format!("{rate:.0}"),
        yardstick: format!("{limit:.0}: the limit"),
        ratio: Some(rate / limit),
        target: None,
    });
}
