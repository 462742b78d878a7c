//! Opens a damaged store for reading, with a header and table definitions that SQLite can read.
//!
//! Only a copy is repaired: this module must never write to the damaged file.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};
use tempfile::TempDir;

use super::{migrate, paths, sql_functions};
use crate::process::files;

/// A damaged store that can be read in part, or a copy of it.
pub(crate) struct RecoverySource {
    pub(crate) connection: Connection,
    /// The copy, in a folder that is removed when this value is dropped; `None` if the damaged file itself is read.
    copy: Option<DamagedCopy>,
}

struct DamagedCopy {
    path: PathBuf,
    _folder: TempDir,
}

/// Opens a damaged store. If its header is unreadable, opens a copy with the header of a sound store. Returns `None` if
/// the copy is unreadable too.
pub(crate) fn open(damaged: &Path, sound: &Path) -> Option<RecoverySource> {
    let in_place = || Ok(RecoverySource { connection: connect(damaged)?, copy: None });
    let opened = in_place().or_else(|_: rusqlite::Error| repair_header(sound, damaged));
    opened.inspect_err(|error| tracing::error!("the damaged store {} can't be read: {error}", damaged.display())).ok()
}

/// Opens a store for reading as far as it can be read.
pub(super) fn connect(damaged: &Path) -> rusqlite::Result<Connection> {
    let source =
        Connection::open_with_flags(damaged, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    source.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // This setting lets SQLite read the tables whose schema entries are sound, and a truncated file up to its end.
    source.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true)?;
    source.pragma_update(None, "writable_schema", true)?;
    source.query_row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |_| Ok(()))?;
    sql_functions::register(&source)?;
    Ok(source)
}

/// Makes a copy of a damaged store and its log, with the header of a sound store.
fn repair_header(sound: &Path, damaged: &Path) -> rusqlite::Result<RecoverySource> {
    let repair = || {
        let copy = DamagedCopy::of(damaged)?;
        let mut header = [0; 100];
        File::open(sound)?.read_exact(&mut header)?;
        let mode = if paths::wal_size(damaged) > 0 { 2 } else { 1 };
        // SQLite keeps `user_version` in four bytes. The bytes after it belong to the next field.
        let version = u32::try_from(migrate::LATEST).unwrap_or_default().to_be_bytes();
        // The file format, the number of pages (0: by the file's size), no free pages, and the schema version.
        let parts: [(usize, &[u8]); 4] = [(18, &[mode, mode]), (28, &[0; 4]), (32, &[0; 8]), (60, &version)];
        for (at, bytes) in parts {
            let part = header.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len()));
            part.into_iter().for_each(|part| part.copy_from_slice(bytes));
        }
        File::options().write(true).open(&copy.path)?.write_all(&header)?;
        Ok(copy)
    };
    let copy = repair().map_err(unreadable)?;
    Ok(RecoverySource { connection: connect(&copy.path)?, copy: Some(copy) })
}

impl RecoverySource {
    /// Takes the definitions of tables from a store with the same schema version, in a copy, if the damaged store's
    /// definitions differ: one changed letter of a definition would hide all rows of its table.
    pub(crate) fn repair_definitions(&mut self, sound: &Connection, damaged: &Path) -> rusqlite::Result<()> {
        let known = definitions_of_all_versions()?;
        let found = definitions(&self.connection).unwrap_or_default();
        let is_lost = |(name, _): &&(String, String)| {
            // A definition of another version fits the rows that were written by it.
            !found.iter().any(|definition| definition.0 == *name && known.contains(definition))
        };
        let sound = definitions(sound)?;
        let lost: Vec<_> = sound.iter().filter(is_lost).collect();
        if lost.is_empty() {
            return Ok(());
        }
        let copy = match self.copy.take() {
            Some(copy) => copy,
            None => DamagedCopy::of(damaged).map_err(unreadable)?,
        };
        let copy = &self.copy.insert(copy).path;
        let writer = Connection::open(copy)?;
        writer.pragma_update(None, "writable_schema", true)?;
        for (name, definition) in lost {
            let sql = "UPDATE sqlite_schema SET type = 'table', name = ?1, tbl_name = ?1, sql = ?2
                       WHERE (name = ?1 OR sql = ?2) AND rootpage > 0 AND type NOT IN ('index', 'trigger', 'view')";
            // A part of the schema that can't be read stays as it is.
            if let Err(error) = writer.execute(sql, [name, definition]) {
                tracing::error!("the definition of {name} can't be repaired: {error}");
            }
        }
        drop(writer);
        self.connection = connect(copy)?;
        Ok(())
    }
}

/// Returns the name and the definition of each table that can be read.
fn definitions(db: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // The next row of a damaged schema may be sound.
    Ok(rows.flatten().collect())
}

