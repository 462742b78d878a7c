//! Copies the readable rows of a damaged store, table by table, into a sound store.
//!
//! This module knows no table by name, so that it works for every schema. Packed texts are the exception: they refer to
//! each other without SQLite's knowledge. It must never write to the damaged file.

use std::{collections::BTreeSet, path::Path};

use rusqlite::{Connection, ErrorCode, Row, params_from_iter, types::Value};

use super::recovery_source::connect;
use crate::store::tables::{columns, damage};

/// The most rows that are looked up one by one where a scan of the table can't continue.
const MAX_LOOKUPS: i64 = 1_000_000;

/// The result of copying the readable rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecoveredRows {
    /// The number of rows that were copied.
    pub(crate) rows: u64,
    /// Whether some tables, or parts of tables, couldn't be read.
    pub(crate) has_holes: bool,
}

/// Copies every row that can be read. The damaged store's row replaces the backup's row with the same key, since it is
/// newer, unless its checksum is wrong. A table that can be read whole replaces the backup's table, without rows that
/// were deleted since. Rows whose parent is lost are left out. Must be called in a transaction without foreign keys.
pub(crate) fn recover_rows(source: &Connection, target: &Connection) -> rusqlite::Result<RecoveredRows> {
    let mut recovered_rows = RecoveredRows::default();
    let is_newer = is_newer(source, target)?;
    for table in tables(target)? {
        let known: BTreeSet<String> = column_names(source, &table.name).unwrap_or_default().into_iter().collect();
        let shared: Vec<String> =
            column_names(target, &table.name)?.into_iter().filter(|name| known.contains(name)).collect();
        if shared.is_empty() {
            recovered_rows.has_holes = true;
            continue;
        }
        let mut recovery =
            TableRecovery { source, target, table: &table, columns: shared, recovered_rows: &mut recovered_rows };
        if is_newer && recovery.copy_whole()? {
            continue;
        }
        match table.has_rowid {
            true => recovery.copy_by_rowid()?,
            false => recovery.scan_both_ways()?,
        }
    }
    clear_unreadable(target)?;
    delete_orphans(target)?;
    raise_sequences(source, target)?;
    Ok(recovered_rows)
}

