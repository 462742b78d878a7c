//! The quote form: requests a quote, and tracks the transaction that was sent with it.

pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;
