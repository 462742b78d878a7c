//! Measures writes: observations per second, and the disk space of a transaction with its history.

use std::{collections::VecDeque, fs, path::Path};

use hoptop::internals::{
    sim::SimulatedWorld,
    store::{Receipt, Store},
};

use crate::{
    StoreBench,
    material::{self, TimedObservation},
};

const SEED: u64 = 11;
const TRANSACTIONS: usize = 10_000;
/// The answers being saved at the same time: several times as many as ten requests per second cause on a slow disk.
const IN_FLIGHT: usize = 64;

pub(crate) fn print(bench: &mut StoreBench) {
    let folder = tempfile::tempdir().unwrap();
    let start = bench.clock.now().wall;
    let world = material::world(SEED, TRANSACTIONS, start);
    let path = folder.path().join("hoptop.db");
    let observations = import(&path, &world, bench);
    let bodies: Vec<String> = observations.iter().filter_map(|timed| timed.observation.body.clone()).collect();
    let mean = bodies.iter().map(String::len).sum::<usize>() / bodies.len();
    let (count, store) = (observations.len(), Store::open(&path).unwrap());
    let (seconds, ()) = bench.seconds(|| save(&store, observations));
    drop(store);
    println!("{TRANSACTIONS} transactions, each with three answers of {mean} bytes that all bring news:\n");
    println!("| what | hoptop | bare `sqlite3`, uncompressed | ratio |\n| --- | ---: | ---: | ---: |");
    let rate = count as f64 / seconds;
    let bare = bench.shell.as_ref().map(|_| measure_shell(bench, &bodies));
    let comparison = bare.map_or("-".to_owned(), |(seconds, _)| format!("{:.0}", count as f64 / seconds));
    let ratio = bare.map_or("-".to_owned(), |(bare, _)| format!("{:.2}", bare / seconds));
    println!("| observations kept a second | {rate:.0} | {comparison} | {ratio} |");
    let bytes = fs::metadata(&path).unwrap().len() as f64 / TRANSACTIONS as f64;
    let figure = bench.report.at_most("on disk per transaction", bytes, 2_048.0, "bytes");
    let comparison = bare.map_or("-".to_owned(), |(_, size)| format!("{:.0} bytes", size / TRANSACTIONS as f64));
    let ratio = bare.map_or("-".to_owned(), |(_, size)| format!("{:.2}", bytes * TRANSACTIONS as f64 / size));
    println!("| on disk per transaction | {figure} | {comparison} | {ratio} |");
    print_parts(bench, &path);
}

/// Tracks the world's transfers, and returns all answers about them in order of arrival.
fn import(path: &Path, world: &SimulatedWorld, bench: &StoreBench) -> Vec<TimedObservation> {
    let (store, now) = (Store::open(path).unwrap(), bench.clock.now().wall);
    let new = world.transfers();
    material::track(&store, new.clone(), now);
    let mut observations: Vec<TimedObservation> =
        new.iter().flat_map(|new| material::answers(world, new, now)).collect();
    observations.sort_by_key(|timed| timed.at);
    observations
}

/// Saves answers as the poller does: several at a time, each acknowledged.
pub(crate) fn save(store: &Store, observations: impl IntoIterator<Item = TimedObservation>) {
    let mut in_flight = VecDeque::new();
    for observation in observations {
        if in_flight.len() >= IN_FLIGHT {
            in_flight.pop_front().map(Receipt::wait).transpose().unwrap();
        }
        in_flight.push_back(observation.submit(store));
    }
    in_flight.into_iter().for_each(|receipt| drop(receipt.wait().unwrap()));
}

/// Returns the seconds and bytes for the same bodies in a table of two columns, with as many rows per transaction.
fn measure_shell(bench: &StoreBench, bodies: &[String]) -> (f64, f64) {
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

/// Prints how the bytes are distributed over tables and indexes.
fn print_parts(bench: &StoreBench, path: &Path) {
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
