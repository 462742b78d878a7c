//! Detects that the terminal was closed. Some hang-ups send no signal, and the event reader would then loop for ever.
//!
//! The module must never read from or write to the terminal.

use std::{
    io::{self, IsTerminal},
    sync::OnceLock,
    thread,
};

use tokio::sync::oneshot;

/// Which standard streams were terminals at the start: input, output, error. A terminal that is closed no longer counts
/// as one.
static TERMINALS: OnceLock<[bool; 3]> = OnceLock::new();

/// Remembers which standard streams are terminals, for [`is_any_stream_hung_up`].
pub(crate) fn remember_terminals() {
    TERMINALS.get_or_init(|| [io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()]);
}

/// Whether the terminal of a standard stream was closed since the start.
pub(crate) fn is_any_stream_hung_up() -> bool {
    let [input, output, error] = TERMINALS.get().copied().unwrap_or_default();
    input && is_hung_up(io::stdin(), false)
        || output && is_hung_up(io::stdout(), false)
        || error && is_hung_up(io::stderr(), false)
}

/// Starts to watch standard input's terminal. The returned future resolves when the terminal is closed.
pub(crate) fn listen() -> impl Future<Output = ()> {
    let (sender, hung_up) = oneshot::channel();
    let watch = move || {
        if is_hung_up(io::stdin(), true) {
            // Fails if the receiver was dropped.
            sender.send(()).ok();
        }
    };
    // The thread still blocks when the program ends: nothing can interrupt its wait.
    let started = thread::Builder::new().name("hang-up".into()).spawn(watch);
    async move {
        if started.is_err() || hung_up.await.is_err() {
            std::future::pending().await
        }
    }
}

/// Whether standard input's terminal is closed.
pub(crate) fn is_input_hung_up() -> bool {
    is_hung_up(io::stdin(), false)
}

/// Whether a terminal is closed. With `should_wait`, blocks until it is closed. Returns `false` if that can't be observed.
fn is_hung_up(terminal: impl std::os::fd::AsFd, should_wait: bool) -> bool {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        io::Errno,
    };
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    loop {
        // Without flags `poll` reports only the hang-up, which can't be masked.
        let mut watched = [PollFd::new(&terminal, PollFlags::empty())];
        match poll(&mut watched, if should_wait { None } else { Some(&now) }) {
            Err(Errno::INTR) => {}
            Err(_) => return false,
            Ok(count) => return count > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::BorrowedFd;

    use portable_pty::{PtySize, native_pty_system};

    use super::*;

    #[test]
    fn terminal_is_hung_up_after_its_other_end_is_closed() {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let tty = pair.master.tty_name().unwrap();
        let slave = std::fs::File::open(tty).unwrap();
        let terminal: BorrowedFd<'_> = std::os::fd::AsFd::as_fd(&slave);
        assert!(!is_hung_up(terminal, false));
        drop(pair.slave);
        drop(pair.master);
        assert!(is_hung_up(terminal, true));
    }
}
