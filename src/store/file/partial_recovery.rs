//! Copies the readable rows of a damaged store, table by table, into a sound one.
//!
//! The module knows no table by name, so that it works for every schema; except for the packed texts, which refer to each other
//! without SQLite's knowledge. It must never write to the damaged file.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use rusqlite::{Connection, OpenFlags, Row, config::DbConfig, params_from_iter, types::Value};
use tempfile::TempDir;

use super::{migrate, paths};

/// The most rows that are looked up one by one where a table can't be read on.
const MOST_LOOKUPS: i64 = 1_000_000;

/// What was brought over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct RecoveredRows {
    /// How many rows.
    pub(in crate::store) rows: u64,
    /// Whether there were tables, or parts of them, that couldn't be read.
    pub(in crate::store) has_holes: bool,
}

/// A damaged store that can be read in part, or a copy of it.
pub(in crate::store) struct Source {
    pub(in crate::store) connection: Connection,
    /// The copy's folder, which goes with it.
    _folder: Option<TempDir>,
}

/// Opens a damaged store so that it stays as it is; if not even its header can be read, a copy of it that has the header of a
/// sound one. Nothing if that doesn't help either.
pub(in crate::store) fn open(damaged: &Path, sound: &Path) -> Option<Source> {
    let in_place = || Ok(Source { connection: connect(damaged)?, _folder: None });
    let opened = in_place().or_else(|_: rusqlite::Error| with_header_of(sound, damaged));
    opened.inspect_err(|error| tracing::error!("nothing can be read of {}: {error}", damaged.display())).ok()
}

fn connect(damaged: &Path) -> rusqlite::Result<Connection> {
    let source =
        Connection::open_with_flags(damaged, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    source.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Tables whose own entry is whole are read though others are torn, and a file that was cut off up to its end.
    source.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true)?;
    source.pragma_update(None, "writable_schema", true)?;
    source.query_row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |_| Ok(()))?;
    Ok(source)
}

/// A copy of a damaged store, with its log, that has the header of a sound one.
fn with_header_of(sound: &Path, damaged: &Path) -> rusqlite::Result<Source> {
    let copy = || -> io::Result<_> {
        let folder = tempfile::tempdir_in(damaged.parent().unwrap_or(Path::new(".")))?;
        let copy = folder.path().join("copy");
        fs::copy(damaged, &copy)?;
        let log = paths::companion(damaged, "-wal");
        let has_log = log.metadata().is_ok_and(|log| log.len() > 0);
        if has_log {
            fs::copy(log, paths::companion(&copy, "-wal"))?;
        }
        let mut header = [0; 100];
        File::open(sound)?.read_exact(&mut header)?;
        let mode = if has_log { 2 } else { 1 };
        // How it is read, how many pages it has (as its size says), no free ones, and of which version it is.
        let parts: [(usize, &[u8]); 4] =
            [(18, &[mode, mode]), (28, &[0; 4]), (32, &[0; 8]), (60, &migrate::LATEST.to_be_bytes())];
        for (at, bytes) in parts {
            let part = header.get_mut(at..).and_then(|rest| rest.get_mut(..bytes.len()));
            part.into_iter().for_each(|part| part.copy_from_slice(bytes));
        }
        File::options().write(true).open(&copy)?.write_all(&header)?;
        Ok((folder, copy))
    };
    let (folder, copy) = copy().map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    Ok(Source { connection: connect(&copy)?, _folder: Some(folder) })
}

/// Brings over every row that can be read; of two with one key the damaged store's, which is the newer. A table that can be
/// read whole is as it was, without what was deleted since the backup. Rows whose parent is lost are left out. To be called
/// within a transaction without foreign keys.
pub(in crate::store) fn partial_recovery(source: &Connection, target: &Connection) -> rusqlite::Result<RecoveredRows> {
    let mut recovered_rows = RecoveredRows::default();
    let is_newer = is_newer(source, target)?;
    for table in tables(target)? {
        let known: BTreeSet<String> = columns(source, &table.name).unwrap_or_default().into_iter().collect();
        let shared: Vec<String> =
            columns(target, &table.name)?.into_iter().filter(|name| known.contains(name)).collect();
        if shared.is_empty() {
            recovered_rows.has_holes = true;
            continue;
        }
        let mut recovery =
            TableRecovery { source, target, table: &table, columns: shared, recovered_rows: &mut recovered_rows };
        if is_newer && recovery.whole()? {
            continue;
        }
        match table.has_rowid {
            true => recovery.by_rowid()?,
            false => recovery.both_ways()?,
        }
    }
    forget_unreadable(target)?;
    drop_orphans(target)?;
    Ok(recovered_rows)
}

