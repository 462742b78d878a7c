//! Tests of backups: a backup is complete and intact, or there is no file.

use std::{cell::Cell, fs};

use super::*;
use crate::store::file::migrate;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn failed_backup_is_reported_for_an_hour_and_then_retried() {
    let (_folder, store) = open();
    let now = Clock::system().now().wall;
    assert_eq!(store.backup_due(now).unwrap(), BackupDue::No, "an empty store needs no backup");
    testing::track(&store, "default", vec![fixtures::new(1)], now);
    assert_eq!(store.backup_due(now).unwrap(), BackupDue::Now);
    // The backup is cancelled at the first question, although the answer is "go on" from then on.
    let asked = Cell::new(0);
    let failed = Store::backup_if_due(store.path(), now, &|| asked.replace(asked.get() + 1) > 0).unwrap_err();
    assert_eq!(store.backup_due(now).unwrap(), BackupDue::Failed(failed.to_string()));
    assert_eq!(store.backup_due(now + TimeDelta::hours(2)).unwrap(), BackupDue::Now);
    assert!(Store::backup_if_due(store.path(), now, &|| true).unwrap().is_some());
    assert_eq!(store.backup_due(now).unwrap(), BackupDue::No);
    assert!(!names(&store.path().with_file_name("backups")).iter().any(|name| name.ends_with(".failed")));
}

#[test]
fn backup_is_one_intact_file_and_replaces_a_file_only_on_request() {
    let (folder, store) = open();
    testing::track(&store, "default", vec![fixtures::new(1), fixtures::new(2)], at(0));
    let to = folder.path().join("copy.db");
    let report = store.backup(&to, ExistingFilePolicy::Keep, &|| true).unwrap();
    assert_eq!((report.transactions, report.bytes), (2, to.metadata().unwrap().len()));
    let again = store.backup(&to, ExistingFilePolicy::Keep, &|| true).unwrap_err();
    assert!(again.to_string().contains("already exists"), "{again}");
    let nowhere = store.backup(&folder.path().join("none/copy.db"), ExistingFilePolicy::Keep, &|| true).unwrap_err();
    assert!(nowhere.to_string().contains("there is no such folder; create it"), "{nowhere}");
    testing::track(&store, "default", vec![fixtures::new(3)], at(1));
    assert_eq!(store.backup(&to, ExistingFilePolicy::Replace, &|| true).unwrap().transactions, 3);
    assert_eq!(names(folder.path()), ["copy.db", "deep"]);
    let copy = Connection::open(&to).unwrap();
    let mode: String = copy.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete");
    drop(copy);
    // The copy is a complete store.
    assert_eq!(Store::open(&to).unwrap().reader().unwrap().load().unwrap().0.len(), 3);
    let before = names(folder.path());
    let cancelled = store.backup(&folder.path().join("other.db"), ExistingFilePolicy::Keep, &|| false).unwrap_err();
    assert!(cancelled.to_string().contains("it was cancelled"), "{cancelled}");
    assert_eq!(names(folder.path()), before, "a cancelled backup leaves no file");
    let without_folder =
        store.backup(&folder.path().join("missing/copy.db"), ExistingFilePolicy::Keep, &|| true).unwrap_err();
    assert!(without_folder.to_string().contains("was not made"), "{without_folder}");
}

#[test]
fn backup_is_consistent_despite_concurrent_writes() {
    let (folder, store) = open();
    testing::track(&store, "default", (1..=2_000).map(fixtures::new).collect(), at(0));
    let source = connection::open_for_reading(store.path()).unwrap();
    let to = folder.path().join("copy.db");
    let number = Cell::new(10_000);
    let writes = || {
        number.set(number.get() + 1);
        testing::submit_track(&store, "default", vec![fixtures::new(number.get())], at(1)).wait().is_ok()
    };
    let report = backup::copy(&source, &to, ExistingFilePolicy::Keep, &writes).unwrap();
    assert_eq!(report.transactions, 2_000);
    let cancelled = backup::copy(&source, &folder.path().join("other.db"), ExistingFilePolicy::Keep, &|| false);
    assert!(cancelled.is_err() || number.get() == 10_000);
}

#[test]
fn one_backup_a_day_is_made_and_the_last_seven_are_kept() {
    let (folder, store) = open();
    let day = |day: i64| at(day * 86_400);
    assert_eq!(Store::backup_if_due(store.path(), day(0), &|| true).unwrap(), None);
    import_one(&store);
    for number in 0..10 {
        assert!(Store::backup_if_due(store.path(), day(number), &|| true).unwrap().is_some());
        assert_eq!(Store::backup_if_due(store.path(), day(number) + TimeDelta::hours(23), &|| true).unwrap(), None);
    }
    let kept: Vec<_> = backups(store.path(), day(9)).into_iter().map(|kept| kept.at).collect();
    assert_eq!(kept, [9, 8, 7, 6, 5, 4, 3].map(day));
    let backup_folder = folder.path().join("deep/backups");
    assert!(
        names(&backup_folder).contains(&"hoptop.db.19700110T000000Z.backup".to_owned()),
        "{:?}",
        names(&backup_folder)
    );
    // A leftover of a killed process, and files of other stores.
    fs::write(backup_folder.join(".hoptop.db.19700110T000000Z.backup.unfinished-killed"), "half").unwrap();
    fs::write(backup_folder.join(".hoptop.db.b.19700110T000000Z.backup.unfinished-theirs"), "being made").unwrap();
    fs::write(backup_folder.join("other.db.19700101T000000Z.backup"), "theirs").unwrap();
    // A backup dated a year ahead doesn't delay the next backup.
    assert!(Store::backup_if_due(store.path(), day(365), &|| true).unwrap().is_some());
    assert!(Store::backup_if_due(store.path(), day(11), &|| true).unwrap().is_some());
    let names = names(&backup_folder);
    assert!(!names.iter().any(|name| name.contains("killed")), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("other.db")), "{names:?}");
    assert!(names.iter().any(|name| name.ends_with("-theirs")), "{names:?}");
}

