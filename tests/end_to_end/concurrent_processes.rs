//! A dashboard, a `watch` and an `import --follow` on one store: no process blocks another, and in the end all show the
//! same state.

use std::{collections::BTreeMap, process::Stdio, time::Duration};

use hoptop::internals::sim::Scenario;
use serde_json::{Value, json};

use super::{
    ONGOING, SUCCESS,
    common::{HEADER, Home, ProgramProcess, ScenarioBatch, SimulatorProcess, list_files, parse_event},
    session::Session,
};

const RPS: &str = "50";
/// The number of new rows in each write. The rows of the write before come again, with another ticket.
const SLICE: usize = 5;

/// The status of each transaction, by hash.
type Statuses = BTreeMap<String, String>;

/// Three processes on one store.
struct ThreeProcesses {
    home: Home,
    dashboard: Session,
    watch: ProgramProcess,
    import: ProgramProcess,
    /// The last status of each transaction that `watch` printed.
    statuses: Statuses,
}

impl ThreeProcesses {
    /// Starts the processes on a store that tracks the rows in `first`.
    fn start(url: &str, first: &[String]) -> Self {
        let home = Home::new();
        home.import(&csv(first));
        let polling = |words: &[&str]| {
            let mut command = home.polling_command(url, words);
            command.env("HOPTOP_RPS", RPS);
            command
        };
        // From its first event on, `watch` follows the changes of the store.
        let mut watch = ProgramProcess::start(polling(&["watch", "--json"]));
        let events = watch.read_events_until("status_changed", 1);
        let mut dashboard = Session::start(&polling(&[]), (120, 40));
        dashboard.wait_for(&[&format!("5 All {}", first.len())]);
        let mut import_command = home.command(&["import", "-", "--follow"]);
        let mut import = ProgramProcess::start({
            import_command.stdin(Stdio::piped());
            import_command
        });
        import.send(HEADER);
        let mut processes = Self { home, dashboard, watch, import, statuses: Statuses::new() };
        events.iter().for_each(|event| processes.record_status(event));
        processes
    }

    /// Sends new and repeated rows to the import, and waits until `watch` reports them. Meanwhile all three processes
    /// use the store. One of the repeated rows is deleted first, so the import adds it again.
    fn send_rows(&mut self, rows: &[String], again: &[String]) {
        let removed = again[0].split(',').next().unwrap();
        let deleted = self.home.run(&["delete", removed, "--yes"]);
        assert_eq!(deleted.code, Some(0), "{deleted:?}");
        let again: Vec<String> = again.iter().map(|row| row.replace(",SUP-", ",AGAIN-")).collect();
        self.import.send(&[rows, &again].concat().iter().fold(String::new(), |lines, row| lines + row + "\n"));
        let events = self.watch.read_events_until("imported", rows.len() + 1);
        events.iter().for_each(|event| self.record_status(event));
        while self.dashboard.take_within(Duration::ZERO) {}
    }

    /// Records the status in an event, if it has one.
    fn record_status(&mut self, event: &Value) {
        if let (Some(hash), Some(status)) = (event["transactionId"].as_str(), event["status"].as_str()) {
            self.statuses.insert(hash.to_owned(), status.to_owned());
        }
    }

    /// Reads events until `watch` has printed all expected statuses.
    fn wait_for(&mut self, expected: &Statuses) {
        while self.statuses != *expected {
            let line = self.watch.read_line();
            self.record_status(&parse_event(&line));
        }
    }

    /// Ends all processes, and checks their exit codes, the summary, and that no lock conflict was logged or shown.
    fn end(mut self) {
        self.dashboard.press("q");
        let (status, screen) = self.dashboard.end();
        assert_eq!(status.exit_code(), 0);
        let import = self.import.end();
        assert_eq!((import.code, import.err.as_str()), (Some(0), ""), "{import:?}");
        self.watch.signal("TERM");
        let watch = self.watch.end();
        assert_eq!((watch.code, watch.err.as_str()), (Some(143), ""));
        let summary = watch.events().pop().unwrap();
        assert_eq!(summary["counts"], json!(count_statuses(&self.home.list())), "{summary}");
        let logs = list_files(&self.home.path().join("state")).into_iter().map(|path| std::fs::read(path).unwrap());
        let output = logs.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).chain([screen, watch.out]);
        output
            .for_each(|output| ["locked", "busy"].iter().for_each(|word| assert!(!output.contains(word), "{output}")));
    }
}

fn csv(rows: &[String]) -> String {
    rows.iter().fold(HEADER.to_owned(), |csv, row| csv + row + "\n")
}

/// Counts the transactions with each status.
fn count_statuses(list: &[Value]) -> BTreeMap<&str, usize> {
    list.iter().filter_map(|tx| tx["status"].as_str()).fold(BTreeMap::new(), |mut counts, status| {
        *counts.entry(status).or_default() += 1;
        counts
    })
}

