//! What was acknowledged is there, whenever the writer is killed: a child process says what is kept, and never gets to its end.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests may fail, and say what they measured"
)]
#![cfg(unix)]

mod material;

use std::{
    collections::{BTreeMap, VecDeque},
    io::{BufRead, BufReader, Write},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use hoptop::{
    clock::Clock,
    domain::ids::TxHash,
    store::{Receipt, Store},
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

/// Where the child's store is, and the seed of what it writes.
const STORE: &str = "HOPTOP_TEST_STORE";
const SEED: &str = "HOPTOP_TEST_SEED";
/// Transactions in one of the child's imports.
const BATCH: usize = 8;
/// Answers of which the child awaits the receipt.
const IN_FLIGHT: usize = 12;

/// What the child said last of each transaction: its answers, and what the last of them said.
type Acknowledged = BTreeMap<String, (u64, String)>;

/// A line of the child: `kept HASH ANSWERS STATUS`. One that breaks off isn't acknowledged.
fn take(line: &str, acknowledged: &mut Acknowledged) {
    let Some(line) = line.strip_suffix('\n') else { return };
    if let ["kept", hash, answers, status] = line.split(' ').collect::<Vec<_>>()[..] {
        acknowledged.insert(hash.to_owned(), (answers.parse().unwrap(), status.to_owned()));
    }
}

fn spawn(store: &Path, seed: u32) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "child_that_writes", "--test-threads=1", "--nocapture"])
        .env(STORE, store)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets a child write, kills it some lines and some while later, and returns what it had acknowledged.
fn kill_one(store: &Path, seed: u32, random: &mut Pcg64Mcg) -> Acknowledged {
    let clock = Clock::system();
    let mut child = spawn(store, seed);
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let (mut acknowledged, mut line) = (Acknowledged::new(), String::new());
    let mut read = |acknowledged: &mut Acknowledged| {
        line.clear();
        let is_over = lines.read_line(&mut line).unwrap() == 0;
        take(&line, acknowledged);
        !is_over
    };
    // One in four dies while it opens the store.
    let wanted = if random.random_range(0..4) == 0 { 0 } else { random.random_range(1..40) };
    while acknowledged.values().map(|(answers, _)| answers + 1).sum::<u64>() < wanted {
        assert!(read(&mut acknowledged), "the child ended by itself");
    }
    let moment = clock.now().mono + Duration::from_micros(random.random_range(0..30_000));
    while clock.now().mono < moment {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9), "the child ended by itself");
    while read(&mut acknowledged) {}
    acknowledged
}

/// Looks at the store as the killed one left it, and leaves it so for the next.
fn check(store: &Path, acknowledged: &Acknowledged) {
    let db = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let made = db.as_ref().is_ok_and(|db| number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'edits'") == 1);
    if !made {
        assert!(acknowledged.is_empty(), "nothing is there of {acknowledged:?}");
        return;
    }
    let db = db.unwrap();
    let whole: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    assert_eq!(number(&db, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    // No write is there in part: all of a batch, and each answer with what it changed.
    let parts = [
        "transactions WHERE polls <> (SELECT ifnull(sum(times), 0) FROM observations WHERE transaction_row = transactions.id)",
        "transactions WHERE id NOT IN (SELECT transaction_row FROM changes WHERE event = 'imported')",
        "transactions WHERE (status IS NULL) <> (polls = 0)",
    ];
    parts.iter().for_each(|part| assert_eq!(number(&db, &format!("SELECT count(*) FROM {part}")), 0, "{part}"));
    assert_eq!(number(&db, "SELECT count(*) FROM transactions") % BATCH as u64, 0);
    for (hash, said) in acknowledged {
        let sql = "SELECT polls, ifnull(status, '-') FROM transactions WHERE transaction_id = ?";
        let found = db.query_row(sql, [hash], |row| Ok((row.get::<_, u64>(0)?, row.get::<_, String>(1)?)));
        let found = found.optional().unwrap().unwrap_or_else(|| panic!("{hash} is lost"));
        assert!(found == *said || found.0 > said.0, "{hash}: {said:?} was acknowledged, {found:?} is there");
    }
}

fn number(db: &Connection, sql: &str) -> u64 {
    db.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn lose_nothing(kills: u32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hoptop.db");
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let mut all = Acknowledged::new();
    for seed in 0..kills {
        let acknowledged = kill_one(&path, seed, &mut random);
        check(&path, &acknowledged);
        all.extend(acknowledged);
    }
    check(&path, &all);
    // And by the product's own eyes, with their bodies.
    let reader = Store::open(&path).unwrap().reader().unwrap();
    for (hash, (answers, _)) in &all {
        let row = reader.find_exact("default", &TxHash::new(hash.clone())).unwrap().unwrap();
        let transaction = reader.listed(row).unwrap().unwrap().transaction;
        assert!(transaction.state.polls >= *answers);
        if *answers > 0 {
            let body = reader.last_body(row).unwrap().unwrap();
            let status = transaction.state.status.unwrap();
            assert!(body.contains(hash.as_str()) && body.contains(status.raw()), "{body}");
        }
    }
    let answers: u64 = all.values().map(|(answers, _)| answers).sum();
    println!("{kills} kills, {} transactions and {answers} answers acknowledged, none lost", all.len());
    assert!(all.len() >= kills as usize && answers >= u64::from(kills), "hardly anything was written");
}

#[test]
fn what_was_acknowledged_survives_200_kills() {
    lose_nothing(200);
}

/// The child of the tests above: tracks transactions and keeps answers about them, and says so after each receipt.
#[test]
#[ignore = "run by other tests, which kill it"]
fn child_that_writes() {
    let (Ok(path), Ok(seed)) = (std::env::var(STORE), std::env::var(SEED)) else { return };
    let store = Store::open(Path::new(&path)).unwrap();
    let now = Clock::system().now().wall;
    let mut in_flight = VecDeque::new();
    // The harness has begun a line.
    println!();
    for part in 0.. {
        let world = material::world(seed.parse::<u64>().unwrap() << 32 | part, BATCH, now);
        let batch = world.transfers();
        material::track(&store, batch.clone(), now);
        batch.iter().for_each(|new| say(new.params.transaction_id.as_str(), 0, "-"));
        for new in &batch {
            for (answer, seen) in (1..).zip(material::answers(&world, new, now)) {
                let status = material::WAY[answer - 1].0;
                in_flight.push_back((new.params.transaction_id.clone(), answer, status, seen.submit(&store)));
            }
            while in_flight.len() > IN_FLIGHT {
                acknowledge(in_flight.pop_front().unwrap());
            }
        }
    }
}

fn acknowledge((hash, answer, status, receipt): (TxHash, usize, &str, Receipt)) {
    receipt.wait().unwrap().observed().unwrap();
    say(hash.as_str(), answer, status);
}

/// One write for a line, so that a line is whole or isn't there.
fn say(hash: &str, answers: usize, status: &str) {
    std::io::stdout().lock().write_all(format!("kept {hash} {answers} {status}\n").as_bytes()).unwrap();
}
