use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::*;
use crate::{
    domain::{
        fixtures::{self, at},
        ids::RowId,
        observation::{Observation, RequestFailure},
        operation::Operation,
        poller::{PollerHealth, PollerReport},
        status::RouterStatus,
        transaction::TransactionParams as Params,
    },
    poller::ServiceTransport,
    store::testing,
};

/// A transport that returns these observations in order.
struct ScriptedTransport(std::sync::Mutex<Vec<Observation>>);

impl ServiceTransport for ScriptedTransport {
    async fn status(&self, _: &Params) -> Observation {
        self.0.lock().unwrap().remove(0)
    }

    async fn quote(&self, _: &crate::domain::quote::QuoteRequest) -> crate::domain::quote::QuoteObservation {
        unreachable!("no route is asked for")
    }
}

fn observe(store: &Store, row: i64, observation: Observation, seconds: i64) {
    testing::observe(store, RowId(row), observation, at(seconds));
}

/// Requests `url` and returns the head and the body of the answer.
async fn get(url: &str) -> (String, String) {
    get_as(url, "*/*").await
}

/// Like `get`, in a format.
async fn get_as(url: &str, accept: &str) -> (String, String) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!("GET /{path} HTTP/1.0\r\nHost: {host}\r\nAccept: {accept}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Serves the metrics of these profiles at a free port.
async fn serve_metrics(store: &Store, profiles: &[&str], requests: &RequestCounters, clock: &Clock) -> Metrics {
    let profiles = profiles.iter().map(|profile| (*profile).to_owned()).collect();
    let sources = MetricsSources { store, profiles, requests: requests.clone(), posts: WebhookPosts::default() };
    Metrics::serve(Some("127.0.0.1:0".parse().unwrap()), sources, clock).await.unwrap().unwrap()
}

#[test]
fn other_names_of_this_machine_are_foreign_hosts() {
    let foreign = |host: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        has_foreign_host(&headers)
    };
    assert!(["127.0.0.1:9464", "localhost:9464", "localhost", "[::1]:9464"].iter().all(|host| !foreign(host)));
    assert!(["evil.example", "evil.example:9464", "localhost.evil.example"].iter().all(|host| foreign(host)));
    assert!(!has_foreign_host(&HeaderMap::new()));
}

/// Returns the rest of the only line that starts with `name`.
fn value<'a>(text: &'a str, name: &str) -> &'a str {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let (found, other) = (lines.next(), lines.next());
    assert!(other.is_none(), "{name} appears twice:\n{text}");
    found.unwrap_or_else(|| panic!("{name} is missing:\n{text}")).trim()
}

