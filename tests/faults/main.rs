//! The k-th write or sync fails, or the process is killed at it, for every k that there is: the store stays sound, what was
//! there stays, and nothing is acknowledged that isn't there.
//!
//! A small library in C is put before the C library of the real program; without a C compiler the tests say so and pass.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

#[allow(dead_code, reason = "shared with the tests of whole runs")]
#[path = "../end_to_end/common.rs"]
mod common;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use common::{Batch, Home, Running, Simulation};
use rusqlite::Connection;
use tempfile::TempDir;

/// More calls than any command here makes.
const MOST_CALLS: u32 = 2_000;

/// The library, compiled once; `None` without a compiler.
fn shim() -> Option<&'static Path> {
    static SHIM: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let compile = || {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("shim.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/shim.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
        match cc.status() {
            Ok(status) => assert!(status.success(), "the shim doesn't compile"),
            Err(error) => {
                eprintln!("skipped: no C compiler ({error})");
                return None;
            }
        }
        Some((folder, library))
    };
    SHIM.get_or_init(compile).as_ref().map(|(_, library)| library.as_path())
}

/// What happens at the k-th call.
#[derive(Clone, Copy)]
struct Fault {
    at: u32,
    kind: &'static str,
    stays: bool,
}

/// A folder with a store in it, for one run.
struct Place(TempDir);

/// How a run ended.
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
    /// Whether the fault happened.
    happened: bool,
}

