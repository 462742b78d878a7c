//! Stores that are damaged in every way we know, and what the next start makes of them.

use std::{
    fs::{self, File},
    io::{Seek, SeekFrom, Write},
};

use super::*;

const PAGE: u64 = 4_096;

/// A store with so many transactions, each with a label and an answer; closed.
fn filled(count: i64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hoptop.db");
    fill(&Store::open_lasting(&path, at(0)).unwrap(), 1..=count);
    (folder, path)
}

fn fill(store: &Store, numbers: std::ops::RangeInclusive<i64>) {
    let new = |number| {
        let mut new = fixtures::new(number);
        new.labels = vec!["vip".into()];
        new
    };
    let report = testing::track(store, "default", numbers.map(new).collect(), at(0));
    for row in report.added.first {
        observe(store, row, fixtures::says(RouterStatus::Ongoing), 5);
    }
}

fn overwrite(path: &Path, offset: u64, bytes: &[u8]) {
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(bytes).unwrap();
}

/// The pages of a table that hold its rows.
fn leaves(path: &Path, table: &str) -> Vec<u64> {
    let db = Connection::open(path).unwrap();
    let mut statement =
        db.prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path").unwrap();
    statement.query_map([table], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn count(store: &Store) -> usize {
    store.reader().unwrap().load().unwrap().0.len()
}

fn open_recovered(path: &Path) -> (Store, Recovery) {
    let store = Store::open_lasting(path, at(86_400)).unwrap();
    let recovered = store.recovery().expect("it was recovered").clone();
    assert!(recovered.aside.exists(), "{recovered}");
    let db = Connection::open(path).unwrap();
    assert_eq!(integrity::unsound(&db, Depth::Full).unwrap(), None);
    // And it works.
    testing::track(&store, "other", vec![fixtures::new(1)], at(86_400));
    (store, recovered)
}

#[test]
fn a_garbage_header_is_moved_aside_and_the_backup_restored() {
    let (folder, path) = filled(20);
    let store = Store::open_lasting(&path, at(60)).unwrap();
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    fill(&store, 21..=25);
    drop(store);
    overwrite(&path, 0, &[0xa5; 512]);
    let damaged = fs::read(&path).unwrap();
    let (store, recovered) = open_recovered(&path);
    assert_eq!((recovered.backup, recovered.transactions, recovered.rows), (Some(at(60)), 20, 0));
    assert_eq!(count(&store), 21);
    assert_eq!(fs::read(&recovered.aside).unwrap(), damaged);
    assert_eq!(recovered.aside, folder.path().join("hoptop.db.damaged-19700102T000000Z"));
    let sentence = recovered.to_string();
    assert!(
        sentence.contains("20 transactions from the backup of 1970-01-01 00:01 UTC; what came later is lost"),
        "{sentence}"
    );
    drop(store);
    assert!(Store::open_lasting(&path, at(90_000)).unwrap().recovery().is_none());
}

#[test]
fn what_came_after_the_backup_is_read_from_the_damaged_file() {
    let (_folder, path) = filled(20);
    let store = Store::open_lasting(&path, at(60)).unwrap();
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    fill(&store, 21..=600);
    drop(store);
    let leaves = leaves(&path, "transactions");
    let torn = leaves[leaves.len() / 2];
    overwrite(&path, (torn - 1) * PAGE, &[0; PAGE as usize]);
    // Nobody knows yet: whoever meets it says so, and from then on nothing is written.
    let store = Store::open_lasting(&path, at(120)).unwrap();
    let met = store.reader().unwrap().load().unwrap_err();
    assert!(met.is_damage(), "{met}");
    store.report_fault(&met);
    let refused = testing::submit_track(&store, "default", vec![fixtures::new(9_999)], at(120)).wait().unwrap_err();
    assert!(refused.to_string().contains("nothing more is written to it"), "{refused}");
    drop(store);
    let (store, recovered) = open_recovered(&path);
    assert!(recovered.backup.is_some() && recovered.has_holes, "{recovered:?}");
    let found = count(&store) - 1;
    assert!((560..600).contains(&found), "{found} of 600 are back");
    let (transactions, ..) = store.reader().unwrap().load().unwrap();
    let labelled =
        |number: i64| transactions.iter().any(|tx| tx.params == fixtures::params(number) && tx.labels == ["vip"]);
    assert!([1, 20, 21, 599, 600].into_iter().all(labelled));
    assert!(recovered.to_string().contains("and what could still be read"), "{recovered}");
}

#[test]
fn without_a_backup_what_can_be_read_is_all_there_is() {
    let (_folder, path) = filled(300);
    for (table, index) in [("transactions", 1), ("observations", 0), ("labels", 0)] {
        overwrite(&path, (leaves(&path, table)[index] - 1) * PAGE, &[0xff; 64]);
    }
    let store = Store::open_lasting(&path, at(5)).unwrap();
    store.report_fault(&store.reader().unwrap().load().unwrap_err());
    drop(store);
    let (store, recovered) = open_recovered(&path);
    let found = count(&store) - 1;
    assert!(recovered.backup.is_none() && (200..300).contains(&found), "{found}: {recovered}");
    assert_eq!(found as u64, recovered.transactions);
}

#[test]
fn a_garbage_header_hides_nothing_of_what_lies_behind_it() {
    let (_folder, path) = filled(500);
    overwrite(&path, 0, &[0xa5; 100]);
    let (store, recovered) = open_recovered(&path);
    assert_eq!((recovered.transactions, recovered.has_holes), (500, false), "{recovered}");
    assert_eq!(count(&store), 501);
    // Of the copy that was read nothing is left.
    let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name.to_string_lossy().starts_with("hoptop.db") || name == "backups"), "{left:?}");
}

