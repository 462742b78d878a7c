//! The queries over several tables: lists, the feed, histories, statistics.
//!
//! A query of a single table is in an `impl Reader` block in the table's file. A query must never write.

mod backlog;
pub(super) mod checksum;
mod condition;
pub(super) mod damage;
pub(super) mod feed;
pub(super) mod find;
pub(super) mod history;
pub(super) mod list;
mod names;
mod order;
pub(super) mod overview;
