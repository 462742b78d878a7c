//! `watch -`: what comes through a pipe is tracked and watched; and the line that says how far a watch is.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{
    ONGOING, SUCCESS, assert_summary,
    common::{Batch, Ended, Home, Running, Simulation},
    session::Session,
};

/// Ends within two seconds.
const SOON: &str = r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 2, status = "success", steps = 2 }"#;

fn watch(home: &Home, simulation: &Simulation, words: &[&str]) -> Running {
    let mut command = home.polling(&simulation.url, &[&["watch", "-", "--json"], words].concat());
    command.stdin(Stdio::piped());
    Running::start(command)
}

/// The lines of a batch: its header, and each of its rows.
fn lines(batch: &Batch) -> Vec<String> {
    batch.csv.lines().map(|line| format!("{line}\n")).collect()
}

fn hashes(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["transactionId"].as_str()).collect()
}

#[test]
fn what_comes_through_the_pipe_is_watched_to_its_end() {
    let batch = Batch::new(&[SOON, SUCCESS, ONGOING]);
    let (home, simulation, lines) = (Home::new(), Simulation::start(&batch.scenario), lines(&batch));
    // Of what was tracked before nothing is awaited, unless it comes again.
    home.import(&[lines[0].as_str(), &lines[2], &lines[3]].concat());
    let mut watch = watch(&home, &simulation, &["--until-settled", "--timeout", "1m"]);
    watch.send(&lines[..2].concat());
    let events = watch.until("settled", 1);
    // All that came is settled, and more may come: this one, which settled before anybody asked for it.
    watch.send(&lines[2]);
    let ended = watch.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.err, "", "nobody looks, and nothing is wrong");
    assert_eq!(ended.events().pop().unwrap()["counts"], json!({"success": 2}));
    assert_eq!(events[0]["event"], "imported");
    let stuck = lines[3].split(',').next().unwrap();
    assert!(!hashes(&events).contains(&stuck) && !hashes(&ended.events()).contains(&stuck), "{events:?}");
}

#[test]
fn a_bad_line_is_named_and_never_ends_well() {
    let batch = Batch::of(2, SUCCESS);
    let (home, simulation, lines) = (Home::new(), Simulation::start(&batch.scenario), lines(&batch));
    let mut watch = watch(&home, &simulation, &["--until-settled", "--timeout", "30s"]);
    watch.send(&[lines[0].as_str(), &lines[1], "0xabc,,,\n", &lines[2]].concat());
    let ended = watch.end();
    ended.assert_refused(1, &["line 3: ", "1 bad line\n"]);
    assert_summary(&ended, &json!({"success": 2}), 2);
}

#[test]
fn what_cannot_be_read_as_lines_ends_it_at_once() {
    let (home, simulation) = (Home::new(), Simulation::start(&Batch::of(1, SUCCESS).scenario));
    for (text, code, said) in [("[{}]\n", 2, "a JSON array has an end"), ("a,b\n", 1, "this is no header row")] {
        let mut watch = watch(&home, &simulation, &[]);
        watch.send(text);
        watch.end().assert_refused(code, &[said]);
    }
    let ended = watch(&home, &simulation, &["--until-settled"]).end();
    assert_eq!(ended.code, Some(0), "of nothing all is settled: {ended:?}");
    home.watch(&simulation.url, &["-", "label:x"]).assert_refused(2, &["without a filter"]);
}

#[test]
fn a_pipe_that_stays_open_ends_with_the_time_or_a_signal() {
    let batch = Batch::of(1, SUCCESS);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    let mut timed = watch(&home, &simulation, &["--until-settled", "--timeout", "2s"]);
    timed.send(&batch.csv);
    let events = timed.until("summary", 1);
    assert_eq!(events.last().unwrap()["counts"], json!({"success": 1}));
    assert_eq!(timed.end().code, Some(3), "more was to come");
    let mut signalled = watch(&home, &simulation, &[]);
    signalled.send(&[batch.csv.as_str(), "0xabc,,,\n"].concat());
    assert!(signalled.complaint().starts_with("line 3: "));
    signalled.signal("TERM");
    assert_eq!(signalled.end().code, Some(143));
}

#[test]
fn a_pipe_that_never_pauses_holds_up_neither_the_watch_nor_its_end() {
    let batch = Batch::of(1, SUCCESS);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    let endless = "transactionId,fromChainId,toChainId,quoteId\n";
    let script = format!("printf '{endless}'; seq 1000000 9000000 | sed 's/.*/0xabcdef&,1,10,q/'");
    let mut generator = std::process::Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut command = home.polling(&simulation.url, &["watch", "-", "--json", "--until-settled", "--timeout", "3s"]);
    command.stdin(generator.stdout.take().unwrap());
    let clock = hoptop::clock::Clock::system();
    let began = clock.now().mono;
    let ended = Ended::of(command.output().unwrap());
    let took = clock.now().mono.since(began);
    generator.kill().unwrap();
    generator.wait().unwrap();
    assert_eq!(ended.code, Some(3), "more was to come: {}", ended.err);
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
    assert_eq!(ended.events().first().unwrap()["event"], "imported");
}

#[test]
fn a_terminal_sees_how_far_it_is_and_a_pipe_sees_nothing_of_it() {
    let batch = Batch::new(&[SUCCESS, SOON, SOON]);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let command = home.polling(&simulation.url, &["watch", "--until-settled", "--timeout", "1m"]);
    let mut session = Session::start(&command, (100, 20));
    session.wait_for(&["watching 3 transactions", "1 of 3 settled", "requests/s", "left"]);
    session.wait_for(&["3 success; "]);
    let screen = session.text();
    let (status, _) = session.end();
    assert_eq!(status.exit_code(), 0);
    assert!(!screen.contains("of 3 settled"), "the line goes with the watch: {screen}");
    let plain = home.polling(&simulation.url, &["watch", "--plain", "--until-settled"]);
    let (_, output) = Session::start(&plain, (100, 20)).end();
    assert!(!output.contains("settled  ") && output.contains("3 success; "), "{output}");
    let ended: Ended = home.watch(&simulation.url, &["--until-settled"]);
    assert_eq!(ended.err, "");
}