/// Takes over the highest row numbers that were ever used, as far as they can be read: no number is used again.
fn raise_sequences(source: &Connection, target: &Connection) -> rusqlite::Result<()> {
    let read = || -> rusqlite::Result<Vec<(String, i64)>> {
        let mut statement = source.prepare("SELECT name, seq FROM sqlite_sequence")?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    for (name, seq) in read().unwrap_or_default() {
        if target.execute("UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1", (&name, seq))? == 0 {
            target.execute(
                "INSERT INTO sqlite_sequence SELECT name, ?2 FROM sqlite_schema WHERE type = 'table' AND name = ?1",
                (&name, seq),
            )?;
        }
    }
    Ok(())
}

/// Replaces damaged rows by the same rows of another backup, where these are intact. Returns how many were replaced.
/// Must be called without foreign keys.
///
/// A row whose key belongs to another row by now stays as it is: the backup has it from before its key changed.
pub(crate) fn repair_rows(backup: &Path, target: &Connection) -> rusqlite::Result<u64> {
    let source = connect(backup)?;
    let mut repaired = 0;
    for table in tables(target)? {
        let columns = column_names(&source, &table.name)?;
        let names = columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let (name, key) = (quoted(&table.name), &table.key);
        let damaged_rows = format!("SELECT {key} FROM {name} WHERE {}", damage_in(target, &table.name));
        let mut statement = target.prepare(&damaged_rows)?;
        let key_length = statement.column_count();
        let keys: Vec<Vec<Value>> = statement.query_map([], |row| values_from(row, 0))?.collect::<Result<_, _>>()?;
        if keys.is_empty() || columns.is_empty() {
            continue;
        }
        let row = format!("({key}) = ({})", vec!["?"; key_length].join(", "));
        let intact = format!("{row} AND ({}) IS NOT TRUE", damage_in(&source, &table.name));
        let mut select = source.prepare(&format!("SELECT {names} FROM {name} WHERE {intact}"))?;
        let delete = format!("DELETE FROM {name} WHERE {row}");
        let placeholders = vec!["?"; columns.len()].join(", ");
        // The number of the row stays, also where it isn't a column.
        let rowid = if table.has_rowid { "rowid, " } else { "" };
        let insert =
            format!("INSERT INTO {name} ({rowid}{names}) VALUES ({}{placeholders})", rowid.replace("rowid", "?"));
        for key in keys {
            let mut rows = select.query(params_from_iter(&key))?;
            let Ok(Some(intact)) = rows.next() else { continue };
            let intact = values_from(intact, 0)?;
            let number = key.iter().filter(|_| table.has_rowid);
            target.execute_batch("SAVEPOINT repair")?;
            target.execute(&delete, params_from_iter(&key))?;
            let is_repaired = is_accepted(target.execute(&insert, params_from_iter(number.chain(&intact))))?;
            repaired += u64::from(is_repaired);
            target.execute_batch(if is_repaired { "RELEASE repair" } else { "ROLLBACK TO repair; RELEASE repair" })?;
        }
    }
    Ok(repaired)
}

/// Deletes the rows that are still damaged and that later answers bring again.
pub(crate) fn delete_refetchable(target: &Connection) -> rusqlite::Result<()> {
    damage::REFETCHED.iter().try_for_each(|table| {
        let sql = format!("DELETE FROM {} WHERE {}", quoted(table), damage_in(target, table));
        target.execute(&sql, []).map(drop)
    })
}

/// Returns the SQL condition for a damaged row of a table.
fn damage_in(db: &Connection, table: &str) -> String {
    let conditions = damage::conditions(table).into_iter().map(|(_, condition)| format!("({condition})"));
    // A store of an earlier schema has no checksums.
    let is_known = |condition: &String| db.prepare(&format!("SELECT {condition} FROM {}", quoted(table))).is_ok();
    let conditions: Vec<String> = conditions.filter(is_known).collect();
    if conditions.is_empty() { "0".to_owned() } else { conditions.join(" OR ") }
}

/// Whether the damaged store continued from the backup. A store that lost its log may be older: then a row that it
/// doesn't have wasn't deleted.
fn is_newer(source: &Connection, target: &Connection) -> rusqlite::Result<bool> {
    let mut statement = target.prepare("SELECT name, seq FROM sqlite_sequence")?;
    let mut last = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    let reached = |name: &str| {
        let sql = "SELECT max(seq) FROM sqlite_sequence WHERE name = ?";
        source.query_row(sql, [name], |row| row.get::<_, Option<i64>>(0)).ok().flatten()
    };
    last.try_fold(true, |newer, row| row.map(|(name, seq)| newer && reached(&name) >= Some(seq)))
}

struct TableDefinition {
    name: String,
    has_rowid: bool,
    /// The columns that order the rows.
    key: String,
}

fn tables(target: &Connection) -> rusqlite::Result<Vec<TableDefinition>> {
    let mut statement = target.prepare(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)))?;
    let table = |(name, is_without_rowid): (String, bool)| {
        let key = if is_without_rowid { primary_key(target, &name)? } else { "rowid".to_owned() };
        Ok(TableDefinition { name, has_rowid: !is_without_rowid, key })
    };
    rows.map(|row| row.and_then(table)).collect()
}

fn primary_key(db: &Connection, table: &str) -> rusqlite::Result<String> {
    let mut statement = db.prepare("SELECT name FROM pragma_table_xinfo(?) WHERE pk > 0 ORDER BY pk")?;
    let names = statement.query_map([table], |row| Ok(quoted(&row.get::<_, String>(0)?)))?;
    Ok(names.collect::<rusqlite::Result<Vec<_>>>()?.join(", "))
}

