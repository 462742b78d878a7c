//! The keys for secrets in the config file, and the reading of the integrator ID from its source (`DESIGN.md`, Secrets).
//!
//! A value that was read must never be part of a message or a debug print.

use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    environment::Environment,
    error::ConfigError,
    file::{Argv, ChainNode, ConfigFile, ProfileEntry},
};
use crate::{domain::secret::IntegratorId, process::secret_source::SecretSource};

/// A text that may hold a secret. `Debug` doesn't show the text.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(pub String);

impl fmt::Debug for SecretText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Hidden(...)")
    }
}

/// The keys for a secret in one section of the config file. At most one of them may have a value.
pub(super) struct SecretKeys<'a> {
    /// The names of the keys for a variable, a file and a command.
    names: [&'static str; 3],
    variable: Option<&'a String>,
    file: Option<&'a PathBuf>,
    command: Option<&'a Argv>,
}

/// Builds the keys from the fields of one section, which have the names of the keys.
macro_rules! keys {
    ($section:ident: $variable:ident $file:ident $command:ident) => {
        Self {
            names: [stringify!($variable), stringify!($file), stringify!($command)],
            variable: $section.$variable.as_ref(),
            file: $section.$file.as_ref(),
            command: $section.$command.as_ref(),
        }
    };
}

impl<'a> SecretKeys<'a> {
    /// Returns the keys for the integrator ID of a profile.
    pub(super) fn of_integrator_id(profile: &'a ProfileEntry) -> Self {
        keys!(profile: integrator_id_env integrator_id_file integrator_id_command)
    }

    /// Returns the keys for the store's password in a profile.
    pub(super) fn of_profile(profile: &'a ProfileEntry) -> Self {
        keys!(profile: store_password_env store_password_file store_password_command)
    }

    /// Returns the keys at the top of the config file, which apply to all profiles.
    pub(super) fn of_file(file: &'a ConfigFile) -> Self {
        keys!(file: store_password_env store_password_file store_password_command)
    }

    /// Returns the keys for the secret of the webhook's signature.
    pub(super) fn of_webhook(file: &'a ConfigFile) -> Self {
        keys!(file: webhook_secret_env webhook_secret_file webhook_secret_command)
    }

    /// Returns the keys for the address of a chain's node.
    pub(super) fn of_chain(node: &'a ChainNode) -> Self {
        keys!(node: rpc_env rpc_file rpc_command)
    }

    /// Refuses several keys: choosing one of them could use the wrong secret.
    pub(super) fn check(&self, section: &str, file: String) -> Result<(), ConfigError> {
        let values = [self.variable.is_some(), self.file.is_some(), self.command.is_some()];
        let mut present = self.names.into_iter().zip(values).filter(|(_, is_present)| *is_present).map(|(key, _)| key);
        match (present.next(), present.next()) {
            (Some(first), Some(second)) => {
                Err(ConfigError::SeveralSecretSources { section: section.to_owned(), file, first, second })
            }
            _ => Ok(()),
        }
    }

    /// Returns the name of the key that has a value, and the source that it names. `resolve` completes a path.
    pub(super) fn source(
        &self,
        env: &Environment,
        resolve: impl Fn(&Path) -> PathBuf,
    ) -> Option<(SecretSource, &'static str)> {
        let [of_variable, of_file, of_command] = self.names;
        let variable = |name: &String| match env.secret(name) {
            Some(value) => SecretSource::Variable { name: name.clone(), value },
            None => SecretSource::Unset { name: name.clone() },
        };
        self.variable
            .map(|name| (variable(name), of_variable))
            .or_else(|| self.file.map(|path| (SecretSource::File(resolve(path)), of_file)))
            .or_else(|| self.command.map(|argv| (SecretSource::Command(argv.0.clone()), of_command)))
    }
}

/// Returns the source of a secret as text for people.
pub(super) fn describe_secret(source: &SecretSource) -> String {
    match source {
        SecretSource::Unset { .. } => format!("{source}, which is not set"),
        SecretSource::Variable { .. } | SecretSource::File(_) | SecretSource::Command(_) => source.to_string(),
    }
}

/// Reads the ID. Also returns a warning if other users can read its file. A command may take up to `limit`.
///
/// # Errors
/// If the source can't be read, or its value can't be an ID.
pub(super) fn read_id(source: &SecretSource, limit: Duration) -> Result<(IntegratorId, Option<String>), ConfigError> {
    let fails = |reason| ConfigError::IdSource { origin: source.to_string(), reason };
    let (text, warning) = source.read(limit).map_err(fails)?;
    let bad = |reason| ConfigError::BadId { origin: source.to_string(), reason };
    Ok((IntegratorId::new(&text).map_err(bad)?, warning))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;
    use crate::process::secret_source::COMMAND_LIMIT;

    const CANARY: &str = "canary-integrator-7f3a";

    fn shell(script: &str) -> SecretSource {
        SecretSource::Command(vec!["sh".into(), "-c".into(), script.into()])
    }

    fn error(source: &SecretSource, limit: Duration) -> String {
        let error = read_id(source, limit).unwrap_err();
        let message = format!("{error} {error:?} {source:?}");
        assert!(!message.contains("canary"), "{message}");
        error.to_string()
    }

    #[test]
    fn reads_the_id_from_a_command() {
        let (id, warning) = read_id(&shell(&format!("echo {CANARY}")), COMMAND_LIMIT).unwrap();
        assert_eq!((id.expose(), warning), (CANARY, None));
    }

    #[test]
    fn failed_command_is_described_without_its_output() {
        let table = [
            (
                format!("echo {CANARY}; echo {CANARY} >&2; exit 3"),
                "no integrator ID from the command `sh`: it failed: exit status: 3",
            ),
            ("true".into(), "the integrator ID from the command `sh` can't be used: it is empty"),
            (format!("echo {CANARY}; echo {CANARY}"), "it contains a space, a line break"),
            ("head -c 9000 /dev/zero".into(), "more than 4096 bytes"),
            ("printf 'canary\\377'".into(), "not valid UTF-8"),
        ];
        for (script, part) in table {
            let message = error(&shell(&script), COMMAND_LIMIT);
            assert!(message.contains(part), "{script}: {message}");
        }
        let missing = SecretSource::Command(vec!["/nowhere/at-all".into(), CANARY.into()]);
        assert!(error(&missing, COMMAND_LIMIT).contains("`/nowhere/at-all`: it can't be started"));
    }

    #[test]
    fn command_that_exceeds_the_limit_is_stopped() {
        for script in ["exec sleep 60", "echo canary; exec >&-; exec sleep 60"] {
            let message = error(&shell(script), Duration::from_millis(200));
            assert!(message.contains("it did not finish within 0.2 s"), "{message}");
        }
    }

    #[test]
    fn file_that_others_can_read_gives_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("id");
        fs::write(&path, format!("{CANARY}\n")).unwrap();
        for (mode, warned) in [(0o600, false), (0o640, true), (0o604, true)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let (id, warning) = read_id(&SecretSource::File(path.clone()), COMMAND_LIMIT).unwrap();
            assert_eq!((id.expose(), warning.is_some()), (CANARY, warned), "{mode:o}");
            assert!(!warning.unwrap_or_default().contains(CANARY));
        }
        let gone = error(&SecretSource::File(folder.path().join("gone")), COMMAND_LIMIT);
        assert!(gone.starts_with("no integrator ID from the file /") && gone.contains("gone: "), "{gone}");
    }
}
