//! The program in a real pseudo-terminal: what a user sees, and that the terminal is restored at the end.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod session;

use std::{
    io::{Read, Write},
    process::Command,
    sync::mpsc,
    thread,
    time::Duration,
};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use tempfile::TempDir;

use session::Session;

/// Starts a program in a terminal of 80 columns and 24 rows. Its home folder is deleted with the returned value.
fn start(program: &str, arguments: &[&str]) -> (Session, TempDir) {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    command.args(arguments).env("HOME", home.path()).env("TMPDIR", home.path());
    (Session::start(&command, (80, 24)), home)
}

fn start_demo() -> (Session, TempDir) {
    start(env!("CARGO_BIN_EXE_hoptop"), &["demo", "--transactions", "20"])
}

#[test]
fn demo_opens_a_transaction_and_quits() {
    let (mut session, _home) = start_demo();
    session.wait_for(&["hoptop DEMO", "SAY", "OVERDUE", "requests/s"]);
    session.press("\r");
    session.wait_for(&["SOURCE", "DESTINATION", "SAY", "DO", "Esc back"]);
    session.press("q");
    session.wait_for(&["STATUS", "q quit"]);
    session.press("q");
    let (status, _) = session.end();
    assert_eq!(status.exit_code(), 0);
}

#[test]
fn plain_mode_only_appends_lines() {
    let (mut session, _home) =
        start(env!("CARGO_BIN_EXE_hoptop"), &["demo", "--plain", "--transactions", "5", "--speed", "100"]);
    session.wait_for(&["hoptop, profile demo. Tracked 5", "Type help and Enter"]);
    session.wait_for(&["success, settled"]);
    session.press("list\r");
    session.wait_for(&["5 shown of 5"]);
    session.press("quit\r");
    let (status, output) = session.end();
    assert_eq!(status.exit_code(), 0);
    assert!(!output.contains('\u{1b}'), "{output}");
}

#[test]
fn with_no_color_the_selection_is_bold_and_reversed_and_nothing_has_a_colour() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoptop"));
    command.args(["demo", "--transactions", "20"]).env("HOME", home.path()).env("TMPDIR", home.path());
    let mut session = Session::start(command.env("NO_COLOR", "1").env("HOPTOP_THEME", "dark"), (80, 24));
    session.wait_for(&["hoptop DEMO", "SAY"]);
    session.press("q");
    let (status, output) = session.end();
    assert_eq!(status.exit_code(), 0);
    assert!(output.contains("\u{1b}[7m") && output.contains("\u{1b}[1m"));
    let is_color = |code: &str| code.starts_with("38;") || code.starts_with("48;");
    let mut codes = output.split("\u{1b}[").skip(1).filter_map(|rest| rest.split_once('m').map(|(code, _)| code));
    assert_eq!(codes.find(|code| is_color(code) && !code.ends_with(";39")), None);
}

#[test]
fn pasted_row_is_tracked() {
    let (mut session, _home) = start_demo();
    session.wait_for(&["hoptop DEMO", "5 All 20"]);
    session.press(
        "\u{1b}[200~0xabcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789,42161,8453,quote-1\u{1b}[201~",
    );
    session.wait_for(&["ready", "Enter track"]);
    session.press("\r");
    session.wait_for(&["1 tracked", "5 All 21"]);
    session.press("\u{3}");
    assert_eq!(session.end().0.exit_code(), 0);
}

#[test]
fn import_from_a_terminal_prints_a_hint() {
    let (mut session, _home) = start(env!("CARGO_BIN_EXE_hoptop"), &["import", "-"]);
    session.wait_for(&["reading transactions from the terminal", "^D ends the input"]);
    session.press("transactionId,fromChainId,toChainId,quoteId\n0xabcdef12,1,10,q\n\u{4}");
    session.wait_for(&["1 tracked"]);
    assert_eq!(session.end().0.exit_code(), 0);
}

#[test]
fn signal_restores_the_terminal_and_sets_the_exit_code() {
    for (name, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let (mut session, _home) = start_demo();
        session.wait_for(&["hoptop DEMO", "SAY"]);
        session.signal(name);
        assert_eq!(session.end().0.exit_code(), code, "{name}");
    }
}

