//! Tests of damaged stores, one for each known kind of damage, and of the recovery at the next start.

use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
    path::PathBuf,
};

use super::*;
use crate::domain::{
    on_chain::{ChainReading, ChainVerdict, OnChainState},
    transaction::Transaction,
};

const PAGE: u64 = 4_096;

/// Creates a store with `count` transactions, each with a label and an answer, and closes it.
fn create_filled_store(count: i64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hoptop.db");
    fill(&Store::open_permanent(&path, at(0)).unwrap(), 1..=count);
    (folder, path)
}

fn fill(store: &Store, numbers: std::ops::RangeInclusive<i64>) {
    let new = |number| {
        let mut new = fixtures::new(number);
        new.labels = vec!["vip".into()];
        new
    };
    let report = testing::track(store, "default", numbers.map(new).collect(), at(0));
    for row in report.added.listed {
        observe(store, row, fixtures::says(RouterStatus::Ongoing), 5);
    }
}

fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Returns the numbers of the leaf pages of a table.
fn leaf_pages(path: &Path, table: &str) -> Vec<u64> {
    let db = Connection::open(path).unwrap();
    let mut statement =
        db.prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path").unwrap();
    statement.query_map([table], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn count(store: &Store) -> usize {
    store.reader().unwrap().load().unwrap().0.len()
}

fn open_recovered(path: &Path) -> (Store, Recovery) {
    let store = Store::open_permanent(path, at(86_400)).unwrap();
    let recovered = store.recovery.as_deref().expect("the store should have been recovered").clone();
    assert!(recovered.damaged_file.exists(), "{recovered}");
    let db = Connection::open(path).unwrap();
    assert_eq!(integrity::find_fault(&db, CheckDepth::Full).unwrap(), None);
    // The recovered store accepts writes.
    testing::track(&store, "other", vec![fixtures::new(1)], at(86_400));
    (store, recovered)
}

#[test]
fn store_with_a_damaged_header_is_restored_from_its_backup() {
    let (folder, path) = create_filled_store(20);
    let store = Store::open_permanent(&path, at(60)).unwrap();
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    fill(&store, 21..=25);
    drop(store);
    overwrite(&path, 0, &[0xa5; 512]);
    let damaged = fs::read(&path).unwrap();
    let (store, recovered) = open_recovered(&path);
    assert_eq!((recovered.backup, recovered.transactions, recovered.rows), (Some(at(60)), 20, 0));
    assert_eq!(count(&store), 21);
    assert_eq!(fs::read(&recovered.damaged_file).unwrap(), damaged);
    assert_eq!(recovered.damaged_file, folder.path().join("hoptop.db.damaged-19700102T000000Z"));
    let sentence = recovered.to_string();
    assert!(
        sentence.contains("20 transactions from the backup of 1970-01-01 00:01 UTC; later changes are lost"),
        "{sentence}"
    );
    drop(store);
    assert!(Store::open_permanent(&path, at(90_000)).unwrap().recovery.is_none());
}

#[test]
fn recovered_store_uses_no_row_number_again() {
    let (_folder, path) = create_filled_store(20);
    let store = Store::open_permanent(&path, at(60)).unwrap();
    assert_eq!(testing::delete(&store, (11..=20).map(RowId).collect(), at(60)), 10);
    drop(store);
    overwrite(&path, (leaf_pages(&path, "labels")[0] - 1) * PAGE, &[0; PAGE as usize]);
    let store = Store::open_permanent(&path, at(120)).unwrap();
    store.report_fault(&StoreFault::Damaged("a torn page".into()).into());
    drop(store);
    let (store, recovered) = open_recovered(&path);
    assert_eq!(recovered.transactions, 10);
    // The transaction that was added since.
    let last = store.reader().unwrap().load().unwrap().0.pop().unwrap();
    assert_eq!(last.id, RowId(21));
}

#[test]
fn rows_newer_than_the_backup_are_read_from_the_damaged_file() {
    let (_folder, path) = create_filled_store(20);
    let store = Store::open_permanent(&path, at(60)).unwrap();
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    fill(&store, 21..=600);
    drop(store);
    let leaf_pages = leaf_pages(&path, "transactions");
    let torn = leaf_pages[leaf_pages.len() / 2];
    overwrite(&path, (torn - 1) * PAGE, &[0; PAGE as usize]);
    // Opening doesn't find the damage. The reader that meets it reports it, and from then on nothing is written.
    let store = Store::open_permanent(&path, at(120)).unwrap();
    let error = store.reader().unwrap().load().unwrap_err();
    assert!(error.is_damage(), "{error}");
    store.report_fault(&error);
    let refused = testing::submit_track(&store, "default", vec![fixtures::new(9_999)], at(120)).wait().unwrap_err();
    assert!(refused.to_string().contains("it is read-only until it is recovered"), "{refused}");
    drop(store);
    let (store, recovered) = open_recovered(&path);
    assert!(recovered.backup.is_some() && recovered.has_holes, "{recovered:?}");
    let found = count(&store) - 1;
    assert!((560..600).contains(&found), "{found} of 600 are back");
    let (transactions, ..) = store.reader().unwrap().load().unwrap();
    let labelled =
        |number: i64| transactions.iter().any(|tx| tx.params == fixtures::params(number) && tx.labels == ["vip"]);
    assert!([1, 20, 21, 599, 600].into_iter().all(labelled));
    assert!(recovered.to_string().contains("and rows that could still be read"), "{recovered}");
}

#[test]
fn readable_rows_are_recovered_without_a_backup() {
    let (_folder, path) = create_filled_store(300);
    for (table, index) in [("transactions", 1), ("observations", 0), ("labels", 0)] {
        overwrite(&path, (leaf_pages(&path, table)[index] - 1) * PAGE, &[0xff; 64]);
    }
    let store = Store::open_permanent(&path, at(5)).unwrap();
    store.report_fault(&store.reader().unwrap().load().unwrap_err());
    drop(store);
    let (store, recovered) = open_recovered(&path);
    let found = count(&store) - 1;
    assert!(recovered.backup.is_none() && (200..300).contains(&found), "{found}: {recovered}");
    assert_eq!(found as u64, recovered.transactions);
}

#[test]
fn damaged_header_loses_no_rows() {
    let (_folder, path) = create_filled_store(500);
    overwrite(&path, 0, &[0xa5; 100]);
    let (store, recovered) = open_recovered(&path);
    assert_eq!((recovered.transactions, recovered.has_holes), (500, false), "{recovered}");
    assert_eq!(count(&store), 501);
    // The temporary copy for reading is deleted.
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name.to_string_lossy().starts_with("hoptop.db") || name == "backups"), "{left:?}");
}