/// Returns the tab titles that the dashboard must show for these transactions.
fn tab_titles(list: &[Value]) -> [String; 5] {
    let count = |matches: &dyn Fn(&Value) -> bool| list.iter().filter(|tx| matches(tx)).count();
    [
        format!("1 Attention {} ", count(&|tx| tx["alerts"] != json!([]))),
        format!("2 Active {} ", count(&|tx| tx["settled"] == false)),
        format!("3 Refunds {} ", count(&|tx| tx["status"] == "refund")),
        format!("4 Done {} ", count(&|tx| tx["settled"] == true)),
        format!("5 All {}", list.len()),
    ]
}

/// Whether the screen shows more than ten rows, each with the expected status. The end of a hash identifies a row.
fn has_expected_rows(screen: &str, expected: &Statuses) -> bool {
    let status_of = |end: &str| expected.iter().find(|(hash, _)| hash.ends_with(end)).map(|(_, status)| status);
    let row = |line: &str| {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let at = words.iter().position(|word| word.starts_with("0x") && word.contains('…'))?;
        let end: String = words[at].chars().skip_while(|letter| *letter != '…').skip(1).collect();
        // Only in the list a status is before the hash.
        let status = words.get(at.checked_sub(1)?)?.clone();
        status.chars().all(char::is_lowercase).then_some((status, end))
    };
    let rows: Vec<(String, String)> = screen.lines().filter(|line| line.starts_with('│')).filter_map(row).collect();
    rows.len() > 10 && rows.iter().all(|(status, end)| status_of(end).is_some_and(|full| full.starts_with(status)))
}

/// Returns this number of transactions. Some change while later ones are still being imported.
fn changing_batch(count: usize) -> ScenarioBatch {
    let late = |second: usize| {
        format!(
            r#"{{ from = 0, status = "ongoing", steps = 1 }}, {{ from = {second}, status = "success", steps = 3 }}"#
        )
    };
    let partial = r#"{ from = 0, status = "partial_success", steps = 2 }"#;
    let refund = r#"{ from = 0, status = "refund", steps = 1 }"#;
    // About twenty transactions are imported in a second.
    let answers: Vec<String> = (0..count)
        .map(|number| match number % 20 {
            0 => ONGOING.to_owned(),
            1 => partial.to_owned(),
            2 => refund.to_owned(),
            3..8 => late(1 + number / 20 + number % 7),
            _ => SUCCESS.to_owned(),
        })
        .collect();
    ScenarioBatch::new(&answers.iter().map(String::as_str).collect::<Vec<_>>())
}

fn assert_processes_agree(count: usize) {
    let ScenarioBatch { scenario, csv } = changing_batch(count);
    let scenario = scenario.replace("rps = 10.0", &format!("rps = {RPS}.0"));
    let simulation = SimulatorProcess::start(&scenario);
    let rows: Vec<String> = csv.lines().skip(1).map(str::to_owned).collect();
    let slices: Vec<&[String]> = rows.chunks(SLICE).collect();
    let mut processes = ThreeProcesses::start(&simulation.url, slices[0]);
    slices.windows(2).for_each(|pair| processes.send_rows(pair[1], pair[0]));
    let parsed_scenario = Scenario::parse(&scenario).unwrap();
    let hashes = rows.iter().filter_map(|row| row.split(',').next());
    let expected: Statuses =
        hashes.map(|hash| (hash.to_owned(), parsed_scenario.final_status(hash).unwrap().to_owned())).collect();
    processes.wait_for(&expected);
    let list = processes.home.list();
    let text = |tx: &Value, field: &str| tx[field].as_str().unwrap().to_owned();
    let listed = list.iter().map(|tx| (text(tx, "transactionId"), text(tx, "status")));
    assert_eq!(listed.collect::<Statuses>(), expected);
    let again = list.iter().filter(|tx| text(tx, "ticket").starts_with("AGAIN-")).count();
    assert_eq!((list.len(), again), (count, count - SLICE));
    let tabs = tab_titles(&list);
    for (key, row) in [("g", 1), ("G", count)] {
        processes.dashboard.press(key);
        let position = format!(" {row} of {count} ");
        let has_header = |screen: &str| screen.contains(&position) && tabs.iter().all(|tab| screen.contains(tab));
        processes.dashboard.wait_until(&format!("{position}, {tabs:?} and the right rows"), |screen| {
            has_header(screen) && has_expected_rows(screen, &expected)
        });
    }
    processes.end();
    simulation.end_within_budget();
}

#[test]
fn three_processes_on_one_store_agree() {
    assert_processes_agree(100);
}

// cargo test --test end_to_end -- --ignored --nocapture minutes
#[test]
#[ignore = "takes three minutes"]
fn three_processes_on_one_store_agree_after_minutes() {
    assert_processes_agree(3_000);
}