/// Whether the damaged store went on from the backup. One that lost its log may be older: what it doesn't have was then not
/// deleted.
fn is_newer(source: &Connection, target: &Connection) -> rusqlite::Result<bool> {
    let mut statement = target.prepare("SELECT name, seq FROM sqlite_sequence")?;
    let mut last = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    let reached = |name: &str| {
        let sql = "SELECT max(seq) FROM sqlite_sequence WHERE name = ?";
        source.query_row(sql, [name], |row| row.get::<_, Option<i64>>(0)).ok().flatten()
    };
    last.try_fold(true, |newer, row| row.map(|(name, seq)| newer && reached(&name) >= Some(seq)))
}

struct Table {
    name: String,
    has_rowid: bool,
    /// What its rows are in the order of.
    key: String,
}

fn tables(target: &Connection) -> rusqlite::Result<Vec<Table>> {
    let mut statement = target.prepare(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)))?;
    let table = |(name, is_without_rowid): (String, bool)| {
        let key = if is_without_rowid { primary_key(target, &name)? } else { "rowid".to_owned() };
        Ok(Table { name, has_rowid: !is_without_rowid, key })
    };
    rows.map(|row| row.and_then(table)).collect()
}

fn primary_key(db: &Connection, table: &str) -> rusqlite::Result<String> {
    let mut statement = db.prepare("SELECT name FROM pragma_table_xinfo(?) WHERE pk > 0 ORDER BY pk")?;
    let names = statement.query_map([table], |row| Ok(quoted(&row.get::<_, String>(0)?)))?;
    Ok(names.collect::<rusqlite::Result<Vec<_>>>()?.join(", "))
}

/// The columns of a table that hold something of their own: generated ones follow.
fn columns(db: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = db.prepare("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// How a scan ended.
#[derive(PartialEq, Eq)]
enum End {
    Whole,
    /// There is no reading on from here.
    Torn,
}

struct TableRecovery<'a> {
    source: &'a Connection,
    target: &'a Connection,
    table: &'a Table,
    columns: Vec<String>,
    recovered_rows: &'a mut RecoveredRows,
}

impl TableRecovery<'_> {
    /// The table as it was, if all of it can be read; else nothing.
    fn whole(&mut self) -> rusqlite::Result<bool> {
        let before = std::mem::take(self.recovered_rows);
        self.target.execute_batch("SAVEPOINT table_whole")?;
        self.target.execute(&format!("DELETE FROM {}", quoted(&self.table.name)), [])?;
        let order = format!("ORDER BY {}", self.table.key);
        let is_whole = self.scan(&order, &[], &mut |_| true)? == End::Whole && !self.recovered_rows.has_holes;
        self.target.execute_batch(if is_whole {
            "RELEASE table_whole"
        } else {
            "ROLLBACK TO table_whole; RELEASE table_whole"
        })?;
        let rows = if is_whole { self.recovered_rows.rows } else { 0 };
        *self.recovered_rows = RecoveredRows { rows: before.rows + rows, ..before };
        Ok(is_whole)
    }

    /// From both ends as far as each goes.
    fn both_ways(&mut self) -> rusqlite::Result<()> {
        let key = self.table.key.clone();
        if self.scan(&format!("ORDER BY {key}"), &[], &mut |_| true)? == End::Torn {
            let backwards = key.replace(", ", " DESC, ");
            self.scan(&format!("ORDER BY {backwards} DESC"), &[], &mut |_| true)?;
        }
        Ok(())
    }

    /// From both ends, and between them one by one: a page that can't be read hides its own rows alone.
    fn by_rowid(&mut self) -> rusqlite::Result<()> {
        let (mut below, mut above) = (None, None);
        let upwards = &mut |rowid| {
            below = Some(rowid);
            true
        };
        if self.scan("ORDER BY rowid", &[], upwards)? == End::Whole {
            return Ok(());
        }
        self.scan("ORDER BY rowid DESC", &[], &mut |rowid| {
            above = Some(rowid);
            below.is_none_or(|below| rowid > below)
        })?;
        let first = below.map_or(1, |below: i64| below.saturating_add(1));
        let last = above.or_else(|| self.last_ever()).unwrap_or(first);
        for rowid in first..last.min(first.saturating_add(MOST_LOOKUPS)) {
            self.scan("WHERE rowid = ?", &[rowid], &mut |_| true)?;
        }
        Ok(())
    }

    /// One after the highest rowid that the table ever had.
    fn last_ever(&self) -> Option<i64> {
        let sql = "SELECT seq + 1 FROM sqlite_sequence WHERE name = ?";
        self.source.query_row(sql, [&self.table.name], |row| row.get(0)).ok()
    }

    /// Brings rows over until `wants_more` has enough, with each one's rowid.
    fn scan(&mut self, order: &str, params: &[i64], wants_more: &mut dyn FnMut(i64) -> bool) -> rusqlite::Result<End> {
        let names = self.columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let table = quoted(&self.table.name);
        let rowid = if self.table.has_rowid { "rowid" } else { "0" };
        let places = vec!["?"; self.columns.len()].join(", ");
        let insert = format!("INSERT OR REPLACE INTO {table} ({names}) VALUES ({places})");
        let mut insert = self.target.prepare_cached(&insert)?;
        let Ok(mut select) = self.source.prepare_cached(&format!("SELECT {rowid}, {names} FROM {table} {order}"))
        else {
            return Ok(self.torn());
        };
        let Ok(mut rows) = select.query(params_from_iter(params)) else { return Ok(self.torn()) };
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(End::Whole),
                Err(_) => return Ok(self.torn()),
            };
            let Ok(rowid) = row.get(0) else { return Ok(self.torn()) };
            // What isn't text, or not of the column's type, is none of ours.
            match values(row, self.columns.len()).and_then(|values| insert.execute(params_from_iter(values))) {
                Ok(_) => self.recovered_rows.rows += 1,
                Err(error) if is_of_the_row(&error) => self.recovered_rows.has_holes = true,
                Err(error) => return Err(error),
            }
            if !wants_more(rowid) {
                return Ok(End::Whole);
            }
        }
    }

    fn torn(&mut self) -> End {
        self.recovered_rows.has_holes = true;
        End::Torn
    }
}