impl Place {
    /// With copies of these files, below `store`.
    fn with(template: &Path) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        copy(template, &place.store_folder());
        place
    }

    fn store_folder(&self) -> PathBuf {
        self.0.path().join("store")
    }

    fn db(&self) -> PathBuf {
        self.store_folder().join("hoptop.db")
    }

    fn run(&self, words: &[&str], fault: Option<Fault>) -> Ended {
        let mark = self.0.path().join("happened");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hoptop"));
        command.args(words).env_clear().env("HOME", self.0.path()).env("HOPTOP_DB", self.db());
        command.env("HOPTOP_STATE_DIR", self.0.path().join("state")).current_dir(self.0.path()).stdin(Stdio::null());
        if let Some(Fault { at, kind, stays }) = fault {
            command.env("LD_PRELOAD", shim().unwrap()).env("FAULT_PATH", self.store_folder());
            command.env("FAULT_AT", at.to_string()).env("FAULT_KIND", kind).env("FAULT_MARK", &mark);
            if stays {
                command.env("FAULT_STAYS", "1");
            }
        }
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert!(!err.contains("panicked"), "{err}");
        Ended { code: output.status.code(), out, err, happened: mark.exists() }
    }

    /// The hashes that are tracked, by a run without faults; which must find the store sound.
    #[track_caller]
    fn tracked(&self, when: &str) -> Vec<String> {
        let ended = self.run(&["list", "--json"], None);
        assert_eq!(ended.code, Some(0), "{when}: {}", ended.err);
        let db = Connection::open(self.db()).unwrap();
        let verdict: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(verdict, "ok", "{when}");
        let orphans: i64 = db.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
        assert_eq!(orphans, 0, "{when}");
        let list: Vec<serde_json::Value> = serde_json::from_str(&ended.out).unwrap();
        list.iter().map(|tx| tx["transactionId"].as_str().unwrap().to_owned()).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

fn hash(number: usize) -> String {
    format!("0x{number:064x}")
}

fn csv(numbers: std::ops::RangeInclusive<usize>) -> String {
    let head = "transactionId,fromChainId,toChainId,quoteId,labels,note\n".to_owned();
    numbers.fold(head, |csv, number| csv + &format!("{},42161,8453,q,vip,a note\n", hash(number)))
}

/// Tracks these by a run without faults.
fn import(place: &Place, numbers: std::ops::RangeInclusive<usize>) {
    fs::write(place.0.path().join("batch.csv"), csv(numbers)).unwrap();
    let ended = place.run(&["import", "batch.csv"], None);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}

/// A store with three transactions, and a backup of the day.
fn template() -> Place {
    let place = Place(tempfile::tempdir().unwrap());
    import(&place, 1..=3);
    place
}

/// Runs `one` with a fault at each call, until it needs fewer calls than that; returns how many there were.
fn at_every_call(step: usize, one: impl Fn(u32) -> bool) -> u32 {
    if shim().is_none() {
        return MOST_CALLS;
    }
    let beyond = (1..MOST_CALLS).step_by(step).find(|at| !one(*at));
    beyond.expect("it never ends") - 1
}

/// An import with a fault: what it acknowledges is there, and what was there before.
fn an_import(fault: Fault, template: &Place) -> bool {
    let place = Place::with(&template.store_folder());
    fs::write(place.0.path().join("batch.csv"), csv(4..=8)).unwrap();
    let ended = place.run(&["import", "batch.csv"], Some(fault));
    let when = format!("{} at {}{}", fault.kind, fault.at, if fault.stays { " and from there on" } else { "" });
    let tracked = place.tracked(&when);
    assert!((1..=3).all(|number| tracked.contains(&hash(number))), "{when}: {tracked:?}");
    let new = (4..=8).filter(|number| tracked.contains(&hash(*number))).count();
    assert!(new == 0 || new == 5, "{when}: {new} of 5 are there");
    match ended.code {
        Some(0) => assert_eq!(new, 5, "{when}: acknowledged, and not there: {}", ended.out),
        Some(code) => assert!(code == 1 && ended.err.starts_with("hoptop: "), "{when}: {}", ended.err),
        None => assert_eq!(fault.kind, "kill", "{when}"),
    }
    ended.happened
}

#[test]
fn an_import_keeps_what_it_acknowledges_whichever_write_fails() {
    if shim().is_none() {
        return;
    }
    let template = template();
    let kinds = ["enospc", "eio", "short", "kill"];
    let calls =
        at_every_call(1, |at| an_import(Fault { at, kind: kinds[at as usize % 4], stays: at % 8 < 3 }, &template));
    assert!(calls > 15, "the shim saw {calls} calls only");
}

#[test]
#[ignore = "a minute: every kind at every call"]
fn an_import_keeps_what_it_acknowledges_whatever_fails_whenever() {
    if shim().is_none() {
        return;
    }
    let template = template();
    for kind in ["enospc", "eio", "short", "kill"] {
        for stays in [false, true] {
            at_every_call(1, |at| an_import(Fault { at, kind, stays }, &template));
        }
    }
}

/// A store of an older schema, with three transactions, each with an answer, its body, and a note.
fn older_schema(folder: &Path, version: usize) {
    let migrations = [
        include_str!("../../assets/migrations/0001_first.sql"),
        include_str!("../../assets/migrations/0002_routes.sql"),
        include_str!("../../assets/migrations/0003_forecasts.sql"),
    ];
    fs::create_dir_all(folder).unwrap();
    let db = Connection::open(folder.join("hoptop.db")).unwrap();
    migrations.iter().take(version).for_each(|migration| db.execute_batch(migration).unwrap());
    db.pragma_update(None, "user_version", version).unwrap();
    db.execute_batch("PRAGMA application_id = 0x686f7074; PRAGMA journal_mode = wal").unwrap();
    for number in 1..=3 {
        db.execute(
            "INSERT INTO transactions (profile, transaction_key, transaction_id, from_chain, to_chain, quote_id,
             first_seen_at) VALUES ('default', ?1, ?1, '42161', '8453', 'q', 1000)",
            [hash(number)],
        )
        .unwrap();
    }
    db.execute_batch(
        "INSERT INTO observations (transaction_row, first_at, last_at, summary, latency, body)
         SELECT id, 2000, 2000, 'ongoing', 5, '{\"routerTransactionStatus\":\"ongoing\"}' FROM transactions;
         INSERT INTO changes (at, profile, transaction_row, event, what)
         SELECT 2000, 'default', id, 'polled', '{\"event\":\"polled\"}' FROM transactions;
         INSERT INTO notes (transaction_row, at, text) SELECT id, 3000, 'asked' FROM transactions",
    )
    .unwrap();
}

