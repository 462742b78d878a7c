//! Reads a secret from a variable, a file or the output of a command.
//!
//! The module never knows the purpose of a secret. A value that was read, or the output of a command, must never be
//! part of a message or a debug print.

use std::{
    fmt, fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use super::{files, program};

/// The time limit for a command that prints a secret.
pub(crate) const COMMAND_LIMIT: Duration = Duration::from_secs(10);
/// The interval between two checks of a running command.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// The most bytes that a file or a command may provide.
const SIZE_LIMIT: u64 = 4096;

/// The source of a secret. `Debug` shows neither a value nor a command's arguments.
#[derive(Clone)]
pub enum SecretSource {
    /// A variable that is set.
    Variable {
        /// The name of the variable.
        name: String,
        /// The value of the variable.
        value: String,
    },
    /// A variable that the config file names and that is not set.
    Unset {
        /// The name of the variable.
        name: String,
    },
    /// A file.
    File(PathBuf),
    /// A command: a program and its arguments.
    Command(Vec<String>),
}

impl fmt::Display for SecretSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable { name, .. } => out.write_str(name),
            Self::Unset { name } => out.write_str(variable_name(name)),
            Self::File(path) => write!(out, "the file {}", path.display()),
            Self::Command(words) => write!(out, "the command `{}`", words.first().map_or("", String::as_str)),
        }
    }
}

/// Returns the name of a variable as messages show it. A person who gives the secret in place of the name must not see the
/// secret printed.
pub(crate) fn variable_name(name: &str) -> &str {
    match name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        true => name,
        false => "a variable whose name has other characters than letters, digits and `_`",
    }
}

impl fmt::Debug for SecretSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SecretSource({self})")
    }
}

impl SecretSource {
    /// Reads the text of the secret. A command may take up to `limit`. Returns a warning, too, if other users of this
    /// machine can read the file.
    ///
    /// # Errors
    /// The reason why the source can't be read.
    pub(crate) fn read(&self, limit: Duration) -> Result<(String, Option<String>), String> {
        match self {
            Self::Variable { value, .. } => Ok((value.clone(), None)),
            Self::Unset { .. } => Err("it is not set".into()),
            Self::File(path) => {
                let (bytes, warning) = read_file(path).map_err(|error| error.to_string())?;
                Ok((decode_text(bytes)?, warning))
            }
            Self::Command(words) => Ok((decode_text(run(words, limit)?)?, None)),
        }
    }

    /// Like [`Self::read`], with the limit of every command; logs the warning.
    ///
    /// # Errors
    /// The reason why the source can't be read.
    pub(crate) fn read_text(&self) -> Result<String, String> {
        let (text, warning) = self.read(COMMAND_LIMIT)?;
        warning.iter().for_each(|warning| tracing::warn!("{warning}"));
        Ok(text)
    }

    /// Returns the secret without blanks around it.
    ///
    /// # Errors
    /// The reason why the source can't be read, or that it is empty.
    pub(crate) fn read_trimmed(&self) -> Result<String, String> {
        match self.read_text()?.trim() {
            "" => Err("it is empty".into()),
            secret => Ok(secret.to_owned()),
        }
    }
}

fn decode_text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > SIZE_LIMIT {
        return Err(format!("it contains more than {SIZE_LIMIT} bytes; it must contain only the secret"));
    }
    String::from_utf8(bytes).map_err(|_| "the text is not valid UTF-8".into())
}

fn read_file(path: &Path) -> io::Result<(Vec<u8>, Option<String>)> {
    let file = fs::File::open(path)?;
    // The service manager protects these by other means than the mode.
    let is_credential =
        std::env::var_os("CREDENTIALS_DIRECTORY").is_some_and(|folder| !folder.is_empty() && path.starts_with(folder));
    let exposed = !is_credential && files::others_can_read(&file.metadata()?);
    let warning = exposed.then(|| {
        let path = path.display();
        format!("{path} contains a secret and other users of this machine can read it; run: chmod 600 {path}")
    });
    Ok((read_bounded(file)?, warning))
}

fn read_bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(SIZE_LIMIT + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the output of a command, which gets no input. Its error output is discarded, because it may repeat the
/// secret.
fn run(words: &[String], limit: Duration) -> Result<Vec<u8>, String> {
    let (program, arguments) = words.split_first().ok_or("the command is empty")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // The command must not see the secrets of other profiles.
    program::remove_hidden_variables(&mut command);
    let mut child = command.spawn().map_err(|error| format!("it can't be started: {error}"))?;
    let outcome = wait(&mut child, limit);
    if outcome.is_err() {
        // The command has ended meanwhile or ends now. A failure here changes nothing: `outcome` is an error already.
        let ended = child.kill().and_then(|()| child.wait());
        tracing::debug!(?ended, "stopped the command for a secret");
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
    let read = move || sender.send(read_bounded(stdout));
    thread::Builder::new().name("secret".into()).spawn(read).map_err(|error| format!("no thread: {error}"))?;
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
