//! What can be wrong with the settings: the thing, the reason and the way out (`cases.md` 24, 55, 58).
//!
//! No message holds the integrator ID or any text that might be it.

use std::{io, path::PathBuf};

use super::source::Source;
use crate::domain::secret::SecretError;

/// Why there are no settings, or not enough of them.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file or folder has no default place.
    #[error("no home folder, so {what} has no default place; give {flag} PATH, or set {variable} or HOME")]
    NoHome {
        /// What has no place.
        what: &'static str,
        /// The flag that gives it one.
        flag: &'static str,
        /// The variable that does.
        variable: &'static str,
    },
    /// A variable isn't UTF-8.
    #[error("{variable} is not UTF-8 text; set it anew")]
    NotText {
        /// The variable.
        variable: String,
    },
    /// The config file can't be read.
    #[error("the config file {} ({source_of_path}) can't be read: {error}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What named it.
        source_of_path: Source,
        /// Why not.
        error: io::Error,
    },
    /// The config file says something that it can't say.
    #[error("{}, line {line}: {reason}", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// The profile is not in the config file.
    #[error("no profile `{name}` ({named_by}); known: {known}")]
    Profile {
        /// The profile.
        name: String,
        /// What named it.
        named_by: Source,
        /// Those that there are.
        known: String,
    },
    /// The requests per second are out of range.
    #[error("{value} requests per second ({given_by}) won't do; give a number above 0 and up to 1000")]
    Rps {
        /// What came.
        value: String,
        /// From where.
        given_by: Source,
    },
    /// Polling is wanted and there is no base URL.
    #[error(
        "no base URL: polling needs it; give --base-url URL, set HOPTOP_BASE_URL, or put base_url under \
         [profiles.{profile}] in {file}"
    )]
    NoBaseUrl {
        /// The profile in use.
        profile: String,
        /// The config file.
        file: String,
    },
    /// Polling is wanted and there is no integrator ID.
    #[error(
        "no integrator ID: polling needs it; set HOPTOP_INTEGRATOR_ID, or integrator_id_env, integrator_id_file or \
         integrator_id_command under [profiles.{profile}] in {file}"
    )]
    NoId {
        /// The profile in use.
        profile: String,
        /// The config file.
        file: String,
    },
    /// `integrator_id_env` names a variable that is unset.
    #[error("no integrator ID: {variable} is not set; integrator_id_env under [profiles.{profile}] in {file} names it")]
    UnsetId {
        /// The variable.
        variable: String,
        /// The profile in use.
        profile: String,
        /// The config file.
        file: String,
    },
    /// What came can't be an integrator ID.
    #[error("the integrator ID from {origin} can't be used: {reason}")]
    BadId {
        /// Where it came from.
        origin: String,
        /// Why not.
        reason: SecretError,
    },
    /// The file with the integrator ID, or the command that prints it, failed.
    #[error("no integrator ID from {origin}: {reason}")]
    IdSource {
        /// Where it should have come from.
        origin: String,
        /// Why it didn't.
        reason: String,
    },
}
