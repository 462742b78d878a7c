//! `export --format html` in a real browser: the page sorts itself, without a network.

use std::process::Command;

use super::{
    ONGOING, SUCCESS,
    common::{Batch, Home, Simulation},
};

/// A browser that can be run without a screen, if there is one. `.ci/run` brings it where it may.
fn browser() -> Option<&'static str> {
    let is_there = |program: &&str| Command::new(program).arg("--version").output().is_ok();
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_there)
}

/// The page as the browser has it, once its script has run.
fn seen(browser: &str, home: &Home, address: &str) -> String {
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", home.path().join("browser").display()))
        .args(["--dump-dom", address])
        .env("HOME", home.path());
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

/// The statuses of the rows, from the first to the last.
fn statuses(page: &str) -> Vec<&str> {
    let rows = page.split("<tbody>").nth(1).unwrap_or_else(|| panic!("there is no table: {page}"));
    let named = rows.split("<span class=\"status ").skip(1);
    named.map(|rest| rest.split('>').nth(1).unwrap().split('<').next().unwrap()).collect()
}

#[test]
fn the_page_of_a_batch_is_sorted_by_a_browser() {
    let Some(browser) = browser() else {
        println!("skipped: there is no chromium to open the page with");
        return;
    };
    let reverted = r#"{ from = 0, status = "partial_success", steps = 2 }"#;
    let batch = Batch::new(&[SUCCESS, ONGOING, reverted]);
    let (home, simulation) = (Home::new(), Simulation::start(&batch.scenario));
    home.import(&batch.csv);
    home.watch(&simulation.url, &["--timeout", "3s"]);
    let file = home.path().join("batch.html");
    let exported = home.run(&["export", "-o", file.to_str().unwrap()]);
    assert_eq!((exported.code, exported.err.lines().count()), (Some(0), 1), "{exported:?}");
    let page = |place: &str| seen(browser, &home, &format!("file://{}{place}", file.display()));
    let up = page("#sort=status");
    assert_eq!(statuses(&up), ["partial_success", "ongoing", "success"], "what needs somebody first: {up}");
    assert_eq!(up.matches("aria-sort=\"ascending\"").count(), 1);
    let down = page("#sort=-status");
    assert_eq!(statuses(&down), ["success", "ongoing", "partial_success"]);
    assert!(down.contains("aria-sort=\"descending\""));
    // What isn't asked for by name is as it was written.
    assert!(!page("#sort=nothing").contains("aria-sort=\""));
}
