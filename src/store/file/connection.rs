//! Opens connections: permissions, pragmas, and the checks before anything is read.
//!
//! This module must never open the live file by ordinary I/O: closing the file would drop SQLite's locks.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{
    integrity::{self, CheckDepth},
    lock_wait, migrate, paths, sql_functions,
};
use crate::store::{
    error::{self, Result, StoreError, StoreFault},
    statement::CachedStatements,
};

/// The value of `PRAGMA application_id` in a hoptop store: `hopt` in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x686f_7074;
/// The oldest usable version of SQLite: earlier versions can corrupt a WAL with two writers.
const MIN_SQLITE: i32 = 3_051_003;
/// The size, in bytes, above which a log is checkpointed and to which a restarted log is cut. Small in tests, so that
/// they reach it.
pub(crate) const LOG_LIMIT: u64 = if cfg!(test) { 256 << 10 } else { 64 << 20 };

/// Opens the store for its only writer, and creates the file if there is none. The schema isn't changed. `check` is the
/// depth of the check. `is_known` says whether the store was open before, so that it must have a schema.
pub(crate) fn open_for_writing(path: &Path, check: Option<CheckDepth>, is_known: bool) -> Result<Connection> {
    if rusqlite::version_number() < MIN_SQLITE {
        return Err(StoreError::OldLibrary(rusqlite::version()));
    }
    paths::create_private_file(path).map_err(|source| StoreError::Create { path: path.to_owned(), source })?;
    let has_wal = paths::wal_size(path) > 0;
    let fault = |error| StoreError::from_open_error(path, &error);
    let mut connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(fault)?;
    // A refused store must stay as it is: closing it must not copy another process's log into it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_wal).map_err(fault)?;
    lock_wait::wait_on(&mut connection).map_err(fault)?;
    claim(&connection, path)?;
    // SQLite silently opens a write-protected file for reading, and fails much later.
    if connection.is_readonly("main").map_err(fault)? {
        return Err(StoreFault::ReadOnly(path.to_owned()).into());
    }
    check_file(&connection, path, check, is_known)?;
    connection.pragma_update(None, "journal_mode", "wal").map_err(fault)?;
    connection.pragma_update(None, "journal_size_limit", LOG_LIMIT).map_err(fault)?;
    configure(&connection).map_err(fault)?;
    Ok(connection)
}

/// Migrates an open store to the latest schema. From then on, closing the connection may copy the log into the file.
pub(crate) fn finish_opening(connection: &mut Connection, path: &Path) -> Result<()> {
    let fault = |error| StoreError::from_open_error(path, &error);
    migrate::migrate(connection, migrate::LATEST).map_err(fault)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(fault)?;
    Ok(())
}

/// Checks a store to the given depth. A known store without a schema is damaged.
fn check_file(connection: &Connection, path: &Path, check: Option<CheckDepth>, is_known: bool) -> Result<()> {
    let fault = |error| StoreError::from_open_error(path, &error);
    let found = check.map_or(Ok(None), |depth| integrity::find_fault(connection, depth)).map_err(fault)?;
    let is_blank = is_known && migrate::version(connection).map_err(fault)? == 0;
    let found =
        found.or(is_blank.then(|| "its write-ahead log is missing; all changes in the log are lost".to_owned()));
    found.map_or(Ok(()), |reason| Err(StoreError::Damaged { path: path.to_owned(), reason }))
}

/// Opens an existing store for reading, even where nothing can be written.
pub(crate) fn open_for_reading(path: &Path) -> Result<Connection> {
    open_maybe_immutable(path).map(|(connection, _)| connection)
}

