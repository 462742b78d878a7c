//! Tests of faults: a full disk, a lock held by another process, a removed file, a long read. A write that isn't stored
//! must never be reported as stored, and nobody must see `database is locked`.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
};

use super::*;

/// Limits the growth of the writer's file to this number of further pages; `None` removes the limit.
fn limit_pages(store: &Store, pages: Option<i64>) {
    let limited = testing::with_writer(store, move |db| {
        let used: i64 = db.pragma_query_value(None, "page_count", |row| row.get(0))?;
        let most = pages.map_or(1 << 30, |pages| used + pages);
        db.query_row(&format!("PRAGMA max_page_count = {most}"), [], |_| Ok(()))?;
        Ok(())
    });
    limited.wait().unwrap();
}

fn with_long_note(number: i64) -> NewTransaction {
    let mut new = fixtures::new(number);
    new.notes = vec!["n".repeat(512)];
    new
}

#[test]
fn full_disk_rejects_writes_until_there_is_space_again() {
    let (_folder, store) = open();
    import_one(&store);
    limit_pages(&store, Some(2));
    let refused =
        testing::submit_track(&store, "default", (2..=200).map(with_long_note).collect(), at(1)).wait().unwrap_err();
    assert!(refused.to_string().contains("the disk is full"), "{refused}");
    assert!(matches!(store.fault(), Some(StoreFault::CommitFailed(_))));
    assert_eq!(store.reader().unwrap().load().unwrap().0.len(), 1);
    limit_pages(&store, None);
    assert_eq!(store.fault(), None);
    assert_eq!(testing::track(&store, "default", (2..=200).map(with_long_note).collect(), at(2)).added.count, 199);
}

#[test]
fn store_that_was_opened_on_a_full_disk_is_written_as_soon_as_there_is_space() {
    let (_folder, store) = open();
    import_one(&store);
    let path = store.path().to_owned();
    drop(store);
    let (has_space, opened) = (Arc::new(AtomicBool::new(false)), open::open(&path, None).unwrap());
    let is_free = Arc::clone(&has_space);
    let reconnect = move || match is_free.load(Ordering::Relaxed) {
        true => Ok(open::open(&path, None)?.connection?),
        false => Err(StoreError::DiskFull { path: path.clone() }),
    };
    let full = Err(StoreFault::CommitFailed("the disk is full".into()));
    let store = Store::start(OpenStore { connection: full, reconnect: Some(Box::new(reconnect)), ..opened }).unwrap();
    for _ in 0..2 {
        let refused = testing::submit_track(&store, "default", vec![fixtures::new(2)], at(1)).wait().unwrap_err();
        assert!(refused.to_string().contains("the disk is full"), "{refused}");
        assert!(matches!(store.fault(), Some(StoreFault::CommitFailed(_))));
    }
    has_space.store(true, Ordering::Relaxed);
    assert_eq!(testing::track(&store, "default", vec![fixtures::new(2)], at(2)).added.count, 1);
    assert_eq!(store.fault(), None);
    assert_eq!(store.reader().unwrap().load().unwrap().0.len(), 2);
    // From now on the log is watched as after any other start.
    fs::remove_file(format!("{}-wal", store.path().display())).unwrap();
    let refused = testing::submit_track(&store, "default", vec![fixtures::new(3)], at(3)).wait().unwrap_err();
    assert!(refused.is_permanent() && matches!(store.fault(), Some(StoreFault::Gone(_))), "{refused}");
}

#[test]
fn store_that_was_moved_from_a_full_disk_is_not_created_again() {
    let (folder, store) = open();
    let path = store.path().to_owned();
    drop(store);
    let opened = open::open(&path, None).unwrap();
    let to_create = path.clone();
    let reconnect = move || Ok(open::open(&to_create, None)?.connection?);
    let full = Err(StoreFault::CommitFailed("the disk is full".into()));
    let store = Store::start(OpenStore { connection: full, reconnect: Some(Box::new(reconnect)), ..opened }).unwrap();
    fs::rename(&path, folder.path().join("elsewhere.db")).unwrap();
    let refused = testing::submit_track(&store, "default", vec![fixtures::new(2)], at(1)).wait().unwrap_err();
    assert!(refused.is_permanent() && !path.exists(), "{refused}");
}

