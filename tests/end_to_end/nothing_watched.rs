//! A watch that watches nothing must not release anything: it ends with 2 and a sentence, unless that was accepted.

use super::{HEADER, Home, ONGOING, ProcessOutput, ProgramProcess, SUCCESS, ScenarioBatch, SimulatorProcess};

/// Runs `watch` with these words and this standard input.
fn watch(home: &Home, url: &str, words: &[&str], input: &str) -> ProcessOutput {
    let mut command = home.polling_command(url, &[&["watch"], words].concat());
    command.stdin(std::process::Stdio::piped());
    let mut process = ProgramProcess::start(command);
    process.send(input);
    process.end()
}

#[test]
fn filter_hash_pipe_or_store_without_transactions_ends_with_2() {
    let batch = ScenarioBatch::repeat(2, SUCCESS);
    let simulation = SimulatorProcess::start(&batch.scenario);
    let (empty, filled) = (Home::new(), Home::new());
    filled.import(&batch.csv);
    let untracked = format!("0x{:064x}", 99);
    let cases: [(&Home, &[&str], &str, &str); 6] = [
        (&filled, &[&untracked], "", &format!("no transaction in profile default has {untracked}")),
        (&filled, &["label:batch-8"], "", "has label:batch-8"),
        (&filled, &["chain:basee"], "", "chain:basee"),
        (&filled, &["is:overdue"], "", "no tracked transaction matches"),
        (&empty, &["-"], "", "standard input contained no transaction"),
        (&empty, &["-"], HEADER, "standard input contained no transaction"),
    ];
    for (home, words, input, sentence) in cases {
        for more in [&[][..], &["--json"], &["--until-settled"]] {
            let ended = watch(home, &simulation.url, &[words, more].concat(), input);
            ended.assert_exit(2, &[sentence, "--allow-empty accepts that nothing is watched"]);
            if more == ["--json"] {
                let last = ended.events().pop().unwrap();
                assert_eq!((&last["event"], &last["counts"]), (&"summary".into(), &serde_json::json!({})));
            }
        }
        for accept in [&["--allow-empty"][..], &["--until-settled", "--allow-empty"]] {
            watch(home, &simulation.url, &[words, accept].concat(), input).assert_exit(0, &[]);
        }
    }
    // A missing transaction isn't made up for by another one; another missing name is only a warning.
    let tracked = format!("0x{:064x}", 1);
    let or = |other| watch(&filled, &simulation.url, &[&tracked, "or", other, "--until-settled"], "");
    or(&untracked).assert_exit(2, &[&format!("no transaction in profile default has {untracked}")]);
    or("label:batch-8").assert_exit(0, &["warning: no transaction in profile default has label:batch-8"]);
    let words = ["--until-settled"];
    watch(&empty, &simulation.url, &words, "").assert_exit(2, &["no tracked transaction matches"]);
    // A watch over all tracked transactions, without an end, waits for the first one.
    watch(&empty, &simulation.url, &["--timeout", "1s"], "").assert_exit(2, &["no transaction was tracked"]);
}

#[test]
fn profile_before_watch_is_not_left_out_silently() {
    let home = Home::new();
    let ended = home.run(&["--profile", "a", "watch", "--profile", "b", "--allow-empty"]);
    ended.assert_exit(2, &["`--profile` is given before and after `watch`"]);
}

#[test]
fn deletion_of_the_last_watched_transaction_ends_the_watch_with_2() {
    let batch = ScenarioBatch::repeat(1, ONGOING);
    let simulation = SimulatorProcess::start(&batch.scenario);
    let hash = format!("0x{:064x}", 1);
    let cases =
        [(&["--until-settled"][..], 2), (&["--until-settled", "--allow-empty"], 0), (&[&hash, "--allow-empty"], 0)];
    for (words, code) in cases {
        let home = Home::new();
        home.import(&batch.csv);
        let mut watch =
            ProgramProcess::start(home.polling_command(&simulation.url, &[&["watch", "--json"], words].concat()));
        watch.read_events_until("status_changed", 1);
        let deleted = home.run(&["delete", &hash, "--yes"]);
        assert_eq!(deleted.code, Some(0), "{deleted:?}");
        let sentence = if code == 2 { "the last watched transaction was deleted" } else { "" };
        watch.end().assert_exit(code, &[sentence]);
    }
}

#[test]
fn fail_fast_ends_at_the_first_transaction_that_fails() {
    let refunded = r#"{ from = 0, status = "partial_success", steps = 3 }"#;
    let batch = ScenarioBatch::new(&[ONGOING, refunded, ONGOING]);
    let simulation = SimulatorProcess::start(&batch.scenario);
    let home = Home::new();
    home.import(&batch.csv);
    let words = ["--json", "--until-settled", "--timeout", "60s", "--fail-fast"];
    let ended = home.watch(&simulation.url, &words);
    ended.assert_exit(4, &[]);
    let counts = &ended.events().pop().unwrap()["counts"];
    assert_eq!(counts["partial_success"], 1, "{counts}");
    // A transaction that failed before the watch counts as well.
    home.watch(&simulation.url, &words).assert_exit(4, &[]);
}
