//! Measures the processor time of the idle dashboard: the whole process, polling 10,000 transactions at 1 RPS. In the
//! first case no transaction changes. In the second each answer is the first one for its transaction, as after an
//! import.

use std::{
    net::Ipv4Addr,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use hoptop::internals::{
    clock::Clock,
    sim::{ServiceLimits, SimulatedService, server},
};
use tokio::net::TcpListener;

use crate::{
    report::BenchReport,
    session::Session,
    tracked::{self, TrackedStore},
};

const TRACKED: usize = 10_000;
const SETTLE_TIME: Duration = Duration::from_secs(15);
const MEASURED_TIME: Duration = Duration::from_secs(60);
/// The clock ticks per second in a process's times (`sysconf(_SC_CLK_TCK)` of every Linux).
const TICKS_PER_SECOND: f64 = 100.0;

pub(crate) fn print(clock: &Clock, report: &mut BenchReport) {
    if !cfg!(target_os = "linux") {
        println!("\nWhat it costs when idle is measured on Linux only.");
        return;
    }
    println!("\nIdle with {TRACKED} tracked at 1 RPS, over {} s of each:", MEASURED_TIME.as_secs());
    for (measure, make) in [
        ("nothing changes", TrackedStore::make_unchanging as MakeStore),
        ("each answer is a first one", TrackedStore::make),
    ] {
        let share = cpu_share(make, clock);
        println!("  {measure}: {}.", report.at_most(&format!("idle, {measure}"), 1e6 * share, 5_000.0, "µs a second"));
    }
}

type MakeStore = fn(&Path, usize, &Clock) -> TrackedStore;

/// Returns the share of one core that the dashboard uses.
fn cpu_share(make: MakeStore, clock: &Clock) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hoptop.db");
    let TrackedStore { world, .. } = make(&path, TRACKED, clock);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let url = runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let service = SimulatedService::new(world, ServiceLimits { rps: 1.0, ..ServiceLimits::default() });
        tokio::spawn(server::serve(listener, Arc::new(Mutex::new(service)), clock.clone()));
        url
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoptop"));
    command.env("HOME", folder.path()).env("HOPTOP_DB", &path).env("HOPTOP_STATE_DIR", folder.path().join("state"));
    command.env("HOPTOP_BASE_URL", url).env("HOPTOP_INTEGRATOR_ID", tracked::ID);
    command.args(["--rps", "1"]);
    let mut session = Session::start(&command, (120, 36));
    session.wait_until("polling", |screen| screen.contains("LIVE") && screen.contains("0x"));
    read_screen_for(&mut session, SETTLE_TIME, clock);
    let before = processor_seconds(&session);
    read_screen_for(&mut session, MEASURED_TIME, clock);
    let share = (processor_seconds(&session) - before) / MEASURED_TIME.as_secs_f64();
    session.press("q");
    session.end();
    share
}

/// Reads the program's output for this long.
fn read_screen_for(session: &mut Session, span: Duration, clock: &Clock) {
    let until = clock.now().mono + span;
    while clock.now().mono < until {
        session.take_within(until.since(clock.now().mono));
    }
}

/// Returns the user and system time of the program so far, in seconds.
fn processor_seconds(session: &Session) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", session.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |place: usize| fields[place].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / TICKS_PER_SECOND
}
