//! The detail screen: one transaction with its tabs.

pub(crate) mod history;
pub(crate) mod raw;
pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;
