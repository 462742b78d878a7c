//! The subcommands, one file or folder for each.
//!
//! A command gets parsed arguments and a context. A command must never parse the command line.

pub(crate) mod ack;
pub(crate) mod add;
pub(crate) mod alerts;
pub(crate) mod answer;
pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod dashboard;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod guide;
pub(crate) mod import;
pub(crate) mod label;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod note;
pub(crate) mod quote;
pub(crate) mod restore;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod simulate;
pub(crate) mod snooze;
pub(crate) mod stats;
pub(crate) mod store;
pub(crate) mod ticket;
pub(crate) mod unack;
pub(crate) mod undo;
pub(crate) mod untrack;
pub(crate) mod watch;
pub(crate) mod webhook;
