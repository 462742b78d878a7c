//! The source of the integrator ID: a variable, a file or a command that prints the ID (`DESIGN.md`, Secrets).
//!
//! A value that was read, or the output of a command, must never be part of a message or a debug print.

use std::{
    fmt, fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use super::{error::ConfigError, file::Argv};
use crate::domain::secret::IntegratorId;

/// The time limit for a command that prints the ID.
pub(super) const COMMAND_LIMIT: Duration = Duration::from_secs(10);
/// The interval between two checks of a running command.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// The most bytes that a file or a command may provide. An ID has at most 256 characters.
const SIZE_LIMIT: u64 = 4096;

/// The source of the ID. `Debug` shows neither a value nor a command's arguments.
#[derive(Clone)]
pub(super) enum IdSource {
    /// A variable that is set.
    Variable {
        /// The name of the variable.
        name: String,
        /// The value of the variable, which may not be an ID.
        value: String,
    },
    /// A variable that the config file names and that is not set.
    Unset {
        /// The name of the variable.
        name: String,
    },
    /// A file.
    File(PathBuf),
    /// A command.
    Command(Argv),
}

impl fmt::Display for IdSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable { name, .. } | Self::Unset { name } => out.write_str(name),
            Self::File(path) => write!(out, "the file {}", path.display()),
            Self::Command(argv) => write!(out, "the command `{}`", argv.program),
        }
    }
}

impl fmt::Debug for IdSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "IdSource({self})")
    }
}

impl IdSource {
    /// Reads the ID and returns it with warnings for the user. A command may take up to `limit`.
    ///
    /// # Errors
    /// If the source can't be read, or its value can't be an ID.
    pub(super) fn read(&self, limit: Duration) -> Result<(IntegratorId, Vec<String>), ConfigError> {
        let fails = |reason: String| ConfigError::IdSource { origin: self.to_string(), reason };
        let (text, warnings) = match self {
            Self::Variable { value, .. } => (value.clone(), Vec::new()),
            Self::Unset { .. } => return Err(fails("it is not set".into())),
            Self::File(path) => {
                let (bytes, warnings) = read_file(path).map_err(|error| fails(error.to_string()))?;
                (decode_text(bytes).map_err(fails)?, warnings)
            }
            Self::Command(argv) => (decode_text(run(argv, limit).map_err(fails)?).map_err(fails)?, Vec::new()),
        };
        let bad = |reason| ConfigError::BadId { origin: self.to_string(), reason };
        Ok((IntegratorId::new(&text).map_err(bad)?, warnings))
    }
}

fn decode_text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > SIZE_LIMIT {
        return Err(format!("it contains more than {SIZE_LIMIT} bytes; it must contain only the ID"));
    }
    String::from_utf8(bytes).map_err(|_| "the text is not valid UTF-8".into())
}

fn read_file(path: &Path) -> io::Result<(Vec<u8>, Vec<String>)> {
    let file = fs::File::open(path)?;
    let exposed = is_exposed(&file.metadata()?);
    let warning = exposed.then(|| {
        let path = path.display();
        format!("{path} contains the integrator ID and other users of this machine can read it; run: chmod 600 {path}")
    });
    Ok((read_bounded(file)?, warning.into_iter().collect()))
}

fn read_bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(SIZE_LIMIT + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(unix)]
fn is_exposed(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o044 != 0
}

#[cfg(not(unix))]
fn is_exposed(_: &fs::Metadata) -> bool {
    false
}

/// Returns what a command prints. It gets no input. Its error output is discarded, because it may repeat the ID.
fn run(argv: &Argv, limit: Duration) -> Result<Vec<u8>, String> {
    let mut command = Command::new(&argv.program);
    command.args(&argv.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("it can't be started: {error}"))?;
    let outcome = wait(&mut child, limit);
    if outcome.is_err() {
        // The command has ended meanwhile or ends now. A failure here changes nothing: `outcome` is an error already.
        let ended = child.kill().and_then(|()| child.wait());
        tracing::debug!(?ended, "stopped the command for the integrator ID");
    }
    match outcome? {
        // A command that prints too much may fail because its output is cut. The reported error is then the length.
        (status, bytes) if status.success() || bytes.len() as u64 > SIZE_LIMIT => Ok(bytes),
        (status, _) => Err(format!("it failed: {status}")),
    }
}

/// Waits for the end of the output and of the process: a command may close its output and keep running.
fn wait(child: &mut Child, limit: Duration) -> Result<(ExitStatus, Vec<u8>), String> {
    let stdout = child.stdout.take().ok_or("its output can't be read")?;
    let (sender, receiver) = mpsc::channel();
    // A grandchild may keep the output open for ever. Then this thread is abandoned, and the user doesn't wait.
    thread::spawn(move || sender.send(read_bounded(stdout)));
    let mut output = None;
    for _ in 0..limit.as_millis() / CHECK_INTERVAL.as_millis() {
        match receiver.recv_timeout(CHECK_INTERVAL) {
            Ok(read) => output = Some(read.map_err(|error| format!("its output can't be read: {error}"))?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::park_timeout(CHECK_INTERVAL),
        }
        let ended = child.try_wait().map_err(|error| format!("waiting for it failed: {error}"))?;
        if let (Some(status), Some(bytes)) = (ended, &mut output) {
            return Ok((status, std::mem::take(bytes)));
        }
    }
    Err(format!("it did not finish within {} s", limit.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const CANARY: &str = "canary-integrator-7f3a";

    fn shell(script: &str) -> IdSource {
        IdSource::Command(Argv { program: "sh".into(), arguments: vec!["-c".into(), script.into()] })
    }

    fn error(source: &IdSource, limit: Duration) -> String {
        let error = source.read(limit).unwrap_err();
        let message = format!("{error} {error:?} {source:?}");
        assert!(!message.contains("canary"), "{message}");
        error.to_string()
    }

    #[test]
    fn reads_the_id_from_a_command() {
        let (id, warnings) = shell(&format!("echo {CANARY}")).read(COMMAND_LIMIT).unwrap();
        assert_eq!((id.expose(), warnings.len()), (CANARY, 0));
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
        let missing = IdSource::Command(Argv { program: "/nowhere/at-all".into(), arguments: vec![CANARY.into()] });
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
            let (id, warnings) = IdSource::File(path.clone()).read(COMMAND_LIMIT).unwrap();
            assert_eq!((id.expose(), !warnings.is_empty()), (CANARY, warned), "{mode:o}");
            assert!(!warnings.concat().contains(CANARY));
        }
        let gone = error(&IdSource::File(folder.path().join("gone")), COMMAND_LIMIT);
        assert!(gone.starts_with("no integrator ID from the file /") && gone.contains("gone: "), "{gone}");
    }
}
