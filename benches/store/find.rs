//! Measures how long a part of a hash takes to find, without the search index and with it, and what the index costs.

use std::{fs, hint::black_box, path::Path, thread};

use hoptop::internals::{domain::Filter, store::Store};
use rusqlite::Connection;

use crate::{StoreBench, long::LargeStore};

const RUNS: usize = 5;
/// The longest time to answer, in milliseconds.
const MAX_MILLIS: f64 = 150.0;

pub(crate) fn print(bench: &mut StoreBench, store: &LargeStore) {
    let part = part_of_a_hash(&store.path);
    empty_index(&store.path);
    let size_before = fs::metadata(&store.path).unwrap().len();
    let before = measure(bench, &store.path, &part);
    let (seconds, ()) = bench.seconds(|| fill_index(&store.path, store.count));
    let size_after = fs::metadata(&store.path).unwrap().len();
    let after = measure(bench, &store.path, &part);
    let per_transaction = |size: u64| size as f64 / store.count as f64;
    println!("\nA part of a hash (`{part}`) among {} transactions. Each answer is from a new reader.\n", store.count);
    println!("| what | without the index | with the index |\n| --- | ---: | ---: |");
    println!("| bytes per transaction | {:.0} | {:.0} |", per_transaction(size_before), per_transaction(size_after));
    println!("| seconds to fill the index | - | {seconds:.1} |");
    let names = ["`hoptop show`, and a paste", "a word of a filter: count", "a word that nothing contains: count"];
    for ((name, before), after) in names.iter().zip(before).zip(after) {
        let figure = bench.report.at_most("a part of a hash", after, MAX_MILLIS, "ms");
        println!("| {name} | {before:.1} ms | {figure} |");
    }
}

/// Returns the milliseconds of a lookup, of a filter's count, and of the count of a word that nothing contains.
fn measure(bench: &StoreBench, path: &Path, part: &str) -> [f64; 3] {
    let (now, store) = (bench.clock.now().wall, Store::open(path).unwrap());
    let count = |word: &str| {
        let filter = Filter::parse(word).unwrap();
        1e3 * bench.best_after(
            RUNS,
            || store.reader().unwrap(),
            |reader| {
                black_box(reader.listing(&filter, now).count().unwrap());
            },
        )
    };
    let find = 1e3
        * bench.best_after(
            RUNS,
            || store.reader().unwrap(),
            |reader| {
                black_box(reader.find(part).unwrap());
            },
        );
    [find, count(part), count("zzq7zz")]
}

/// Returns the middle of the hash of a transaction in the middle of the store.
fn part_of_a_hash(path: &Path) -> String {
    let sql =
        "SELECT substr(transaction_key, 20, 8) FROM transactions WHERE id = (SELECT max(id) / 2 FROM transactions)";
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

fn empty_index(path: &Path) {
    let sql = "INSERT INTO search (search) VALUES ('delete-all'); UPDATE search_progress SET indexed_to = 0;
        DELETE FROM search_outdated; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)";
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// Waits until the store's writer has filled the index.
fn fill_index(path: &Path, count: usize) {
    let store = Store::open(path).unwrap();
    let db = Connection::open(path).unwrap();
    let missing = || -> usize {
        db.query_row("SELECT indexed_to FROM search_progress", [], |row| row.get::<_, usize>(0))
            .map_or(count, |to| count.saturating_sub(to))
    };
    while missing() >= 1_000 {
        thread::yield_now();
    }
    drop(store);
}
