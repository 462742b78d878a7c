//! Prints errors and warnings on standard error, one line each, and handles readers that are gone.
//!
//! A line that holds text from outside must be cleaned before it is printed.

use std::{
    error::Error,
    io::{self, Write},
};

use color_eyre::eyre::Report;

use crate::{
    api::BaseUrlError,
    config::ConfigError,
    domain::text,
    notify::webhook::WebhookError,
    tui::{keys::KeyError, theme::ThemeError},
};

/// Returns an error and its causes as one line. A cause that is already part of the line is left out.
pub(crate) fn error_line(report: &Report) -> String {
    report.chain().map(|cause| text::clean(&cause.to_string())).fold(String::new(), |line, cause| match line.as_str() {
        "" => cause,
        line if line.contains(&cause) => line.to_owned(),
        line => format!("{line}: {cause}"),
    })
}

/// Prints one line on standard error. If standard error is closed, the line is lost.
pub(crate) fn print_line(line: &str) {
    writeln!(io::stderr(), "hoptop: {line}").ok();
}

/// Prints one short line on standard error past the lock of its handle, which another thread may hold for long. The
/// line is lost if the write would have to wait.
pub(crate) fn print_at_once(line: &str) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let line = format!("hoptop: {line}\n");
    let stderr = io::stderr();
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut watched = [PollFd::new(&stderr, PollFlags::OUT)];
    if poll(&mut watched, Some(&now)).is_ok() && watched.iter().all(|watched| watched.revents() == PollFlags::OUT) {
        rustix::io::write(&stderr, line.as_bytes()).ok();
    }
}

/// Standard output for the results of a command. An error names standard output, and says whether changes are stored.
pub(crate) struct ResultOutput<W> {
    pub(crate) output: W,
    /// Whether the command changes the store. Its changes are stored before they are printed.
    pub(crate) changes_store: bool,
}

impl<W: Write> Write for ResultOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes).map_err(|error| describe_output_error(error, self.changes_store))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush().map_err(|error| describe_output_error(error, self.changes_store))
    }
}

fn describe_output_error(error: io::Error, changes_store: bool) -> io::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => error,
        kind => {
            let stored = if changes_store { "; the changes of the command are stored" } else { "" };
            io::Error::new(kind, format!("standard output can't be written: {error}{stored}"))
        }
    }
}

/// A stream whose reader may go away: what is written afterwards is lost without an error, so that a closed pipe doesn't
/// change how a command ends.
pub(crate) struct IgnoreClosedPipe<W>(pub(crate) W);

impl<W: Write> Write for IgnoreClosedPipe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        ignore_closed_pipe(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        ignore_closed_pipe(self.0.flush(), ())
    }
}

fn ignore_closed_pipe<T>(written: io::Result<T>, value: T) -> io::Result<T> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(value),
        written => written,
    }
}

/// Whether an invalid setting caused the error.
pub(crate) fn is_wrong_setting(report: &Report) -> bool {
    let wrong = |cause: &(dyn Error + 'static)| {
        cause.is::<ConfigError>()
            || cause.is::<BaseUrlError>()
            || cause.is::<WebhookError>()
            || cause.is::<ThemeError>()
            || cause.is::<KeyError>()
    };
    report.chain().any(wrong)
}

/// Whether a closed pipe caused the error.
pub(crate) fn is_closed_pipe(report: &Report) -> bool {
    let closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    report.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(closed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_cannot_be_written_is_named_and_a_closed_pipe_stays_one() {
        let written = |error: i32, changes| {
            let error = describe_output_error(io::Error::from_raw_os_error(error), changes);
            (error.kind(), error.to_string())
        };
        let full = rustix::io::Errno::NOSPC.raw_os_error();
        let (kind, text) = written(full, true);
        assert_eq!(kind, io::ErrorKind::StorageFull);
        assert!(text.starts_with("standard output can't be written: ") && text.ends_with("are stored"), "{text}");
        assert!(!written(full, false).1.contains("stored"));
        assert_eq!(written(rustix::io::Errno::PIPE.raw_os_error(), true).0, io::ErrorKind::BrokenPipe);
    }
}
