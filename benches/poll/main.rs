//! Measures the cost of one poll from end to end, and of programs that do less: `cargo bench --bench poll`.
//!
//! One local HTTP/1.1 server with keep-alive answers all programs with a prepared status record that settles the
//! transfer. The server runs in the benchmark's own process, so its processor time is never counted.
//!
//! - Cost of a poll: the built program runs as `hoptop watch --until-settled --rps 200`, once for a small and once for
//!   a large batch. User and system time and context switches come from the operating system's accounting of ended
//!   child processes. The difference between the batches, divided by the difference in polls, is the cost of one poll.
//!   The program's start doesn't count.
//! - Yardstick: `keep_alive.py` polls the same server for the same transfers at the same rate, measured in the same
//!   way.
//! - Throughput: the pipeline of a poll (request, decode, store, read of the change feed) in this process, with a
//!   fixed number of polls in flight. The baseline only sends requests and reads bodies, with as many in flight. The
//!   budget isn't used because it delays requests. Rows without a target show a slower server, and the poller with its
//!   budget.
//! - Observations: the store alone saves three answers about each transaction, all with changes.
//!
//! Each figure is the best of several runs. The batches are fixed. Words after `--` select the parts whose names
//! contain them: `cost`, `throughput`, `observations`. The benchmark fails if a figure misses its target in `DESIGN.md`
//! (Numbers).
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

use hoptop::internals::clock::Clock;
use mimalloc::MiMalloc;

use batch::TransferBatch;
use server::StatusServer;
use table::{PerformanceTarget, ResultRow, ResultTable};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The number of polls in flight at the same time.
const IN_FLIGHT: usize = 64;
/// The number of polls in one run of the throughput part.
const POLLS: usize = 6_000;
/// The number of transactions in one run of the observations part, each with three answers.
const TRANSACTIONS: usize = 5_000;
/// The delay of the server's answers: none, and long enough that the processor alone doesn't limit the pipeline.
const SERVER_LATENCIES: [Duration; 2] = [Duration::ZERO, Duration::from_millis(20)];
/// The highest limit that hoptop accepts, in requests per second, and the number of transfers polled at this limit.
const HIGHEST_LIMIT: (f64, usize) = (1_000.0, 5_000);
const RUNS: usize = 3;
/// The integrator ID of all requests.
const ID: &str = "an-integrator-of-the-benchmark";

fn main() -> ExitCode {
    let parts: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let is_wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()));
    let (clock, mut table) = (Clock::system(), ResultTable::default());
    if is_wanted("cost") {
        cost::measure(&clock, &mut table);
    }
    if is_wanted("throughput") {
        measure_throughput(&clock, &mut table);
    }
    if is_wanted("observations") {
        let rates = (0..RUNS).map(|_| library::observations_per_second(&clock, TRANSACTIONS));
        let rate = rates.fold(0.0, f64::max);
        table.push(ResultRow {
            measure: format!("observations kept a second, {IN_FLIGHT} in flight"),
            measured: format!("{rate:.0}"),
            target: Some(PerformanceTarget::AtLeast(rate, 6_000.0, "")),
            ..ResultRow::default()
        });
    }
    table.end()
}

fn measure_throughput(clock: &Clock, table: &mut ResultTable) {
    let batch = TransferBatch::new(POLLS, clock);
    for latency in SERVER_LATENCIES {
        let server = StatusServer::start(&batch, latency);
        // Runs alternate, so that other work on the machine slows down both.
        let (mut pipeline_rate, mut baseline_rate) = (0.0_f64, 0.0_f64);
        for _ in 0..RUNS {
            baseline_rate = baseline_rate.max(bare::requests_per_second(&batch, &server, clock));
            pipeline_rate = pipeline_rate.max(library::polls_per_second(&batch, &server, clock));
        }
        let milliseconds = latency.as_millis();
        table.push(ResultRow {
            measure: format!("polls a second of the pipeline, {IN_FLIGHT} in flight, answers after {milliseconds} ms"),
            measured: format!("{pipeline_rate:.0}"),
            yardstick: format!("{baseline_rate:.0}: bare reqwest loop"),
            ratio: Some(pipeline_rate / baseline_rate),
            target: latency.is_zero().then_some(PerformanceTarget::AtLeast(pipeline_rate / baseline_rate, 0.7, "")),
        });
    }
    let (limit, count) = HIGHEST_LIMIT;
    let batch = TransferBatch::new(count, clock);
    let server = StatusServer::start(&batch, Duration::ZERO);
    let rate = library::poller_rate(&batch, &server, clock, limit);
    table.push(ResultRow {
        measure: format!("polls a second of the poller at a limit of {limit:.0}"),
        measured: format!("{rate:.0}"),
        yardstick: format!("{limit:.0}: the limit"),
        ratio: Some(rate / limit),
        target: None,
    });
}
