//! The exit codes that scripts rely on (`commands.md`, Exit codes).
//!
//! A code must never get a second meaning.

use std::process::ExitCode;

/// The exit codes of the commands, and their meanings.
pub(crate) const MEANINGS: [(&str, &str); 8] = [
    ("0", "success; of a watch: all transactions ended in `success`"),
    ("1", "an error, with a message"),
    ("2", "wrong usage or a wrong setting, or nothing to watch"),
    ("3", "not settled at the timeout"),
    ("4", "settled, but something needs attention: anything but `success`"),
    ("5", "the service refuses the integrator ID"),
    ("6", "no usable answer: the service was unreachable or throttled"),
    ("129, 130, 143", "ended by the hang-up of the terminal, by ^C, by SIGTERM"),
];
/// The heading of the exit codes in the help.
pub(crate) const HEADING: &str = "Exit codes:";

/// Returns the exit codes for the help, one in a line.
pub(crate) fn help() -> String {
    let lines = MEANINGS.map(|(code, meaning)| format!("\n  {code:<13}  {meaning}"));
    format!("{HEADING}{}", lines.concat())
}

/// The way in which a command ended. The value is the process's exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command succeeded.
    Success = 0,
    /// The command failed and printed the reason.
    Error = 1,
    /// The arguments or the settings are invalid.
    Usage = 2,
    /// Not every watched transaction was settled at the timeout.
    NotSettled = 3,
    /// Every transaction is settled, but at least one has another status than `success`.
    NeedsAttention = 4,
    /// The service refuses the integrator ID.
    Unauthorized = 5,
    /// The service couldn't be reached, or throttled every request.
    Unreachable = 6,
    /// Ended by SIGINT.
    Interrupted = 130,
    /// Ended by SIGHUP, or because the terminal was closed.
    HungUp = 129,
    /// Ended by SIGTERM.
    Terminated = 143,
}

impl Exit {
    /// Returns the exit code of the process.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// A wrong use of the command line that clap can't see; the command ends with [`Exit::Usage`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_match_the_documented_ones() {
        use Exit::*;
        let all = [
            Success,
            Error,
            Usage,
            NotSettled,
            NeedsAttention,
            Unauthorized,
            Unreachable,
            HungUp,
            Interrupted,
            Terminated,
        ];
        assert_eq!(all.map(Exit::code), [0, 1, 2, 3, 4, 5, 6, 129, 130, 143]);
    }
}
