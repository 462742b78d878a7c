//! `check`, `answer` and `quote` as processes against the simulated service over HTTP, alone and while a `watch` polls.
//! Afterwards no output and no file may contain the integrator ID.

use std::{fs, io::ErrorKind, net::TcpListener, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::{Value, json};

use super::common::{Home, ProcessOutput, ProgramProcess, ScenarioBatch, SimulatorProcess, list_files};

const ONGOING: &str = r#"{ from = 0, status = "ongoing", steps = 1 }"#;
const SUCCESS: &str = r#"{ from = 0, status = "success", steps = 3 }"#;
const PARTIAL: &str = r#"{ from = 0, status = "partial_success", steps = 3 }"#;
const UNKNOWN: &str = "{ from = 0, http = 404 }";
const REJECTED: &str = r#"{ from = 0, http = 400, body = '{"message":"quoteId is not valid","type":"BAD_REQUEST"}' }"#;
const BROKEN: &str = "{ from = 0, http = 500 }";

/// The wallet that requests routes.
const WALLET: &str = "0xAbc0000000000000000000000000000000000abc";

/// Returns a part of a hash that identifies a transaction of [`ScenarioBatch`] by its number.
fn hash_part(number: usize) -> String {
    format!("{number:010}")
}

/// A home with imported transactions, and a simulated service that answers about them.
struct OneShotFixture {
    home: Home,
    simulation: SimulatorProcess,
}

impl OneShotFixture {
    fn new(answers: &[&str]) -> Self {
        let batch = ScenarioBatch::new(answers);
        let fixture = Self { home: Home::new(), simulation: SimulatorProcess::start(&batch.scenario) };
        if !answers.is_empty() {
            fixture.home.import(&batch.csv);
        }
        fixture
    }

    fn run(&self, words: &[&str]) -> ProcessOutput {
        ProcessOutput::new(self.home.polling_command(&self.simulation.url, words).output().unwrap())
    }

    fn check(&self, numbers: &[usize]) -> ProcessOutput {
        let hashes: Vec<_> = numbers.iter().map(|number| hash_part(*number)).collect();
        let words: Vec<_> = ["check"].into_iter().chain(hashes.iter().map(String::as_str)).collect();
        self.run(&words)
    }

    fn quote(&self, flags: &[&str]) -> ProcessOutput {
        let mut words = vec!["quote", "--from-chain", "42161", "--from-token", "0xaf88", "--to-chain", "8453"];
        words.extend([
            "--to-token",
            "0x8335",
            "--from-address",
            WALLET,
            "--to-address",
            "0xDef0000000000000000000000000000000000def",
        ]);
        if !flags.contains(&"--from-amount") {
            words.extend(["--from-amount", "25000000"]);
        }
        words.extend(flags);
        self.run(&words)
    }
}

#[test]
fn check_polls_each_transaction_once_and_prints_the_result() {
    let fixture = OneShotFixture::new(&[SUCCESS, UNKNOWN, REJECTED, ONGOING, PARTIAL, BROKEN]);
    let fine = fixture.check(&[1, 2, 4]);
    assert_eq!((fine.code, fine.err.as_str()), (Some(0), ""), "{fine:?}");
    for part in ["+ success", "COMPLETED", "? not_found", "Transaction not found", "~ ongoing", "WAITING"] {
        assert!(fine.out.contains(part), "{part}: {}", fine.out);
    }
    let partial = fixture.check(&[5]);
    assert_eq!(partial.code, Some(4), "{partial:?}");
    let rejected = fixture.check(&[3]);
    assert_eq!(rejected.code, Some(4), "{rejected:?}");
    assert!(rejected.out.contains("POLL     the service rejected the request: quoteId is not valid"), "{rejected:?}");
    let broken = fixture.check(&[6]);
    assert_eq!(broken.code, Some(6), "{broken:?}");
    assert!(broken.out.contains("HTTP 500") && broken.out.contains("nothing is known yet"), "{broken:?}");
    let mixed = fixture.check(&[1, 6]);
    assert_eq!(mixed.code, Some(1), "{mixed:?}");
    // 3 + 1 + 1 + 1 + 2: each check is one request, and the budget counts all of them.
    assert_eq!(fixture.simulation.end_within_budget(), 8);
}

#[test]
fn check_prints_the_same_json_as_list() {
    let fixture = OneShotFixture::new(&[SUCCESS, ONGOING]);
    let checked = fixture.run(&["check", &hash_part(2), &hash_part(1), &hash_part(2), "--json"]);
    assert_eq!((checked.code, checked.err.as_str()), (Some(0), ""), "{checked:?}");
    let checked: Vec<Value> = serde_json::from_str(&checked.out).unwrap();
    let statuses: Vec<_> = checked.iter().map(|tx| (&tx["quoteId"], &tx["status"], &tx["polls"])).collect();
    let (one, two) = (json!("q-1"), json!("q-2"));
    assert_eq!(statuses, [(&two, &json!("ongoing"), &json!(1)), (&one, &json!("success"), &json!(1))]);
    assert_eq!(fixture.simulation.end_within_budget(), 2);
}

#[test]
fn check_of_an_untracked_transaction_sends_no_request() {
    let fixture = OneShotFixture::new(&[SUCCESS]);
    let unknown = fixture.run(&["check", &hash_part(1), "0xabcdefabcdef"]);
    unknown.assert_exit(1, &["`0xabcdefabcdef` is not tracked", "hoptop add"]);
    fixture.home.run(&["check", &hash_part(1)]).assert_exit(2, &["no base URL", "HOPTOP_BASE_URL"]);
    assert_eq!(fixture.simulation.end_within_budget(), 0);
}

#[test]
fn described_transaction_is_polled_once_and_nothing_is_tracked() {
    // The service knows three transactions; none of them is tracked.
    let batch = ScenarioBatch::new(&[SUCCESS, UNKNOWN, PARTIAL]);
    let fixture = OneShotFixture { home: Home::new(), simulation: SimulatorProcess::start(&batch.scenario) };
    let check = |number: usize, more: &[&str]| {
        let (hash, quote_id) = (format!("0x{number:064x}"), format!("q-{number}"));
        let words = ["check", &hash, "--from", "42161", "--to", "8453", "--quote-id", &quote_id];
        fixture.run(&[&words, more].concat())
    };
    let fine = check(1, &["--json"]);
    assert_eq!((fine.code, fine.err.as_str()), (Some(0), ""), "{fine:?}");
    let printed: Vec<Value> = serde_json::from_str(&fine.out).unwrap();
    let [tx] = printed.as_slice() else { panic!("{printed:?}") };
    assert_eq!(
        (&tx["quoteId"], &tx["status"], &tx["polls"], &tx["profile"]),
        (&json!("q-1"), &json!("success"), &json!(1), &json!("default"))
    );
    let unknown = check(2, &[]);
    assert_eq!((unknown.code, unknown.err.as_str()), (Some(0), ""), "{unknown:?}");
    assert!(unknown.out.contains("? not_found") && unknown.out.contains("Transaction not found"), "{unknown:?}");
    let partial = check(3, &[]);
    assert_eq!(partial.code, Some(4), "{partial:?}");
    assert!(!fixture.home.path().join("hoptop.db").exists(), "a check of an untracked transaction needs no store");
    // A tracked transaction stays as it is, too.
    fixture.home.import(&batch.csv);
    let before = fixture.home.list();
    assert_eq!(check(1, &[]).code, Some(0));
    assert_eq!(fixture.home.list(), before);
    assert_eq!(fixture.simulation.end_within_budget(), 4);
}

#[test]
fn described_transaction_is_polled_within_the_budget_of_a_running_watch() {
    let batch = ScenarioBatch::repeat(40, ONGOING);
    let fixture = OneShotFixture { home: Home::new(), simulation: SimulatorProcess::start(&batch.scenario) };
    fixture.home.import(&batch.csv);
    let mut watch =
        ProgramProcess::start(fixture.home.polling_command(&fixture.simulation.url, &["watch", "--json", "--verbose"]));
    watch.read_events_until("polled", 3);
    let hash = format!("0x{:064x}", 7);
    let words = ["check", &hash, "--from", "42161", "--to", "8453", "--quote-id", "q-7"];
    for _ in 0..3 {
        let checked = fixture.run(&words);
        assert_eq!(checked.code, Some(0), "{checked:?}");
    }
    watch.signal("TERM");
    assert_eq!(watch.end().code, Some(143));
    fixture.simulation.end_within_budget();
}

#[test]
fn wrong_description_or_an_unreachable_team_sends_no_request() {
    let fixture = OneShotFixture::new(&[SUCCESS]);
    let hash = format!("0x{:064x}", 1);
    let check = |from: &str, more: &[&str]| {
        let words = ["check", &hash, "--from", from, "--to", "8453", "--quote-id", "q-1"];
        fixture.run(&[&words, more].concat())
    };
    check("arbitrum", &[]).assert_exit(2, &["--from: `arbitrum` is a chain name"]);
    check("moon", &["--json"]).assert_exit(2, &["--from: `moon`", "--any-chain"]);
    check("42161", &["0xabcdefabcdef"]).assert_exit(2, &["describe one transaction"]);
    fixture.run(&["check", &hash, "--from", "42161"]).assert_exit(2, &["--to <CHAIN>", "--quote-id <ID>"]);
    check("42161", &["--store", "postgres://127.0.0.1:9/hoptop"])
        .assert_exit(1, &["the team's store can't be reached", "127.0.0.1:9 refuses"]);
    assert_eq!(fixture.simulation.end_within_budget(), 0);
}

#[test]
fn ticket_label_and_note_bear_the_name_of_their_author() {
    let home = Home::new();
    home.import(&ScenarioBatch::repeat(2, ONGOING).csv);
    let run = |words: &[&str]| ProcessOutput::new(home.command(words).env("HOPTOP_NAME", "Ana").output().unwrap());
    let [first, second] = [1, 2].map(hash_part);
    let set = run(&["ticket", &first, &second, "SUP-77"]);
    assert_eq!((set.code, set.out.as_str()), (Some(0), "set ticket SUP-77 on 2 transactions\n"), "{set:?}");
    run(&["label", &first, &second, "--add", "vip", "--remove", "batch-9"]).assert_exit(0, &[]);
    run(&["note", &first, "asked the bridge"]).assert_exit(0, &[]);
    let listed = home.list();
    assert!(listed.iter().all(|tx| tx["ticket"] == "SUP-77" && tx["labels"].to_string().contains("vip")), "{listed:?}");
    assert!(listed.iter().all(|tx| !tx["labels"].to_string().contains("batch-9")), "{listed:?}");
    let shown = home.run(&["show", &first]).out;
    assert!(shown.contains("asked the bridge") && shown.matches("Ana").count() >= 3, "{shown}");
    let removed = run(&["note", &first, "--remove", "the bridge"]);
    assert!(removed.out.starts_with("removed the note from 0x") && removed.out.ends_with(": asked the bridge\n"));
    assert!(!home.run(&["show", &first]).out.contains("asked the bridge"));
    run(&["note", &first, "--remove"]).assert_exit(1, &["it has no note"]);
    assert!(run(&["undo"]).out.starts_with("undone: note removed"));
    assert!(home.run(&["show", &first]).out.contains("asked the bridge"));
    assert!(run(&["undo"]).out.starts_with("undone: a note"));
    assert!(run(&["undo"]).out.starts_with("undone: labels +vip -batch-9 (2 transactions)"));
    assert!(run(&["undo"]).out.starts_with("undone: ticket SUP-77 (2 transactions)"));
    assert_eq!(home.list()[0]["labels"].as_array().unwrap().len(), 2);
}

#[test]
fn unreachable_service_and_refused_id_have_their_own_exit_codes() {
    let fixture = OneShotFixture::new(&[SUCCESS]);
    let unreachable = ProcessOutput::new(
        fixture.home.polling_command("http://127.0.0.1:9", &["check", &hash_part(1)]).output().unwrap(),
    );
    assert_eq!(unreachable.code, Some(6), "{unreachable:?}");
    assert!(unreachable.out.contains("refuses the connection"), "{unreachable:?}");
    let words = ["check", &hash_part(1)];
    let mut refused = fixture.home.polling_command(&fixture.simulation.url, &words);
    let refused = ProcessOutput::new(refused.env("HOPTOP_INTEGRATOR_ID", "revoked-integrator-5e2d").output().unwrap());
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.out.contains("the service refused the integrator ID"), "{refused:?}");
}

