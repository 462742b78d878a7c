//! The checked settings, the source of each setting, and the values that only polling needs.
//!
//! The integrator ID must never be read before polling needs it: a command that prints the ID may be slow.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use super::{
    ColorChoice, ThemeChoice,
    chain_nodes::NodeReference,
    error::ConfigError,
    secret::{SecretText, read_id},
    source::SettingSource,
    team_store::TeamStore,
};
use crate::{
    domain::{
        notification::{NotificationMode, NotifiedEvent},
        reply::ReplyTemplates,
        secret::IntegratorId,
        team_address::TeamAddress,
        text::clean,
    },
    process::{
        files,
        secret_source::{COMMAND_LIMIT, SecretSource, variable_name},
    },
};

/// A setting as `hoptop config` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingEntry {
    /// The name of the setting.
    pub name: &'static str,
    /// The value of the setting; empty if unset.
    pub value: String,
    /// The source of the value.
    pub source: SettingSource,
}

/// All settings, checked. `Debug` shows no secret.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The path of the store. With a team's store, the path of the replica.
    pub db: PathBuf,
    /// The team's store, if configured.
    pub store: Option<TeamStore>,
    /// This machine's place in the order in which machines take over polling: 0 to 9, the lowest polls first. `None`
    /// means that the kind of the process decides.
    pub team_rank: Option<u8>,
    /// Whether the replica is light: it leaves the bodies of answers in the team's database.
    pub is_light: bool,
    /// The path of the config file, which may not exist; `None` if the home folder is unknown.
    pub config_file: Option<PathBuf>,
    /// The folder of the log, the budget, the view state and crash reports.
    pub state_dir: PathBuf,
    /// The active profile.
    pub profile: String,
    /// The name of the person, the author of this process's writes; `None` if not set.
    pub author: Option<String>,
    /// The base URL as given, not checked yet.
    pub base_url: Option<String>,
    /// The limit in requests per second: above 0, at most 1000.
    pub rps: f64,
    /// When to use colour, with `NO_COLOR` and `CLICOLOR_FORCE` applied.
    pub color: ColorChoice,
    /// Whether to draw with ASCII characters only.
    pub is_ascii: bool,
    /// Whether to print plain lines for screen readers instead of drawing.
    pub is_plain: bool,
    /// The theme of the dashboard, not checked yet.
    pub theme: ThemeChoice,
    /// Whether links on the screen are terminal hyperlinks as well.
    pub has_hyperlinks: bool,
    /// The command that reads a text from its standard input and copies it to the clipboard, if configured.
    pub clipboard: Option<Vec<String>>,
    /// Whether the dashboard responds to the mouse.
    pub has_mouse: bool,
    /// How alerts are notified.
    pub alerting: Alerting,
    /// The variables from which hoptop reads an integrator ID or a password, besides `HOPTOP_INTEGRATOR_ID`. A child
    /// process must never see them.
    pub secret_variables: Vec<String>,
    /// How long bodies of settled transactions are kept; `None` means for ever.
    pub keep_bodies: Option<Duration>,
    /// The nodes of the chains that hoptop may ask.
    pub chain_nodes: Vec<NodeReference>,
    /// Templates for the reply to a ticket.
    pub answer: ReplyTemplates,
    /// The weight of a delay for transactions with these labels.
    pub weights: BTreeMap<String, f64>,
    /// Keys of the dashboard, by the names of their commands, not checked yet.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Each setting and its source, except the integrator ID.
    pub entries: Vec<SettingEntry>,
    /// The profiles that the dashboard or `watch` polls in addition to the active profile.
    pub beside: Vec<ProfileConnection>,
    pub(super) id: Option<SecretSource>,
}

/// A base URL, an integrator ID by reference, and the limit of the ID. `Debug` shows no secret.
#[derive(Clone, Debug)]
pub struct ProfileConnection {
    /// The name of the profile.
    pub profile: String,
    pub(super) base_url: Option<String>,
    pub(super) rps: f64,
    pub(super) id: Option<SecretSource>,
    pub(super) config_file: Option<PathBuf>,
    /// The profile's store, and the source of its address; `None` for the store of this machine.
    pub(super) store: Option<(TeamAddress, SettingSource)>,
}

/// The notification channels for alerts.
#[derive(Clone, Debug)]
pub struct Alerting {
    /// How the dashboard asks the terminal to notify.
    pub notify: NotificationMode,
    /// Whether the bell rings with a notification.
    pub has_bell: bool,
    /// The command that receives each event on its standard input, if configured.
    pub command: Option<Vec<String>>,
    /// The events that the command and the webhook receive.
    pub events: Vec<NotifiedEvent>,
    /// The address that each event is posted to, if configured; not checked yet.
    pub webhook: Option<SecretText>,
    /// The source of the secret that signs the webhook's events, if configured.
    pub webhook_secret: Option<SecretSource>,
    /// Headers of the webhook's requests: the name, the variable, and its value if it is set.
    pub webhook_headers: Vec<(String, String, Option<SecretText>)>,
}

impl Alerting {
    /// Reads the secret that signs the webhook's events; `None` if the settings name none. This may run a command.
    ///
    /// # Errors
    /// If the source can't be read, or is empty.
    pub fn read_webhook_secret(&self) -> Result<Option<SecretText>, ConfigError> {
        let Some(source) = &self.webhook_secret else { return Ok(None) };
        let failed = |reason: String| ConfigError::WebhookSecret { origin: source.to_string(), reason };
        source.read_trimmed().map(|secret| Some(SecretText(secret))).map_err(failed)
    }

