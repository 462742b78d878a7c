//! From one store's row numbers to the names that every store understands.

use crate::{
    domain::operation::{Edit, LocalEdit},
    store::{
        error::StoreError,
        reader::Reader,
        tables::{alerts, transactions},
    },
};

impl Reader {
    /// An edit as an operation takes it; transactions and alerts that are gone are left out.
    pub fn resolve(&self, edit: LocalEdit) -> Result<Edit, StoreError> {
        edit.resolve(|row| transactions::key(self.db(), row), |alert| alerts::key(self.db(), alert))
    }
}
