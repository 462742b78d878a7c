//! Tests of stores in which single bits changed, as bad memory or a bad disk changes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use super::*;
use crate::domain::transaction::Transaction;

const PAGE: usize = 4_096;

/// Numbers that look random and are the same in every run.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as usize
    }

    fn flip(&mut self, bytes: &mut [u8]) -> usize {
        let at = self.below(bytes.len());
        bytes[at] ^= 1 << self.below(8);
        at / PAGE + 1
    }
}

/// Creates a closed store with `count` transactions, each with a ticket, a label, a note and two answers.
fn create(count: i64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hoptop.db");
    let store = Store::open_permanent(&path, at(0)).unwrap();
    let new = |number| {
        let mut new = fixtures::new(number);
        new.labels = vec!["vip".into()];
        new.params.ticket = Some(format!("SUP-{number}"));
        new
    };
    let rows = testing::track(&store, "default", (1..=count).map(new).collect(), at(0)).added.listed;
    testing::edit(
        &store,
        "default",
        Edit::AddNote { transactions: rows.clone(), text: "asked the provider".into() },
        at(1),
    );
    for row in rows {
        observe(&store, row, body(RouterStatus::Ongoing, 1), 5);
        observe(&store, row, body(RouterStatus::Success, 2), 10);
    }
    drop(store);
    (folder, path)
}

/// Flips bits of a copy of the store. Returns the path of the copy, and the numbers of the pages that were hit.
fn copy_with_flips(sound: &[u8], seed: u64, flips: usize, folder: &Path) -> (PathBuf, BTreeSet<usize>) {
    let mut numbers = RandomNumbers(seed);
    let mut bytes = sound.to_vec();
    let hit = (0..flips).map(|_| numbers.flip(&mut bytes)).collect();
    let copy = folder.join(format!("{flips}-{seed}/hoptop.db"));
    fs::create_dir(copy.parent().unwrap()).unwrap();
    fs::write(&copy, &bytes).unwrap();
    (copy, hit)
}

/// What is shown of a transaction.
type Shown = (Transaction, Vec<String>, Vec<Note>, Option<StoredBody>);

/// Reads all that is shown of the transactions.
fn shown(store: &Store) -> Result<Vec<Shown>, StoreError> {
    let reader = store.reader()?;
    let show = |tx: Transaction| {
        let history = reader.history(tx.id)?.iter().map(|line| format!("{line:?}")).collect();
        Ok((tx.clone(), history, reader.notes(tx.id, 9)?, reader.last_body(tx.id).ok().flatten()))
    };
    reader.load()?.0.into_iter().map(show).collect()
}

#[test]
fn flipped_bit_that_changes_shown_data_is_detected() {
    let (folder, path) = create(60);
    let sound = fs::read(&path).unwrap();
    let store = Store::open_permanent(&path, at(20)).unwrap();
    assert_eq!(store.reader().unwrap().damaged_values(9).unwrap(), []);
    let expected = shown(&store).unwrap();
    let mut changed = 0;
    for seed in 0..150 {
        let (copy, _) = copy_with_flips(&sound, seed, 1, folder.path());
        // Damage that prevents the opening is known.
        let Ok(store) = Store::open(&copy) else { continue };
        let Ok(now) = shown(&store) else { continue };
        if now == expected {
            continue;
        }
        changed += 1;
        let found = store.reader().unwrap().damaged_values(9);
        let is_known = store.check().is_ok_and(|found| found.is_some()) || found.is_ok_and(|found| !found.is_empty());
        let differing: Vec<_> = expected.iter().zip(&now).filter(|(before, now)| before != now).collect();
        assert!(is_known, "seed {seed}: {differing:?}");
    }
    assert!(changed > 10, "only {changed} flips changed anything");
}

#[test]
fn fifty_flipped_bits_lose_at_most_the_rows_of_their_pages() {
    let (folder, path) = create(2_000);
    let sound = fs::read(&path).unwrap();
    let db = Connection::open(&path).unwrap();
    let mut leaves =
        db.prepare("SELECT pageno, ncell FROM dbstat WHERE name = 'transactions' AND pagetype = 'leaf'").unwrap();
    let leaves: BTreeMap<usize, usize> =
        leaves.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap();
    let expected = shown(&Store::open(&path).unwrap()).unwrap();
    for seed in 0..8 {
        let (copy, hit) = copy_with_flips(&sound, seed, 50, folder.path());
        fs::write(paths::companion(&copy, ".presence"), "suspect flipped bits\n").unwrap();
        let store = Store::open_permanent(&copy, at(30)).unwrap();
        let on_pages: usize = hit.iter().filter_map(|page| leaves.get(page)).sum();
        let now = shown(&store).unwrap();
        assert!(now.len() + on_pages >= expected.len(), "seed {seed}: {} rows, {on_pages} on the pages", now.len());
        let params: Vec<_> = expected.iter().map(|(tx, ..)| (&tx.params, &tx.state.status, tx.state.polls)).collect();
        for (found, ..) in now {
            let is_intact = params.contains(&(&found.params, &found.state.status, found.state.polls));
            assert!(found.is_damaged || is_intact, "seed {seed}: {found:?}");
        }
    }
}