#[tokio::test]
async fn metrics_count_transactions_and_requests_and_identify_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
    testing::track(&store, "default", (1..=4).map(fixtures::new).collect(), at(0));
    testing::track(&store, "other", vec![fixtures::new(9)], at(0));
    observe(&store, 1, fixtures::says(RouterStatus::Success), 10);
    observe(&store, 2, fixtures::says(RouterStatus::NeedsGas), 20);
    observe(&store, 3, fixtures::says(RouterStatus::Unknown("in_limbo".into())), 30);
    let report = PollerReport {
        at: at(40),
        valid_until: at(60),
        id: "…7f3a".into(),
        rps: 10.0,
        used: 2.5,
        health: PollerHealth::Live,
        ..PollerReport::default()
    };
    let reported = report.at;
    let report = Operation::ReportPolling { profile: "default".into(), report: Box::new(report) };
    testing::apply(&store, report, reported).unwrap();
    let requests = RequestCounters::default();
    let failure = Observation {
        latency: std::time::Duration::from_millis(300),
        ..fixtures::fails(RequestFailure::TimedOut(std::time::Duration::ZERO))
    };
    let answers = vec![fixtures::says(RouterStatus::Ongoing), failure];
    let counted = requests.clone();
    let count = Box::new(move |sent| counted.count("default", sent));
    let transport = CountingTransport { transport: ScriptedTransport(answers.into()), count };
    for _ in 0..2 {
        transport.status(&fixtures::new(1).params).await;
    }
    let clock = Clock::starting_at(at(50));
    let metrics = serve_metrics(&store, &["default", "other"], &requests, &clock).await;
    let url = metrics.url();
    let (head, text) = get(&url).await;
    assert!(
        head.starts_with("HTTP/1.0 200") && head.contains("content-type: application/openmetrics-text; version=1.0.0;"),
        "{head}"
    );
    for (name, expected) in [
        ("hoptop_transactions{profile=\"default\",status=\"success\"}", "1"),
        ("hoptop_transactions{profile=\"default\",status=\"needs_gas\"}", "1"),
        ("hoptop_transactions{profile=\"default\",status=\"unknown\"}", "1"),
        ("hoptop_transactions{profile=\"default\",status=\"unanswered\"}", "1"),
        ("hoptop_transactions{profile=\"default\",status=\"refund\"}", "0"),
        ("hoptop_alerts{profile=\"default\",rule=\"needs_gas\",severity=\"warning\",state=\"firing\"}", "1"),
        ("hoptop_budget_used{profile=\"default\"}", "2.5"),
        ("hoptop_poller_up{profile=\"default\"}", "1.0"),
        ("hoptop_transactions{profile=\"other\",status=\"unanswered\"}", "1"),
        ("hoptop_poller_up{profile=\"other\"}", "0.0"),
        ("hoptop_request_duration_seconds_count{profile=\"other\"}", "0"),
        ("# TYPE hoptop_transactions", "gauge"),
        (concat!("hoptop_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"}"), "1"),
        ("hoptop_requests_total{profile=\"default\",endpoint=\"status\",outcome=\"record\"}", "1"),
        ("hoptop_requests_total{profile=\"default\",endpoint=\"status\",outcome=\"timed_out\"}", "1"),
        ("hoptop_request_duration_seconds_count{profile=\"default\"}", "2"),
        ("hoptop_request_duration_seconds_bucket{le=\"0.4\",profile=\"default\"}", "2"),
    ] {
        assert_eq!(value(&text, name), expected, "{name}:\n{text}");
    }
    let age: f64 = value(&text, "hoptop_oldest_answer_age_seconds{profile=\"default\"}").parse().unwrap();
    assert!((50.0..60.0).contains(&age), "{age}");
    assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1, "{text}");
    let hash = fixtures::new(1).params.transaction_id;
    assert!(!text.contains(hash.as_str()) && !text.contains("7f3a") && !text.contains("in_limbo"), "{text}");
    assert!(get(&url.replace("/metrics", "/")).await.0.starts_with("HTTP/1.0 404"));
}

/// Checks that the metrics in `assets/grafana.json` and in the alert rules are served, under these names and with
/// labels.
fn assert_metrics_of_the_dashboard_and_rules_are_served(text: &str) {
    let (dashboard, rules) =
        (include_str!("../../assets/grafana.json"), include_str!("../../assets/prometheus/alerts.yml"));
    serde_json::from_str::<serde_json::Value>(dashboard).unwrap();
    let metric = regex::Regex::new(r"\bhoptop_\w+").unwrap();
    let names = [dashboard, rules].map(|text| metric.find_iter(text).map(|found| found.as_str()));
    let asked: std::collections::BTreeSet<&str> = names.into_iter().flatten().collect();
    assert!(asked.len() > 10, "{asked:?}");
    for name in asked {
        let is_served =
            text.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])));
        assert!(is_served, "{name} isn't served:\n{text}");
    }
}

#[tokio::test]
async fn detection_delay_counts_from_the_last_answer_with_a_status() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
    testing::track(&store, "default", vec![fixtures::new(1)], at(0));
    let clock = Clock::starting_at(at(500));
    let metrics = serve_metrics(&store, &["default"], &RequestCounters::default(), &clock).await;
    let text = async || get(&metrics.url()).await.1;
    observe(&store, 1, fixtures::says(RouterStatus::Ongoing), 10);
    observe(&store, 1, fixtures::says(RouterStatus::Ongoing), 70);
    let refused = fixtures::fails(RequestFailure::Transport("refused".into()));
    observe(&store, 1, Observation { http_status: None, ..refused }, 80);
    observe(&store, 1, fixtures::says(RouterStatus::Success), 100);
    let found = async {
        loop {
            let text = text().await;
            if value(&text, "hoptop_detection_delay_seconds_count{profile=\"default\"}") == "1" {
                break text;
            }
        }
    };
    let text = tokio::time::timeout(std::time::Duration::from_secs(20), found).await.unwrap();
    assert_eq!(value(&text, "hoptop_detection_delay_seconds_sum{profile=\"default\"}"), "30.0", "{text}");
}

