//! Measures the cost of the store, beside the `sqlite3` shell doing the same: `cargo bench --bench store`.
//!
//! Seeds are fixed and absolute times are for orientation. The benchmark fails if a target in `DESIGN.md` (Numbers) is
//! missed. Words after `--` select the parts whose names contain them. Numbers set the sizes of the two large lists:
//! `lists 10000 100000`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends by panicking"
)]

mod find;
mod import;
mod lists;
mod long;
#[path = "../../tests/material/mod.rs"]
mod material;
mod report;
#[path = "../../tests/session/mod.rs"]
mod session;
mod shell;
mod start;
mod writes;

use std::process::ExitCode;

use hoptop::internals::clock::Clock;

use long::LargeStore;
use report::BenchReport;
use shell::SqliteShell;

/// The default numbers of transactions in the two large lists; one in ten is unsettled.
const LARGE_COUNTS: [usize; 2] = [100_000, 1_000_000];

/// The state that all parts share.
struct StoreBench {
    clock: Clock,
    shell: Option<SqliteShell>,
    report: BenchReport,
}

impl StoreBench {
    /// Returns the seconds that `work` takes, and its result.
    fn seconds<T>(&self, work: impl FnOnce() -> T) -> (f64, T) {
        let start = self.clock.now().mono;
        let done = work();
        (self.clock.now().mono.since(start).as_secs_f64(), done)
    }

    /// Returns the seconds of the shortest of `runs` runs: other work on the machine only adds time.
    fn best(&self, runs: usize, mut work: impl FnMut()) -> f64 {
        self.best_after(runs, || (), |()| work())
    }

    /// Like `best`, for work on a value that is created before each run and dropped after it. Neither step is timed.
    fn best_after<T>(&self, runs: usize, mut setup: impl FnMut() -> T, mut work: impl FnMut(&T)) -> f64 {
        let run = |_| {
            let state = setup();
            self.seconds(|| work(&state)).0
        };
        (0..runs).map(run).fold(f64::INFINITY, f64::min)
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let (sizes, parts): (Vec<String>, Vec<String>) = words.into_iter().partition(|word| word.parse::<usize>().is_ok());
    let is_wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()));
    let mut bench = StoreBench { clock: Clock::system(), shell: SqliteShell::find(), report: BenchReport::default() };
    if bench.shell.is_none() {
        println!("The `sqlite3` shell isn't installed: what is set beside it is left out.\n");
    }
    if is_wanted("writes") {
        writes::print(&mut bench);
    }
    if is_wanted("import") {
        import::print(&mut bench);
    }
    if is_wanted("start") || is_wanted("lists") || is_wanted("find") {
        let sizes: Vec<usize> = sizes.iter().filter_map(|size| size.parse().ok()).collect();
        let sizes = if sizes.is_empty() { &LARGE_COUNTS[..] } else { &sizes };
        let large_stores: Vec<LargeStore> = sizes.iter().map(|size| LargeStore::make(&bench, *size)).collect();
        if is_wanted("lists") {
            lists::print(&bench, &large_stores);
        }
        if is_wanted("find") {
            large_stores.iter().for_each(|store| find::print(&mut bench, store));
        }
        if is_wanted("start") {
            large_stores.iter().for_each(|store| start::print(&mut bench, store));
        }
    }
    bench.report.end()
}
