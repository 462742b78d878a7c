//! Drops the indexes of the transactions and of the labels while a batch is written that is larger than the store.
//!
//! Each row that is inserted into an index goes to a different page. Building the index from all rows at the end takes
//! a fraction of that time. This must never happen outside a transaction. The unique index may be dropped only if
//! nothing of the batch is stored.

use rusqlite::Connection;

use crate::store::error::Result;

/// Batches with fewer rows are written quickly with or without the indexes.
const MIN_ROWS: u64 = 4_000;

/// Indexes whose order differs from the order in which rows arrive.
const SECONDARY_INDEXES: [&str; 5] = [
    "transactions_by_urgency",
    "transactions_active",
    "transactions_by_status",
    "transactions_by_ticket",
    "labels_by_label",
];

/// The index that keeps transactions unique.
const UNIQUE_INDEX: [&str; 1] = ["transactions_by_key"];

/// How much of a batch is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Novelty {
    /// Every row is new.
    All,
    /// About this many rows are new, estimated from the beginning of the batch. At least one row is stored already.
    About(u64),
}

/// The dropped indexes, as SQL that makes them again.
pub(super) struct DroppedIndexes {
    definitions: Vec<String>,
    /// Whether no row of the batch is stored yet. The unique index is dropped then, so SQLite can't detect a duplicate.
    pub(super) is_all_new: bool,
}

/// Drops indexes for a batch of this many rows, if making them again takes less time than maintaining them. No two rows
/// of the batch may be the same transaction.
///
/// Other connections keep using the indexes until the transaction ends; a rollback leaves the indexes as they were.
/// `novelty` estimates how much of the batch is new. It is called only if the estimate can matter.
pub(super) fn drop_before_import(
    db: &Connection,
    rows: u64,
    novelty: impl FnOnce() -> Result<Novelty>,
) -> Result<DroppedIndexes> {
    // Making an index again sorts every stored row. The highest row number is at least the row count, and is read at
    // once.
    let stored: u64 = db.query_row("SELECT ifnull(max(id), 0) FROM transactions", [], |row| row.get(0))?;
    let min_rows = MIN_ROWS.max(stored);
    let novelty = match stored {
        _ if rows < min_rows => Novelty::About(rows),
        0 => Novelty::All,
        _ => novelty()?,
    };
    let (secondary, unique): (&[&str], &[&str]) = match novelty {
        Novelty::All => (&SECONDARY_INDEXES, &UNIQUE_INDEX),
        Novelty::About(new) if new < min_rows => (&[], &[]),
        Novelty::About(_) => (&SECONDARY_INDEXES, &[]),
    };
    let drop_index = |name: &&str| -> rusqlite::Result<String> {
        let sql = "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?";
        let definition = db.query_row(sql, [name], |row| row.get(0))?;
        db.execute_batch(&format!("DROP INDEX {name}"))?;
        Ok(definition)
    };
    let definitions = secondary.iter().chain(unique).map(drop_index).collect::<rusqlite::Result<_>>()?;
    Ok(DroppedIndexes { definitions, is_all_new: novelty == Novelty::All })
}

impl DroppedIndexes {
    /// Makes the indexes again as they were.
    pub(super) fn restore(self, db: &Connection) -> Result<()> {
        self.definitions.iter().try_for_each(|definition| Ok(db.execute_batch(definition)?))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use chrono::{DateTime, Utc};
    use rusqlite::TransactionBehavior;

    use super::*;
    use crate::{
        domain::{batch::Batch, filter::Filter, fixtures, ids::TxHash},
        intake::ImportSpool,
        store::{ImportReport, Store},
    };

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    fn batch(rows: Range<u32>) -> Box<dyn Batch> {
        let mut spool = ImportSpool::new().unwrap();
        for number in rows {
            let mut new = fixtures::new(1);
            new.params.transaction_id = TxHash::new(format!("0x{number:064x}"));
            new.params.ticket = Some(format!("SUP-{}", number % 7));
            new.labels = vec![format!("of-{number}")];
            spool.put(String::new(), new).unwrap();
        }
        spool.finish(&mut |_| {}).unwrap()
    }

    fn track(store: &Store, rows: Range<u32>) -> ImportReport {
        store.track_batch("default", batch(rows), NOW).wait().unwrap().tracked().unwrap()
    }

    fn indexes(db: &Connection) -> Vec<String> {
        let sql = "SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name";
        db.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn batch_larger_than_the_store_leaves_the_indexes_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let store = Store::open(&path).unwrap();
        let db = Connection::open(&path).unwrap();
        let definitions = indexes(&db);
        let filter = Filter::parse("ticket:sup-3 sort:due").unwrap();
        // The reader keeps its prepared statements.
        let reader = store.reader().unwrap();
        assert_eq!(reader.listing(&filter, NOW).count().unwrap(), 0);
        let report = track(&store, 0..4_200);
        assert_eq!((report.added.count, indexes(&db)), (4_200, definitions.clone()));
        assert_eq!(reader.listing(&filter, NOW).count().unwrap(), 600);
        // Rows of the bulk inserts, and rows that were inserted one by one at the end.
        for number in [0, 31, 32, 4_191, 4_192, 4_199] {
            let labelled = Filter::parse(&format!("label:of-{number}")).unwrap();
            let rows = reader.listing(&labelled, NOW).all().unwrap();
            let hashes: Vec<_> =
                rows.iter().map(|row| reader.transaction(*row).unwrap().unwrap().params.transaction_id).collect();
            assert_eq!(hashes, [TxHash::new(format!("0x{number:064x}"))]);
        }
        assert_eq!(db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
        // More new rows, beside the stored rows.
        let report = track(&store, 5_000..9_500);
        assert_eq!((report.added.count, indexes(&db)), (4_500, definitions.clone()));
        assert_eq!(db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
        // More rows than the store has, of which most are stored.
        let report = track(&store, 0..9_600);
        assert_eq!((report.added.count, report.unchanged.count, indexes(&db)), (900, 8_700, definitions.clone()));
        // Twice as many rows as the store has, of which 100 are stored.
        let report = track(&store, 9_500..29_500);
        assert_eq!((report.added.count, report.unchanged.count, indexes(&db)), (19_900, 100, definitions));
    }

    #[test]
    fn indexes_are_dropped_only_for_batches_larger_than_the_store_and_return_after_a_rollback() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let store = Store::open(&path).unwrap();
        let mut db = Connection::open(&path).unwrap();
        let definitions = indexes(&db);
        let dropped = |db: &mut Connection, rows, novelty| {
            let batch = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
            let dropped = drop_before_import(&batch, rows, || Ok(novelty)).unwrap();
            assert_eq!(indexes(&batch).len() + dropped.definitions.len(), definitions.len());
            dropped.definitions.len()
        };
        assert_eq!(dropped(&mut db, MIN_ROWS - 1, Novelty::All), 0);
        assert_eq!(dropped(&mut db, MIN_ROWS, Novelty::About(0)), SECONDARY_INDEXES.len() + 1);
        assert_eq!(indexes(&db), definitions);
        track(&store, 0..4_100);
        assert_eq!(dropped(&mut db, 4_099, Novelty::All), 0);
        assert_eq!(dropped(&mut db, 4_200, Novelty::About(4_099)), 0);
        assert_eq!(dropped(&mut db, 4_200, Novelty::About(4_100)), SECONDARY_INDEXES.len());
        assert_eq!(dropped(&mut db, 4_100, Novelty::All), SECONDARY_INDEXES.len() + 1);
    }
}
