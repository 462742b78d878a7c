//! Checksums of the tables' logical content: equal in every store that applied the same operations in the same order.
//!
//! Row numbers, compression and caches don't count. Rows are identified by their keys, and packed texts by their
//! content.

use rusqlite::{Connection, Row, types::ValueRef};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    domain::{ids::RowId, text},
    store::{
        error::Result,
        reader::Reader,
        tables::{alerts, bodies::PackedText, columns, observations, transaction_keys},
    },
};

/// The checksum of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableChecksum {
    pub table: &'static str,
    pub rows: u64,
    /// The SHA-256 of the rows in their logical order, as hexadecimal digits; [`LEFT_OUT`] for tables that a light
    /// replica lacks.
    pub digest: String,
}

/// The name of the bodies of answers, which a light replica leaves out.
const BODIES: &str = "bodies";
/// The digest of the data that a light replica leaves out.
pub(crate) const LEFT_OUT: &str = "left out";

/// The tables that operations write to. Tables with derived data are left out: `identifiers`, `search`,
/// `search_progress` and `search_outdated` (the search index). So are tables with local data: `attention` (open
/// transactions), `heralds` (sent notifications), `polls` (polls without a change) and `feed` (the state of the feed).
///
/// Each with the columns that count, in the table's logical order. A column `packed` is a packed text, and the two columns
/// `packed_with` after it belong to it; `steps` has the steps of an edit.
const TABLES: &[(&str, &str)] = &[
    (
        "transactions",
        "SELECT profile, transaction_id, from_chain, to_chain, quote_id, request_id, estimate, submitted_at, from_address,
         ticket, first_seen_at, untracked, parked_reason, poll_requested_at, status, status_since, message, last_checked_at,
         last_changed_at, settled_at, ended_unseen, polls, failures, failing_since, last_error, conflict, gmp, from_name, to_name, calm, due,
         tracked_by, ticket_by
         FROM transactions ORDER BY profile, from_chain, transaction_key",
    ),
    (
        "labels",
        "SELECT profile, from_chain, transaction_key, label, author FROM labels
         JOIN transactions ON transactions.id = transaction_row ORDER BY 1, 2, 3, 4",
    ),
    (
        "notes",
        "SELECT profile, from_chain, transaction_key, at, text, taken_back_at, author FROM notes
         JOIN transactions ON transactions.id = transaction_row ORDER BY 1, 2, 3, notes.id",
    ),
    (
        "observations",
        "SELECT profile, from_chain, transaction_key, first_at, last_at, times, summary, http_status, latency,
              body IS NULL, response_id FROM observations
              JOIN transactions ON transactions.id = transaction_row ORDER BY 1, 2, 3, observations.id",
    ),
    (
        "records",
        "SELECT profile, from_chain, transaction_key, record AS packed, record_dictionary AS packed_with,
              record_base AS packed_with, body IS NULL
              FROM records JOIN transactions ON transactions.id = transaction_row ORDER BY 1, 2, 3",
    ),
    (
        // Apart from their tables, because a light replica has none.
        BODIES,
        "SELECT profile, from_chain, transaction_key, 1, body AS packed, body_dictionary AS packed_with,
              body_base AS packed_with, observations.id FROM observations
              JOIN transactions ON transactions.id = transaction_row
              UNION ALL
              SELECT profile, from_chain, transaction_key, 2, body, body_dictionary, body_base, 0 FROM records
              JOIN transactions ON transactions.id = transaction_row ORDER BY 1, 2, 3, 4, 8",
    ),
    (
        "on_chain",
        "SELECT profile, from_chain, transaction_key, verdict, reading, requested_at FROM on_chain
         JOIN transactions ON transactions.id = transaction_row ORDER BY 1, 2, 3",
    ),
    (
        "alerts",
        "SELECT alerts.profile, from_chain, transaction_key, rule, raised_at, clean, alerts.message, cleared_at,
         acknowledged_at, acknowledged_note, snoozed_at, snoozed_until, flapping, handled_by FROM alerts
         LEFT JOIN transactions ON transactions.id = transaction_row ORDER BY 1, 2, 3, 4, 5, alerts.id",
    ),
    (
        // The details of some events contain a row number.
        "changes",
        "SELECT seq, at, ifnull(changes.profile, transactions.profile), from_chain, transaction_key, event,
         iif(event IN ('deleted', 'quote_asked', 'quote_answered'), NULL, what), author FROM changes
         LEFT JOIN transactions ON transactions.id = transaction_row ORDER BY seq",
    ),
    (
        "edits",
        "SELECT at, profile, author, summary, taken_back_at, steps FROM edits ORDER BY id",
    ),
    ("chains", "SELECT profile, id, name, config, learned_at FROM chains ORDER BY profile, id"),
    (
        "quotes",
        "SELECT profile, request, asked_at, wanted_until, sent_at, answered_at, answer, http_status, body, quote_id, estimate
         FROM quotes ORDER BY id",
    ),
    ("wallet_limits", "SELECT profile, wallet, until, message FROM wallet_limits ORDER BY profile, wallet"),
    (
        "status_requests",
        "SELECT profile, params, asked_at, wanted_until, answered_at, observation FROM status_requests ORDER BY id",
    ),
    ("forecasts", "SELECT profile, from_chain, to_chain, gmp, evidence FROM forecasts ORDER BY 1, 2, 3, 4"),
    ("durations", "SELECT profile, from_chain, to_chain, gmp, outcome, took, at FROM durations ORDER BY id"),
    (
        "minutes",
        "SELECT profile, at, requests, throttled, failed, polled_for, limited_to, oldest FROM minutes ORDER BY profile, at",
    ),
    ("pollers", "SELECT profile, at, state FROM pollers ORDER BY profile"),
    ("pauses", "SELECT profile, until FROM pauses ORDER BY profile"),
];

