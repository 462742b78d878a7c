//! Settings: flags > environment > profile in the config file > defaults, as one checked value (`commands.md`).
//!
//! A setting that only polling needs may be missing until polling is requested. The integrator ID must never be part of
//! a message, a debug print or a file.

mod chain_nodes;
mod environment;
mod error;
mod file;
mod load;
mod rate;
mod secret;
mod settings;
mod source;
mod team_store;
mod theme_choice;

pub(crate) use chain_nodes::NodeReference;
pub use environment::Environment;
pub(crate) use error::ConfigError;
pub use load::load;
pub(crate) use load::load_without_file;
pub(crate) use rate::check_rps_flag;
pub(crate) use settings::{PollingSettings, ProfileConnection, SettingEntry, Settings};
pub(crate) use team_store::{StorePassword, TeamStore};
pub(crate) use theme_choice::ThemeChoice;

use std::path::PathBuf;

use crate::domain::named::named;

named! {
    /// When to use colour.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ColorChoice: name {
        /// If the output is a terminal with colours.
        #[default]
        Auto "auto",
        Always "always",
        Never "never",
    }
}

/// The values of the command line, without the environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandLineSettings {
    /// `--db PATH`.
    pub db: Option<PathBuf>,
    /// `--store URL`.
    pub store: Option<String>,
    /// `--config PATH`.
    pub config: Option<PathBuf>,
    /// `--profile NAME`.
    pub profile: Option<String>,
    /// `--beside NAME`, once for each time that the flag is given.
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
    pub is_ascii: bool,
    /// `--plain`.
    pub is_plain: bool,
    /// Whether the command doesn't poll, so that invalid settings of polling don't matter.
    pub ignores_polling_settings: bool,
}
