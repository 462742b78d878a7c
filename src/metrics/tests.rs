use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::*;
use crate::{
    domain::{
        fixtures::{self, at},
        ids::RowId,
        observation::{Failure, Observation},
        operation::Operation,
        poller::{PollerHealth, PollerReport},
        status::RouterStatus,
        transaction::TransactionParams as Params,
    },
    poller::Wire,
    store::testing,
};

/// A wire that returns these observations in order.
struct Scripted(std::sync::Mutex<Vec<Observation>>);

impl Wire for Scripted {
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
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    stream.write_all(format!("GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Serves the metrics of these profiles at a free port.
async fn serve_metrics(store: &Store, profiles: &[&str], requests: &Requests, clock: &Clock) -> Metrics {
    let profiles = profiles.iter().map(|profile| (*profile).to_owned()).collect();
    let address = Some("127.0.0.1:0".parse().unwrap());
    Metrics::serve(address, store, profiles, requests, clock).await.unwrap().unwrap()
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
    let requests = Requests::default();
    let failure = Observation {
        latency: std::time::Duration::from_millis(300),
        ..fixtures::fails(Failure::TimedOut(std::time::Duration::ZERO))
    };
    let answers = vec![fixtures::says(RouterStatus::Ongoing), failure];
    let counted = requests.clone();
    let count = Box::new(move |sent| counted.count("default", sent));
    let wire = Counted { wire: Scripted(answers.into()), count };
    for _ in 0..2 {
        wire.status(&fixtures::new(1).params).await;
    }
    let clock = Clock::starting_at(at(50));
    let metrics = serve_metrics(&store, &["default", "other"], &requests, &clock).await;
    let url = metrics.url();
    let (head, text) = get(&url).await;
    assert!(head.starts_with("HTTP/1.0 200") && head.contains(&format!("content-type: {OPENMETRICS_TEXT}")), "{head}");
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
    assert_metrics_of_the_grafana_dashboard_are_served(&text);
    assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1, "{text}");
    let hash = fixtures::new(1).params.transaction_id;
    assert!(!text.contains(hash.as_str()) && !text.contains("7f3a") && !text.contains("in_limbo"), "{text}");
    assert!(get(&url.replace("/metrics", "/")).await.0.starts_with("HTTP/1.0 404"));
}

/// Checks that the metrics in `assets/grafana.json` are served, under these names and with labels.
fn assert_metrics_of_the_grafana_dashboard_are_served(text: &str) {
    let dashboard = include_str!("../../assets/grafana.json");
    serde_json::from_str::<serde_json::Value>(dashboard).unwrap();
    let metric = regex::Regex::new(r"hoptop_\w+").unwrap();
    let asked: std::collections::BTreeSet<&str> = metric.find_iter(dashboard).map(|found| found.as_str()).collect();
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
    let metrics = serve_metrics(&store, &["default"], &Requests::default(), &clock).await;
    let text = async || get(&metrics.url()).await.1;
    observe(&store, 1, fixtures::says(RouterStatus::Ongoing), 10);
    observe(&store, 1, fixtures::says(RouterStatus::Ongoing), 70);
    let refused = fixtures::fails(Failure::Transport("refused".into()));
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
    let serve =
        async |address| Metrics::serve(address, &store, vec!["default".to_owned()], &Requests::default(), &clock).await;
    let refused = serve(Some(taken.local_addr().unwrap())).await.err().unwrap().to_string();
    assert!(refused.contains("the port is in use; choose another port"), "{refused}");
    assert!(serve(None).await.unwrap().is_none());
}
