//! Whether the terminal is gone. Not every hang-up comes with a signal, and a reader of events would spin for ever.
//!
//! It only looks: nothing is read or written here.

use std::thread;

use tokio::sync::oneshot;

/// Resolves when standard input's terminal is gone.
pub(super) fn listen() -> impl Future<Output = ()> {
    let (sender, gone) = oneshot::channel();
    let watch = move || {
        if is_gone(true) {
            // Nobody waits for it any more.
            sender.send(()).ok();
        }
    };
    // It is left behind when the program ends: there is no other way out of a wait for a terminal.
    let started = thread::Builder::new().name("hang-up".into()).spawn(watch);
    async move {
        if started.is_err() || gone.await.is_err() {
            std::future::pending().await
        }
    }
}

/// Whether standard input's terminal is gone; `wait` for that as long as it takes.
#[cfg(unix)]
pub(super) fn is_gone(wait: bool) -> bool {
    is_hung_up(std::io::stdin(), wait)
}

#[cfg(not(unix))]
pub(super) fn is_gone(_: bool) -> bool {
    false
}

#[cfg(unix)]
fn is_hung_up(terminal: impl std::os::fd::AsFd, wait: bool) -> bool {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        io::Errno,
    };
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    loop {
        // Without any flag only what can't be left out is reported: the hang-up.
        let mut watched = [PollFd::new(&terminal, PollFlags::empty())];
        match poll(&mut watched, if wait { None } else { Some(&now) }) {
            Err(Errno::INTR) => {}
            Err(_) => return false,
            Ok(count) => return count > 0,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::fd::BorrowedFd;

    use portable_pty::{PtySize, native_pty_system};

    use super::*;

    #[test]
    fn a_terminal_whose_other_end_is_closed_is_gone() {
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