/// Returns the columns of a table that hold data of their own, without generated columns.
fn column_names(db: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = db.prepare("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// How a scan ended.
#[derive(PartialEq, Eq)]
enum ScanEnd {
    Whole,
    /// The scan can't continue.
    Torn,
}

struct TableRecovery<'a> {
    source: &'a Connection,
    target: &'a Connection,
    table: &'a TableDefinition,
    columns: Vec<String>,
    recovered_rows: &'a mut RecoveredRows,
}

impl TableRecovery<'_> {
    /// Replaces the table with the damaged store's if all of it can be read; otherwise changes nothing. Returns whether
    /// it did.
    fn copy_whole(&mut self) -> rusqlite::Result<bool> {
        let before = std::mem::take(self.recovered_rows);
        self.target.execute_batch("SAVEPOINT table_whole")?;
        self.delete_outdated()?;
        let order = format!("ORDER BY {}", self.table.key);
        let is_whole = self.scan(&order, &[], &mut |_| true)? == ScanEnd::Whole && !self.recovered_rows.has_holes;
        self.target.execute_batch(if is_whole {
            "RELEASE table_whole"
        } else {
            "ROLLBACK TO table_whole; RELEASE table_whole"
        })?;
        let rows = if is_whole { self.recovered_rows.rows } else { 0 };
        *self.recovered_rows = RecoveredRows { rows: before.rows + rows, ..before };
        Ok(is_whole)
    }

    /// Deletes the rows of the backup, except for those that the damaged store has with a wrong checksum.
    fn delete_outdated(&self) -> rusqlite::Result<()> {
        let table = quoted(&self.table.name);
        let damaged = || {
            let damage = damage_in(self.source, &self.table.name);
            let sql = format!("SELECT json_group_array(rowid) FROM {table} WHERE {damage}");
            self.source.query_row(&sql, [], |row| row.get::<_, String>(0))
        };
        // A table that can't be read to its end isn't copied whole.
        let damaged = if self.table.has_rowid { damaged().unwrap_or_default() } else { String::new() };
        match damaged.as_str() {
            "" | "[]" => self.target.execute(&format!("DELETE FROM {table}"), [])?,
            rows => {
                let sql = format!("DELETE FROM {table} WHERE rowid NOT IN (SELECT value FROM json_each(?))");
                self.target.execute(&sql, [rows])?
            }
        };
        Ok(())
    }

    /// Scans from both ends as far as each scan gets.
    fn scan_both_ways(&mut self) -> rusqlite::Result<()> {
        let key = self.table.key.clone();
        if self.scan(&format!("ORDER BY {key}"), &[], &mut |_| true)? == ScanEnd::Torn {
            let backwards = key.replace(", ", " DESC, ");
            self.scan(&format!("ORDER BY {backwards} DESC"), &[], &mut |_| true)?;
        }
        Ok(())
    }

    /// Scans from both ends, and looks up rows between them one by one: an unreadable page hides only its own rows.
    fn copy_by_rowid(&mut self) -> rusqlite::Result<()> {
        let (mut below, mut above) = (None, None);
        let upwards = &mut |rowid| {
            below = Some(rowid);
            true
        };
        if self.scan("ORDER BY rowid", &[], upwards)? == ScanEnd::Whole {
            return Ok(());
        }
        self.scan("ORDER BY rowid DESC", &[], &mut |rowid| {
            above = Some(rowid);
            below.is_none_or(|below| rowid > below)
        })?;
        let first = below.map_or(1, |below: i64| below.saturating_add(1));
        // One more than the highest rowid that the table ever had.
        let sql = "SELECT seq + 1 FROM sqlite_sequence WHERE name = ?";
        let after_last = || self.source.query_row(sql, [&self.table.name], |row| row.get(0)).ok();
        let last = above.or_else(after_last).unwrap_or(first);
        for rowid in first..last.min(first.saturating_add(MAX_LOOKUPS)) {
            self.scan("WHERE rowid = ?", &[rowid], &mut |_| true)?;
        }
        Ok(())
    }

    /// Copies rows, and passes each rowid to `wants_more`, until that returns `false`.
    fn scan(
        &mut self,
        order: &str,
        params: &[i64],
        wants_more: &mut dyn FnMut(i64) -> bool,
    ) -> rusqlite::Result<ScanEnd> {
        let names = self.columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let table = quoted(&self.table.name);
        let rowid = if self.table.has_rowid { "rowid" } else { "0" };
        let placeholders = vec!["?"; self.columns.len()].join(", ");
        let insert = |conflict: &str| format!("INSERT OR {conflict} INTO {table} ({names}) VALUES ({placeholders})");
        let mut replace = self.target.prepare_cached(&insert("REPLACE"))?;
        let mut add = self.target.prepare_cached(&insert("IGNORE"))?;
        let damage = damage_in(self.source, &self.table.name);
        let Ok(mut select) =
            self.source.prepare_cached(&format!("SELECT {rowid}, {damage}, {names} FROM {table} {order}"))
        else {
            return Ok(self.mark_torn());
        };
        let Ok(mut rows) = select.query(params_from_iter(params)) else { return Ok(self.mark_torn()) };
        let mut damaged_rows = Vec::new();
        let end = loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => break ScanEnd::Whole,
                Err(_) => break self.mark_torn(),
            };
            let Ok(rowid) = row.get(0) else { break self.mark_torn() };
            let is_damaged = columns::lenient(row, 1)?;
            let insert = if is_damaged { &mut add } else { &mut replace };
            // A value that isn't of the column's type was not written by hoptop.
            let values = values_from(row, 2)?;
            match is_accepted(insert.execute(params_from_iter(&values)))? {
                true => self.recovered_rows.rows += 1,
                false => self.recovered_rows.has_holes = true,
            }
            if is_damaged {
                damaged_rows.push(values);
            }
            if !wants_more(rowid) {
                break ScanEnd::Whole;
            }
        };
        // An intact row has replaced the backup's row if that had the key of the intact row, before its key changed.
        for values in damaged_rows {
            self.recovered_rows.has_holes |= !is_accepted(add.execute(params_from_iter(&values)))?;
        }
        Ok(end)
    }

    fn mark_torn(&mut self) -> ScanEnd {
        self.recovered_rows.has_holes = true;
        ScanEnd::Torn
    }
}