impl Reader {
    /// Returns the checksums of all tables in one snapshot. Costs O(n) in everything stored, because packed texts are
    /// unpacked.
    pub fn checksums(&self) -> Result<Vec<TableChecksum>> {
        self.snapshot(|| TABLES.iter().map(|(table, sql)| checksum(self.db(), table, sql)).collect())
    }
}

fn checksum(db: &Connection, table: &'static str, sql: &str) -> Result<TableChecksum> {
    let mut digest = Sha256::new();
    let mut statement = db.prepare(sql)?;
    // The last column of the bodies is a row number.
    let counted = statement.column_count() - usize::from(table == BODIES);
    let names: Vec<String> = statement.column_names().take(counted).map(str::to_owned).collect();
    let mut rows = statement.query([])?;
    let (mut number, mut is_left_out) = (0, false);
    while let Some(row) = rows.next()? {
        number += 1;
        for (column, name) in names.iter().enumerate() {
            match name.as_str() {
                "packed" => {
                    let packed = PackedText::read(row, column)?;
                    is_left_out |= packed.log_entry().is_some();
                    let unpacked = observations::unpack(db, &packed)?;
                    add_value(&mut digest, unpacked.as_deref().map_or(ValueRef::Null, ValueRef::from));
                }
                // Read with the packed text.
                "packed_with" => {}
                "steps" => add_value(&mut digest, ValueRef::from(named_steps(db, row, column)?.as_str())),
                _ => add_value(&mut digest, row.get_ref(column)?),
            }
        }
    }
    let digest = if is_left_out { LEFT_OUT.to_owned() } else { text::hex(&digest.finalize()) };
    Ok(TableChecksum { table, rows: number, digest })
}

/// Adds a value with its type and length, so that different rows never give the same bytes.
fn add_value(digest: &mut Sha256, value: ValueRef<'_>) {
    let (kind, bytes): (u8, &[u8]) = match &value {
        ValueRef::Null => (0, &[]),
        ValueRef::Integer(number) => (1, &number.to_le_bytes()),
        ValueRef::Real(number) => (2, &number.to_le_bytes()),
        ValueRef::Text(text) => (3, text),
        ValueRef::Blob(bytes) => (4, bytes),
    };
    digest.update([kind]);
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

/// Returns the steps of an edit as JSON, with row numbers replaced by the keys of transactions and alerts.
fn named_steps(db: &Connection, row: &Row<'_>, column: usize) -> Result<String> {
    let unreadable = |error| columns::unreadable(column, error);
    let mut steps: Value =
        serde_json::from_str(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?).map_err(unreadable)?;
    for step in steps.as_array_mut().into_iter().flatten() {
        for fields in
            step.as_object_mut().into_iter().flat_map(|step| step.values_mut()).filter_map(Value::as_object_mut)
        {
            // The transaction and the position among the edits identify a note.
            fields.remove("note");
            let number = |fields: &serde_json::Map<String, Value>, name| fields.get(name).and_then(Value::as_i64);
            if let Some(row) = number(fields, "row") {
                let key = transaction_keys::key(db, RowId(row))?;
                fields.insert("row".into(), serde_json::to_value(key).map_err(unreadable)?);
            }
            if let Some(alert) = number(fields, "alert") {
                let key = alerts::key(db, alert)?;
                fields.insert("alert".into(), serde_json::to_value(key).map_err(unreadable)?);
            }
            if let (Some(first), Some(last)) = (number(fields, "first"), number(fields, "last")) {
                fields.remove("first");
                fields.insert("last".into(), Value::from(last - first));
            }
        }
    }
    Ok(steps.to_string())
}
