//! Damaged values: rows and packed texts with a wrong checksum, texts that aren't UTF-8, and JSON that can't be parsed.
//!
//! Reading goes on without such a value, so `doctor` names them.

use rusqlite::Row;

use crate::store::{
    error::Result,
    reader::Reader,
    statement::CachedStatements,
    tables::{columns, damage},
};

/// A damaged value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedValue {
    /// The table and the column, `transactions.ticket`; the table alone if a value of the row changed on the disk.
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
    /// Returns at most `limit` damaged values. Reads all rows of all tables.
    pub fn damaged_values(&self, limit: usize) -> Result<Vec<DamagedValue>> {
        let mut found = Vec::new();
        let mut find = |table: &str, column: String, owner: &str, condition: &str| -> Result<()> {
            let sql = format!("SELECT {owner} FROM {table} WHERE {condition} LIMIT ?");
            let read = |row: &Row<'_>| Ok(DamagedValue { column: column.clone(), row: columns::lenient(row, 0)? });
            found.extend(self.db().all(&sql, [limit.saturating_sub(found.len())], read)?);
            Ok(())
        };
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let text_columns: Vec<(String, String, String)> = self.db().all(TEXT_COLUMNS, [], read)?;
        for (table, column, owner) in &text_columns {
            let name = format!("{table}.{column}");
            let test = if JSON.contains(&name.as_str()) { "json_valid" } else { "is_readable" };
            find(table, name, owner, &format!("typeof({column}) = 'text' AND NOT {test}({column})"))?;
        }
        let mut tables: Vec<_> = text_columns.iter().map(|(table, _, owner)| (table, owner)).collect();
        tables.dedup();
        for (table, owner) in tables {
            for (column, condition) in damage::conditions(table) {
                let name = if column.is_empty() { table.clone() } else { format!("{table}.{column}") };
                find(table, name, owner, &condition)?;
            }
        }
        Ok(found)
    }
}
