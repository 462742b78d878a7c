//! The search index (`search`, `search_progress`, `search_outdated`): finds the transactions that contain three given
//! characters in a row, so that a part of a hash is found without reading every transaction.
//!
//! The index is derived, and filled while nothing else is written. It may name too many transactions, and must never
//! name too few: a search compares the texts of the transactions that it names.

use rusqlite::{CachedStatement, Connection, Row, params, types::ValueRef};

use super::{columns, quotes::RECEIVER};
use crate::{
    domain::{chains, filter::term, ids::RowId},
    store::{error::Result, statement::CachedStatements},
};

/// The SQL query for the transactions that may contain a text. The parameter is the text's [`SearchPlan::Index`]. The
/// notes of acknowledgements aren't in the index: people write few, and each ends with its alert.
pub(crate) const MAY_CONTAIN: &str = "SELECT rowid FROM search WHERE search MATCH ?
    UNION ALL SELECT transaction_row FROM search_outdated
    UNION ALL SELECT later.id FROM transactions AS later WHERE later.id > (SELECT indexed_to FROM search_progress)
    UNION ALL SELECT transaction_row FROM alerts WHERE cleared_at IS NULL AND acknowledged_note IS NOT NULL
        AND transaction_row IS NOT NULL";

/// The rows that are added in one commit: other writes wait this long.
const ROWS_PER_COMMIT: i64 = 500;
/// The number of rows outside the index from which they are added. Fewer rows are searched as fast without an index.
/// Small in tests, so that they reach it.
const MIN_BACKLOG: i64 = if cfg!(test) { 3 } else { 4_000 };
/// The most rows that are looked up one by one. From there on reading every transaction is as fast.
const MAX_CANDIDATES: i64 = 20_000;
/// The most groups of three characters that are looked up for a text. These tell more than enough apart.
const MAX_GROUPS: usize = 12;

/// How a text is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SearchPlan {
    /// In the transactions that [`MAY_CONTAIN`] returns for this expression.
    Index(String),
    /// In every transaction.
    Scan,
    /// In every transaction: the text is a part of a chain's name, and so of no hash.
    ScanForChain,
}

impl SearchPlan {
    /// Decides how to search for a text. Costs O(1) in the stored transactions.
    pub(crate) fn plan(db: &Connection, text: &str) -> Self {
        Self::try_plan(db, &text.to_lowercase()).unwrap_or_else(|error| {
            // A query that a newer one replaces is interrupted.
            if !error.is_interruption() {
                tracing::warn!("the search index can't be used: {error}");
            }
            Self::Scan
        })
    }

    fn try_plan(db: &Connection, lower: &str) -> Result<Self> {
        let is_shipped = chains::all().iter().any(|chain| term::contains_ignoring_case(&chain.name, lower));
        if is_shipped || db.has_row("SELECT 1 FROM chains WHERE contains_ignoring_case(?, name)", [lower])? {
            return Ok(Self::ScanForChain);
        }
        Self::for_parts(db, &[lower])
    }

    /// Decides how to search for a hash that contains these parts, in lower case.
    pub(crate) fn for_parts(db: &Connection, parts: &[&str]) -> Result<Self> {
        let Some(expression) = expression(parts) else { return Ok(Self::Scan) };
        let candidates = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)";
        let candidates: i64 = db.one(candidates, params![expression, MAX_CANDIDATES], |row| row.get(0))?;
        let is_quick = candidates + backlog(db, MAX_CANDIDATES)? < MAX_CANDIDATES;
        Ok(if is_quick { Self::Index(expression) } else { Self::Scan })
    }
}

/// Returns the index's expression for texts that contain all parts; `None` if the index can't tell.
fn expression(parts: &[&str]) -> Option<String> {
    // The index folds other letters in its own way.
    let is_plain = |letter: char| letter.is_ascii_graphic() || letter == ' ';
    if !parts.iter().all(|part| part.chars().all(is_plain)) {
        return None;
    }
    let groups: Vec<&str> =
        parts.iter().flat_map(|part| (0..part.len()).filter_map(|start| part.get(start..start + 3))).collect();
    let step = groups.len().div_ceil(MAX_GROUPS).max(1);
    let quoted: Vec<String> =
        groups.iter().step_by(step).map(|group| format!("\"{}\"", group.replace('"', "\"\""))).collect();
    (!quoted.is_empty()).then(|| quoted.join(" AND "))
}

