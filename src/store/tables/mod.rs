//! The tables: the columns of each row, how rows are read, and the single writes of each table.
//!
//! Only `operations` may write to the tables. Only `operations` and `queries` may read them directly; other modules
//! read through the `impl Reader` blocks. A table must never append to the feed by itself, nor interpret what a value
//! means.
//!
//! Most files have the name of their table. The exceptions:
//!
//! | table | file |
//! | --- | --- |
//! | `attention` | `open_transactions.rs` |
//! | `dictionaries` | `bodies.rs` |
//! | `edits` | `undo_history.rs` |
//! | `feed`, `polls` | `changes.rs` |
//! | `forecasts` | `durations.rs` |
//! | `heralds` | `notification_cursors.rs` |
//! | `labels` | `transactions.rs` |
//! | `pauses` | `pollers.rs` |
//! | the keys of `transactions` | `transaction_keys.rs` |
//! | `search`, `search_outdated`, `search_progress` | `search_index.rs` |
//! | `wallet_limits` | `quotes.rs` |
//!
//! `damage.rs` knows which rows and texts have a checksum.

pub(super) mod alerts;
pub(super) mod bodies;
pub(super) mod chains;
pub(super) mod changes;
pub(super) mod columns;
pub(super) mod damage;
pub(super) mod durations;
pub(super) mod identifiers;
pub(super) mod minutes;
pub(super) mod notes;
pub(super) mod notification_cursors;
pub(super) mod observations;
pub(super) mod on_chain;
pub(super) mod open_transactions;
pub(super) mod pollers;
pub(super) mod quotes;
pub(super) mod records;
pub(super) mod search_index;
pub(super) mod status_requests;
pub(super) mod transaction_keys;
pub(super) mod transactions;
pub(super) mod undo_history;