#[test]
fn plain_http_to_this_machine_never_goes_through_a_proxy() {
    let fixture = OneShotFixture::new(&[SUCCESS]);
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let url = format!("http://{}", proxy.local_addr().unwrap());
    let words = ["check", &hash_part(1)];
    let mut command = fixture.home.polling_command(&fixture.simulation.url, &words);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, &url);
    }
    let checked = ProcessOutput::new(command.output().unwrap());
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert_eq!(proxy.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(fixture.simulation.end_within_budget(), 1);
}

#[test]
fn failure_on_the_way_names_the_proxy_without_its_credentials() {
    let fixture = OneShotFixture::new(&[SUCCESS]);
    let words = ["check", &hash_part(1)];
    let mut command = fixture.home.polling_command("https://service.invalid", &words);
    command.env("HTTPS_PROXY", "http://me:canary@127.0.0.1:1").env_remove("NO_PROXY").env_remove("no_proxy");
    let checked = ProcessOutput::new(command.output().unwrap());
    checked.assert_exit(6, &[]);
    let reason = "the proxy 127.0.0.1:1 on the way to service.invalid refuses the connection";
    assert!(checked.out.contains(reason) && !checked.out.contains("canary"), "{checked:?}");
}

#[test]
fn running_watch_sends_the_requests_of_check_and_quote() {
    let fixture = OneShotFixture::new(&[ONGOING, ONGOING, SUCCESS]);
    let mut watch = ProgramProcess::start(
        fixture.home.polling_command(&fixture.simulation.url, &["watch", "--json", "--verbose", "is:unsettled"]),
    );
    watch.read_events_until("polled", 3);
    // A user's request polls the settled transaction too.
    let checked = fixture.check(&[3]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let quote = fixture.quote(&["--json"]);
    assert_eq!(quote.code, Some(0), "{quote:?}");
    watch.signal("TERM");
    assert_eq!(watch.end().code, Some(143));
    fixture.simulation.end_within_budget();
}

#[test]
fn quote_is_stored_and_its_transaction_gets_the_estimate() {
    let fixture = OneShotFixture::new(&[]);
    let first = fixture.quote(&[]);
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""), "{first:?}");
    assert!(
        first.out.contains("quoteId") && first.out.contains("after you send the transaction:  hoptop add TX"),
        "{}",
        first.out
    );
    let again = fixture.quote(&["--json"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let again: Value = serde_json::from_str(&again.out).unwrap();
    let (id, estimate) = (again["quoteId"].as_str().unwrap(), again["estimatedRouteDuration"].as_u64().unwrap());
    assert_eq!((&again["kept"], &again["httpStatus"], &again["error"]), (&json!(true), &json!(200), &Value::Null));
    assert_eq!((&again["request"]["quoteOnly"], &again["request"]["fromAmount"]), (&json!(true), &json!("25000000")));
    assert_eq!(again["response"]["route"]["quoteId"], id);
    assert!(first.out.contains(id), "{}", first.out);
    let words = ["add", "0xfeedfeedfeed", "--from", "42161", "--to", "8453", "--quote-id", id];
    let added = fixture.home.run(&words);
    assert!(added.out.contains("; from its quote: estimatedRouteDuration, fromAddress"), "{added:?}");
    let tx = fixture.home.list().remove(0);
    assert_eq!((&tx["estimatedRouteDuration"], &tx["fromAddress"]), (&json!(estimate), &json!(WALLET)));
    assert_eq!(fixture.simulation.end_within_budget(), 1);
}

#[test]
fn rate_limited_wallet_sends_no_further_request() {
    let fixture = OneShotFixture::new(&[]);
    let call_data = |amount| fixture.quote(&["--with-transaction-data", "--from-amount", amount]);
    assert_eq!(call_data("25000000").code, Some(0));
    let limited = call_data("25000001");
    limited.assert_exit(1, &["Too many quote requests for this address", "without --with-transaction-data"]);
    let held = call_data("25000002");
    held.assert_exit(1, &["has to wait", "no request was sent", "other wallets are not affected"]);
    // A request for a price only isn't held back.
    assert_eq!(fixture.quote(&["--from-amount", "25000003"]).code, Some(0));
    let held = fixture.quote(&["--with-transaction-data", "--from-amount", "25000004", "--json"]);
    let held: Value = serde_json::from_str(&held.out).unwrap();
    assert_eq!(held["error"], "Too many quote requests for this address");
    assert!(held["retryAfter"].as_f64().is_some_and(|seconds| (0.0..=30.0).contains(&seconds)), "{held}");
}

#[test]
fn invalid_amount_sends_no_request() {
    let fixture = OneShotFixture::new(&[]);
    fixture.quote(&["--from-amount", "1.5"]).assert_exit(2, &["--from-amount: `1.5` is not an integer"]);
    fixture.quote(&["--from-amount", "0"]).assert_exit(2, &["--from-amount: it is 0"]);
    assert_eq!(fixture.simulation.end_within_budget(), 0);
}

#[test]
fn each_refused_route_names_a_remedy() {
    let fixture = OneShotFixture::new(&[]);
    fixture.quote(&["--from-amount", "5"]).assert_exit(1, &["Amount too low", "increase fromAmount"]);
    let high = "9".repeat(40);
    fixture.quote(&["--from-amount", &high]).assert_exit(1, &["Amount too high", "decrease fromAmount"]);
    let unreachable = ProcessOutput::new(
        fixture
            .home
            .polling_command(
                "http://127.0.0.1:9",
                &["quote", "--from-chain", "1", "--from-token", "0x1", "--from-amount", "7"],
            )
            .args(["--to-chain", "10", "--to-token", "0x2", "--from-address", "0x3"])
            .output()
            .unwrap(),
    );
    unreachable.assert_exit(6, &["refuses the connection", "check the base URL"]);
    assert_eq!(fixture.simulation.end_within_budget(), 2);
}

#[test]
fn answer_uses_the_templates_of_the_config() {
    let fixture = OneShotFixture::new(&[ONGOING]);
    fixture.check(&[1]);
    let usual = fixture.home.run(&["answer", &hash_part(1), "--format", "text"]);
    assert!(usual.out.starts_with("WAITING") && usual.out.contains("\nAs of "), "{usual:?}");
    let config = fixture.home.write("own.toml", "[answer]\nmarkdown = \"Hello {hash}: {say}\"\n");
    let own = fixture.home.run(&["--config", &config, "answer", &hash_part(1)]);
    assert!(own.out.starts_with("Hello `0x") && own.out.contains("Nothing is wrong"), "{own:?}");
    let wrong = fixture.home.write("wrong.toml", "ascii = true\n[answer]\ntext = \"{verdikt}\"\n");
    let wrong = fixture.home.run(&["--config", &wrong, "answer", &hash_part(1)]);
    wrong.assert_exit(2, &["line 3", "`{verdikt}` is not a known name", "verdict, say"]);
}

const CANARY: &str = "canary-c0ffee-integrator-5e2d";

fn assert_has_no_id(source: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    assert!(!text.contains("canary") && !text.contains("c0ffee"), "{source} contains the ID: {text}");
}

/// Answers in which the service repeats the ID, in plain text and in encodings that hide it: hash, HTTP status, body.
const ECHOING: [(&str, u16, &str); 5] = [
    ("0xec400001", 400, r#"{"message":"canary-c0ffee-integrator-5e2d is odd"}"#),
    ("0xec400002", 500, r#"{"message":"\u0063anary-c0ffee-integrator-5e2d is odd"}"#),
    ("0xec400003", 404, "{\"message\":\"can\u{200b}ary-c0\u{200b}ffee-integrator-5e2d is odd\"}"),
    ("0xec400004", 503, "<title>canary-c0ffee-integrator-5e2d is odd</title><html>"),
    (
        "0xec400005",
        200,
        r#"{"routerTransactionStatus":"ongoing","integratorId":"canary-c0ffee-integrator-5e2d","requestId":"canary-c0ffee-integrator-5e2d is odd"}"#,
    ),
];

/// A wallet whose route requests get such an answer too.
const ECHOING_WALLET: &str = "0xec40000000000000000000000000000000000ec4";

/// Returns the part of a scenario that answers with [`ECHOING`].
fn echoing_scenario() -> String {
    let transaction = |(hash, http, body): (&str, u16, &str)| {
        let head = format!(
            "[[transaction]]\ntransactionId = \"{hash}\"\nfromChainId = \"42161\"\ntoChainId = \"8453\"\nquoteId = \"q\"\n"
        );
        format!("{head}[[transaction.answers]]\nfrom = 0\nhttp = {http}\nbody = '{body}'\n")
    };
    let (_, http, body) = ECHOING[1];
    let route = format!("[[route]]\nfromAddress = \"{ECHOING_WALLET}\"\nhttp = {http}\nbody = '{body}'\n");
    format!("\n{}{route}", ECHOING.map(transaction).concat())
}

#[test]
fn integrator_id_is_in_no_output_and_no_file_after_all_faults() {
    let read = |name: &str| fs::read_to_string(format!("{}/assets/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let home = Home::new();
    let simulation = SimulatorProcess::start(&(read("scenarios/faults.toml") + &echoing_scenario()));
    home.import(&(read("faults.csv") + &ECHOING.map(|(hash, ..)| format!("{hash},42161,8453,q,,,{hash},\n")).concat()));
    let polling = |words: &[&str]| {
        let mut command = home.polling_command(&simulation.url, words);
        command.env("HOPTOP_INTEGRATOR_ID", CANARY);
        command
    };
    let mut watch = ProgramProcess::start(polling(&["watch", "--json", "--verbose"]));
    let events = watch.read_events_until("polled", 160);
    assert_has_no_id("the arguments", &fs::read(format!("/proc/{}/cmdline", watch.id())).unwrap_or_default());
    let checked = ProcessOutput::new(polling(&["check", "0x0301", "--json"]).output().unwrap());
    let quoted = polling(&["quote", "--from-chain", "1", "--from-token", "0x1", "--from-amount", "7000", "--json"])
        .args(["--to-chain", "10", "--to-token", "0x2", "--from-address", "0x3"])
        .output();
    let quoted = ProcessOutput::new(quoted.unwrap());
    assert_eq!((checked.code, quoted.code), (Some(0), Some(0)), "{checked:?} {quoted:?}");
    let refused = polling(&["quote", "--from-chain", "1", "--from-token", "0x1", "--from-amount", "7000", "--json"])
        .args(["--to-chain", "10", "--to-token", "0x2", "--from-address", ECHOING_WALLET])
        .output();
    let refused = ProcessOutput::new(refused.unwrap());
    // The echo arrived, and its redacted form is printed.
    assert!(refused.code == Some(6) && refused.out.contains("5e2d is odd"), "{refused:?}");
    let echoed = ProcessOutput::new(polling(&["check", ECHOING[0].0, ECHOING[4].0, ECHOING[1].0]).output().unwrap());
    assert!(echoed.out.contains("…5e2d is odd"), "{echoed:?}");
    watch.signal("TERM");
    let watched = watch.end();
    let mut printed = vec![checked, quoted, refused, echoed, watched, home.run(&["list", "--json"])];
    for tx in home.list() {
        let hash = tx["transactionId"].as_str().unwrap();
        printed.extend([&["show", hash][..], &["show", hash, "--raw"], &["answer", hash]].map(|words| home.run(words)));
    }
    let crash = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "one_shot::child_that_panics_with_an_id", "--nocapture"])
        .env("HOPTOP_INTEGRATOR_ID", CANARY)
        .env(PANICS, "1")
        .env("TMPDIR", home.path())
        .output();
    let crash = ProcessOutput::new(crash.unwrap());
    assert!(crash.err.contains("the crash report is in"), "{crash:?}");
    printed.push(crash);
    assert_has_no_id("the events", format!("{events:?}").as_bytes());
    for ended in &printed {
        assert_has_no_id("what was printed", format!("{}{}", ended.out, ended.err).as_bytes());
    }
    let files = list_files(home.path());
    assert!(files.iter().any(|path| path.to_str().unwrap().contains("crash-")), "{files:?}");
    assert!(files.iter().any(|path| path.ends_with("hoptop.log")), "{files:?}");
    let own = |path: &Path| path.starts_with(home.path().join("state")) || path.to_str().unwrap().contains("hoptop.db");
    for path in files.iter().filter(|path| own(path)) {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "other users may read {}", path.display());
    }
    for path in &files {
        assert_has_no_id(path.to_str().unwrap(), &fs::read(path).unwrap());
    }
}

/// The environment variable that makes the next test panic.
const PANICS: &str = "HOPTOP_TEST_PANICS";

/// The child of the test above: panics with a message that prints the ID and every value that contains it. Does nothing
/// without the variable.
#[test]
fn child_that_panics_with_an_id() {
    if std::env::var_os(PANICS).is_none() {
        return;
    }
    hoptop::internals::cli::install_hooks().unwrap();
    let settings = hoptop::internals::config::load(
        hoptop::internals::config::CommandLineSettings::default(),
        &hoptop::internals::config::Environment::process(),
    );
    let id = hoptop::internals::domain::IntegratorId::new(&std::env::var("HOPTOP_INTEGRATOR_ID").unwrap()).unwrap();
    let base = hoptop::internals::api::BaseUrl::parse("http://127.0.0.1:9").unwrap();
    let client =
        hoptop::internals::api::Client::new(base, id.clone(), hoptop::internals::api::Timeouts::default()).unwrap();
    panic!("a fault on purpose: {id} {id:?} {client:?} {settings:?}");
}

#[test]
fn the_demo_refuses_options_that_it_does_not_use() {
    let refused = Home::new().run(&["--config", "own.toml", "demo"]);
    refused.assert_exit(2, &["`--config` has no effect on the demo"]);
}
