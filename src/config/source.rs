//! The source of a setting, as `hoptop config` and error messages name it.

use std::fmt;

/// The source of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingSource {
    Flag(&'static str),
    /// An environment variable.
    Variable(&'static str),
    /// A key of the config file.
    File(String),
    /// The default, if no other source has a value.
    Default,
}

impl fmt::Display for SettingSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => out.write_str(name),
            Self::File(key) => write!(out, "{key} in the config file"),
            Self::Default => out.write_str("default"),
        }
    }
}
