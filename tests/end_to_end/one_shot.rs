//! `check`, `answer` and `quote` as processes against the simulated service over HTTP, alone and beside one that polls;
//! and that the integrator ID is nowhere after all of it.

use std::{fs, io::ErrorKind, net::TcpListener, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::{Value, json};

use super::common::{Batch, Ended, Home, Running, Simulation, files};

const ONGOING: &str = r#"{ from = 0, status = "ongoing", steps = 1 }"#;
const SUCCESS: &str = r#"{ from = 0, status = "success", steps = 3 }"#;
const PARTIAL: &str = r#"{ from = 0, status = "partial_success", steps = 3 }"#;
const UNKNOWN: &str = "{ from = 0, http = 404 }";
const REJECTED: &str = r#"{ from = 0, http = 400, body = '{"message":"quoteId is not valid","type":"BAD_REQUEST"}' }"#;
const BROKEN: &str = "{ from = 0, http = 500 }";

/// Asks for routes.
const WALLET: &str = "0xAbc0000000000000000000000000000000000abc";

/// The number of a transaction of [`Batch`], as a unique part of its hash.
fn tx(number: usize) -> String {
    format!("{number:010}")
}

struct Bench {
    home: Home,
    simulation: Simulation,
}

impl Bench {
    fn new(answers: &[&str]) -> Self {
        let batch = Batch::new(answers);
        let bench = Self { home: Home::new(), simulation: Simulation::start(&batch.scenario) };
        if !answers.is_empty() {
            bench.home.import(&batch.csv);
        }
        bench
    }

    fn run(&self, words: &[&str]) -> Ended {
        Ended::of(self.home.polling(&self.simulation.url, words).output().unwrap())
    }

    fn check(&self, numbers: &[usize]) -> Ended {
        let hashes: Vec<_> = numbers.iter().map(|number| tx(*number)).collect();
        let words: Vec<_> = ["check"].into_iter().chain(hashes.iter().map(String::as_str)).collect();
        self.run(&words)
    }

    fn quote(&self, change: &[&str]) -> Ended {
        let mut words = vec!["quote", "--from-chain", "42161", "--from-token", "0xaf88", "--to-chain", "8453"];
        words.extend(["--to-token", "0x8335", "--from-address", WALLET, "--to-address", "0xdef"]);
        if !change.contains(&"--from-amount") {
            words.extend(["--from-amount", "25000000"]);
        }
        words.extend(change);
        self.run(&words)
    }
}

#[test]
fn checking_polls_once_each_and_says_what_came() {
    let bench = Bench::new(&[SUCCESS, UNKNOWN, REJECTED, ONGOING, PARTIAL, BROKEN]);
    let fine = bench.check(&[1, 2, 4]);
    assert_eq!((fine.code, fine.err.as_str()), (Some(0), ""), "{fine:?}");
    for part in ["+ success", "COMPLETED", "? not_found", "Transaction not found", "~ ongoing", "WAITING"] {
        assert!(fine.out.contains(part), "{part}: {}", fine.out);
    }
    let partial = bench.check(&[5]);
    assert_eq!(partial.code, Some(4), "{partial:?}");
    let rejected = bench.check(&[3]);
    assert_eq!(rejected.code, Some(4), "{rejected:?}");
    assert!(rejected.out.contains("POLL     the service rejected the request: quoteId is not valid"), "{rejected:?}");
    let broken = bench.check(&[6]);
    assert_eq!(broken.code, Some(6), "{broken:?}");
    assert!(broken.out.contains("HTTP 500") && broken.out.contains("nothing is known yet"), "{broken:?}");
    let mixed = bench.check(&[1, 6]);
    assert_eq!(mixed.code, Some(1), "{mixed:?}");
    // 3 + 1 + 1 + 1 + 2, each once; none of it is hidden from the budget.
    assert_eq!(bench.simulation.end_within_budget(), 8);
}

#[test]
fn checking_prints_the_same_json_as_the_list() {
    let bench = Bench::new(&[SUCCESS, ONGOING]);
    let checked = bench.run(&["check", &tx(2), &tx(1), &tx(2), "--json"]);
    assert_eq!((checked.code, checked.err.as_str()), (Some(0), ""), "{checked:?}");
    let checked: Vec<Value> = serde_json::from_str(&checked.out).unwrap();
    let statuses: Vec<_> = checked.iter().map(|tx| (&tx["quoteId"], &tx["status"], &tx["polls"])).collect();
    let (one, two) = (json!("q-1"), json!("q-2"));
    assert_eq!(statuses, [(&two, &json!("ongoing"), &json!(1)), (&one, &json!("success"), &json!(1))]);
    assert_eq!(bench.simulation.end_within_budget(), 2);
}

#[test]
fn what_is_not_tracked_is_not_asked_about() {
    let bench = Bench::new(&[SUCCESS]);
    let unknown = bench.run(&["check", &tx(1), "0xabcdefabcdef"]);
    unknown.assert_refused(1, &["`0xabcdefabcdef` is not tracked", "hoptop add"]);
    bench.home.run(&["check", &tx(1)]).assert_refused(2, &["no base URL", "HOPTOP_BASE_URL"]);
    assert_eq!(bench.simulation.end_within_budget(), 0);
}

#[test]
fn a_service_out_of_reach_and_a_refused_id_have_their_codes() {
    let bench = Bench::new(&[SUCCESS]);
    let gone = Ended::of(bench.home.polling("http://127.0.0.1:9", &["check", &tx(1)]).output().unwrap());
    assert_eq!(gone.code, Some(6), "{gone:?}");
    assert!(gone.out.contains("refuses the connection"), "{gone:?}");
    let words = ["check", &tx(1)];
    let mut refused = bench.home.polling(&bench.simulation.url, &words);
    let refused = Ended::of(refused.env("HOPTOP_INTEGRATOR_ID", "revoked-integrator-5e2d").output().unwrap());
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.out.contains("the service refused the integrator ID"), "{refused:?}");
}

