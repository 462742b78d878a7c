//! The SQL conditions that find damaged values by their checksums.
//!
//! This module must never change a row.

use super::{alerts, chains, changes, durations, notes, observations, on_chain, quotes, transactions};
use crate::store::row_checksum;

/// The tables whose rows have a checksum, each with the columns that it covers, in the order of the checksum. A new
/// column is added at the end.
const ROWS: [(&str, &str); 10] = [
    ("transactions", transactions::CHECKED),
    ("observations", observations::CHECKED),
    ("labels", "transaction_row, label, author"),
    ("notes", notes::CHECKED),
    ("alerts", alerts::CHECKED),
    ("changes", changes::CHECKED),
    ("quotes", quotes::CHECKED),
    ("chains", chains::CHECKED),
    ("forecasts", durations::CHECKED),
    ("on_chain", on_chain::CHECKED),
];

/// The tables whose rows come again by themselves: with the service's next answers, or when a chain is asked again. A
/// row that stays damaged is better deleted.
pub(crate) const REFETCHED: [&str; 3] = ["chains", "forecasts", "on_chain"];

/// The packed texts, each with its table, and with what else the text depends on.
const PACKED: [(&str, &str, &str); 4] = [
    ("observations", "body", "body, body_dictionary, body_base"),
    ("records", "body", "body, body_dictionary, body_base"),
    ("records", "record", "record, record_dictionary, record_base"),
    ("dictionaries", "content", "content, NULL, NULL"),
];

/// Returns the SQL condition for a damaged packed text. A number instead of a text refers to a body in the team's log,
/// which only a light replica leaves there.
fn damaged_text(column: &str, packed: &str) -> String {
    format!(
        "CASE typeof({column}) WHEN 'blob' THEN NOT is_intact({packed})
         WHEN 'integer' THEN NOT EXISTS (SELECT 1 FROM replica WHERE lacks_bodies = 1) WHEN 'real' THEN 1 ELSE 0 END"
    )
}

/// Returns the SQL conditions for damaged values of a table, each with the name of its column; empty for the row
/// itself.
pub(crate) fn conditions(table: &str) -> Vec<(&'static str, String)> {
    let of_table = |name: &str| name == table;
    let rows = ROWS.iter().filter(|(name, _)| of_table(name));
    let texts = PACKED.iter().filter(|(name, ..)| of_table(name));
    rows.map(|(_, columns)| ("", row_checksum::is_damaged(columns)))
        .chain(texts.map(|(_, column, packed)| (*column, damaged_text(column, packed))))
        .collect()
}
