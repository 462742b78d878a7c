//! The store's file: opening, migrating, backing up, recovering and watching it.
//!
//! This module knows files, locks and SQLite's pragmas, and nothing of the content of the tables.

pub(super) mod backup;
pub(super) mod backup_schedule;
pub(super) mod connection;
pub(crate) mod filesystem;
mod header;
pub(super) mod health;
pub(super) mod integrity;
pub(super) mod lock_wait;
mod loss_report;
pub(super) mod migrate;
pub(super) mod open;
pub(super) mod open_marker;
mod partial_recovery;
pub(super) mod paths;
pub(super) mod recovery;
mod recovery_source;
pub(super) mod restore;
pub(super) mod sql_functions;
