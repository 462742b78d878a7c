//! The conversion of one store's row numbers into keys, which are valid in every store.

use crate::{
    domain::operation::{Edit, LocalEdit},
    store::{
        error::StoreError,
        reader::Reader,
        tables::{alerts, transaction_keys},
    },
};

impl Reader {
    /// Converts an edit by row numbers into an edit by keys. Transactions and alerts that are gone are left out.
    pub fn resolve(&self, edit: LocalEdit) -> Result<Edit, StoreError> {
        edit.resolve(|row| transaction_keys::key(self.db(), row), |alert| alerts::key(self.db(), alert))
    }
}
