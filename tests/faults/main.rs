//! For every k, the k-th write or sync fails, or the process is killed at that call. The store stays sound, existing
//! rows stay, and every acknowledged write is stored.
//!
//! A small C library, loaded before the C library of the real program, injects the faults. Without a C compiler the
//! tests print that they are skipped, and pass.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

#[allow(dead_code, reason = "shared with the end-to-end tests")]
#[path = "../end_to_end/common.rs"]
mod common;
mod late_request;
mod shim;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use common::{Home, ProgramProcess, ScenarioBatch, SimulatorProcess};
use rusqlite::Connection;
use shim::shim;
use tempfile::TempDir;

/// A number of calls that no command here reaches.
const MAX_CALLS: u32 = 2_000;

/// A fault at the k-th call: k, the kind as `shim.c` names it, and whether all later calls fail too.
#[derive(Clone, Copy)]
struct InjectedFault {
    at: u32,
    kind: &'static str,
    is_permanent: bool,
}

/// A temporary folder with a store, for one run.
struct FaultSandbox(TempDir);

/// The result of a run.
struct RunResult {
    code: Option<i32>,
    out: String,
    err: String,
    /// Whether the process reached the fault.
    has_fault_happened: bool,
}

impl FaultSandbox {
    /// Creates a folder whose `store` has copies of the template's files.
    fn from_template(template: &Path) -> Self {
        let sandbox = Self(tempfile::tempdir().unwrap());
        copy_folder(template, &sandbox.store_folder());
        sandbox
    }

    fn store_folder(&self) -> PathBuf {
        self.0.path().join("store")
    }

    fn db(&self) -> PathBuf {
        self.store_folder().join("hoptop.db")
    }

    fn run(&self, words: &[&str], fault: Option<InjectedFault>) -> RunResult {
        let mark = self.0.path().join("happened");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hoptop"));
        command.args(words).env_clear().env("HOME", self.0.path()).env("HOPTOP_DB", self.db());
        command.env("HOPTOP_STATE_DIR", self.0.path().join("state")).current_dir(self.0.path()).stdin(Stdio::null());
        if let Some(InjectedFault { at, kind, is_permanent }) = fault {
            command.env("LD_PRELOAD", shim().unwrap()).env("FAULT_PATH", self.store_folder());
            command.env("FAULT_AT", at.to_string()).env("FAULT_KIND", kind).env("FAULT_MARK", &mark);
            if is_permanent {
                command.env("FAULT_STAYS", "1");
            }
        }
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert!(!err.contains("panicked"), "{err}");
        RunResult { code: output.status.code(), out, err, has_fault_happened: mark.exists() }
    }

