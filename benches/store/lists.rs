//! Lists: a page at the beginning, in the middle and at the end, and the count, at both lengths, beside what a person would type
//! into the shell.

use std::hint::black_box;

use chrono::{DateTime, Utc};
use hoptop::{
    domain::filter::Filter,
    store::{AlertCounts, Known, Place, Reader, Store},
};

use crate::{Bench, long::Long};

const PAGE: usize = 60;
const RUNS: usize = 3;

/// A filter, what a person would type for it behind `WHERE`, and behind `ORDER BY`.
type Case = (&'static str, &'static str, &'static str);

const CASES: [Case; 17] = [
    ("", "TRUE", "calm, due"),
    ("is:active", "settled_at IS NULL AND untracked = 0", "calm, due"),
    ("is:attention", "calm < 3", "calm, due"),
    ("status:refund", "status = 'refund'", "calm, due"),
    ("label:batch-7", "id IN (SELECT transaction_row FROM labels WHERE label = 'batch-7')", "calm, due"),
    ("ticket:SUP-4412", "ticket = 'SUP-4412'", "calm, due"),
    ("7f3a1", "transaction_id LIKE '%7f3a1%'", "calm, due"),
    ("/7f3a[0-4]$/", "transaction_id GLOB '*7f3a[0-4]'", "calm, due"),
    ("chain:base", "from_chain = '8453' OR to_chain = '8453'", "calm, due"),
    ("age>30m", "unixepoch() * 1000 - submitted > 1800000", "calm, due"),
    ("due<5m", "due < unixepoch() * 1000 + 300000", "calm, due"),
    ("sort:age", "TRUE", "unixepoch() * 1000 - submitted DESC"),
    ("sort:settled", "TRUE", "settled_at DESC"),
    ("sort:changed", "TRUE", "last_changed_at DESC"),
    ("sort:checked", "TRUE", "last_checked_at"),
    ("sort:route", "TRUE", "from_chain, to_chain"),
    ("sort:ticket", "TRUE", "ticket"),
];

/// Milliseconds of a filter on a store.
struct Times {
    first: f64,
    middle: f64,
    last: f64,
    count: f64,
    /// The first page and the count, as a person would type them.
    typed: Option<(f64, f64)>,
}

pub fn print(bench: &Bench, long: &[Long]) {
    let sizes = long.iter().map(|long| format!(" {} first | middle | last | count |", long.count)).collect::<String>();
    println!("\nMilliseconds for a page of {PAGE} and for the count; beside the last of them the plain SQL.\n");
    println!("| filter |{sizes} growth: first | count | SQL: first | ratio | count | ratio |");
    println!("| --- |{} ---: | ---: | ---: | ---: | ---: | ---: |", " ---: | ---: | ---: | ---: |".repeat(long.len()));
    let readers: Vec<Reader> = long.iter().map(|long| Store::open(&long.path).unwrap().reader().unwrap()).collect();
    for case in CASES {
        let times: Vec<Times> =
            readers.iter().zip(long).map(|(reader, long)| time(bench, (reader, long), case)).collect();
        print_row(case.0, &times);
    }
    let numbers = long.iter().zip(&readers).map(|(long, reader)| {
        let seconds = bench.best(RUNS, || overview(reader, bench.clock.now().wall));
        format!("{:.0} ms at {}", seconds * 1e3, long.count)
    });
    println!(
        "\nThe numbers around the list (five counts, alerts, the most urgent): {}.",
        numbers.collect::<Vec<_>>().join(", ")
    );
}

fn time(bench: &Bench, (reader, long): (&Reader, &Long), (text, condition, order): Case) -> Times {
    let (filter, now) = (Filter::parse(text).unwrap(), bench.clock.now().wall);
    let listing = || reader.listing(&filter, now);
    let all = listing().all().unwrap();
    let middle = Place::Around { rows: all.get(all.len() / 2).copied().into_iter().collect(), before: PAGE / 2 };
    let page = |place: &Place| {
        1e3 * bench.best(RUNS, || {
            black_box(listing().page(place.clone(), PAGE, &Known::default()).unwrap());
        })
    };
    let count = 1e3
        * bench.best(RUNS, || {
            black_box(listing().count().unwrap());
        });
    let typed = bench.shell.as_ref().map(|shell| {
        let rows = format!("SELECT * FROM transactions WHERE {condition} ORDER BY {order} LIMIT {PAGE}");
        let count = format!("SELECT count(*) FROM transactions WHERE {condition}");
        let milliseconds = |statement: &str| 1e3 * shell.seconds(&long.path, statement, RUNS);
        (milliseconds(&rows), milliseconds(&count))
    });
    Times { first: page(&Place::First), middle: page(&middle), last: page(&Place::Last), count, typed }
}

fn print_row(text: &str, times: &[Times]) {
    let text = if text.is_empty() { "none" } else { text };
    let each = times.iter().map(|Times { first, middle, last, count, .. }| {
        format!(" {first:.1} | {middle:.1} | {last:.1} | {count:.1} |")
    });
    let (Some(least), Some(most)) = (times.first(), times.last()) else { return };
    let growth = format!("{:.1} | {:.1}", most.first / least.first, most.count / least.count);
    let typed = most.typed.map_or("- | - | - | -".to_owned(), |(first, count)| {
        format!("{} | {}", beside(most.first, first), beside(most.count, count))
    });
    println!("| `{text}` |{} {growth} | {typed} |", each.collect::<String>());
}

/// The shell's milliseconds, and how often they go into ours; its clock shows no fractions of one.
fn beside(ours: f64, typed: f64) -> String {
    if typed < 1.0 { "< 1 | -".to_owned() } else { format!("{typed:.0} | {:.2}", ours / typed) }
}

/// What the dashboard counts (`tui::look::overview`).
fn overview(reader: &Reader, now: DateTime<Utc>) {
    for text in ["is:attention", "is:active", "status:refund", "is:settled", "", ""] {
        black_box(reader.listing(&Filter::parse(text).unwrap(), now).count().unwrap());
    }
    black_box((AlertCounts::sum(&reader.alerts_by_rule(None, now).unwrap()), reader.most_urgent().unwrap()));
}
