//! Several integrator IDs in one dashboard. Here each ID has its own service; each has its own limit and budget.

use std::fs;

use super::{
    SUCCESS,
    common::{Home, ProcessOutput, ScenarioBatch, SimulatorProcess},
    session::Session,
};

#[test]
fn dashboard_polls_two_ids_within_their_own_budgets() {
    let (large_batch, small_batch) = (ScenarioBatch::repeat(12, SUCCESS), ScenarioBatch::repeat(3, SUCCESS));
    let fast = SimulatorProcess::start(&large_batch.scenario);
    let slow = SimulatorProcess::start(&small_batch.scenario.replace("rps = 10.0", "rps = 1.0"));
    let home = Home::new();
    home.configure(&format!(
        "beside = [\"partner\"]\n[profiles.prod]\nbase_url = \"{}\"\nrps = 10\nintegrator_id_env = \"PROD\"\n\
         [profiles.partner]\nbase_url = \"{}\"\nrps = 1\nintegrator_id_env = \"PARTNER\"\n",
        fast.url, slow.url
    ));
    for (profile, batch) in [("prod", &large_batch), ("partner", &small_batch)] {
        let csv = home.write("batch.csv", &batch.csv);
        assert_eq!(home.run(&["--profile", profile, "import", &csv]).code, Some(0));
    }
    let mut dashboard = home.command(&["--profile", "prod"]);
    dashboard.env("PROD", "an-id-of-prod-1111").env("PARTNER", "an-id-of-partner-2222");
    let mut session = Session::start(&dashboard, (120, 36));
    session.wait_for(&["4 Done 15", " prod ", "…1111", " partner ", "…2222"]);
    let screen = session.text();
    let profile_line = |name: &str| screen.lines().find(|line| line.starts_with(&format!(" {name}"))).unwrap();
    assert!(profile_line("partner").contains("…2222  ▕") && profile_line("partner").contains("requests/s"), "{screen}");
    session.press("q");
    assert_eq!(session.end().0.exit_code(), 0);
    // Each simulated service reports its own requests.
    assert_eq!((fast.end_within_budget(), slow.end_within_budget()), (12, 3));

    // Two profiles with the same ID must not have different limits.
    let mut conflicting = home.command(&["--profile", "prod", "--plain"]);
    conflicting.env("PROD", "one-and-the-same-3333").env("PARTNER", "one-and-the-same-3333");
    let file = home.path().join("config/hoptop/config.toml");
    let settings = fs::read_to_string(&file).unwrap();
    let partner = settings.lines().filter(|line| line.starts_with("base_url")).nth(1).unwrap();
    fs::write(&file, settings.replace(&format!("{partner}\n"), "")).unwrap();
    ProcessOutput::new(conflicting.output().unwrap())
        .assert_exit(1, &["profiles prod and partner have the same ID", "10 and 1 requests/s"]);

    // A missing ID ends the dashboard at once.
    let mut without = home.command(&["--profile", "prod"]);
    without.env("PROD", "an-id-of-prod-1111");
    let mut refused = Session::start(&without, (120, 36));
    refused.wait_for(&["profile partner: ", "PARTNER"]);
    assert_eq!(refused.end().0.exit_code(), 2);
    home.run(&["--beside", "partner", "list"]).assert_exit(2, &["`--beside` works only in the dashboard"]);
}

#[test]
fn watch_polls_two_profiles_within_their_own_budgets() {
    let stuck = r#"{ from = 0, status = "partial_success", steps = 2 }"#;
    let (large_batch, small_batch) =
        (ScenarioBatch::repeat(12, SUCCESS), ScenarioBatch::new(&[SUCCESS, stuck, SUCCESS]));
    let fast = SimulatorProcess::start(&large_batch.scenario);
    let slow = SimulatorProcess::start(&small_batch.scenario.replace("rps = 10.0", "rps = 1.0"));
    let home = Home::new();
    home.configure(&format!(
        "beside = [\"unused\"]\n[profiles.prod]\nbase_url = \"{}\"\nrps = 10\nintegrator_id_env = \"PROD\"\n\
         [profiles.partner]\nbase_url = \"{}\"\nrps = 1\nintegrator_id_env = \"PARTNER\"\n[profiles.unused]\n",
        fast.url, slow.url
    ));
    for (profile, batch) in [("prod", &large_batch), ("partner", &small_batch)] {
        let csv = home.write("batch.csv", &batch.csv);
        assert_eq!(home.run(&["--profile", profile, "import", &csv]).code, Some(0));
    }
    let watch = |words: &[&str]| {
        let both =
            ["watch", "--profile", "prod", "--profile", "partner", "--json", "--until-settled", "--timeout", "40s"];
        let mut command = home.command(&[&both, words].concat());
        command.env("PROD", "an-id-of-prod-1111").env("PARTNER", "an-id-of-partner-2222");
        ProcessOutput::new(command.output().unwrap())
    };
    let ended = watch(&[]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(4), ""), "{ended:?}");
    let events = ended.events();
    let settled = |profile: &str| {
        let is_own = |event: &&serde_json::Value| event["event"] == "settled" && event["profile"] == profile;
        events.iter().filter(is_own).count()
    };
    assert_eq!((settled("prod"), settled("partner")), (12, 3));
    let summary = events.last().unwrap();
    assert_eq!(summary["counts"], serde_json::json!({"success": 14, "partial_success": 1}));
    assert_eq!((fast.end_within_budget(), slow.end_within_budget()), (12, 3));
    watch(&["label:none"]).assert_exit(2, &["no transaction in profile prod or partner has label:none"]);
    let two = ["--profile", "prod", "--profile", "partner"];
    home.run(&[&two[..], &["list"]].concat()).assert_exit(2, &["only `hoptop watch` takes several"]);
    home.run(&["watch", "--profile", "prod", "--profile", "nobody"]).assert_exit(2, &["no profile `nobody`"]);
}
