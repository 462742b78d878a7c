//! A preview of an import that writes nothing.

use crate::{
    domain::batch::Batch,
    store::{
        error::StoreError,
        operations::{self, ImportPreview},
        reader::Reader,
    },
};

impl Reader {
    /// Returns what tracking a batch would change in the store's present state.
    pub fn preview_import(&self, profile: &str, batch: &dyn Batch) -> Result<ImportPreview, StoreError> {
        // One snapshot shows the same state as an import would see, and is many times faster than one snapshot per row.
        self.snapshot(|| operations::preview(self.db(), profile, batch))
    }
}
