//! The output that several commands share: JSON and tables.
//!
//! The module must never read the store.

pub(crate) mod json;
pub(crate) mod markdown;
mod on_chain_json;
pub(crate) mod quote_json;
pub(crate) mod schema;
pub(crate) mod table;
pub(crate) mod target;
