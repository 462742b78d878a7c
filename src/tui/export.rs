//! What the dashboard wants written to a file: which transactions, and where.
//!
//! How files are written is somebody else's ([`run::Parts`](super::run::Parts) brings it); nothing here touches one.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use chrono::{DateTime, FixedOffset, Utc};

use crate::{domain::ids::RowId, store::Store};

/// Writes transactions to a new file, and says how many and where, or why not. It blocks for the disk.
pub type Export = fn(&Store, &ExportOrder) -> Result<String, String>;

/// An export that a person asked for.
#[derive(Clone, Debug)]
pub struct ExportOrder {
    /// The name of the file as it was typed; its ending is the format.
    pub file: String,
    /// Which transactions, in order.
    pub rows: Vec<RowId>,
    /// The moment that it is true for.
    pub now: DateTime<Utc>,
    /// The zone for times that people read.
    pub zone: FixedOffset,
    /// Whether nobody waits for it any more.
    pub leaving: Leaving,
}

/// Says to work that is under way that the dashboard is gone.
#[derive(Clone, Debug, Default)]
pub struct Leaving(Arc<AtomicBool>);

impl Leaving {
    /// It is gone.
    pub fn leave(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is.
    pub fn is_gone(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
