//! `doctor` checks where things break, prints fixes, and ends with 1 if anything is broken.

use std::{fs, net::TcpListener};

use super::{
    ID, SUCCESS,
    common::{Home, ProcessOutput, ScenarioBatch, SimulatorProcess},
};

/// Returns a port of this machine on which nobody listens.
fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Returns the line of a check.
#[track_caller]
fn line<'a>(ended: &'a ProcessOutput, check: &str) -> &'a str {
    let found = ended.out.lines().find(|line| line.split_whitespace().nth(1) == Some(check));
    found.unwrap_or_else(|| panic!("no line for {check}: {ended:?}"))
}

fn doctor(home: &Home, url: &str, words: &[&str]) -> ProcessOutput {
    ProcessOutput::new(home.polling_command(url, &[&["doctor"], words].concat()).output().unwrap())
}

#[test]
fn working_service_is_fine_and_only_a_probe_spends_a_request() {
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&ScenarioBatch::new(&[SUCCESS]).scenario));
    let fine = doctor(&home, &simulation.url, &[]);
    assert_eq!((fine.code, fine.err.as_str()), (Some(0), ""), "{fine:?}");
    assert!(line(&fine, "service").contains("no request was sent"), "{fine:?}");
    let probed = doctor(&home, &simulation.url, &["--probe"]);
    assert_eq!(probed.code, Some(0), "{probed:?}");
    // The service doesn't know the transaction, which it says only to an ID that it knows.
    assert!(line(&probed, "probe").starts_with("ok     probe     one request: HTTP 4"), "{probed:?}");
    assert!(line(&probed, "probe").ends_with("the ID is accepted"), "{probed:?}");
    assert!(!probed.out.contains(ID));
    assert!(home.list().is_empty(), "the probe isn't tracked");
    assert_eq!(simulation.end_within_budget(), 1);
}

#[test]
fn refused_id_is_found_by_the_probe() {
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&ScenarioBatch::new(&[SUCCESS]).scenario));
    let mut command = home.polling_command(&simulation.url, &["doctor", "--probe"]);
    let refused = ProcessOutput::new(command.env("HOPTOP_INTEGRATOR_ID", "revoked-integrator-7f3a").output().unwrap());
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        line(&refused, "probe").starts_with("error  probe     the service refuses the integrator ID"),
        "{refused:?}"
    );
}

#[test]
fn team_that_takes_no_request_fails_the_probe_and_no_other_check() {
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&ScenarioBatch::new(&[SUCCESS]).scenario));
    let store = format!("postgres://127.0.0.1:{}/hoptop", closed_port());
    let diagnosed = doctor(&home, &simulation.url, &["--probe", "--store", &store]);
    assert_eq!(diagnosed.code, Some(1));
    assert!(line(&diagnosed, "probe").starts_with("error  probe     not sent: "), "{diagnosed:?}");
    assert!(line(&diagnosed, "terminal").starts_with("ok"), "{diagnosed:?}");
    assert_eq!(simulation.end_within_budget(), 0);
}

#[test]
fn unreachable_service_is_an_error_that_names_the_fix() {
    let home = Home::new();
    let refused = doctor(&home, &format!("http://127.0.0.1:{}", closed_port()), &["--probe"]);
    assert_eq!(refused.code, Some(1));
    assert!(line(&refused, "service").starts_with("error") && line(&refused, "service").contains("check the base URL"));
    assert!(line(&refused, "probe").starts_with("error"), "{refused:?}");
    assert!(line(&refused, "probe").matches("check the base URL").count() < 2, "{refused:?}");
    let unresolved = doctor(&home, "https://no-such-host.invalid", &[]);
    assert_eq!(unresolved.code, Some(1));
    assert!(line(&unresolved, "service").contains("can't be resolved; check the base URL"), "{unresolved:?}");
    // TLS to a port that speaks plain http.
    let simulation = SimulatorProcess::start(&ScenarioBatch::new(&[SUCCESS]).scenario);
    let plain = doctor(&home, &simulation.url.replace("http:", "https:"), &[]);
    assert_eq!(plain.code, Some(1));
    assert!(line(&plain, "service").contains("does not speak TLS"), "{plain:?}");
}

