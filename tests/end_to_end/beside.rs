//! Several integrator IDs in one dashboard, each with its own service here, its own limit and its own budget.

use std::fs;

use super::{
    SUCCESS,
    common::{Batch, Ended, Home, Simulation},
    session::Session,
};

#[test]
fn two_ids_are_polled_and_shown_side_by_side_each_within_its_own_budget() {
    let (many, few) = (Batch::of(12, SUCCESS), Batch::of(3, SUCCESS));
    let fast = Simulation::start(&many.scenario);
    let slow = Simulation::start(&few.scenario.replace("rps = 10.0", "rps = 1.0"));
    let home = Home::new();
    home.configure(&format!(
        "beside = [\"partner\"]\n[profiles.prod]\nbase_url = \"{}\"\nrps = 10\nintegrator_id_env = \"PROD\"\n\
         [profiles.partner]\nbase_url = \"{}\"\nrps = 1\nintegrator_id_env = \"PARTNER\"\n",
        fast.url, slow.url
    ));
    for (profile, batch) in [("prod", &many), ("partner", &few)] {
        let csv = home.write("batch.csv", &batch.csv);
        assert_eq!(home.run(&["--profile", profile, "import", &csv]).code, Some(0));
    }
    let mut dashboard = home.hoptop(&["--profile", "prod"]);
    dashboard.env("PROD", "an-id-of-prod-1111").env("PARTNER", "an-id-of-partner-2222");
    let mut session = Session::start(&dashboard, (120, 36));
    session.wait_for(&["4 Done 15", " prod ", "…1111", " partner ", "…2222"]);
    let screen = session.text();
    let of = |name: &str| screen.lines().find(|line| line.starts_with(&format!(" {name}"))).unwrap();
    assert!(of("partner").contains("…2222  need"), "{screen}");
    session.press("q");
    assert_eq!(session.end().0.exit_code(), 0);
    // The simulated services count for themselves.
    assert_eq!((fast.end_within_budget(), slow.end_within_budget()), (12, 3));

    // One ID has one limit.
    let mut contradiction = home.hoptop(&["--profile", "prod", "--plain"]);
    contradiction.env("PROD", "one-and-the-same-3333").env("PARTNER", "one-and-the-same-3333");
    let file = home.path().join("config/hoptop/config.toml");
    let settings = fs::read_to_string(&file).unwrap();
    let partner = settings.lines().filter(|line| line.starts_with("base_url")).nth(1).unwrap();
    fs::write(&file, settings.replace(&format!("{partner}\n"), "")).unwrap();
    Ended::of(contradiction.output().unwrap())
        .assert_refused(1, &["profiles prod and partner have the same ID", "10 and 1 requests/s"]);

    // An ID that is missing keeps nobody waiting for it in vain.
    let mut without = home.hoptop(&["--profile", "prod"]);
    without.env("PROD", "an-id-of-prod-1111");
    let mut refused = Session::start(&without, (120, 36));
    refused.wait_for(&["profile partner: ", "PARTNER"]);
    assert_eq!(refused.end().0.exit_code(), 2);
    home.run(&["--beside", "partner", "list"]).assert_refused(2, &["--beside is the dashboard's"]);
}
