//! The program as its users start it, against the simulated service over HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests may fail, and say what they measured"
)]

mod beside;
mod common;
mod in_and_out;
mod metrics;
mod one_shot;
#[cfg(unix)]
mod package;
mod piped;
mod plain;
#[cfg(unix)]
mod readme;
#[cfg(unix)]
mod reload;
mod report;
#[path = "../session/mod.rs"]
mod session;
mod sharing;
mod shell;
mod telling;
mod together;

use std::{collections::BTreeMap, fs, net::TcpListener};

use serde_json::{Value, json};

use common::{Batch, Ended, HEADER, Home, ID, Running, Simulation, event, files};

const ONGOING: &str = r#"{ from = 0, status = "ongoing", steps = 1 }"#;
const SUCCESS: &str = r#"{ from = 0, status = "success", steps = 3 }"#;

/// 30 transactions that end within 8 seconds, three of them badly.
fn thirty() -> Batch {
    let late = r#"{ from = 0, http = 404 }, { from = 2.5, status = "ongoing", steps = 1 },
        { from = 6, status = "success", steps = 3 }"#;
    let paused = r#"{ from = 0, status = "not_found" }, { from = 2, status = "ongoing", steps = 1 },
        { from = 4, status = "needs_gas", steps = 2 }, { from = 8, status = "success", steps = 3 }"#;
    let plain = r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 7, status = "success", steps = 2 }"#;
    let reverted =
        r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 5, status = "partial_success", steps = 2 }"#;
    let kinds = [late, paused, plain, late, paused, plain, late, paused, plain, reverted];
    Batch::new(&kinds.repeat(3))
}