/// These signals end a program at once. Its parent sees which signal it was.
#[test]
fn fatal_signal_restores_the_terminal() {
    for name in ["QUIT", "ABRT", "USR1", "USR2", "ALRM"] {
        let (mut session, _home) = start_demo();
        session.wait_for(&["hoptop DEMO", "SAY"]);
        session.signal(name);
        let (status, _) = session.end();
        assert!(status.signal().is_some(), "{name}: {status:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn terminal_that_nobody_reads_does_not_delay_the_end() {
    let signal = |name: &'static str| {
        move |_: &mut dyn Write, id: u32| {
            assert!(Command::new("kill").args([&format!("-{name}"), &id.to_string()]).status().unwrap().success());
        }
    };
    let limit = Duration::from_secs(3);
    assert_eq!(end_in_an_unread_terminal(signal("TERM"), limit), 143);
    assert_eq!(end_in_an_unread_terminal(signal("HUP"), limit), 129);
    let twice = move |keys: &mut dyn Write, id: u32| {
        signal("INT")(keys, id);
        thread::park_timeout(Duration::from_millis(50));
        signal("INT")(keys, id);
    };
    assert_eq!(end_in_an_unread_terminal(twice, Duration::from_secs(1)), 130);
    let interrupt_keys = |keys: &mut dyn Write, _: u32| {
        for _ in 0..2 {
            keys.write_all(b"\x03").unwrap();
            thread::park_timeout(Duration::from_millis(50));
        }
    };
    assert_eq!(end_in_an_unread_terminal(interrupt_keys, limit), 0);
}

/// Runs a demo in a terminal that isn't read from its first rows on, and ends the demo. Checks the time until the end,
/// and that the terminal is restored.
#[cfg(target_os = "linux")]
fn end_in_an_unread_terminal(end: impl FnOnce(&mut dyn Write, u32), limit: Duration) -> u32 {
    let home = tempfile::tempdir().unwrap();
    let pair = native_pty_system().openpty(PtySize { rows: 50, cols: 200, pixel_width: 0, pixel_height: 0 }).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_hoptop"));
    command.args(["demo", "--transactions", "500", "--speed", "100"]);
    command.env("TERM", "xterm-256color");
    command.env("TMPDIR", home.path());
    let mut child = pair.slave.spawn_command(command).unwrap();
    let mut terminal = pair.master.try_clone_reader().unwrap();
    let (mut output, mut buffer) = (String::new(), [0; 4096]);
    while !output.contains("SAY") {
        let count = terminal.read(&mut buffer).unwrap();
        output.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    // The program draws until the terminal's buffer is full: then its main thread stays in a write.
    let main_thread = format!("/proc/{id}/task/{id}/wchan", id = child.process_id().unwrap());
    while std::fs::read_to_string(&main_thread).unwrap() != "wait_woken" {
        thread::park_timeout(Duration::from_millis(50));
    }
    let clock = hoptop::internals::clock::Clock::system();
    let began = clock.now().mono;
    end(&mut *pair.master.take_writer().unwrap(), child.process_id().unwrap());
    let status = child.wait().unwrap();
    let took = clock.now().mono.since(began);
    assert!(took <= limit, "{took:?}");
    drop(pair.slave);
    let mut rest = Vec::new();
    // Fails at the end, since nobody has the other side open any more.
    terminal.read_to_end(&mut rest).ok();
    let rest = String::from_utf8_lossy(&rest);
    assert!(rest.contains("\u{1b}[?1049l") && rest.contains("\u{1b}[?25h"), "{rest:?}");
    status.exit_code()
}

#[test]
fn terminal_of_absurd_size_is_drawn_in_a_part() {
    let home = tempfile::tempdir().unwrap();
    let size = PtySize { rows: u16::MAX, cols: u16::MAX, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_hoptop"));
    command.args(["demo", "--transactions", "20"]);
    command.env("TERM", "xterm-256color");
    command.env("TMPDIR", home.path());
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut terminal = pair.master.try_clone_reader().unwrap();
    let (mut output, mut buffer) = (String::new(), [0; 4096]);
    while !output.contains("SAY") {
        let count = terminal.read(&mut buffer).unwrap();
        output.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    pair.master.take_writer().unwrap().write_all(b"\x03").unwrap();
    thread::spawn(move || terminal.read_to_end(&mut Vec::new()));
    assert_eq!(child.wait().unwrap().exit_code(), 0);
}

#[test]
fn wrong_argument_is_shown_without_its_escape_sequences() {
    let (session, _home) = start(env!("CARGO_BIN_EXE_hoptop"), &["li\u{1b}]0;title\u{7}st"]);
    let (status, output) = session.end();
    assert_eq!(status.exit_code(), 2);
    assert!(output.contains("unrecognized subcommand") && !output.contains("\u{1b}]"), "{output:?}");
    let (session, _home) = start(env!("CARGO_BIN_EXE_hoptop"), &["list\u{7}"]);
    let (status, output) = session.end();
    assert_eq!(status.exit_code(), 2);
    assert!(output.contains("an argument has characters that can't be shown"), "{output:?}");
}

#[test]
fn panic_restores_the_terminal_and_writes_a_crash_report() {
    let test_binary = std::env::current_exe().unwrap();
    let arguments = ["--ignored", "--exact", "child_that_panics", "--test-threads=1", "--nocapture"];
    let (mut session, home) = start(test_binary.to_str().unwrap(), &arguments);
    session.wait_for(&["the crash report is in"]);
    let (status, output) = session.end();
    assert_ne!(status.exit_code(), 0);
    assert!(output.contains("the program crashed"), "{output}");
    let reports: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let report =
        std::fs::read_to_string(reports.iter().find(|path| path.to_str().unwrap().contains("crash-")).unwrap());
    assert!(report.unwrap().contains("a fault on purpose"));
}

/// The child of the test above: takes over the terminal as the dashboard does, and panics.
#[test]
#[ignore = "run by another test in its own terminal"]
fn child_that_panics() {
    hoptop::internals::cli::install_hooks().unwrap();
    let _screen = hoptop::internals::tui::TerminalGuard::take().unwrap();
    panic!("a fault on purpose");
}

/// Returns the contents of the crash reports in a folder, whose names start with `crash-`.
fn read_crash_reports(folder: &std::path::Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let reports = files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("crash-"));
    reports.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
#[cfg(debug_assertions)]
fn panic_in_a_background_task_ends_the_dashboard_and_restores_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoptop"));
    command.args(["--no-poll", "--state-dir"]).arg(home.path()).env("HOME", home.path());
    command.env("HOPTOP_TEST_CRASH", "1");
    let mut session = Session::start(&command, (80, 24));
    session.wait_for(&["Nothing is tracked yet."]);
    session.wait_for(&["the crash report is in"]);
    let (status, output) = session.end();
    assert_eq!(status.exit_code(), 1, "{output}");
    assert!(output.contains("a background task of hoptop failed"), "{output}");
    assert!(matches!(&read_crash_reports(home.path())[..], [report] if report.contains("a fault on purpose")));
}

#[test]
fn closed_terminal_ends_the_program_within_two_seconds() {
    for (arguments, shown, waits_for_an_answer) in [
        (&["demo", "--transactions", "20"][..], "SAY", false),
        (&["--plain", "--no-poll"], "Type help", false),
        (&["--plain"], "Type help", true),
        (&["watch"], "watching", true),
        (&["watch", "--json"], "watching", true),
        (&[], "requests/s", true),
    ] {
        let home = tempfile::tempdir().unwrap();
        let silent_service = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let service_url = format!("http://{}", silent_service.local_addr().unwrap());
        let mut add = Command::new(env!("CARGO_BIN_EXE_hoptop"));
        add.args(["add", &format!("0x{:064x}", 1), "--from", "1", "--to", "42161", "--quote-id", "q"]);
        add.env("HOME", home.path()).env("HOPTOP_DB", home.path().join("hoptop.db"));
        assert!(add.output().unwrap().status.success());
        let pair =
            native_pty_system().openpty(PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 }).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_hoptop"));
        command.args(arguments);
        command.env("TERM", "xterm-256color");
        command.env("TMPDIR", home.path());
        command.env("HOME", home.path());
        command.env("HOPTOP_DB", home.path().join("hoptop.db"));
        command.env("HOPTOP_STATE_DIR", home.path().join("state"));
        command.env("HOPTOP_BASE_URL", service_url);
        command.env("HOPTOP_INTEGRATOR_ID", "an-integrator-of-the-tests-7f3a");
        let mut child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut terminal = pair.master.try_clone_reader().unwrap();
        let (mut output, mut buffer) = (String::new(), [0; 4096]);
        while !output.contains(shown) {
            let count = terminal.read(&mut buffer).unwrap();
            output.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        let _request = waits_for_an_answer.then(|| silent_service.accept().unwrap());
        drop((terminal, pair.master));
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait().unwrap()));
        let status = ended.recv_timeout(Duration::from_secs(2)).expect("the program still runs without a terminal");
        assert_eq!(status.exit_code(), 129, "{arguments:?}");
    }
}

#[test]
fn suspend_key_shows_the_shell_and_fg_resumes_the_dashboard() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new("/bin/sh");
    command.arg("-i").env("HOME", home.path()).env("TMPDIR", home.path()).env("PS1", "ready> ");
    let mut session = Session::start(&command, (80, 24));
    session.wait_for(&["ready> "]);
    session.press(&format!("{} demo --transactions 20\r", env!("CARGO_BIN_EXE_hoptop")));
    session.wait_for(&["hoptop DEMO", "SAY"]);
    for _ in 0..2 {
        session.press("\u{1a}");
        session.wait_until("the shell", |screen| screen.trim_end().ends_with("ready>"));
        assert!(!session.is_on_alternate_screen());
        // The shell reads lines: the terminal is no longer raw.
        session.press("echo as before\r");
        session.wait_for(&["\nas before"]);
        session.resize((100, 30));
        session.press("fg\r");
        session.wait_for(&["hoptop DEMO", "SAY", "requests/s"]);
        assert!(session.is_on_alternate_screen());
    }
    session.press("q");
    session.wait_until("the shell", |screen| screen.trim_end().ends_with("ready>"));
    session.press("exit\r");
    assert_eq!(session.end().0.exit_code(), 0);
}

