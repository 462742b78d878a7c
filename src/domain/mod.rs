//! Plain data and its rules: transactions, the meaning of answers, and the advice for the user.
//!
//! All functions here are pure. This module must never know the store, the network, the screen or a clock. The only
//! top-level module that it imports is `clock`, for the type of a moment.

pub(crate) mod advice;
pub(crate) mod alert;
pub(crate) mod batch;
pub(crate) mod chain_check;
pub(crate) mod chain_config;
pub(crate) mod chains;
pub(crate) mod change;
pub(crate) mod deadline;
pub(crate) mod difference;
pub(crate) mod duration_stats;
pub(crate) mod evidence;
pub(crate) mod filter;
#[cfg(test)]
pub(crate) mod fixtures;
pub(crate) mod forecast;
pub(crate) mod handled;
pub(crate) mod histogram;
pub(crate) mod ids;
pub(crate) mod link;
pub(crate) mod missing_fields;
pub(crate) mod named;
pub(crate) mod need;
pub(crate) mod notification;
pub(crate) mod observation;
pub(crate) mod on_chain;
pub(crate) mod operation;
pub(crate) mod people;
pub(crate) mod poller;
pub(crate) mod polling;
pub(crate) mod quote;
pub(crate) mod record;
pub(crate) mod reply;
pub(crate) mod reply_group;
pub(crate) mod route;
pub(crate) mod secret;
pub(crate) mod service_level;
pub(crate) mod settled_duration;
pub(crate) mod span;
pub(crate) mod status;
pub(crate) mod team;
pub(crate) mod team_address;
pub(crate) mod text;
pub(crate) mod toml_text;
pub(crate) mod transaction;
pub(crate) mod transaction_update;
