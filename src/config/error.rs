//! Errors in the settings: each names the thing, the reason and the fix (`cases.md` 24, 55, 58).
//!
//! A message must never hold the integrator ID, nor text that may be the ID.

use std::{io, path::PathBuf};

use super::source::SettingSource;
use crate::domain::{secret::SecretError, team_address::AddressError};

/// The reason why the settings can't be loaded, or don't suffice for polling.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file or folder has no default path.
    #[error("no home folder, so {missing} has no default path; give {flag} PATH, or set {variable} or HOME")]
    NoHome {
        /// The file or folder.
        missing: &'static str,
        /// The flag that sets its path.
        flag: &'static str,
        /// The variable that sets its path.
        variable: &'static str,
    },
    /// A variable isn't UTF-8.
    #[error("{variable} is not UTF-8 text; set it to valid UTF-8")]
    NotText { variable: String },
    /// The config file can't be read.
    #[error("can't read the config file {} ({source_of_path}): {error}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        source_of_path: SettingSource,
        /// The reason why reading failed.
        error: io::Error,
    },
    /// The config file has an invalid entry.
    #[error("{}, line {line}: {reason}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error, and what to write instead.
        reason: String,
    },
    /// The profile is not in the config file.
    #[error("no profile `{name}` ({named_by}); {suggestion}known profiles: {known}")]
    Profile {
        /// The profile.
        name: String,
        /// The source of the profile's name.
        named_by: SettingSource,
        /// The nearest profile as a question, if one is near.
        suggestion: String,
        /// The profiles that exist.
        known: String,
    },
    /// The environment has several sources of the integrator ID.
    #[error("the environment has both HOPTOP_INTEGRATOR_ID and HOPTOP_INTEGRATOR_ID_FILE; keep one of them")]
    SeveralIdVariables,
    /// A section of the config file has several sources of one secret: the integrator ID, or a password.
    #[error("{file}: {section} has both {first} and {second}; keep one of them")]
    SeveralSecretSources {
        /// The profile, another section, or the top of the file.
        section: String,
        /// The config file.
        file: String,
        /// The first of the keys.
        first: &'static str,
        /// Another of the keys.
        second: &'static str,
    },
    /// A chain of the config file has no source of its node's address.
    #[error(
        "{file}: {section} has no node; give rpc = \"https://...\" or rpc = \"service\", or rpc_env, rpc_file or rpc_command"
    )]
    NoNodeAddress {
        /// The section in the config file.
        section: String,
        /// The config file.
        file: String,
    },
    /// The address of a chain's node can't be read.
    #[error("no address of the node of chain {chain} from {origin}: {reason}")]
    NodeAddress {
        chain: String,
        /// The source of the address.
        origin: String,
        reason: String,
    },
    /// The address of the team's store can't be used.
    #[error("{given_by}: {reason}")]
    Store {
        /// The source of the address.
        given_by: SettingSource,
        /// The reason, which holds no password.
        reason: AddressError,
    },
    /// Profiles that are shown together have different stores.
    #[error(
        "profiles that are shown together need the same store, but {first} has {first_store} and {second} has \
         {second_store}; give --store URL, or show them in separate dashboards"
    )]
    DifferentStores {
        /// The active profile.
        first: String,
        /// The store of the active profile.
        first_store: String,
        /// Another profile.
        second: String,
        /// The store of the other profile.
        second_store: String,
    },
    /// The requests per second are out of range.
    #[error("{value} is not a valid rate in requests per second ({given_by}); give a number above 0 and up to 1000")]
    Rps {
        /// The given value.
        value: String,
        given_by: SettingSource,
    },
    /// Polling is requested and there is no base URL.
    #[error(
        "no base URL: polling needs it; give --base-url URL, set HOPTOP_BASE_URL, or put base_url under \
         [profiles.{profile}] in {file}"
    )]
    NoBaseUrl {
        /// The active profile.
        profile: String,
        /// The config file.
        file: String,
    },
    /// Polling is requested and there is no integrator ID.
    #[error(
        "no integrator ID: polling needs it; set HOPTOP_INTEGRATOR_ID, or integrator_id_env, integrator_id_file or \
         integrator_id_command under [profiles.{profile}] in {file}"
    )]
    NoId {
        /// The active profile.
        profile: String,
        /// The config file.
        file: String,
    },
    /// `integrator_id_env` names a variable that is unset.
    #[error(
        "no integrator ID: {variable} is not set; set it, or change integrator_id_env under [profiles.{profile}] in {file}"
    )]
    UnsetId {
        variable: String,
        /// The active profile.
        profile: String,
        /// The config file.
        file: String,
    },
    /// The value can't be an integrator ID.
    #[error("the integrator ID from {origin} can't be used: {reason}")]
    BadId {
        /// The source of the value.
        origin: String,
        /// The reason why the value can't be an ID.
        reason: SecretError,
    },
    /// The secret that signs the webhook's events can't be read.
    #[error(
        "no webhook secret from {origin}: {reason}; correct webhook_secret_env, webhook_secret_file or webhook_secret_command"
    )]
    WebhookSecret {
        /// The variable, file or command.
        origin: String,
        /// The reason of the failure.
        reason: String,
    },
    /// The variable of a webhook's header is not set.
    #[error("webhook_headers: {variable} is not set, which holds the value of {header}; set it, or remove the header")]
    WebhookHeader { header: String, variable: String },
    /// The file with the integrator ID, or the command that prints it, failed.
    #[error("no integrator ID from {origin}: {reason}")]
    IdSource {
        /// The file or command.
        origin: String,
        /// The reason of the failure.
        reason: String,
    },
}