/// Returns the number of rows outside the index, and `limit` for more.
fn backlog(db: &Connection, limit: i64) -> Result<i64> {
    let sql = "SELECT (SELECT count(*) FROM (SELECT 1 FROM search_outdated LIMIT ?1))
        + max(0, ifnull((SELECT max(id) FROM transactions), 0) - (SELECT indexed_to FROM search_progress))";
    Ok(db.one(sql, [limit], |row| row.get::<_, i64>(0))?.min(limit))
}

/// Whether enough rows are outside the index to add them.
pub(crate) fn is_behind(db: &Connection) -> Result<bool> {
    Ok(backlog(db, MIN_BACKLOG)? >= MIN_BACKLOG)
}

/// Adds some of the rows outside the index.
pub(crate) fn extend(db: &Connection) -> Result<()> {
    let outdated = select("WHERE id IN (SELECT transaction_row FROM search_outdated ORDER BY 1 LIMIT ?) ORDER BY id");
    let mut insert = db.prepare_cached("INSERT INTO search (rowid, texts) VALUES (?, ?)")?;
    add(db, &mut insert, &outdated, ROWS_PER_COMMIT)?;
    let sql = "DELETE FROM search_outdated WHERE transaction_row IN
        (SELECT transaction_row FROM search_outdated ORDER BY 1 LIMIT ?)";
    let room = ROWS_PER_COMMIT - i64::try_from(db.change(sql, [ROWS_PER_COMMIT])?).unwrap_or_default();
    let later = select("WHERE id > (SELECT indexed_to FROM search_progress) ORDER BY id LIMIT ?");
    if let Some(last) = add(db, &mut insert, &later, room)? {
        db.run("UPDATE search_progress SET indexed_to = ?", [last])?;
    }
    Ok(())
}

/// Adds the rows of a query to the index. Returns the last row.
fn add(db: &Connection, insert: &mut CachedStatement<'_>, query: &str, limit: i64) -> Result<Option<i64>> {
    let mut select = db.prepare_cached(query)?;
    let (mut rows, mut last) = (select.query([limit])?, None);
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        insert.execute(params![id, texts(row)?])?;
        last = Some(id);
    }
    Ok(last)
}

/// Empties the index if it has one of these transactions: it may have earlier texts of them, which nothing else knows.
/// Nothing of them stays in the file if `secure_delete` is set.
pub(crate) fn forget(db: &Connection, rows: &[RowId]) -> Result<()> {
    let indexed_to: i64 = db.one("SELECT indexed_to FROM search_progress", [], |row| row.get(0))?;
    if rows.iter().all(|row| row.0 > indexed_to) {
        return Ok(());
    }
    Ok(db.execute_batch(
        "INSERT INTO search (search) VALUES ('delete-all');
         UPDATE search_progress SET indexed_to = 0;
         DELETE FROM search_outdated",
    )?)
}

/// Returns the SQL for the row numbers and the texts of transactions.
fn select(condition: &str) -> String {
    format!(
        "SELECT id, transaction_id, transaction_key, quote_id, request_id, from_address, ticket, from_chain, to_chain,
         from_name, to_name,
         (SELECT group_concat(label, char(10)) FROM labels WHERE transaction_row = transactions.id),
         (SELECT group_concat(text, char(10)) FROM notes WHERE transaction_row = transactions.id),
         (SELECT group_concat(value, char(10)) FROM identifiers WHERE transaction_row = transactions.id),
         (SELECT group_concat({RECEIVER}, char(10)) FROM quotes
          WHERE quotes.profile = transactions.profile AND quotes.quote_id = transactions.quote_id)
         FROM transactions {condition}"
    )
}

/// Returns the texts of a transaction in lower case, without those that other texts contain.
fn texts(row: &Row<'_>) -> Result<String> {
    let mut texts = String::new();
    for column in 1..row.as_ref().column_count() {
        let value @ ValueRef::Text(_) = row.get_ref(column)? else { continue };
        let text = columns::readable(value).to_lowercase();
        if !texts.contains(&text) {
            texts.push_str(&text);
            texts.push('\n');
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expression_has_the_groups_of_each_part() {
        assert_eq!(expression(&["7f3a"]).unwrap(), r#""7f3" AND "f3a""#);
        assert_eq!(expression(&["0x7", "f\"1"]).unwrap(), r#""0x7" AND "f""1""#);
        assert_eq!(expression(&["7f"]), None);
        assert_eq!(expression(&["ärger"]), None);
        let long = expression(&["0123456789abcdef".repeat(4).as_str()]).unwrap();
        assert!(long.split(" AND ").count() <= MAX_GROUPS, "{long}");
    }
}
