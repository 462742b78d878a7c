//! The schema's history: append-only SQL files, each applied in one transaction, counted by `user_version`.
//!
//! A migration that has landed is never edited, so that all existing stores are migrated in the same way.

use rusqlite::{Connection, TransactionBehavior};

const MIGRATIONS: &[&str] = &[
    include_str!("../../../assets/migrations/0001_first.sql"),
    include_str!("../../../assets/migrations/0002_routes.sql"),
    include_str!("../../../assets/migrations/0003_forecasts.sql"),
    include_str!("../../../assets/migrations/0004_history.sql"),
    include_str!("../../../assets/migrations/0005_snooze.sql"),
    include_str!("../../../assets/migrations/0006_checked.sql"),
    include_str!("../../../assets/migrations/0007_minutes.sql"),
    include_str!("../../../assets/migrations/0008_pauses.sql"),
    include_str!("../../../assets/migrations/0009_commits.sql"),
    include_str!("../../../assets/migrations/0010_heralds.sql"),
    include_str!("../../../assets/migrations/0011_authors.sql"),
    include_str!("../../../assets/migrations/0012_replica.sql"),
    include_str!("../../../assets/migrations/0013_people.sql"),
    include_str!("../../../assets/migrations/0014_identifiers.sql"),
    include_str!("../../../assets/migrations/0015_search.sql"),
    include_str!("../../../assets/migrations/0016_response_ids.sql"),
    include_str!("../../../assets/migrations/0017_checksums.sql"),
    include_str!("../../../assets/migrations/0018_on_chain.sql"),
    include_str!("../../../assets/migrations/0019_more_checksums.sql"),
    include_str!("../../../assets/migrations/0020_status_requests.sql"),
    include_str!("../../../assets/migrations/0021_ended_unseen.sql"),
];

/// The latest schema version that this hoptop knows.
pub(crate) const LATEST: i64 = MIGRATIONS.len() as i64;

/// Migrates the store to the schema version `target`, at most [`LATEST`]. If the process is killed, the store has the
/// schema before or after a step.
pub(crate) fn migrate(connection: &mut Connection, target: i64) -> rusqlite::Result<()> {
    // Read without the lock, so that opening a current store never waits for another process's writer.
    if version(connection)? >= target.min(LATEST) {
        return Ok(());
    }
    // To rebuild a table, a migration drops it, and foreign keys would then delete the rows that refer to it. The
    // setting can't be changed inside a transaction.
    connection.pragma_update(None, "foreign_keys", false)?;
    let outcome = apply_steps(connection, target);
    connection.pragma_update(None, "foreign_keys", true)?;
    outcome
}

fn apply_steps(connection: &mut Connection, target: i64) -> rusqlite::Result<()> {
    loop {
        // The version is read under the lock: another process may be migrating too.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version = version(&transaction)?;
        let step = usize::try_from(version).ok().filter(|_| version < target).and_then(|step| MIGRATIONS.get(step));
        let Some(step) = step else { return Ok(()) };
        transaction.execute_batch(step)?;
        if let Some(child) = find_table_with_orphans(&transaction)? {
            let reason = format!("schema {} would leave rows of `{child}` without their parent", version + 1);
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY);
            return Err(rusqlite::Error::SqliteFailure(code, Some(reason)));
        }
        transaction.pragma_update(None, "user_version", version + 1)?;
        transaction.commit()?;
    }
}