#[test]
fn truncated_file_is_recovered_in_part() {
    let (_folder, path) = create_filled_store(2_000);
    let whole = fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(whole * 3 / 4 / PAGE * PAGE).unwrap();
    let (_, recovered) = open_recovered(&path);
    assert!(recovered.has_holes && recovered.transactions > 100, "{recovered}");
}

#[test]
fn damaged_schema_page_does_not_lose_other_tables() {
    let (_folder, path) = create_filled_store(500);
    let last = *leaf_pages(&path, "sqlite_schema").last().unwrap();
    overwrite(&path, (last - 1) * PAGE, &[0xa5; 4_096]);
    let (_, recovered) = open_recovered(&path);
    assert!(recovered.has_holes && recovered.transactions == 500, "{recovered}");
}

#[test]
fn store_of_a_killed_process_is_checked() {
    let (_folder, path) = create_filled_store(300);
    let store = Store::open_permanent(&path, at(5)).unwrap();
    let marker = paths::companion(&path, ".presence");
    let marker_text = fs::read(&marker).unwrap();
    drop(store);
    fs::write(&marker, marker_text).unwrap();
    let torn = leaf_pages(&path, "notes").into_iter().chain(leaf_pages(&path, "changes")).last().unwrap();
    overwrite(&path, (torn - 1) * PAGE, &[0xff; 64]);
    let (store, recovered) = open_recovered(&path);
    assert_eq!((count(&store), recovered.transactions), (301, 300));
}

#[test]
fn empty_file_or_log_without_its_file_is_recovered() {
    let (_folder, path) = create_filled_store(3);
    let store = Store::open_permanent(&path, at(60)).unwrap();
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    drop(store);
    fs::write(&path, "").unwrap();
    let (store, recovered) = open_recovered(&path);
    assert_eq!((recovered.transactions, recovered.reason.as_str()), (3, "its file is empty"));
    drop(store);
    let log = paths::companion(&path, "-wal");
    fs::rename(&path, path.with_extension("elsewhere")).unwrap();
    fs::write(&log, "committed, but not yet in the file").unwrap();
    let store = Store::open_permanent(&path, at(90_000)).unwrap();
    let damaged_file = paths::companion(&store.recovery.as_deref().unwrap().damaged_file, "-wal");
    assert_eq!((count(&store), fs::read_to_string(damaged_file).unwrap().len()), (3, 34));
}

