//! The environment that the choice of clipboard, browser and notifications depends on.
//!
//! Functions stand in for the process: tests pass their own. This module must never choose.

use std::ffi::OsString;

/// The parts of the environment that decide about clipboard, browser and notifications.
pub(crate) struct TerminalEnvironment<'a> {
    /// Returns a variable of the process.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// Whether a program is installed.
    pub has_program: &'a dyn Fn(&str) -> bool,
}

impl TerminalEnvironment<'_> {
    /// Whether any of these variables is set and not empty.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| (self.variable)(name).is_some_and(|value| !value.is_empty()))
    }

    /// Whether this variable has one of these values.
    pub(super) fn is(&self, name: &str, values: &[&str]) -> bool {
        (self.variable)(name).is_some_and(|own| values.iter().any(|value| own == *value))
    }
}
