//! Tests of `Store::restore`, and of backups that are read where they lie.

use std::{collections::BTreeSet, fs, path::PathBuf};

use super::*;

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn count(path: &Path) -> usize {
    Store::open(path).unwrap().reader().unwrap().load().unwrap().0.len()
}

/// Returns a folder with a closed store of two transactions, `hoptop.db`, and a backup of its first one, `copy.db`.
fn store_and_backup() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("hoptop.db"), folder.path().join("copy.db"));
    let store = Store::open(&path).unwrap();
    testing::track(&store, "default", vec![fixtures::new(1)], at(0));
    store.backup(&copy, ExistingFilePolicy::Keep, &|| true).unwrap();
    testing::track(&store, "default", vec![fixtures::new(2)], at(1));
    (folder, path, copy)
}

#[test]
fn backup_takes_the_place_of_the_store_which_is_kept() {
    let (folder, path, copy) = store_and_backup();
    let before = fs::read(&copy).unwrap();
    fs::write(folder.path().join("hoptop.db.restoring-killed"), "half").unwrap();
    let restored = Store::restore(&copy, &path, at(100)).unwrap();
    let kept = folder.path().join("hoptop.db.before-restore-19700101T000140Z");
    assert_eq!((restored.transactions, restored.kept.as_deref()), (1, Some(kept.as_path())));
    assert_eq!(fs::read(&copy).unwrap(), before, "the backup is unchanged");
    assert_eq!((count(&path), count(&kept)), (1, 2));
    let store = Store::open_permanent(&path, at(101)).unwrap();
    assert_eq!(store.notice(), None);
    testing::track(&store, "default", vec![fixtures::new(3)], at(101));
    drop(store);
    // A second restore at the same moment keeps both former stores.
    let again = Store::restore(&copy, &path, at(100)).unwrap().kept.unwrap();
    assert_ne!(again, kept);
    assert_eq!((count(&path), count(&again), count(&kept)), (1, 2, 2));
    assert!(!names(folder.path()).iter().any(|name| name.contains("restoring")), "{:?}", names(folder.path()));
}

#[test]
fn store_is_restored_where_none_was() {
    let (folder, _, copy) = store_and_backup();
    let path = folder.path().join("new/folder/hoptop.db");
    assert_eq!(Store::restore(&copy, &path, at(0)).unwrap().kept, None);
    assert_eq!(count(&path), 1);
}

#[test]
fn restore_is_refused_while_the_store_is_open() {
    let (folder, path, copy) = store_and_backup();
    let store = Store::open(&path).unwrap();
    let before = names(folder.path());
    let refused = Store::restore(&copy, &path, at(0)).unwrap_err().to_string();
    assert!(refused.contains("another hoptop process has the store open"), "{refused}");
    assert_eq!(names(folder.path()), before);
    testing::track(&store, "default", vec![fixtures::new(3)], at(2));
    drop(store);
    assert_eq!(count(&path), 3);
}

#[test]
fn only_a_sound_complete_backup_is_restored() {
    let (folder, path, copy) = store_and_backup();
    let write = |name: &str, bytes: &[u8]| {
        let file = folder.path().join(name);
        fs::write(&file, bytes).unwrap();
        file
    };
    let bytes = fs::read(&copy).unwrap();
    let mut torn = bytes.clone();
    let middle = torn.len() / 2;
    torn[middle..middle + 20_000].fill(0x5a);
    let foreign = folder.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE other (a)").unwrap();
    let used = write("used.db", &bytes);
    write("used.db-wal", b"a log");
    for (file, reason) in [
        (write("torn.db", &torn), "was not restored"),
        (write("cut.db", &bytes[..bytes.len() / 2]), "was not restored"),
        (write("text.db", b"transactionId,fromChainId"), "was not restored"),
        (write("empty.db", b""), "it is empty"),
        (foreign, "another program"),
        (used, "write-ahead log of a store"),
        (folder.path().join("missing.db"), "there is no such file"),
        (folder.path().to_owned(), "it is not a file"),
        (path.clone(), "it is the store itself"),
    ] {
        let before = names(folder.path());
        let refused = Store::restore(&file, &path, at(0)).unwrap_err().to_string();
        assert!(refused.contains(reason), "{}: {refused}", file.display());
        assert_eq!(names(folder.path()), before, "{refused}");
    }
    assert_eq!(count(&path), 2);
}

