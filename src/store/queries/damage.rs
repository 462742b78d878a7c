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
    pub column: &'static str,
    /// The row: the hash of its transaction, or else the profile.
    pub row: String,
}

/// The columns that are checked: the table and column, the owner of the row (SQL), and whether the column has JSON.
const CHECKED: &[(&str, &str, &str, bool)] = &[
    ("transactions.ticket", "ticket", "transaction_id", false),
    ("transactions.message", "message", "transaction_id", false),
    ("transactions.last_error", "last_error", "transaction_id", false),
    ("transactions.from_name", "from_name", "transaction_id", false),
    ("transactions.to_name", "to_name", "transaction_id", false),
    ("transactions.quote_id", "quote_id", "transaction_id", false),
    ("transactions.from_address", "from_address", "transaction_id", false),
    ("labels.label", "label", OF_TRANSACTION, false),
    ("notes.text", "text", OF_TRANSACTION, false),
    ("alerts.message", "message", "profile", false),
    ("pollers.state", "state", "profile", true),
    ("forecasts.evidence", "evidence", "profile", true),
    ("changes.what", "what", OF_TRANSACTION, true),
];
const OF_TRANSACTION: &str = "(SELECT transaction_id FROM transactions WHERE id = transaction_row)";

impl Reader {
    /// Returns at most `limit` values that can't be read. Reads all rows.
    pub fn damaged_values(&self, limit: usize) -> Result<Vec<DamagedValue>, StoreError> {
        let mut found = Vec::new();
        for (name, column, owner, is_json) in CHECKED {
            let table = name.split('.').next().unwrap_or_default();
            let test = if *is_json { format!("json_valid({column})") } else { format!("is_readable({column})") };
            let sql = format!("SELECT {owner} FROM {table} WHERE {column} IS NOT NULL AND NOT {test} LIMIT ?");
            let mut statement = self.db().prepare(&sql)?;
            let read = |row: &Row<'_>| Ok(DamagedValue { column: name, row: columns::lenient(row, 0)? });
            let rows = statement.query_map([limit.saturating_sub(found.len())], read)?;
            found.extend(rows.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(found)
    }
}
