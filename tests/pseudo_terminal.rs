//! The program in a real pseudo-terminal: what a person sees, and that the terminal comes back whole.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]
#![cfg(unix)]

mod session;

use std::process::Command;

use tempfile::TempDir;

use session::Session;

/// A program in a terminal of 80 by 24, with a home of its own, which goes with what is returned.
fn start(program: &str, arguments: &[&str]) -> (Session, TempDir) {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    command.args(arguments).env("HOME", home.path()).env("TMPDIR", home.path());
    (Session::start(&command, (80, 24)), home)
}

fn demo() -> (Session, TempDir) {
    start(env!("CARGO_BIN_EXE_hoptop"), &["demo", "--transactions", "20"])
}

#[test]
fn the_demonstration_opens_a_transaction_and_quits() {
    let (mut session, _home) = demo();
    session.wait_for(&["hoptop DEMO", "VERDICT", "OVERDUE", " rps "]);
    session.press("\r");
    session.wait_for(&["SOURCE", "DESTINATION", "SAY", "DO", "Esc back"]);
    session.press("q");
    session.wait_for(&["STATUS", "q quit"]);
    session.press("q");
    let (status, _) = session.end();
    assert_eq!(status.exit_code(), 0);
}

#[test]
fn a_pasted_row_is_tracked() {
    let (mut session, _home) = demo();
    session.wait_for(&["hoptop DEMO", "5 All 20"]);
    session.press(
        "\u{1b}[200~0xabcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789,42161,8453,quote-1\u{1b}[201~",
    );
    session.wait_for(&["ready", "Enter tracks it"]);
    session.press("\r");
    session.wait_for(&["1 tracked", "5 All 21"]);
    session.press("\u{3}");
    assert_eq!(session.end().0.exit_code(), 0);
}

#[test]
fn a_signal_gives_the_terminal_back_and_names_itself_in_the_exit_code() {
    for (name, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let (mut session, _home) = demo();
        session.wait_for(&["hoptop DEMO", "VERDICT"]);
        session.signal(name);
        assert_eq!(session.end().0.exit_code(), code, "{name}");
    }
}

#[test]
fn a_panic_gives_the_terminal_back_and_leaves_a_report() {
    let this = std::env::current_exe().unwrap();
    let arguments = ["--ignored", "--exact", "child_that_panics", "--test-threads=1", "--nocapture"];
    let (mut session, home) = start(this.to_str().unwrap(), &arguments);
    session.wait_for(&["the report is in"]);
    let (status, output) = session.end();
    assert_ne!(status.exit_code(), 0);
    assert!(output.contains("it crashed"), "{output}");
    let reports: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let report =
        std::fs::read_to_string(reports.iter().find(|path| path.to_str().unwrap().contains("crash-")).unwrap());
    assert!(report.unwrap().contains("a fault on purpose"));
}

/// The child of the test above: takes the terminal as the dashboard does, and panics.
#[test]
#[ignore = "run by another test in its own terminal"]
fn child_that_panics() {
    hoptop::cli::install_hooks().unwrap();
    let _screen = hoptop::tui::terminal::Screen::take().unwrap();
    panic!("a fault on purpose");
}

#[test]
fn a_missing_id_is_said_before_the_screen_is_taken() {
    let (mut session, _home) = start(env!("CARGO_BIN_EXE_hoptop"), &["--base-url", "http://service.example"]);
    session.wait_for(&["HOPTOP_INTEGRATOR_ID"]);
    let (status, output) = session.end();
    assert_eq!(status.exit_code(), 2, "{output}");
}