#[test]
fn held_lock_is_reported_in_plain_words() {
    let (_folder, store) = open();
    import_one(&store);
    testing::with_writer(&store, |db| Ok(db.busy_timeout(Duration::ZERO)?)).wait().unwrap();
    let other = Connection::open(store.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused =
        testing::submit_track(&store, "default", vec![fixtures::new(2)], at(1)).wait().unwrap_err().to_string();
    assert!(
        refused.contains("another process has locked the store for") && !refused.contains("database is"),
        "{refused}"
    );
    // Reading and opening still work.
    assert_eq!(store.reader().unwrap().load().unwrap().0.len(), 1);
    drop(Store::open(store.path()).unwrap());
    other.execute_batch("ROLLBACK").unwrap();
    testing::track(&store, "default", vec![fixtures::new(2)], at(1));
    assert_eq!(store.fault(), None);
}

#[tokio::test]
async fn removed_file_is_detected_and_not_written_to() {
    let (folder, store) = open();
    import_one(&store);
    let mut commits = store.subscribe(WakeKind::AnyCommit).unwrap();
    let elsewhere = folder.path().join("elsewhere.db");
    fs::rename(store.path(), &elsewhere).unwrap();
    while store.fault().is_none() {
        commits.changed().await.unwrap();
    }
    assert!(matches!(store.fault(), Some(StoreFault::Gone(_))));
    let late = testing::submit_track(&store, "default", vec![fixtures::new(2)], at(1));
    let refused = tokio::task::spawn_blocking(|| late.wait()).await.unwrap().unwrap_err();
    assert!(refused.to_string().contains("was removed or replaced while it was open"), "{refused}");
    // A copy of the file at the same path doesn't count as the same file.
    fs::copy(&elsewhere, store.path()).unwrap();
    let late = testing::submit_track(&store, "default", vec![fixtures::new(2)], at(1));
    assert!(tokio::task::spawn_blocking(|| late.wait()).await.unwrap().is_err());
}

#[test]
fn removed_log_is_detected_before_a_write_is_acknowledged() {
    for ending in paths::COMPANIONS {
        let (_folder, store) = open();
        import_one(&store);
        fs::remove_file(paths::companion(store.path(), ending)).unwrap();
        let late = testing::submit_track(&store, "default", vec![fixtures::new(2)], at(1));
        let refused = late.wait().unwrap_err().to_string();
        assert!(refused.contains(&format!("hoptop.db{ending} was removed or replaced")), "{refused}");
        assert!(matches!(store.fault(), Some(StoreFault::Gone(_))));
        // What was acknowledged before is in the store once the process has closed it.
        let path = store.path().to_owned();
        drop(store);
        assert_eq!(Store::open(&path).unwrap().reader().unwrap().load().unwrap().0.len(), 1);
    }
}

#[test]
fn store_whose_log_was_removed_is_not_opened_a_second_time() {
    let (_folder, store) = open();
    import_one(&store);
    fs::remove_file(paths::companion(store.path(), "-wal")).unwrap();
    fs::remove_file(paths::companion(store.path(), "-shm")).unwrap();
    let refused = Store::open_permanent(store.path(), at(1)).err().unwrap();
    assert!(matches!(refused, StoreError::LogGone { .. }), "{refused}");
    assert!(!paths::companion(store.path(), "-wal").exists(), "a second log was created");
}

#[test]
fn log_shrinks_to_its_limit_after_a_long_read_ends() {
    let (_folder, store) = open();
    let write = |from: i64| testing::track(&store, "default", (from..from + 100).map(with_long_note).collect(), at(1));
    write(1);
    let reader = Connection::open(store.path()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM transactions").unwrap();
    let mut next = 101;
    while paths::wal_size(store.path()) <= 2 * connection::LOG_LIMIT {
        write(next);
        next += 100;
    }
    reader.execute_batch("COMMIT").unwrap();
    while paths::wal_size(store.path()) > connection::LOG_LIMIT && next < 20_000 {
        write(next);
        next += 100;
    }
    // The last write may be acknowledged before the log is truncated.
    store.flush().wait().unwrap();
    assert!(paths::wal_size(store.path()) <= connection::LOG_LIMIT, "{}", paths::wal_size(store.path()));
}

#[test]
fn newer_store_is_left_unchanged_with_or_without_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hoptop.db");
    drop(Store::open(&path).unwrap());
    let newer = Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    let contents = || {
        let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let relevant = files.filter(|path| !path.to_string_lossy().ends_with("-shm"));
        let mut contents: Vec<_> = relevant.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
        contents.sort();
        contents
    };
    let refused = || matches!(Store::open_permanent(&path, at(0)), Err(StoreError::Newer { found: 99, .. }));
    // The files of a newer hoptop that was killed: the log is still beside the store.
    let killed = tempfile::tempdir().unwrap();
    let log = paths::companion(&path, "-wal");
    fs::copy(&path, killed.path().join("db")).unwrap();
    fs::copy(&log, killed.path().join("wal")).unwrap();
    drop(newer);
    let before = contents();
    assert!(refused());
    assert_eq!(contents(), before);
    fs::copy(killed.path().join("db"), &path).unwrap();
    fs::copy(killed.path().join("wal"), &log).unwrap();
    let before = contents();
    assert_eq!(before.len(), 3);
    assert!(refused());
    assert_eq!(contents(), before);
}

#[test]
fn read_only_store_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, store) = open();
    import_one(&store);
    let path = store.path().to_owned();
    drop(store);
    let deep = folder.path().join("deep");
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for (file, folder) in [(0o400, 0o700), (0o400, 0o500)] {
        set(&path, file);
        set(&deep, folder);
        // Permissions don't restrict the superuser.
        if fs::File::options().write(true).open(&path).is_err() {
            let store = Store::open_permanent(&path, at(1)).unwrap();
            assert_eq!(store.reader().unwrap().load().unwrap().0.len(), 1);
            let refused = testing::submit_track(&store, "default", vec![fixtures::new(2)], at(1)).wait().unwrap_err();
            assert!(refused.to_string().contains("is read-only"), "{refused}");
        }
        set(&deep, 0o700);
    }
}
