//! The dialog that parses pasted text, and tracks or finds the transactions in it.

pub(crate) mod finding;
pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;
