//! The program, started as users start it, against the simulated service over HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints its figures"
)]

mod backups;
mod batch_delay;
mod beside;
mod common;
mod concurrent_processes;
#[cfg(target_os = "linux")]
mod container;
mod damaged_values;
mod diagnosis;
mod endings;
mod evm_node;
mod guides;
mod import_export;
#[path = "../json_schema/mod.rs"]
mod json_schema;
mod limits;
mod metrics;
mod nothing_watched;
mod notifications;
mod npm;
mod one_shot;
mod operators;
mod package;
mod people;
mod piped;
mod plain;
mod readme;
mod reload;
mod report;
mod schemas;
mod sdk;
#[cfg(target_os = "linux")]
mod service;
#[path = "../session/mod.rs"]
mod session;
mod sharing;
mod shell;
mod webhook;

use std::{collections::BTreeMap, fs, net::TcpListener};

use serde_json::{Value, json};

use common::{
    HEADER, Home, ID, ProcessOutput, ProgramProcess, ScenarioBatch, SimulatorProcess, list_files, parse_event,
};

const ONGOING: &str = r#"{ from = 0, status = "ongoing", steps = 1 }"#;
const SUCCESS: &str = r#"{ from = 0, status = "success", steps = 3 }"#;

/// Returns 30 transactions that settle within 8 seconds, three of them as `partial_success`.
fn batch_of_30() -> ScenarioBatch {
    let late = r#"{ from = 0, http = 404 }, { from = 2.5, status = "ongoing", steps = 1 },
        { from = 6, status = "success", steps = 3 }"#;
    let paused = r#"{ from = 0, status = "not_found" }, { from = 2, status = "ongoing", steps = 1 },
        { from = 4, status = "needs_gas", steps = 2 }, { from = 8, status = "success", steps = 3 }"#;
    let plain = r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 7, status = "success", steps = 2 }"#;
    let reverted =
        r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 5, status = "partial_success", steps = 2 }"#;
    let kinds = [late, paused, plain, late, paused, plain, late, paused, plain, reverted];
    ScenarioBatch::new(&kinds.repeat(3))
}

