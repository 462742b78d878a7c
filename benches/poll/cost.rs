//! Measures the processor time and context switches of one poll: of the built program, and of a Python loop for
//! comparison.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use hoptop::internals::clock::Clock;

use crate::{
    ID, RUNS,
    batch::TransferBatch,
    server::StatusServer,
    table::{PerformanceTarget, ResultRow, ResultTable},
};

/// The rate limit of both programs.
const REQUESTS_PER_SECOND: usize = 200;
/// The number of transfers in the small and in the large batch.
const BATCH_SIZES: [usize; 2] = [500, 2_500];
const PYTHON: &str = "python3";

/// The resources that processes have used.
#[derive(Clone, Copy, Debug)]
struct Usage {
    /// Milliseconds of processor time in the program's own code.
    user: f64,
    /// Milliseconds of processor time in the operating system.
    system: f64,
    /// Context switches at which the process waited for something.
    voluntary: f64,
    /// Context switches at which the operating system interrupted the process.
    involuntary: f64,
    /// Milliseconds from the start of a process to its end.
    elapsed: f64,
}

impl Usage {
    /// Returns the total of all child processes that have ended.
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

    fn combine(self, other: Self, with: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            user: with(self.user, other.user),
            system: with(self.system, other.system),
            voluntary: with(self.voluntary, other.voluntary),
            involuntary: with(self.involuntary, other.involuntary),
            elapsed: with(self.elapsed, other.elapsed),
        }
    }

    fn processor_time(self) -> f64 {
        self.user + self.system
    }

    fn context_switches(self) -> f64 {
        self.voluntary + self.involuntary
    }
}

pub(crate) fn measure(clock: &Clock, table: &mut ResultTable) {
    let batch = TransferBatch::new(BATCH_SIZES[1], clock);
    let python = Command::new(PYTHON).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let has_python = python.is_ok_and(|status| status.success());
    let runs = (0..RUNS)
        .map(|_| (measure_poll(&batch, clock, run_hoptop), has_python.then(|| measure_poll(&batch, clock, run_loop))));
    let (hoptop_usage, python): (Vec<Usage>, Vec<Option<Usage>>) = runs.unzip();
    let hoptop_usage = lowest_usage(hoptop_usage).unwrap();
    table.push(ResultRow {
        measure: format!("processor time of a poll at {REQUESTS_PER_SECOND} a second"),
        measured: format_usage(hoptop_usage),
        target: Some(PerformanceTarget::AtMost(hoptop_usage.processor_time(), 0.45, " ms")),
        ..ResultRow::default()
    });
    let Usage { voluntary, involuntary, .. } = hoptop_usage;
    table.push(ResultRow {
        measure: "context switches of a poll".to_owned(),
        measured: format!(
            "{:.1} ({voluntary:.1} voluntary, {involuntary:.1} involuntary)",
            hoptop_usage.context_switches()
        ),
        target: Some(PerformanceTarget::AtMost(hoptop_usage.context_switches(), 5.0, "")),
        ..ResultRow::default()
    });
    table.push(ResultRow {
        measure: format!("polls a second of the program at a limit of {REQUESTS_PER_SECOND}"),
        measured: format!("{:.0}", 1e3 / hoptop_usage.elapsed),
        yardstick: format!("{REQUESTS_PER_SECOND}: the limit"),
        ratio: Some(1e3 / hoptop_usage.elapsed / REQUESTS_PER_SECOND as f64),
        target: None,
    });
    match lowest_usage(python.into_iter().flatten().collect()) {
        Some(python) => {
            let ratio = hoptop_usage.processor_time() / python.processor_time();
            table.push(ResultRow {
                measure: "processor time of a poll against a keep-alive Python loop".to_owned(),
                measured: format_usage(hoptop_usage),
                yardstick: format_usage(python),
                ratio: Some(ratio),
                target: Some(PerformanceTarget::AtMost(ratio, 2.0, "")),
            });
        }
        None => table.note(format!("Skipped: the keep-alive Python loop, since there is no {PYTHON}.")),
    }
    table.note(format!(
        "Costs of a poll: ({} polls - {} polls) / {}, so that the start of the program isn't counted; bodies of {} bytes.",
        BATCH_SIZES[1],
        BATCH_SIZES[0],
        BATCH_SIZES[1] - BATCH_SIZES[0],
        batch.mean_body_length(),
    ));
}

fn format_usage(usage: Usage) -> String {
    format!("{:.2} ms ({:.2} user, {:.2} system)", usage.processor_time(), usage.user, usage.system)
}

/// Returns the run with the least processor time.
fn lowest_usage(runs: Vec<Usage>) -> Option<Usage> {
    runs.into_iter().min_by(|one, other| one.processor_time().total_cmp(&other.processor_time()))
}

/// Returns the resources that one poll of `program` uses: the difference between both batches, divided by the polls.
fn measure_poll(
    batch: &TransferBatch,
    clock: &Clock,
    program: impl Fn(&TransferBatch, &StatusServer, &Clock) -> Usage,
) -> Usage {
    let [small, large] = BATCH_SIZES.map(|size| {
        let batch = batch.first_transfers(size);
        let server = StatusServer::start(&batch, Duration::ZERO);
        let usage = program(&batch, &server, clock);
        (usage, server.answered_count() as f64)
    });
    let polls = large.1 - small.1;
    large.0.combine(small.0, |large, small| (large - small) / polls)
}

/// Runs a command to its end and returns the resources that it used.
fn measure_command(command: &mut Command, clock: &Clock) -> Usage {
    let (before, start) = (Usage::of_children(), clock.now().mono);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
    let elapsed = 1e3 * clock.now().mono.since(start).as_secs_f64();
    Usage { elapsed, ..Usage::of_children().combine(before, |after, before| after - before) }
}

fn run_hoptop(batch: &TransferBatch, server: &StatusServer, clock: &Clock) -> Usage {
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
    measure_command(program().arg("import").arg(&file), clock);
    // The daily backup is made first, so that no process makes one while polls are measured.
    measure_command(program().args(["backup", "--daily"]).stderr(Stdio::null()), clock);
    let rate = REQUESTS_PER_SECOND.to_string();
    measure_command(program().args(["watch", "--until-settled", "--rps", &rate, "--base-url", &server.url()]), clock)
}

fn run_loop(batch: &TransferBatch, server: &StatusServer, clock: &Clock) -> Usage {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("targets.txt");
    fs::write(&file, batch.targets().collect::<Vec<_>>().join("\n")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/poll/keep_alive.py");
    let mut command = Command::new(PYTHON);
    command.arg(script).args([server.address.port().to_string(), REQUESTS_PER_SECOND.to_string()]);
    measure_command(command.arg(&file).arg(folder.path().join("bodies.db")), clock)
}
