//! Values that can't be read: texts that aren't UTF-8, and JSON that can't be parsed.
//!
//! Reading goes on without such a value, so `doctor` names them. A packed text (the body of an answer, a record) is checked
//! when it is read, not here.

use rusqlite::Row;

use crate::store::{error::StoreError, reader::Reader, tables::columns};

/// A value that can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedValue {
    /// The table and the column, `transactions.ticket`.
    pub column: String,
    /// The row: the hash of its transaction, or else the profile; empty if the row has neither.
    pub row: String,
}

/// The tables with their text columns, and what says whose a row is. The search index isn't a table: it is derived.
const TEXT_COLUMNS: &str = "
    SELECT tables.name, columns.name, CASE
        WHEN tables.name = 'transactions' THEN 'transaction_id'
        WHEN 'transaction_row' IN (SELECT name FROM pragma_table_info(tables.name))
            THEN '(SELECT transaction_id FROM transactions WHERE id = transaction_row)'
        WHEN 'profile' IN (SELECT name FROM pragma_table_info(tables.name)) THEN 'profile'
        ELSE '''''' END
    FROM pragma_table_list AS tables JOIN pragma_table_info(tables.name) AS columns
    WHERE tables.schema = 'main' AND tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%' ORDER BY tables.name = 'transactions' DESC, 1, 2";
/// The columns that hold JSON.
const JSON: [&str; 7] = [
    "changes.what",
    "chains.config",
    "edits.steps",
    "forecasts.evidence",
    "on_chain.reading",
    "pollers.state",
    "quotes.request",
];

impl Reader {
    /// Returns at most `limit` values that can't be read. Reads all rows of all tables.
    pub fn damaged_values(&self, limit: usize) -> Result<Vec<DamagedValue>, StoreError> {
        let mut found = Vec::new();
        let mut statement = self.db().prepare(TEXT_COLUMNS)?;
        let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        for (table, column, owner) in columns.collect::<Result<Vec<(String, String, String)>, _>>()? {
            let name = format!("{table}.{column}");
            let is_json = JSON.contains(&name.as_str());
            let test = if is_json { format!("json_valid({column})") } else { format!("is_readable({column})") };
            let sql = format!("SELECT {owner} FROM {table} WHERE typeof({column}) = 'text' AND NOT {test} LIMIT ?");
            let read = |row: &Row<'_>| Ok(DamagedValue { column: name.clone(), row: columns::lenient(row, 0)? });
            let mut statement = self.db().prepare(&sql)?;
            let rows = statement.query_map([limit.saturating_sub(found.len())], read)?;
            found.extend(rows.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(found)
    }
}