/// Returns the definitions of the tables of every schema version.
fn definitions_of_all_versions() -> rusqlite::Result<BTreeSet<(String, String)>> {
    let mut db = Connection::open_in_memory()?;
    sql_functions::register(&db)?;
    let mut known = BTreeSet::new();
    for version in 1..=migrate::LATEST {
        migrate::migrate(&mut db, version)?;
        known.extend(definitions(&db)?);
    }
    Ok(known)
}

impl DamagedCopy {
    /// Copies a damaged store and its log.
    fn of(damaged: &Path) -> io::Result<Self> {
        let folder = tempfile::tempdir_in(files::folder_of(damaged))?;
        let path = folder.path().join("copy");
        fs::copy(damaged, &path)?;
        if paths::wal_size(damaged) > 0 {
            fs::copy(paths::companion(damaged, "-wal"), paths::companion(&path, "-wal"))?;
        }
        Ok(Self { path, _folder: folder })
    }
}

fn unreadable(error: io::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_with_a_sound_header_has_the_latest_schema_version() {
        let folder = tempfile::tempdir().unwrap();
        let [sound, damaged] = ["sound", "damaged"].map(|name| folder.path().join(name));
        migrate::migrate(&mut Connection::open(&damaged).unwrap(), migrate::LATEST).unwrap();
        // A new store in place of the damaged one, as it is before it gets its schema.
        Connection::open(&sound).unwrap().execute_batch("PRAGMA user_version = 1; VACUUM").unwrap();
        let mut bytes = fs::read(&damaged).unwrap();
        bytes[..100].fill(0xff);
        fs::write(&damaged, bytes).unwrap();
        assert!(connect(&damaged).is_err());
        let source = open(&damaged, &sound).unwrap();
        assert_eq!(migrate::version(&source.connection).unwrap(), migrate::LATEST);
        let header = fs::read(source.connection.path().unwrap()).unwrap();
        assert_eq!(header[64..68], [0; 4], "the next field is unchanged");
    }

    #[test]
    fn definitions_of_an_earlier_version_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let damaged = folder.path().join("damaged");
        let mut sound = Connection::open_in_memory().unwrap();
        sql_functions::register(&sound).unwrap();
        migrate::migrate(&mut sound, migrate::LATEST).unwrap();
        migrate::migrate(&mut Connection::open(&damaged).unwrap(), 3).unwrap();
        let mut source = open(&damaged, &damaged).unwrap();
        source.repair_definitions(&sound, &damaged).unwrap();
        // Their rows have other columns than today.
        assert!(column_count(&source.connection, "transactions") < column_count(&sound, "transactions"));
    }

    fn column_count(db: &Connection, table: &str) -> i64 {
        db.query_row("SELECT count(*) FROM pragma_table_xinfo(?)", [table], |row| row.get(0)).unwrap()
    }

    #[test]
    fn table_is_read_whose_entry_in_the_schema_was_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let damaged = folder.path().join("damaged");
        let mut sound = Connection::open_in_memory().unwrap();
        let mut db = Connection::open(&damaged).unwrap();
        for db in [&mut sound, &mut db] {
            migrate::migrate(db, migrate::LATEST).unwrap();
        }
        db.execute_batch("INSERT INTO pauses (profile, until) VALUES ('default', 7)").unwrap();
        drop(db);
        let intact = fs::read(&damaged).unwrap();
        let definition = b"CREATE TABLE pauses (";
        let at = intact.windows(definition.len()).position(|bytes| bytes == definition).unwrap();
        let read = |source: &RecoverySource| {
            let sql = "SELECT until FROM pauses WHERE profile = 'default'";
            source.connection.query_row(sql, [], |row| row.get::<_, i64>(0))
        };
        let column = at + intact[at..].windows(7).position(|bytes| bytes == b"profile").unwrap();
        // The entry's type, name and table come before the definition: `tablepausespauses`, and the number of the page.
        let entry = intact[..at].windows(11).rposition(|bytes| bytes == b"tablepauses").unwrap();
        for offset in [at, at + 13, column, entry, entry + 5, entry + 11] {
            let mut bytes = intact.clone();
            bytes[offset] ^= 1;
            fs::write(&damaged, &bytes).unwrap();
            let mut source = open(&damaged, &damaged).unwrap();
            // SQLite reads the definition, and not the columns before it.
            assert_eq!(read(&source).is_err(), offset >= at, "{offset}");
            source.repair_definitions(&sound, &damaged).unwrap();
            assert_eq!(read(&source).unwrap(), 7, "{offset}");
            assert_eq!(fs::read(&damaged).unwrap(), bytes);
        }
        fs::write(&damaged, &intact).unwrap();
        let mut source = open(&damaged, &damaged).unwrap();
        source.repair_definitions(&sound, &damaged).unwrap();
        assert!(source.copy.is_none(), "a store with sound definitions isn't copied");
    }
}
