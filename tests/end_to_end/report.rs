//! `export --format html` in a real browser: the page's script sorts the table without a network.

use std::process::Command;

use super::{
    ONGOING, SUCCESS,
    common::{Home, ScenarioBatch, SimulatorProcess},
};

/// Returns an installed browser that runs without a screen. `.ci/run` installs one if it can.
fn find_browser() -> Option<&'static str> {
    let is_there = |program: &&str| Command::new(program).arg("--version").output().is_ok();
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_there)
}

/// Returns the HTML of the page after the browser has run its script.
fn render_page(browser: &str, home: &Home, address: &str) -> String {
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", home.path().join("browser").display()))
        .args(["--dump-dom", address])
        .env("HOME", home.path());
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

/// Returns the statuses of the table's rows in order.
fn statuses(page: &str) -> Vec<&str> {
    let rows = page.split("<tbody>").nth(1).unwrap_or_else(|| panic!("there is no table: {page}"));
    let cells = rows.split("<span class=\"status ").skip(1);
    cells.map(|rest| rest.split('>').nth(1).unwrap().split('<').next().unwrap()).collect()
}

#[test]
fn html_report_is_sorted_in_a_browser() {
    let Some(browser) = find_browser() else {
        println!("skipped: there is no chromium to open the page with");
        return;
    };
    let reverted = r#"{ from = 0, status = "partial_success", steps = 2 }"#;
    let batch = ScenarioBatch::new(&[SUCCESS, ONGOING, reverted]);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    home.watch(&simulation.url, &["--timeout", "3s"]);
    let file = home.path().join("batch.html");
    let exported = home.run(&["export", "-o", file.to_str().unwrap()]);
    assert_eq!((exported.code, exported.err.lines().count()), (Some(0), 1), "{exported:?}");
    let page = |place: &str| render_page(browser, &home, &format!("file://{}{place}", file.display()));
    let ascending = page("#sort=status");
    assert_eq!(
        statuses(&ascending),
        ["partial_success", "ongoing", "success"],
        "a status that needs attention comes first: {ascending}"
    );
    assert_eq!(ascending.matches("aria-sort=\"ascending\"").count(), 1);
    let descending = page("#sort=-status");
    assert_eq!(statuses(&descending), ["success", "ongoing", "partial_success"]);
    assert!(descending.contains("aria-sort=\"descending\""));
    // Each word must be somewhere in a row; a row that isn't found is hidden.
    let found = page("#find=reverted%20PARTIAL");
    let hidden = |page: &str| page.matches("<tr hidden=\"\">").count();
    assert_eq!(hidden(&found), 2, "{found}");
    assert_eq!(hidden(&page("#find=success%20ongoing")), 3);
    // An unknown column leaves the exported order.
    assert!(!page("#sort=nothing").contains("aria-sort=\""));
}