#[tokio::test]
async fn address_in_use_error_names_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let clock = Clock::starting_at(at(0));
    let serve = async |address| {
        let (requests, posts) = (RequestCounters::default(), WebhookPosts::default());
        let sources = MetricsSources { store: &store, profiles: vec!["default".to_owned()], requests, posts };
        Metrics::serve(address, sources, &clock).await
    };
    let refused = serve(Some(taken.local_addr().unwrap())).await.err().unwrap().to_string();
    assert!(refused.contains("the port is in use; choose another port"), "{refused}");
    assert!(serve(None).await.unwrap().is_none());
}

/// Waits until the metrics have this line, and returns their text.
async fn text_with_line(metrics: &Metrics, accept: &str, line: &str) -> String {
    let found = async {
        loop {
            let text = get_as(&metrics.url(), accept).await.1;
            if text.lines().any(|found| found == line) {
                break text;
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), found).await.unwrap_or_else(|_| panic!("no {line}"))
}

/// Serves the metrics of a store with transfers that settled, a backup and a webhook with a backlog.
async fn serve_everything(folder: &std::path::Path) -> (Store, Metrics, crate::notify::Notifier) {
    let store = Store::open(&folder.join("hoptop.db")).unwrap();
    let submitted = |number| {
        let mut new = fixtures::new(number);
        new.params.submitted_at = Some(at(0));
        new
    };
    testing::track(&store, "default", (1..=4).map(submitted).collect(), at(5));
    let clock = Clock::starting_at(at(8_000));
    let refusing = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let posts = WebhookPosts::default();
    let setup = crate::notify::NotifierSetup {
        store: store.clone(),
        profile: "default".into(),
        clock: clock.clone(),
        render: |_, _, _| Ok("{}".to_owned()),
        events: crate::domain::notification::NotifiedEvent::DEFAULT.to_vec(),
        posts: posts.clone(),
    };
    let webhook = crate::notify::webhook::Webhook::new(&format!("http://{refusing}/")).unwrap();
    let notifier =
        crate::notify::Notifier::start(&setup, vec![crate::notify::Channel::Webhook(webhook)]).await.unwrap();
    let requests = RequestCounters::default();
    let sources = MetricsSources { store: &store, profiles: vec!["default".into()], requests: requests.clone(), posts };
    let metrics = Metrics::serve(Some("127.0.0.1:0".parse().unwrap()), sources, &clock).await.unwrap().unwrap();
    let mut commits = store.subscribe(WakeKind::AnyCommit).unwrap();
    while store.reader().unwrap().notification_cursors("default").unwrap().is_empty() {
        commits.changed().await.unwrap();
    }
    let report = PollerReport { at: at(7_990), valid_until: at(9_000), ..PollerReport::default() };
    let report = Operation::ReportPolling { profile: "default".into(), report: Box::new(report) };
    testing::apply(&store, report, at(7_990)).unwrap();
    let transport = ScriptedTransport(vec![fixtures::says(RouterStatus::Ongoing)].into());
    let transport = CountingTransport { transport, count: Box::new(move |sent| requests.count("default", sent)) };
    transport.status(&fixtures::new(1).params).await;
    // The deadline is 15 minutes after the submission.
    observe(&store, 1, fixtures::says(RouterStatus::Ongoing), 10);
    observe(&store, 1, fixtures::says(RouterStatus::Ongoing), 60);
    observe(&store, 1, fixtures::says(RouterStatus::Success), 70);
    observe(&store, 2, fixtures::says(RouterStatus::Ongoing), 10);
    observe(&store, 2, fixtures::says(RouterStatus::Ongoing), 950);
    observe(&store, 2, fixtures::says(RouterStatus::Ongoing), 4_990);
    observe(&store, 2, fixtures::says(RouterStatus::Success), 5_000);
    observe(&store, 3, fixtures::says(RouterStatus::NeedsGas), 6_000);
    Store::backup_if_due(store.path(), at(7_000), &|| true).unwrap().unwrap();
    (store, metrics, notifier)
}

#[tokio::test]
async fn settled_transfers_files_and_webhooks_have_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let (store, metrics, _notifier) = serve_everything(folder.path()).await;
    let failed = "hoptop_webhook_posts_total{profile=\"default\",outcome=\"failed\"} 1";
    text_with_line(&metrics, "*/*", failed).await;
    let last = "hoptop_settled_transfers_total{profile=\"default\",from_chain=\"42161\",to_chain=\"8453\",\
                status=\"success\",deadline=\"missed\"} 1";
    let text = text_with_line(&metrics, "*/*", last).await;
    let route = "profile=\"default\",from_chain=\"42161\",to_chain=\"8453\"";
    for (name, expected) in [
        (format!("hoptop_settled_transfers_total{{{route},status=\"success\",deadline=\"met\"}}"), "1"),
        // A share can be computed also where nothing was unknown.
        (format!("hoptop_settled_transfers_total{{{route},status=\"success\",deadline=\"unknown\"}}"), "0"),
        (format!("hoptop_transfer_duration_seconds_bucket{{le=\"60.0\",{route}}}"), "0"),
        (format!("hoptop_transfer_duration_seconds_bucket{{le=\"120.0\",{route}}}"), "1"),
        (format!("hoptop_transfer_duration_seconds_count{{{route}}}"), "2"),
        (format!("hoptop_transfer_duration_seconds_sum{{{route}}}"), "5070.0"),
        ("hoptop_backup_age_seconds".into(), "1000.0"),
        ("hoptop_webhook_backlog{profile=\"default\"}".into(), "3"),
        ("hoptop_webhook_backlog_age_seconds{profile=\"default\"}".into(), "7050.0"),
        ("hoptop_webhook_posts_total{profile=\"default\",outcome=\"delivered\"}".into(), "0"),
    ] {
        let found = value(&text, &name);
        let (found, wanted) = (found.parse::<f64>().unwrap(), expected.parse::<f64>().unwrap());
        // The clock runs on during the test.
        assert!((wanted..wanted + 60.0).contains(&found) && (wanted >= 1_000.0 || found == wanted), "{name}: {found}");
    }
    let size: u64 = value(&text, "hoptop_store_size_bytes{file=\"database\"}").parse().unwrap();
    assert!(size >= 4_096, "{size}");
    assert_metrics_of_the_dashboard_and_rules_are_served(&text);
    // After a restart the series of a known route begin with 0, so that its next transfer is an increase.
    let restarted =
        serve_metrics(&store, &["default"], &RequestCounters::default(), &Clock::starting_at(at(9_000))).await;
    let begun = format!("hoptop_settled_transfers_total{{{route},status=\"success\",deadline=\"met\"}} 0");
    let text = text_with_line(&restarted, "*/*", &begun).await;
    assert_eq!(value(&text, &format!("hoptop_transfer_duration_seconds_count{{{route}}}")), "0");
}