#[test]
fn of_a_file_that_was_cut_off_the_front_is_read() {
    let (_folder, path) = filled(2_000);
    let whole = fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(whole * 3 / 4 / PAGE * PAGE).unwrap();
    let (_, recovered) = open_recovered(&path);
    assert!(recovered.has_holes && recovered.transactions > 100, "{recovered}");
}

#[test]
fn a_torn_schema_loses_the_tables_whose_entries_it_held_and_no_others() {
    let (_folder, path) = filled(500);
    let last = *leaves(&path, "sqlite_schema").last().unwrap();
    overwrite(&path, (last - 1) * PAGE, &[0xa5; 4_096]);
    let (_, recovered) = open_recovered(&path);
    assert!(recovered.has_holes && recovered.transactions == 500, "{recovered}");
}

#[test]
fn whoever_was_killed_leaves_a_store_that_is_looked_at() {
    let (_folder, path) = filled(300);
    let store = Store::open_lasting(&path, at(5)).unwrap();
    let presence = paths::companion(&path, ".presence");
    let words = fs::read(&presence).unwrap();
    drop(store);
    fs::write(&presence, words).unwrap();
    let torn = leaves(&path, "notes").into_iter().chain(leaves(&path, "changes")).last().unwrap();
    overwrite(&path, (torn - 1) * PAGE, &[0xff; 64]);
    let (store, recovered) = open_recovered(&path);
    assert_eq!((count(&store), recovered.transactions), (301, 300));
}

#[test]
fn an_empty_file_and_a_log_without_its_file_are_no_new_stores() {
    let (_folder, path) = filled(3);
    let store = Store::open_lasting(&path, at(60)).unwrap();
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    drop(store);
    fs::write(&path, "").unwrap();
    let (store, recovered) = open_recovered(&path);
    assert_eq!((recovered.transactions, recovered.reason.as_str()), (3, "its file is empty"));
    drop(store);
    let log = paths::companion(&path, "-wal");
    fs::rename(&path, path.with_extension("elsewhere")).unwrap();
    fs::write(&log, "committed, but not yet in the file").unwrap();
    let store = Store::open_lasting(&path, at(90_000)).unwrap();
    let aside = paths::companion(&store.recovery().unwrap().aside, "-wal");
    assert_eq!((count(&store), fs::read_to_string(aside).unwrap().len()), (3, 34));
}