#[test]
fn a_change_of_the_schema_ends_at_the_old_or_the_new_one() {
    let kinds = ["kill", "enospc", "kill", "eio"];
    for before in [1, 3] {
        let template = tempfile::tempdir().unwrap();
        older_schema(template.path(), before);
        let calls = at_every_call(1, |at| {
            let place = Place::with(template.path());
            let fault = Fault { at, kind: kinds[at as usize % 4], stays: false };
            let ended = place.run(&["list"], Some(fault));
            let when = format!("{} at {at}, from {before}", fault.kind);
            let db = Connection::open(place.db()).unwrap();
            let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
            let has = |table: &str, column: &str| {
                number(&format!("SELECT count(*) FROM pragma_table_info('{table}') WHERE name = '{column}'")) == 1
            };
            let version = number("SELECT user_version FROM pragma_user_version");
            let is_whole = has("transactions", "poll_requested_at") == (version >= 2)
                && has("observations", "body_base") == (version >= 4)
                && has("transactions", "record") == (version < 4);
            assert!(is_whole, "{when}: neither old nor new, but between, at {version}");
            drop(db);
            assert_eq!(place.tracked(&when).len(), 3, "{when}");
            let db = Connection::open(place.db()).unwrap();
            let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
            let kept = "SELECT count(*) FROM observations JOIN notes USING (transaction_row) WHERE body IS NOT NULL";
            assert_eq!(number(kept), 3, "{when}");
            ended.happened
        });
        assert!(calls > 15, "the shim saw {calls} calls only");
    }
}

#[test]
fn killed_recovery_is_continued() {
    let template = template();
    let mut bytes = fs::read(template.db()).unwrap();
    bytes[..100].fill(0xa5);
    fs::write(template.db(), &bytes).unwrap();
    at_every_call(1, |at| {
        let place = Place::with(&template.store_folder());
        let ended =
            place.run(&["list"], Some(Fault { at, kind: if at % 3 == 0 { "enospc" } else { "kill" }, stays: false }));
        assert_eq!(place.tracked(&format!("at {at}")).len(), 3);
        let files = fs::read_dir(place.store_folder()).unwrap().map(|entry| entry.unwrap().path());
        let aside: Vec<_> = files.filter(|path| path.to_string_lossy().contains(".db.damaged-")).collect();
        let kept = aside.iter().filter(|path| fs::read(path).unwrap() == bytes).count();
        assert_eq!(kept, 1, "at {at}: {aside:?}");
        ended.happened
    });
}

#[test]
fn a_full_disk_is_said_while_polling_goes_on_and_what_comes_with_room_is_kept() {
    let Some(shim) = shim() else { return };
    let batch = Batch::new(&["{ from = 0, status = \"ongoing\" }, { from = 6, status = \"success\" }"]);
    let simulation = Simulation::start(&batch.scenario);
    let home = Home::new();
    home.import(&batch.csv);
    let full = home.path().join("full");
    let mut watch = home.polling(&simulation.url, &["watch", "--json", "--until-settled", "--timeout", "60s"]);
    watch.env("LD_PRELOAD", shim).env("FAULT_PATH", home.path().join("hoptop.db")).env("FAULT_WHILE", &full);
    let mut watch = Running::start(watch);
    watch.until("status_changed", 1);
    fs::write(&full, "").unwrap();
    let said = watch.complaint();
    assert!(said.contains("couldn't keep what it was given: ") && said.contains("disk"), "{said}");
    fs::remove_file(&full).unwrap();
    let ended = watch.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.err.contains("panicked"), "{ended:?}");
    assert_eq!(home.list()[0]["status"], "success");
}
