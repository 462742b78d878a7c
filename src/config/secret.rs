//! Reads the integrator ID from its source (`DESIGN.md`, Secrets).
//!
//! A value that was read must never be part of a message or a debug print.

use std::{fmt, time::Duration};

use super::error::ConfigError;
use crate::{domain::secret::IntegratorId, process::secret_source::SecretSource};

/// A text that may hold a secret. `Debug` doesn't show the text.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(pub String);

impl fmt::Debug for SecretText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Hidden(...)")
    }
}

/// Reads the ID and returns it with warnings for the user. A command may take up to `limit`.
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
