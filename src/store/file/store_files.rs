//! The sizes and backups of a store's files, for those that must not keep the store open.
//!
//! It must never open a file: see [`super::paths`].

use std::{path::PathBuf, sync::Arc};

use chrono::{DateTime, Utc};

use super::{
    backup::{self, Backup},
    paths,
};

/// The files of a store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct StoreFiles(Arc<PathBuf>);

impl StoreFiles {
    pub(in crate::store) fn new(path: Arc<PathBuf>) -> Self {
        Self(path)
    }

    /// The sizes in bytes of the store's file and of its write-ahead log.
    pub fn sizes(&self) -> (u64, u64) {
        (self.0.metadata().map_or(0, |file| file.len()), paths::log_size(&self.0))
    }

    /// The backups beside the store, the newest first. Backups dated after `now` come last.
    pub fn backups(&self, now: DateTime<Utc>) -> Vec<Backup> {
        backup::list(&self.0, now)
    }
}
