//! What is read across tables: lists, the feed, histories, numbers.
//!
//! What concerns one table alone stands in an `impl Reader` block in the table's file. It must never write.

pub(super) mod checksum;
mod condition;
pub(super) mod feed;
pub(super) mod find;
pub(super) mod history;
mod keys;
pub(super) mod list;
mod names;
mod order;
pub(super) mod overview;
mod preview;
