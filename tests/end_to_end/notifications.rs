//! Notifications: the command that `watch` calls for an alert, webhooks and the terminal. None may receive the ID.

use std::fs;

use serde_json::Value;

use super::{
    common::{Home, ID, ProgramProcess, ScenarioBatch, SimulatorProcess},
    session::Session,
};

#[test]
fn alert_of_the_last_answer_is_notified_before_watch_ends() {
    let reverted = r#"{ from = 0, status = "partial_success", steps = 2 }"#;
    let batch = ScenarioBatch::repeat(1, reverted);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let (notified, environment) = (home.path().join("heard"), home.path().join("seen"));
    let script = format!("cat >> {}; env > {}", notified.display(), environment.display());
    let config = format!("on_alert = [\"sh\", \"-c\", \"{script}\"]\n");
    home.configure(&config);
    let ended = home.watch(&simulation.url, &["--until-settled", "--timeout", "30s"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(4), ""), "{ended:?}");
    let notified = fs::read_to_string(notified).unwrap();
    let event: Value = serde_json::from_str(notified.lines().next().unwrap()).unwrap();
    assert_eq!((&event["event"], &event["rule"]), (&"alert_raised".into(), &"partial_success".into()));
    assert_eq!((notified.lines().count(), &event["severity"]), (1, &"critical".into()));
    assert!(event["say"].is_string() && event["transactionId"].is_string(), "{event}");
    assert!(!fs::read_to_string(environment).unwrap().contains(ID));
}

#[test]
fn webhook_over_plain_http_is_refused_before_polling() {
    let home = Home::new();
    home.configure("webhook = \"http://hooks.example/canary\"\n");
    let ended = home.watch("http://127.0.0.1:1", &["--timeout", "1s"]);
    ended.assert_exit(2, &["webhook", "https://"]);
    let shown = home.run(&["config"]);
    assert!(shown.out.contains("http://hooks.example/...") && !shown.out.contains("canary"), "{shown:?}");
    assert!(!ended.err.contains("canary"));
}

#[test]
fn slow_on_alert_command_does_not_delay_the_exit() {
    let batch = ScenarioBatch::repeat(1, r#"{ from = 0, status = "partial_success", steps = 2 }"#);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let called = home.path().join("called");
    let config = format!("on_alert = [\"sh\", \"-c\", \"touch {}; exec sleep 60\"]\n", called.display());
    home.configure(&config);
    let clock = hoptop::internals::clock::Clock::system();
    for signal in ["HUP", "TERM"] {
        let mut session = Session::start(&home.polling_command(&simulation.url, &[]), (80, 24));
        session.wait_for(&["partial"]);
        while signal == "HUP" && !called.exists() {
            session.take_within(std::time::Duration::from_millis(100));
        }
        let began = clock.now().mono;
        session.signal(signal);
        session.end();
        let took = clock.now().mono.since(began);
        assert!(took < std::time::Duration::from_secs(6), "{signal}: {took:?}");
    }
    // After one signal `watch` waits for the command; a second signal ends it at once.
    home.run(&["delete", &batch.csv.lines().nth(1).unwrap()[..20], "--yes"]);
    fs::remove_file(&called).unwrap();
    home.import(&batch.csv);
    let watch =
        ProgramProcess::start(home.polling_command(&simulation.url, &["watch", "--until-settled", "--timeout", "30s"]));
    while !called.exists() {
        std::thread::yield_now();
    }
    let began = clock.now().mono;
    watch.signal("TERM");
    std::thread::park_timeout(std::time::Duration::from_secs(1));
    watch.signal("TERM");
    watch.end();
    assert!(clock.now().mono.since(began) < std::time::Duration::from_secs(6));
}

#[test]
fn failed_on_alert_command_is_reported() {
    let batch = ScenarioBatch::repeat(1, r#"{ from = 0, status = "partial_success", steps = 2 }"#);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    home.configure("on_alert = \"false\"\n");
    let ended = home.watch(&simulation.url, &["--until-settled", "--timeout", "30s"]);
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (Some(4), "hoptop: a notification was not sent: on_alert: false: exit status: 1\n")
    );
    // A command that is no longer configured causes no warning.
    fs::remove_file(home.path().join("config/hoptop/config.toml")).unwrap();
    assert_eq!(home.watch(&simulation.url, &["--until-settled"]).err, "");
}

#[test]
fn terminal_without_focus_gets_a_notification() {
    let late = r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 4, status = "partial_success", steps = 2 }"#;
    let batch = ScenarioBatch::repeat(1, late);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    home.configure("notify = \"osc777\"\nbell = true\n");
    let mut session = Session::start(&home.polling_command(&simulation.url, &[]), (80, 24));
    session.wait_for(&["ongoing"]);
    assert!(!session.output().contains("\u{1b}]777"));
    // The terminal reports that it has lost the focus.
    session.press("\u{1b}[O");
    session.wait_for(&["partial"]);
    while !session.output().contains("\u{1b}]777;notify;hoptop;partial success: ") {
        assert!(session.take_within(std::time::Duration::from_secs(20)), "{:?}", session.output());
    }
    session.press("q");
    let (status, output) = session.end();
    assert_eq!(status.exit_code(), 0);
    assert_eq!(output.matches("\u{1b}]777;").count(), 1);
    assert!(output.contains("SUP-1\u{1b}\\\u{7}"), "{output:?}");
}
