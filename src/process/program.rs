//! Running a program with a text on its standard input: without a shell, without output, and with a time limit.
//!
//! The module blocks, so callers run it on the blocking pool. Output of the program is discarded, because the screen
//! belongs to hoptop. A program must never get the integrator ID, which the environment may hold.

use std::{
    io::{self, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

/// The interval between two checks whether the program has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// The beginning of the variables of hoptop itself, some of which are secret. The config file may name other variables.
const OWN_PREFIX: &str = "HOPTOP_";
/// How long a launched program is watched for an early failure.
const EARLY: Duration = Duration::from_millis(500);

/// The other variables to remove, until the process ends.
static HIDDEN_VARIABLES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Adds variables to remove from the environment of every program that is started from now on.
pub(crate) fn hide_variables(variables: Vec<String>) {
    HIDDEN_VARIABLES.lock().unwrap_or_else(PoisonError::into_inner).extend(variables);
}

/// Removes hoptop's own variables and those of secrets from a program's environment.
pub(crate) fn remove_hidden_variables(command: &mut Command) {
    let own = std::env::vars_os().map(|(name, _)| name);
    for name in own.filter(|name| name.as_encoded_bytes().starts_with(OWN_PREFIX.as_bytes())) {
        command.env_remove(name);
    }
    for name in HIDDEN_VARIABLES.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        command.env_remove(name);
    }
}

/// Returns the command for a program that reads a text from its standard input, and whose output is discarded.
///
/// # Errors
/// If `words` is empty.
pub(crate) fn input_command(words: &[String]) -> io::Result<Command> {
    let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    remove_hidden_variables(&mut command);
    Ok(command)
}

/// Returns whether the program exists: at this path, or by this name in the folders of `PATH`.
pub(crate) fn program_exists(program: &str) -> bool {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return is_executable(path);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| is_executable(&folder.join(program)))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Runs a program with `text` on its standard input, and waits until it ends. Kills the program after `limit`.
///
/// # Errors
/// If the program can't be started, fails, or runs for longer than `limit`.
pub(crate) fn run_with_input(words: &[String], text: &str, limit: Duration) -> io::Result<()> {
    let mut child = input_command(words)?.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        let bytes = encode(words.first().map_or("", String::as_str), text);
        // A program that doesn't read its input would block this thread. The writing thread ends with the program.
        thread::Builder::new().name("program-input".into()).spawn(move || input.write_all(&bytes))?;
    }
    let outcome = succeeds_within(&mut child, limit).and_then(|has_ended| match has_ended {
        true => Ok(()),
        false => Err(io::Error::other(format!("the program did not finish within {} s", limit.as_secs_f64()))),
    });
    if outcome.is_err() {
        // The program has failed, or still runs and is killed.
        let ended = child.kill().and_then(|()| child.wait());
        tracing::debug!(?ended, "stopped a program that received text");
    }
    outcome
}

/// Starts the first of these programs that doesn't fail at once, and lets it run on its own, without input and output.
///
/// # Errors
/// If none can be started, or each fails at once: the error of the last.
pub(crate) fn start_detached(commands: impl IntoIterator<Item = Command>) -> io::Result<()> {
    let mut outcome = Err(io::Error::other("there is no program for this"));
    for mut command in commands {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        remove_hidden_variables(&mut command);
        // A signal of this terminal must not end the program.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        outcome = command.spawn().and_then(watch_start);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// Returns an error if a program fails within [`EARLY`]. A thread waits for its end after that.
fn watch_start(mut child: Child) -> io::Result<()> {
    if !succeeds_within(&mut child, EARLY)? {
        thread::Builder::new().name("program".into()).spawn(move || child.wait())?;
    }
    Ok(())
}

/// Waits for a program's end. Returns `false` if the program still runs after `limit`.
///
/// # Errors
/// If the program fails.
fn succeeds_within(child: &mut Child, limit: Duration) -> io::Result<bool> {
    for _ in 0..limit.as_millis() / CHECK_INTERVAL.as_millis() {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(true),
            Some(status) => return Err(io::Error::other(status.to_string())),
            None => thread::park_timeout(CHECK_INTERVAL),
        }
    }
    Ok(false)
}

/// Encodes a text for a program. Windows' `clip.exe` reads anything but UTF-16 in the code page of the machine.
fn encode(program: &str, text: &str) -> Vec<u8> {
    match program {
        "clip.exe" => format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect(),
        _ => text.as_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[test]
    fn program_gets_exactly_the_text() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("text");
        let script = format!("echo noise; echo noise >&2; cat > '{}'", file.display());
        // More than the buffer of a pipe.
        let text = "Überfällig; $(id) `id`\n".repeat(20_000);
        run_with_input(&shell(&script), &text, Duration::from_secs(30)).unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }

    #[test]
    fn failed_or_slow_program_is_an_error() {
        let text = "x".repeat(1 << 20);
        let error =
            |words: &[String]| run_with_input(words, &text, Duration::from_millis(200)).unwrap_err().to_string();
        assert_eq!(error(&shell("exit 3")), "exit status: 3");
        assert_eq!(error(&shell("exec sleep 60")), "the program did not finish within 0.2 s");
        assert_eq!(error(&[]), "the command is empty");
        assert!(error(&["/nowhere/at-all".to_owned()]).contains("No such file"));
    }

    #[test]
    fn hidden_variables_are_removed_from_the_environment() {
        hide_variables(vec!["CARGO_MANIFEST_DIR".into()]);
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let script = shell("test -z \"$CARGO_MANIFEST_DIR$HOPTOP_INTEGRATOR_ID\" && test -n \"$PATH\"");
        run_with_input(&script, "", Duration::from_secs(30)).unwrap();
    }

    #[test]
    fn launched_program_gets_no_secret_and_a_failed_one_is_replaced_by_the_next() {
        hide_variables(vec!["CARGO_PKG_NAME".into()]);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("environment");
        let mut fails = Command::new("sh");
        fails.args(["-c", "exit 3"]);
        let mut works = Command::new("sh");
        works.args(["-c", &format!("env > '{}'", file.display())]);
        start_detached([Command::new("/nowhere/at-all"), fails, works]).unwrap();
        let environment = std::fs::read_to_string(file).unwrap();
        assert!(environment.contains("PATH=") && !environment.contains("CARGO_PKG_NAME="), "{environment}");
        assert!(!environment.contains("HOPTOP_"), "{environment}");
        assert!(start_detached([]).is_err() && start_detached([Command::new("/nowhere/at-all")]).is_err());
    }

    #[test]
    fn clip_exe_gets_utf_16_with_a_byte_order_mark() {
        assert_eq!(encode("clip.exe", "é"), [0xff, 0xfe, 0xe9, 0x00]);
        assert_eq!(encode("xclip", "é"), "é".as_bytes());
    }
}