#[test]
fn a_store_that_was_left_abruptly_without_its_log_is_looked_at() {
    let (_folder, path) = filled(300);
    let store = Store::open_lasting(&path, at(5)).unwrap();
    let presence = paths::companion(&path, ".presence");
    let words = fs::read(&presence).unwrap();
    drop(store);
    fs::write(presence, words).unwrap();
    // What was moved into the file in part before the log was lost.
    let page = leaves(&path, "observations")[1];
    overwrite(&path, (page - 1) * PAGE, &[0; PAGE as usize]);
    assert_eq!(open_recovered(&path).1.transactions, 300);
}

#[test]
fn nothing_is_moved_while_somebody_else_has_it_open() {
    let (folder, path) = filled(3);
    let other = Store::open_lasting(&path, at(5)).unwrap();
    other.report_fault(&StoreError::Broken("a torn page".into()));
    overwrite(&path, 0, &[0xa5; 512]);
    let refused = Store::open_lasting(&path, at(6)).err().unwrap();
    assert!(refused.to_string().contains("end every hoptop that has it open"), "{refused}");
    assert!(
        fs::read_dir(folder.path()).unwrap().all(|entry| !entry.unwrap().path().to_string_lossy().contains("damaged"))
    );
    drop(other);
    open_recovered(&path);
}

#[test]
fn killed_recovery_is_continued_by_the_next_start() {
    let (folder, path) = filled(30);
    // Killed between the renames, and in the middle of building.
    let aside = folder.path().join("hoptop.db.damaged-1");
    overwrite(&path, 0, &[0xa5; 16]);
    fs::write(paths::companion(&path, "-wal"), "a log").unwrap();
    fs::rename(&path, &aside).unwrap();
    fs::write(paths::companion(&path, ".mending"), "half of it").unwrap();
    fs::write(paths::companion(&path, ".presence"), "mending hoptop.db.damaged-1").unwrap();
    let (store, recovered) = open_recovered(&path);
    assert_eq!(recovered.aside, aside);
    assert_eq!(fs::read_to_string(paths::companion(&aside, "-wal")).unwrap(), "a log");
    drop(store);
    // Killed when the rebuilt one had its name already: it isn't taken for the damaged one.
    let before = fs::read(&aside).unwrap();
    fs::write(paths::companion(&path, ".presence"), "mending hoptop.db.damaged-1").unwrap();
    open_recovered(&path);
    assert_eq!(fs::read(&aside).unwrap(), before);
}

#[test]
fn what_was_never_a_store_of_ours_stays_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let letter = folder.path().join("letter.txt");
    let text = "not a database at all, but long enough to have a header of a hundred bytes or more; ".repeat(8);
    fs::write(&letter, &text).unwrap();
    let refused = Store::open_lasting(&letter, at(0)).err().unwrap();
    assert!(matches!(refused, StoreError::Open { .. }), "{refused}");
    assert_eq!(fs::read_to_string(&letter).unwrap(), text);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Tears a page of a table, and says that it was met.
fn tear(path: &Path, table: &str) {
    let leaves = leaves(path, table);
    overwrite(path, (leaves[leaves.len() / 2] - 1) * PAGE, &[0; PAGE as usize]);
    fs::write(paths::companion(path, ".presence"), "suspect a torn page").unwrap();
}

