//! A program in a real pseudo-terminal: its screen, its keys, its end. For the tests that need one, and for benchmarks.
//!
//! It never sleeps: it waits for output, and gives up when what is expected doesn't come.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    io::{Read, Write},
    num::NonZero,
    process::Command,
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use hoptop::clock::{Clock, Mono};
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// How long it waits for what it expects, before it says what is on the screen instead.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program in a terminal.
pub struct Session {
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    keys: Box<dyn Write + Send>,
    terminal: Arc<Mutex<Box<dyn MasterPty + Send>>>,
    screen: vt100::Parser,
    raw: Vec<u8>,
    clock: Clock,
}

impl Session {
    /// Starts a program in a terminal of so many columns and rows. Of the environment it sees what the command sets, and `TERM`.
    pub fn start(command: &Command, (columns, rows): (u16, u16)) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let child = pair.slave.spawn_command(builder(command)).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let (sender, output) = mpsc::channel();
        // Held open until the program's side is closed.
        let terminal = Arc::new(Mutex::new(pair.master));
        let held = Arc::clone(&terminal);
        thread::spawn(move || {
            let _held = held;
            let mut buffer = [0; 65_536];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer.iter().take(count).copied().collect()).is_err() {
                    return;
                }
            }
        });
        let screen = vt100::Parser::new(NonZero::new(rows).unwrap(), NonZero::new(columns).unwrap(), 0);
        Self { child, output, keys, terminal, screen, raw: Vec::new(), clock: Clock::system() }
    }

    /// What is on the screen.
    pub fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// All that came, as it came.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }

    /// Waits until the screen shows all of these.
    #[track_caller]
    pub fn wait_for(&mut self, expected: &[&str]) {
        self.wait_until(&format!("{expected:?}"), |screen| expected.iter().all(|text| screen.contains(text)));
    }

    /// Waits until the screen is as it is expected, which `what` names.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, is_expected: impl Fn(&str) -> bool) {
        let until = self.clock.now().mono + PATIENCE;
        while !is_expected(&self.text()) {
            match self.next_output(until) {
                Some(bytes) => self.take(&bytes),
                None => panic!("it ended before it showed {what}; the screen:\n{}", self.text()),
            }
        }
    }

    /// Takes one piece of output if it comes within a span; whether one did.
    pub fn take_within(&mut self, span: Duration) -> bool {
        let piece = self.output.recv_timeout(span).ok();
        piece.inspect(|bytes| self.take(bytes)).is_some()
    }

    /// The next piece of output; `None` at its end. A screen that is drawn on and on without what is waited for fails too.
    fn next_output(&self, until: Mono) -> Option<Vec<u8>> {
        match self.output.recv_timeout(until.since(self.clock.now().mono)) {
            Err(RecvTimeoutError::Timeout) => panic!("in vain; the screen:\n{}", self.text()),
            piece => piece.ok(),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.screen.process(bytes);
        self.raw.extend_from_slice(bytes);
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Gives the terminal another size: so many columns and rows.
    pub fn resize(&mut self, (columns, rows): (u16, u16)) {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.terminal.lock().unwrap().resize(size).unwrap();
        let at_least_one = |size: u16| NonZero::new(size.max(1)).unwrap();
        self.screen.screen_mut().set_size(at_least_one(rows), at_least_one(columns));
    }

    /// Whether the program is on the alternate screen.
    pub fn is_on_alternate_screen(&self) -> bool {
        self.screen.screen().alternate_screen()
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Sends it a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status().unwrap().success());
    }

    /// Waits until its process is stopped, as by ^Z.
    pub fn wait_for_stop(&self) {
        let until = self.clock.now().mono + PATIENCE;
        let state =
            || Command::new("ps").args(["-o", "stat=", "-p", &self.child.process_id().unwrap().to_string()]).output();
        while !String::from_utf8_lossy(&state().unwrap().stdout).starts_with('T') {
            assert!(self.clock.now().mono < until, "it goes on");
        }
    }

    /// Waits for the end, and checks that the terminal is as it was: main screen, cursor, no bracketed paste.
    pub fn end(mut self) -> (ExitStatus, String) {
        let until = self.clock.now().mono + PATIENCE;
        while let Some(bytes) = self.next_output(until) {
            self.take(&bytes);
        }
        let status = self.child.wait().unwrap();
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen(), "still on the alternate screen");
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(!screen.bracketed_paste(), "pastes are still bracketed");
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None, "the mouse is still captured");
        (status, self.output())
    }
}

/// The same program, words, environment and folder for a terminal.
fn builder(command: &Command) -> CommandBuilder {
    let mut builder = CommandBuilder::new(command.get_program());
    builder.args(command.get_args());
    builder.env_clear();
    builder.env("TERM", "xterm-256color");
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            builder.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        builder.cwd(folder);
    }
    builder
}
