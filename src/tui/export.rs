//! Export orders of the dashboard: which transactions to write, and to which file.
//!
//! [`run::DashboardInputs`](super::run::DashboardInputs) has the function that writes. This module must never touch a
//! file.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use chrono::{DateTime, FixedOffset, Utc};

use crate::{domain::ids::RowId, store::Store};

/// Writes transactions to a new file. Returns a sentence with their number and the file, or the reason of the failure.
/// Blocks for the disk.
pub(crate) type ExportFunction = fn(&Store, &ExportOrder) -> Result<String, String>;

/// An export that a person asked for.
#[derive(Clone, Debug)]
pub struct ExportOrder {
    /// The file name as typed; its extension is the format.
    pub file: String,
    /// The transactions, in order.
    pub rows: Vec<RowId>,
    /// The moment for which the export is valid.
    pub now: DateTime<Utc>,
    /// The time zone of times for people.
    pub zone: FixedOffset,
    /// Whether the dashboard has ended, so that the export stops.
    pub cancel_flag: CancelFlag,
}

/// Signals to running work that the dashboard has ended.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Signals the end.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the dashboard has ended.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
