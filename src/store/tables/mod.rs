//! The tables: of each what a row holds, how it is read and which single writes there are.
//!
//! Only `operations` write to them, and only `operations` and `queries` read them otherwise than through their `impl Reader`
//! blocks. A table must never append to the feed by itself, nor decide what a value means.
//!
//! A file has the name of its table, but for these:
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
//! | `wallet_limits` | `quotes.rs` |

pub(super) mod alerts;
pub(super) mod bodies;
pub(super) mod chains;
pub(super) mod changes;
pub(super) mod columns;
pub(super) mod durations;
pub(super) mod minutes;
pub(super) mod notes;
pub(super) mod notification_cursors;
pub(super) mod observations;
pub(super) mod open_transactions;
pub(super) mod pollers;
pub(super) mod quotes;
pub(super) mod records;
pub(super) mod transactions;
pub(super) mod undo_history;