#[test]
fn store_of_a_killed_process_without_its_log_is_checked() {
    let (_folder, path) = create_filled_store(300);
    let store = Store::open_permanent(&path, at(5)).unwrap();
    let marker = paths::companion(&path, ".presence");
    let marker_text = fs::read(&marker).unwrap();
    drop(store);
    fs::write(marker, marker_text).unwrap();
    // A checkpoint was interrupted before the log was lost.
    let page = leaf_pages(&path, "observations")[1];
    overwrite(&path, (page - 1) * PAGE, &[0; PAGE as usize]);
    assert_eq!(open_recovered(&path).1.transactions, 300);
}

#[test]
fn store_opened_by_another_handle_is_not_moved() {
    let (folder, path) = create_filled_store(3);
    let other = Store::open_permanent(&path, at(5)).unwrap();
    other.report_fault(&StoreFault::Damaged("a torn page".into()).into());
    overwrite(&path, 0, &[0xa5; 512]);
    let refused = Store::open_permanent(&path, at(6)).err().unwrap();
    assert!(refused.to_string().contains("quit all hoptop processes that use it"), "{refused}");
    assert!(
        fs::read_dir(folder.path()).unwrap().all(|entry| !entry.unwrap().path().to_string_lossy().contains("damaged"))
    );
    drop(other);
    open_recovered(&path);
}

#[test]
fn killed_recovery_is_continued_by_the_next_start() {
    let (folder, path) = create_filled_store(30);
    // Killed between the renames, and while building the new file.
    let damaged_file = folder.path().join("hoptop.db.damaged-1");
    overwrite(&path, 0, &[0xa5; 16]);
    fs::write(paths::companion(&path, "-wal"), "a log").unwrap();
    fs::rename(&path, &damaged_file).unwrap();
    fs::write(paths::companion(&path, ".mending"), "half of it").unwrap();
    fs::write(paths::companion(&path, ".presence"), "mending hoptop.db.damaged-1").unwrap();
    let (store, recovered) = open_recovered(&path);
    assert_eq!(recovered.damaged_file, damaged_file);
    assert_eq!(fs::read_to_string(paths::companion(&damaged_file, "-wal")).unwrap(), "a log");
    drop(store);
    // Killed after the rebuilt file had its final name: the rebuilt file isn't moved as the damaged one.
    let before = fs::read(&damaged_file).unwrap();
    fs::write(paths::companion(&path, ".presence"), "mending hoptop.db.damaged-1").unwrap();
    open_recovered(&path);
    assert_eq!(fs::read(&damaged_file).unwrap(), before);
}

#[test]
fn file_that_is_no_store_is_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let letter = folder.path().join("letter.txt");
    let text = "not a database at all, but long enough to have a header of a hundred bytes or more; ".repeat(8);
    fs::write(&letter, &text).unwrap();
    let refused = Store::open_permanent(&letter, at(0)).err().unwrap();
    assert!(matches!(refused, StoreError::Open { .. }), "{refused}");
    assert_eq!(fs::read_to_string(&letter).unwrap(), text);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Damages a page of a table, and marks the store as suspect.
fn damage_table(path: &Path, table: &str) {
    let leaf_pages = leaf_pages(path, table);
    overwrite(path, (leaf_pages[leaf_pages.len() / 2] - 1) * PAGE, &[0; PAGE as usize]);
    fs::write(paths::companion(path, ".presence"), "suspect a torn page").unwrap();
}

