//! The terminal itself: raw mode and the alternate screen, taken and given back whole.
//!
//! It is given back on drop, and by the panic hook, whichever comes first; giving it back twice does no harm.

use std::{
    io::{self, Stdout},
    sync::atomic::{AtomicBool, Ordering},
};

use crossterm::{
    cursor::{Hide, Show},
    event::{DisableBracketedPaste, EnableBracketedPaste},
    execute,
    style::force_color_output,
    terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
};
use ratatui::{Terminal, backend::CrosstermBackend};

/// Whether this process has the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal, while the dashboard has it.
#[derive(Debug)]
pub struct Screen {
    /// For drawing.
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal.
    pub fn take() -> io::Result<Self> {
        // crossterm leaves out bold and reverse too when it honours NO_COLOR; the theme does that better.
        force_color_output(true);
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        Ok(Self { terminal: Terminal::new(CrosstermBackend::new(io::stdout()))? })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back, if this process has it.
pub fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let screen = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
        if let Err(error) = screen.and(disable_raw_mode()) {
            tracing::error!("the terminal could not be given back: {error}");
        }
    }
}
