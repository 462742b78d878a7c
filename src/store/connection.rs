//! How a connection is opened: permissions, pragmas, the checks before anything is read.
//!
//! It must never open the live file by ordinary I/O: closing it would drop SQLite's locks.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{
    backup::{self, Depth},
    error::{self, PATIENCE, StoreError},
    functions, migrate,
};
use crate::process::files;

/// `hopt` in ASCII: what `PRAGMA application_id` says of a hoptop store.
pub(super) const APPLICATION_ID: i64 = 0x686f_7074;
/// Earlier ones can corrupt a WAL with two writers.
const LEAST_SQLITE: i32 = 3_051_003;
/// To so much the log is cut when it begins anew; one that is larger is asked to. Small in tests, so that they reach it.
pub(super) const LOG_LIMIT: u64 = if cfg!(test) { 256 << 10 } else { 64 << 20 };

/// How a store is opened for its writer.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// How closely it is looked at first.
    pub(super) check: Option<Depth>,
    /// When it is opened, if a backup comes before each change of its schema.
    pub(super) backup_at: Option<DateTime<Utc>>,
    /// Whether somebody had it open before, so that it can't be without a schema.
    pub(super) is_known: bool,
}

/// Opens the store for its one writer, making and migrating it as needed.
pub(super) fn open_for_writing(path: &Path, manner: Manner) -> Result<Connection, StoreError> {
    if rusqlite::version_number() < LEAST_SQLITE {
        return Err(StoreError::OldLibrary(rusqlite::version()));
    }
    make_private(path).map_err(|source| StoreError::Create { path: path.to_owned(), source })?;
    let has_log = log_size(path) > 0;
    let fault = |error| StoreError::opening(path, &error);
    let mut connection =
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
    look(&connection, path, manner)?;
    connection.pragma_update(None, "journal_mode", "wal").map_err(fault)?;
    connection.pragma_update(None, "journal_size_limit", LOG_LIMIT).map_err(fault)?;
    guard(&connection).map_err(fault)?;
    let version = migrate::version(&connection).map_err(fault)?;
    if let Some(at) = manner.backup_at.filter(|_| (1..migrate::LATEST).contains(&version)) {
        backup::before_migration(&connection, path, at)?;
    }
    migrate::migrate(&mut connection, migrate::LATEST).map_err(fault)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(fault)?;
    Ok(connection)
}

/// Looks at a store as closely as is wanted.
fn look(connection: &Connection, path: &Path, manner: Manner) -> Result<(), StoreError> {
    let fault = |error| StoreError::opening(path, &error);
    let found = match manner.check {
        Some(depth) => backup::unsound(connection, depth).map_err(fault)?,
        None => None,
    };
    let is_blank = manner.is_known && migrate::version(connection).map_err(fault)? == 0;
    let found = found.or(is_blank.then(|| "its log is gone, and with it all that it held".to_owned()));
    found.map_or(Ok(()), |reason| Err(StoreError::Damaged { path: path.to_owned(), reason }))
}

/// Opens an existing store for reading, also where nothing can be written.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, StoreError> {
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
    if backup::is_one(path) {
        return open_unchanging().map_err(fault);
    }
    let can_not_write = |error: &rusqlite::Error| {
        matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
            || error::wants_room(path, error)
    };
    match open(path, flags) {
        // What can't be written, and has no log, doesn't change.
        Err(error) if can_not_write(&error) && log_size(path) == 0 => open_unchanging().map_err(|_| fault(error)),
        opened => opened.map_err(fault),
    }
}

/// A store's name as SQLite takes it for a file that needs neither locks nor a log.
fn unchanging(path: &Path) -> PathBuf {
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    PathBuf::from(format!("file:{escaped}?immutable=1"))
}

/// Reads at one moment of the store, whatever is written meanwhile; within such a reading it is a part of that.
pub(super) fn at_one_moment<T>(
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
pub(super) fn with_room<T>(
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

/// Does work that deletes what nobody is to find in the file any more.
pub(super) fn wiping<T>(
    connection: &Connection,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.pragma_update(None, "secure_delete", true)?;
    let done = work();
    connection.pragma_update(None, "secure_delete", false)?;
    done
}

fn guard(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Otherwise a kept statement is prepared anew for each value that is bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    functions::teach(connection)
}

/// Refuses a database that isn't ours, before anything in it is touched; marks a new one as ours.
pub(super) fn claim(connection: &Connection, path: &Path) -> Result<(), StoreError> {
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

/// How many transactions a store holds.
pub(super) fn count(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT count(*) FROM transactions", [], |row| row.get(0))
}

/// The bytes of the store's log.
pub(super) fn log_size(store: &Path) -> u64 {
    companion(store, "-wal").metadata().map_or(0, |log| log.len())
}

/// A file that belongs to the store, named after it.
pub(super) fn companion(store: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(store);
    name.push(ending);
    PathBuf::from(name)
}

/// Makes the folder (0700) and an empty file (0600) where there is none.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        files::create_private_folder(folder)?;
    }
    match files::private_options().write(true).create_new(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
