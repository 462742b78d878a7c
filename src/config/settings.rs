//! The checked value itself, where each part came from, and what polling needs beyond it.
//!
//! It must never ask for the integrator ID before polling needs it: a command that prints it may take a while.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use super::{
    ColorChoice, ThemeChoice,
    error::ConfigError,
    secret::{COMMAND_LIMIT, IdSource},
    source::Source,
};
use crate::domain::{answer::Templates, secret::IntegratorId};

/// A setting for people: `hoptop config` prints these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Its value; empty if it has none.
    pub value: String,
    /// Where it came from.
    pub source: Source,
}

/// Every setting, checked. `Debug` shows no secret.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The store.
    pub db: PathBuf,
    /// The config file, whether it is there or not; nothing if nobody knows where home is.
    pub config_file: Option<PathBuf>,
    /// Log, budget, view state and crash reports.
    pub state_dir: PathBuf,
    /// The profile in use.
    pub profile: String,
    /// The base URL as it was given, not checked yet.
    pub base_url: Option<String>,
    /// Requests per second: above 0, at most 1000.
    pub rps: f64,
    /// When to use colour, `NO_COLOR` and `CLICOLOR_FORCE` included.
    pub color: ColorChoice,
    /// ASCII only.
    pub ascii: bool,
    /// For screen readers: no drawing, plain lines.
    pub plain: bool,
    /// How the dashboard looks, not checked yet.
    pub theme: ThemeChoice,
    /// Whether links on the screen are links to the terminal too.
    pub hyperlinks: bool,
    /// The command that takes a text for the clipboard on its standard input, if the person prefers one.
    pub clipboard: Option<Vec<String>>,
    /// Whether the dashboard listens to the mouse.
    pub mouse: bool,
    /// How alerts reach somebody.
    pub alerting: Alerting,
    /// The variables that the config file's profiles read an integrator ID from: no program may see them.
    pub id_variables: Vec<String>,
    /// How long bodies of settled transactions are kept; `None` for good.
    pub keep_bodies: Option<Duration>,
    /// Templates for the reply to a ticket.
    pub answer: Templates,
    /// How much more a delay costs for transactions with these labels.
    pub weights: BTreeMap<String, f64>,
    /// Keys of the dashboard by the names of their commands, as they were given: not checked yet.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Each setting and where it came from, but for the integrator ID.
    pub entries: Vec<Entry>,
    /// The profiles that the dashboard polls beside that, by what the config file says of them.
    pub beside: Vec<Account>,
    pub(super) id: Option<IdSource>,
}

/// A base URL, an integrator ID by reference, and its limit. `Debug` shows no secret.
#[derive(Clone, Debug)]
pub struct Account {
    /// The profile.
    pub profile: String,
    pub(super) base_url: Option<String>,
    pub(super) rps: f64,
    pub(super) id: Option<IdSource>,
    pub(super) config_file: Option<PathBuf>,
}

/// How alerts reach somebody who doesn't look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alerting {
    /// How the dashboard asks the terminal: `auto`, `off`, `osc9`, `osc777` or `osc99`.
    pub notify: &'static str,
    /// Whether the bell rings then.
    pub bell: bool,
    /// The command that gets each alert on its standard input, if there is one.
    pub command: Option<Vec<String>>,
    /// The address that each alert is posted to, if there is one; not checked yet.
    pub webhook: Option<Hidden>,
}

/// A text that may hold a secret. `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(pub String);

impl fmt::Debug for Hidden {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Hidden(...)")
    }
}

/// What polling needs.
#[derive(Clone, Debug)]
pub struct Polling {
    /// The base URL as it was given, not checked yet.
    pub base_url: String,
    /// The integrator ID.
    pub id: IntegratorId,
    /// Requests per second.
    pub rps: f64,
    /// What a person should be warned of.
    pub warnings: Vec<String>,
}

impl Settings {
    /// The integrator ID. This may run the profile's command, for up to 10 s.
    ///
    /// # Errors
    /// If there is none, or what there is can't be one.
    pub fn integrator_id(&self) -> Result<IntegratorId, ConfigError> {
        self.account().read_id().map(|(id, _)| id)
    }

    /// Where the integrator ID comes from, in words; nothing if no source is set.
    pub fn id_source(&self) -> Option<String> {
        self.id.as_ref().map(ToString::to_string)
    }

    /// What polling needs.
    ///
    /// # Errors
    /// If there is no base URL or no integrator ID.
    pub fn polling(&self) -> Result<Polling, ConfigError> {
        self.account().polling()
    }

    fn account(&self) -> Account {
        Account {
            profile: self.profile.clone(),
            base_url: self.base_url.clone(),
            rps: self.rps,
            id: self.id.clone(),
            config_file: self.config_file.clone(),
        }
    }
}

impl Account {
    /// What polling needs.
    ///
    /// # Errors
    /// If there is no base URL or no integrator ID.
    pub fn polling(&self) -> Result<Polling, ConfigError> {
        let missing = || ConfigError::NoBaseUrl { profile: self.profile.clone(), file: self.file_name() };
        let base_url = self.base_url.clone().ok_or_else(missing)?;
        let (id, warnings) = self.read_id()?;
        Ok(Polling { base_url, id, rps: self.rps, warnings })
    }

    fn read_id(&self) -> Result<(IntegratorId, Vec<String>), ConfigError> {
        let (profile, file) = (self.profile.clone(), self.file_name());
        match &self.id {
            None => Err(ConfigError::NoId { profile, file }),
            Some(IdSource::Unset { name }) => Err(ConfigError::UnsetId { variable: name.clone(), profile, file }),
            Some(source) => source.read(COMMAND_LIMIT),
        }
    }

    fn file_name(&self) -> String {
        self.config_file.as_ref().map_or_else(|| "the config file".into(), |path| path.display().to_string())
    }
}