/// Checks the last event, the summary: how many transactions have each status, and the number of requests.
fn assert_summary(ended: &ProcessOutput, counts: &Value, requests: u64) {
    let last = ended.events().pop().unwrap();
    assert_eq!((&last["event"], &last["counts"]), (&json!("summary"), counts), "{last}");
    assert_eq!(last["requests"], requests, "{last}");
    assert!(last["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{last}");
}

fn import_and_watch_to_the_end(scenario: &str, csv: &str, counts: &Value) {
    let (home, simulation) = (Home::new(), SimulatorProcess::start(scenario));
    let path = home.write("batch.csv", csv);
    let rows = csv.lines().count() - 1;
    let first = home.run(&["import", &path]);
    assert_eq!(
        (first.code, first.out.as_str()),
        (Some(0), format!("{rows} tracked, 0 updated, 0 already tracked\n").as_str())
    );
    let before = home.list();
    let second = home.run(&["import", &path]);
    assert_eq!(
        (second.code, second.out.as_str()),
        (Some(0), format!("0 tracked, 0 updated, {rows} already tracked\n").as_str())
    );
    assert_eq!(unpolled_fields(&home.list()), unpolled_fields(&before));

    let ended = home.watch(&simulation.url, &["--json", "--until-settled", "--timeout", "10m"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(4), ""));
    let list = home.list();
    assert_eq!(list.len(), rows);
    ScenarioBatch::assert_settled_as_scripted(scenario, &list);
    // The program, the service and the transactions must count the same number of requests.
    let requests = simulation.end_within_budget();
    assert_eq!(list.iter().filter_map(|tx| tx["polls"].as_u64()).sum::<u64>(), requests);
    assert_summary(&ended, counts, requests);
    let settled = ended.events().iter().filter(|event| event["event"] == "settled").count();
    assert_eq!(settled, rows);
}

/// Returns the fields of each transaction that polling must not change, by hash.
fn unpolled_fields(list: &[Value]) -> BTreeMap<String, [Value; 4]> {
    let fields = |tx: &Value| ["quoteId", "ticket", "labels", "firstSeenAt"].map(|key| tx[key].clone());
    list.iter().map(|tx| (tx["transactionId"].to_string(), fields(tx))).collect()
}

#[test]
fn batch_is_watched_until_every_transaction_is_settled() {
    let ScenarioBatch { scenario, csv } = batch_of_30();
    import_and_watch_to_the_end(&scenario, &csv, &json!({"partial_success": 3, "success": 27}));
}

// cargo test --test end_to_end -- --ignored
#[test]
#[ignore = "takes three minutes"]
fn shipped_batch_of_200_is_watched_until_every_transaction_is_settled() {
    let scenario = include_str!("../../assets/scenarios/batch-200.toml");
    let csv = include_str!("../../assets/batch-200.csv");
    import_and_watch_to_the_end(scenario, csv, &json!({"partial_success": 20, "success": 180}));
}

#[test]
fn second_import_of_the_shipped_batch_of_200_changes_nothing() {
    let home = Home::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/batch-200.csv");
    let first = home.run(&["import", path]);
    assert_eq!(
        (first.code, first.out.as_str(), first.err.as_str()),
        (Some(0), "200 tracked, 0 updated, 0 already tracked\n", "")
    );
    let before = home.list();
    assert_eq!(before.len(), 200);
    let second = home.run(&["import", path]);
    assert_eq!(
        (second.code, second.out.as_str(), second.err.as_str()),
        (Some(0), "0 tracked, 0 updated, 200 already tracked\n", "")
    );
    assert_eq!(unpolled_fields(&home.list()), unpolled_fields(&before));
}

#[test]
fn watch_exits_with_0_when_all_transactions_succeed() {
    let batch = ScenarioBatch::repeat(5, SUCCESS);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let ended = home.watch(&simulation.url, &["--json", "--until-settled", "--timeout", "30s"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert_summary(&ended, &json!({"success": 5}), 5);
    ScenarioBatch::assert_settled_as_scripted(&batch.scenario, &home.list());
    // Everything is settled, so no request is sent.
    let again = home.watch(&simulation.url, &["--json", "--until-settled", "--timeout", "30s"]);
    assert_eq!(again.code, Some(0));
    assert_summary(&again, &json!({"success": 5}), 0);
    assert_eq!(simulation.end_within_budget(), 5);
}

#[test]
fn watch_exit_code_depends_only_on_filtered_transactions() {
    let batch = ScenarioBatch::new(&[SUCCESS, ONGOING]);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let ended = home.watch(&simulation.url, &["label:row-1", "--until-settled", "--timeout", "30s"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(ended.out.lines().last().unwrap().starts_with("1 success; "), "{}", ended.out);
}

#[test]
fn filter_with_an_unknown_name_ends_watch_with_2() {
    let batch = ScenarioBatch::repeat(1, SUCCESS);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let until_settled = |filter: &[&str]| home.watch(&simulation.url, &[filter, &["--until-settled"]].concat());
    assert_eq!(until_settled(&["label:batch-9"]).code, Some(0));
    // A filter that no longer matches watches nothing, which is no success either.
    for empty in [&["is:unsettled"][..], &["label:batch-9", "is:unsettled"], &["is:unsettled -label:batch-10"]] {
        until_settled(empty).assert_exit(2, &["no tracked transaction matches"]);
        assert_eq!(until_settled(&[empty, &["--allow-empty"]].concat()).code, Some(0), "{empty:?}");
    }
    for unknown in ["label:batch-10", "ticket:SUP-99", "profile:partner"] {
        until_settled(&[unknown, "is:unsettled"])
            .assert_exit(2, &[&format!("in profile default has {}", unknown.to_lowercase())]);
    }
}

#[test]
fn killed_watch_loses_nothing() {
    let batch = batch_of_30();
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let words = ["watch", "--json", "--until-settled", "--timeout", "2m"];
    let mut first = ProgramProcess::start(home.polling_command(&simulation.url, &words));
    let events = first.read_events_until("status_changed", 40);
    first.signal("KILL");
    assert_eq!(first.end().code, None);

    let between = home.list();
    let by_hash = |list: &[Value]| -> BTreeMap<String, Value> {
        list.iter().map(|tx| (tx["transactionId"].to_string(), tx.clone())).collect()
    };
    let kept = by_hash(&between);
    let seen: BTreeMap<_, _> = events.iter().map(|event| (event["transactionId"].to_string(), event)).collect();
    assert!(
        !seen.is_empty() && between.iter().any(|tx| tx["settled"] == false),
        "the watch was killed after it had finished"
    );
    for (hash, event) in &seen {
        assert!(kept[hash]["polls"].as_u64() >= event["polls"].as_u64(), "{hash} lost an answer that was shown");
        assert!(!kept[hash]["status"].is_null());
    }

    let second = home.watch(&simulation.url, &words[1..]);
    assert_eq!((second.code, second.err.as_str()), (Some(4), ""));
    let after = home.list();
    assert_eq!(unpolled_fields(&after), unpolled_fields(&between));
    assert_eq!(after.len(), 30);
    for (hash, tx) in by_hash(&after) {
        assert!(tx["polls"].as_u64() >= kept[&hash]["polls"].as_u64(), "{hash}");
    }
    for (number, row) in (1..).zip(batch.csv.lines().skip(1)) {
        let tx = after.iter().find(|tx| row.starts_with(tx["transactionId"].as_str().unwrap())).unwrap();
        assert_eq!(tx["ticket"], format!("SUP-{number}"));
        assert_eq!(tx["labels"], json!(["batch-9", format!("row-{number}")]));
    }
    ScenarioBatch::assert_settled_as_scripted(&batch.scenario, &after);
    simulation.end_within_budget();
}

#[test]
fn two_watches_share_the_budget_and_both_finish() {
    let batch = ScenarioBatch::repeat(30, SUCCESS);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let words = ["watch", "--json", "--until-settled", "--timeout", "60s"];
    let both = [(); 2].map(|()| ProgramProcess::start(home.polling_command(&simulation.url, &words)));
    for ended in both.map(ProgramProcess::end) {
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    }
    assert_eq!(simulation.end_within_budget(), 30);
}

#[test]
fn bad_batch_is_refused_and_its_bad_line_is_named() {
    let cases = [
        (
            "transactionId,fromChainId,toChainId\n0xabcdef12,1,10\n".to_owned(),
            vec!["line 1", "has no quoteId", "needs at least"],
        ),
        (
            format!("{HEADER}0xabcdef12,1,10,q,,,,\n0xabcdef13,1,,q,,,,\n"),
            vec!["line 3", "toChainId is missing", "requires"],
        ),
        (
            format!("{HEADER}0xabcdef12,1,10,q,,,,\n0xabcdef13,arbitrum,10,q,,,,\n"),
            vec!["line 3", "`arbitrum`", "42161"],
        ),
        (
            format!("{HEADER}0xabcdef12,1,10,q,,,,\n0xabcdef13,no chain,10,q,,,,\n"),
            vec!["line 3", "fromChainId", "no chain"],
        ),
    ];
    for (csv, words) in cases {
        let home = Home::new();
        let ended = home.run(&["import", &home.write("bad.csv", &csv)]);
        ended.assert_exit(1, &words);
        ended.assert_exit(1, &["nothing was imported", "bad.csv"]);
        assert_eq!((ended.out.as_str(), home.list()), ("", vec![]));
    }
    let home = Home::new();
    home.run(&["import", "missing.csv"]).assert_exit(1, &["missing.csv", "no such file", "check the path"]);
}

#[test]
fn missing_polling_settings_are_named_with_a_remedy() {
    let home = Home::new();
    let cases = [
        (Some("http://127.0.0.1:1"), None, vec!["no integrator ID", "polling needs it", "set HOPTOP_INTEGRATOR_ID"]),
        (None, Some(ID), vec!["no base URL", "polling needs it", "--base-url"]),
        (Some("http://192.0.2.1"), Some(ID), vec!["http for 192.0.2.1", "unencrypted", "use https"]),
        (Some("ftp://localhost"), Some(ID), vec!["`ftp:`", "must start with https://"]),
        (Some("http://127.0.0.1:1"), Some("two words-7f3a"), vec!["HOPTOP_INTEGRATOR_ID", "can't be used"]),
        (Some("http://127.0.0.1:1"), Some("two\nlines-7f3a"), vec!["HOPTOP_INTEGRATOR_ID", "can't be used"]),
    ];
    for (url, id, words) in cases {
        let mut command = home.command(&["watch", "--timeout", "1m"]);
        command.envs(url.map(|url| ("HOPTOP_BASE_URL", url))).envs(id.map(|id| ("HOPTOP_INTEGRATOR_ID", id)));
        let ended = ProcessOutput::new(command.output().unwrap());
        ended.assert_exit(2, &words);
        assert!(ended.out.is_empty() && id.is_none_or(|id| !ended.err.contains(&id[..5])), "{ended:?}");
    }
    let wrong = home.polling_command("http://127.0.0.1:1", &["watch", "--rps", "0"]).output().unwrap();
    ProcessOutput::new(wrong).assert_exit(2, &["0 is not a valid rate", "--rps", "above 0"]);
}

#[test]
fn read_only_commands_create_no_store() {
    let home = Home::new();
    let missing = home.path().join("mistyped.db");
    let read = |words: &[&str]| home.run(&[&["--db", missing.to_str().unwrap()], words].concat());
    let rows = home.write("rows.csv", "transactionId,fromChainId,toChainId,quoteId\n0xabcdef12,1,10,q\n");
    assert_eq!(read(&["list", "--json"]).out.trim(), "[]");
    assert_eq!(read(&["import", "--dry-run", &rows]).code, Some(0));
    for words in [&["export"][..], &["stats"], &["alerts"]] {
        let ended = read(words);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{words:?}");
    }
    for words in [&["show", "0xabcdef12"][..], &["untrack", "0xabcdef12"]] {
        read(words).assert_exit(1, &["not tracked"]);
    }
    let below_a_file = format!("{rows}/hoptop.db");
    home.run(&["--db", &below_a_file, "list"]).assert_exit(1, &["can't create the store", "rows.csv"]);
    read(&["backup", "copy.db"]).assert_exit(1, &["there is no store at", "mistyped.db"]);
    assert_eq!(list_files(home.path()), [home.path().join("rows.csv")]);
    assert_eq!(read(&["import", &rows]).code, Some(0));
    assert!(missing.exists(), "an import must create the store");
}

#[test]
fn unknown_arguments_are_usage_errors() {
    let home = Home::new();
    home.import(&ScenarioBatch::repeat(1, SUCCESS).csv);
    home.run(&["list", "--frobnicate"]).assert_exit(2, &["--frobnicate", "--help"]);
    home.run(&["frobnicate"]).assert_exit(2, &["frobnicate", "--help"]);
    home.run(&["watch", "--timeout", "soon"]).assert_exit(2, &["--timeout", "soon"]);
    home.run(&["simulate", "--rps", "0"]).assert_exit(2, &["0 is not a valid rate", "--rps"]);
    home.run(&["store", "move", "a.db", "b.db"]).assert_exit(2, &["needs a file and a team's store"]);
    home.run(&["--no-poll", "watch"]).assert_exit(2, &["`--no-poll` works only for the dashboard"]);
    home.run(&["--any-chain", "import", "a.csv"]).assert_exit(2, &["give it after a command that takes chains"]);
    assert_eq!(home.run(&["--no-poll", "list"]).code, Some(0));
    home.run(&["list", "status:bogus"]).assert_exit(2, &["invalid filter", "bogus", "ongoing"]);
    home.watch("http://127.0.0.1:1", &["is:bogus"]).assert_exit(2, &["invalid filter", "bogus", "overdue"]);
}

#[test]
fn unreachable_service_ends_watch_with_6() {
    let home = Home::new();
    home.import(&ScenarioBatch::repeat(10, SUCCESS).csv);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let ended = home.watch(&url, &["--json", "--until-settled", "--timeout", "4s"]);
    ended.assert_exit(6, &["no usable answer was received", "base URL"]);
    let unreachable: Vec<_> = ended.events().into_iter().filter(|event| event["event"] == "unreachable").collect();
    assert_eq!(unreachable.len(), 1);
    assert_eq!(unreachable[0]["error"], "127.0.0.1 refuses the connection");
    assert_eq!(ended.events().pop().unwrap()["counts"], json!({"unanswered": 10}));
    // In the pause after the failures, which lasts beyond the process, no request is sent.
    home.watch(&url, &["--json", "--until-settled", "--timeout", "1s"])
        .assert_exit(6, &["no usable answer was received"]);
}

#[test]
fn watch_in_the_pause_after_a_429_ends_with_6_too() {
    let batch = ScenarioBatch::new(&["{ from = 0, http = 429 }"]);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let hash = format!("0x{:064x}", 1);
    let check = ProcessOutput::new(home.polling_command(&simulation.url, &["check", &hash]).output().unwrap());
    assert_eq!(check.code, Some(6), "{check:?}");
    let watch = home.watch(&simulation.url, &["--until-settled", "--timeout", "1s"]);
    watch.assert_exit(6, &["no usable answer was received: the service throttles the integrator ID"]);
    assert!(watch.out.contains("0 requests"), "{watch:?}");
}

#[test]
fn known_transaction_that_the_service_no_longer_finds_is_no_outage() {
    let batch = ScenarioBatch::new(&[&format!("{ONGOING}, {{ from = 0.1, http = 404 }}")]);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let hash = format!("0x{:064x}", 1);
    let first = ProcessOutput::new(home.polling_command(&simulation.url, &["check", &hash]).output().unwrap());
    assert!(first.out.contains("ongoing"), "{first:?}");
    let watch = home.watch(&simulation.url, &["--until-settled", "--timeout", "15s", "--verbose"]);
    assert!(watch.code == Some(3) && watch.out.contains("polled"), "{watch:?}");
}

#[test]
fn refused_integrator_id_ends_watch_with_5() {
    let batch = ScenarioBatch::repeat(3, SUCCESS);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let mut command = home.polling_command(&simulation.url, &["watch", "--json", "--until-settled", "--timeout", "3s"]);
    let ended = ProcessOutput::new(command.env("HOPTOP_INTEGRATOR_ID", "revoked-integrator-7f3a").output().unwrap());
    ended.assert_exit(5, &["the service refused the integrator ID", "check where it comes from"]);
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    assert_eq!(ended.events().iter().filter(|event| event["event"] == "unauthorized").count(), 1);
    assert!(!ended.err.contains("revoked") && !ended.out.contains("revoked"));
}

#[test]
fn unsettled_transactions_at_the_timeout_end_watch_with_3() {
    let batch = ScenarioBatch::new(&[ONGOING, SUCCESS]);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let ended = home.watch(&simulation.url, &["--json", "--until-settled", "--timeout", "3s"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(3), ""));
    assert_summary(&ended, &json!({"ongoing": 1, "success": 1}), 2);
}

#[test]
fn signal_ends_watch_with_a_summary_and_its_exit_code() {
    let batch = ScenarioBatch::repeat(3, ONGOING);
    let simulation = SimulatorProcess::start(&batch.scenario);
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let home = Home::new();
        home.import(&batch.csv);
        let mut watch =
            ProgramProcess::start(home.polling_command(&simulation.url, &["watch", "--json", "--timeout", "1m"]));
        watch.read_events_until("status_changed", 3);
        watch.signal(signal);
        let ended = watch.end();
        assert_eq!((ended.code, ended.err.as_str()), (Some(code), ""));
        assert_summary(&ended, &json!({"ongoing": 3}), 3);
    }
}

#[test]
fn closed_output_pipe_is_no_error() {
    let home = Home::new();
    // The output exceeds a pipe's buffer, so the pipe closes before all of it is written.
    home.run(&["import", concat!(env!("CARGO_MANIFEST_DIR"), "/assets/batch-200.csv")]);
    assert!(home.run(&["list", "--json"]).out.len() > 100_000);
    let mut list = ProgramProcess::start(home.command(&["list", "--json"]));
    list.stop_reading();
    let ended = list.end();
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));

    let batch = ScenarioBatch::repeat(10, ONGOING);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let mut watch = ProgramProcess::start(
        home.polling_command(&simulation.url, &["watch", "--json", "--verbose", "--timeout", "1m"]),
    );
    parse_event(&watch.read_line());
    watch.stop_reading();
    let ended = watch.end();
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

#[test]
fn dashboard_without_a_terminal_prints_the_list_and_a_notice() {
    let home = Home::new();
    home.import(&ScenarioBatch::repeat(3, ONGOING).csv);
    let ended = home.run(&[]);
    ended.assert_exit(0, &["no terminal", "hoptop watch"]);
    assert!(ended.out.contains("SUP-1") && ended.out.ends_with("3 shown of 3\n"), "{}", ended.out);
    assert!(!ended.out.contains('\u{1b}'));
}

/// Whether any of these files contains the text.
fn is_in_any_file(files: &[std::path::PathBuf], needle: &str) -> bool {
    let has_needle = |bytes: Vec<u8>| bytes.windows(needle.len()).any(|part| part == needle.as_bytes());
    files.iter().any(|path| has_needle(fs::read(path).unwrap()))
}

const CANARY: &str = "canary-c0ffee-integrator-5e2d";

/// Returns an answer that echoes the ID in its message.
fn echo(status: u16) -> String {
    format!(r#"{{ from = 0, http = {status}, body = '{{"message":"{CANARY} is odd"}}' }}"#)
}

/// Polls with the canary as ID, which the service echoes, and checks that no output and no file contains the canary.
fn assert_nothing_leaks(answers: &[&str], code: i32, words: &[&str]) {
    let batch = ScenarioBatch::new(answers);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let words = [&["watch", "--until-settled", "--timeout", "3s"], words].concat();
    let watched = home.polling_command(&simulation.url, &words).env("HOPTOP_INTEGRATOR_ID", CANARY).output().unwrap();
    let watched = ProcessOutput::new(watched);
    assert_eq!(watched.code, Some(code), "{watched:?}");
    let mut ended = vec![watched, home.run(&["list", "--json"]), home.run(&["list"])];
    for tx in home.list() {
        let hash = tx["transactionId"].as_str().unwrap();
        ended.extend([home.run(&["show", hash, "--json"]), home.run(&["show", hash, "--raw"])]);
    }
    let printed: String = ended.iter().map(|ended| format!("{}{}", ended.out, ended.err)).collect();
    let files = list_files(home.path());
    // The answers arrived, and the search works: the redacted ID is found in output and files.
    assert!(printed.contains("…5e2d is odd") && is_in_any_file(&files, "…5e2d is odd"), "{printed}");
    for secret in ["canary", "c0ffee"] {
        assert!(!printed.contains(secret), "{printed}");
        assert!(!is_in_any_file(&files, secret), "{files:?}");
    }
}

#[test]
fn accepted_integrator_id_is_in_no_output_and_no_file() {
    // The service also echoes the ID in `integratorId` of each record.
    let (rejected, unknown, broken) = (echo(400), echo(404), echo(500));
    let answers = [SUCCESS, ONGOING, rejected.as_str(), unknown.as_str(), broken.as_str()];
    assert_nothing_leaks(&answers, 3, &["--json", "--verbose"]);
    assert_nothing_leaks(&answers, 3, &[]);
}

#[test]
fn refused_integrator_id_is_in_no_output_and_no_file() {
    assert_nothing_leaks(&[&echo(401)], 5, &["--json", "--verbose"]);
    assert_nothing_leaks(&[&echo(401)], 5, &[]);
}
