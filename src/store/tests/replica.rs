//! Tests of a replica: the entries that it takes, the content of a snapshot, and the file of lost entries.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{operations::refuse_label, *};
use crate::{
    domain::{
        notification::NotificationCursor,
        operation::Edit,
        team::{LogEntry, LogLoss, LogPosition, Nonce},
    },
    store::{LogEntries, OperationResult, own_entries, payload},
};

const TEAM: Nonce = Nonce(7);

fn entry(seq: u64, operations: Vec<Operation>) -> LogEntry {
    testing::log_entry(seq, operations, at(seq as i64))
}

fn tracks(seq: u64) -> LogEntry {
    let track = Operation::Track { profile: "default".into(), transactions: vec![fixtures::new(seq as i64)] };
    entry(seq, vec![track])
}

fn replicate(store: &Store, team: Nonce, entries: Vec<LogEntry>, own: Vec<u64>) -> Result<u64, StoreError> {
    let applied = store.replicate(LogEntries { team, entries, own, is_light: false }).wait()?;
    Ok(applied.replicated()?.position.seq)
}

fn count(store: &Store) -> usize {
    store.reader().unwrap().load().unwrap().0.len()
}

#[test]
fn replica_applies_each_entry_once_and_none_after_a_gap() {
    let (_folder, store) = open();
    assert_eq!(replicate(&store, TEAM, vec![tracks(1), tracks(2)], vec![]).unwrap(), 2);
    assert_eq!(replicate(&store, TEAM, vec![tracks(1), tracks(2), tracks(3)], vec![]).unwrap(), 3);
    assert_eq!(replicate(&store, TEAM, vec![tracks(5)], vec![]).unwrap(), 3);
    assert_eq!((count(&store), replicate(&store, TEAM, vec![], vec![]).unwrap()), (3, 3));
    let position = store.reader().unwrap().replica_position(TEAM).unwrap();
    assert_eq!(position, LogPosition { seq: 3, nonce: Nonce(3) });
}

#[test]
fn store_with_data_of_its_own_or_of_another_team_takes_no_entry() {
    let (_folder, store) = open();
    replicate(&store, TEAM, vec![tracks(1)], vec![]).unwrap();
    assert!(matches!(replicate(&store, Nonce(8), vec![tracks(2)], vec![]), Err(StoreError::OtherTeam)));
    let (_folder, alone) = open();
    import_one(&alone);
    assert!(matches!(replicate(&alone, TEAM, vec![tracks(1)], vec![]), Err(StoreError::NotReplica)));
    assert_eq!((count(&store), count(&alone)), (1, 1));
}

/// Returns the payloads of an operation that needs several entries.
fn parts_of_large_entry() -> Vec<Vec<u8>> {
    // Text that compression can't shorten to one part.
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let noise: String = (0..4 << 20).map(|_| char::from(random.random_range(b'!'..b'~'))).collect();
    let track = NewTransaction { notes: vec![noise], ..fixtures::new(1) };
    let whole = entry(1, vec![Operation::Track { profile: "default".into(), transactions: vec![track] }]);
    payload::split(whole.payload, Nonce(9))
}

