//! Measures the start of the dashboard over a large list: the time to the first rows, and the memory use.

use std::{fs, process::Command, time::Duration};

use crate::{StoreBench, long::LargeStore, session::Session};

const RUNS: usize = 5;
/// The time for the dashboard to settle: it reads everything and counts more than once in this time.
const SETTLE_TIME: Duration = Duration::from_secs(8);

pub(crate) fn print(bench: &mut StoreBench, store: &LargeStore) {
    println!("\n| the dashboard over {} transactions | median of {RUNS} |\n| --- | ---: |", store.count);
    for (name, polls) in [("without polling", false), ("polling a service that isn't there", true)] {
        let mut starts: Vec<f64> = (0..RUNS).map(|_| measure_start(bench, store, polls)).collect();
        starts.sort_by(f64::total_cmp);
        let measure = format!("start to rows, {} stored, {name}", store.count);
        let figure = bench.report.at_most(&measure, starts[RUNS / 2] * 1e3, 150.0, "ms");
        println!("| start to the first frame with rows, {name} | {figure} |");
    }
    let megabytes = peak_memory(bench, store) / 1e6;
    let measure = format!("memory, {} stored", store.count);
    let figure = bench.report.at_most(&measure, megabytes, 200.0, "MB");
    println!("| the most memory in its first {} s, polling | {figure} |", SETTLE_TIME.as_secs());
}

/// Starts the dashboard and waits for its first rows. Returns the seconds until then, and the running dashboard.
fn start_dashboard(bench: &StoreBench, store: &LargeStore, polls: bool) -> (f64, Session) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoptop"));
    let folder = store.folder.path();
    command.env("HOME", folder).env("HOPTOP_DB", &store.path).env("HOPTOP_STATE_DIR", folder.join("state"));
    if polls {
        // No service listens on this port.
        command
            .env("HOPTOP_BASE_URL", "http://127.0.0.1:9")
            .env("HOPTOP_INTEGRATOR_ID", "an-integrator-of-the-benchmark");
    } else {
        command.arg("--no-poll");
    }
    bench.seconds(|| {
        let mut session = Session::start(&command, (200, 60));
        session.wait_until("rows", |screen| screen.contains("!! ") && screen.contains("0x"));
        session
    })
}

/// Returns the seconds from the start to the first rows.
fn measure_start(bench: &StoreBench, store: &LargeStore, polls: bool) -> f64 {
    let (seconds, mut session) = start_dashboard(bench, store, polls);
    session.press("q");
    let (status, output) = session.end();
    assert!(status.success(), "{output}");
    seconds
}

/// Returns the peak memory use of the dashboard, in bytes.
fn peak_memory(bench: &StoreBench, store: &LargeStore) -> f64 {
    let (_, mut session) = start_dashboard(bench, store, true);
    let until = bench.clock.now().mono + SETTLE_TIME;
    while bench.clock.now().mono < until {
        session.take_within(until.since(bench.clock.now().mono));
    }
    let status = fs::read_to_string(format!("/proc/{}/status", session.id())).unwrap();
    let most =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    session.press("q");
    assert!(session.end().0.success());
    most.unwrap() * 1_024.0
}