/// Returns the schema version of a store; 0 before the first migration.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Returns the name of a table with rows that refer to a missing row.
pub(crate) fn find_table_with_orphans(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let mut check = connection.prepare("PRAGMA foreign_key_check")?;
    let mut rows = check.query([])?;
    rows.next()?.map(|row| row.get(0)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts a row into each table of the schema `version`, so that a migration has something to lose.
    fn fill(connection: &mut Connection, version: i64) {
        let rows = [
            "INSERT INTO transactions (id, profile, transaction_key, transaction_id, from_chain, to_chain, quote_id,
             first_seen_at, status, record, settled_at, polls)
             VALUES (7, 'default', '0xab', '0xAb', '10', '8453', 'q', 1000, 'ongoing', NULL, NULL, 3),
                    (9, 'default', '0xcd', '0xCd', '10', '8453', 'q', 1000, NULL, NULL, NULL, 0);
             INSERT INTO labels VALUES (7, 'vip');
             INSERT INTO notes (transaction_row, at, text) VALUES (7, 1000, 'asked');
             INSERT INTO observations (transaction_row, first_at, last_at, summary, latency)
             VALUES (7, 1000, 1000, 'ongoing', 5);
             INSERT INTO changes (at, profile, transaction_row, event, what)
             VALUES (1000, 'default', 7, 'imported', '{\"event\":\"imported\"}');
             INSERT INTO alerts (profile, rule, transaction_row, raised_at, message)
             VALUES ('default', 'overdue', 7, 1000, 'late');",
            "INSERT INTO chains VALUES ('default', '10', 'OP', '{}', 1000);
             INSERT INTO quotes (profile, request, asked_at, wanted_until) VALUES ('default', '{}', 1000, 2000);",
            "INSERT INTO durations (profile, from_chain, to_chain, gmp, outcome, took, at)
             VALUES ('default', '10', '8453', 0, 'success', 60, 1000);
             INSERT INTO attention VALUES (42, 7, 5000);",
            "UPDATE alerts SET acknowledged_at = 2000, acknowledged_note = 'mine';
             INSERT INTO edits (at, profile, summary, steps) VALUES (2000, 'default', 'acknowledge 1 alert', '[]');",
        ];
        // Each insert runs in the first schema that has its tables, as in a store that existed from the beginning.
        for (rows, version) in rows.iter().chain(std::iter::repeat(&"")).zip(1..=version) {
            if version > 3 {
                migrate(connection, version).unwrap();
            }
            connection.execute_batch(rows).unwrap();
        }
    }

    fn severity_ranks(connection: &Connection) -> Vec<i64> {
        let mut statement = connection.prepare("SELECT calm FROM transactions ORDER BY id").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    fn count(connection: &Connection, table: &str) -> i64 {
        connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    /// Returns the schema as SQLite keeps it, in the order of names.
    fn schema(connection: &Connection) -> Vec<String> {
        let mut statement =
            connection.prepare("SELECT name || ifnull(sql, '') FROM sqlite_schema ORDER BY name").unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn older_stores_migrate_to_the_latest_schema_and_keep_their_rows() {
        let folder = tempfile::tempdir().unwrap();
        let fresh = &mut Connection::open(folder.path().join("fresh.db")).unwrap();
        migrate(fresh, LATEST).unwrap();
        for older in 1..LATEST {
            let connection = &mut Connection::open(folder.path().join(format!("{older}.db"))).unwrap();
            migrate(connection, older.min(3)).unwrap();
            fill(connection, older);
            assert_eq!(version(connection).unwrap(), older);
            migrate(connection, LATEST).unwrap();
            assert_eq!(version(connection).unwrap(), LATEST);
            assert_eq!(schema(connection), schema(fresh), "from {older}");
            assert_eq!(find_table_with_orphans(connection).unwrap(), None);
            let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(sound, "ok");
            for (table, rows) in [("transactions", 2), ("labels", 1), ("notes", 1), ("observations", 1), ("alerts", 1)]
            {
                assert_eq!(count(connection, table), rows, "{table} from {older}");
            }
            let sql = "SELECT id || quote_id || polls || status FROM transactions WHERE transaction_key = '0xab'";
            let kept: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
            assert_eq!(kept, "7q3ongoing");
            // Acknowledged alerts sort behind the others.
            assert_eq!(severity_ranks(connection), [if older < 4 { -3 } else { 0 }, 3]);
            let guarded: bool = connection.pragma_query_value(None, "foreign_keys", |row| row.get(0)).unwrap();
            assert!(guarded);
        }
    }

    #[test]
    fn rows_with_a_missing_parent_are_found() {
        let connection = &mut Connection::open_in_memory().unwrap();
        migrate(connection, 3).unwrap();
        fill(connection, 3);
        migrate(connection, LATEST).unwrap();
        assert_eq!(find_table_with_orphans(connection).unwrap(), None);
        connection.execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM transactions WHERE id = 7").unwrap();
        assert!(find_table_with_orphans(connection).unwrap().is_some());
    }
}