#[test]
fn payload_in_parts_is_applied_whole_with_its_last_part_even_if_others_write_between() {
    let (_folder, store) = open();
    let parts = parts_of_large_entry();
    assert!(parts.len() > 2);
    let mut entries = vec![tracks(2)];
    for (seq, part) in (2..).zip(parts) {
        entries.push(LogEntry { payload: part, ..tracks(seq) });
    }
    entries.insert(3, tracks(99));
    for (seq, entry) in (1..).zip(&mut entries) {
        entry.position = LogPosition { seq, nonce: Nonce(seq.into()) };
    }
    let (last, first) = entries.split_last().unwrap();
    replicate(&store, TEAM, first.to_vec(), vec![]).unwrap();
    assert_eq!(count(&store), 2);
    replicate(&store, TEAM, vec![last.clone()], vec![]).unwrap();
    assert_eq!(count(&store), 3);
    let db = Connection::open(store.path()).unwrap();
    let left: u32 = db.query_row("SELECT count(*) FROM log_parts", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

#[test]
fn failed_operation_is_rolled_back_alone_and_the_rest_of_its_entry_is_applied() {
    let (_folder, store) = open();
    refuse_label(&store);
    let refused = NewTransaction { labels: vec!["refused".into()], ..fixtures::new(1) };
    let track = |new| Operation::Track { profile: "default".into(), transactions: vec![new] };
    let entries = vec![entry(1, vec![track(refused), track(fixtures::new(2))])];
    let applied = store
        .replicate(LogEntries { team: TEAM, entries, own: vec![], is_light: false })
        .wait()
        .unwrap()
        .replicated()
        .unwrap();
    let results: Vec<bool> = applied.results[0].1.iter().map(Result::is_ok).collect();
    assert_eq!((results, count(&store)), (vec![false, true], 1));
    assert!(matches!(applied.results[0].1[1], Ok(OperationResult::Tracked(_))));
}

#[test]
fn snapshot_makes_an_equal_replica_without_the_data_of_its_machine() {
    let ((folder, store), (_late, late)) = (open(), open());
    replicate(&store, TEAM, (1..=5).map(tracks).collect(), vec![4]).unwrap();
    let delete = Operation::Delete { transactions: vec![fixtures::transaction(2).key()] };
    replicate(&store, TEAM, vec![entry(6, vec![delete])], vec![]).unwrap();
    assert_eq!(store.reader().unwrap().replica().unwrap().unwrap().last_delete, 6);
    let file = folder.path().join("snapshot.db");
    assert_eq!(store.write_snapshot(&file).unwrap().position.seq, 6);
    replicate(&late, TEAM, vec![tracks(1)], vec![1]).unwrap();
    let feed = FeedReader::new(late.reader().unwrap());
    feed.changes().unwrap();
    assert_eq!(late.load_snapshot(Some(&file), TEAM, None, false).unwrap().seq, 6);
    let reader = |store: &Store| store.reader().unwrap();
    assert_eq!(reader(&late).checksums().unwrap(), reader(&store).checksums().unwrap());
    let own =
        |store: &Store| reader(store).own_entries().unwrap().iter().map(|own| own.position.seq).collect::<Vec<_>>();
    assert_eq!((own(&store), own(&late)), (vec![4], vec![1]));
    // Readers of the feed load all data again.
    assert!(feed.changes().unwrap().needs_resync);
    // A cursor behind the end of the feed would skip what follows.
    let cursor = |seq| NotificationCursor { channel: "webhook".into(), seq, error: None };
    let last = reader(&late).last_change().unwrap();
    for (saved, kept) in [(last + 50, last), (last - 1, last - 1)] {
        let operation = Operation::MoveNotificationCursor { profile: "default".into(), cursor: cursor(saved) };
        testing::apply(&late, operation, at(9)).unwrap();
        late.load_snapshot(Some(&file), TEAM, None, false).unwrap();
        assert_eq!(reader(&late).notification_cursors("default").unwrap(), [cursor(kept)]);
    }
    // The log goes on after the snapshot.
    assert_eq!(replicate(&late, TEAM, vec![tracks(7)], vec![]).unwrap(), 7);
    let (_other, other) = open();
    replicate(&other, Nonce(8), vec![tracks(1)], vec![]).unwrap();
    store.write_snapshot(&folder.path().join("again.db")).unwrap();
    assert!(matches!(
        other.load_snapshot(Some(&folder.path().join("again.db")), TEAM, None, false),
        Err(StoreError::OtherTeam)
    ));
    assert_eq!(count(&other), 1);
}

#[test]
fn deletion_removes_the_transaction_from_own_entries() {
    let (_folder, store) = open();
    let key = |number| fixtures::transaction(number).key();
    let note = |numbers: &[i64]| Operation::Edit {
        profile: "default".into(),
        edit: Edit::AddNote { transactions: numbers.iter().map(|number| key(*number)).collect(), text: "n".into() },
    };
    let entries = vec![tracks(1), tracks(2), entry(3, vec![note(&[1]), note(&[1, 2])])];
    replicate(&store, TEAM, entries, vec![1, 2, 3]).unwrap();
    let delete = Operation::Delete { transactions: vec![key(1)] };
    replicate(&store, TEAM, vec![entry(4, vec![delete.clone()])], vec![4]).unwrap();
    let own = store.reader().unwrap().own_entries().unwrap();
    let (path, _) = own_entries::save_lost_entries(store.path(), &own, |_| true, at(9)).unwrap().unwrap();
    let kept = own_entries::read_operations(std::io::BufReader::new(std::fs::File::open(path).unwrap())).unwrap();
    let kept: Vec<Operation> = kept.into_iter().map(|(_, envelope)| envelope.operation).collect();
    assert!(matches!(&kept[0], Operation::Track { transactions, .. } if transactions.len() == 1), "{kept:?}");
    assert_eq!(kept[1..], [note(&[2]), delete]);
}

#[test]
fn light_replica_differs_in_the_bodies_alone_and_finds_them_in_the_log() {
    let ((folder, whole), (_light, light), (_late, late)) = (open(), open(), open());
    let key = fixtures::transaction(1).key();
    let answer =
        |observation: Observation| Operation::Observe { transaction: key.clone(), observation: Box::new(observation) };
    let answers = [
        body(RouterStatus::Ongoing, 1),
        body(RouterStatus::Ongoing, 1),
        body(RouterStatus::Ongoing, 2),
        fixtures::fails(RequestFailure::Transport("refused".into())),
        body(RouterStatus::Success, 9),
        body(RouterStatus::Success, 9),
    ];
    let mut entries = vec![tracks(1)];
    entries.extend((2..).zip(answers).map(|(seq, observation)| entry(seq, vec![answer(observation)])));
    let apply = |store: &Store, entries: &[LogEntry], is_light| {
        let entries = LogEntries { team: TEAM, entries: entries.to_vec(), own: vec![], is_light };
        store.replicate(entries).wait().unwrap();
    };
    let sums = |store: &Store| {
        let all = store.reader().unwrap().checksums().unwrap();
        all.into_iter().filter(|sum| sum.table != "bodies").collect::<Vec<_>>()
    };
    apply(&whole, &entries, false);
    apply(&light, &entries, true);
    assert_eq!(sums(&whole), sums(&light));
    let reader = light.reader().unwrap();
    assert!(
        reader.replica().unwrap().unwrap().lacks_bodies
            && !whole.reader().unwrap().replica().unwrap().unwrap().lacks_bodies
    );
    let row = RowId(1);
    for (number, kept) in reader.answers(row).unwrap().iter().enumerate() {
        let texts = [&whole, &light].map(|store| match store.reader().unwrap().body(kept.id).unwrap() {
            Some(StoredBody::InLog { entry, transaction, digest }) => {
                payload::find_body(&entries[entry as usize - 1].payload, &transaction, digest).unwrap()
            }
            found => found.and_then(StoredBody::into_text),
        });
        assert_eq!(texts[0], texts[1], "answer {number}");
    }
    // The last body differs from the one in the history only after another answer of the same status.
    assert!(matches!(reader.last_body(row).unwrap(), Some(StoredBody::InLog { entry: 6, .. })));
    // What a snapshot holds is left out as well, and dropping bodies is the same on both.
    let file = folder.path().join("snapshot.db");
    whole.write_snapshot(&file).unwrap();
    late.load_snapshot(Some(&file), TEAM, None, true).unwrap();
    assert_eq!(sums(&whole), sums(&late));
    assert!(matches!(late.reader().unwrap().last_body(row).unwrap(), Some(StoredBody::InLog { entry: 0, .. })));
    // The same answer again, and another one: also where a machine has become light, or whole again.
    let (_switched, switched) = open();
    apply(&switched, &entries, false);
    let again = [(8, body(RouterStatus::Success, 9)), (9, body(RouterStatus::Success, 10))];
    let again = again.map(|(seq, observation)| entry(seq, vec![answer(observation)]));
    let stores = [(&whole, false), (&light, false), (&late, true), (&switched, true)];
    for added in [&again[..1], &again[1..]] {
        stores.iter().for_each(|(store, is_light)| apply(store, added, *is_light));
        for (store, _) in stores {
            assert_eq!(sums(&whole), sums(store));
        }
    }
    let drops = [entry(10, vec![Operation::DropBodies { transactions: vec![key.clone()] }])];
    for (store, is_light) in stores {
        apply(store, &drops, is_light);
        assert_eq!(store.reader().unwrap().checksums().unwrap(), whole.reader().unwrap().checksums().unwrap());
    }
}

#[test]
fn light_replica_loads_a_snapshot_whose_records_are_packed_with_bodies() {
    let ((folder, whole), (_light, light)) = (open(), open());
    let transaction = fixtures::transaction(1).key();
    let short = body(RouterStatus::Ongoing, 1);
    // Long enough for a dictionary of the route, with which a record gets its body as the base.
    let words: String = (0..200).map(|number| format!(r#""field {number}","#)).collect();
    let text = short.body.clone().map(|text| text.replacen('{', &format!(r#"{{"fields":[{words}0],"#), 1));
    let operation = Operation::Observe { transaction, observation: Box::new(Observation { body: text, ..short }) };
    replicate(&whole, TEAM, vec![tracks(1), entry(2, vec![operation])], vec![]).unwrap();
    let db = Connection::open(whole.path()).unwrap();
    let based = "SELECT count(*) FROM records WHERE record_base IS NOT NULL";
    assert_eq!(db.query_row(based, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    let file = folder.path().join("snapshot.db");
    whole.write_snapshot(&file).unwrap();
    assert_eq!(light.load_snapshot(Some(&file), TEAM, None, true).unwrap().seq, 2);
    let record = |store: &Store| store.reader().unwrap().transaction(RowId(1)).unwrap().unwrap().record;
    assert!(record(&light).is_some() && record(&light) == record(&whole));
}

#[test]
fn lost_entries_are_saved_and_read_again_until_they_are_appended() {
    let (folder, store) = open();
    // A payload of three entries of which only the last is lost: nothing of it was applied anywhere else.
    let mut own = vec![tracks(1), tracks(2)];
    for (seq, part) in (3..).zip(parts_of_large_entry()) {
        own.push(LogEntry { payload: part, ..tracks(seq) });
    }
    let last = own.last().unwrap().position.nonce;
    let is_lost = |nonce| nonce == tracks(2).position.nonce || nonce == last;
    let (path, operations) = own_entries::save_lost_entries(store.path(), &own, is_lost, at(9)).unwrap().unwrap();
    assert_eq!((path.parent(), operations), (Some(folder.path().join("deep").as_path()), 2));
    let mut file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    for remaining in [vec![at(2), at(1)], vec![at(1)], vec![]] {
        let text = std::fs::read(&path).unwrap();
        let again = own_entries::read_operations(text.as_slice()).unwrap();
        assert_eq!(again.iter().map(|(_, envelope)| envelope.stamp.at).collect::<Vec<_>>(), remaining);
        if let Some((offset, _)) = again.first() {
            own_entries::mark_appended(&mut file, *offset).unwrap();
        }
    }
    assert_eq!(own_entries::save_lost_entries(store.path(), &own, |_| false, at(9)).unwrap(), None);
    assert!(own_entries::read_operations(&b"{}\n"[..]).unwrap_err().to_string().contains("line 1"));
}

#[test]
fn kept_parts_with_a_hole_neither_stop_the_replica_nor_outlive_a_deletion() {
    let (_folder, store) = open();
    let parts = parts_of_large_entry();
    let mut entries: Vec<_> = (1..).zip(parts).map(|(seq, part)| LogEntry { payload: part, ..tracks(seq) }).collect();
    let last = entries.len() as u64;
    // Another process of this machine applied the second part.
    let own: Vec<u64> = (1..=last).filter(|seq| *seq != 2).collect();
    entries.push(tracks(last + 1));
    let key = fixtures::new(1).params.key("default");
    let deletion = vec![Operation::Delete { transactions: vec![key] }];
    entries.push(LogEntry { payload: entry(last + 2, deletion).payload, ..tracks(last + 2) });
    replicate(&store, TEAM, entries, own).unwrap();
    assert_eq!(store.reader().unwrap().own_entries().unwrap(), []);
}

#[test]
fn deletion_finds_own_entries_under_a_former_source_chain_and_keeps_those_of_another_transaction() {
    let (_folder, store) = open();
    let on = |from: &str| {
        let from_chain = ChainId::new(from);
        TransactionParams { from_chain, ..fixtures::params(1) }
    };
    let track = |seq, from: &str| {
        entry(seq, vec![Operation::Track { profile: "default".into(), transactions: vec![on(from).into()] }])
    };
    let corrected = Edit::CorrectSource { transactions: vec![on("1").key("default")], chain: on("10").from_chain };
    let entries = vec![
        track(1, "1"),
        entry(2, vec![Operation::Edit { profile: "default".into(), edit: corrected }]),
        track(3, "56"),
        entry(4, vec![Operation::Delete { transactions: vec![on("10").key("default")] }]),
    ];
    replicate(&store, TEAM, entries, vec![1, 3]).unwrap();
    let own = store.reader().unwrap().own_entries().unwrap();
    assert_eq!(own.iter().map(|own| own.position.seq).collect::<Vec<_>>(), [3]);
}

#[test]
fn loss_stays_known_until_it_is_closed_and_never_leaves_the_machine() {
    let (folder, store) = open();
    replicate(&store, TEAM, (1..=3).map(tracks).collect(), vec![3]).unwrap();
    let file = |name: &str| folder.path().join(name);
    store.write_snapshot(&file("one.db")).unwrap();
    let loss = LogLoss { entries: vec![tracks(3).position.nonce], notice: "lost 3".into(), is_open: true };
    store.load_snapshot(Some(&file("one.db")), TEAM, Some(&loss), false).unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(reader.own_entries().unwrap(), []);
    let kept = LogLoss { entries: vec![], ..loss };
    assert_eq!(reader.replica().unwrap().unwrap().loss, Some(kept.clone()));
    // A snapshot carries it neither to other machines nor away from this one.
    store.write_snapshot(&file("two.db")).unwrap();
    let (_other, other) = open();
    std::fs::copy(file("two.db"), file("three.db")).unwrap();
    other.load_snapshot(Some(&file("two.db")), TEAM, None, false).unwrap();
    assert_eq!(other.reader().unwrap().replica().unwrap().unwrap().loss, None);
    store.load_snapshot(Some(&file("three.db")), TEAM, None, false).unwrap();
    assert_eq!(reader.replica().unwrap().unwrap().loss, Some(kept));
    store.mark_loss_appended().unwrap();
    assert!(!reader.replica().unwrap().unwrap().loss.unwrap().is_open);
}

#[test]
fn operation_that_no_replica_could_read_is_not_encoded() {
    let track = |notes| NewTransaction { notes, ..fixtures::new(1) };
    let operation =
        |size: usize| Operation::Track { profile: "default".into(), transactions: vec![track(vec!["x".repeat(size)])] };
    let encode = |size| payload::encode(&[&Envelope::new(operation(size), Stamp::new(at(1), None))]);
    assert!(encode(1 << 20).is_ok());
    assert!(encode(64 << 20).unwrap_err().to_string().contains("64 MB, which is too large"));
}

/// Returns an entry with one line, as the log holds it.
fn line(seq: u64, line: &str) -> LogEntry {
    let mut payload = vec![0];
    payload.extend(zstd::encode_all(format!("{line}\n").as_bytes(), 3).unwrap());
    LogEntry { payload, ..tracks(seq) }
}

#[test]
fn entry_of_a_newer_format_is_refused_with_a_remedy_and_nothing_is_skipped() {
    let (_folder, store) = open();
    let unknown = |format: u16| {
        format!(
            r#"{{"format":{format},"at":"2026-01-01T00:00:00Z","author":null,"operation":{{"operation":"teleport"}}}}"#
        )
    };
    let refused = replicate(&store, TEAM, vec![tracks(1), line(2, &unknown(99)), tracks(3)], vec![]).unwrap_err();
    assert!(matches!(refused, StoreError::NewerFormat { found: 99, .. }), "{refused:?}");
    assert!(refused.to_string().starts_with("update hoptop on this machine: "), "{refused}");
    // A known operation counts as newer too: its effect may be another one.
    let known = Envelope {
        format: 99,
        ..Envelope::new(Operation::Undo { profile: "default".into() }, Stamp::new(at(1), None))
    };
    let refused = replicate(&store, TEAM, vec![line(1, &serde_json::to_string(&known).unwrap())], vec![]).unwrap_err();
    assert!(matches!(refused, StoreError::NewerFormat { found: 99, .. }), "{refused:?}");
    let damaged = replicate(&store, TEAM, vec![line(1, &unknown(1))], vec![]).unwrap_err();
    assert!(matches!(damaged, StoreError::Unpack(_)), "{damaged:?}");
    assert_eq!((count(&store), replicate(&store, TEAM, vec![tracks(1)], vec![]).unwrap()), (0, 1));
}