/// Reads the values of a row, from the column `first` on. A text that isn't UTF-8 loses the letters that can't be read,
/// and not its row.
fn values_from(row: &Row<'_>, first: usize) -> rusqlite::Result<Vec<Value>> {
    (first..row.as_ref().column_count()).map(|column| columns::lenient(row, column)).collect()
}

/// Returns whether the target accepted a row. An error that concerns only this row isn't returned, so that other rows
/// may still be copied.
fn is_accepted(inserted: rusqlite::Result<usize>) -> rusqlite::Result<bool> {
    match inserted {
        Ok(_) => Ok(true),
        Err(error) => match error.sqlite_error_code() {
            None | Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => Ok(false),
            Some(_) => Err(error),
        },
    }
}

/// Clears texts that can't be unpacked, because the dictionary or text that they depend on is lost. The other columns
/// of their rows stay.
fn clear_unreadable(target: &Connection) -> rusqlite::Result<()> {
    const TEXTS: [(&str, &str); 3] = [("observations", "body"), ("records", "body"), ("records", "record")];
    let clear = |table: &str, text: &str, column: &str, source: &str| {
        if !column_names(target, table)?.contains(&format!("{text}_{column}")) {
            return Ok(());
        }
        let sql = format!(
            "UPDATE {table} SET {text} = NULL, {text}_dictionary = NULL, {text}_base = NULL WHERE {text}_{column} IS NOT NULL
             AND {text}_{column} NOT IN (SELECT id FROM {source})"
        );
        target.execute(&sql, []).map(drop)
    };
    // Dictionaries come first: a base is packed with a dictionary.
    TEXTS.iter().try_for_each(|(table, text)| clear(table, text, "dictionary", "dictionaries"))?;
    TEXTS.iter().try_for_each(|(table, text)| clear(table, text, "base", "observations WHERE body IS NOT NULL"))
}

/// Deletes rows that refer to a lost row.
fn delete_orphans(target: &Connection) -> rusqlite::Result<()> {
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