#[test]
fn answers_whose_text_is_lost_are_shown_and_new_ones_are_kept() {
    let (_folder, path) = filled(1);
    let store = Store::open_lasting(&path, at(5)).unwrap();
    let body = |clock: i64| {
        let text = format!(r#"{{"clock":{clock},"words":"{}"}}"#, "of a route ".repeat(60));
        Observation { body: Some(text), ..fixtures::says(RouterStatus::Ongoing) }
    };
    let report = testing::track(&store, "default", (2..=40).map(fixtures::new).collect(), at(5));
    let rows: Vec<RowId> = report.added.first;
    // The first answers, which the later ones are packed with, stand together; so do the later ones.
    for second in 0..12 {
        for row in &rows {
            let status = if second % 2 == 0 { RouterStatus::Ongoing } else { RouterStatus::NeedsGas };
            observe(&store, *row, Observation { body: body(second).body, ..fixtures::says(status) }, 10 + second);
        }
    }
    drop(store);
    let first = leaves(&path, "observations")[0];
    overwrite(&path, (first - 1) * PAGE, &[0; PAGE as usize]);
    fs::write(paths::companion(&path, ".presence"), "suspect a torn page").unwrap();
    let (store, recovered) = open_recovered(&path);
    assert!(recovered.has_holes && recovered.transactions == 40, "{recovered:?}");
    for row in &rows {
        let shown = store.reader().unwrap().history(*row).unwrap();
        assert!(shown.iter().any(|line| line_name(line) == "answer"));
        observe(&store, *row, body(99), 100);
        observe(&store, *row, body(99), 101);
        assert_eq!(store.reader().unwrap().last_body(*row).unwrap(), body(99).body);
    }
}

#[test]
fn what_can_not_be_unpacked_counts_as_no_body() {
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
    assert_eq!(store.reader().unwrap().last_body(row).unwrap(), long(2).body);
}

#[test]
fn what_was_deleted_since_the_backup_stays_deleted() {
    let (_folder, path) = filled(300);
    let store = Store::open_lasting(&path, at(5)).unwrap();
    for number in 1..=300 {
        let edit = Edit::AddNote { transactions: vec![RowId(number)], text: "asked ".repeat(40) };
        testing::edit(&store, "default", edit, at(6));
    }
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    testing::delete(&store, vec![RowId(7)], at(70));
    drop(store);
    tear(&path, "notes");
    let (store, recovered) = open_recovered(&path);
    assert_eq!((recovered.backup, recovered.transactions), (Some(at(60)), 299));
    assert_eq!(store.reader().unwrap().transaction(RowId(7)).unwrap(), None);
}

#[test]
fn writes_after_a_recovery_survive_a_returning_mark() {
    let (_folder, path) = filled(20);
    let store = Store::open_lasting(&path, at(60)).unwrap();
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    drop(store);
    overwrite(&path, 0, &[0xa5; 512]);
    let (store, recovered) = open_recovered(&path);
    fill(&store, 21..=25);
    drop(store);
    // The power went before the disk had the word that mending was done.
    let name = recovered.aside.file_name().unwrap().to_str().unwrap();
    fs::write(paths::companion(&path, ".presence"), format!("mending {name}\n")).unwrap();
    let store = Store::open_lasting(&path, at(90_000)).unwrap();
    assert_eq!(count(&store), 26);
    assert!(store.recovery().unwrap().to_string().contains("26 transactions stand in its place already"));
    drop(store);
    // The same, and what was built is damaged too: both are kept.
    fs::write(paths::companion(&path, ".presence"), format!("mending {name}\n")).unwrap();
    overwrite(&path, 0, &[0x5a; 512]);
    let (_store, again) = open_recovered(&path);
    assert!(again.aside != recovered.aside && recovered.aside.exists());
}

#[test]
fn another_programs_database_in_its_place_stays_there() {
    let (folder, path) = filled(3);
    fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)").unwrap();
    drop(other);
    let theirs = fs::read(&path).unwrap();
    for words in ["clean\n", "open\n", "suspect a torn page\n"] {
        fs::write(paths::companion(&path, ".presence"), words).unwrap();
        let refused = Store::open_lasting(&path, at(60)).err().unwrap();
        assert!(matches!(refused, StoreError::Foreign { .. }), "{refused}");
        assert_eq!(fs::read(&path).unwrap(), theirs);
    }
    assert!(
        fs::read_dir(folder.path()).unwrap().all(|file| !file.unwrap().path().to_string_lossy().contains("damaged"))
    );
}

#[cfg(unix)]
#[test]
fn a_link_leads_to_the_store_and_what_lies_beside_it() {
    let (folder, path) = filled(3);
    let links = tempfile::tempdir().unwrap();
    let (link, second) = (links.path().join("link.db"), links.path().join("second.db"));
    std::os::unix::fs::symlink(&path, &link).unwrap();
    std::os::unix::fs::symlink("link.db", &second).unwrap();
    let store = Store::open_lasting(&second, at(60)).unwrap();
    assert_eq!(store.path(), path.canonicalize().unwrap());
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    // Both names are one store: nobody is alone with it.
    let other = Store::open_lasting(&path, at(61)).unwrap();
    other.report_fault(&StoreError::Broken("a torn page".into()));
    drop((store, other));
    overwrite(&path, 0, &[0xa5; 512]);
    let (store, recovered) = open_recovered(&link);
    assert_eq!(
        (recovered.backup, recovered.aside.parent()),
        (Some(at(60)), Some(&*folder.path().canonicalize().unwrap()))
    );
    drop(store);
    assert!(link.is_symlink() && fs::read_dir(links.path()).unwrap().count() == 2);
    // Also while there is nothing where it leads.
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(folder.path().join("new/hoptop.db"), &link).unwrap();
    assert!(Store::open_lasting(&second, at(90_000)).unwrap().path().ends_with("new/hoptop.db"));
}

