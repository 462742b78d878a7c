//! A dashboard, a `watch` and an `import --follow` on one store: none gets into another's way, and in the end all show the same.

use std::{collections::BTreeMap, process::Stdio, time::Duration};

use hoptop::sim::scenario::Scenario;
use serde_json::{Value, json};

use super::{
    ONGOING, SUCCESS,
    common::{Batch, HEADER, Home, Running, Simulation, event, files},
    session::Session,
};

const RPS: &str = "50";
/// Rows that the writer brings at a time; with them come the ones before once more, with another ticket.
const SLICE: usize = 5;

/// Statuses, by hash.
type Statuses = BTreeMap<String, String>;

/// Three hoptops on one store.
struct Three {
    home: Home,
    dashboard: Session,
    watch: Running,
    import: Running,
    /// The last status of each transaction that `watch` told.
    told: Statuses,
}

impl Three {
    /// Starts them over a store in which these are tracked.
    fn start(url: &str, first: &[String]) -> Self {
        let home = Home::new();
        home.import(&csv(first));
        let polling = |words: &[&str]| {
            let mut command = home.polling(url, words);
            command.env("HOPTOP_RPS", RPS);
            command
        };
        // It follows the store from when it says something on.
        let mut watch = Running::start(polling(&["watch", "--json"]));
        let heard = watch.until("status_changed", 1);
        let mut dashboard = Session::start(&polling(&[]), (120, 40));
        dashboard.wait_for(&[&format!("5 All {}", first.len())]);
        let mut following = home.hoptop(&["import", "-", "--follow"]);
        let mut import = Running::start({
            following.stdin(Stdio::piped());
            following
        });
        import.send(HEADER);
        let mut three = Self { home, dashboard, watch, import, told: Statuses::new() };
        heard.iter().for_each(|event| three.hear(event));
        three
    }

    /// Sends rows as a person's program would, and waits until `watch` has said so: by then the store is being read and written
    /// by all three. One of those that come again was removed meanwhile.
    fn write(&mut self, (rows, again): (&[String], &[String])) {
        let removed = again[0].split(',').next().unwrap();
        let deleted = self.home.run(&["delete", removed, "--yes"]);
        assert_eq!(deleted.code, Some(0), "{deleted:?}");
        let again: Vec<String> = again.iter().map(|row| row.replace(",SUP-", ",AGAIN-")).collect();
        self.import.send(&[rows, &again].concat().iter().fold(String::new(), |lines, row| lines + row + "\n"));
        let events = self.watch.until("imported", rows.len() + 1);
        events.iter().for_each(|event| self.hear(event));
        while self.dashboard.take_within(Duration::ZERO) {}
    }

    fn hear(&mut self, event: &Value) {
        if let (Some(hash), Some(status)) = (event["transactionId"].as_str(), event["status"].as_str()) {
            self.told.insert(hash.to_owned(), status.to_owned());
        }
    }

    /// Reads what `watch` prints until it has told all of these.
    fn wait_for(&mut self, expected: &Statuses) {
        while self.told != *expected {
            let line = self.watch.line();
            self.hear(&event(&line));
        }
    }

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
        assert_eq!(summary["counts"], json!(counted(&self.home.list())), "{summary}");
        let logs = files(&self.home.path().join("state")).into_iter().map(|path| std::fs::read(path).unwrap());
        let said = logs.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).chain([screen, watch.out]);
        said.for_each(|said| ["locked", "busy"].iter().for_each(|word| assert!(!said.contains(word), "{said}")));
    }
}

fn csv(rows: &[String]) -> String {
    rows.iter().fold(HEADER.to_owned(), |csv, row| csv + row + "\n")
}

/// How many there are with each status.
fn counted(list: &[Value]) -> BTreeMap<&str, usize> {
    list.iter().filter_map(|tx| tx["status"].as_str()).fold(BTreeMap::new(), |mut counts, status| {
        *counts.entry(status).or_default() += 1;
        counts
    })
}

/// How the dashboard heads its list if this is what is tracked.
fn tabs(list: &[Value]) -> [String; 5] {
    let count = |is: &dyn Fn(&Value) -> bool| list.iter().filter(|tx| is(tx)).count();
    [
        format!("1 Attention {} ", count(&|tx| tx["alerts"] != json!([]))),
        format!("2 Active {} ", count(&|tx| tx["settled"] == false)),
        format!("3 Refunds {} ", count(&|tx| tx["status"] == "refund")),
        format!("4 Done {} ", count(&|tx| tx["settled"] == true)),
        format!("5 All {}", list.len()),
    ]
}