#[test]
fn state_folder_that_is_a_file_and_a_dead_webhook_are_errors() {
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&ScenarioBatch::new(&[SUCCESS]).scenario));
    // The warning of a missing program doesn't hide the error.
    let program = "on_event = \"no-such-program\"";
    home.configure(&format!("{program}\nwebhook = \"http://127.0.0.1:{}/canary\"\n", closed_port()));
    fs::write(home.path().join("state"), "not a folder").unwrap();
    let ended = doctor(&home, &simulation.url, &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let (state, alerting) = (line(&ended, "state"), line(&ended, "alerting"));
    assert!(line(&ended, "ledger").starts_with("warn   ledger    not checked"), "{ended:?}");
    assert!(state.starts_with("error") && state.contains("is a file") && state.contains("--state-dir"), "{state}");
    assert!(alerting.starts_with("error") && alerting.contains("check the webhook URL"), "{alerting}");
    assert!(!ended.out.contains("canary") && line(&ended, "service").starts_with("ok"), "{ended:?}");
}

#[test]
fn wrong_config_or_store_does_not_end_the_other_checks() {
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&ScenarioBatch::new(&[SUCCESS]).scenario));
    home.configure("colour = \"auto\"\n");
    let wrong = doctor(&home, &simulation.url, &[]);
    assert_eq!((wrong.code, wrong.err.as_str()), (Some(1), ""), "{wrong:?}");
    assert!(line(&wrong, "config").starts_with("error") && line(&wrong, "config").contains("line 1"), "{wrong:?}");
    assert!(line(&wrong, "service").starts_with("ok") && line(&wrong, "id").starts_with("ok"), "{wrong:?}");
    home.configure("");
    let mut rate = home.polling_command(&simulation.url, &["doctor"]);
    let rate = ProcessOutput::new(rate.env("HOPTOP_RPS", "abc").output().unwrap());
    assert!(rate.code == Some(1) && line(&rate, "config").contains("HOPTOP_RPS"), "{rate:?}");
    fs::write(home.path().join("blocked"), "").unwrap();
    let mut store = home.polling_command(&simulation.url, &["doctor"]);
    let store = ProcessOutput::new(store.env("HOPTOP_DB", home.path().join("blocked/hoptop.db")).output().unwrap());
    assert!(store.code == Some(1) && line(&store, "store").starts_with("error"), "{store:?}");
    assert!(line(&store, "service").starts_with("ok"), "{store:?}");
}

#[test]
fn wrong_setting_is_named_and_the_checks_use_the_other_settings() {
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&ScenarioBatch::new(&[SUCCESS]).scenario));
    let mut command = home.polling_command(&simulation.url, &["doctor"]);
    let ended = ProcessOutput::new(command.env("HOPTOP_RPS", "abc").output().unwrap());
    assert!(ended.code == Some(1) && line(&ended, "config").contains("HOPTOP_RPS"), "{ended:?}");
    for check in ["base", "id", "service"] {
        assert!(line(&ended, check).starts_with("ok"), "{ended:?}");
    }
    home.configure("[profiles.default]\nbase_ur = \"y\"\n");
    let ended = doctor(&home, &simulation.url, &[]);
    assert!(line(&ended, "config").contains("base_ur"), "{ended:?}");
    assert!(!format!("{ended:?}").contains("/dev/null"), "{ended:?}");
}

#[test]
fn config_file_that_others_can_use_gives_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let warnings = |text: &str, mode| {
        let home = Home::new();
        home.configure(text);
        let file = home.path().join("config/hoptop/config.toml");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        home.watch("http://127.0.0.1:1", &["--allow-empty", "--timeout", "1s"]).err
    };
    let webhook = "webhook = \"https://127.0.0.1:1/canary\"\n";
    assert!(warnings("ascii = true\n", 0o666).contains("other users of this machine can change"));
    assert!(!warnings("ascii = true\n", 0o644).contains("other users"));
    let readable = warnings(webhook, 0o644);
    assert!(readable.contains("contains the address of a webhook") && !readable.contains("canary"), "{readable}");
    assert!(!warnings(webhook, 0o600).contains("other users"));
}

#[test]
fn id_file_that_others_can_read_gives_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let file = home.write("id", "an-id-of-the-test-0001");
    home.configure(&format!(
        "[profiles.default]\nbase_url = \"http://127.0.0.1:1\"\nintegrator_id_file = \"{file}\"\n"
    ));
    for (mode, word) in [(0o644, "warn"), (0o600, "ok")] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let ended = home.run(&["doctor"]);
        let id = line(&ended, "id");
        assert!(
            id.starts_with(word) && id.contains("other users of this machine can read it") == (word == "warn"),
            "{id}"
        );
    }
}
