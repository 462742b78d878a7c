//! The dashboard over a long list, as its users start it: how soon it shows rows, and how much memory it takes.

use std::{fs, process::Command, time::Duration};

use crate::{Bench, long::Long, session::Session};

const RUNS: usize = 5;
/// What the dashboard is given to settle: everything is read by then, and counted more than once.
const SETTLES: Duration = Duration::from_secs(8);

pub fn print(bench: &mut Bench, long: &Long) {
    println!("\n| the dashboard over {} transactions | median of {RUNS} |\n| --- | ---: |", long.count);
    for (name, polls) in [("without polling", false), ("polling a service that isn't there", true)] {
        let mut starts: Vec<f64> = (0..RUNS).map(|_| start(bench, long, polls).0).collect();
        starts.sort_by(f64::total_cmp);
        let what = format!("start to rows, {} stored, {name}", long.count);
        let said = bench.report.at_most(&what, (starts[RUNS / 2] * 1e3, 150.0), "ms");
        println!("| start to the first frame with rows, {name} | {said} |");
    }
    let megabytes = memory(bench, long) / 1e6;
    let what = format!("memory, {} stored", long.count);
    let said = bench.report.at_most(&what, (megabytes, 200.0), "MB");
    println!("| the most memory in its first {} s, polling | {said} |", SETTLES.as_secs());
}

/// Starts the dashboard, and waits for its first rows.
fn show(bench: &Bench, long: &Long, polls: bool) -> (f64, Session) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoptop"));
    let folder = long.folder.path();
    command.env("HOME", folder).env("HOPTOP_DB", &long.path).env("HOPTOP_STATE_DIR", folder.join("state"));
    if polls {
        // The port that nothing listens on.
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

fn start(bench: &Bench, long: &Long, polls: bool) -> (f64, String) {
    let (seconds, mut session) = show(bench, long, polls);
    session.press("q");
    let (status, output) = session.end();
    assert!(status.success(), "{output}");
    (seconds, output)
}

/// The most bytes that it held at a time.
fn memory(bench: &Bench, long: &Long) -> f64 {
    let (_, mut session) = show(bench, long, true);
    let until = bench.clock.now().mono + SETTLES;
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
