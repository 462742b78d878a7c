//! An import of a hundred thousand rows, as a whole process.

use std::{
    fmt::Write,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use chrono::SecondsFormat;
use hoptop::domain::transaction::NewTransaction;

use crate::{Bench, material};

const SEED: u64 = 23;
const ROWS: usize = 100_000;
const RUNS: usize = 5;
const COLUMNS: &str = "transactionId,fromChainId,toChainId,quoteId,requestId,estimatedRouteDuration,submittedAt,fromAddress,\
    ticket,labels,note";

pub fn print(bench: &mut Bench) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    let world = material::world(SEED, ROWS, bench.clock.now().wall);
    fs::write(&file, csv(&world.transfers())).unwrap();
    let mut number = 0;
    let ours = bench.best(RUNS, || {
        number += 1;
        hoptop(&folder.path().join(format!("{number}.db")), &file);
    });
    let bare = bench.shell.as_ref().map(|shell| {
        bench.best(RUNS, || {
            number += 1;
            shell.run(&folder.path().join(format!("{number}.db")), &plain(&file));
        })
    });
    println!("| what | hoptop | `.import` into a table with a unique index | ratio |\n| --- | ---: | ---: | ---: |");
    let said = bench.report.at_most("an import of 100,000 rows", (ours * 1e3, 2_000.0), "ms");
    let beside = bare.map_or("- | -".to_owned(), |bare| format!("{:.0} ms | {:.2}", bare * 1e3, ours / bare));
    println!("| {ROWS} rows of CSV, the whole process | {said} | {beside} |");
    let (held, others) = (folder.path().join("held.db"), folder.path().join("others.csv"));
    hoptop(&held, &file);
    fs::write(&others, csv(&material::world(SEED + 1, ROWS, bench.clock.now().wall).transfers())).unwrap();
    let again = bench.best(RUNS, || {
        number += 1;
        let database = folder.path().join(format!("{number}.db"));
        fs::copy(&held, &database).unwrap();
        hoptop(&database, &others);
    });
    let said = bench.report.at_most("as many beside those", (again * 1e3, 2_000.0), "ms");
    println!("| as many again beside those, with a copy of the store | {said} | - | |\n");
}

fn csv(batch: &[NewTransaction]) -> String {
    let mut text = format!("{COLUMNS}\n");
    for NewTransaction { told, labels, notes, .. } in batch {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
        writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{}",
            told.transaction_id,
            told.from_chain,
            told.to_chain,
            told.quote_id,
            or_none(&told.request_id),
            told.estimate.map_or_else(String::new, |estimate| estimate.as_secs().to_string()),
            told.submitted_at.map_or_else(String::new, |at| at.to_rfc3339_opts(SecondsFormat::Millis, true)),
            or_none(&told.from_address),
            or_none(&told.ticket),
            labels.join(";"),
            notes.join(" "),
        )
        .unwrap();
    }
    text
}

fn hoptop(database: &Path, file: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hoptop"));
    command.arg("import").arg(file).env("HOPTOP_DB", database).stdout(Stdio::null());
    assert!(command.status().unwrap().success());
}

/// The same columns in one table, on the disk before it is acknowledged.
fn plain(file: &Path) -> String {
    let name = file.display();
    format!(
        "PRAGMA journal_mode = wal;\nPRAGMA synchronous = full;\nCREATE TABLE rows ({COLUMNS});\n\
         CREATE UNIQUE INDEX rows_by_hash ON rows (transactionId, fromChainId);\n.mode csv\n.import --skip 1 {name} rows\n"
    )
}
