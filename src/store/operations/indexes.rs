//! The indexes of the transactions, dropped while a batch is written that is larger than the store.
//!
//! Each row that is written into an index by itself goes to a page of its own; sorting them all at the end takes a fraction of
//! that. It must never happen outside a transaction, nor drop what keeps a transaction unique unless nothing of the batch is
//! stored.

use rusqlite::Connection;

use crate::store::error::StoreError;

/// So many rows are written quickly either way.
const LEAST: u64 = 4_000;

/// Those that new rows enter, in another order than they come in.
const ENTERED: [&str; 4] =
    ["transactions_by_urgency", "transactions_active", "transactions_by_status", "transactions_by_ticket"];

/// What keeps a transaction unique.
const KEY: [&str; 1] = ["transactions_by_key"];

/// How much of a batch is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Novelty {
    /// All of it.
    All,
    /// About so many rows, by its beginning; at least one isn't.
    About(u64),
}

/// The indexes as they are to be made again.
pub(super) struct ToRestore {
    made: Vec<String>,
    all_new: bool,
}

/// Drops the indexes for a batch of so many rows of which no two are the same transaction, if making them again takes less
/// than to keep them.
///
/// Everybody else goes on reading with them until the transaction ends; if it fails, they were never away. `novelty` looks
/// how much of the batch is new; it is asked only if that may help.
pub(super) fn drop_for(
    db: &Connection,
    rows: u64,
    novelty: impl FnOnce() -> Result<Novelty, StoreError>,
) -> Result<ToRestore, StoreError> {
    // All that is stored has to be sorted then. The highest number is at least their count, and read at once.
    let stored: u64 = db.query_row("SELECT ifnull(max(id), 0) FROM transactions", [], |row| row.get(0))?;
    let least = LEAST.max(stored);
    let novelty = match stored {
        _ if rows < least => Novelty::About(rows),
        0 => Novelty::All,
        _ => novelty()?,
    };
    let (entered, key): (&[&str], &[&str]) = match novelty {
        Novelty::All => (&ENTERED, &KEY),
        Novelty::About(new) if new < least => (&[], &[]),
        Novelty::About(_) => (&ENTERED, &[]),
    };
    let dropped = |name: &&str| -> rusqlite::Result<String> {
        let sql = "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = ?";
        let made = db.query_row(sql, [name], |row| row.get(0))?;
        db.execute_batch(&format!("DROP INDEX {name}"))?;
        Ok(made)
    };
    let made = entered.iter().chain(key).map(dropped).collect::<rusqlite::Result<_>>()?;
    Ok(ToRestore { made, all_new: novelty == Novelty::All })
}

impl ToRestore {
    /// Whether nothing of the batch is stored yet: what would tell is among them.
    pub(super) fn all_new(&self) -> bool {
        self.all_new
    }

    /// Makes them again as they were.
    pub(super) fn restore(self, db: &Connection) -> Result<(), StoreError> {
        self.made.iter().try_for_each(|made| Ok(db.execute_batch(made)?))
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
    fn a_batch_larger_than_the_store_leaves_the_indexes_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let store = Store::open(&path).unwrap();
        let db = Connection::open(&path).unwrap();
        let made = indexes(&db);
        let filter = Filter::parse("ticket:sup-3 sort:due").unwrap();
        // A reader keeps its statements.
        let reader = store.reader().unwrap();
        assert_eq!(reader.listing(&filter, NOW).count().unwrap(), 0);
        let report = track(&store, 0..4_200);
        assert_eq!((report.added.count, indexes(&db)), (4_200, made.clone()));
        assert_eq!(reader.listing(&filter, NOW).count().unwrap(), 600);
        // Whether many were written at once, or the rest of them one by one.
        for number in [0, 31, 32, 4_191, 4_192, 4_199] {
            let labelled = Filter::parse(&format!("label:of-{number}")).unwrap();
            let rows = reader.listing(&labelled, NOW).all().unwrap();
            let hashes: Vec<_> =
                rows.iter().map(|row| reader.transaction(*row).unwrap().unwrap().params.transaction_id).collect();
            assert_eq!(hashes, [TxHash::new(format!("0x{number:064x}"))]);
        }
        assert_eq!(db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
        // More that is new, beside what is there.
        let report = track(&store, 5_000..9_500);
        assert_eq!((report.added.count, indexes(&db)), (4_500, made.clone()));
        assert_eq!(db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
        // Again, and more than there is: all but a few is known, and found as such.
        let report = track(&store, 0..9_600);
        assert_eq!((report.added.count, report.unchanged.count, indexes(&db)), (900, 8_700, made.clone()));
        // And twice as much, of which some is known here and there.
        let report = track(&store, 9_500..29_500);
        assert_eq!((report.added.count, report.unchanged.count, indexes(&db)), (19_900, 100, made));
    }

    #[test]
    fn only_before_what_a_batch_outweighs_are_they_dropped_and_come_back_if_it_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hoptop.db");
        let store = Store::open(&path).unwrap();
        let mut db = Connection::open(&path).unwrap();
        let made = indexes(&db);
        let dropped = |db: &mut Connection, rows, novelty| {
            let batch = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
            let dropped = drop_for(&batch, rows, || Ok(novelty)).unwrap();
            assert_eq!(indexes(&batch).len() + dropped.made.len(), made.len());
            dropped.made.len()
        };
        assert_eq!(dropped(&mut db, LEAST - 1, Novelty::All), 0);
        assert_eq!(dropped(&mut db, LEAST, Novelty::About(0)), ENTERED.len() + 1);
        assert_eq!(indexes(&db), made);
        track(&store, 0..4_100);
        assert_eq!(dropped(&mut db, 4_099, Novelty::All), 0);
        assert_eq!(dropped(&mut db, 4_200, Novelty::About(4_099)), 0);
        assert_eq!(dropped(&mut db, 4_200, Novelty::About(4_100)), ENTERED.len());
        assert_eq!(dropped(&mut db, 4_100, Novelty::All), ENTERED.len() + 1);
    }
}
