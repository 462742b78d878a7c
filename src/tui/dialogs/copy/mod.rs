//! The menu of a transaction's texts to copy, or of its links to open.

pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;
