//! Where the integrator ID comes from: a variable, a file or a command that prints it (`DESIGN.md`, Secrets).
//!
//! What was read, and what a command printed, must never be part of a message or a debug print.

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

/// How long a command may take to print the ID.
pub const COMMAND_LIMIT: Duration = Duration::from_secs(10);
/// How often a running command is looked at.
const TICK: Duration = Duration::from_millis(10);
/// The most that a file or a command may give; an ID has at most 256 characters.
const SIZE_LIMIT: u64 = 4096;

/// Where the ID comes from. `Debug` shows neither a value nor a command's arguments.
#[derive(Clone)]
pub enum IdSource {
    /// A variable that is set.
    Variable {
        /// Its name.
        name: String,
        /// What it holds, which may not be an ID.
        value: String,
    },
    /// A variable that the config file names and that is unset.
    Unset {
        /// Its name.
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
    /// The ID, and what a person should be warned of. A command gets `limit`.
    ///
    /// # Errors
    /// If there is none, or what there is can't be one.
    pub fn read(&self, limit: Duration) -> Result<(IntegratorId, Vec<String>), ConfigError> {
        let fails = |reason: String| ConfigError::IdSource { origin: self.to_string(), reason };
        let (text, warnings) = match self {
            Self::Variable { value, .. } => (value.clone(), Vec::new()),
            Self::Unset { .. } => return Err(fails("it is not set".into())),
            Self::File(path) => {
                let (bytes, warnings) = read_file(path).map_err(|error| fails(error.to_string()))?;
                (text(bytes).map_err(fails)?, warnings)
            }
            Self::Command(argv) => (text(run(argv, limit).map_err(fails)?).map_err(fails)?, Vec::new()),
        };
        let bad = |reason| ConfigError::BadId { origin: self.to_string(), reason };
        Ok((IntegratorId::new(&text).map_err(bad)?, warnings))
    }
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > SIZE_LIMIT {
        return Err(format!("it gives more than {SIZE_LIMIT} bytes; it must give the ID and nothing else"));
    }
    String::from_utf8(bytes).map_err(|_| "what it gives is not UTF-8 text".into())
}

fn read_file(path: &Path) -> io::Result<(Vec<u8>, Vec<String>)> {
    let file = fs::File::open(path)?;
    let exposed = is_exposed(&file.metadata()?);
    let warning = exposed.then(|| {
        let path = path.display();
        format!("{path} holds the integrator ID and others on this machine can read it; run: chmod 600 {path}")
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

/// What a command prints. It gets no input, and its complaints go nowhere: they could repeat the ID.
fn run(argv: &Argv, limit: Duration) -> Result<Vec<u8>, String> {
    let mut command = Command::new(&argv.program);
    command.args(&argv.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("it can't be started: {error}"))?;
    let outcome = wait(&mut child, limit);
    if outcome.is_err() {
        // It has ended meanwhile, or it ends now; either way nobody waits for it.
        let ended = child.kill().and_then(|()| child.wait());
        tracing::debug!(?ended, "stopped the command for the integrator ID");
    }
    match outcome? {
        // One that prints too much is cut off and then fails for that; the reason is its length.
        (status, bytes) if status.success() || bytes.len() as u64 > SIZE_LIMIT => Ok(bytes),
        (status, _) => Err(format!("it failed: {status}")),
    }
}

/// Waits for both the end of the output and the end of the process: a command may close one and linger.
fn wait(child: &mut Child, limit: Duration) -> Result<(ExitStatus, Vec<u8>), String> {
    let stdout = child.stdout.take().ok_or("its output can't be read")?;
    let (sender, receiver) = mpsc::channel();
    // A grandchild may hold the output open for ever; then this thread is left behind, not the person.
    thread::spawn(move || sender.send(read_bounded(stdout)));
    let mut output = None;
    for _ in 0..limit.as_millis() / TICK.as_millis() {
        match receiver.recv_timeout(TICK) {
            Ok(read) => output = Some(read.map_err(|error| format!("its output can't be read: {error}"))?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::park_timeout(TICK),
        }
        let ended = child.try_wait().map_err(|error| format!("it can't be waited for: {error}"))?;
        if let (Some(status), Some(bytes)) = (ended, &mut output) {
            return Ok((status, std::mem::take(bytes)));
        }
    }
    Err(format!("it did not end within {} s", limit.as_secs_f64()))
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
        let said = format!("{error} {error:?} {source:?}");
        assert!(!said.contains("canary"), "{said}");
        error.to_string()
    }

    #[test]
    fn a_command_gives_the_id() {
        let (id, warnings) = shell(&format!("echo {CANARY}")).read(COMMAND_LIMIT).unwrap();
        assert_eq!((id.expose(), warnings.len()), (CANARY, 0));
    }

    #[test]
    fn a_command_that_fails_says_how_and_not_what() {
        let table = [
            (
                format!("echo {CANARY}; echo {CANARY} >&2; exit 3"),
                "no integrator ID from the command `sh`: it failed: exit status: 3",
            ),
            ("true".into(), "the integrator ID from the command `sh` can't be used: it is empty"),
            (format!("echo {CANARY}; echo {CANARY}"), "it holds a blank, a line end"),
            ("head -c 9000 /dev/zero".into(), "more than 4096 bytes"),
            ("printf 'canary\\377'".into(), "not UTF-8"),
        ];
        for (script, part) in table {
            let said = error(&shell(&script), COMMAND_LIMIT);
            assert!(said.contains(part), "{script}: {said}");
        }
        let missing = IdSource::Command(Argv { program: "/nowhere/at-all".into(), arguments: vec![CANARY.into()] });
        assert!(error(&missing, COMMAND_LIMIT).contains("`/nowhere/at-all`: it can't be started"));
    }

    #[test]
    fn a_command_that_does_not_end_is_stopped() {
        for script in ["exec sleep 60", "echo canary; exec >&-; exec sleep 60"] {
            let said = error(&shell(script), Duration::from_millis(200));
            assert!(said.contains("it did not end within 0.2 s"), "{said}");
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_a_warning() {
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