fn values(row: &Row<'_>, count: usize) -> rusqlite::Result<Vec<Value>> {
    (1..=count).map(|column| row.get(column)).collect()
}

/// Whether a row can't be taken over, but others may.
fn is_of_the_row(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    code.is_none() || matches!(code, Some(rusqlite::ErrorCode::ConstraintViolation | rusqlite::ErrorCode::TypeMismatch))
}

/// Forgets texts that can't be unpacked any more, since what they were packed with is lost; what else stands in their rows
/// stays.
fn forget_unreadable(target: &Connection) -> rusqlite::Result<()> {
    const TEXTS: [(&str, &str); 3] = [("observations", "body"), ("records", "body"), ("records", "record")];
    let clear = |table: &str, text: &str, column: &str, source: &str| {
        if !columns(target, table)?.contains(&format!("{text}_{column}")) {
            return Ok(());
        }
        let sql = format!(
            "UPDATE {table} SET {text} = NULL, {text}_dictionary = NULL, {text}_base = NULL WHERE {text}_{column} IS NOT NULL
             AND {text}_{column} NOT IN (SELECT id FROM {source})"
        );
        target.execute(&sql, []).map(drop)
    };
    // First the dictionaries: a base is packed with one.
    TEXTS.iter().try_for_each(|(table, text)| clear(table, text, "dictionary", "dictionaries"))?;
    TEXTS.iter().try_for_each(|(table, text)| clear(table, text, "base", "observations WHERE body IS NOT NULL"))
}

/// Removes rows that refer to something that is lost.
fn drop_orphans(target: &Connection) -> rusqlite::Result<()> {
    for table in tables(target)? {
        let mut statement =
            target.prepare("SELECT \"table\", \"from\", ifnull(\"to\", 'rowid') FROM pragma_foreign_key_list(?)")?;
        let references = statement.query_map([&table.name], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
        })?;
        for reference in references {
            let (parent, from, to) = reference?;
            let (table, parent, from, to) = (quoted(&table.name), quoted(&parent), quoted(&from), quoted(&to));
            let sql = format!(
                "DELETE FROM {table} WHERE {from} IS NOT NULL AND NOT EXISTS
                 (SELECT 1 FROM {parent} AS parent WHERE parent.{to} = {table}.{from})"
            );
            target.execute(&sql, [])?;
        }
    }
    Ok(())
}
