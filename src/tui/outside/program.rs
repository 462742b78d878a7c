//! Giving a program a text on its standard input: no shell, no output, and an end after some seconds.
//!
//! It blocks, so it belongs on the pool. What the program prints goes nowhere: the screen isn't its own.

use std::{
    io::{self, Write},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

/// How long a program may take. A clipboard's tool leaves a child behind that holds the text, and ends at once.
const LIMIT: Duration = Duration::from_secs(3);
/// How often a running program is looked at.
const TICK: Duration = Duration::from_millis(10);

/// Gives a program a text, and waits until it ended well.
pub(super) fn feed(words: &[String], text: &str) -> io::Result<()> {
    feed_within(words, text, LIMIT)
}

fn feed_within(words: &[String], text: &str, limit: Duration) -> io::Result<()> {
    let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        let bytes = encoded(program, text);
        // One that doesn't read would hold us up; it ends with the program.
        thread::spawn(move || input.write_all(&bytes));
    }
    let outcome = wait(&mut child, limit);
    if outcome.is_err() {
        // It has ended, or it ends now.
        let ended = child.kill().and_then(|()| child.wait());
        tracing::debug!(?ended, "a program for the clipboard is over");
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_program_gets_the_text_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("text");
        let script = format!("echo noise; echo noise >&2; cat > '{}'", file.display());
        // More than a pipe holds.
        let text = "Überfällig; $(id) `id`\n".repeat(20_000);
        feed(&shell(&script), &text).unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }

    #[test]
    fn one_that_fails_or_lingers_is_an_error() {
        let text = "x".repeat(1 << 20);
        let error = |words: &[String]| feed_within(words, &text, Duration::from_millis(200)).unwrap_err().to_string();
        assert_eq!(error(&shell("exit 3")), "exit status: 3");
        assert_eq!(error(&shell("exec sleep 60")), "it didn't end within 0.2 s");
        assert_eq!(error(&[]), "the command is empty");
        assert!(error(&["/nowhere/at-all".to_owned()]).contains("No such file"));
    }

    #[test]
    fn windows_reads_utf_16() {
        assert_eq!(encoded("clip.exe", "é"), [0xff, 0xfe, 0xe9, 0x00]);
        assert_eq!(encoded("xclip", "é"), "é".as_bytes());
    }
}
