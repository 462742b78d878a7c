//! The dashboard for screen readers in a pipe: appended lines, typed commands, and the end.

use std::process::Stdio;

use super::{
    SUCCESS,
    common::{Home, ID, ProcessOutput, ProgramProcess, ScenarioBatch, SimulatorProcess},
};

/// Reads lines until one contains `part`, and returns all of them.
fn read_lines_until(running: &mut ProgramProcess, part: &str) -> Vec<String> {
    /// The most empty lines between two paragraphs; more of them mean the end of the output.
    const MAX_EMPTY_LINES: usize = 3;
    let mut lines: Vec<String> = Vec::new();
    loop {
        lines.push(running.read_line());
        let empty = lines.iter().rev().take_while(|line| line.is_empty()).count();
        assert!(empty <= MAX_EMPTY_LINES, "no line with {part}: {lines:#?}");
        if lines.last().is_some_and(|line| line.contains(part)) {
            return lines;
        }
    }
}

#[test]
fn plain_mode_reports_changes_runs_commands_and_ends_with_its_input() {
    let batch = ScenarioBatch::repeat(1, SUCCESS);
    let simulation = SimulatorProcess::start(&batch.scenario);
    let home = Home::new();
    home.import(&batch.csv);
    let mut command = home.polling_command(&simulation.url, &["--plain"]);
    command.stdin(Stdio::piped());
    let mut plain = ProgramProcess::start(command);
    let first = read_lines_until(&mut plain, "Type help");
    assert!(first[0].contains("hoptop, profile default. Tracked 1; needing attention 0, active 1"), "{first:#?}");
    let changed = read_lines_until(&mut plain, "status success");
    let last = changed.last().unwrap();
    assert!(last.contains(" 0x0000...0001 Arbitrum to Base, ticket SUP-1: status success, settled"), "{last}");
    plain.send("list is:settled\nnonsense\n");
    let listed = read_lines_until(&mut plain, "1 shown of 1");
    let sentence = "no alert: success, 0x0000...0001 Arbitrum to Base, ticket SUP-1, ";
    assert!(listed.iter().any(|line| line.starts_with(sentence)), "{listed:#?}");
    read_lines_until(&mut plain, "There is no such command here; type help");
    plain.send(&format!("show 0x{:064x}\n", 1));
    read_lines_until(&mut plain, "SUP-1");
    let ended = plain.end();
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let output = [first, changed].concat().join("\n") + &ended.out;
    assert!(!output.contains('\u{1b}') && !output.contains(ID), "{output}");
}

#[test]
fn accessible_variable_does_not_make_a_script_wait_for_input() {
    let home = Home::new();
    home.import(&ScenarioBatch::repeat(1, SUCCESS).csv);
    let mut command = home.command(&["--no-poll"]);
    let ended = ProcessOutput::new(command.env("ACCESSIBLE", "1").output().unwrap());
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.out.contains("1 shown of 1") && ended.err.contains("no terminal: printing the list"),
        "{}",
        ended.err
    );
}

#[test]
fn signal_ends_plain_mode_with_its_exit_code() {
    for (name, code) in [("TERM", 143), ("INT", 130)] {
        let home = Home::new();
        let mut command = home.command(&["--plain", "--no-poll"]);
        command.stdin(Stdio::piped());
        let mut plain = ProgramProcess::start(command);
        let output = read_lines_until(&mut plain, "Type help");
        assert!(output.iter().any(|line| line.contains("Not polling.")), "{output:#?}");
        plain.signal(name);
        // Reads to the end of the output first, because `end` closes the input and would end the program as well.
        while !plain.read_line().is_empty() {}
        assert_eq!(plain.end().code, Some(code));
    }
}
