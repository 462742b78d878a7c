//! How a connection is opened: permissions, pragmas, the checks before anything is read.
//!
//! It must never open the live file by ordinary I/O: closing it would drop SQLite's locks.

use std::{io, path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

use super::{error::StoreError, functions, migrate};
use crate::private;

/// `hopt` in ASCII: what `PRAGMA application_id` says of a hoptop store.
const APPLICATION_ID: i64 = 0x686f_7074;
/// Earlier ones can corrupt a WAL with two writers.
const LEAST_SQLITE: i32 = 3_051_003;
/// How long a writer waits for another process's; a reader of a WAL never has to.
const PATIENCE: Duration = Duration::from_secs(30);

/// Opens the store for its one writer, making and migrating it as needed.
pub(super) fn open_for_writing(path: &Path) -> Result<Connection, StoreError> {
    if rusqlite::version_number() < LEAST_SQLITE {
        return Err(StoreError::OldLibrary(rusqlite::version()));
    }
    make_private(path).map_err(|source| StoreError::Create { path: path.to_owned(), source })?;
    let fault = |source| StoreError::Open { path: path.to_owned(), source };
    let mut connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(fault)?;
    connection.busy_timeout(PATIENCE).map_err(fault)?;
    claim(&connection, path)?;
    connection.pragma_update(None, "journal_mode", "wal").map_err(fault)?;
    guard(&connection).map_err(fault)?;
    migrate::migrate(&mut connection, path)?;
    Ok(connection)
}

/// Opens an existing store for reading.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, StoreError> {
    let fault = |source| StoreError::Open { path: path.to_owned(), source };
    let connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(fault)?;
    connection.busy_timeout(PATIENCE).map_err(fault)?;
    guard(&connection).map_err(fault)?;
    Ok(connection)
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
fn claim(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let fault = |source| StoreError::Open { path: path.to_owned(), source };
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(fault);
    let version = number("user_version")?;
    match number("application_id")? {
        APPLICATION_ID if version > migrate::LATEST => {
            Err(StoreError::Newer { path: path.to_owned(), found: version, known: migrate::LATEST })
        }
        APPLICATION_ID => Ok(()),
        0 if version == 0 && number("schema_version")? == 0 => {
            connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(fault)
        }
        _ => Err(StoreError::Foreign { path: path.to_owned() }),
    }
}

/// Makes the folder (0700) and an empty file (0600) where there is none.
fn make_private(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private::make_folder(folder)?;
    }
    match private::file_options().write(true).create_new(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
