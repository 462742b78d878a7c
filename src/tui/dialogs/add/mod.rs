//! The dialog that parses pasted text, and tracks or finds the transactions in it.

pub(crate) mod found;
pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;
