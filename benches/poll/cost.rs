//! Processor time and context switches of one poll: of the built program, and of the Python loop beside it.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use hoptop::clock::Clock;

use crate::{
    ID, RUNS,
    batch::Batch,
    server::Server,
    table::{Row, Table, Target},
};

/// Requests a second.
const RATE: usize = 200;
/// Transfers of the small and of the large batch.
const SIZES: [usize; 2] = [500, 2_500];
const PYTHON: &str = "python3";

/// What processes have taken.
#[derive(Clone, Copy, Debug)]
struct Usage {
    /// Milliseconds of processor time in the program's own code.
    user: f64,
    /// Milliseconds of processor time in the operating system.
    system: f64,
    /// Context switches at which the program waited for something.
    voluntary: f64,
    /// Context switches at which it was interrupted.
    involuntary: f64,
    /// Milliseconds from its start to its end.
    elapsed: f64,
}

impl Usage {
    /// All child processes that ended so far.
    #[cfg(unix)]
    fn of_children() -> Self {
        use nix::sys::resource::{UsageWho, getrusage};
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
        let milliseconds = |time: nix::sys::time::TimeVal| 1e3 * time.tv_sec() as f64 + time.tv_usec() as f64 / 1e3;
        Self {
            user: milliseconds(usage.user_time()),
            system: milliseconds(usage.system_time()),
            voluntary: usage.voluntary_context_switches() as f64,
            involuntary: usage.involuntary_context_switches() as f64,
            elapsed: 0.0,
        }
    }

    #[cfg(not(unix))]
    fn of_children() -> Self {
        panic!("the accounting of child processes is read on Unix only")
    }

    fn map2(self, other: Self, with: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            user: with(self.user, other.user),
            system: with(self.system, other.system),
            voluntary: with(self.voluntary, other.voluntary),
            involuntary: with(self.involuntary, other.involuntary),
            elapsed: with(self.elapsed, other.elapsed),
        }
    }

    fn processor(self) -> f64 {
        self.user + self.system
    }

    fn switches(self) -> f64 {
        self.voluntary + self.involuntary
    }
}

pub fn measure(clock: &Clock, table: &mut Table) {
    if cfg!(not(unix)) {
        table.note("The cost of a poll is measured on Unix only.".to_owned());
        return;
    }
    let batch = Batch::new(SIZES[1], clock);
    let python = Command::new(PYTHON).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let has_python = python.is_ok_and(|status| status.success());
    let runs = (0..RUNS)
        .map(|_| (usage_of_poll(&batch, clock, hoptop), has_python.then(|| usage_of_poll(&batch, clock, keep_alive))));
    let (ours, python): (Vec<Usage>, Vec<Option<Usage>>) = runs.unzip();
    let ours = least(ours).unwrap();
    table.push(Row {
        what: format!("processor time of a poll at {RATE} a second"),
        measured: shown(ours),
        target: Some(Target::AtMost(ours.processor(), 0.45, " ms")),
        ..Row::default()
    });
    let Usage { voluntary, involuntary, .. } = ours;
    table.push(Row {
        what: "context switches of a poll".to_owned(),
        measured: format!("{:.1} ({voluntary:.1} voluntary, {involuntary:.1} involuntary)", ours.switches()),
        target: Some(Target::AtMost(ours.switches(), 5.0, "")),
        ..Row::default()
    });
    table.push(Row {
        what: format!("polls a second of the program at a limit of {RATE}"),
        measured: format!("{:.0}", 1e3 / ours.elapsed),
        yardstick: format!("{RATE}: the limit"),
        ratio: Some(1e3 / ours.elapsed / RATE as f64),
        target: None,
    });
    match least(python.into_iter().flatten().collect()) {
        Some(python) => {
            let ratio = ours.processor() / python.processor();
            table.push(Row {
                what: "processor time of a poll against a keep-alive Python loop".to_owned(),
                measured: shown(ours),
                yardstick: shown(python),
                ratio: Some(ratio),
                target: Some(Target::AtMost(ratio, 2.0, "")),
            });
        }
        None => table.note(format!("Skipped: the keep-alive Python loop, since there is no {PYTHON}.")),
    }
    table.note(format!(
        "Costs of a poll: ({} polls - {} polls) / {}, so that the start of the program isn't counted; bodies of {} bytes.",
        SIZES[1],
        SIZES[0],
        SIZES[1] - SIZES[0],
        batch.mean_body(),
    ));
}

fn shown(usage: Usage) -> String {
    format!("{:.2} ms ({:.2} user, {:.2} system)", usage.processor(), usage.user, usage.system)
}

/// The run that took the least processor time.
fn least(runs: Vec<Usage>) -> Option<Usage> {
    runs.into_iter().min_by(|one, other| one.processor().total_cmp(&other.processor()))
}

/// What one poll takes of a program that is given a batch.
fn usage_of_poll(batch: &Batch, clock: &Clock, program: impl Fn(&Batch, &Server, &Clock) -> Usage) -> Usage {
    let [small, large] = SIZES.map(|size| {
        let batch = batch.first(size);
        let server = Server::start(&batch, Duration::ZERO);
        let usage = program(&batch, &server, clock);
        (usage, server.answered() as f64)
    });
    let polls = large.1 - small.1;
    large.0.map2(small.0, |large, small| (large - small) / polls)
}

/// Runs a command to its end, and returns what it took.
fn usage_of(command: &mut Command, clock: &Clock) -> Usage {
    let (before, start) = (Usage::of_children(), clock.now().mono);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
    let elapsed = 1e3 * clock.now().mono.since(start).as_secs_f64();
    Usage { elapsed, ..Usage::of_children().map2(before, |after, before| after - before) }
}

fn hoptop(batch: &Batch, server: &Server, clock: &Clock) -> Usage {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("batch.csv");
    fs::write(&file, batch.csv()).unwrap();
    let program = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hoptop"));
        command.env_clear().env("HOME", folder.path()).env("HOPTOP_INTEGRATOR_ID", ID);
        command.arg("--db").arg(folder.path().join("hoptop.db"));
        command.arg("--state-dir").arg(folder.path().join("state"));
        command
    };
    usage_of(program().arg("import").arg(&file), clock);
    // Now, so that no process makes the day's backup while polls are measured.
    usage_of(program().args(["backup", "--daily"]).stderr(Stdio::null()), clock);
    let rate = RATE.to_string();
    usage_of(program().args(["watch", "--until-settled", "--rps", &rate, "--base-url", &server.url()]), clock)
}

fn keep_alive(batch: &Batch, server: &Server, clock: &Clock) -> Usage {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("targets.txt");
    fs::write(&file, batch.targets().collect::<Vec<_>>().join("\n")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/poll/keep_alive.py");
    let mut command = Command::new(PYTHON);
    command.arg(script).args([server.address.port().to_string(), RATE.to_string()]);
    usage_of(command.arg(&file).arg(folder.path().join("bodies.db")), clock)
}
