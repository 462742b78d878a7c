//! The exit codes that scripts rely on (`commands.md`, Exit codes).
//!
//! It must never give a code a second meaning.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All is well.
    Fine = 0,
    /// Something went wrong, and was said.
    Error = 1,
    /// The arguments can't be understood.
    Usage = 2,
    /// Not settled at the timeout.
    NotSettled = 3,
    /// Settled, but something needs attention: anything but `success`.
    NeedsAttention = 4,
    /// The service refuses the integrator ID.
    Unauthorized = 5,
    /// The service can't be reached, or throttled throughout.
    Unreachable = 6,
    /// Ended by SIGINT.
    Interrupted = 130,
    /// Ended by a hang-up of the terminal.
    HungUp = 129,
    /// Ended by SIGTERM.
    Terminated = 143,
}

impl Exit {
    /// The number that the process ends with.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_those_of_the_contract() {
        use Exit::*;
        let all = [Fine, Error, Usage, NotSettled, NeedsAttention, Unauthorized, Unreachable, Interrupted, Terminated];
        assert_eq!(all.map(Exit::code), [0, 1, 2, 3, 4, 5, 6, 130, 143]);
    }
}
