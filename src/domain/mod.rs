//! Plain data and its rules: what a transaction is, what an answer means, what to say of it.
//!
//! Everything here is a pure function of its arguments. It knows no store, no network, no screen and no clock, and it
//! imports no other room but `clock` for the type of a moment.

pub mod advice;
pub mod alert;
pub mod answer;
pub mod ask;
pub mod batch;
pub mod chain_config;
pub mod chains;
pub mod change;
pub mod deadline;
pub mod difference;
pub mod duration_stats;
pub mod filter;
#[cfg(test)]
pub mod fixtures;
pub mod forecast;
pub mod histogram;
pub mod ids;
pub mod json_tree;
pub mod link;
pub mod need;
pub mod notification;
pub mod observation;
pub mod operation;
pub mod poller;
pub mod quote;
pub mod record;
pub mod route;
pub mod row_text;
pub mod secret;
pub mod span;
pub mod status;
pub mod text;
pub mod toml_text;
pub mod transaction;
pub mod width;
