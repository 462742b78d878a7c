//! What operators and scripts rely on, from the built program: exit codes, statistics, metrics for Prometheus, imported
//! notes.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use hoptop::internals::clock::Clock;
use serde_json::{Value, json};

use super::{
    ONGOING, SUCCESS,
    common::{Home, ProcessOutput, ProgramProcess, ScenarioBatch, SimulatorProcess},
};

const PAGE: &str = r#"{ from = 0, http = 200, body = "<html>maintenance</html>" }"#;

/// Returns what `hoptop stats --json` prints.
fn stats(home: &Home) -> Value {
    let ended = home.run(&["stats", "--json"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    serde_json::from_str(&ended.out).unwrap()
}

/// Returns the CSV of a batch with a column for the time of submission: `minutes` ago.
fn submitted(csv: &str, minutes: u64) -> String {
    let at = Clock::system().now().wall - Duration::from_secs(60 * minutes);
    let mut lines = csv.lines();
    let head = format!("{},submittedAt\n", lines.next().unwrap());
    head + &lines.map(|line| format!("{line},{}\n", at.timestamp())).collect::<String>()
}

#[test]
fn every_unusable_answer_ends_check_and_watch_with_6() {
    let batch = ScenarioBatch::new(&[PAGE]);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let check = home.polling_command(&simulation.url, &["check", "0000000001"]).output().unwrap();
    assert_eq!(ProcessOutput::new(check).code, Some(6));
    let watch = home.watch(&simulation.url, &["--json", "--until-settled", "--timeout", "7s"]);
    watch.assert_exit(6, &["no usable answer was received"]);
}

#[test]
fn statistics_count_deadlines_met_and_missed_by_the_answers() {
    let batch = ScenarioBatch::new(&[SUCCESS, ONGOING]);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&submitted(&batch.csv, 20));
    // Twenty minutes are past the deadline, but no answer says that anything is late.
    assert_eq!(stats(&home)["deadlines"], json!({"met": 0, "missed": 0, "unknown": 0, "share": null}));
    assert_eq!(stats(&home)["routes"][0]["outcomes"], json!({"unanswered": 2}));
    home.watch(&simulation.url, &["--json", "--until-settled", "--timeout", "4s"]);
    let view = stats(&home);
    assert_eq!(view["deadlines"], json!({"met": 0, "missed": 1, "unknown": 1, "share": 0.0}));
    assert_eq!(
        (&view["routes"][0]["deadlines"], &view["weeks"][0]["deadlines"]),
        (&view["deadlines"], &view["deadlines"])
    );
    let text = home.run(&["stats"]).out;
    assert!(text.contains("IN TIME 0 % of 1 that settled or passed their deadline were in time (1 unknown)"), "{text}");
}

#[test]
fn prometheus_gets_its_text_format_with_durations_and_sizes() {
    // A duration counts as measured only if most of the transfer was watched.
    let batch = ScenarioBatch::new(&[
        r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 6, status = "success", steps = 3 }"#,
    ]);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&submitted(&batch.csv, 0));
    let words = ["watch", "--json", "--metrics", "localhost:0", "--timeout", "1m"];
    let mut watch = ProgramProcess::start(home.polling_command(&simulation.url, &words));
    let address = watch.read_metrics_address();
    watch.read_events_until("settled", 1);
    let get = || {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET /metrics HTTP/1.0\r\nAccept: text/plain;version=0.0.4\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let route = "profile=\"default\",from_chain=\"42161\",to_chain=\"8453\"";
    let met = format!("hoptop_settled_transfers_total{{{route},status=\"success\",deadline=\"met\"}} 1");
    let deadline = Clock::system().now().mono + Duration::from_secs(20);
    // The metrics follow the store within a moment.
    while !get().lines().any(|line| line == met) {
        assert!(Clock::system().now().mono < deadline, "{met} is missing:\n{}", get());
    }
    let text = get();
    assert!(text.contains("content-type: text/plain; version=0.0.4"), "{text}");
    for part in [
        "# TYPE hoptop_transfer_duration_seconds histogram",
        "hoptop_store_size_bytes{file=\"database\"} ",
        "deadline=\"missed\"} 0",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    watch.signal("TERM");
    assert_eq!(watch.end().code, Some(143));
}

#[test]
fn each_line_of_an_imported_note_is_kept_and_a_ticket_is_removed() {
    let home = Home::new();
    let hash = format!("0x{:064x}", 1);
    home.import(&format!(
        "transactionId,fromChainId,toChainId,quoteId,ticket,note\n{hash},42161,8453,q-1,SUP-1,\"asked the bridge\nno answer\"\n"
    ));
    let list = home.list();
    assert_eq!((&list[0]["notes"], &list[0]["ticket"]), (&json!(["asked the bridge", "no answer"]), &json!("SUP-1")));
    assert_eq!(home.run(&["ticket", &hash, "--remove"]).code, Some(0));
    assert_eq!(home.list()[0]["ticket"], Value::Null);
}

#[test]
fn answers_keep_the_ids_that_the_service_gave_them() {
    let batch = ScenarioBatch::new(&[SUCCESS]);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    assert_eq!(home.watch(&simulation.url, &["--json", "--until-settled", "--timeout", "20s"]).code, Some(0));
    let ids = home.list()[0]["requestIds"].as_array().unwrap().clone();
    assert!(!ids.is_empty() && ids.iter().all(|id| id.as_str().is_some_and(|id| id.len() >= 8)), "{ids:?}");
}

#[test]
fn address_of_a_service_that_listens_everywhere_can_be_used_on_this_machine() {
    let home = Home::new();
    let mut service = ProgramProcess::start(home.command(&["simulate", "--listen", "0.0.0.0:0"]));
    let line = service.read_line();
    let address = line.split_once("http://127.0.0.1:").and_then(|(_, rest)| rest.split(':').next());
    let port: u16 = address.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
    TcpStream::connect(("127.0.0.1", port)).unwrap();
}

/// Takes three minutes, most of them without work.
#[test]
fn three_minutes_of_a_refused_id_end_a_watch_until_settled_and_no_other() {
    let batch = ScenarioBatch::new(&[SUCCESS]);
    let simulation = SimulatorProcess::start(&batch.scenario);
    let start = |home: &Home, words: &[&str]| {
        home.import(&batch.csv);
        let mut command = home.polling_command(&simulation.url, words);
        command.env("HOPTOP_INTEGRATOR_ID", "revoked-integrator-7f3a");
        ProgramProcess::start(command)
    };
    let homes = [Home::new(), Home::new()];
    let forever = start(&homes[0], &["watch", "--json"]);
    let until_settled = start(&homes[1], &["watch", "--json", "--until-settled"]);
    let begun = Clock::system().now().mono;
    until_settled.end().assert_exit(5, &["the service refused the integrator ID"]);
    let took = Clock::system().now().mono.since(begun);
    assert!((Duration::from_secs(175)..Duration::from_secs(250)).contains(&took), "{took:?}");
    // The other one goes on: it ends only by the signal.
    forever.signal("TERM");
    assert_eq!(forever.end().code, Some(143));
}