/// The file as a killed process leaves it, without the log that it had.
fn without_log(store: &Store, to: &Path) -> Vec<u8> {
    fs::copy(store.path(), to).unwrap();
    fs::write(paths::companion(to, ".presence"), "open\n").unwrap();
    fs::read(to).unwrap()
}

#[test]
fn a_log_that_is_gone_is_said_and_the_file_kept_as_it_was() {
    let (folder, path) = filled(20);
    let store = Store::open_lasting(&path, at(5)).unwrap();
    testing::track(&store, "default", (21..=22).map(fixtures::new).collect(), at(5));
    let found = folder.path().join("found.db");
    let bytes = without_log(&store, &found);
    let opened = Store::open_lasting(&found, at(60)).unwrap();
    let notice = opened.notice().unwrap();
    assert!(notice.contains("its log is gone: what was kept last may be lost"), "{notice}");
    assert_eq!(count(&opened), 20);
    assert_eq!(fs::read(folder.path().join("found.db.without-log-19700101T000100Z")).unwrap(), bytes);
    drop(opened);
    assert_eq!(Store::open_lasting(&found, at(120)).unwrap().notice(), None);
    // What is put back from a backup never had one.
    store.backup(&found, Existing::Replace, &|| true).unwrap();
    fs::write(paths::companion(&found, ".presence"), "open\n").unwrap();
    assert_eq!(Store::open_lasting(&found, at(180)).unwrap().notice(), None);
}

#[test]
fn a_young_store_that_lost_its_log_is_not_taken_for_a_new_one() {
    let (folder, store) = open();
    let found = folder.path().join("found.db");
    without_log(&store, &found);
    let (store, recovered) = open_recovered(&found);
    assert!(recovered.reason.contains("its log is gone, and with it all that it held"), "{recovered}");
    assert!(store.notice().unwrap().contains("it is empty, for nothing was read of it"));
}

#[test]
fn whoever_comes_to_a_store_that_is_known_to_be_damaged_writes_nothing() {
    let (_folder, path) = filled(3);
    let first = Store::open_lasting(&path, at(5)).unwrap();
    first.report_fault(&StoreError::Broken("a torn page".into()));
    let second = Store::open_lasting(&path, at(6)).unwrap();
    assert_eq!(second.trouble(), Some(Trouble::Broken("a torn page".into())));
    assert_eq!(count(&second), 3);
    let refused = testing::submit_track(&second, "default", vec![fixtures::new(9)], at(7)).wait().unwrap_err();
    assert!(refused.to_string().contains("nothing more is written to it"), "{refused}");
}

#[test]
fn a_store_that_is_gone_is_said_and_its_backups_outlast_the_new_one() {
    let (folder, path) = filled(3);
    let store = Store::open_lasting(&path, at(60)).unwrap();
    Store::backup_if_due(store.path(), at(60), &|| true).unwrap().unwrap();
    drop(store);
    fs::remove_file(&path).unwrap();
    let store = Store::open_lasting(&path, at(120)).unwrap();
    let kept = folder.path().join("backups/before-19700101T000200Z/hoptop.db.19700101T000100Z.backup");
    let notice = store.notice().unwrap();
    let newest = kept.canonicalize().unwrap();
    assert!(notice.contains("isn't there any more") && notice.contains(newest.to_str().unwrap()), "{notice}");
    fill(&store, 1..=1);
    for day in 1..=8 {
        Store::backup_if_due(store.path(), at(day * 86_400), &|| true).unwrap().unwrap();
    }
    assert!(kept.exists() && store.backups(at(8 * 86_400)).len() == 7);
    drop(store);
    assert_eq!(Store::open_lasting(&path, at(90_000)).unwrap().notice(), None);
}