#[test]
fn damaged_store_is_kept_with_its_log_and_replaced() {
    let (folder, path, copy) = store_and_backup();
    fs::write(&path, "not a database").unwrap();
    fs::write(paths::companion(&path, "-wal"), "its log").unwrap();
    fs::write(paths::companion(&path, ".presence"), "suspect a torn page\n").unwrap();
    let kept = Store::restore(&copy, &path, at(0)).unwrap().kept.unwrap();
    assert_eq!(fs::read_to_string(&kept).unwrap(), "not a database");
    assert_eq!(fs::read_to_string(paths::companion(&kept, "-wal")).unwrap(), "its log");
    let store = Store::open_permanent(&path, at(1)).unwrap();
    assert_eq!((store.notice(), store.reader().unwrap().load().unwrap().0.len()), (None, 1));
    drop((store, folder));
}

#[test]
fn log_of_a_killed_process_is_kept_and_not_applied_to_the_restored_store() {
    let (folder, path, copy) = store_and_backup();
    // The files as a killed process leaves them.
    let store = Store::open(&path).unwrap();
    testing::track(&store, "default", vec![fixtures::new(3)], at(2));
    let killed = folder.path().join("killed.db");
    for ending in ["", "-wal", ".presence"] {
        fs::copy(paths::companion(&path, ending), paths::companion(&killed, ending)).unwrap();
    }
    drop(store);
    let kept = Store::restore(&copy, &killed, at(0)).unwrap().kept.unwrap();
    assert_eq!((count(&killed), count(&kept)), (1, 3));
}

#[test]
fn store_is_complete_wherever_a_restore_is_killed() {
    let (folder, path, copy) = store_and_backup();
    let kept = folder.path().join("hoptop.db.before-restore-x");
    fs::copy(&path, &kept).unwrap();
    let mending = format!("mending {}\n", kept.file_name().unwrap().to_str().unwrap());
    // Killed after the former store was copied, and before the restored one had its place.
    fs::write(paths::companion(&path, ".presence"), &mending).unwrap();
    assert_eq!(Store::open_permanent(&path, at(1)).unwrap().reader().unwrap().load().unwrap().0.len(), 2);
    // Killed after that, and before the marker was written.
    fs::copy(&copy, &path).unwrap();
    fs::write(paths::companion(&path, ".presence"), &mending).unwrap();
    assert_eq!(Store::open_permanent(&path, at(1)).unwrap().reader().unwrap().load().unwrap().0.len(), 1);
}

#[test]
fn backup_is_read_where_it_lies_and_nothing_is_left_beside_it() {
    let (folder, path, copy) = store_and_backup();
    let before = (names(folder.path()), fs::read(&copy).unwrap());
    for other in [&path, &folder.path().join("no.db")] {
        assert!(Store::open_unused_backup(other).unwrap().is_none());
    }
    let shown = Store::open_unused_backup(&copy).unwrap().unwrap();
    assert_eq!(shown.reader().unwrap().load().unwrap().0.len(), 1);
    assert_eq!((names(folder.path()), fs::read(&copy).unwrap()), before, "while it is read");
    let refused = testing::submit_track(&shown, "default", vec![fixtures::new(2)], at(1)).wait().unwrap_err();
    assert!(refused.to_string().contains("is a backup"), "{refused}");
    drop(shown);
    assert_eq!((names(folder.path()), fs::read(&copy).unwrap()), before);
    // A backup that was opened for writing is a store.
    testing::track(&Store::open(&copy).unwrap(), "default", vec![fixtures::new(2)], at(1));
    assert!(Store::open_unused_backup(&copy).unwrap().is_none());
}

#[test]
fn store_that_a_restore_replaced_is_read_like_a_backup() {
    let (folder, path, copy) = store_and_backup();
    let kept = Store::restore(&copy, &path, at(0)).unwrap().kept.unwrap();
    let before = names(folder.path());
    let shown = Store::open_unused_backup(&kept).unwrap().unwrap();
    assert_eq!(shown.reader().unwrap().load().unwrap().0.len(), 2);
    drop(shown);
    assert_eq!(names(folder.path()), before);
}
