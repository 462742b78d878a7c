//! How the program ends while something holds it up: another process's lock, or output that nobody reads.

use std::{
    io::{PipeWriter, Write, pipe},
    path::Path,
    process::Stdio,
    time::Duration,
};

use hoptop::internals::clock::Clock;
use rusqlite::Connection;

use super::{Home, ONGOING, ProcessOutput, ProgramProcess, ScenarioBatch, SimulatorProcess};

/// The longest time from the first signal to the end.
const AFTER_ONE_SIGNAL: Duration = Duration::from_secs(3);
/// The longest time from the second signal to the end.
const AFTER_TWO_SIGNALS: Duration = Duration::from_secs(1);

/// How much longer a machine that is busy with other tests may take to start a process and to see it end.
const BUSY_MACHINE: Duration = Duration::from_secs(2);

/// Takes the write lock of a home's store until the value is dropped.
fn lock_store(home: &Path) -> Connection {
    let db = Connection::open(home.join("hoptop.db")).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    db
}

/// Sends these signals, and checks that the process then ends within `limit`.
fn end_by(process: ProgramProcess, signals: &[&str], limit: Duration) -> ProcessOutput {
    let clock = Clock::system();
    let began = clock.now().mono;
    for (number, signal) in signals.iter().enumerate() {
        if number > 0 {
            // The same signal twice at once would be one signal.
            std::thread::park_timeout(Duration::from_millis(50));
        }
        process.signal(signal);
    }
    let ended = process.end();
    let took = clock.now().mono.since(began);
    assert!(took <= limit + BUSY_MACHINE, "{signals:?}: {took:?}");
    ended
}

#[test]
fn watch_ends_in_time_while_another_process_holds_the_lock() {
    let batch = ScenarioBatch::repeat(1, ONGOING);
    let simulation = SimulatorProcess::start(&batch.scenario);
    for (signals, code, limit) in [(&["TERM"][..], 143, AFTER_ONE_SIGNAL), (&["INT", "INT"], 130, AFTER_TWO_SIGNALS)] {
        let home = Home::new();
        home.import(&batch.csv);
        let mut process = ProgramProcess::start(home.polling_command(&simulation.url, &["watch", "--json"]));
        process.read_events_until("status_changed", 1);
        let _held = lock_store(home.path());
        let waiting = process.read_error_line();
        assert!(waiting.contains("has locked the store; waiting until it finishes"), "{waiting}");
        let ended = end_by(process, signals, limit);
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.err.ends_with("answers that were not stored are requested again\n"), "{ended:?}");
        assert_eq!(home.list()[0]["status"], "ongoing", "what was stored is kept");
    }
}

#[test]
fn watch_ends_after_its_timeout_while_another_process_holds_the_lock() {
    let batch = ScenarioBatch::repeat(1, ONGOING);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let _held = lock_store(home.path());
    let clock = Clock::system();
    let began = clock.now().mono;
    let ended = home.watch(&simulation.url, &["--until-settled", "--timeout", "3s"]);
    let took = clock.now().mono.since(began);
    // Two seconds after the timeout.
    assert!(took <= Duration::from_secs(5) + BUSY_MACHINE, "{took:?}");
    ended.assert_exit(3, &["has locked the store"]);
}

#[test]
fn command_reports_the_wait_for_the_lock_and_then_writes() {
    let home = Home::new();
    home.import(&ScenarioBatch::repeat(1, ONGOING).csv);
    let held = lock_store(home.path());
    let hash = format!("0x{:064x}", 7);
    let words = ["add", &hash, "--from", "1", "--to", "10", "--quote-id", "q"];
    let mut add = ProgramProcess::start(home.command(&words));
    let waiting = add.read_error_line();
    let holder = match cfg!(target_os = "linux") {
        // The kernel names the thread that began the program.
        true => format!(", process {})", std::process::id()),
        false => String::new(),
    };
    assert!(waiting.starts_with("hoptop: another process") && waiting.contains(&holder), "{waiting}");
    drop(held);
    let ended = add.end();
    assert_eq!((ended.code, home.list().len()), (Some(0), 2), "{ended:?}");
}

/// Returns the writing end of a pipe that is full, with the end that reads it.
fn full_pipe() -> (impl Sized, PipeWriter) {
    let (reader, writer) = pipe().unwrap();
    let mut filler = writer.try_clone().unwrap();
    // Blocks once the pipe is full.
    std::thread::spawn(move || while filler.write_all(&[b'x'; 4_096]).is_ok() {});
    (reader, writer)
}

#[test]
fn watch_ends_in_time_while_nobody_reads_its_output() {
    let batch = ScenarioBatch::repeat(1, ONGOING);
    let simulation = SimulatorProcess::start(&batch.scenario);
    for (signals, code, limit) in [(&["TERM"][..], 143, AFTER_ONE_SIGNAL), (&["INT", "INT"], 130, AFTER_TWO_SIGNALS)] {
        let home = Home::new();
        home.import(&batch.csv);
        let (_unread, output) = full_pipe();
        let mut command = home.polling_command(&simulation.url, &["watch", "--json"]);
        command.stdout(output);
        let process = ProgramProcess::start_unread(command);
        while home.list()[0]["polls"] == 0 {}
        let ended = end_by(process, signals, limit);
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert_eq!(home.list()[0]["status"], "ongoing", "what was stored is kept");
    }
}

#[test]
fn plain_dashboard_ends_in_time_while_another_process_holds_the_lock() {
    let batch = ScenarioBatch::repeat(1, ONGOING);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let mut command = home.polling_command(&simulation.url, &["--plain"]);
    command.stdin(Stdio::piped());
    let mut process = ProgramProcess::start(command);
    while !process.read_line().contains("locked") {
        if home.list()[0]["polls"] != 0 {
            break;
        }
    }
    let _held = lock_store(home.path());
    while !process.read_line().contains("has locked the store") {}
    process.send("quit\n");
    let ended = end_by(process, &[], AFTER_ONE_SIGNAL);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
