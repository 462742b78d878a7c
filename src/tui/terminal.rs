//! The terminal itself: sets raw mode, alternate screen, title, mouse and focus reports, and restores them all.
//!
//! The terminal is restored on drop, by the panic hook, and before a suspension, whichever comes first. Restoring it
//! twice does no harm.

use std::{
    io::{self, Stdout, Write},
    mem::ManuallyDrop,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
};

use crossterm::{
    clipboard::CopyToClipboard,
    cursor::{Hide, Show},
    event::{DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste, EnableFocusChange},
    execute, queue,
    style::{Print, force_color_output},
    terminal::{
        BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, SetTitle,
        disable_raw_mode, enable_raw_mode,
    },
};
use ratatui::{
    Terminal, TerminalOptions, Viewport,
    backend::{Backend, CrosstermBackend},
    layout::Size,
};

/// Saves the previous title, and restores it (xterm's title stack; other terminals ignore it).
const KEEP_TITLE: &str = "\x1b[22;2t";
const OLD_TITLE: &str = "\x1b[23;2t";
/// Enables reports of clicks and the wheel. crossterm's own command also enables reports of every mouse move, which are
/// not used.
const CLICKS: Print<&str> = Print("\x1b[?1000h\x1b[?1006h");

/// A request to the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalRequest<'a> {
    /// Begin a frame: show nothing until its end.
    BeginFrame,
    /// End the frame, and show it.
    EndFrame,
    /// Set the title.
    Title(&'a str),
    /// Copy a text to the terminal's clipboard (OSC 52). The terminal doesn't confirm it.
    Copy(&'a str),
    /// Send a notification: a ready-made escape sequence.
    Notification(&'a str),
    /// Enable or disable reports of clicks and the wheel.
    Mouse(bool),
    /// Restore the terminal, as before the dashboard.
    Restore,
    /// Take over the terminal again.
    TakeOver,
}

/// The thread that took over the terminal; `None` if the dashboard doesn't have the terminal.
static OWNER: Mutex<Option<ThreadId>> = Mutex::new(None);

fn owner() -> MutexGuard<'static, Option<ThreadId>> {
    OWNER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the part of a terminal that is drawn: a terminal may claim 65535 columns and rows, and a buffer for these
/// would need all memory.
pub(super) fn drawn_size(size: Size) -> Size {
    Size { width: size.width.min(1_500), height: size.height.min(500) }
}

/// The terminal, while the dashboard has it.
#[derive(Debug)]
pub struct TerminalGuard {
    /// The terminal for drawing. It is never dropped: ratatui's `drop` prints to standard error if the terminal is
    /// gone, and panics if standard error is gone too. `restore` restores the cursor instead.
    pub terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
}

impl TerminalGuard {
    /// Takes over the terminal.
    pub fn take() -> io::Result<Self> {
        // With NO_COLOR crossterm omits bold and reverse too, so the theme handles the variable.
        force_color_output(true);
        take()?;
        let backend = CrosstermBackend::new(io::stdout());
        let area = backend.size().inspect_err(|_| restore()).map(drawn_size)?.into();
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Fixed(area) })
            .inspect_err(|_| restore())?;
        Ok(Self { terminal: ManuallyDrop::new(terminal) })
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

pub(crate) fn perform_request(request: TerminalRequest<'_>) -> io::Result<()> {
    let mut out = io::stdout();
    match request {
        TerminalRequest::BeginFrame => queue!(out, BeginSynchronizedUpdate),
        TerminalRequest::EndFrame => execute!(out, EndSynchronizedUpdate),
        TerminalRequest::Title(title) => execute!(out, SetTitle(title)),
        TerminalRequest::Copy(text) => execute!(out, CopyToClipboard::to_clipboard_from(text)),
        TerminalRequest::Notification(sequence) => execute!(out, Print(sequence)),
        TerminalRequest::Mouse(true) => execute!(out, CLICKS),
        TerminalRequest::Mouse(false) => execute!(out, DisableMouseCapture),
        TerminalRequest::Restore => {
            restore();
            Ok(())
        }
        TerminalRequest::TakeOver => take(),
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    *owner() = Some(thread::current().id());
    let set_up =
        execute!(io::stdout(), Print(KEEP_TITLE), EnterAlternateScreen, EnableBracketedPaste, EnableFocusChange, Hide);
    set_up.inspect_err(|_| restore())
}

/// Restores the terminal, if this process has taken it over.
pub(crate) fn restore() {
    if owner().take().is_some() {
        let given = write_restoration(&mut io::stdout());
        if let Err(error) = given.and(disable_raw_mode()) {
            tracing::error!("can't restore the terminal: {error}");
        }
    }
}

/// Writes the sequences that restore the terminal.
fn write_restoration(out: &mut impl Write) -> io::Result<()> {
    queue!(out, EndSynchronizedUpdate, DisableMouseCapture, DisableFocusChange)?;
    queue!(out, SetTitle(""), Print(OLD_TITLE))?;
    execute!(out, DisableBracketedPaste, LeaveAlternateScreen, Show)
}

/// Restores the terminal without waiting, if this process has taken it over. Another thread may be stuck in a write to
/// the terminal, and hold the lock of standard output. What the terminal hasn't read of the last frame is discarded.
/// The process must end next. SIGUSR1 must have a handler.
pub(crate) fn restore_by_force() {
    use rustix::{
        event::{Timespec, poll},
        fs::{Mode, OFlags},
        process::{Signal, getpid, kill_process},
        stdio::dup2_stdout,
        termios::{QueueSelector, tcflush},
    };
    // Another thread holds this lock only for a moment.
    if owner().take().is_none() {
        return;
    }
    disable_raw_mode().ok();
    /// Ends an escape sequence of which the terminal has read only a part.
    const CANCEL: &[u8] = b"\x18";
    /// No write is possible until another thread's write has ended.
    const ATTEMPTS: usize = 200;
    const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    let open = |path, flags| rustix::fs::open(path, flags | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty());
    // From now on nothing more is drawn.
    open("/dev/null", OFlags::WRONLY).and_then(dup2_stdout).ok();
    let mut sequences = CANCEL.to_vec();
    write_restoration(&mut sequences).ok();
    if let Ok(tty) = open("/dev/tty", OFlags::WRONLY | OFlags::NONBLOCK) {
        let try_write = || {
            tcflush(&tty, QueueSelector::OFlush).ok();
            if rustix::io::write(&tty, &sequences).is_ok() {
                return true;
            }
            // Makes a blocked write notice that the terminal's buffer is empty. The signal's handler does nothing.
            kill_process(getpid(), Signal::USR1).ok();
            poll(&mut [], Some(&PAUSE)).is_err()
        };
        (0..ATTEMPTS).any(|_| try_write());
    }
}

/// Whether another thread has taken over the terminal, so that this thread must not use it.
pub(crate) fn is_held_by_another_thread() -> bool {
    owner().is_some_and(|owner| owner != thread::current().id())
}