/// Checks the last event: what came of how many, at what price.
fn assert_summary(ended: &Ended, counts: &Value, requests: u64) {
    let last = ended.events().pop().unwrap();
    assert_eq!((&last["event"], &last["counts"]), (&json!("summary"), counts), "{last}");
    assert_eq!(last["requests"], requests, "{last}");
    assert!(last["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{last}");
}

fn import_and_watch_to_the_end(scenario: &str, csv: &str, counts: &Value) {
    let (home, simulation) = (Home::new(), Simulation::start(scenario));
    let path = home.write("batch.csv", csv);
    let rows = csv.lines().count() - 1;
    let first = home.run(&["import", &path]);
    assert_eq!(
        (first.code, first.out.as_str()),
        (Some(0), format!("{rows} tracked, 0 updated, 0 known already\n").as_str())
    );
    let before = home.list();
    let second = home.run(&["import", &path]);
    assert_eq!(
        (second.code, second.out.as_str()),
        (Some(0), format!("0 tracked, 0 updated, {rows} known already\n").as_str())
    );
    assert_eq!(keys(&home.list()), keys(&before));

    let ended = home.watch(&simulation.url, &["--json", "--until-settled", "--timeout", "10m"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(4), ""));
    let list = home.list();
    assert_eq!(list.len(), rows);
    Batch::assert_ended(scenario, &list);
    // What the program counts is what the service counted, and what the transactions remember.
    let requests = simulation.end_within_budget();
    assert_eq!(list.iter().filter_map(|tx| tx["polls"].as_u64()).sum::<u64>(), requests);
    assert_summary(&ended, counts, requests);
    let settled = ended.events().iter().filter(|event| event["event"] == "settled").count();
    assert_eq!(settled, rows);
}

/// What a person gave, by hash.
fn keys(list: &[Value]) -> BTreeMap<String, [Value; 4]> {
    let told = |tx: &Value| ["quoteId", "ticket", "labels", "firstSeenAt"].map(|key| tx[key].clone());
    list.iter().map(|tx| (tx["transactionId"].to_string(), told(tx))).collect()
}

#[test]
fn a_batch_is_watched_until_all_of_it_is_settled() {
    let Batch { scenario, csv } = thirty();
    import_and_watch_to_the_end(&scenario, &csv, &json!({"partial_success": 3, "success": 27}));
}

// cargo test --test end_to_end -- --ignored
#[test]
#[ignore = "takes three minutes"]
fn the_shipped_batch_of_200_is_watched_until_all_of_it_is_settled() {
    let scenario = include_str!("../../assets/scenarios/batch-200.toml");
    let csv = include_str!("../../assets/batch-200.csv");
    import_and_watch_to_the_end(scenario, csv, &json!({"partial_success": 20, "success": 180}));
}

#[test]
fn the_shipped_batch_of_200_is_imported_and_a_second_time_changes_nothing() {
    let home = Home::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/batch-200.csv");
    let first = home.run(&["import", path]);
    assert_eq!(
        (first.code, first.out.as_str(), first.err.as_str()),
        (Some(0), "200 tracked, 0 updated, 0 known already\n", "")
    );
    let before = home.list();
    assert_eq!(before.len(), 200);
    let second = home.run(&["import", path]);
    assert_eq!(
        (second.code, second.out.as_str(), second.err.as_str()),
        (Some(0), "0 tracked, 0 updated, 200 known already\n", "")
    );
    assert_eq!(keys(&home.list()), keys(&before));
}

#[test]
fn watching_ends_with_0_when_all_are_success() {
    let batch = Batch::of(5, SUCCESS);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let ended = home.watch(&simulation.url, &["--json", "--until-settled", "--timeout", "30s"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert_summary(&ended, &json!({"success": 5}), 5);
    Batch::assert_ended(&batch.scenario, &home.list());
    // Nothing is owed any more: nothing is asked.
    let again = home.watch(&simulation.url, &["--json", "--until-settled", "--timeout", "30s"]);
    assert_eq!(again.code, Some(0));
    assert_summary(&again, &json!({"success": 5}), 0);
    assert_eq!(simulation.end_within_budget(), 5);
}

#[test]
fn only_what_the_filter_names_decides_how_watching_ends() {
    let batch = Batch::new(&[SUCCESS, ONGOING]);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let ended = home.watch(&simulation.url, &["label:row-1", "--until-settled", "--timeout", "30s"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(ended.out.lines().last().unwrap().starts_with("1 success; "), "{}", ended.out);
}

#[test]
fn a_name_that_nothing_has_never_ends_well() {
    let batch = Batch::of(1, SUCCESS);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let until_settled = |filter: &[&str]| home.watch(&simulation.url, &[filter, &["--until-settled"]].concat());
    assert_eq!(until_settled(&["label:batch-9"]).code, Some(0));
    // What is settled by now is fine; what was never there isn't.
    for fine in [&["is:unsettled"][..], &["label:batch-9", "is:unsettled"], &["is:unsettled -label:batch-10"]] {
        assert_eq!(until_settled(fine).code, Some(0), "{fine:?}");
    }
    for unknown in ["label:batch-10", "ticket:SUP-99", "profile:partner"] {
        until_settled(&[unknown, "is:unsettled"])
            .assert_refused(2, &[&format!("in profile default has {}", unknown.to_lowercase())]);
    }
}

#[test]
fn a_kill_in_the_middle_loses_nothing() {
    let batch = thirty();
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let words = ["watch", "--json", "--until-settled", "--timeout", "2m"];
    let mut first = Running::start(home.polling(&simulation.url, &words));
    let events = first.until("status_changed", 40);
    first.signal("KILL");
    assert_eq!(first.end().code, None);

    let between = home.list();
    let by_hash = |list: &[Value]| -> BTreeMap<String, Value> {
        list.iter().map(|tx| (tx["transactionId"].to_string(), tx.clone())).collect()
    };
    let kept = by_hash(&between);
    let seen: BTreeMap<_, _> = events.iter().map(|event| (event["transactionId"].to_string(), event)).collect();
    assert!(!seen.is_empty() && between.iter().any(|tx| tx["settled"] == false), "it was no kill in the middle");
    for (hash, event) in &seen {
        assert!(kept[hash]["polls"].as_u64() >= event["polls"].as_u64(), "{hash} lost an answer that was shown");
        assert!(!kept[hash]["status"].is_null());
    }

    let second = home.watch(&simulation.url, &words[1..]);
    assert_eq!((second.code, second.err.as_str()), (Some(4), ""));
    let after = home.list();
    assert_eq!(keys(&after), keys(&between));
    assert_eq!(after.len(), 30);
    for (hash, tx) in by_hash(&after) {
        assert!(tx["polls"].as_u64() >= kept[&hash]["polls"].as_u64(), "{hash}");
    }
    for (number, row) in (1..).zip(batch.csv.lines().skip(1)) {
        let tx = after.iter().find(|tx| row.starts_with(tx["transactionId"].as_str().unwrap())).unwrap();
        assert_eq!(tx["ticket"], format!("SUP-{number}"));
        assert_eq!(tx["labels"], json!(["batch-9", format!("row-{number}")]));
    }
    Batch::assert_ended(&batch.scenario, &after);
    simulation.end_within_budget();
}

#[test]
fn two_at_once_share_the_budget_and_both_see_the_end() {
    let batch = Batch::of(30, SUCCESS);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let words = ["watch", "--json", "--until-settled", "--timeout", "60s"];
    let both = [(); 2].map(|()| Running::start(home.polling(&simulation.url, &words)));
    for ended in both.map(Running::end) {
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    }
    assert_eq!(simulation.end_within_budget(), 30);
}

#[test]
fn a_bad_batch_is_refused_whole_and_its_line_named() {
    let cases = [
        (
            "transactionId,fromChainId,toChainId\n0xabcdef12,1,10\n".to_owned(),
            vec!["line 1", "lacks quoteId", "needs at least"],
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
        ended.assert_refused(1, &words);
        ended.assert_refused(1, &["nothing was imported", "bad.csv"]);
        assert_eq!((ended.out.as_str(), home.list()), ("", vec![]));
    }
    let home = Home::new();
    home.run(&["import", "missing.csv"]).assert_refused(1, &["missing.csv", "no such file", "check the path"]);
}

#[test]
fn settings_that_polling_lacks_are_named_with_the_way_out() {
    let home = Home::new();
    let cases = [
        (Some("http://127.0.0.1:1"), None, vec!["no integrator ID", "polling needs it", "set HOPTOP_INTEGRATOR_ID"]),
        (None, Some(ID), vec!["no base URL", "polling needs it", "--base-url"]),
        (Some("http://192.0.2.1"), Some(ID), vec!["http to 192.0.2.1", "in clear", "use https"]),
        (Some("ftp://localhost"), Some(ID), vec!["`ftp:`", "must start with https://"]),
        (Some("http://127.0.0.1:1"), Some("two words-7f3a"), vec!["HOPTOP_INTEGRATOR_ID", "can't be used"]),
        (Some("http://127.0.0.1:1"), Some("two\nlines-7f3a"), vec!["HOPTOP_INTEGRATOR_ID", "can't be used"]),
    ];
    for (url, id, words) in cases {
        let mut command = home.hoptop(&["watch", "--timeout", "1m"]);
        command.envs(url.map(|url| ("HOPTOP_BASE_URL", url))).envs(id.map(|id| ("HOPTOP_INTEGRATOR_ID", id)));
        let ended = Ended::of(command.output().unwrap());
        ended.assert_refused(2, &words);
        assert!(ended.out.is_empty() && id.is_none_or(|id| !ended.err.contains(&id[..5])), "{ended:?}");
    }
    let wrong = home.polling("http://127.0.0.1:1", &["watch", "--rps", "0"]).output().unwrap();
    Ended::of(wrong).assert_refused(2, &["0 requests per second", "--rps", "above 0"]);
}

#[test]
fn what_is_only_read_is_not_made_by_it() {
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
        read(words).assert_refused(1, &["not tracked"]);
    }
    let below_a_file = format!("{rows}/hoptop.db");
    home.run(&["--db", &below_a_file, "list"]).assert_refused(1, &["can't be", "rows.csv"]);
    read(&["backup", "copy.db"]).assert_refused(1, &["there is no store at", "mistyped.db"]);
    assert_eq!(files(home.path()), [home.path().join("rows.csv")]);
    assert_eq!(read(&["import", &rows]).code, Some(0));
    assert!(missing.exists(), "what keeps something makes it");
}

#[test]
fn words_that_are_not_understood_are_usage_errors() {
    let home = Home::new();
    home.import(&Batch::of(1, SUCCESS).csv);
    home.run(&["list", "--frobnicate"]).assert_refused(2, &["--frobnicate", "--help"]);
    home.run(&["frobnicate"]).assert_refused(2, &["frobnicate", "--help"]);
    home.run(&["watch", "--timeout", "soon"]).assert_refused(2, &["--timeout", "soon"]);
    home.run(&["list", "status:bogus"]).assert_refused(2, &["the filter is wrong", "bogus", "ongoing"]);
    home.watch("http://127.0.0.1:1", &["is:bogus"]).assert_refused(2, &["the filter is wrong", "bogus", "overdue"]);
}

#[test]
fn a_service_that_cannot_be_reached_ends_watching_with_6() {
    let home = Home::new();
    home.import(&Batch::of(10, SUCCESS).csv);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let ended = home.watch(&url, &["--json", "--until-settled", "--timeout", "4s"]);
    ended.assert_refused(6, &["no usable answer came", "base URL"]);
    let unreachable: Vec<_> = ended.events().into_iter().filter(|event| event["event"] == "unreachable").collect();
    assert_eq!(unreachable.len(), 1);
    assert_eq!(unreachable[0]["error"], "127.0.0.1 refuses the connection");
    assert_eq!(ended.events().pop().unwrap()["counts"], json!({"unanswered": 10}));
}

#[test]
fn a_withdrawn_id_ends_watching_with_5() {
    let batch = Batch::of(3, SUCCESS);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let mut command = home.polling(&simulation.url, &["watch", "--json", "--until-settled", "--timeout", "1m"]);
    let ended = Ended::of(command.env("HOPTOP_INTEGRATOR_ID", "revoked-integrator-7f3a").output().unwrap());
    ended.assert_refused(5, &["the service refused the integrator ID", "check where it comes from"]);
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    assert_eq!(ended.events().iter().filter(|event| event["event"] == "unauthorized").count(), 1);
    assert!(!ended.err.contains("revoked") && !ended.out.contains("revoked"));
}

#[test]
fn what_is_not_settled_at_the_timeout_ends_watching_with_3() {
    let batch = Batch::new(&[ONGOING, SUCCESS]);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let ended = home.watch(&simulation.url, &["--json", "--until-settled", "--timeout", "3s"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(3), ""));
    assert_summary(&ended, &json!({"ongoing": 1, "success": 1}), 2);
}

#[test]
fn a_signal_ends_watching_with_a_summary_and_its_code() {
    let batch = Batch::of(3, ONGOING);
    let simulation = Simulation::start(&batch.scenario);
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let home = Home::new();
        home.import(&batch.csv);
        let mut watch = Running::start(home.polling(&simulation.url, &["watch", "--json", "--timeout", "1m"]));
        watch.until("status_changed", 3);
        watch.signal(signal);
        let ended = watch.end();
        assert_eq!((ended.code, ended.err.as_str()), (Some(code), ""));
        assert_summary(&ended, &json!({"ongoing": 3}), 3);
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let home = Home::new();
    // More than a pipe holds, so that it can't be written before the pipe is closed.
    home.run(&["import", concat!(env!("CARGO_MANIFEST_DIR"), "/assets/batch-200.csv")]);
    assert!(home.run(&["list", "--json"]).out.len() > 100_000);
    let mut list = Running::start(home.hoptop(&["list", "--json"]));
    list.stop_reading();
    let ended = list.end();
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));

    let batch = Batch::of(10, ONGOING);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let mut watch = Running::start(home.polling(&simulation.url, &["watch", "--json", "--verbose", "--timeout", "1m"]));
    event(&watch.line());
    watch.stop_reading();
    let ended = watch.end();
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

#[test]
fn without_a_terminal_the_list_is_printed_and_that_is_said() {
    let home = Home::new();
    home.import(&Batch::of(3, ONGOING).csv);
    let ended = home.run(&[]);
    ended.assert_refused(0, &["no terminal", "hoptop watch"]);
    assert!(ended.out.contains("SUP-1") && ended.out.ends_with("3 shown of 3\n"), "{}", ended.out);
    assert!(!ended.out.contains('\u{1b}'));
}

/// Whether these bytes are in any of these files.
fn is_in_any(files: &[std::path::PathBuf], needle: &str) -> bool {
    let holds = |bytes: Vec<u8>| bytes.windows(needle.len()).any(|part| part == needle.as_bytes());
    files.iter().any(|path| holds(fs::read(path).unwrap()))
}

const CANARY: &str = "canary-c0ffee-integrator-5e2d";

/// An answer that echoes the ID.
fn echo(status: u16) -> String {
    format!(r#"{{ from = 0, http = {status}, body = '{{"message":"{CANARY} is odd"}}' }}"#)
}

/// Polls with the canary, which the service echoes, and looks for it in all that was printed and written.
fn assert_nothing_leaks(answers: &[&str], code: i32, words: &[&str]) {
    let batch = Batch::new(answers);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    let words = [&["watch", "--until-settled", "--timeout", "3s"], words].concat();
    let watched = home.polling(&simulation.url, &words).env("HOPTOP_INTEGRATOR_ID", CANARY).output().unwrap();
    let watched = Ended::of(watched);
    assert_eq!(watched.code, Some(code), "{watched:?}");
    let mut ended = vec![watched, home.run(&["list", "--json"]), home.run(&["list"])];
    for tx in home.list() {
        let hash = tx["transactionId"].as_str().unwrap();
        ended.extend([home.run(&["show", hash, "--json"]), home.run(&["show", hash, "--raw"])]);
    }
    let printed: String = ended.iter().map(|ended| format!("{}{}", ended.out, ended.err)).collect();
    let files = files(home.path());
    // The answers came, and the search finds what is there: what may be shown of the ID.
    assert!(printed.contains("…5e2d is odd") && is_in_any(&files, "…5e2d is odd"), "{printed}");
    for secret in ["canary", "c0ffee"] {
        assert!(!printed.contains(secret), "{printed}");
        assert!(!is_in_any(&files, secret), "{files:?}");
    }
}

#[test]
fn an_id_that_is_taken_is_in_no_output_and_in_no_file() {
    // In each record the service echoes the ID in `integratorId`, too.
    let (rejected, unknown, broken) = (echo(400), echo(404), echo(500));
    let answers = [SUCCESS, ONGOING, rejected.as_str(), unknown.as_str(), broken.as_str()];
    assert_nothing_leaks(&answers, 3, &["--json", "--verbose"]);
    assert_nothing_leaks(&answers, 3, &[]);
}

#[test]
fn an_id_that_is_refused_is_in_no_output_and_in_no_file() {
    assert_nothing_leaks(&[&echo(401)], 5, &["--json", "--verbose"]);
    assert_nothing_leaks(&[&echo(401)], 5, &[]);
}
