//! Measures an import of a hundred thousand rows as a whole process.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use chrono::SecondsFormat;
use hoptop::internals::{clock::Clock, domain::NewTransaction};

use crate::{StoreBench, material};

const SEED: u64 = 23;
const ROWS: usize = 100_000;
const RUNS: usize = 5;
const COLUMNS: &str = "transactionId,fromChainId,toChainId,quoteId,requestId,estimatedRouteDuration,submittedAt,fromAddress,\
    ticket,labels,note";

pub(crate) fn print(bench: &mut StoreBench) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    let world = material::world(SEED, ROWS, bench.clock.now().wall);
    fs::write(&file, csv(&world.transfers())).unwrap();
    let mut number = 0;
    let mut next_path = || {
        number += 1;
        folder.path().join(format!("{number}.db"))
    };
    let hoptop =
        bench.best_after(RUNS, || TemporaryStore(next_path()), |TemporaryStore(database)| import_file(database, &file));
    let sqlite = bench
        .shell
        .as_ref()
        .map(|shell| bench.best_after(RUNS, &mut next_path, |database| drop(shell.run(database, &sql_script(&file)))));
    println!("| what | hoptop | `.import` into a table with a unique index | ratio |\n| --- | ---: | ---: | ---: |");
    let figure = bench.report.at_most("an import of 100,000 rows", hoptop * 1e3, 2_000.0, "ms");
    let column = sqlite.map_or("- | -".to_owned(), |sqlite| format!("{:.0} ms | {:.2}", sqlite * 1e3, hoptop / sqlite));
    println!("| {ROWS} rows of CSV, the whole process | {figure} | {column} |");
    let filled = TemporaryStore(folder.path().join("held.db"));
    import_file(&filled.0, &file);
    let others = material::world(SEED + 1, ROWS, bench.clock.now().wall).transfers();
    let mut changed = world.transfers();
    changed.iter_mut().for_each(|new| new.params.ticket = Some("SUP-1".into()));
    for (measure, batch) in [
        ("as many again beside those", others),
        ("the same again, all known", world.transfers()),
        ("the same with another ticket each", changed),
    ] {
        fs::write(&file, csv(&batch)).unwrap();
        let copy = || {
            let database = next_path();
            fs::copy(&filled.0, &database).unwrap();
            TemporaryStore(database)
        };
        let seconds = bench.best_after(RUNS, copy, |TemporaryStore(database)| import_file(database, &file));
        let figure = bench.report.at_most(measure, seconds * 1e3, 2_000.0, "ms");
        println!("| {measure} | {figure} | - | |");
    }
    println!();
}

fn csv(batch: &[NewTransaction]) -> String {
    let mut text = format!("{COLUMNS}\n");
    for NewTransaction { params, labels, notes, .. } in batch {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
        writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{}",
            params.transaction_id,
            params.from_chain,
            params.to_chain,
            params.quote_id,
            or_none(&params.request_id),
            params.estimate.map_or_else(String::new, |estimate| estimate.as_secs().to_string()),
            params.submitted_at.map_or_else(String::new, |at| at.to_rfc3339_opts(SecondsFormat::Millis, true)),
            or_none(&params.from_address),
            or_none(&params.ticket),
            labels.join(";"),
            notes.join(" "),
        )
        .unwrap();
    }
    text
}

fn import_file(database: &Path, file: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoptop"));
    command.arg("import").arg(file).env("HOPTOP_DB", database).stdout(Stdio::null());
    assert!(command.status().unwrap().success());
}

/// The path of a store that hoptop fills. Dropping it waits until the daily backup exists: a background process makes
/// the backup and would slow down the next measurement.
struct TemporaryStore(PathBuf);

impl Drop for TemporaryStore {
    fn drop(&mut self) {
        let prefix = format!("{}.", self.0.file_name().unwrap().to_str().unwrap());
        let is_backup = |name: &str| name.starts_with(&prefix) && name.ends_with(".backup");
        let has_backup = || {
            let mut files = fs::read_dir(self.0.with_file_name("backups")).into_iter().flatten().flatten();
            files.any(|file| is_backup(file.file_name().to_str().unwrap()))
        };
        // A backup that fails never appears, so the wait has a limit.
        let clock = Clock::system();
        let until = clock.now().mono + Duration::from_secs(30);
        while !has_backup() && clock.now().mono < until {
            thread::yield_now();
        }
    }
}

/// Returns a script that imports the same columns into one table, with synchronous writes to the disk.
fn sql_script(file: &Path) -> String {
    let name = file.display();
    format!(
        "PRAGMA journal_mode = wal;\nPRAGMA synchronous = full;\nCREATE TABLE rows ({COLUMNS});\n\
         CREATE UNIQUE INDEX rows_by_hash ON rows (transactionId, fromChainId);\n.mode csv\n.import --skip 1 {name} rows\n"
    )
}
