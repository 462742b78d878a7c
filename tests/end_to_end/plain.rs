//! The dashboard for screen readers in a pipe: lines that are only added, commands that are typed, the end.

use std::process::Stdio;

use super::{
    SUCCESS,
    common::{Batch, Ended, Home, ID, Running, Simulation},
};

fn until(running: &mut Running, part: &str) -> Vec<String> {
    /// Between two paragraphs there are one or two; at the end there is nothing else.
    const EMPTY: usize = 3;
    let mut lines: Vec<String> = Vec::new();
    loop {
        lines.push(running.line());
        let empty = lines.iter().rev().take_while(|line| line.is_empty()).count();
        assert!(empty <= EMPTY, "no line with {part}: {lines:#?}");
        if lines.last().is_some_and(|line| line.contains(part)) {
            return lines;
        }
    }
}

#[test]
fn it_tells_what_changes_answers_commands_and_ends_with_its_input() {
    let batch = Batch::of(1, SUCCESS);
    let simulation = Simulation::start(&batch.scenario);
    let home = Home::new();
    home.import(&batch.csv);
    let mut command = home.polling(&simulation.url, &["--plain"]);
    command.stdin(Stdio::piped());
    let mut plain = Running::start(command);
    let first = until(&mut plain, "Type help");
    assert!(first[0].contains("hoptop, profile default. Tracked 1; needing attention 0, active 1"), "{first:#?}");
    let changed = until(&mut plain, "status success");
    let last = changed.last().unwrap();
    assert!(last.contains(" 0x0000...0001 Arbitrum to Base, ticket SUP-1: status success, settled"), "{last}");
    plain.send("list is:settled\nnonsense\n");
    let listed = until(&mut plain, "1 shown of 1");
    let sentence = "no alert: success, 0x0000...0001 Arbitrum to Base, ticket SUP-1, ";
    assert!(listed.iter().any(|line| line.starts_with(sentence)), "{listed:#?}");
    until(&mut plain, "There is no such command here; type help");
    plain.send(&format!("show 0x{:064x}\n", 1));
    until(&mut plain, "SUP-1");
    let ended = plain.end();
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let told = [first, changed].concat().join("\n") + &ended.out;
    assert!(!told.contains('\u{1b}') && !told.contains(ID), "{told}");
}

#[test]
fn a_variable_that_is_set_for_good_keeps_no_script_waiting() {
    let home = Home::new();
    home.import(&Batch::of(1, SUCCESS).csv);
    let mut command = home.hoptop(&["--no-poll"]);
    let ended = Ended::of(command.env("ACCESSIBLE", "1").output().unwrap());
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.out.contains("1 shown of 1") && ended.err.contains("no terminal, so this is the list"),
        "{}",
        ended.err
    );
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_and_names_itself() {
    for (name, code) in [("TERM", 143), ("INT", 130)] {
        let home = Home::new();
        let mut command = home.hoptop(&["--plain", "--no-poll"]);
        command.stdin(Stdio::piped());
        let mut plain = Running::start(command);
        let told = until(&mut plain, "Type help");
        assert!(told.iter().any(|line| line.contains("Not polling.")), "{told:#?}");
        plain.signal(name);
        // Not before it has ended: the end of its input would end it too.
        while !plain.line().is_empty() {}
        assert_eq!(plain.end().code, Some(code));
    }
}