    /// Returns the tracked hashes from a run without faults. Fails if the store isn't sound.
    #[track_caller]
    fn tracked_hashes(&self, when: &str) -> Vec<String> {
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

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &to.join(entry.file_name())),
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

/// Tracks the transactions with these numbers in a run without faults.
fn import_rows(sandbox: &FaultSandbox, numbers: std::ops::RangeInclusive<usize>) {
    fs::write(sandbox.0.path().join("batch.csv"), csv(numbers)).unwrap();
    let ended = sandbox.run(&["import", "batch.csv"], None);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}

/// Creates a store with three transactions and a daily backup.
fn create_template() -> FaultSandbox {
    let sandbox = FaultSandbox(tempfile::tempdir().unwrap());
    import_rows(&sandbox, 1..=3);
    sandbox
}

/// Calls `run_with_fault_at` for each call of the process, until the fault is beyond the last call. Returns the number
/// of calls.
fn at_each_call(run_with_fault_at: impl Fn(u32) -> bool) -> u32 {
    if shim().is_none() {
        return MAX_CALLS;
    }
    let beyond_last_call = (1..MAX_CALLS).find(|at| !run_with_fault_at(*at));
    beyond_last_call.expect("the command makes more calls than MAX_CALLS") - 1
}

/// Imports with a fault, and checks that existing and acknowledged rows are stored. Returns whether the fault happened.
fn run_import(fault: InjectedFault, template: &FaultSandbox) -> bool {
    let sandbox = FaultSandbox::from_template(&template.store_folder());
    fs::write(sandbox.0.path().join("batch.csv"), csv(4..=8)).unwrap();
    let ended = sandbox.run(&["import", "batch.csv"], Some(fault));
    let when = format!("{} at {}{}", fault.kind, fault.at, if fault.is_permanent { " and after" } else { "" });
    let tracked = sandbox.tracked_hashes(&when);
    assert!((1..=3).all(|number| tracked.contains(&hash(number))), "{when}: {tracked:?}");
    let new = (4..=8).filter(|number| tracked.contains(&hash(*number))).count();
    assert!(new == 0 || new == 5, "{when}: {new} of 5 are stored");
    match ended.code {
        Some(0) => assert_eq!(new, 5, "{when}: acknowledged, but not stored: {}", ended.out),
        Some(code) => assert!(code == 1 && ended.err.starts_with("hoptop: "), "{when}: {}", ended.err),
        None => assert_eq!(fault.kind, "kill", "{when}"),
    }
    ended.has_fault_happened
}

#[test]
fn import_keeps_acknowledged_rows_when_any_write_fails() {
    if shim().is_none() {
        return;
    }
    let template = create_template();
    let kinds = ["enospc", "eio", "short", "kill"];
    let calls = at_each_call(|at| {
        run_import(InjectedFault { at, kind: kinds[at as usize % 4], is_permanent: at % 8 < 3 }, &template)
    });
    assert!(calls > 15, "the shim saw {calls} calls only");
}

#[test]
#[ignore = "a minute: every kind at every call"]
fn import_keeps_acknowledged_rows_for_every_fault_at_every_call() {
    if shim().is_none() {
        return;
    }
    let template = create_template();
    for kind in ["enospc", "eio", "short", "kill"] {
        for is_permanent in [false, true] {
            at_each_call(|at| run_import(InjectedFault { at, kind, is_permanent }, &template));
        }
    }
}

/// Creates a store of an older schema version. Each of its three transactions has an answer, its body and a note.
fn create_older_store(folder: &Path, version: usize) {
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
fn interrupted_migration_leaves_the_old_or_the_new_schema() {
    let kinds = ["kill", "enospc", "kill", "eio"];
    for old_version in [1, 3] {
        let template = tempfile::tempdir().unwrap();
        create_older_store(template.path(), old_version);
        let calls = at_each_call(|at| {
            let sandbox = FaultSandbox::from_template(template.path());
            let fault = InjectedFault { at, kind: kinds[at as usize % 4], is_permanent: false };
            let ended = sandbox.run(&["list"], Some(fault));
            let when = format!("{} at {at}, from {old_version}", fault.kind);
            let db = Connection::open(sandbox.db()).unwrap();
            let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
            let has = |table: &str, column: &str| {
                number(&format!("SELECT count(*) FROM pragma_table_info('{table}') WHERE name = '{column}'")) == 1
            };
            let version = number("SELECT user_version FROM pragma_user_version");
            let is_old_or_new = has("transactions", "poll_requested_at") == (version >= 2)
                && has("observations", "body_base") == (version >= 4)
                && has("transactions", "record") == (version < 4);
            assert!(is_old_or_new, "{when}: the schema is between the old and the new one, at {version}");
            drop(db);
            assert_eq!(sandbox.tracked_hashes(&when).len(), 3, "{when}");
            let db = Connection::open(sandbox.db()).unwrap();
            let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
            let count_kept =
                "SELECT count(*) FROM observations JOIN notes USING (transaction_row) WHERE body IS NOT NULL";
            assert_eq!(number(count_kept), 3, "{when}");
            ended.has_fault_happened
        });
        assert!(calls > 15, "the shim saw {calls} calls only");
    }
}

#[test]
fn interrupted_recovery_is_continued() {
    let template = create_template();
    let mut bytes = fs::read(template.db()).unwrap();
    bytes[..100].fill(0xa5);
    fs::write(template.db(), &bytes).unwrap();
    at_each_call(|at| {
        let sandbox = FaultSandbox::from_template(&template.store_folder());
        let ended = sandbox.run(
            &["list"],
            Some(InjectedFault { at, kind: if at % 3 == 0 { "enospc" } else { "kill" }, is_permanent: false }),
        );
        assert_eq!(sandbox.tracked_hashes(&format!("at {at}")).len(), 3);
        let files = fs::read_dir(sandbox.store_folder()).unwrap().map(|entry| entry.unwrap().path());
        let damaged_files: Vec<_> = files.filter(|path| path.to_string_lossy().contains(".db.damaged-")).collect();
        let count_kept = damaged_files.iter().filter(|path| fs::read(path).unwrap() == bytes).count();
        assert_eq!(count_kept, 1, "at {at}: {damaged_files:?}");
        ended.has_fault_happened
    });
}

#[test]
fn full_disk_is_reported_while_polling_continues_and_later_answers_are_stored() {
    let Some(shim) = shim() else { return };
    let batch = ScenarioBatch::new(&["{ from = 0, status = \"ongoing\" }, { from = 6, status = \"success\" }"]);
    let simulation = SimulatorProcess::start(&batch.scenario);
    let home = Home::new();
    home.import(&batch.csv);
    let full = home.path().join("full");
    let mut watch = home.polling_command(&simulation.url, &["watch", "--json", "--until-settled", "--timeout", "60s"]);
    watch.env("LD_PRELOAD", shim).env("FAULT_PATH", home.path().join("hoptop.db")).env("FAULT_WHILE", &full);
    let mut watch = ProgramProcess::start(watch);
    watch.read_events_until("status_changed", 1);
    fs::write(&full, "").unwrap();
    let warning = watch.read_error_line();
    assert!(warning.contains("the write to the store failed: ") && warning.contains("disk"), "{warning}");
    fs::remove_file(&full).unwrap();
    let ended = watch.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.err.contains("panicked"), "{ended:?}");
    assert_eq!(home.list()[0]["status"], "success");
}
