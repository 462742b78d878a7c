//! Runs a program in a real pseudo-terminal: reads its screen, sends keys and signals, waits for its exit. Tests and
//! benchmarks share it.
//!
//! This module must never sleep: it waits for output, and fails if the expected output doesn't come.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

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

use hoptop::internals::clock::{Clock, MonotonicTime};
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// The longest wait for an expected state. After it the test fails, and prints the screen.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// A program that runs in a pseudo-terminal.
pub(crate) struct Session {
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    keys: Box<dyn Write + Send>,
    terminal: Arc<Mutex<Box<dyn MasterPty + Send>>>,
    screen: vt100::Parser,
    raw: Vec<u8>,
    clock: Clock,
}

impl Session {
    /// Starts a program in a terminal with these numbers of columns and rows. Its environment is what the command sets,
    /// and `TERM`.
    pub(crate) fn start(command: &Command, (columns, rows): (u16, u16)) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let child = pair.slave.spawn_command(terminal_command(command)).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let (sender, output) = mpsc::channel();
        // The thread keeps the terminal open until the program closes its side.
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

    /// Returns the text on the screen.
    pub(crate) fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Returns all output so far, with its escape sequences, as lossy UTF-8.
    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }

    /// Waits until the screen shows all of these texts.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, expected: &[&str]) {
        self.wait_until(&format!("{expected:?}"), |screen| expected.iter().all(|text| screen.contains(text)));
    }

    /// Waits until `is_expected` accepts the screen after a whole frame. In the middle of a frame, the screen may show
    /// new parts beside old ones. `expected` names the expected state in the failure message.
    #[track_caller]
    pub(crate) fn wait_until(&mut self, expected: &str, is_expected: impl Fn(&str) -> bool) {
        let until = self.clock.now().mono + WAIT_LIMIT;
        while !(self.is_whole_frame() && is_expected(&self.text())) {
            match self.next_output(until) {
                Some(bytes) => self.process(&bytes),
                None => panic!("the program ended before it showed {expected}; the screen:\n{}", self.text()),
            }
        }
    }

    /// Whether the last frame has ended, or there was none.
    fn is_whole_frame(&self) -> bool {
        /// More than a frame has.
        const TAIL: usize = 1 << 18;
        let tail = &self.raw[self.raw.len().saturating_sub(TAIL)..];
        let last = |mode: &[u8]| tail.windows(mode.len()).rposition(|window| window == mode);
        last(b"\x1b[?2026h").is_none_or(|begin| last(b"\x1b[?2026l").is_some_and(|end| end > begin))
    }

    /// Waits until the output contains this text, whether or not the screen shows it. Everything before it is then on
    /// the screen.
    #[track_caller]
    pub(crate) fn wait_for_output(&mut self, expected: &str) {
        let until = self.clock.now().mono + WAIT_LIMIT;
        while !self.output().contains(expected) {
            match self.next_output(until) {
                Some(bytes) => self.process(&bytes),
                None => panic!("the program ended before it printed {expected:?}; the screen:\n{}", self.text()),
            }
        }
    }

    /// Returns the screen.
    pub(crate) fn screen(&self) -> &vt100::Screen {
        self.screen.screen()
    }

    /// Processes one piece of output if it arrives within `span`. Returns whether one arrived.
    pub(crate) fn take_within(&mut self, span: Duration) -> bool {
        let piece = self.output.recv_timeout(span).ok();
        piece.inspect(|bytes| self.process(bytes)).is_some()
    }

    /// Returns the next piece of output, or `None` at its end. Fails at `until`, even if the program still draws.
    fn next_output(&self, until: MonotonicTime) -> Option<Vec<u8>> {
        match self.output.recv_timeout(until.since(self.clock.now().mono)) {
            Err(RecvTimeoutError::Timeout) => panic!("timed out; the screen:\n{}", self.text()),
            piece => piece.ok(),
        }
    }

    /// Applies output to the screen, and records the bytes.
    fn process(&mut self, bytes: &[u8]) {
        self.screen.process(bytes);
        self.raw.extend_from_slice(bytes);
    }

    /// Sends keys to the program.
    pub(crate) fn press(&mut self, keys: &str) {
        self.send(keys.as_bytes());
    }

    /// Sends bytes to the program.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.keys.write_all(bytes).unwrap();
        self.keys.flush().unwrap();
    }

    /// Processes the output of this time.
    pub(crate) fn take_for(&mut self, span: Duration) {
        let until = self.clock.now().mono + span;
        while self.clock.now().mono < until {
            self.take_within(until.since(self.clock.now().mono));
        }
    }

    /// Resizes the terminal to these numbers of columns and rows.
    pub(crate) fn resize(&mut self, (columns, rows): (u16, u16)) {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.terminal.lock().unwrap().resize(size).unwrap();
        let at_least_one = |size: u16| NonZero::new(size.max(1)).unwrap();
        self.screen.screen_mut().set_size(at_least_one(rows), at_least_one(columns));
    }

    /// Whether the program uses the alternate screen.
    pub(crate) fn is_on_alternate_screen(&self) -> bool {
        self.screen.screen().alternate_screen()
    }

    /// The ID of the program's process.
    pub(crate) fn id(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Sends the program a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status().unwrap().success());
    }

    /// Waits until the process is stopped, as by ^Z.
    pub(crate) fn wait_for_stop(&self) {
        let until = self.clock.now().mono + WAIT_LIMIT;
        let state =
            || Command::new("ps").args(["-o", "stat=", "-p", &self.child.process_id().unwrap().to_string()]).output();
        while !String::from_utf8_lossy(&state().unwrap().stdout).starts_with('T') {
            assert!(self.clock.now().mono < until, "the process isn't stopped");
        }
    }

    /// Waits for the exit, and checks that the terminal is restored: main screen, cursor, no bracketed paste, no mouse
    /// capture. Returns the exit status and all output.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let until = self.clock.now().mono + WAIT_LIMIT;
        while let Some(bytes) = self.next_output(until) {
            self.process(&bytes);
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

/// Converts a command for a terminal: the same program, arguments, environment and folder.
fn terminal_command(command: &Command) -> CommandBuilder {
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
