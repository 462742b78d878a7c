//! Acknowledged writes survive a kill at any moment: a child process reports the writes that the store has
//! acknowledged, until the test kills the process.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints its figures"
)]
mod material;

use std::{
    collections::{BTreeMap, VecDeque},
    io::{BufRead, BufReader, Write},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use hoptop::internals::{
    clock::Clock,
    domain::TxHash,
    store::{Receipt, Store},
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

/// The environment variables that give the child the path of its store, and the seed of its data.
const STORE: &str = "HOPTOP_TEST_STORE";
const SEED: &str = "HOPTOP_TEST_SEED";
/// The number of transactions in each import of the child.
const BATCH: usize = 8;
/// The most answers that the child submits before it waits for a receipt.
const IN_FLIGHT: usize = 12;

/// The child's last report on each transaction, by hash: the number of answers, and the status in the last answer.
type AcknowledgedRows = BTreeMap<String, (u64, String)>;

/// Records a line of the child: `kept HASH ANSWERS STATUS`. A line without its end acknowledges nothing.
fn record_line(line: &str, acknowledged: &mut AcknowledgedRows) {
    let Some(line) = line.strip_suffix('\n') else { return };
    if let ["kept", hash, answers, status] = line.split(' ').collect::<Vec<_>>()[..] {
        acknowledged.insert(hash.to_owned(), (answers.parse().unwrap(), status.to_owned()));
    }
}

fn spawn_child(store: &Path, seed: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "child_that_writes", "--test-threads=1", "--nocapture"])
        .env(STORE, store)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets a child write, kills it after a random number of lines and a random time, and returns the rows that it
/// acknowledged.
fn run_and_kill_child(store: &Path, seed: u32, random: &mut Pcg64Mcg) -> AcknowledgedRows {
    let clock = Clock::system();
    let mut child = spawn_child(store, seed);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let (mut acknowledged, mut line) = (AcknowledgedRows::new(), String::new());
    let mut read = |acknowledged: &mut AcknowledgedRows| {
        line.clear();
        let has_ended = lines.read_line(&mut line).unwrap() == 0;
        record_line(&line, acknowledged);
        !has_ended
    };
    // One child in four is killed while it opens the store.
    let wanted = if random.random_range(0..4) == 0 { 0 } else { random.random_range(1..40) };
    while acknowledged.values().map(|(answers, _)| answers + 1).sum::<u64>() < wanted {
        assert!(read(&mut acknowledged), "the child ended by itself");
    }
    let kill_at = clock.now().mono + Duration::from_micros(random.random_range(0..30_000));
    while clock.now().mono < kill_at {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9), "the child ended by itself");
    while read(&mut acknowledged) {}
    acknowledged
}

/// Checks the store as the killed child left it. Reads only, so that the next child finds the same files.
fn check_store(store: &Path, acknowledged: &AcknowledgedRows) {
    let db = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let has_tables =
        db.as_ref().is_ok_and(|db| count(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'edits'") == 1);
    if !has_tables {
        assert!(acknowledged.is_empty(), "the tables are missing, but {acknowledged:?} was acknowledged");
        return;
    }
    let db = db.unwrap();
    let verdict: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    assert_eq!(count(&db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    // No write is stored in part: a batch is complete, and an answer is stored with all of its changes.
    let partial_writes = [
        "transactions WHERE polls <> (SELECT ifnull(sum(times), 0) FROM observations WHERE transaction_row = transactions.id)",
        "transactions WHERE id NOT IN (SELECT transaction_row FROM changes WHERE event = 'imported')",
        "transactions WHERE (status IS NULL) <> (polls = 0)",
    ];
    partial_writes.iter().for_each(|sql| assert_eq!(count(&db, &format!("SELECT count(*) FROM {sql}")), 0, "{sql}"));
    assert_eq!(count(&db, "SELECT count(*) FROM transactions") % BATCH as u64, 0);
    for (hash, reported) in acknowledged {
        let sql = "SELECT polls, ifnull(status, '-') FROM transactions WHERE transaction_id = ?";
        let found = db.query_row(sql, [hash], |row| Ok((row.get::<_, u64>(0)?, row.get::<_, String>(1)?)));
        let found = found.optional().unwrap().unwrap_or_else(|| panic!("{hash} is lost"));
        assert!(
            found == *reported || found.0 > reported.0,
            "{hash}: {reported:?} was acknowledged, {found:?} is stored"
        );
    }
}

fn count(db: &Connection, sql: &str) -> u64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn assert_kills_lose_nothing(kills: u32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hoptop.db");
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let mut all = AcknowledgedRows::new();
    for seed in 0..kills {
        let acknowledged = run_and_kill_child(&path, seed, &mut random);
        check_store(&path, &acknowledged);
        all.extend(acknowledged);
    }
    check_store(&path, &all);
    // The store's own queries return every acknowledged answer too, with its body.
    let store = Store::open(&path).unwrap();
    let reader = store.reader().unwrap();
    for (hash, (answers, _)) in &all {
        let row = reader.find_tracked("default", &TxHash::new(hash.clone())).unwrap().unwrap();
        let transaction = reader.list_row(row).unwrap().unwrap().transaction;
        assert!(transaction.state.polls >= *answers);
        if *answers > 0 {
            let body = store.body_text(reader.last_body(row).unwrap().unwrap()).unwrap().unwrap();
            let status = transaction.state.status.unwrap();
            assert!(body.contains(hash.as_str()) && body.contains(status.raw()), "{body}");
        }
    }
    let answers: u64 = all.values().map(|(answers, _)| answers).sum();
    println!("{kills} kills, {} transactions and {answers} answers acknowledged, none lost", all.len());
    assert!(all.len() >= kills as usize && answers >= u64::from(kills), "too little was written");
}

#[test]
fn acknowledged_writes_survive_200_kills() {
    assert_kills_lose_nothing(200);
}

/// The child of the test above: tracks transactions, stores answers, and reports each write after its receipt.
#[test]
#[ignore = "run by other tests, which kill it"]
fn child_that_writes() {
    let (Ok(path), Ok(seed)) = (std::env::var(STORE), std::env::var(SEED)) else { return };
    let store = Store::open(Path::new(&path)).unwrap();
    let now = Clock::system().now().wall;
    let mut in_flight = VecDeque::new();
    // The test harness has begun a line.
    println!();
    for round in 0.. {
        let world = material::world(seed.parse::<u64>().unwrap() << 32 | round, BATCH, now);
        let batch = world.transfers();
        material::track(&store, batch.clone(), now);
        batch.iter().for_each(|new| report(new.params.transaction_id.as_str(), 0, "-"));
        for new in &batch {
            for (answer, observation) in (1..).zip(material::answers(&world, new, now)) {
                let status = material::STATUS_SEQUENCE[answer - 1].0;
                in_flight.push_back((new.params.transaction_id.clone(), answer, status, observation.submit(&store)));
            }
            while in_flight.len() > IN_FLIGHT {
                await_receipt(in_flight.pop_front().unwrap());
            }
        }
    }
}

fn await_receipt((hash, answer, status, receipt): (TxHash, usize, &str, Receipt)) {
    receipt.wait().unwrap().observed().unwrap();
    report(hash.as_str(), answer, status);
}

/// Prints a line of the child in one write, so that a line is whole or missing.
fn report(hash: &str, answers: usize, status: &str) {
    std::io::stdout().lock().write_all(format!("kept {hash} {answers} {status}\n").as_bytes()).unwrap();
}