#[test]
fn answers_with_lost_bodies_are_listed_and_new_ones_are_stored() {
    let (_folder, path) = create_filled_store(1);
    let store = Store::open_permanent(&path, at(5)).unwrap();
    let body = |clock: i64| {
        let text = format!(r#"{{"clock":{clock},"words":"{}"}}"#, "of a route ".repeat(60));
        Observation { body: Some(text), ..fixtures::says(RouterStatus::Ongoing) }
    };
    let report = testing::track(&store, "default", (2..=40).map(fixtures::new).collect(), at(5));
    let rows: Vec<RowId> = report.added.listed;
    // The first answers, which are the bases of the later ones, share pages; so do the later ones.
    for second in 0..12 {
        for row in &rows {
            let status = if second % 2 == 0 { RouterStatus::Ongoing } else { RouterStatus::NeedsGas };
            observe(&store, *row, Observation { body: body(second).body, ..fixtures::says(status) }, 10 + second);
        }
    }
    drop(store);
    let first = leaf_pages(&path, "observations")[0];
    overwrite(&path, (first - 1) * PAGE, &[0; PAGE as usize]);
    fs::write(paths::companion(&path, ".presence"), "suspect a torn page").unwrap();
    let (store, recovered) = open_recovered(&path);
    assert!(recovered.has_holes && recovered.transactions == 40, "{recovered:?}");
    for row in &rows {
        let shown = store.reader().unwrap().history(*row).unwrap();
        assert!(shown.iter().any(|line| line_name(line) == "answer"));
        observe(&store, *row, body(99), 100);
        observe(&store, *row, body(99), 101);
        assert_eq!(store.reader().unwrap().last_body(*row).unwrap().and_then(StoredBody::into_text), body(99).body);
    }
}

#[test]
fn body_that_cannot_be_unpacked_counts_as_absent() {
    let (_folder, store) = open();
    let row = import_one(&store);
    let long = |clock: u32| {
        let body = body(RouterStatus::Ongoing, clock).body.map(|text| text.replace("Ether", &"Ether ".repeat(60)));
        Observation { body, ..fixtures::says(RouterStatus::Ongoing) }
    };
    observe(&store, row, long(1), 1);
    let db = Connection::open(store.path()).unwrap();
    assert_eq!(
        db.execute("UPDATE observations SET body = x'00', body_base = 77, body_dictionary = NULL", []).unwrap(),
        1
    );
    observe(&store, row, long(2), 2);
    assert!(store.reader().unwrap().history(row).unwrap().iter().any(|line| line_name(line) == "answer"));
    assert_eq!(store.reader().unwrap().last_body(row).unwrap().and_then(StoredBody::into_text), long(2).body);
}

#[test]
fn transaction_deleted_after_the_backup_stays_deleted() {
    let (_folder, path) = create_filled_store(300);
    let store = Store::open_permanent(&path, at(5)).unwrap();
    for number in 1..=300 {
        let edit = Edit::AddNote { transactions: vec![RowId(number)], text: "asked ".repeat(40) };
        testing::edit(&store, "default", edit, at(6));
    }
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    testing::delete(&store, vec![RowId(7)], at(70));
    drop(store);
    damage_table(&path, "notes");
    let (store, recovered) = open_recovered(&path);
    assert_eq!((recovered.backup, recovered.transactions), (Some(at(60)), 299));
    assert_eq!(store.reader().unwrap().transaction(RowId(7)).unwrap(), None);
}

#[test]
fn writes_after_a_recovery_survive_a_stale_recovery_mark() {
    let (_folder, path) = create_filled_store(20);
    let store = Store::open_permanent(&path, at(60)).unwrap();
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    drop(store);
    overwrite(&path, 0, &[0xa5; 512]);
    let (store, recovered) = open_recovered(&path);
    fill(&store, 21..=25);
    drop(store);
    // The power failed before the end of the recovery was on the disk.
    let name = recovered.damaged_file.file_name().unwrap().to_str().unwrap();
    fs::write(paths::companion(&path, ".presence"), format!("mending {name}\n")).unwrap();
    let store = Store::open_permanent(&path, at(90_000)).unwrap();
    assert_eq!(count(&store), 26);
    assert!(store.recovery.as_deref().unwrap().to_string().contains("the new store has 26 transactions"));
    drop(store);
    // The same, but the rebuilt file is damaged too: both files are kept.
    fs::write(paths::companion(&path, ".presence"), format!("mending {name}\n")).unwrap();
    overwrite(&path, 0, &[0x5a; 512]);
    let (_store, again) = open_recovered(&path);
    assert!(again.damaged_file != recovered.damaged_file && recovered.damaged_file.exists());
}

#[test]
fn database_of_another_program_is_left_unchanged() {
    let (folder, path) = create_filled_store(3);
    fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)").unwrap();
    drop(other);
    let theirs = fs::read(&path).unwrap();
    for marker_text in ["clean\n", "open\n", "suspect a torn page\n"] {
        fs::write(paths::companion(&path, ".presence"), marker_text).unwrap();
        let refused = Store::open_permanent(&path, at(60)).err().unwrap();
        assert!(matches!(refused, StoreError::Foreign { .. }), "{refused}");
        assert_eq!(fs::read(&path).unwrap(), theirs);
    }
    assert!(
        fs::read_dir(folder.path()).unwrap().all(|file| !file.unwrap().path().to_string_lossy().contains("damaged"))
    );
}

