//! The environment of the process: its variables, and the default folders of its files.
//!
//! All values that depend on the machine come from here, so that tests can replace them. It must never read a file.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use etcetera::{BaseStrategy, base_strategy::Xdg};

use super::{ColorChoice, error::ConfigError};

type VariableLookup = Box<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// The variables and the default folders of the process, or of a test.
pub struct Environment {
    lookup: VariableLookup,
    folders: Option<DefaultFolders>,
}

/// The default folders (XDG base directories).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DefaultFolders {
    /// The user's home folder.
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME/hoptop`.
    pub config: PathBuf,
    /// `$XDG_DATA_HOME/hoptop`.
    pub data: PathBuf,
    /// `$XDG_STATE_HOME/hoptop`.
    pub state: PathBuf,
}

impl fmt::Debug for Environment {
    /// Shows only the folders, because variables hold secrets.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Environment").field("folders", &self.folders).finish_non_exhaustive()
    }
}

impl Environment {
    /// Returns the environment of this process.
    pub fn process() -> Self {
        let xdg = Xdg::new().ok().filter(|xdg| xdg.home_dir().is_absolute());
        let folders = xdg.and_then(|xdg| {
            Some(DefaultFolders {
                home: xdg.home_dir().to_owned(),
                config: xdg.config_dir().join("hoptop"),
                data: xdg.data_dir().join("hoptop"),
                state: xdg.state_dir()?.join("hoptop"),
            })
        });
        Self { lookup: Box::new(|name| std::env::var_os(name)), folders }
    }

    /// Returns the state folder without settings: `HOPTOP_STATE_DIR`, or the default.
    pub(crate) fn state_dir(&self) -> Option<PathBuf> {
        self.path("HOPTOP_STATE_DIR").or_else(|| self.folders.as_ref().map(|folders| folders.state.clone()))
    }

    /// Creates an environment with these variables, and with the default folders below `home`, if given.
    pub fn fixed(variables: &[(&str, &str)], home: Option<&Path>) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), OsString::from(value));
        let variables: BTreeMap<String, OsString> = variables.iter().map(owned).collect();
        let folders = home.map(|home| DefaultFolders {
            home: home.to_owned(),
            config: home.join(".config/hoptop"),
            data: home.join(".local/share/hoptop"),
            state: home.join(".local/state/hoptop"),
        });
        Self { lookup: Box::new(move |name| variables.get(name).cloned()), folders }
    }

    /// Returns the default folders; `None` if the home folder is unknown.
    pub(super) fn folders(&self) -> Option<&DefaultFolders> {
        self.folders.as_ref()
    }

    /// Returns a variable as a path. An empty variable counts as unset.
    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        (self.lookup)(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// Returns a variable as text. An empty variable counts as unset.
    ///
    /// # Errors
    /// If the variable isn't UTF-8. The error doesn't repeat the value.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, ConfigError> {
        let value = (self.lookup)(name).filter(|value| !value.is_empty());
        value.map(OsString::into_string).transpose().map_err(|_| ConfigError::NotText { variable: name.into() })
    }

    /// Returns a variable that should hold the integrator ID. An empty variable counts as unset. Bytes that aren't
    /// UTF-8 are replaced, so that the value is not a valid ID and only polling fails.
    pub(super) fn secret(&self, name: &str) -> Option<String> {
        (self.lookup)(name).filter(|value| !value.is_empty()).map(|value| value.to_string_lossy().into_owned())
    }

    /// Returns what variables of all programs say about colour, and the variable (no-color.org, `CLICOLOR_FORCE`).
    pub(crate) fn color(&self) -> Option<(ColorChoice, &'static str)> {
        match self.path("NO_COLOR") {
            Some(_) => Some((ColorChoice::Never, "NO_COLOR")),
            None => self.is_on("CLICOLOR_FORCE").then_some((ColorChoice::Always, "CLICOLOR_FORCE")),
        }
    }

    /// Whether a variable that switches something on is set: neither empty nor `0`.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        (self.lookup)(name).is_some_and(|value| !value.is_empty() && value != "0")
    }

    /// Resolves a path of the config file in `folder`: `~/` is the home folder, and a relative path starts at `folder`.
    pub(super) fn resolve(&self, path: &Path, folder: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.folders) {
            (Ok(rest), Some(folders)) => folders.home.join(rest),
            _ => folder.join(path),
        }
    }
}
