//! The program in a real pseudo-terminal: what a person sees, and that the terminal comes back whole.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::{
    io::{Read, Write},
    process::Command,
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use portable_pty::{Child, CommandBuilder, ExitStatus, PtySize, native_pty_system};

/// How long a test waits for what it expects, before it says what is on the screen instead.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program in a terminal of 80 by 24.
struct Session {
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    keys: Box<dyn Write + Send>,
    screen: vt100::Parser,
    raw: Vec<u8>,
    /// Pieces of output that may still come before the test gives up.
    patience: usize,
    _home: tempfile::TempDir,
}

impl Session {
    fn start(program: &str, arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let pair =
            native_pty_system().openpty(PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 }).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.env_clear();
        command.env("HOME", home.path());
        command.env("TERM", "xterm-256color");
        command.env("TMPDIR", home.path());
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let (sender, output) = mpsc::channel();
        thread::spawn(move || {
            // Holds the terminal open until the program's side is closed.
            let _terminal = pair.master;
            let mut buffer = [0; 65_536];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, output, keys, screen: vt100::Parser::default(), raw: Vec::new(), patience: 1_000, _home: home }
    }

    fn demo() -> Self {
        Self::start(env!("CARGO_BIN_EXE_hoptop"), &["demo", "--transactions", "20"])
    }

    fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits until the screen shows all of these.
    fn wait_for(&mut self, expected: &[&str]) {
        while !expected.iter().all(|text| self.text().contains(text)) {
            match self.next_output() {
                Some(bytes) => self.take(&bytes),
                None => panic!("it ended before it showed {expected:?}; the screen:\n{}", self.text()),
            }
        }
    }

    /// The next piece of output; `None` at its end. A screen that is drawn on and on without what is waited for fails too.
    fn next_output(&mut self) -> Option<Vec<u8>> {
        self.patience = self.patience.checked_sub(1).unwrap_or_else(|| panic!("in vain; the screen:\n{}", self.text()));
        self.output.recv_timeout(PATIENCE).ok()
    }

    fn take(&mut self, bytes: &[u8]) {
        self.screen.process(bytes);
        self.raw.extend_from_slice(bytes);
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn signal(&self, name: &str) {
        let pid = self.child.process_id().unwrap().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    /// Waits for the end, and checks that the terminal is as it was: main screen, cursor, no bracketed paste.
    fn end(mut self) -> (ExitStatus, String) {
        while let Some(bytes) = self.next_output() {
            self.take(&bytes);
        }
        let status = self.child.wait().unwrap();
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen(), "still on the alternate screen");
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(!screen.bracketed_paste(), "pastes are still bracketed");
        (status, String::from_utf8_lossy(&self.raw).into_owned())
    }
}

#[test]
fn the_demonstration_opens_a_transaction_and_quits() {
    let mut session = Session::demo();
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
    let mut session = Session::demo();
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
        let mut session = Session::demo();
        session.wait_for(&["hoptop DEMO", "VERDICT"]);
        session.signal(name);
        assert_eq!(session.end().0.exit_code(), code, "{name}");
    }
}

#[test]
fn a_panic_gives_the_terminal_back_and_leaves_a_report() {
    let this = std::env::current_exe().unwrap();
    let arguments = ["--ignored", "--exact", "child_that_panics", "--test-threads=1", "--nocapture"];
    let session = Session::start(this.to_str().unwrap(), &arguments);
    let folder = session._home.path().to_owned();
    let kept = tempfile::tempdir().unwrap();
    let (status, output) = {
        let mut session = session;
        session.wait_for(&["the report is in"]);
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::copy(&path, kept.path().join(path.file_name().unwrap())).unwrap();
            }
        }
        session.end()
    };
    assert_ne!(status.exit_code(), 0);
    assert!(output.contains("it crashed"), "{output}");
    let reports: Vec<_> = std::fs::read_dir(kept.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
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
    let mut session = Session::start(env!("CARGO_BIN_EXE_hoptop"), &["--base-url", "http://service.example"]);
    session.wait_for(&["HOPTOP_INTEGRATOR_ID"]);
    let (status, output) = session.end();
    assert_eq!(status.exit_code(), 2, "{output}");
}