#[test]
fn symbolic_link_leads_to_the_store_and_its_companion_files() {
    let (folder, path) = create_filled_store(3);
    let links = tempfile::tempdir().unwrap();
    let (link, second) = (links.path().join("link.db"), links.path().join("second.db"));
    std::os::unix::fs::symlink(&path, &link).unwrap();
    std::os::unix::fs::symlink("link.db", &second).unwrap();
    let store = Store::open_permanent(&second, at(60)).unwrap();
    assert_eq!(store.path(), path.canonicalize().unwrap());
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    // Both paths are the same store, so that each handle sees the other one's lock.
    let other = Store::open_permanent(&path, at(61)).unwrap();
    other.report_fault(&StoreFault::Damaged("a torn page".into()).into());
    drop((store, other));
    overwrite(&path, 0, &[0xa5; 512]);
    let (store, recovered) = open_recovered(&link);
    assert_eq!(
        (recovered.backup, recovered.damaged_file.parent()),
        (Some(at(60)), Some(&*folder.path().canonicalize().unwrap()))
    );
    drop(store);
    assert!(link.is_symlink() && fs::read_dir(links.path()).unwrap().count() == 2);
    // The link also works while its target doesn't exist.
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(folder.path().join("new/hoptop.db"), &link).unwrap();
    assert!(Store::open_permanent(&second, at(90_000)).unwrap().path().ends_with("new/hoptop.db"));
}

/// Copies the store's file without its log, as if a process was killed and its log deleted. Returns the bytes of the
/// copy.
fn copy_without_log(store: &Store, to: &Path) -> Vec<u8> {
    fs::copy(store.path(), to).unwrap();
    fs::write(paths::companion(to, ".presence"), "open\n").unwrap();
    fs::read(to).unwrap()
}

#[test]
fn missing_log_is_reported_and_the_original_file_is_kept() {
    let (folder, path) = create_filled_store(20);
    let store = Store::open_permanent(&path, at(5)).unwrap();
    testing::track(&store, "default", (21..=22).map(fixtures::new).collect(), at(5));
    let found = folder.path().join("found.db");
    let bytes = copy_without_log(&store, &found);
    let opened = Store::open_permanent(&found, at(60)).unwrap();
    let notice = opened.notice().unwrap();
    assert!(notice.contains("its write-ahead log is missing: the last changes may be lost"), "{notice}");
    assert_eq!(count(&opened), 20);
    assert_eq!(fs::read(folder.path().join("found.db.without-log-19700101T000100Z")).unwrap(), bytes);
    drop(opened);
    assert_eq!(Store::open_permanent(&found, at(120)).unwrap().notice(), None);
    // A store restored from a backup never had a log.
    store.backup(&found, ExistingFilePolicy::Replace, &|| true).unwrap();
    fs::write(paths::companion(&found, ".presence"), "open\n").unwrap();
    assert_eq!(Store::open_permanent(&found, at(180)).unwrap().notice(), None);
}

#[test]
fn young_store_without_its_log_is_not_treated_as_new() {
    let (folder, store) = open();
    let found = folder.path().join("found.db");
    copy_without_log(&store, &found);
    let (store, recovered) = open_recovered(&found);
    assert!(
        recovered.reason.contains("its write-ahead log is missing; all changes in the log are lost"),
        "{recovered}"
    );
    assert!(store.notice().unwrap().contains("the new store is empty, because no rows could be read"));
}

#[test]
fn store_known_to_be_damaged_accepts_no_writes() {
    let (_folder, path) = create_filled_store(3);
    let first = Store::open_permanent(&path, at(5)).unwrap();
    first.report_fault(&StoreFault::Damaged("a torn page".into()).into());
    let second = Store::open_permanent(&path, at(6)).unwrap();
    assert_eq!(second.fault(), Some(StoreFault::Damaged("a torn page".into())));
    assert_eq!(count(&second), 3);
    let refused = testing::submit_track(&second, "default", vec![fixtures::new(9)], at(7)).wait().unwrap_err();
    assert!(refused.to_string().contains("it is read-only until it is recovered"), "{refused}");
}

/// Removes all files of a store that this finds, and returns the notice of the next start.
fn notice_after_removing(files: &[&str], with_backup: bool) -> Option<String> {
    let (_folder, path) = create_filled_store(3);
    if with_backup {
        Store::backup_if_due(&path, at(60), &|| true).unwrap().unwrap();
    }
    fs::write(paths::companion(&path, "-wal"), "").unwrap();
    for ending in files {
        fs::remove_file(paths::companion(&path, ending)).unwrap();
    }
    let store = Store::open_permanent(&path, at(120)).unwrap();
    assert!(backups(store.path(), at(120)).is_empty(), "its backups belong to the store that is gone");
    store.notice()
}

