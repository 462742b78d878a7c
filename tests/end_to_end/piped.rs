//! `watch -` tracks and watches rows from a pipe; and the progress line of `watch`.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{
    ONGOING, SUCCESS, assert_summary,
    common::{Home, ProcessOutput, ProgramProcess, ScenarioBatch, SimulatorProcess},
    session::Session,
};

/// Succeeds after two seconds.
const SOON: &str = r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 2, status = "success", steps = 2 }"#;

/// Starts `watch - --json` with a pipe as its input.
fn start_watch(home: &Home, simulation: &SimulatorProcess, words: &[&str]) -> ProgramProcess {
    let mut command = home.polling_command(&simulation.url, &[&["watch", "-", "--json"], words].concat());
    command.stdin(Stdio::piped());
    ProgramProcess::start(command)
}

/// Returns the lines of a batch: its header and its rows.
fn csv_lines(batch: &ScenarioBatch) -> Vec<String> {
    batch.csv.lines().map(|line| format!("{line}\n")).collect()
}

fn hashes(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["transactionId"].as_str()).collect()
}

#[test]
fn piped_rows_are_watched_until_settled() {
    let batch = ScenarioBatch::new(&[SOON, SUCCESS, ONGOING]);
    let (home, simulation, lines) = (Home::new(), SimulatorProcess::start(&batch.scenario), csv_lines(&batch));
    // Transactions that were tracked before aren't waited for, unless the pipe names them again.
    home.import(&[lines[0].as_str(), &lines[2], &lines[3]].concat());
    let mut watch = start_watch(&home, &simulation, &["--until-settled", "--timeout", "1m"]);
    watch.send(&lines[..2].concat());
    let events = watch.read_events_until("settled", 1);
    // All piped rows are settled, but the pipe is open. The next row may be settled before the pipe names it.
    watch.send(&lines[2]);
    let ended = watch.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.err, "", "standard error is no terminal, and there is no error");
    assert_eq!(ended.events().pop().unwrap()["counts"], json!({"success": 2}));
    assert_eq!(events[0]["event"], "imported");
    let stuck = lines[3].split(',').next().unwrap();
    assert!(!hashes(&events).contains(&stuck) && !hashes(&ended.events()).contains(&stuck), "{events:?}");
}

#[test]
fn bad_line_is_named_and_ends_watch_with_an_error() {
    let batch = ScenarioBatch::repeat(2, SUCCESS);
    let (home, simulation, lines) = (Home::new(), SimulatorProcess::start(&batch.scenario), csv_lines(&batch));
    let mut watch = start_watch(&home, &simulation, &["--until-settled", "--timeout", "30s"]);
    watch.send(&[lines[0].as_str(), &lines[1], "0xabc,,,\n", &lines[2]].concat());
    let ended = watch.end();
    ended.assert_exit(1, &["line 3: ", "1 bad line\n"]);
    assert_summary(&ended, &json!({"success": 2}), 2);
}

#[test]
fn input_that_is_not_line_based_ends_watch_at_once() {
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&ScenarioBatch::repeat(1, SUCCESS).scenario));
    for (text, code, message) in
        [("[{}]\n", 2, "a JSON array can't be followed"), ("a,b\n", 1, "the first row is not a header")]
    {
        let mut watch = start_watch(&home, &simulation, &[]);
        watch.send(text);
        watch.end().assert_exit(code, &[message]);
    }
    home.watch(&simulation.url, &["-", "label:x"]).assert_exit(2, &["combined with a filter"]);
}

#[test]
fn watch_of_an_open_pipe_ends_at_the_timeout_or_a_signal() {
    let batch = ScenarioBatch::repeat(1, SUCCESS);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    let mut timed = start_watch(&home, &simulation, &["--until-settled", "--timeout", "2s"]);
    timed.send(&batch.csv);
    let events = timed.read_events_until("summary", 1);
    assert_eq!(events.last().unwrap()["counts"], json!({"success": 1}));
    assert_eq!(timed.end().code, Some(3), "the pipe was still open");
    let mut signalled = start_watch(&home, &simulation, &[]);
    signalled.send(&[batch.csv.as_str(), "0xabc,,,\n"].concat());
    assert!(signalled.read_error_line().starts_with("line 3: "));
    signalled.signal("TERM");
    assert_eq!(signalled.end().code, Some(143));
}

#[test]
fn endless_input_delays_neither_polling_nor_the_timeout() {
    let batch = ScenarioBatch::repeat(1, SUCCESS);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    let endless = "transactionId,fromChainId,toChainId,quoteId\n";
    let script = format!("printf '{endless}'; seq 1000000 9000000 | sed 's/.*/0xabcdef&,1,10,q/'");
    let mut generator = std::process::Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut command =
        home.polling_command(&simulation.url, &["watch", "-", "--json", "--until-settled", "--timeout", "8s"]);
    command.stdin(generator.stdout.take().unwrap());
    let clock = hoptop::internals::clock::Clock::system();
    let began = clock.now().mono;
    let ended = ProcessOutput::new(command.output().unwrap());
    let took = clock.now().mono.since(began);
    generator.kill().unwrap();
    generator.wait().unwrap();
    assert_eq!(ended.code, Some(3), "the pipe was still open: {}", ended.err);
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
    assert_eq!(ended.events().first().unwrap()["event"], "imported");
}

#[test]
fn progress_line_is_shown_on_a_terminal_only() {
    let batch = ScenarioBatch::new(&[SUCCESS, SOON, SOON]);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let command = home.polling_command(&simulation.url, &["watch", "--until-settled", "--timeout", "1m"]);
    let mut session = Session::start(&command, (100, 20));
    session.wait_for(&["watching 3 transactions", "1 of 3 settled", "requests/s", "left"]);
    session.wait_for(&["3 success; "]);
    let screen = session.text();
    let (status, _) = session.end();
    assert_eq!(status.exit_code(), 0);
    assert!(!screen.contains("of 3 settled"), "the progress line stays after the watch: {screen}");
    let plain = home.polling_command(&simulation.url, &["watch", "--plain", "--until-settled"]);
    let (_, output) = Session::start(&plain, (100, 20)).end();
    assert!(!output.contains("settled  ") && output.contains("3 success; "), "{output}");
    let ended: ProcessOutput = home.watch(&simulation.url, &["--until-settled"]);
    assert_eq!(ended.err, "");
}