/// Whether each row of the screen, of which there are some, has the status that it should have: by the end of its hash.
fn rows_are_right(screen: &str, expected: &Statuses) -> bool {
    let by_end: BTreeMap<&str, &String> =
        expected.iter().map(|(hash, status)| (&hash[hash.len() - 4..], status)).collect();
    let row = |line: &str| {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let at = words.iter().position(|word| word.starts_with("0x") && word.contains('…'))?;
        let end: String = words[at].chars().skip_while(|letter| *letter != '…').skip(1).collect();
        // In the list four characters, elsewhere more.
        (end.len() == 4).then_some((words.get(at.checked_sub(1)?)?.clone(), end))
    };
    let rows: Vec<(String, String)> = screen.lines().filter(|line| line.starts_with('│')).filter_map(row).collect();
    rows.len() > 10
        && rows.iter().all(|(status, end)| by_end.get(end.as_str()).is_some_and(|is| is.starts_with(status)))
}

/// So many transactions, of which some change while the others are brought.
fn batch(count: usize) -> Batch {
    let late = |second: usize| {
        format!(
            r#"{{ from = 0, status = "ongoing", steps = 1 }}, {{ from = {second}, status = "success", steps = 3 }}"#
        )
    };
    let partial = r#"{ from = 0, status = "partial_success", steps = 2 }"#;
    let refund = r#"{ from = 0, status = "refund", steps = 1 }"#;
    // They come at about twenty a second.
    let answers: Vec<String> = (0..count)
        .map(|number| match number % 20 {
            0 => ONGOING.to_owned(),
            1 => partial.to_owned(),
            2 => refund.to_owned(),
            3..8 => late(1 + number / 20 + number % 7),
            _ => SUCCESS.to_owned(),
        })
        .collect();
    Batch::new(&answers.iter().map(String::as_str).collect::<Vec<_>>())
}

fn agree_over(count: usize) {
    let Batch { scenario, csv } = batch(count);
    let scenario = scenario.replace("rps = 10.0", &format!("rps = {RPS}.0"));
    let simulation = Simulation::start(&scenario);
    let rows: Vec<String> = csv.lines().skip(1).map(str::to_owned).collect();
    let slices: Vec<&[String]> = rows.chunks(SLICE).collect();
    let mut three = Three::start(&simulation.url, slices[0]);
    slices.windows(2).for_each(|pair| three.write((pair[1], pair[0])));
    let ends = Scenario::parse(&scenario).unwrap();
    let hashes = rows.iter().filter_map(|row| row.split(',').next());
    let expected: Statuses =
        hashes.map(|hash| (hash.to_owned(), ends.final_status(hash).unwrap().to_owned())).collect();
    three.wait_for(&expected);
    let list = three.home.list();
    let text = |tx: &Value, field: &str| tx[field].as_str().unwrap().to_owned();
    let listed = list.iter().map(|tx| (text(tx, "transactionId"), text(tx, "status")));
    assert_eq!(listed.collect::<Statuses>(), expected);
    let again = list.iter().filter(|tx| text(tx, "ticket").starts_with("AGAIN-")).count();
    assert_eq!((list.len(), again), (count, count - SLICE));
    let tabs = tabs(&list);
    for (key, row) in [("g", 1), ("G", count)] {
        three.dashboard.press(key);
        let here = format!("row {row} of {count} ");
        let is_so = |screen: &str| screen.contains(&here) && tabs.iter().all(|tab| screen.contains(tab));
        three.dashboard.wait_until(&format!("{here}, {tabs:?} and the right rows"), |screen| {
            is_so(screen) && rows_are_right(screen, &expected)
        });
    }
    three.end();
    simulation.end_within_budget();
}

#[test]
fn three_processes_on_one_store_agree() {
    agree_over(100);
}

// cargo test --test end_to_end -- --ignored --nocapture minutes
#[test]
#[ignore = "takes three minutes"]
fn and_so_they_do_after_minutes() {
    agree_over(3_000);
}