/// Like [`open_for_reading`]. Also returns whether the connection is immutable: it sees no later change, because nothing
/// could be written when it was opened.
pub(crate) fn open_maybe_immutable(path: &Path) -> Result<(Connection, bool)> {
    let fault = |error: rusqlite::Error| match error::is_damage(&error) {
        true => StoreError::from(error),
        false => StoreError::Open { path: path.to_owned(), reason: error::reason(&error) },
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = |path: &Path, flags| {
        let mut connection = Connection::open_with_flags(path, flags)?;
        lock_wait::wait_on(&mut connection)?;
        configure(&connection)?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok::<_, rusqlite::Error>(connection)
    };
    let open_as_immutable = || Ok((open(&immutable_uri(path), flags | OpenFlags::SQLITE_OPEN_URI)?, true));
    if paths::is_backup(path) {
        return open_as_immutable().map_err(fault);
    }
    let is_unwritable = |error: &rusqlite::Error| {
        matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
            || error::is_disk_full(path, error)
    };
    match open(path, flags) {
        // A file that can't be written and has no log doesn't change, so it can be opened as immutable.
        Err(error) if is_unwritable(&error) && paths::wal_size(path) == 0 => {
            open_as_immutable().map_err(|_: rusqlite::Error| fault(error))
        }
        opened => opened.map(|connection| (connection, false)).map_err(fault),
    }
}

/// Returns the URI that makes SQLite open a store without locks and without a log.
fn immutable_uri(path: &Path) -> PathBuf {
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    PathBuf::from(format!("file:{escaped}?immutable=1"))
}

/// Runs `read` in one snapshot of the store, unaffected by concurrent writes. Inside another snapshot `read` belongs to
/// it.
pub(crate) fn snapshot<T>(connection: &Connection, read: impl FnOnce() -> Result<T>) -> Result<T> {
    struct ReadTransaction<'a>(&'a Connection);
    impl Drop for ReadTransaction<'_> {
        fn drop(&mut self) {
            let end = |how| self.0.prepare_cached(how).and_then(|mut statement| statement.execute([]));
            // Ending a read that was just cancelled may fail once. A fault may have ended the read already.
            for how in ["COMMIT", "COMMIT", "ROLLBACK"] {
                if self.0.is_autocommit() {
                    return;
                }
                if let Err(error) = end(how) {
                    tracing::warn!("failed to end a read transaction of the store: {error}");
                }
            }
        }
    }
    if !connection.is_autocommit() {
        return read();
    }
    connection.run("BEGIN", [])?;
    let _transaction = ReadTransaction(connection);
    read()
}

/// Runs work that touches pages all over the store. A larger page cache makes such work many times faster.
pub(crate) fn with_large_cache<T>(connection: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
    /// In KiB: a negative value is a size, a positive value would be a number of pages.
    const CACHE_SIZE: i32 = -40 * 1024;
    let usual_size: i32 = connection.pragma_query_value(None, "cache_size", |row| row.get(0))?;
    connection.pragma_update(None, "cache_size", CACHE_SIZE)?;
    let done = work();
    connection.pragma_update(None, "cache_size", usual_size)?;
    done
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Otherwise a cached statement is prepared again for each value that is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    sql_functions::register(connection)
}

/// Refuses another program's database before anything in it is touched. Marks a new database as hoptop's.
pub(crate) fn claim(connection: &Connection, path: &Path) -> Result<()> {
    let fault = |error: rusqlite::Error| match error::is_damage(&error) {
        true => StoreError::Damaged { path: path.to_owned(), reason: error.to_string() },
        false => StoreError::from_open_error(path, &error),
    };
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(fault);
    let version = number("user_version")?;
    match number("application_id")? {
        APPLICATION_ID if version > migrate::LATEST => {
            Err(StoreError::Newer { path: path.to_owned(), found: version, known: migrate::LATEST })
        }
        // Reads the schema, so that an unreadable schema is found here.
        APPLICATION_ID => connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(fault),
        0 if version == 0 && number("schema_version")? == 0 => {
            connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(fault)
        }
        _ => Err(StoreError::Foreign { path: path.to_owned() }),
    }
}