#[test]
fn backups_dated_in_the_future_are_listed_last_and_deleted_first() {
    let (folder, store) = open();
    import_one(&store);
    let day = |day: i64| at(day * 86_400);
    let backup_folder = folder.path().join("deep/backups");
    fs::create_dir(&backup_folder).unwrap();
    for ahead in 1..=7 {
        fs::write(backup_folder.join(format!("hoptop.db.2099010{ahead}T000000Z.backup")), "from the future").unwrap();
    }
    assert!(Store::backup_if_due(store.path(), day(0), &|| true).unwrap().is_some());
    assert_eq!(Store::backup_if_due(store.path(), day(0) + TimeDelta::hours(1), &|| true).unwrap(), None);
    assert_eq!(backups(store.path(), day(0)).len(), 7);
    assert_eq!(backups(store.path(), day(0))[0].at, day(0));
}

#[test]
fn opening_a_backup_leaves_it_unchanged() {
    let (folder, store) = open();
    import_one(&store);
    Store::backup_if_due(store.path(), at(0), &|| true).unwrap();
    let backup_folder = folder.path().join("deep/backups");
    let path = backups(store.path(), at(0)).remove(0).path;
    let before = (names(&backup_folder), fs::read(&path).unwrap());
    let shown = Store::open_permanent(&path, at(1)).unwrap();
    assert_eq!(shown.reader().unwrap().load().unwrap().0.len(), 1);
    assert!(testing::submit_track(&shown, "default", vec![fixtures::new(2)], at(1)).wait().is_err());
    drop(shown);
    assert_eq!((names(&backup_folder), fs::read(&path).unwrap()), before);
}

#[test]
fn backup_is_refused_where_another_store_has_a_log() {
    let (folder, store) = open();
    import_one(&store);
    let other = Store::open(&folder.path().join("other.db")).unwrap();
    import_one(&other);
    let refused = store.backup(other.path(), ExistingFilePolicy::Replace, &|| true).unwrap_err().to_string();
    assert!(refused.contains("other.db-wal is the write-ahead log of a store with that name"), "{refused}");
    drop(other);
    store.backup(&folder.path().join("other.db"), ExistingFilePolicy::Replace, &|| true).unwrap();
}

#[test]
fn only_one_process_makes_the_backup() {
    let (folder, store) = open();
    import_one(&store);
    let backup_folder = folder.path().join("deep/backups");
    fs::create_dir(&backup_folder).unwrap();
    let other = fs::File::create(backup_folder.join("hoptop.db.lock")).unwrap();
    other.lock().unwrap();
    assert_eq!(Store::backup_if_due(store.path(), at(0), &|| true).unwrap(), None);
    drop(other);
    assert!(Store::backup_if_due(store.path(), at(0), &|| true).unwrap().is_some());
}

/// Creates a store of the first schema with one transaction.
fn create_old_store(path: &Path) {
    let mut db = Connection::open(path).unwrap();
    connection::claim(&db, path).unwrap();
    migrate::migrate(&mut db, 1).unwrap();
    db.execute_batch(
        "INSERT INTO transactions (profile, transaction_key, transaction_id, from_chain, to_chain, quote_id, first_seen_at)
         VALUES ('default', '0xab', '0xab', '10', '8453', 'q', 0)",
    )
    .unwrap();
}

#[test]
fn backup_precedes_each_schema_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hoptop.db");
    create_old_store(&path);
    let store = Store::open_permanent(&path, at(0)).unwrap();
    assert_eq!(store.reader().unwrap().load().unwrap().0.len(), 1);
    let kept = backups(store.path(), at(0));
    assert_eq!((kept.len(), kept[0].before), (1, Some(1)));
    assert_eq!(migrate::version(&Connection::open(&kept[0].path).unwrap()).unwrap(), 1);
}

#[test]
fn schema_is_not_migrated_if_its_backup_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hoptop.db");
    create_old_store(&path);
    fs::write(folder.path().join("backups"), "a file where the folder should be").unwrap();
    let refused = Store::open_permanent(&path, at(0)).err().unwrap();
    assert!(
        refused.to_string().contains("was not upgraded from schema 1: the backup before the upgrade failed"),
        "{refused}"
    );
    assert_eq!(migrate::version(&Connection::open(&path).unwrap()).unwrap(), 1);
}

#[test]
fn unfinished_backup_of_a_killed_process_is_removed_at_the_next_start() {
    let (_folder, store) = open();
    let path = store.path().to_owned();
    drop(store);
    let backup_folder = path.with_file_name("backups");
    fs::create_dir(&backup_folder).unwrap();
    let unfinished = backup_folder.join(".hoptop.db.19700110T000000Z.backup.unfinished-killed");
    fs::write(&unfinished, "half").unwrap();
    // Another process makes a backup.
    let lock = fs::File::create(backup_folder.join("hoptop.db.lock")).unwrap();
    lock.lock().unwrap();
    drop(Store::open_permanent(&path, at(1)).unwrap());
    assert!(unfinished.exists());
    drop(lock);
    drop(Store::open_permanent(&path, at(2)).unwrap());
    assert!(!unfinished.exists());
}