#[test]
fn stop_signal_restores_the_terminal_and_continue_signal_resumes() {
    for arguments in [&["demo", "--transactions", "20"][..], &["--no-poll"]] {
        let (mut session, _home) = start(env!("CARGO_BIN_EXE_hoptop"), arguments);
        session.wait_for(&["? help"]);
        session.signal("TSTP");
        session.wait_until("the previous screen", |screen| !screen.contains("? help"));
        session.wait_for_stop();
        session.signal("CONT");
        session.wait_for(&["? help"]);
        session.press("\u{3}");
        assert_eq!(session.end().0.exit_code(), 0);
    }
}

#[test]
fn suspend_key_without_a_shell_is_refused() {
    let (mut session, _home) = start_demo();
    session.wait_for(&["hoptop DEMO", "SAY"]);
    session.press("\u{1a}");
    session.wait_for(&["Not suspended: hoptop was not started from a shell that could resume it."]);
    session.signal("TERM");
    assert_eq!(session.end().0.exit_code(), 143);
}

#[test]
fn screen_is_complete_after_many_resizes() {
    let (mut session, _home) = start_demo();
    session.wait_for(&["hoptop DEMO", "SAY"]);
    for step in 0..300_u16 {
        session.resize(
            [(0, 0), (1, 1), (40, 9), (step, 300 - step), (u16::MAX >> 6, 2), (200, 60)][usize::from(step % 6)],
        );
    }
    session.resize((80, 24));
    session.press("\u{c}");
    session.wait_for(&["hoptop DEMO", "SAY", "? help", "q quit"]);
    session.press("q");
    assert_eq!(session.end().0.exit_code(), 0);
}