#[test]
fn removed_store_is_reported_whatever_is_left_of_it() {
    let is_missing = |files: &[&str], with_backup| {
        let notice = notice_after_removing(files, with_backup).unwrap_or_default();
        assert_eq!(notice.contains(" restore "), with_backup, "{notice}");
        notice.contains("is missing, so an empty one was created")
    };
    assert!(is_missing(&[""], false), "an empty log and the marker");
    assert!(is_missing(&[""], true));
    assert!(is_missing(&["", ".presence"], false), "an empty log");
    assert!(is_missing(&["", "-wal"], false), "the marker");
    assert!(is_missing(&["", "-wal", ".presence"], true), "a backup");
    assert_eq!(notice_after_removing(&["", "-wal", ".presence"], false), None, "nothing");
}

#[test]
fn removed_store_is_reported_and_its_backups_are_kept() {
    let (folder, path) = create_filled_store(3);
    let store = Store::open_permanent(&path, at(60)).unwrap();
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    drop(store);
    fs::remove_file(&path).unwrap();
    let store = Store::open_permanent(&path, at(120)).unwrap();
    let kept = folder.path().join("backups/before-19700101T000200Z/hoptop.db.19700101T000100Z.backup");
    let notice = store.notice().unwrap();
    let newest = kept.canonicalize().unwrap();
    assert!(
        notice.contains("is missing, so an empty one was created") && notice.contains(newest.to_str().unwrap()),
        "{notice}"
    );
    fill(&store, 1..=1);
    for day in 1..=8 {
        Store::backup_if_due(store.path(), at(day * 86_400), &|| true).unwrap().unwrap();
    }
    assert!(kept.exists() && backups(store.path(), at(8 * 86_400)).len() == 7);
    drop(store);
    assert_eq!(Store::open_permanent(&path, at(90_000)).unwrap().notice(), None);
}

#[test]
fn damaged_value_is_taken_from_the_newest_backup() {
    let (_folder, path) = create_filled_store(20);
    let store = Store::open_permanent(&path, at(60)).unwrap();
    testing::edit(&store, "default", Edit::AddNote { transactions: vec![RowId(3)], text: "asked".into() }, at(60));
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    fill(&store, 21..=25);
    testing::delete(&store, vec![RowId(7)], at(70));
    drop(store);
    let db = Connection::open(&path).unwrap();
    db.execute_batch("UPDATE transactions SET quote_id = 'quite' WHERE id IN (5, 24)").unwrap();
    let store = Store::open_permanent(&path, at(86_470)).unwrap();
    // The newest backup has the damage too.
    Store::backup_if_due(store.path(), at(86_470), &|| true).unwrap().unwrap();
    drop(store);
    db.execute_batch(
        "UPDATE transactions SET quote_id = 'quite' WHERE id = 3;
         UPDATE notes SET text = CAST(x'ff' AS TEXT); UPDATE records SET record = x'00' WHERE transaction_row = 4",
    )
    .unwrap();
    drop(db);
    let store = Store::open_permanent(&path, at(86_480)).unwrap();
    let reader = store.reader().unwrap();
    let damaged: Vec<_> = reader.load().unwrap().0.iter().filter(|tx| tx.is_damaged).map(|tx| tx.id.0).collect();
    assert_eq!(damaged, [3, 4, 5, 24], "and all others are shown as they are");
    let columns: Vec<String> = reader.damaged_values(9).unwrap().into_iter().map(|value| value.column).collect();
    assert_eq!(columns, ["notes.text", "transactions", "transactions", "transactions", "notes", "records.record"]);
    drop(reader);
    store.mark_for_repair("6");
    drop(store);
    let store = Store::open_permanent(&path, at(90_000)).unwrap();
    let recovered = store.recovery.as_deref().unwrap();
    assert_eq!((recovered.backup, recovered.transactions), (Some(at(86_470)), 24));
    let transactions = store.reader().unwrap().load().unwrap().0;
    let with_id = |id| transactions.iter().find(|tx| tx.id == RowId(id));
    let repaired = with_id(3).unwrap();
    assert_eq!(
        (repaired.params.quote_id.as_str(), &repaired.notes[0], repaired.is_damaged),
        ("quote-3", &"asked".to_owned(), false)
    );
    assert_eq!(with_id(5).unwrap().params.quote_id, "quote-5");
    assert!(with_id(4).unwrap().record.is_some() && with_id(7).is_none());
    // No backup has this row, so that it stays known as damaged.
    assert_eq!(store.reader().unwrap().damaged_values(9).unwrap().len(), 1);
    assert!(with_id(24).unwrap().is_damaged);
}

