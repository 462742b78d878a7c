//! Writing: observations a second, and what a transaction with its history takes on the disk.

use std::{collections::VecDeque, fs, path::Path};

use hoptop::{
    sim::world::World,
    store::{Receipt, Store},
};

use crate::{
    Bench,
    material::{self, TimedObservation},
};

const SEED: u64 = 11;
const TRANSACTIONS: usize = 10_000;
/// Answers that are being kept at a time: ten requests a second with a slow disk, several times over.
const IN_FLIGHT: usize = 64;

pub fn print(bench: &mut Bench) {
    let folder = tempfile::tempdir().unwrap();
    let start = bench.clock.now().wall;
    let world = material::world(SEED, TRANSACTIONS, start);
    let path = folder.path().join("hoptop.db");
    let seen = import(&path, &world, bench);
    let bodies: Vec<String> = seen.iter().filter_map(|seen| seen.observation.body.clone()).collect();
    let mean = bodies.iter().map(String::len).sum::<usize>() / bodies.len();
    let (count, store) = (seen.len(), Store::open(&path).unwrap());
    let (seconds, ()) = bench.seconds(|| keep(&store, seen));
    drop(store);
    println!("{TRANSACTIONS} transactions, each with three answers of {mean} bytes that all bring news:\n");
    println!("| what | hoptop | bare `sqlite3`, uncompressed | ratio |\n| --- | ---: | ---: | ---: |");
    let rate = count as f64 / seconds;
    let bare = bench.shell.as_ref().map(|_| bare(bench, &bodies));
    let beside = bare.map_or("-".to_owned(), |(seconds, _)| format!("{:.0}", count as f64 / seconds));
    let ratio = bare.map_or("-".to_owned(), |(bare, _)| format!("{:.2}", bare / seconds));
    println!("| observations kept a second | {rate:.0} | {beside} | {ratio} |");
    let bytes = fs::metadata(&path).unwrap().len() as f64 / TRANSACTIONS as f64;
    let said = bench.report.at_most("on disk per transaction", (bytes, 2_048.0), "bytes");
    let beside = bare.map_or("-".to_owned(), |(_, size)| format!("{:.0} bytes", size / TRANSACTIONS as f64));
    let ratio = bare.map_or("-".to_owned(), |(_, size)| format!("{:.2}", bytes * TRANSACTIONS as f64 / size));
    println!("| on disk per transaction | {said} | {beside} | {ratio} |");
    print_parts(bench, &path);
}

/// Tracks the world's transfers; with all that is going to be said of them, in the order in which it is heard.
fn import(path: &Path, world: &World, bench: &Bench) -> Vec<TimedObservation> {
    let (store, now) = (Store::open(path).unwrap(), bench.clock.now().wall);
    let new = world.transfers();
    material::track(&store, new.clone(), now);
    let mut seen: Vec<TimedObservation> = new.iter().flat_map(|new| material::answers(world, new, now)).collect();
    seen.sort_by_key(|seen| seen.at);
    seen
}

/// Keeps answers as the poller does: some at a time, each acknowledged.
pub fn keep(store: &Store, seen: impl IntoIterator<Item = TimedObservation>) {
    let mut in_flight = VecDeque::new();
    for seen in seen {
        if in_flight.len() >= IN_FLIGHT {
            in_flight.pop_front().map(Receipt::wait).transpose().unwrap();
        }
        in_flight.push_back(seen.submit(store));
    }
    in_flight.into_iter().for_each(|receipt| drop(receipt.wait().unwrap()));
}

/// Seconds and bytes for the same bodies in a table of two columns, in transactions of as many rows.
fn bare(bench: &Bench, bodies: &[String]) -> (f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bare.db");
    let mut script = "PRAGMA journal_mode = wal;\nPRAGMA synchronous = normal;\n\
        CREATE TABLE bodies (transaction_row INTEGER, body TEXT);\n"
        .to_owned();
    for some in bodies.chunks(IN_FLIGHT) {
        script += "BEGIN;\n";
        for (row, body) in some.iter().enumerate() {
            script += &format!("INSERT INTO bodies VALUES ({row}, '{}');\n", body.replace('\'', "''"));
        }
        script += "COMMIT;\n";
    }
    let shell = bench.shell.as_ref().unwrap();
    let (seconds, _) = bench.seconds(|| shell.run(&path, &script));
    (seconds, fs::metadata(&path).unwrap().len() as f64)
}

/// What the bytes are made of.
fn print_parts(bench: &Bench, path: &Path) {
    let Some(shell) = &bench.shell else { return };
    let tables = shell.run(
        path,
        ".mode list\nSELECT name, sum(pgsize), sum(payload), sum(unused) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 12;",
    );
    println!("\n| table or index | bytes per transaction | content | unused |\n| --- | ---: | ---: | ---: |");
    for line in tables.lines() {
        let mut columns = line.split('|');
        let name = columns.next().unwrap_or_default();
        let each = columns.map(|bytes| format!("{:.0}", bytes.parse::<f64>().unwrap() / TRANSACTIONS as f64));
        println!("| {name} | {} |", each.collect::<Vec<_>>().join(" | "));
    }
    println!();
}
