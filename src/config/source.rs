//! Where a setting came from, as `hoptop config` and error messages name it.

use std::fmt;

/// Where a setting came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A flag.
    Flag(&'static str),
    /// An environment variable.
    Variable(&'static str),
    /// A key of the config file.
    File(String),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => out.write_str(name),
            Self::File(key) => write!(out, "{key} in the config file"),
            Self::Default => out.write_str("default"),
        }
    }
}