    /// Returns the names and values of the headers of the webhook's requests.
    ///
    /// # Errors
    /// If a variable is not set.
    pub fn webhook_headers(&self) -> Result<Vec<(&str, &SecretText)>, ConfigError> {
        let headers = self.webhook_headers.iter().map(|(name, variable, value)| match value {
            Some(value) => Ok((name.as_str(), value)),
            None => {
                Err(ConfigError::WebhookHeader { header: clean(name), variable: variable_name(variable).to_owned() })
            }
        });
        headers.collect()
    }
}

/// The values that polling needs.
#[derive(Clone, Debug)]
pub struct PollingSettings {
    /// The base URL as given, not checked yet.
    pub base_url: String,
    /// The integrator ID.
    pub id: IntegratorId,
    /// The limit in requests per second.
    pub rps: f64,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

impl Settings {
    /// Reads the integrator ID, and a warning about its source. This may run the profile's command, for up to 10 s.
    ///
    /// # Errors
    /// If there is no source, or its value can't be an ID.
    pub fn integrator_id(&self) -> Result<(IntegratorId, Option<String>), ConfigError> {
        self.connection().read_id()
    }

    /// Returns a description of the integrator ID's source; `None` if there is no source.
    pub fn id_source(&self) -> Option<String> {
        self.id.as_ref().map(ToString::to_string)
    }

    /// Returns the values that polling needs. This reads the integrator ID.
    ///
    /// # Errors
    /// If there is no base URL or no integrator ID.
    pub fn polling(&self) -> Result<PollingSettings, ConfigError> {
        let mut polling = self.connection().polling()?;
        polling.warnings.extend(self.config_warning());
        Ok(polling)
    }

    /// Returns a warning if other users of this machine can change the config file, or read a secret in it.
    pub(crate) fn config_warning(&self) -> Option<String> {
        let path = self.config_file.as_ref()?;
        let metadata = path.metadata().ok()?;
        let path = path.display();
        if files::others_can_write(&metadata) {
            return Some(format!(
                "other users of this machine can change {path}, which names commands that hoptop runs; run: chmod go-w {path}"
            ));
        }
        // The address is a secret: it permits posts to the webhook, or use of the node's key.
        let secret = match self.chain_nodes.iter().any(|node| node.inline_address().is_some()) {
            _ if self.alerting.webhook.is_some() => Some("a webhook"),
            true => Some("a node"),
            false => None,
        };
        secret.filter(|_| files::others_can_read(&metadata)).map(|secret| {
            format!("{path} contains the address of {secret} and other users of this machine can read it; run: chmod 600 {path}")
        })
    }

    /// Checks that all profiles of the dashboard have the same store.
    ///
    /// # Errors
    /// If a profile in addition to the active one has another store.
    pub fn check_same_store(&self) -> Result<(), ConfigError> {
        let own = self.connection();
        let address = |connection: &ProfileConnection| connection.store.as_ref().map(|(address, _)| address.clone());
        match self.beside.iter().find(|other| address(other) != address(&own)) {
            None => Ok(()),
            Some(other) => Err(ConfigError::DifferentStores {
                first: clean(&own.profile),
                first_store: own.store_name(),
                second: clean(&other.profile),
                second_store: other.store_name(),
            }),
        }
    }

    /// Returns the names of the profiles that are polled together, the active profile first.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.profile.as_str()).chain(self.beside.iter().map(|connection| connection.profile.as_str()))
    }

    fn connection(&self) -> ProfileConnection {
        ProfileConnection {
            profile: self.profile.clone(),
            base_url: self.base_url.clone(),
            rps: self.rps,
            id: self.id.clone(),
            config_file: self.config_file.clone(),
            store: self.store.as_ref().map(|store| (store.address.clone(), store.source.clone())),
        }
    }
}

impl ProfileConnection {
    /// Returns the values that polling needs. This reads the integrator ID.
    ///
    /// # Errors
    /// If there is no base URL or no integrator ID.
    pub fn polling(&self) -> Result<PollingSettings, ConfigError> {
        let missing = || ConfigError::NoBaseUrl { profile: self.profile.clone(), file: self.file_name() };
        let base_url = self.base_url.clone().ok_or_else(missing)?;
        let (id, warning) = self.read_id()?;
        Ok(PollingSettings { base_url, id, rps: self.rps, warnings: warning.into_iter().collect() })
    }

    fn read_id(&self) -> Result<(IntegratorId, Option<String>), ConfigError> {
        let (profile, file) = (self.profile.clone(), self.file_name());
        match &self.id {
            None => Err(ConfigError::NoId { profile, file }),
            Some(source @ SecretSource::Unset { .. }) => {
                Err(ConfigError::UnsetId { variable: source.to_string(), profile, file })
            }
            Some(source) => read_id(source, COMMAND_LIMIT),
        }
    }

    /// Returns the store as messages name it.
    fn store_name(&self) -> String {
        match &self.store {
            Some((address, source)) => format!("{address} ({source})"),
            None => "no store in a team".into(),
        }
    }

    fn file_name(&self) -> String {
        self.config_file.as_ref().map_or_else(|| "the config file".into(), |path| path.display().to_string())
    }
}
