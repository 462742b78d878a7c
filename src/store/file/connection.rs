//! How a connection is opened: permissions, pragmas, the checks before anything is read.
//!
//! It must never open the live file by ordinary I/O: closing it would drop SQLite's locks.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{
    integrity::{self, Depth},
    migrate, paths, sql_functions,
};
use crate::store::error::{self, PATIENCE, StoreError};

/// `hopt` in ASCII: what `PRAGMA application_id` says of a hoptop store.
pub(in crate::store) const APPLICATION_ID: i64 = 0x686f_7074;
/// Earlier ones can corrupt a WAL with two writers.
const LEAST_SQLITE: i32 = 3_051_003;
/// To so much the log is cut when it begins anew; one that is larger is asked to. Small in tests, so that they reach it.
pub(in crate::store) const LOG_LIMIT: u64 = if cfg!(test) { 256 << 10 } else { 64 << 20 };

/// Opens the store for its one writer, and makes it if there is none; its schema is as it was. `check` says how closely it is
/// checked first, `is_known` whether it was open before, so that it can't be without a schema.
pub(in crate::store) fn open_for_writing(
    path: &Path,
    check: Option<Depth>,
    is_known: bool,
) -> Result<Connection, StoreError> {
    if rusqlite::version_number() < LEAST_SQLITE {
        return Err(StoreError::OldLibrary(rusqlite::version()));
    }
    paths::make_private(path).map_err(|source| StoreError::Create { path: path.to_owned(), source })?;
    let has_log = paths::log_size(path) > 0;
    let fault = |error| StoreError::opening(path, &error);
    let connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(fault)?;
    // A store that is refused stays as it is: closing it must not bring the log of somebody else into it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log).map_err(fault)?;
    connection.busy_timeout(PATIENCE).map_err(fault)?;
    claim(&connection, path)?;
    // SQLite opens what is write protected for reading, and fails much later.
    if connection.is_readonly("main").map_err(fault)? {
        return Err(StoreError::ReadOnly { path: path.to_owned() });
    }
    check_file(&connection, path, check, is_known)?;
    connection.pragma_update(None, "journal_mode", "wal").map_err(fault)?;
    connection.pragma_update(None, "journal_size_limit", LOG_LIMIT).map_err(fault)?;
    guard(&connection).map_err(fault)?;
    Ok(connection)
}

/// Brings an open store to the newest schema; from then on closing it may bring its log into the file.
pub(in crate::store) fn finish_opening(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let fault = |error| StoreError::opening(path, &error);
    migrate::migrate(connection, migrate::LATEST).map_err(fault)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(fault)?;
    Ok(())
}

/// Checks a store as closely as is wanted.
fn check_file(connection: &Connection, path: &Path, check: Option<Depth>, is_known: bool) -> Result<(), StoreError> {
    let fault = |error| StoreError::opening(path, &error);
    let found = match check {
        Some(depth) => integrity::unsound(connection, depth).map_err(fault)?,
        None => None,
    };
    let is_blank = is_known && migrate::version(connection).map_err(fault)? == 0;
    let found = found.or(is_blank.then(|| "its log is gone, and with it all that it held".to_owned()));
    found.map_or(Ok(()), |reason| Err(StoreError::Damaged { path: path.to_owned(), reason }))
}

/// Opens an existing store for reading, also where nothing can be written.
pub(in crate::store) fn open_for_reading(path: &Path) -> Result<Connection, StoreError> {
    let fault = |error: rusqlite::Error| match error::is_damage(&error) {
        true => StoreError::from(error),
        false => StoreError::Open { path: path.to_owned(), reason: error::reason(&error) },
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = |place: &Path, flags| {
        let connection = Connection::open_with_flags(place, flags)?;
        connection.busy_timeout(PATIENCE)?;
        guard(&connection)?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok::<_, rusqlite::Error>(connection)
    };
    let open_unchanging = || open(&unchanging(path), flags | OpenFlags::SQLITE_OPEN_URI);
    if paths::is_backup(path) {
        return open_unchanging().map_err(fault);
    }
    let can_not_write = |error: &rusqlite::Error| {
        matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
            || error::wants_room(path, error)
    };
    match open(path, flags) {
        // What can't be written, and has no log, doesn't change.
        Err(error) if can_not_write(&error) && paths::log_size(path) == 0 => {
            open_unchanging().map_err(|_| fault(error))
        }
        opened => opened.map_err(fault),
    }
}

/// A store's name as SQLite takes it for a file that needs neither locks nor a log.
fn unchanging(path: &Path) -> PathBuf {
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    PathBuf::from(format!("file:{escaped}?immutable=1"))
}

/// Reads at one moment of the store, whatever is written meanwhile; within such a reading it is a part of that.
pub(in crate::store) fn snapshot<T>(
    connection: &Connection,
    read: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    struct Moment<'a>(&'a Connection);
    impl Drop for Moment<'_> {
        fn drop(&mut self) {
            let end = |how| self.0.prepare_cached(how).and_then(|mut statement| statement.execute([]));
            // A reading that is called off just now may fail to end, once; a fault may have ended it already.
            for how in ["COMMIT", "COMMIT", "ROLLBACK"] {
                if self.0.is_autocommit() {
                    return;
                }
                if let Err(error) = end(how) {
                    tracing::warn!("a reading of the store didn't end: {error}");
                }
            }
        }
    }
    if !connection.is_autocommit() {
        return read();
    }
    connection.prepare_cached("BEGIN")?.execute([])?;
    let _moment = Moment(connection);
    read()
}

/// Does work that touches pages all over the store, which goes many times faster if more of them fit into memory.
pub(in crate::store) fn with_room<T>(
    connection: &Connection,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    /// In KiB; negative, or it would count pages.
    const ROOM: i32 = -40 * 1024;
    let usual: i32 = connection.pragma_query_value(None, "cache_size", |row| row.get(0))?;
    connection.pragma_update(None, "cache_size", ROOM)?;
    let done = work();
    connection.pragma_update(None, "cache_size", usual)?;
    done
}

fn guard(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Otherwise a kept statement is prepared anew for each value that is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    sql_functions::register(connection)
}

/// Refuses a database that isn't ours, before anything in it is touched; marks a new one as ours.
pub(in crate::store) fn claim(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let fault = |error: rusqlite::Error| match error::is_damage(&error) {
        true => StoreError::Damaged { path: path.to_owned(), reason: error.to_string() },
        false => StoreError::opening(path, &error),
    };
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(fault);
    let version = number("user_version")?;
    match number("application_id")? {
        APPLICATION_ID if version > migrate::LATEST => {
            Err(StoreError::Newer { path: path.to_owned(), found: version, known: migrate::LATEST })
        }
        // The schema is read here, so that it is known to be readable.
        APPLICATION_ID => connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(fault),
        0 if version == 0 && number("schema_version")? == 0 => {
            connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(fault)
        }
        _ => Err(StoreError::Foreign { path: path.to_owned() }),
    }
}
