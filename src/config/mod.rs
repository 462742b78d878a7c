//! Settings: flags > environment > profile in the config file > defaults, into one checked value (`commands.md`).
//!
//! What is missing for polling is said only when polling is wanted. It must never let the integrator ID into a message,
//! a debug print or a file.

mod environment;
mod error;
mod file;
mod load;
mod secret;
mod settings;
mod source;
mod theme_choice;

pub use environment::Environment;
pub use error::ConfigError;
pub use load::load;
pub use settings::{Account, Alerting, Entry, Hidden, Polling, Settings};
pub use source::Source;
pub use theme_choice::ThemeChoice;

use std::path::PathBuf;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorChoice {
    /// Where the output is a terminal that has colours.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }
}

/// What the command line said; nothing of the environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flags {
    /// `--db PATH`.
    pub db: Option<PathBuf>,
    /// `--config PATH`.
    pub config: Option<PathBuf>,
    /// `--profile NAME`.
    pub profile: Option<String>,
    /// `--beside NAME`, each time it was said.
    pub beside: Vec<String>,
    /// `--base-url URL`.
    pub base_url: Option<String>,
    /// `--rps N`.
    pub rps: Option<f64>,
    /// `--state-dir PATH`.
    pub state_dir: Option<PathBuf>,
    /// `--color auto|always|never`.
    pub color: Option<ColorChoice>,
    /// `--ascii`.
    pub ascii: bool,
    /// `--plain`.
    pub plain: bool,
}
