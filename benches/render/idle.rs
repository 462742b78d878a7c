//! What the dashboard costs while nobody does anything: the whole process, polling at 1 RPS with 10,000 transactions. Once while
//! nothing happens to any of them, and once while each answer is the first of its transaction, as after an import.

use std::{
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use hoptop::{
    clock::Clock,
    sim::{
        server,
        service::{Limits, Service},
    },
};

use crate::{
    report::Report,
    session::Session,
    tracked::{self, Tracked},
};

const TRACKED: usize = 10_000;
const SETTLES: Duration = Duration::from_secs(15);
const SPAN: Duration = Duration::from_secs(60);
/// Ticks of a process's time in a second (`sysconf(_SC_CLK_TCK)` of every Linux).
const TICKS: f64 = 100.0;

pub fn print(clock: &Clock, report: &mut Report) {
    if !cfg!(target_os = "linux") {
        println!("\nWhat it costs when idle is measured on Linux only.");
        return;
    }
    println!("\nIdle with {TRACKED} tracked at 1 RPS, over {} s of each:", SPAN.as_secs());
    for (what, make) in [("nothing changes", Tracked::still as Make), ("each answer is a first one", Tracked::make)] {
        let share = share(make, clock);
        println!("  {what}: {}.", report.at_most(&format!("idle, {what}"), (1e6 * share, 5_000.0), "µs a second"));
    }
}

type Make = fn(&Path, usize, &Clock) -> Tracked;

/// How much of a core it takes.
fn share(make: Make, clock: &Clock) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hoptop.db");
    let Tracked { world, .. } = make(&path, TRACKED, clock);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let url = runtime.block_on(async {
        let listener = server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let service = Service::new(world, Limits { rps: 1.0, ..Limits::default() });
        tokio::spawn(server::serve(listener, Arc::new(Mutex::new(service)), clock.clone(), std::future::pending()));
        url
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoptop"));
    command.env("HOME", folder.path()).env("HOPTOP_DB", &path).env("HOPTOP_STATE_DIR", folder.path().join("state"));
    command.env("HOPTOP_BASE_URL", url).env("HOPTOP_INTEGRATOR_ID", tracked::ID);
    command.args(["--rps", "1"]);
    let mut session = Session::start(&command, (120, 36));
    session.wait_until("polling", |screen| screen.contains("LIVE") && screen.contains("0x"));
    wait(&mut session, SETTLES, clock);
    let before = spent(&session);
    wait(&mut session, SPAN, clock);
    let share = (spent(&session) - before) / SPAN.as_secs_f64();
    session.press("q");
    session.end();
    share
}

/// Looks at what is drawn for so long.
fn wait(session: &mut Session, span: Duration, clock: &Clock) {
    let until = clock.now().mono + span;
    while clock.now().mono < until {
        session.take_within(until.since(clock.now().mono));
    }
}

/// Seconds of a core that it has taken, in itself and for the system.
fn spent(session: &Session) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", session.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |place: usize| fields[place].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / TICKS
}