/// Creates a store with a row in each table of [`KNOWN_DAMAGE`].
fn create_with_quote_and_chain() -> (TempDir, PathBuf) {
    let (folder, path) = create_filled_store(2);
    let store = Store::open_permanent(&path, at(10)).unwrap();
    let id = pending_id(ask(&store, true, "0xaa", 10));
    assert!(claim(&store, id, 11));
    testing::answer_quote(&store, id, route("q", 900), at(12));
    let reading = ChainReading::without_node(ChainVerdict::Pending);
    testing::observe_chain(&store, RowId(1), OnChainState::after(None, reading, None, at(13)), at(13));
    let mut new = fixtures::new(3);
    new.params.submitted_at = Some(at(0));
    let row = testing::track(&store, "default", vec![new], at(0)).added.listed[0];
    let chain = ChainConfig { name: Some("Ten".into()), ..ChainConfig::bare(ChainId::new("10")) };
    let answer = Observation { chains: vec![chain], ..fixtures::says(RouterStatus::Success) };
    observe(&store, row, answer, 20);
    (folder, path)
}

/// Changes one value in each of these tables as bad memory would.
const KNOWN_DAMAGE: &str = "UPDATE quotes SET estimate = estimate + 1; UPDATE chains SET name = 'Tan';
    UPDATE forecasts SET evidence = evidence || ' '; UPDATE on_chain SET verdict = 'succeeded'";

fn damaged_tables(store: &Store) -> Vec<String> {
    let damaged = store.reader().unwrap().damaged_values(99).unwrap();
    let mut tables: Vec<String> = damaged.into_iter().map(|value| value.column).collect();
    tables.dedup();
    tables
}

#[test]
fn damaged_quotes_chains_forecasts_and_readings_are_taken_from_the_backup() {
    let (_folder, path) = create_with_quote_and_chain();
    let store = Store::open_permanent(&path, at(60)).unwrap();
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    let sound = store.reader().unwrap().checksums().unwrap();
    drop(store);
    Connection::open(&path).unwrap().execute_batch(KNOWN_DAMAGE).unwrap();
    let store = Store::open_permanent(&path, at(70)).unwrap();
    assert_eq!(damaged_tables(&store), ["chains", "forecasts", "on_chain", "quotes"]);
    // More is written to the damaged rows, which stay known.
    let reading = ChainReading::without_node(ChainVerdict::Pending);
    testing::observe_chain(&store, RowId(1), OnChainState::after(None, reading, None, at(71)), at(71));
    assert_eq!(damaged_tables(&store), ["chains", "forecasts", "on_chain", "quotes"]);
    store.mark_for_repair("4");
    drop(store);
    let store = Store::open_permanent(&path, at(90_000)).unwrap();
    assert!(store.recovery.is_some());
    assert_eq!(damaged_tables(&store), [""; 0]);
    let repaired = store.reader().unwrap().checksums().unwrap();
    for table in ["quotes", "chains", "forecasts", "on_chain"] {
        let of = |all: &[TableChecksum]| all.iter().find(|one| one.table == table).cloned();
        assert_eq!(of(&repaired), of(&sound), "{table}");
    }
}

#[test]
fn damaged_values_that_come_again_are_deleted_if_no_backup_has_them() {
    let (_folder, path) = create_with_quote_and_chain();
    Connection::open(&path).unwrap().execute_batch(KNOWN_DAMAGE).unwrap();
    let store = Store::open_permanent(&path, at(70)).unwrap();
    store.mark_for_repair("4");
    drop(store);
    let store = Store::open_permanent(&path, at(90_000)).unwrap();
    assert_eq!(damaged_tables(&store), ["quotes"]);
    assert_eq!(count(&store), 3);
    // The next answer describes the chain again.
    let chain = ChainConfig { name: Some("Ten".into()), ..ChainConfig::bare(ChainId::new("10")) };
    observe(&store, RowId(1), Observation { chains: vec![chain], ..fixtures::says(RouterStatus::Ongoing) }, 90_001);
    let known = store.reader().unwrap().chain("default", &ChainId::new("10")).unwrap().unwrap();
    assert_eq!(known.name.as_deref(), Some("Ten"));
}

