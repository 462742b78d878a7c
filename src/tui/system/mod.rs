//! The system outside the screen: clipboard, browser, and the terminal itself.
//!
//! Tests replace the functions. Pure functions of the environment choose the methods. Nothing here may run a shell, or
//! wait for longer than its limit.

pub(crate) mod browser;
pub(crate) mod clipboard;
pub(crate) mod environment;
pub(crate) mod notification;
pub(crate) mod paste;
pub(crate) mod suspension;

use std::{io, time::Duration};

use tokio::sync::oneshot;

use self::{browser::Browser, clipboard::CopyMethod, environment::TerminalEnvironment, suspension::Suspension};
use super::terminal::TerminalRequest;
use crate::{domain::notification::NotificationMode, process::program};

/// The time limit of a clipboard tool. Such a tool ends at once, and leaves a child process that holds the text.
const CLIPBOARD_LIMIT: Duration = Duration::from_secs(3);

/// The functions and settings for the system outside the screen.
pub struct System {
    /// The methods of copying, in their order.
    pub copy_methods: Vec<CopyMethod>,
    /// Passes a text to a program's standard input, and waits for the program's end.
    pub feed: fn(&[String], &str) -> io::Result<()>,
    /// The way to open a checked link.
    pub browser: Browser,
    /// Sends a request to the terminal, between two frames only.
    pub terminal: fn(TerminalRequest<'_>) -> io::Result<()>,
    /// Whether clicks and the wheel are used.
    pub has_mouse: bool,
    /// Whether the terminal is known to put brackets around pastes.
    pub has_brackets: bool,
    /// How a person in another window is notified of alerts.
    pub notifications: notification::NotificationSettings,
    /// The suspension of the program, if it is supported.
    pub suspension: Option<Suspension>,
    /// Signals that the first rows are drawn: work that would compete for the processor waits for it.
    pub first_rows: Option<oneshot::Sender<()>>,
}

impl System {
    /// Returns a system without terminal, clipboard and browser, for tests.
    pub fn disconnected() -> Self {
        Self {
            copy_methods: Vec::new(),
            feed: |_, _| Err(io::Error::other("there is no program")),
            browser: Browser::Unreachable("there is no browser"),
            terminal: |_| Ok(()),
            has_mouse: false,
            has_brackets: false,
            notifications: notification::NotificationSettings::default(),
            suspension: None,
            first_rows: None,
        }
    }

    /// Returns the system of this process. `clipboard` is the command of the config, `mode` the requested
    /// protocol of notifications, `has_bell` whether the bell rings.
    pub fn process(clipboard: Option<Vec<String>>, has_mouse: bool, mode: NotificationMode, has_bell: bool) -> Self {
        let variable = |name: &str| std::env::var_os(name);
        let environment = TerminalEnvironment { variable: &variable, has_program: &program::program_exists };
        Self {
            copy_methods: clipboard::methods(&environment, clipboard),
            feed: |words, text| program::run_with_input(words, text, CLIPBOARD_LIMIT),
            browser: browser::choose(&environment),
            terminal: super::terminal::perform_request,
            has_mouse,
            has_brackets: paste::has_brackets(&environment),
            notifications: notification::choose(&environment, mode, has_bell),
            suspension: None,
            first_rows: None,
        }
    }
}
