//! Measures lists of both lengths: the first, middle and last page, and the count, beside the SQL that a person would
//! type into the shell.

use std::hint::black_box;

use chrono::{DateTime, Utc};
use hoptop::internals::{
    domain::Filter,
    store::{AlertCounts, LoadedRows, PagePosition, Reader, Store},
};

use crate::{StoreBench, long::LargeStore};

const PAGE: usize = 60;
const RUNS: usize = 3;

/// A filter, and the SQL that a person would type for it after `WHERE` and after `ORDER BY`.
type FilterCase = (&'static str, &'static str, &'static str);

const CASES: [FilterCase; 17] = [
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

/// The milliseconds that a filter takes on a store.
struct PageTimes {
    first: f64,
    middle: f64,
    last: f64,
    count: f64,
    /// The first page and the count in plain SQL; `None` without the shell.
    sqlite_times: Option<(f64, f64)>,
}

pub(crate) fn print(bench: &StoreBench, stores: &[LargeStore]) {
    let sizes =
        stores.iter().map(|store| format!(" {} first | middle | last | count |", store.count)).collect::<String>();
    println!("\nMilliseconds for a page of {PAGE} and for the count; beside the last of them the plain SQL.\n");
    println!("| filter |{sizes} growth: first | count | SQL: first | ratio | count | ratio |");
    println!(
        "| --- |{} ---: | ---: | ---: | ---: | ---: | ---: |",
        " ---: | ---: | ---: | ---: |".repeat(stores.len())
    );
    let readers: Vec<Reader> = stores.iter().map(|store| Store::open(&store.path).unwrap().reader().unwrap()).collect();
    for case in CASES {
        let times: Vec<PageTimes> =
            readers.iter().zip(stores).map(|(reader, store)| measure_filter(bench, reader, store, case)).collect();
        print_row(case.0, &times);
    }
    let numbers = stores.iter().zip(&readers).map(|(store, reader)| {
        let seconds = bench.best(RUNS, || count_for_dashboard(reader, bench.clock.now().wall));
        format!("{:.0} ms at {}", seconds * 1e3, store.count)
    });
    println!(
        "\nThe numbers around the list (five counts, alerts, the most urgent): {}.",
        numbers.collect::<Vec<_>>().join(", ")
    );
}

fn measure_filter(
    bench: &StoreBench,
    reader: &Reader,
    store: &LargeStore,
    (text, condition, order): FilterCase,
) -> PageTimes {
    let (filter, now) = (Filter::parse(text).unwrap(), bench.clock.now().wall);
    let listing = || reader.listing(&filter, now);
    let all = listing().all().unwrap();
    let middle = PagePosition::Around { rows: all.get(all.len() / 2).copied().into_iter().collect(), before: PAGE / 2 };
    let page = |place: &PagePosition| {
        1e3 * bench.best(RUNS, || {
            black_box(listing().page(place.clone(), PAGE, &LoadedRows::default()).unwrap());
        })
    };
    let count = 1e3
        * bench.best(RUNS, || {
            black_box(listing().count().unwrap());
        });
    let sqlite_times = bench.shell.as_ref().map(|shell| {
        let rows = format!("SELECT * FROM transactions WHERE {condition} ORDER BY {order} LIMIT {PAGE}");
        let count = format!("SELECT count(*) FROM transactions WHERE {condition}");
        let milliseconds = |statement: &str| 1e3 * shell.seconds(&store.path, statement, RUNS);
        (milliseconds(&rows), milliseconds(&count))
    });
    PageTimes {
        first: page(&PagePosition::First),
        middle: page(&middle),
        last: page(&PagePosition::Last),
        count,
        sqlite_times,
    }
}

fn print_row(text: &str, times: &[PageTimes]) {
    let text = if text.is_empty() { "none" } else { text };
    let each = times.iter().map(|PageTimes { first, middle, last, count, .. }| {
        format!(" {first:.1} | {middle:.1} | {last:.1} | {count:.1} |")
    });
    let (Some(least), Some(most)) = (times.first(), times.last()) else { return };
    let growth = format!("{:.1} | {:.1}", most.first / least.first, most.count / least.count);
    let sqlite_times = most.sqlite_times.map_or("- | - | - | -".to_owned(), |(first, count)| {
        format!("{} | {}", compare(most.first, first), compare(most.count, count))
    });
    println!("| `{text}` |{} {growth} | {sqlite_times} |", each.collect::<String>());
}

/// Returns the shell's milliseconds and hoptop's milliseconds divided by them. The shell's times have no fractions of a
/// millisecond.
fn compare(hoptop_time: f64, sqlite_time: f64) -> String {
    if sqlite_time < 1.0 {
        "< 1 | -".to_owned()
    } else {
        format!("{sqlite_time:.0} | {:.2}", hoptop_time / sqlite_time)
    }
}

/// Runs the counts of the dashboard (`tui::queries::overview`).
fn count_for_dashboard(reader: &Reader, now: DateTime<Utc>) {
    for text in ["is:attention", "is:active", "status:refund", "is:settled", "", ""] {
        black_box(reader.listing(&Filter::parse(text).unwrap(), now).count().unwrap());
    }
    black_box((AlertCounts::sum(&reader.alerts_by_rule(None, now).unwrap()), reader.most_urgent().unwrap()));
}
