//! `watch --metrics` serves its metrics over HTTP while it runs.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use hoptop::internals::clock::Clock;
use serde_json::Value;

use super::{
    ONGOING, SUCCESS,
    common::{Home, ID, ProcessOutput, ProgramProcess, ScenarioBatch, SimulatorProcess, get_metrics},
};

#[test]
fn watch_serves_metrics_while_it_runs() {
    let batch = ScenarioBatch::new(&[SUCCESS, ONGOING]);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let words = ["watch", "--json", "--metrics", "127.0.0.1:0", "--timeout", "1m"];
    let mut watch = ProgramProcess::start(home.polling_command(&simulation.url, &words));
    let address = watch.read_metrics_address();
    watch.read_events_until("settled", 1);
    watch.read_events_until("status_changed", 1);
    let text = get_metrics(&address);
    for line in [
        "hoptop_transactions{profile=\"default\",status=\"success\"} 1",
        "hoptop_transactions{profile=\"default\",status=\"ongoing\"} 1",
        "hoptop_requests_total{profile=\"default\",endpoint=\"status\",outcome=\"record\"} 2",
        "hoptop_budget_limit{profile=\"default\"} 10.0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is missing:\n{text}");
    }
    assert!(!text.contains(ID) && !text.contains(&ID[ID.len() - 4..]), "{text}");
    watch.signal("TERM");
    assert_eq!(watch.end().code, Some(143));
    assert!(TcpStream::connect(&address).is_err(), "the ended watch still listens");
}

#[test]
fn unusable_metrics_address_is_an_error_with_a_remedy() {
    let (home, taken) = (Home::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let address = taken.local_addr().unwrap().to_string();
    home.watch("http://127.0.0.1:1", &["--metrics", &address]).assert_exit(1, &[&address, "choose another port"]);
    let port = taken.local_addr().unwrap().port().to_string();
    home.watch("http://127.0.0.1:1", &["--metrics", &port]).assert_exit(1, &[&address, "choose another port"]);
    home.watch("http://127.0.0.1:1", &["--metrics", "nowhere"]).assert_exit(2, &["--metrics", "write it as 9464"]);
}

/// Returns the output of promtool in the folder of the alert rules; `None` without a promtool.
fn run_promtool(words: &[&str]) -> Option<ProcessOutput> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/prometheus");
    match Command::new("promtool").args(words).current_dir(folder).output() {
        Ok(output) => Some(ProcessOutput::new(output)),
        Err(_) => {
            println!("skipped: there is no promtool");
            None
        }
    }
}

#[test]
fn alert_rules_fire_for_a_killed_poller_among_two() {
    let Some(checked) = run_promtool(&["check", "rules", "alerts.yml"]) else { return };
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let tested = run_promtool(&["test", "rules", "alerts.test.yml"]).unwrap();
    assert!(tested.code == Some(0) && tested.out.contains("SUCCESS"), "{tested:?}");
}

/// Returns the status of each alert that a Prometheus reports as `alertname instance state`.
fn read_alerts(prometheus: &str) -> Vec<String> {
    let Ok(mut stream) = TcpStream::connect(prometheus) else { return Vec::new() };
    write!(stream, "GET /api/v1/alerts HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let alerts = body["data"]["alerts"].as_array().cloned().unwrap_or_default();
    alerts
        .iter()
        .map(|alert| {
            let labels = &alert["labels"];
            [&labels["alertname"], &labels["instance"], &alert["state"]].map(text).join(" ")
        })
        .collect()
}

#[test]
fn real_prometheus_fires_when_one_of_two_watches_is_killed() {
    if Command::new("prometheus").arg("--version").output().is_err() {
        println!("skipped: there is no prometheus");
        return;
    }
    let batch = ScenarioBatch::new(&[ONGOING]);
    let simulation = SimulatorProcess::start(&batch.scenario);
    let words = ["watch", "--metrics", "127.0.0.1:0", "--timeout", "5m"];
    let homes = [Home::new(), Home::new()];
    let [(_first, first), (second, killed)] = homes.each_ref().map(|home| {
        home.import(&batch.csv);
        let mut watch = ProgramProcess::start(home.polling_command(&simulation.url, &words));
        let address = watch.read_metrics_address();
        (watch, address)
    });
    let home = Home::new();
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/prometheus/alerts.yml");
    // The rules as they are, but without the wait of a minute.
    let rules = fs::read_to_string(rules).unwrap().replace("for: 1m", "for: 1s");
    let rules = home.write("alerts.yml", &rules);
    let config = home.write(
        "prometheus.yml",
        &format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\nrule_files: [{rules:?}]\n\
             scrape_configs:\n  - job_name: hoptop\n    static_configs: [{{targets: [{first:?}, {killed:?}]}}]\n"
        ),
    );
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut prometheus = Command::new("prometheus");
    let flags = [
        format!("--config.file={config}"),
        format!("--storage.tsdb.path={}", home.path().join("tsdb").display()),
        format!("--web.listen-address={port}"),
    ];
    prometheus.args(flags).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let prometheus = KillOnDrop(prometheus.spawn().unwrap());
    let address = port.to_string();
    let clock = Clock::system();
    let deadline = clock.now().mono + Duration::from_secs(90);
    let wait_for = |what: &str, condition: &dyn Fn() -> bool| {
        while !condition() {
            assert!(clock.now().mono < deadline, "{what}: {:?}", read_alerts(&address));
            // Prometheus asks once a second, without a signal afterwards.
            thread::park_timeout(Duration::from_millis(200));
        }
    };
    let scraped = || query(&address, "count(up==1)") == "2" && query(&address, "count(hoptop_poller_up==1)") == "2";
    wait_for("both are scraped", &scraped);
    let down = format!("HoptopDown {killed} firing");
    assert!(read_alerts(&address).iter().all(|alert| !alert.starts_with("HoptopDown")));
    second.signal("KILL");
    wait_for("the alert fires", &|| read_alerts(&address).contains(&down));
    let others: Vec<_> = read_alerts(&address).into_iter().filter(|alert| alert.starts_with("HoptopDown")).collect();
    assert_eq!(others, [down]);
    drop(prometheus);
}

/// A process that is killed when the value is dropped.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Returns the value of the only sample that a query of Prometheus finds, empty if there is none.
fn query(prometheus: &str, query: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(prometheus) else { return String::new() };
    write!(stream, "GET /api/v1/query?query={query} HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    body["data"]["result"][0]["value"][1].as_str().unwrap_or_default().to_owned()
}