#[test]
fn key_and_resize_at_the_same_moment_are_both_handled() {
    let (mut session, _home) = start_demo();
    session.wait_for(&["hoptop DEMO", "SAY"]);
    for round in 0..100 {
        // Only the last frame counts: a screen that is cleared and not drawn again shows neither text.
        let (key, size, shown) =
            if round % 2 == 0 { ("?", (100, 30), "Esc close") } else { ("\u{1b}", (80, 24), "q quit") };
        for _ in 0..5 {
            session.resize((60, 20));
        }
        session.resize(size);
        session.press(key);
        session.wait_for(&[shown]);
    }
    session.press("q");
    assert_eq!(session.end().0.exit_code(), 0);
}

#[test]
fn paste_without_brackets_is_text_and_not_commands() {
    let (mut session, _home) = start_demo();
    session.wait_for(&["hoptop DEMO", "5 All 20"]);
    // If the end of the text were read as keys, it would untrack the transaction and quit.
    session.press("0xabcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789,42161,8453,quote-1\rxq\rq");
    session.wait_for(&["Add or find", "+ ready", "Enter track", "Esc cancel"]);
    session.press("\u{1b}");
    session.wait_for(&["5 All 20", "q quit"]);
    session.press("\u{3}");
    assert_eq!(session.end().0.exit_code(), 0);
}

