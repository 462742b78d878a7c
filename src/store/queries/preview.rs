//! What an import would do, without doing it.

use crate::{
    domain::batch::Batch,
    store::{
        error::StoreError,
        operations::{self, ImportPreview},
        reader::Reader,
    },
};

impl Reader {
    /// What tracking a batch would do, as the store is now.
    pub fn preview_import(&self, profile: &str, batch: &dyn Batch) -> Result<ImportPreview, StoreError> {
        // One snapshot is what an import would see, and many times cheaper than one for each row.
        self.snapshot(|| operations::preview(self.db(), profile, batch))
    }
}
