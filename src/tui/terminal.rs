//! The terminal itself: raw mode, the alternate screen, title, mouse and focus, taken and given back whole.
//!
//! It is given back on drop, by the panic hook, and while the program is suspended, whichever comes first; giving it back
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
use ratatui::{Terminal, backend::CrosstermBackend};

use super::outside::Request;

/// Keeps the title that was there before, and brings it back (xterm's title stack; others ignore it).
const KEEP_TITLE: &str = "\x1b[22;2t";
const OLD_TITLE: &str = "\x1b[23;2t";
/// Clicks and the wheel. crossterm's own command asks for every move of the mouse as well, which is nothing but work.
#[cfg(unix)]
const CLICKS: Print<&str> = Print("\x1b[?1000h\x1b[?1006h");
#[cfg(not(unix))]
const CLICKS: crossterm::event::EnableMouseCapture = crossterm::event::EnableMouseCapture;

/// The thread that took the terminal, while it is taken.
static OWNER: Mutex<Option<ThreadId>> = Mutex::new(None);

fn owner() -> MutexGuard<'static, Option<ThreadId>> {
    OWNER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The terminal, while the dashboard has it.
#[derive(Debug)]
pub struct Screen {
    /// For drawing. Never dropped: ratatui's `drop` prints to standard error when the terminal is gone, and panics when that
    /// is gone too; the cursor is given back here.
    pub terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
}

impl Screen {
    /// Takes the terminal.
    pub fn take() -> io::Result<Self> {
        // crossterm leaves out bold and reverse too when it honours NO_COLOR; the theme does that better.
        force_color_output(true);
        take()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout())).inspect_err(|_| give_back())?;
        Ok(Self { terminal: ManuallyDrop::new(terminal) })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Does what the dashboard asks of its terminal.
pub fn carry_out(request: Request<'_>) -> io::Result<()> {
    let mut out = io::stdout();
    match request {
        Request::BeginFrame => queue!(out, BeginSynchronizedUpdate),
        Request::EndFrame => execute!(out, EndSynchronizedUpdate),
        Request::Title(title) => execute!(out, SetTitle(title)),
        Request::Copy(text) => execute!(out, CopyToClipboard::to_clipboard_from(text)),
        Request::Notice(sequence) => execute!(out, Print(sequence)),
        Request::Mouse(true) => execute!(out, CLICKS),
        Request::Mouse(false) => execute!(out, DisableMouseCapture),
        Request::GiveBack => {
            give_back();
            Ok(())
        }
        Request::Take => take(),
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    *owner() = Some(thread::current().id());
    let set_up =
        execute!(io::stdout(), Print(KEEP_TITLE), EnterAlternateScreen, EnableBracketedPaste, EnableFocusChange, Hide);
    set_up.inspect_err(|_| give_back())
}

/// Gives the terminal back, if this process has it.
pub fn give_back() {
    if owner().take().is_some() {
        let modes = queue!(io::stdout(), EndSynchronizedUpdate, DisableMouseCapture, DisableFocusChange);
        let title = queue!(io::stdout(), SetTitle(""), Print(OLD_TITLE));
        let screen = queue!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
        let given = modes.and(title).and(screen).and(io::stdout().flush());
        if let Err(error) = given.and(disable_raw_mode()) {
            tracing::error!("the terminal could not be given back: {error}");
        }
    }
}

/// Whether another thread has the terminal, so that this one must keep its hands off it.
pub fn is_another_s() -> bool {
    owner().is_some_and(|owner| owner != thread::current().id())
}
