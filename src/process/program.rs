//! Giving a program a text on its standard input: no shell, no output, and an end after some seconds.
//!
//! It blocks, so it belongs on the pool. What the program prints goes nowhere: the screen isn't its own. It must never hand on
//! the integrator ID, which the environment may hold.

use std::{
    io::{self, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

/// How often a running program is looked at.
const TICK: Duration = Duration::from_millis(10);
/// The variable that an integrator ID is read from, unless the config file names others.
const SECRET: &str = "HOPTOP_INTEGRATOR_ID";

/// The others, for as long as the process lives.
static HIDDEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Names more variables, beside the usual one, that no program is to see which is started from here on.
pub fn hide(variables: Vec<String>) {
    HIDDEN.lock().unwrap_or_else(PoisonError::into_inner).extend(variables);
}

/// Takes from a program what it may not see.
pub fn blind(command: &mut Command) {
    command.env_remove(SECRET);
    for name in HIDDEN.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        command.env_remove(name);
    }
}

/// A program that takes a text on its standard input, and whose output goes nowhere.
///
/// # Errors
/// If there is no word.
pub fn listener(words: &[String]) -> io::Result<Command> {
    let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    blind(&mut command);
    Ok(command)
}

/// Whether there is such a program: at this path, or by this name in the folders of `PATH`.
pub fn is_there(program: &str) -> bool {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return is_program(path);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program)))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file()
}

/// Gives a program a text, and waits until it ended well, for `limit` at most; then it is ended.
///
/// # Errors
/// If it can't be started, fails, or takes longer.
pub fn feed(words: &[String], text: &str, limit: Duration) -> io::Result<()> {
    let mut child = listener(words)?.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        let bytes = encoded(words.first().map_or("", String::as_str), text);
        // One that doesn't read would hold us up; it ends with the program.
        thread::spawn(move || input.write_all(&bytes));
    }
    let outcome = wait(&mut child, limit);
    if outcome.is_err() {
        // It has ended, or it ends now.
        let ended = child.kill().and_then(|()| child.wait());
        tracing::debug!(?ended, "a program that was given a text is over");
    }
    outcome
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<()> {
    for _ in 0..limit.as_millis() / TICK.as_millis() {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(io::Error::other(status.to_string())),
            None => thread::park_timeout(TICK),
        }
    }
    Err(io::Error::other(format!("it didn't end within {} s", limit.as_secs_f64())))
}

/// Windows' tool takes anything but UTF-16 for the code page of the machine.
fn encoded(program: &str, text: &str) -> Vec<u8> {
    match program {
        "clip.exe" => ['\u{feff}']
            .into_iter()
            .chain(text.chars())
            .flat_map(|letter| {
                letter.encode_utf16(&mut [0; 2]).iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>()
            })
            .collect(),
        _ => text.as_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[cfg(unix)]
    #[test]
    fn a_program_gets_the_text_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("text");
        let script = format!("echo noise; echo noise >&2; cat > '{}'", file.display());
        // More than a pipe holds.
        let text = "Überfällig; $(id) `id`\n".repeat(20_000);
        feed(&shell(&script), &text, Duration::from_secs(30)).unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }

    #[cfg(unix)]
    #[test]
    fn one_that_fails_or_lingers_is_an_error() {
        let text = "x".repeat(1 << 20);
        let error = |words: &[String]| feed(words, &text, Duration::from_millis(200)).unwrap_err().to_string();
        assert_eq!(error(&shell("exit 3")), "exit status: 3");
        assert_eq!(error(&shell("exec sleep 60")), "it didn't end within 0.2 s");
        assert_eq!(error(&[]), "the command is empty");
        assert!(error(&["/nowhere/at-all".to_owned()]).contains("No such file"));
    }

    #[cfg(unix)]
    #[test]
    fn variables_that_are_hidden_are_not_seen() {
        hide(vec!["CARGO_MANIFEST_DIR".into()]);
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let script = shell("test -z \"$CARGO_MANIFEST_DIR$HOPTOP_INTEGRATOR_ID\" && test -n \"$PATH\"");
        feed(&script, "", Duration::from_secs(30)).unwrap();
    }

    #[test]
    fn windows_reads_utf_16() {
        assert_eq!(encoded("clip.exe", "é"), [0xff, 0xfe, 0xe9, 0x00]);
        assert_eq!(encoded("xclip", "é"), "é".as_bytes());
    }
}