#[test]
fn paste_of_megabytes_is_cut() {
    let (mut session, _home) = start_demo();
    session.wait_for(&["hoptop DEMO", "5 All 20"]);
    session.press(&format!("\u{1b}[200~{}\u{1b}[201~", "some words and no hash\r".repeat(10 << 20 >> 5)));
    session.wait_for(&["Add or find", "no hash found", "the text was cut", "Esc cancel"]);
    session.press("\u{1b}");
    // The next key waits for the footer: a key right after Esc would be read as Alt with that key.
    session.wait_for(&["q quit"]);
    session.press("q");
    assert_eq!(session.end().0.exit_code(), 0);
}

#[test]
fn paste_without_an_end_gives_the_keyboard_back() {
    let (mut session, _home) = start_demo();
    session.wait_for(&["hoptop DEMO", "5 All 20"]);
    session.press("\u{1b}[200~abc");
    session.wait_for(&["no hash found", "Esc cancel"]);
    session.press("\u{1b}");
    session.wait_for(&["q quit"]);
    session.press("q");
    assert_eq!(session.end().0.exit_code(), 0);
}

#[test]
fn interrupt_key_ends_the_program_in_a_paste_without_an_end() {
    let (mut session, _home) = start_demo();
    session.wait_for(&["hoptop DEMO", "5 All 20"]);
    session.press("\u{1b}[200~abc");
    // Less than the time after which the paste ends by itself.
    session.take_for(Duration::from_millis(200));
    session.press("\u{3}");
    assert_eq!(session.end().0.exit_code(), 0);
}

#[test]
fn key_after_an_unfinished_sequence_is_handled() {
    for unfinished in [&b"\x1b["[..], b"\x1b[1;", b"\x1b[<0;1", b"\x1b[M", b"\x1bO", b"\xf0\x9f"] {
        let (mut session, _home) = start_demo();
        session.wait_for(&["hoptop DEMO", "5 All 20"]);
        session.send(unfinished);
        session.take_for(Duration::from_millis(1_500));
        session.press("q");
        assert_eq!(session.end().0.exit_code(), 0, "{unfinished:?}");
    }
}

#[test]
fn input_that_arrives_byte_by_byte_is_understood() {
    let (mut session, _home) = start_demo();
    session.wait_for(&["hoptop DEMO", "5 All 20"]);
    let mut send_slowly = |bytes: &[u8], shown: &str| {
        for byte in bytes {
            session.send(&[*byte]);
            session.take_for(Duration::from_millis(5));
        }
        session.wait_for(&[shown]);
    };
    // Focus, a search for `é`, Esc, and a click on `? help` in the footer.
    send_slowly(b"\x1b[O\x1b[I/", "/");
    send_slowly("é".as_bytes(), "é");
    send_slowly(b"\x1b", "? help");
    send_slowly(b"\x1b[<0;3;24M\x1b[<0;3;24m", "Esc close");
    send_slowly(b"\x1b[6~", "Esc close");
    session.press("\u{3}");
    assert_eq!(session.end().0.exit_code(), 0);
}

#[test]
fn terminal_title_and_modes_are_set_and_restored() {
    let (mut session, _home) = start_demo();
    session.wait_for(&["hoptop DEMO", "SAY"]);
    session.press("?");
    session.wait_for(&["Search:"]);
    session.press("\u{3}");
    let (_, output) = session.end();
    for part in ["\u{1b}[22;2t", "\u{1b}]0;hoptop", "\u{1b}[?2026h", "\u{1b}[?2026l", "\u{1b}[?1004h", "\u{1b}[?1000h"]
    {
        assert!(output.contains(part), "{part:?}");
    }
    let end = &output[output.rfind("\u{1b}[?2026l").unwrap()..];
    for part in ["\u{1b}]0;\u{7}\u{1b}[23;2t", "\u{1b}[?1004l", "\u{1b}[?1000l"] {
        assert!(end.contains(part), "{part:?} in {end:?}");
    }
}

#[test]
fn missing_integrator_id_is_reported_before_the_terminal_is_taken_over() {
    let (mut session, _home) = start(env!("CARGO_BIN_EXE_hoptop"), &["--base-url", "http://service.example"]);
    session.wait_for(&["HOPTOP_INTEGRATOR_ID"]);
    let (status, output) = session.end();
    assert_eq!(status.exit_code(), 2, "{output}");
}
