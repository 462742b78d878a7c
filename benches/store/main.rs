//! What the store costs, beside the `sqlite3` shell doing the same: `cargo bench --bench store`.
//!
//! Seeds are fixed, absolute times are for orientation; it fails if what `DESIGN.md` (Numbers) wants isn't reached. Words after
//! `--` pick the parts whose names contain them, numbers say how many transactions the two long lists hold: `lists 10000 100000`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends by panicking"
)]

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

use hoptop::clock::Clock;

use long::Long;
use report::Report;
use shell::Shell;

/// How many transactions the two long lists hold, unless it is said: one in ten of them unsettled.
const LONG: [usize; 2] = [100_000, 1_000_000];

/// What every part is given.
struct Bench {
    clock: Clock,
    shell: Option<Shell>,
    report: Report,
}

impl Bench {
    /// How many seconds some work takes.
    fn seconds<T>(&self, work: impl FnOnce() -> T) -> (f64, T) {
        let start = self.clock.now().mono;
        let done = work();
        (self.clock.now().mono.since(start).as_secs_f64(), done)
    }

    /// The shortest of so many runs: what else the machine does only adds to it.
    fn best(&self, runs: usize, mut work: impl FnMut()) -> f64 {
        self.best_on(runs, || (), |()| work())
    }

    /// The same of work on something that is made anew before each run and goes after it, neither of which counts.
    fn best_on<T>(&self, runs: usize, mut make: impl FnMut() -> T, mut work: impl FnMut(&T)) -> f64 {
        let run = |_| {
            let made = make();
            self.seconds(|| work(&made)).0
        };
        (0..runs).map(run).fold(f64::INFINITY, f64::min)
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let (sizes, parts): (Vec<String>, Vec<String>) = words.into_iter().partition(|word| word.parse::<usize>().is_ok());
    let is_wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()));
    let mut bench = Bench { clock: Clock::system(), shell: Shell::find(), report: Report::default() };
    if bench.shell.is_none() {
        println!("The `sqlite3` shell isn't installed: what is set beside it is left out.\n");
    }
    if is_wanted("writes") {
        writes::print(&mut bench);
    }
    if is_wanted("import") {
        import::print(&mut bench);
    }
    if is_wanted("start") || is_wanted("lists") {
        let sizes: Vec<usize> = sizes.iter().filter_map(|size| size.parse().ok()).collect();
        let sizes = if sizes.is_empty() { &LONG[..] } else { &sizes };
        let long: Vec<Long> = sizes.iter().map(|size| Long::make(&bench, *size)).collect();
        if is_wanted("lists") {
            lists::print(&bench, &long);
        }
        if is_wanted("start") {
            long.iter().for_each(|long| start::print(&mut bench, long));
        }
    }
    bench.report.end()
}
