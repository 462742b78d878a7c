//! The terminal itself: raw mode and the alternate screen, taken and given back whole.
//!
//! It is given back on drop, and by the panic hook, whichever comes first; giving it back twice does no harm.

use std::{
    io::{self, Stdout},
    mem::ManuallyDrop,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
};

use crossterm::{
    clipboard::CopyToClipboard,
    cursor::{Hide, Show},
    event::{DisableBracketedPaste, EnableBracketedPaste},
    execute,
    style::force_color_output,
    terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
};
use ratatui::{Terminal, backend::CrosstermBackend};

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
        enable_raw_mode()?;
        *owner() = Some(thread::current().id());
        Self::set_up().inspect_err(|_| give_back())
    }

    fn set_up() -> io::Result<Self> {
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        Ok(Self { terminal: ManuallyDrop::new(Terminal::new(CrosstermBackend::new(io::stdout()))?) })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Asks the terminal to put a text into its clipboard. Whether it does it doesn't say.
pub fn copy(text: &str) -> io::Result<()> {
    execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))
}

/// Gives the terminal back, if this process has it.
pub fn give_back() {
    if owner().take().is_some() {
        let screen = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
        if let Err(error) = screen.and(disable_raw_mode()) {
            tracing::error!("the terminal could not be given back: {error}");
        }
    }
}

/// Whether another thread has the terminal, so that this one must keep its hands off it.
pub fn is_another_s() -> bool {
    owner().is_some_and(|owner| owner != thread::current().id())
}
