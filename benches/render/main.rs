//! Measures the cost of the screen: `cargo bench --bench render`.
//!
//! Seeds are fixed and absolute times are for orientation. The benchmark fails if a target in `DESIGN.md` (Numbers) is
//! missed. Words after `--` select the parts whose names contain them: `frame`, `press`, `idle`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark prints, and ends by panicking"
)]

mod dashboard;
mod frame;
mod idle;
#[path = "../../tests/material/mod.rs"]
mod material;
mod press;
#[path = "../store/report.rs"]
mod report;
#[path = "../../tests/session/mod.rs"]
mod session;
mod tracked;
#[path = "../../tests/watched/mod.rs"]
mod watched;

use std::process::ExitCode;

use hoptop::internals::clock::Clock;

use report::BenchReport;

fn main() -> ExitCode {
    let parts: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let is_wanted = |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()));
    let (clock, mut report) = (Clock::system(), BenchReport::default());
    if is_wanted("frame") {
        frame::print(&clock, &mut report);
    }
    if is_wanted("press") {
        press::print(&clock, &mut report);
    }
    if is_wanted("idle") {
        idle::print(&clock, &mut report);
    }
    report.end()
}