#[test]
fn plain_http_to_this_machine_never_goes_through_a_proxy() {
    let bench = Bench::new(&[SUCCESS]);
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let url = format!("http://{}", proxy.local_addr().unwrap());
    let words = ["check", &tx(1)];
    let mut command = bench.home.polling(&bench.simulation.url, &words);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, &url);
    }
    let checked = Ended::of(command.output().unwrap());
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert_eq!(proxy.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(bench.simulation.end_within_budget(), 1);
}

#[test]
fn beside_one_that_polls_it_does_the_asking() {
    let bench = Bench::new(&[ONGOING, ONGOING, SUCCESS]);
    let mut watch =
        Running::start(bench.home.polling(&bench.simulation.url, &["watch", "--json", "--verbose", "is:unsettled"]));
    watch.until("polled", 3);
    // The settled one is asked about as well: a person wants it.
    let checked = bench.check(&[3]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let quote = bench.quote(&["--json"]);
    assert_eq!(quote.code, Some(0), "{quote:?}");
    watch.signal("TERM");
    assert_eq!(watch.end().code, Some(143));
    bench.simulation.end_within_budget();
}

#[test]
fn a_quote_is_kept_and_its_transaction_finds_the_estimate() {
    let bench = Bench::new(&[]);
    let first = bench.quote(&[]);
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""), "{first:?}");
    assert!(first.out.contains("quoteId") && first.out.contains("once it is sent:  hoptop add TX"), "{}", first.out);
    let again = bench.quote(&["--json"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let again: Value = serde_json::from_str(&again.out).unwrap();
    let (id, estimate) = (again["quoteId"].as_str().unwrap(), again["estimatedRouteDuration"].as_u64().unwrap());
    assert_eq!((&again["kept"], &again["httpStatus"], &again["error"]), (&json!(true), &json!(200), &Value::Null));
    assert_eq!((&again["request"]["quoteOnly"], &again["request"]["fromAmount"]), (&json!(true), &json!("25000000")));
    assert_eq!(again["response"]["route"]["quoteId"], id);
    assert!(first.out.contains(id), "{}", first.out);
    let words = ["add", "0xfeedfeedfeed", "--from", "42161", "--to", "8453", "--quote-id", id];
    let added = bench.home.run(&words);
    assert!(added.out.contains("; from its quote: estimatedRouteDuration, fromAddress"), "{added:?}");
    let tx = bench.home.list().remove(0);
    assert_eq!((&tx["estimatedRouteDuration"], &tx["fromAddress"]), (&json!(estimate), &json!(WALLET)));
    assert_eq!(bench.simulation.end_within_budget(), 1);
}

#[test]
fn a_wallet_that_has_to_wait_costs_no_further_request() {
    let bench = Bench::new(&[]);
    let call_data = |amount| bench.quote(&["--with-transaction-data", "--from-amount", amount]);
    assert_eq!(call_data("25000000").code, Some(0));
    let limited = call_data("25000001");
    limited.assert_refused(1, &["Too many quote requests for this address", "without --with-transaction-data"]);
    let held = call_data("25000002");
    held.assert_refused(1, &["has to wait until", "no request was spent", "other wallets are not held"]);
    // Neither pricing nor another wallet is held back.
    assert_eq!(bench.quote(&["--from-amount", "25000003"]).code, Some(0));
    let held = bench.quote(&["--with-transaction-data", "--from-amount", "25000004", "--json"]);
    let held: Value = serde_json::from_str(&held.out).unwrap();
    assert_eq!(held["error"], "Too many quote requests for this address");
    assert!(held["retryAfter"].as_f64().is_some_and(|seconds| (0.0..=30.0).contains(&seconds)), "{held}");
}

#[test]
fn what_can_only_be_refused_costs_no_request() {
    let bench = Bench::new(&[]);
    bench.quote(&["--from-amount", "1.5"]).assert_refused(2, &["--from-amount: `1.5` is not an integer"]);
    bench.quote(&["--from-amount", "0"]).assert_refused(2, &["--from-amount: it is 0"]);
    assert_eq!(bench.simulation.end_within_budget(), 0);
}

#[test]
fn each_refusal_of_a_route_says_what_to_do() {
    let bench = Bench::new(&[]);
    bench.quote(&["--from-amount", "5"]).assert_refused(1, &["Amount too low", "increase fromAmount"]);
    let high = "9".repeat(40);
    bench.quote(&["--from-amount", &high]).assert_refused(1, &["Amount too high", "decrease fromAmount"]);
    let gone = Ended::of(
        bench
            .home
            .polling("http://127.0.0.1:9", &["quote", "--from-chain", "1", "--from-token", "0x1", "--from-amount", "7"])
            .args(["--to-chain", "10", "--to-token", "0x2", "--from-address", "0x3"])
            .output()
            .unwrap(),
    );
    gone.assert_refused(6, &["refuses the connection", "check the base URL"]);
    assert_eq!(bench.simulation.end_within_budget(), 2);
}

#[test]
fn a_reply_has_the_words_of_the_config() {
    let bench = Bench::new(&[ONGOING]);
    bench.check(&[1]);
    let usual = bench.home.run(&["answer", &tx(1), "--format", "text"]);
    assert!(usual.out.starts_with("WAITING") && usual.out.contains("\nAs of "), "{usual:?}");
    let config = bench.home.write("own.toml", "[answer]\nmarkdown = \"Hello {hash}: {say}\"\n");
    let own = bench.home.run(&["--config", &config, "answer", &tx(1)]);
    assert!(own.out.starts_with("Hello `0x") && own.out.contains("Nothing is wrong"), "{own:?}");
    let wrong = bench.home.write("wrong.toml", "ascii = true\n[answer]\ntext = \"{verdikt}\"\n");
    let wrong = bench.home.run(&["--config", &wrong, "answer", &tx(1)]);
    wrong.assert_refused(2, &["line 3", "`{verdikt}` is unknown", "verdict, say"]);
}

const CANARY: &str = "canary-c0ffee-integrator-5e2d";

fn assert_clean(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    assert!(!text.contains("canary") && !text.contains("c0ffee"), "the ID is in {what}: {text}");
}

/// Answers in which the service repeats the ID, plainly and in ways that hide it: hash, HTTP status, body.
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

/// A wallet whose requests for routes are answered so too.
const ECHOING_WALLET: &str = "0xec40000000000000000000000000000000000ec4";

fn echoes() -> String {
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
fn after_all_faults_the_id_is_nowhere() {
    let read = |name: &str| fs::read_to_string(format!("{}/assets/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let home = Home::new();
    let simulation = Simulation::start(&(read("scenarios/faults.toml") + &echoes()));
    home.import(&(read("faults.csv") + &ECHOING.map(|(hash, ..)| format!("{hash},42161,8453,q,,,{hash},\n")).concat()));
    let polling = |words: &[&str]| {
        let mut command = home.polling(&simulation.url, words);
        command.env("HOPTOP_INTEGRATOR_ID", CANARY);
        command
    };
    let mut watch = Running::start(polling(&["watch", "--json", "--verbose"]));
    let events = watch.until("polled", 160);
    assert_clean("the arguments", &fs::read(format!("/proc/{}/cmdline", watch.id())).unwrap_or_default());
    let checked = Ended::of(polling(&["check", "0x0301", "--json"]).output().unwrap());
    let quoted = polling(&["quote", "--from-chain", "1", "--from-token", "0x1", "--from-amount", "7000", "--json"])
        .args(["--to-chain", "10", "--to-token", "0x2", "--from-address", "0x3"])
        .output();
    let quoted = Ended::of(quoted.unwrap());
    assert_eq!((checked.code, quoted.code), (Some(0), Some(0)), "{checked:?} {quoted:?}");
    let refused = polling(&["quote", "--from-chain", "1", "--from-token", "0x1", "--from-amount", "7000", "--json"])
        .args(["--to-chain", "10", "--to-token", "0x2", "--from-address", ECHOING_WALLET])
        .output();
    let refused = Ended::of(refused.unwrap());
    // The echo came, and what may be shown of it was found.
    assert!(refused.code == Some(6) && refused.out.contains("5e2d is odd"), "{refused:?}");
    let echoed = Ended::of(polling(&["check", ECHOING[0].0, ECHOING[4].0, ECHOING[1].0]).output().unwrap());
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
    let crash = Ended::of(crash.unwrap());
    assert!(crash.err.contains("the report is in"), "{crash:?}");
    printed.push(crash);
    assert_clean("the events", format!("{events:?}").as_bytes());
    for ended in &printed {
        assert_clean("what was printed", format!("{}{}", ended.out, ended.err).as_bytes());
    }
    let files = files(home.path());
    assert!(files.iter().any(|path| path.to_str().unwrap().contains("crash-")), "{files:?}");
    assert!(files.iter().any(|path| path.ends_with("hoptop.log")), "{files:?}");
    let own = |path: &Path| path.starts_with(home.path().join("state")) || path.to_str().unwrap().contains("hoptop.db");
    for path in files.iter().filter(|path| own(path)) {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "others may look into {}", path.display());
    }
    for path in &files {
        assert_clean(path.to_str().unwrap(), &fs::read(path).unwrap());
    }
}

/// Set where the next one is to panic.
const PANICS: &str = "HOPTOP_TEST_PANICS";

/// The child of the test above: panics with the ID at hand, and all that holds it in the message. Otherwise it does
/// nothing.
#[test]
fn child_that_panics_with_an_id() {
    if std::env::var_os(PANICS).is_none() {
        return;
    }
    hoptop::cli::install_hooks().unwrap();
    let settings = hoptop::config::load(hoptop::config::Flags::default(), &hoptop::config::Environment::process());
    let id = hoptop::domain::secret::IntegratorId::new(&std::env::var("HOPTOP_INTEGRATOR_ID").unwrap()).unwrap();
    let base = hoptop::api::BaseUrl::parse("http://127.0.0.1:9").unwrap();
    let client = hoptop::api::Client::new(base, id.clone(), hoptop::api::Timeouts::default()).unwrap();
    panic!("a fault on purpose: {id} {id:?} {client:?} {settings:?}");
}
