//! What the dashboard reaches outside of its cells: the clipboard, the browser, the terminal itself.
//!
//! Functions that a test replaces by its own. Which way is taken is decided by pure functions of the environment; nothing
//! here may run a shell, or wait for longer than its limit.

pub mod browser;
pub mod clipboard;
pub mod notice;
pub mod suspension;

use std::{ffi::OsString, io, time::Duration};

use tokio::sync::oneshot;

use self::{browser::Browser, clipboard::CopyMethod, suspension::Suspension};
use crate::process::program;

/// How long a clipboard's tool may take. It leaves a child behind that holds the text, and ends at once.
const CLIPBOARD_LIMIT: Duration = Duration::from_secs(3);

/// What the dashboard reaches outside of its cells.
pub struct Outside {
    /// The ways to the clipboard, in their order.
    pub copy_methods: Vec<CopyMethod>,
    /// Gives a program a text on its standard input, and waits for its end.
    pub feed: fn(&[String], &str) -> io::Result<()>,
    /// Opens a link that was checked.
    pub browser: Browser,
    /// Asks the terminal for something. It is asked between two frames only.
    pub terminal: fn(Request<'_>) -> io::Result<()>,
    /// Whether clicks and the wheel are wanted.
    pub mouse: bool,
    /// How a person who looks elsewhere is told of alerts.
    pub notices: notice::NotificationSettings,
    /// How the program is suspended, if it can be.
    pub suspension: Option<Suspension>,
    /// Is told when the first rows are drawn: what would take the processor from them waits for it.
    pub first_rows: Option<oneshot::Sender<()>>,
}

/// What the terminal is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// To show what follows at once, at the end of the frame.
    BeginFrame,
    /// The frame is whole.
    EndFrame,
    /// Another title.
    Title(&'a str),
    /// To put a text into its clipboard (OSC 52). Whether it does it doesn't say.
    Copy(&'a str),
    /// What gives a notice: a sequence of its own making.
    Notice(&'a str),
    /// To report clicks and the wheel, or to leave the mouse to the person again.
    Mouse(bool),
    /// To be given back, to whoever had it before.
    GiveBack,
    /// To be taken again.
    Take,
}

impl Outside {
    /// Nothing is reached: for tests.
    pub fn nowhere() -> Self {
        Self {
            copy_methods: Vec::new(),
            feed: |_, _| Err(io::Error::other("there is no program")),
            browser: Browser::Unreachable("there is no browser"),
            terminal: |_| Ok(()),
            mouse: false,
            notices: notice::NotificationSettings::default(),
            suspension: None,
            first_rows: None,
        }
    }

    /// What this process reaches. `clipboard` is the command that the person prefers, `notices` what they want of those, and
    /// whether the bell is to ring.
    pub fn process(clipboard: Option<Vec<String>>, mouse: bool, notices: (notice::Wanted, bool)) -> Self {
        let variable = |name: &str| std::env::var_os(name);
        let surroundings = Surroundings { variable: &variable, has_program: &program::is_there };
        Self {
            copy_methods: clipboard::methods(&surroundings, clipboard),
            feed: |words, text| program::feed(words, text, CLIPBOARD_LIMIT),
            browser: browser::choose(&surroundings),
            terminal: super::terminal::carry_out,
            mouse,
            notices: notice::choose(&surroundings, notices),
            suspension: None,
            first_rows: None,
        }
    }
}

/// What decides which ways there are.
pub struct Surroundings<'a> {
    /// The process's variables.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// Whether a program is there.
    pub has_program: &'a dyn Fn(&str) -> bool,
}

impl Surroundings<'_> {
    /// Whether any of these variables is set to something.
    fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| (self.variable)(name).is_some_and(|value| !value.is_empty()))
    }

    fn is(&self, name: &str, values: &[&str]) -> bool {
        (self.variable)(name).is_some_and(|own| values.iter().any(|value| own == *value))
    }

    /// Whether windows can be shown to this person.
    fn has_display(&self) -> bool {
        self.has(&["DISPLAY", "WAYLAND_DISPLAY"])
    }

    fn is_remote(&self) -> bool {
        self.has(&["SSH_CONNECTION", "SSH_TTY"])
    }
}