#[tokio::test]
async fn promtool_finds_no_fault_in_the_prometheus_format() {
    let folder = tempfile::tempdir().unwrap();
    let (_store, metrics, _notifier) = serve_everything(folder.path()).await;
    let last = "hoptop_webhook_posts_total{profile=\"default\",outcome=\"failed\"} 1";
    text_with_line(&metrics, "text/plain", last).await;
    let (head, text) = get_as(&metrics.url(), "text/plain;version=0.0.4").await;
    assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
    assert!(text.contains("# TYPE hoptop_requests_total counter\n") && !text.contains("# EOF"), "{text}");
    let check = std::process::Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn();
    let Ok(mut check) = check else { return println!("skipped: there is no promtool") };
    io::Write::write_all(&mut check.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let checked = check.wait_with_output().unwrap();
    assert!(checked.status.success() && checked.stdout.is_empty() && checked.stderr.is_empty(), "{checked:?}\n{text}");
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed_and_slow_ones_make_room() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
    let clock = Clock::system();
    let metrics = serve_metrics(&store, &["default"], &RequestCounters::default(), &clock).await;
    let url = metrics.url();
    let host = url.strip_prefix("http://").unwrap().split_once('/').unwrap().0;
    let started = clock.now().mono;
    let mut slow = Vec::new();
    for _ in 0..server::MAX_CONNECTIONS {
        let mut stream = TcpStream::connect(host).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n").await.unwrap();
        slow.push(stream);
    }
    let mut excess = TcpStream::connect(host).await.unwrap();
    let end = excess.read(&mut [0; 9]).await;
    assert!(matches!(end, Ok(0)) || end.is_err(), "{end:?}");
    assert!(clock.now().mono.since(started) < server::HEADER_TIMEOUT, "the excess connection was not closed at once");
    for mut stream in slow {
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer).await);
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    }
    let waited = clock.now().mono.since(started);
    assert!((server::HEADER_TIMEOUT..server::HEADER_TIMEOUT * 4).contains(&waited), "{waited:?}");
    assert!(get(&url).await.0.starts_with("HTTP/1.0 200"));
}