#[test]
fn next_answer_replaces_a_damaged_description_of_a_chain() {
    let (_folder, path) = create_with_quote_and_chain();
    Connection::open(&path).unwrap().execute_batch("UPDATE chains SET name = 'Tan'").unwrap();
    let store = Store::open_permanent(&path, at(70)).unwrap();
    assert_eq!(damaged_tables(&store), ["chains"]);
    let chain = ChainConfig { name: Some("Ten".into()), ..ChainConfig::bare(ChainId::new("10")) };
    observe(&store, RowId(1), Observation { chains: vec![chain], ..fixtures::says(RouterStatus::Ongoing) }, 71);
    assert_eq!(damaged_tables(&store), [""; 0]);
}

#[test]
fn repair_never_takes_a_key_from_another_transaction() {
    let (_folder, path) = create_filled_store(1);
    let store = Store::open_permanent(&path, at(60)).unwrap();
    testing::track(&store, "default", vec![fixtures::new(2)], at(60));
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    // The source chain of the second is corrected, and its hash is tracked once more on the first chain.
    let edit = Edit::CorrectSource { transactions: vec![RowId(2)], chain: ChainId::new("10") };
    assert_eq!(testing::edit(&store, "default", edit, at(61)), 1);
    let row = testing::track(&store, "default", vec![fixtures::new(2)], at(62)).added.listed[0];
    observe(&store, row, fixtures::says(RouterStatus::Success), 63);
    drop(store);
    Connection::open(&path).unwrap().execute_batch("UPDATE transactions SET quote_id = 'quite' WHERE id = 2").unwrap();
    let store = Store::open_permanent(&path, at(70)).unwrap();
    store.mark_for_repair("1");
    drop(store);
    let store = Store::open_permanent(&path, at(90_000)).unwrap();
    assert!(store.recovery.is_some());
    let transactions = store.reader().unwrap().load().unwrap().0;
    let shown = |tx: &Transaction| (tx.id, tx.params.from_chain.to_string(), tx.state.status.clone(), tx.is_damaged);
    let of_the_hash = transactions.iter().filter(|tx| tx.params.transaction_id == fixtures::params(2).transaction_id);
    let first = fixtures::params(2).from_chain.to_string();
    // The backup has the second one with the key that is the third one's now.
    assert_eq!(
        of_the_hash.map(shown).collect::<Vec<_>>(),
        [(RowId(2), "10".to_owned(), None, true), (row, first, Some(RouterStatus::Success), false)]
    );
}

#[test]
fn unreadable_record_is_rebuilt_from_the_history() {
    let (_folder, store) = open();
    let row = import_one(&store);
    observe(&store, row, body(RouterStatus::Ongoing, 1), 5);
    let other = testing::track(&store, "default", vec![fixtures::new(2)], at(0)).added.listed[0];
    observe(&store, other, body(RouterStatus::Success, 1), 5);
    let decode = |params: &TransactionParams, body: &str| {
        let reply = crate::api::HttpAnswer { status: 200, retry_after: None, body: body.as_bytes() };
        match crate::api::interpret(&reply, params, at(0)).outcome {
            StatusOutcome::Record(record) => Some(*record),
            StatusOutcome::NotFound(_) | StatusOutcome::Failed(_) => None,
        }
    };
    let status = |row| store.reader().unwrap().transaction(row).unwrap().unwrap().record.map(|known| known.status);
    assert_eq!(store.rebuild_records(&decode).unwrap(), 0);
    for damage in ["x'00'", "'not JSON'", "CAST(substr(record, 2) AS BLOB)"] {
        let db = Connection::open(store.path()).unwrap();
        db.execute_batch(&format!("UPDATE records SET record = {damage} WHERE transaction_row = {}", row.0)).unwrap();
        assert_eq!(status(row), None, "{damage}");
        assert_eq!(store.rebuild_records(&decode).unwrap(), 1, "{damage}");
        assert_eq!((status(row), status(other)), (Some(RouterStatus::Ongoing), Some(RouterStatus::Success)));
        assert_eq!(store.reader().unwrap().damaged_values(9).unwrap(), []);
    }
    // An answer with another status than the transaction's isn't the last one.
    let db = Connection::open(store.path()).unwrap();
    db.execute_batch("UPDATE records SET record = x'00'; UPDATE transactions SET status = 'success', checksum = NULL")
        .unwrap();
    assert_eq!(store.rebuild_records(&decode).unwrap(), 1);
    assert_eq!((status(row), status(other)), (None, Some(RouterStatus::Success)));
}
