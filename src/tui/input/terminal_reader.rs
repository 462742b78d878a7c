//! Reads the terminal's bytes and the changes of its size.
//!
//! crossterm's reader can't be used: it waits forever for the end of an incomplete sequence. It loses a part of input
//! that arrives together, and spins once the terminal is gone. This reader must never wait without a limit while input
//! is incomplete.

use std::{
    io::{self, Read, Stdin},
    os::unix::net::UnixStream,
    time::Duration,
};

use crossterm::{event::Event, terminal};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::Signal,
};
use signal_hook::low_level::pipe;

use super::{
    event::event_of,
    framer::{InputFrame, InputFramer},
};
use crate::clock::Clock;

/// The most bytes of one read: as many as the kernel keeps of a terminal's input.
const READ_SIZE: usize = 4096;
/// The time to wait for further events of the same batch.
const GATHERING: Duration = Duration::from_micros(100);

/// The terminal's input.
pub(super) struct TerminalReader {
    terminal: Stdin,
    /// Has a byte for each change of the terminal's size.
    resizes: UnixStream,
    framer: InputFramer,
    clock: Clock,
}

impl TerminalReader {
    pub(super) fn new(clock: Clock) -> io::Result<Self> {
        let (resizes, sender) = UnixStream::pair()?;
        resizes.set_nonblocking(true)?;
        pipe::register(Signal::WINCH.as_raw(), sender)?;
        Ok(Self { terminal: io::stdin(), resizes, framer: InputFramer::default(), clock })
    }

    /// Waits for an event, and returns it with those that arrived together with it, up to `most` and those of one read.
    /// Fails at the end of the input.
    pub(super) fn read_batch(&mut self, most: usize) -> io::Result<Vec<Event>> {
        let mut batch = Vec::new();
        while batch.len() < most {
            let now = self.clock.now().mono;
            let deadline = self.framer.deadline().map(|deadline| deadline.since(now));
            let gathering = (!batch.is_empty()).then_some(GATHERING);
            let [has_bytes, has_resize] = self.wait(deadline.into_iter().chain(gathering).min())?;
            let mut add = |frame: InputFrame| batch.extend(event_of(frame));
            if has_bytes {
                let mut bytes = [0; READ_SIZE];
                let count = match rustix::io::read(&self.terminal, &mut bytes) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Err(Errno::INTR | Errno::AGAIN) => 0,
                    read => read?,
                };
                self.framer.push(bytes.get(..count).unwrap_or_default(), self.clock.now().mono, &mut add);
            } else {
                self.framer.expire(self.clock.now().mono, &mut add);
            }
            if has_resize {
                self.drop_resizes();
                let (columns, rows) = terminal::size()?;
                batch.push(Event::Resize(columns, rows));
            }
            if gathering.is_some() && !has_bytes && !has_resize {
                break;
            }
        }
        Ok(batch)
    }

    /// Waits for bytes or a new size, at most for `limit`. Returns whether there are bytes, and a new size.
    fn wait(&self, limit: Option<Duration>) -> io::Result<[bool; 2]> {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut watched = [PollFd::new(&self.terminal, PollFlags::IN), PollFd::new(&self.resizes, PollFlags::IN)];
        match poll(&mut watched, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // A hang-up counts as bytes: the read then fails.
        Ok(watched.map(|watched| !watched.revents().is_empty()))
    }

    /// Takes all changes of the size at once: only the present size counts.
    fn drop_resizes(&mut self) {
        let mut bytes = [0; READ_SIZE];
        while matches!(self.resizes.read(&mut bytes), Ok(1..)) {}
    }
}
