//! Backups as processes: `restore`, also killed in the middle, and backups that are read where they lie.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    process::{Command, Stdio},
};

use serde_json::Value;

use super::{
    ONGOING,
    common::{Home, ProcessOutput, ProgramProcess, ScenarioBatch, SimulatorProcess, list_files},
};

/// Returns a home with a store of three transactions, and `copy.db`, a backup of the first two.
fn home_with_backup() -> Home {
    let home = Home::new();
    home.import(&ScenarioBatch::repeat(2, ONGOING).csv);
    assert_eq!(home.run(&["backup", "copy.db"]).code, Some(0));
    home.import(&ScenarioBatch::repeat(3, ONGOING).csv);
    home
}

fn files(home: &Home) -> BTreeSet<String> {
    list_files(home.path()).into_iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn restore_puts_a_backup_in_place_but_not_under_a_running_watch() {
    let home = home_with_backup();
    let simulation = SimulatorProcess::start(&ScenarioBatch::repeat(3, ONGOING).scenario);
    let mut watch =
        ProgramProcess::start(home.polling_command(&simulation.url, &["watch", "--json", "--timeout", "1m"]));
    watch.read_events_until("status_changed", 1);
    home.run(&["restore", "copy.db"]).assert_exit(1, &["another hoptop process has the store open; end it first"]);
    watch.signal("TERM");
    watch.end();
    assert_eq!(home.list().len(), 3);
    let restored = home.run(&["restore", "copy.db"]);
    assert_eq!((restored.code, restored.err.as_str()), (Some(0), ""), "{restored:?}");
    let lines: Vec<_> = restored.out.lines().collect();
    assert!(
        lines[0].contains("hoptop.db: 2 transactions from copy.db, ") && lines[0].ends_with(", verified"),
        "{lines:?}"
    );
    let kept = lines[1].strip_prefix("the previous store is kept as ").unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!(home.list().len(), 2);
    let former: Value = serde_json::from_str(&home.run(&["--db", kept, "list", "--json"]).out).unwrap();
    assert_eq!(former.as_array().map(Vec::len), Some(3));
    let team = home.run(&["--store", "postgres://me@127.0.0.1:1/none", "restore", "copy.db"]);
    team.assert_exit(1, &["the store is a team's, and its content is in PostgreSQL"]);
    home.run(&["restore", "missing.db"]).assert_exit(1, &["missing.db was not restored: there is no such file"]);
}

#[test]
fn killed_restore_leaves_the_former_store_or_the_restored_one() {
    let home = home_with_backup();
    let mut seen = BTreeSet::new();
    for moment in ["hoptop.db", ".restoring-", ".before-restore-", "is ended"].iter().cycle().take(24) {
        let before = files(&home);
        let mut restore = home.command(&["restore", "copy.db"]).spawn().unwrap();
        // Until a file of that name appears; for the first name that is at once, for the last one at the end.
        let is_there = |file: &&String| file.contains(moment) && (*moment == "hoptop.db" || !before.contains(*file));
        while !files(&home).iter().any(|file| is_there(&file)) && restore.try_wait().unwrap().is_none() {}
        restore.kill().unwrap();
        restore.wait().unwrap();
        let count = home.list().len();
        assert!(count == 2 || count == 3, "{count} after {moment}");
        seen.insert(count);
        if count == 2 {
            home.import(&ScenarioBatch::repeat(3, ONGOING).csv);
        }
    }
    assert_eq!(seen, BTreeSet::from([2, 3]));
    assert_eq!(home.run(&["restore", "copy.db"]).code, Some(0));
    assert_eq!(home.list().len(), 2);
}

#[test]
fn backup_is_read_without_leaving_files_beside_it() {
    let home = home_with_backup();
    fs::create_dir(home.path().join("stick")).unwrap();
    fs::rename(home.path().join("copy.db"), home.path().join("stick/copy.db")).unwrap();
    let (before, bytes) = (files(&home), fs::read(home.path().join("stick/copy.db")).unwrap());
    let read = |words: &[&str]| home.run(&[&["--db", "stick/copy.db"], words].concat());
    let hash = format!("0x{:064x}", 1);
    for words in [&["list"][..], &["show", &hash], &["export", "--format", "csv"], &["stats"], &["alerts"]] {
        let ended = read(words);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{words:?}");
    }
    assert_eq!(read(&["list", "--json"]).out.matches("\"quoteId\":").count(), 2);
    let doctor = read(&["doctor"]);
    assert!(doctor.out.contains("2 transactions, 0 alerts, intact"), "{doctor:?}");
    let left: Vec<_> = files(&home).difference(&before).cloned().collect();
    assert!(!left.iter().any(|file| file.contains("/stick/")), "{left:?}");
    assert_eq!(fs::read(home.path().join("stick/copy.db")).unwrap(), bytes);
    // A command that changes something makes a store of it, as before.
    assert_eq!(read(&["ticket", &hash, "SUP-9"]).code, Some(0));
    assert!(read(&["show", &hash]).out.contains("SUP-9"));
}

#[test]
fn store_that_a_restore_replaced_is_read_without_leaving_files_beside_it() {
    let home = home_with_backup();
    assert_eq!(home.run(&["restore", "copy.db"]).code, Some(0));
    let before = files(&home);
    let kept = before.iter().find(|file| file.contains(".before-restore-")).unwrap().clone();
    let list = home.run(&["--db", &kept, "list", "--json"]);
    assert_eq!((list.code, list.out.matches("\"quoteId\":").count()), (Some(0), 3), "{list:?}");
    assert_eq!(files(&home), before);
}

#[test]
fn daily_backup_is_not_changed() {
    let home = home_with_backup();
    let backups = home.path().join("backups");
    fs::create_dir_all(&backups).unwrap();
    let backup = backups.join("hoptop.db.20260101T000000Z.backup");
    fs::rename(home.path().join("copy.db"), &backup).unwrap();
    let hash = format!("0x{:064x}", 1);
    let refused = home.run(&["--db", backup.to_str().unwrap(), "ticket", &hash, "SUP-9"]);
    refused.assert_exit(1, &["is a backup, and hoptop doesn't change backups", "hoptop restore"]);
    // `watch` ends at once, because a backup never becomes writable.
    let backup = backup.to_str().unwrap();
    home.watch("http://127.0.0.1:1", &["--db", backup, "--timeout", "8s"]).assert_exit(1, &["is a backup"]);
    // The number of the schema stands at byte 60 of a SQLite file.
    let mut bytes = fs::read(backup).unwrap();
    for (schema, reason) in
        [(19_u32, ["older schema 19", "hoptop restore"]), (99, ["schema 99", "use the newer hoptop"])]
    {
        bytes[60..64].copy_from_slice(&schema.to_be_bytes());
        fs::write(backup, &bytes).unwrap();
        home.run(&["--db", backup, "list"]).assert_exit(1, &reason);
    }
    fs::write(backup, "").unwrap();
    home.run(&["--db", backup, "list"]).assert_exit(1, &["it is empty"]);
}

#[test]
fn backup_never_replaces_a_file_of_the_store_or_a_device() {
    let home = home_with_backup();
    for name in ["hoptop.db", "hoptop.db-wal", "hoptop.db-shm", "hoptop.db.presence"] {
        home.run(&["backup", name, "--force"]).assert_exit(1, &["it belongs to the store; choose another name"]);
    }
    home.run(&["backup", "/dev/null", "--force"]).assert_exit(1, &["it is a device"]);
    assert_eq!(home.list().len(), 3);
    // A file in the folder of the daily backups is allowed, and a link is kept.
    fs::create_dir_all(home.path().join("backups")).unwrap();
    assert_eq!(home.run(&["backup", "backups/own.db"]).code, Some(0));
    std::os::unix::fs::symlink("backups/own.db", home.path().join("link.db")).unwrap();
    assert_eq!(home.run(&["backup", "link.db", "--force"]).code, Some(0));
    assert!(home.path().join("link.db").is_symlink());
}

#[test]
fn commands_that_do_not_poll_ignore_invalid_settings_of_polling() {
    let home = home_with_backup();
    for words in [&["list"][..], &["export", "--format", "csv"], &["backup", "other.db"], &["alerts"]] {
        let ended = ProcessOutput::new(home.command(words).env("HOPTOP_RPS", "abc").output().unwrap());
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{words:?}");
    }
    for words in [&["watch"][..], &["stats"], &["config"]] {
        let ended = ProcessOutput::new(home.command(words).env("HOPTOP_RPS", "abc").output().unwrap());
        ended.assert_exit(2, &["HOPTOP_RPS"]);
    }
}

#[test]
fn gzip_is_imported_from_a_file_and_through_a_pipe() {
    let (home, batch) = (Home::new(), ScenarioBatch::repeat(50, ONGOING));
    home.write("batch.csv", &batch.csv);
    let packed = Command::new("gzip").arg("batch.csv").current_dir(home.path()).status();
    if !packed.is_ok_and(|status| status.success()) {
        println!("skipped: there is no gzip");
        return;
    }
    let ended = home.run(&["import", "batch.csv.gz"]);
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("50 tracked, 0 updated, 0 already tracked\n", ""));
    let packed = fs::read(home.path().join("batch.csv.gz")).unwrap();
    let pipe = |words: &[&str], bytes: &[u8]| {
        let mut child = home.command(words).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        ProcessOutput::new(child.wait_with_output().unwrap())
    };
    let whole = pipe(&["--db", "other.db", "import", "-"], &packed);
    assert_eq!((whole.out.as_str(), whole.err.as_str()), ("50 tracked, 0 updated, 0 already tracked\n", ""));
    let cut = pipe(&["--db", "third.db", "import", "-"], &packed[..packed.len() / 2]);
    cut.assert_exit(1, &["standard input can't be read: the gzip data is incomplete, or followed by other bytes"]);
    assert_eq!(home.run(&["--db", "third.db", "list", "--json"]).out, "[]\n");
    let followed = pipe(&["--db", "fourth.db", "import", "-", "--follow"], &packed);
    followed.assert_exit(2, &["gzip data can't be followed; unpack it first"]);
}

#[test]
fn log_removed_under_a_watch_costs_nothing_that_was_acknowledged() {
    let batch = ScenarioBatch::repeat(1, ONGOING);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let mut watch = ProgramProcess::start(home.polling_command(&simulation.url, &["watch", "--json"]));
    watch.read_events_until("status_changed", 1);
    // Otherwise the watch notices it within a second and ends, and then the import finds a sound store.
    watch.signal("STOP");
    for file in ["hoptop.db-wal", "hoptop.db-shm"] {
        fs::remove_file(home.path().join(file)).unwrap();
    }
    let more = home.write("more.csv", &ScenarioBatch::repeat(2, ONGOING).csv);
    let refused = home.run(&["import", &more]);
    refused.assert_exit(1, &["was removed while another process has the store open; quit all hoptop processes"]);
    watch.signal("CONT");
    watch.end().assert_exit(1, &["was removed or replaced while it was open", "restart hoptop"]);
    assert_eq!(home.run(&["import", &more]).code, Some(0));
    let list = home.list();
    assert_eq!((list.len(), list.iter().filter(|tx| tx["status"] == "ongoing").count()), (2, 1), "{list:?}");
}
